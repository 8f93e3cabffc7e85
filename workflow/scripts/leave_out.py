"""Leave one setting of a data set out."""

from benchmark.dataset import Dataset
from benchmark.jobs import logged
from benchmark.leave_out import leave_out

with logged(snakemake.log[0], f"leave {snakemake.params.which} out of {snakemake.input[0]}"):
    whole = Dataset.load(snakemake.input[0])
    leave_out(whole, snakemake.params.which, snakemake.params.seed).save(snakemake.output[0])
