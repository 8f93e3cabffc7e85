"""One self-contained HTML file with every table and figure of a run."""

import base64
import importlib.metadata
import json
import math
import platform
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import yaml

from benchmark.evaluation import read_table
from benchmark.paper.reproduction import coverage, display, read_comparison
from benchmark.plan import Experiment, Plan, figure_axes
from benchmark.tables import build_tables, to_html

PACKAGES = ("numpy", "pandas", "scipy", "matplotlib", "seaborn", "gadjid")


def write_report(plan: Plan, results: Path, *, template: Path, captions: Path, output: Path) -> None:
    """Fill the template with what lies in the results."""
    metrics, costs = read_table(results / "metrics.csv"), read_table(results / "costs.csv")
    comparison = read_comparison(results / "reproduction.csv")
    failures = costs[costs["status"] != "ok"].drop_duplicates(["path", "hyperparameters"])
    header, rows = display(comparison)
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True)
    page = environment.from_string(template.read_text(encoding="utf-8")).render(
        preset=plan.config["preset"],
        convention=plan.config["convention"],
        seed=plan.seed,
        configfile=f"--configfile presets/{plan.config['preset']}.yaml" if plan.config["preset"] != "paper" else "",
        captions=yaml.safe_load(captions.read_text(encoding="utf-8")),
        facts=_facts(plan, costs),
        coverage=coverage(comparison),
        experiments=[_experiment(experiment, metrics, results) for experiment in plan.experiments.values()],
        comparison={"header": header, "rows": rows},
        failures=failures.to_dict("records"),
        costs=_cost_rows(costs),
        configuration=yaml.safe_dump(plan.config, sort_keys=False, width=110),
        versions=_versions(results),
    )
    output.write_text(page, encoding="utf-8")


def _experiment(experiment: Experiment, metrics: pd.DataFrame, results: Path) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "figures": [
            base64.b64encode((results / "figures" / f"{name}.png").read_bytes()).decode()
            for name in figure_axes(experiment)
        ],
        "tables": [
            {"caption": table.caption.replace("`", ""), "html": to_html(table)}
            for table in build_tables(experiment, metrics)
        ],
    }


def _facts(plan: Plan, costs: pd.DataFrame) -> dict[str, str]:
    unique = costs.drop_duplicates(["path", "hyperparameters"])
    return {
        "experiments": str(len(plan.experiments)),
        "data sets": str(sum(condition.datasets for condition in plan.conditions.values())),
        "methods": str(len(plan.rows)),
        "fits": f"{len(unique):,}",
        "failed fits": f"{int((unique['status'] != 'ok').sum()):,}",
        "hours of fitting": f"{unique['seconds'].sum() / 3600:.2f}",
    }


def _cost_rows(costs: pd.DataFrame) -> list[list[str]]:
    rows = []
    unique = costs.drop_duplicates(["path", "hyperparameters"])
    for (method, engine, nodes), fits in unique.groupby(["method", "engine", "nodes"], sort=False):
        seconds, memory = fits["seconds"], fits["peak_memory_mb"]
        rows.append(
            [
                method,
                engine,
                str(nodes),
                f"{len(fits):,}",
                _number(seconds.median(), 3),
                _number(seconds.max(), 2),
                _number(seconds.sum(min_count=1) / 3600, 3),
                _number(memory.max(), 0),
            ]
        )
    return rows


def _number(value: float, digits: int) -> str:
    """Return a number as text, or a dash where no fit says what it cost."""
    return "–" if math.isnan(value) else f"{value:.{digits}f}"


def _versions(results: Path) -> dict[str, str]:
    """Return the versions of this process, and those that the fits name."""
    versions = {"Python": platform.python_version()} | {name: importlib.metadata.version(name) for name in PACKAGES}
    commits: dict[str, None] = {}
    for path in sorted(results.glob("fits/**/*.json")):
        provenance = json.loads(path.read_text(encoding="utf-8")).get("provenance", {})
        versions |= provenance.get("packages", {})
        commits[str(provenance.get("commit"))] = None
    return versions | {"commit of the fits": ", ".join(commits)}
