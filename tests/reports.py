"""Reports on synthetic results, none of which needs a run."""

from pathlib import Path
from typing import Any

import pandas as pd
from PIL import Image, ImageDraw

from benchmark.evaluation import COST_COLUMNS
from benchmark.paper.reproduction import compare
from benchmark.plan import Experiment, Plan, figure_axes
from benchmark.report import write_report
from benchmark.tables import build_tables, write_table
from tests.project import ROOT
from tests.samples import configuration, metric_frame, metric_rows

METRICS = ("shd", "sid", "tp", "fn", "fp", "rev", "f1")
INK = (200, 30, 60)


def cost_rows(shown: Experiment, **changes: Any) -> list[dict[str, Any]]:
    """Return what the fits of an experiment cost, one combination each."""
    return [
        {
            "experiment": shown.name,
            "condition": place.name,
            "nodes": 10,
            "dataset": index,
            "row": by.name,
            "method": by.label,
            "engine": "python",
            "hyperparameters": "x=1",
            "status": "ok",
            "reason": "",
            "path": f"fits/known/{place.name}/{index}/{by.name}.json",
            "seconds": 1.5,
            "peak_memory_mb": 100.0,
        }
        | changes
        for place in shown.conditions
        for index in place.indices
        for by in shown.rows
    ]


def draw(path: Path, width: int = 300) -> None:
    """Write a picture with a line across it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    image = Image.new("RGB", (width, 100), "white")
    ImageDraw.Draw(image).line([(0, 0), (width, 100)], fill=INK, width=9)
    image.save(path)


def write_results(
    folder: Path,
    experiments: list[Experiment],
    costs: list[dict[str, Any]] | None = None,
    metrics: pd.DataFrame | None = None,
) -> Plan:
    """Write the results of experiments, whose every distance is 1 where no metrics are given."""
    plan = Plan(configuration("quick"))
    plan.experiments = {shown.name: shown for shown in experiments}
    plan.rows = {by.name: by for shown in experiments for by in shown.rows}
    plan.conditions = {place.name: place for shown in experiments for place in shown.conditions}
    if metrics is None:
        metrics = metric_frame(
            [
                one
                for shown in experiments
                for place in shown.conditions
                for by in shown.rows
                for one in metric_rows(shown, place, by, {name: [1.0] * place.datasets for name in METRICS})
            ]
        )
    spent = [one for shown in experiments for one in cost_rows(shown)] if costs is None else costs
    metrics.to_csv(folder / "metrics.csv", index=False)
    pd.DataFrame(spent, columns=COST_COLUMNS).to_csv(folder / "costs.csv", index=False)
    compare(plan, metrics).to_csv(folder / "reproduction.csv", index=False)
    for shown in experiments:
        for table in build_tables(shown, metrics):
            write_table(table, folder / "tables")
        for name in figure_axes(shown):
            draw(folder / "figures" / f"{name}.png")
    return plan


def write_page(plan: Plan, folder: Path) -> Path:
    """Write the report on results; return its path."""
    texts = ROOT / "workflow" / "report"
    output = folder / "report.html"
    write_report(plan, folder, template=texts / "report.html.j2", captions=texts / "captions.yaml", output=output)
    return output
