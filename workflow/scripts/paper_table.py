"""Write one table of the paper as printed, from the fits that it needs and no others."""

from pathlib import Path

import pandas as pd

from benchmark.evaluation import evaluate
from benchmark.paper.pieces import table_pieces
from benchmark.paper.printed import write_printed
from benchmark.paper.reproduction import compare_experiments
from benchmark.plan import Plan
from benchmark.recorded.recall import Recall
from benchmark.running.jobs import logged

label = snakemake.wildcards.label
with logged(snakemake.log[0], f"table {label}"):
    plan = Plan(snakemake.config)
    recall = Recall(plan)
    experiments = table_pieces(plan)[label]
    metrics = pd.concat([evaluate(experiment, Path(), recall)[0] for experiment in experiments])
    write_printed(label, compare_experiments(experiments, metrics), Path("paper"))
