"""Draw the figures of all experiments."""

import traceback
from pathlib import Path

from benchmark.evaluation import read_table
from benchmark.figures import boxplots, missing_figure, save
from benchmark.paper.published import published_means
from benchmark.plan import Plan, figure_axes
from benchmark.running.jobs import logged
from benchmark.running.plain import describe_error
from benchmark.styles import styles

with logged(snakemake.log[0], "figures"):
    metrics = read_table(snakemake.input[0])
    plan = Plan(snakemake.config)
    style = styles(plan)
    for experiment in plan.experiments.values():
        published = published_means(experiment)
        for name, (along, nodes) in figure_axes(experiment).items():
            try:
                save(boxplots(experiment, metrics, along, nodes, style, published), Path("figures", name))
            except Exception as error:
                # One figure must not cost the others.
                traceback.print_exc()
                save(missing_figure(experiment.title, describe_error(error)), Path("figures", name))
