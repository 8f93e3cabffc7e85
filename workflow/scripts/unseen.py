"""Fit a flow to the graph that a method selected, and score it on the setting that was left out."""

import json
from pathlib import Path

from benchmark.dataset import Dataset
from benchmark.leave_out import unseen_rows
from benchmark.records import read_records, to_graph
from benchmark.running.jobs import logged
from benchmark.selection import select
from dcdi import DCDI

with logged(snakemake.log[0], f"score {snakemake.input.fit} on an unseen setting"):
    whole, seen = Dataset.load(snakemake.input.whole), Dataset.load(snakemake.input.seen)
    record = select(read_records(snakemake.input.fit)[0], snakemake.params.selection)
    score = {"mean": None, "std": None, "rows": 0, "hyperparameters": record["hyperparameters"]}
    if record["status"] == "ok":
        flow = DCDI("dsf", engine="cpu", seed=snakemake.params.seed)
        fitted = flow.fit_graph(seen, to_graph(record["edges"], seen.names))
        X, targeted = unseen_rows(whole, seen.parameters["left_out"])
        values = fitted.log_density(X, 0)[:, ~targeted].sum(axis=1)
        score |= {"mean": values.mean(), "std": values.std(ddof=1), "rows": len(values)}
    Path(snakemake.output[0]).write_text(json.dumps(score) + "\n", encoding="utf-8")
