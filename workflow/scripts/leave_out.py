"""Leave one setting of a data set out."""

from benchmark.dataset import Dataset
from benchmark.leave_out import leave_out
from benchmark.running.jobs import logged

with logged(snakemake.log[0], f"leave {snakemake.params.which} out of {snakemake.input[0]}"):
    whole = Dataset.load(snakemake.input[0])
    leave_out(whole, snakemake.params.which, snakemake.params.seed).save(snakemake.output[0])
