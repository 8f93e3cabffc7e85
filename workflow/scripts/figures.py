"""Draw the figures of all experiments."""

from pathlib import Path

from benchmark.evaluation import read_table
from benchmark.figures import boxplots, colours, save
from benchmark.jobs import logged
from benchmark.plan import Plan, figure_axes

with logged(snakemake.log[0], "figures"):
    metrics = read_table(snakemake.input[0])
    experiments = list(Plan(snakemake.config).experiments.values())
    colour = colours(experiments)
    for experiment in experiments:
        for name, (along, nodes) in figure_axes(experiment).items():
            save(boxplots(experiment, metrics, along, nodes, colour), Path("figures", name))
