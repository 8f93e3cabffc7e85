"""Check a data set of the user's own, hold out rows where it does not say which, and copy it."""

from pathlib import Path

from benchmark.frames import hold_out
from benchmark.jobs import logged
from benchmark.own_data import load_file

with logged(snakemake.log[0], f"check {snakemake.input.data}"):
    dataset = load_file(Path(snakemake.input.data), snakemake.params.table)
    hold_out(dataset, snakemake.params.heldout, snakemake.params.seed).save(snakemake.output[0])
