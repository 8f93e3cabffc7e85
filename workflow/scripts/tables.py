"""Write the tables of all experiments."""

import traceback
from pathlib import Path

from benchmark.evaluation import read_table
from benchmark.plan import Plan
from benchmark.running.jobs import logged
from benchmark.running.plain import describe_error
from benchmark.tables import build_tables, missing_tables, write_table

with logged(snakemake.log[0], "tables"):
    metrics = read_table(snakemake.input.metrics)
    for experiment in Plan(snakemake.config).experiments.values():
        try:
            tables = build_tables(experiment, metrics)
        except Exception as error:
            traceback.print_exc()
            tables = missing_tables(experiment, describe_error(error))
        for table in tables:
            write_table(table, Path("tables"))
