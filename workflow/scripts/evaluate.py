"""Select hyperparameters and measure distances for one experiment."""

import traceback
from pathlib import Path

from benchmark.evaluation import all_failed, evaluate
from benchmark.graph_files import edges_of
from benchmark.plan import Plan
from benchmark.recorded.recall import Recall
from benchmark.recorded.store import StoreError
from benchmark.running.jobs import logged
from benchmark.running.plain import describe_error

with logged(snakemake.log[0], f"evaluate {snakemake.wildcards.experiment}"):
    plan = Plan(snakemake.config)
    experiment = plan.part(snakemake.wildcards.experiment, snakemake.wildcards.get("condition"))
    recall = Recall(plan)
    try:
        metrics, costs = evaluate(experiment, Path(), recall)
    except StoreError:
        raise  # records that were changed are no reason to show others
    except Exception as error:
        # One experiment must not cost the others: its rows say what happened.
        traceback.print_exc()
        metrics, costs = all_failed(experiment, f"it could not be evaluated: {describe_error(error)}")
    metrics.to_csv(snakemake.output.metrics, index=False)
    costs.to_csv(snakemake.output.costs, index=False)
    edges_of(experiment, Path(), recall).to_csv(snakemake.output.edges, index=False)
