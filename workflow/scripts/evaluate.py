"""Select hyperparameters and measure distances for one experiment."""

from pathlib import Path

from benchmark.evaluation import evaluate
from benchmark.graph_files import edges_of
from benchmark.jobs import logged
from benchmark.plan import Plan
from benchmark.recall import Recall

with logged(snakemake.log[0], f"evaluate {snakemake.wildcards.experiment}"):
    plan = Plan(snakemake.config)
    experiment, recall = plan.experiments[snakemake.wildcards.experiment], Recall(plan)
    metrics, costs = evaluate(experiment, Path(), recall)
    metrics.to_csv(snakemake.output.metrics, index=False)
    costs.to_csv(snakemake.output.costs, index=False)
    edges_of(experiment, Path(), recall).to_csv(snakemake.output.edges, index=False)
