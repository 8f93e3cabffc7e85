"""Fit one method to one data set over its whole grid."""

import json
import os
from collections import Counter
from pathlib import Path

from benchmark.dataset import Dataset, DatasetError
from benchmark.methods import Method, MethodError, available
from benchmark.recorded.provenance import provenance
from benchmark.records import failed, write_records
from benchmark.running.jobs import logged
from benchmark.running.kept import Kept
from benchmark.running.runner import Confinement, Limits, run

cell, params, resources = snakemake.wildcards, snakemake.params, snakemake.resources
output, grid, seed = snakemake.output[0], params.grid, params.seed


def run_cell(method, dataset):
    """Run the grid, and keep each fit as it ends."""
    hide_targets = cell.targets == "unknown"
    # Before the fits: a source that is edited meanwhile is not the one that runs.
    origin = provenance(method, seed, dataset.blind(hide_targets=hide_targets), grid)
    kept = Kept(output, origin)
    known = kept.take_up(grid)
    if known:
        print(f"{len(known)} of {len(grid)} fits are those of an earlier run")
    results = Path.cwd()
    cache = Path(os.environ["NUMBA_CACHE_DIR"])
    cache.mkdir(parents=True, exist_ok=True)
    hidden = (results.parent, *map(Path, json.loads(os.environ["BENCHMARK_HIDDEN"])))
    records = run(
        method,
        dataset,
        grid,
        seed=seed,
        limits=Limits(resources.fit_seconds, resources.fit_memory_mb, resources.start_seconds),
        hide_targets=hide_targets,
        scratch=results / ".scratch" / "-".join(cell),
        confinement=Confinement(hidden, (cache,)),
        known=known,
        keep=kept.add,
    )
    print(dict(Counter(record["status"] for record in records)))
    write_records(output, records, origin)
    kept.remove()


with logged(snakemake.log[0], f"fit {cell.row} to {cell.condition}/{cell.index}, targets {cell.targets}"):
    # What the plan knows of the method; nothing of its file runs in this process.
    about = {"packages": tuple(params.packages), "r_engines": tuple(params.r_engines), "problem": params.problem}
    file = available()[params.method]
    method = Method(params.method, params.method, file, frozenset(), "heldout", fit=None, **about)
    try:
        if method.problem:
            raise MethodError(method.problem)
        run_cell(method, Dataset.load(snakemake.input[0]))
    except (DatasetError, MethodError) as error:
        print(f"error: {error}")
        write_records(output, [failed("error", str(error), combination, None, None) for combination in grid], {})
