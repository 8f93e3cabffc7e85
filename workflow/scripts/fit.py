"""Fit one method to one data set over its whole grid."""

from collections import Counter

from benchmark.dataset import Dataset
from benchmark.jobs import logged
from benchmark.methods import load_method
from benchmark.provenance import provenance
from benchmark.records import write_records
from benchmark.runner import Limits, run

cell = snakemake.wildcards
with logged(snakemake.log[0], f"fit {cell.row} to {cell.condition}/{cell.index}, targets {cell.targets}"):
    method = load_method(snakemake.params.method)
    dataset, grid, seed = Dataset.load(snakemake.input[0]), snakemake.params.grid, snakemake.params.seed
    hide_targets = cell.targets == "unknown"
    # Before the fits: a source that is edited meanwhile is not the one that runs.
    origin = provenance(method, seed, dataset.blind(hide_targets=hide_targets), grid)
    records = run(
        method,
        dataset,
        grid,
        seed=seed,
        limits=Limits(snakemake.resources.fit_seconds, snakemake.resources.mem_mb),
        hide_targets=hide_targets,
    )
    print(dict(Counter(record["status"] for record in records)))
    write_records(snakemake.output[0], records, origin)
