"""Write and draw the selected graphs of one data set."""

from pathlib import Path

from benchmark.dataset import Dataset
from benchmark.graph_files import selected, write_folder
from benchmark.jobs import logged
from benchmark.plan import Plan

cell = snakemake.wildcards
with logged(snakemake.log[0], f"graphs of {cell.condition}/{cell.index} in {cell.experiment}"):
    experiment = Plan(snakemake.config).experiments[cell.experiment]
    rows = selected(experiment, cell.condition, cell.index, Path())
    title = f"{cell.condition.removeprefix('file-')}, data set {cell.index}"
    write_folder(Path(snakemake.output[0]), Dataset.load(snakemake.input.data), rows, title)
