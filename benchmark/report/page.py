"""Fill the page's template with what lies in the results of a run."""

import importlib.metadata
import math
import platform
import traceback
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from benchmark.evaluation import read_table
from benchmark.paper.published import load_published
from benchmark.paper.reproduction import KEYS, VERDICTS, coverage, read_comparison
from benchmark.plan import Experiment, Plan, figure_axes
from benchmark.records import RecordError, read_records
from benchmark.report.failures import SECTION, count_failures, failure_rows, unique_fits
from benchmark.report.graphs import shown_graphs
from benchmark.report.images import Picture, picture
from benchmark.report.overview import anchor, first_row, ours_text, panels
from benchmark.report.results import Part, Published, paper_text, report_parts
from benchmark.running.plain import describe_error
from benchmark.tables import METRIC_NAMES, build_tables

PACKAGES = ("numpy", "pandas", "scipy", "matplotlib", "seaborn", "gadjid")
LONGEST_OPEN = 25  # rows that a table may have and not be folded
MOST_FAILURES = 400  # lines; costs.csv has all


@dataclass(frozen=True)
class ShownTable:
    """A table of results, ready for the template."""

    name: str
    caption: str
    groups: list[tuple[str, list[str]]]
    parts: list[Part]


def write_report(plan: Plan, results: Path, *, template: Path, captions: Path, output: Path) -> None:
    """Write the report on the results of a plan."""
    metrics, costs = read_table(results / "metrics.csv"), read_table(results / "costs.csv")
    comparison = read_comparison(results / "reproduction.csv")
    published = Published(comparison)
    fits = unique_fits(costs)
    shown_panels = panels(plan, comparison)
    # The page's own style and script are trusted text; whatever a run says is escaped.
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(template.parent),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    page = environment.get_template(template.name).render(
        preset=plan.config["preset"],
        convention=plan.config["convention"],
        seed=plan.seed,
        captions=yaml.safe_load(captions.read_text(encoding="utf-8")),
        facts=_facts(plan, fits, comparison),
        coverage=coverage(comparison),
        verdicts=_verdict_counts(comparison),
        panels=shown_panels,
        panels_open=first_row(shown_panels),
        experiments=[_section(one, metrics, published, results) for one in plan.experiments.values()],
        comparison=_comparison_rows(comparison),
        failures=failure_rows(fits),
        failure_counts=count_failures(fits),
        costs=_cost_rows(fits),
        configuration=yaml.safe_dump(plan.config, sort_keys=False, width=110),
        versions=_versions(results),
        failed_fits=SECTION,
        longest_open=LONGEST_OPEN,
        most_failures=MOST_FAILURES,
    )
    output.write_text(page, encoding="utf-8")


def _section(experiment: Experiment, metrics: pd.DataFrame, published: Published, results: Path) -> dict[str, Any]:
    """Return what the page shows of an experiment or, where that fails, why: the other sections do not depend on it."""
    try:
        return _experiment(experiment, metrics, published, results) | {"problem": ""}
    except Exception as error:
        traceback.print_exc()
        shown = {"name": experiment.name, "title": experiment.title, "figures": {}, "graphs": [], "tables": []}
        return shown | {"problem": describe_error(error)}


def _experiment(experiment: Experiment, metrics: pd.DataFrame, published: Published, results: Path) -> dict[str, Any]:
    figures: dict[str, Picture] = {
        name: picture(results / "figures" / f"{name}.png") for name in figure_axes(experiment)
    }
    tables = [
        ShownTable(table.name, table.caption.replace("`", ""), table.groups, report_parts(table, experiment, published))
        for table in build_tables(experiment, metrics)
    ]
    graphs = shown_graphs(experiment, results)
    return {"name": experiment.name, "title": experiment.title, "figures": figures, "graphs": graphs, "tables": tables}


def _facts(plan: Plan, fits: pd.DataFrame, comparison: pd.DataFrame) -> dict[str, str]:
    compared = len(comparison.drop_duplicates(KEYS))
    return {
        "experiments": str(len(plan.experiments)),
        "data sets": str(sum(condition.datasets for condition in plan.conditions.values())),
        "methods": str(len(plan.rows)),
        "fits": f"{len(fits):,}",
        "failed fits": f"{int((fits['status'] != 'ok').sum()):,}",
        "hours of fitting": f"{fits['seconds'].sum() / 3600:.2f}",
        "of the paper's figures": f"{compared:,} of {len(load_published()):,}",
    }


def _verdict_counts(comparison: pd.DataFrame) -> list[tuple[str, int]]:
    counts = comparison["verdict"].value_counts()
    return [(name, int(counts[name])) for name in VERDICTS if name in counts]


def _comparison_rows(comparison: pd.DataFrame) -> list[dict[str, Any]]:
    rows = []
    for number, figure in enumerate(comparison.to_dict("records")):
        alpha = {"": "", "best": "*"}.get(figure["alpha"], f" (alpha={figure['alpha']})")
        errors = figure["standard_errors"]
        rows.append(
            {
                "anchor": anchor(number),
                "setting": f"{figure['setting']} ({figure['experiment']})",
                "data": figure["mechanism"],
                "nodes": figure["nodes"],
                "edges": figure["edges_per_node"] or "–",
                "method": " ".join(filter(None, [f"{figure['method']}{alpha}", figure["test"]])),
                "engine": figure["engine"],
                "metric": METRIC_NAMES[figure["metric"]],
                "ours": ours_text(figure),
                "paper": paper_text(figure),
                "errors": None if math.isnan(errors) else errors,
                "verdict": figure["verdict"],
            }
        )
    return rows


def _cost_rows(fits: pd.DataFrame) -> list[list[tuple[str, float | str]]]:
    """Return costs per method, engine and size: each cell as text and as what it is sorted by."""
    rows: list[list[tuple[str, float | str]]] = []
    for (method, engine, nodes), same in fits.groupby(["method", "engine", "nodes"], sort=False):
        seconds, memory = same["seconds"], same["peak_memory_mb"]
        numbers = [
            (float(nodes), 0),
            (float(len(same)), 0),
            (float(seconds.median()), 3),
            (float(seconds.max()), 2),
            (float(seconds.sum(min_count=1)) / 3600, 3),
            (float(memory.max()), 0),
        ]
        rows.append([(method, method), (engine, engine), *(_number(value, digits) for value, digits in numbers)])
    return rows


def _number(value: float, digits: int) -> tuple[str, float | str]:
    """Return a number as text and to sort by, or a dash where no fit says what it cost."""
    return ("–", "") if math.isnan(value) else (f"{value:,.{digits}f}", value)


def _versions(results: Path) -> dict[str, str]:
    """Return the versions of this process, and those that the fits name."""
    versions = {"Python": platform.python_version()} | {name: importlib.metadata.version(name) for name in PACKAGES}
    commits: dict[str, None] = {}
    for path in sorted(results.glob("fits/**/*.json")):
        try:
            _, provenance = read_records(path)
        except RecordError:
            continue  # its row says what is wrong with it
        versions |= provenance.get("packages", {})
        commits[str(provenance.get("commit"))] = None
    return versions | {"commit of the fits": ", ".join(commits)}
