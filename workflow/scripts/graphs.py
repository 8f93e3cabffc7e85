"""Write and draw the selected graphs of one data set."""

from pathlib import Path

from benchmark.dataset import Dataset
from benchmark.graph_files import selected, write_folder
from benchmark.jobs import logged
from benchmark.plan import Plan
from benchmark.recall import Recall

cell = snakemake.wildcards
with logged(snakemake.log[0], f"graphs of {cell.condition}/{cell.index} in {cell.experiment}"):
    plan = Plan(snakemake.config)
    rows = selected(plan.experiments[cell.experiment], cell.condition, cell.index, Path(), Recall(plan))
    title = f"{cell.condition.removeprefix('file-')}, data set {cell.index}"
    write_folder(Path(snakemake.output[0]), Dataset.load(snakemake.input.data), rows, title)
