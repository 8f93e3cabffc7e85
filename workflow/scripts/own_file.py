"""Check a data set file of the user's own, hold out rows where it does not say which, and copy it."""

import numpy as np

from benchmark.dataset import Dataset
from benchmark.jobs import logged
from benchmark.simulate import split_rows

with logged(snakemake.log[0], f"check {snakemake.input[0]}"):
    dataset = Dataset.load(snakemake.input[0])
    if dataset.heldout is None:
        split = split_rows(dataset.setting, snakemake.params.heldout, np.random.default_rng(snakemake.params.seed))
        dataset = Dataset(dataset.X, dataset.setting, dataset.targets, dataset.graph, dataset.names, split)
    dataset.save(snakemake.output[0])
