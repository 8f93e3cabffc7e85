"""Fit one method to one data set over its whole grid."""

from collections import Counter

from benchmark.dataset import Dataset
from benchmark.jobs import logged
from benchmark.methods import load_method
from benchmark.records import write_records
from benchmark.runner import Limits, provenance, run

cell = snakemake.wildcards
with logged(snakemake.log[0], f"fit {cell.row} to {cell.condition}/{cell.index}, targets {cell.targets}"):
    method = load_method(snakemake.params.method)
    records = run(
        method,
        Dataset.load(snakemake.input[0]),
        snakemake.params.grid,
        seed=snakemake.params.seed,
        limits=Limits(snakemake.resources.fit_seconds, snakemake.resources.mem_mb),
        hide_targets=cell.targets == "unknown",
    )
    print(dict(Counter(record["status"] for record in records)))
    write_records(snakemake.output[0], records, provenance(method, snakemake.params.seed))
