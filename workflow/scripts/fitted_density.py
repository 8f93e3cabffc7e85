"""Fit the selected model of a row again, which gives the same model, and keep its densities."""

from benchmark.dataset import Dataset
from benchmark.records import read_records
from benchmark.running.jobs import logged
from benchmark.selection import select
from dcdi.methods._common import estimator

DENSITIES = {"dcdi-g": "gaussian", "dcdi-dsf": "dsf"}

with logged(snakemake.log[0], f"densities of {snakemake.input.fit}"):
    dataset = Dataset.load(snakemake.input.data).blind(hide_targets=False)
    record = select(read_records(snakemake.input.fit)[0], snakemake.params.selection)
    if record["status"] != "ok":
        raise ValueError(f"{snakemake.input.fit}: the selected fit has the status {record['status']}")
    model = estimator(
        dataset,
        seed=snakemake.params.seed,
        combination=record["hyperparameters"],
        density=DENSITIES[snakemake.params.method],
    )
    model.fit(dataset)
    model.fitted.save(snakemake.output[0])
