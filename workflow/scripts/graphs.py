"""Write and draw the selected graphs of one data set."""

import traceback
from pathlib import Path

from benchmark.dataset import Dataset
from benchmark.graph_files import selected, write_folder
from benchmark.plan import Plan
from benchmark.recorded.recall import Recall
from benchmark.running.jobs import logged
from benchmark.running.plain import describe_error

cell = snakemake.wildcards
with logged(snakemake.log[0], f"graphs of {cell.condition}/{cell.index} in {cell.experiment}"):
    plan = Plan(snakemake.config)
    folder = Path(snakemake.output[0])
    try:
        rows = selected(plan.experiments[cell.experiment], cell.condition, cell.index, Path(), Recall(plan))
        title = f"{cell.condition.removeprefix('file-')}, data set {cell.index}"
        write_folder(folder, Dataset.load(snakemake.input.data), rows, title)
    except Exception as error:
        # Graphs that cannot be drawn must not cost those of other data sets.
        traceback.print_exc()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "problem.txt").write_text(describe_error(error) + "\n", encoding="utf-8")
