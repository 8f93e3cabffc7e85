"""Prepare the Sachs data."""

from benchmark.running.jobs import logged
from benchmark.sachs import load_sachs

with logged(snakemake.log[0], "prepare the Sachs data"):
    load_sachs(heldout=snakemake.params.heldout, seed=snakemake.params.seed).save(snakemake.output[0])
