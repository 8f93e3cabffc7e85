"""Write the tables of all experiments."""

from pathlib import Path

from benchmark.evaluation import read_table
from benchmark.jobs import logged
from benchmark.plan import Plan
from benchmark.tables import build_tables, write_table

with logged(snakemake.log[0], "tables"):
    metrics = read_table(snakemake.input.metrics)
    for experiment in Plan(snakemake.config).experiments.values():
        for table in build_tables(experiment, metrics):
            write_table(table, Path("tables"))
