"""Simulate one data set, or the observational twin of one."""

from benchmark.running.jobs import logged
from benchmark.simulate import simulate

with logged(snakemake.log[0], f"simulate {snakemake.output[0]}"):
    parameters = dict(snakemake.params.simulation)
    if snakemake.params.twin:
        parameters |= {"intervention": "none"}
    simulate(**parameters, seed=snakemake.params.seed).save(snakemake.output[0])
