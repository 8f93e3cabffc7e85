"""Put one of the paper's own data sets, or its observational twin, among the data of this run."""

from benchmark.paper.data import take
from benchmark.running.jobs import logged

with logged(snakemake.log[0], f"take {snakemake.output[0]}"):
    take(snakemake.params.simulation, snakemake.wildcards.index, snakemake.output[0], twin=snakemake.params.twin)
