"""Select hyperparameters and measure distances for one experiment."""

from pathlib import Path

from benchmark.evaluation import evaluate
from benchmark.jobs import logged
from benchmark.plan import Plan
from benchmark.recall import Recall

with logged(snakemake.log[0], f"evaluate {snakemake.wildcards.experiment}"):
    plan = Plan(snakemake.config)
    metrics, costs = evaluate(plan.experiments[snakemake.wildcards.experiment], Path(), Recall(plan))
    metrics.to_csv(snakemake.output.metrics, index=False)
    costs.to_csv(snakemake.output.costs, index=False)
