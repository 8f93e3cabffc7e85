"""Check a data set of the user's own, hold out rows where it does not say which, and copy it."""

from pathlib import Path

from benchmark.dataset import DatasetError, save_problem
from benchmark.frames import hold_out
from benchmark.own_data import load_file
from benchmark.running.jobs import logged

with logged(snakemake.log[0], f"check {snakemake.input.data}"):
    try:
        dataset = load_file(Path(snakemake.input.data), snakemake.params.table)
        hold_out(dataset, snakemake.params.heldout, snakemake.params.seed).save(snakemake.output[0])
    except DatasetError as error:
        # All other cells go on; those of this file become rows that say why.
        print(f"error: {error}")
        save_problem(snakemake.output[0], str(error))
