"""Every published figure that was run, beside ours: difference in standard errors, and a verdict."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.paper.published import DATASETS, drawn_as_published, load_published, tailored_test
from benchmark.plan import Experiment, Plan
from benchmark.tables import latex_escape, markdown_table, summarise

ROUNDING = 0.05 + 1e-9  # the paper prints one decimal; 3.2 - 3.15 is a little more than 0.05
F1_ROUNDING = 0.005 + 1e-9  # and two of F1
AGREEMENT = 2.0  # standard errors
SAME_DATA = "published"  # the convention whose data sets are the paper's own
FEWEST = 5  # data sets below which a spread says too little
VERDICTS = {  # in the order and the words in which they are counted
    "exact": "equal to the printed digit",
    "agrees": "in agreement",
    "better": "better",
    "worse": "worse",
    "equal": "equal without a spread",
    "differs": "different without a spread to judge by",
    "too few": f"on fewer than {FEWEST} data sets",
    "incomplete": "incomplete",
}
WITHHELD = ("too few", "incomplete")  # verdicts that withhold judgement
HIGHER_IS_BETTER = ("f1", "tp")
KEYS = ["table", "experiment", "setting", "mechanism", "nodes", "edges_per_node", "method", "test", "alpha", "metric"]
CELL = ["method", "metric", "setting", "mechanism", "nodes", "edges_per_node"]
NUMBERS = ["paper_mean", "paper_std", "ours_mean", "ours_std", "n_ok", "n", "difference", "standard_errors"]
DIFFERENCES = ["method", "row", "metric", "cells", "exact", "within_one", "within_two"]
DIFFERENCES += ["mean_difference", "mean_absolute_difference"]
COLUMNS = [*KEYS, *NUMBERS, "verdict", "convention", "engine", "row"]


def compare(plan: Plan, metrics: pd.DataFrame) -> pd.DataFrame:
    """Return a row per published figure whose condition and method were run, and per row of ours that ran it."""
    return compare_experiments(plan.experiments.values(), metrics)


def compare_experiments(experiments: Iterable[Experiment], metrics: pd.DataFrame) -> pd.DataFrame:
    """Return the same for some experiments."""
    published = load_published()
    rows: list[dict[str, Any]] = []
    for experiment in experiments:
        if experiment.paper is None:
            continue
        alike = [condition.name for condition in experiment.conditions if drawn_as_published(condition.simulation)]
        ours = metrics[(metrics["experiment"] == experiment.name) & metrics["condition"].isin(alike)]
        # Rows may have labels of their own; the paper's name is the method's.
        names = ours["row"].map({row.name: row.method.label for row in experiment.rows})
        ours = ours.assign(method=names.fillna(ours["method"]))
        theirs = published[published["experiment"] == experiment.paper]
        cells = _cells(ours)
        for figure in theirs.to_dict("records"):
            cell = cells.get(tuple(figure[key] for key in CELL))
            if cell is not None:
                rows += [_row(figure, match) for _, match in _ours(figure, cell).groupby("row", sort=False)]
    return pd.DataFrame(rows, columns=COLUMNS)


def read_comparison(path: str | Path) -> pd.DataFrame:
    """Read a comparison as :func:`compare` made it; only numbers may be missing, text stays text."""
    text = dict.fromkeys(("edges_per_node", "test", "alpha"), str)
    return pd.read_csv(path, dtype=text, keep_default_na=False, na_values={key: [""] for key in NUMBERS})


def _cells(ours: pd.DataFrame) -> dict[tuple[Any, ...], pd.DataFrame]:
    """Return our values by what names a figure, with the alpha and the test of their hyperparameters."""
    if ours.empty:
        return {}
    ours = ours.assign(
        nodes=ours["nodes"].astype(int),
        edges_per_node=["" if math.isnan(edges) else f"{edges:g}" for edges in ours["edges_per_node"].astype(float)],
        alpha=pd.to_numeric(ours["hyperparameters"].str.extract(r"alpha=([^,]+)")[0]),
        test=ours["hyperparameters"].str.extract(r"test=([^,]+)")[0],
    )
    kept = ["row", "choice", "alpha", "test", "status", "value", "convention", "engine"]
    return dict(iter(ours.groupby(CELL, sort=False)[kept]))


def _ours(figure: dict[str, Any], cell: pd.DataFrame) -> pd.DataFrame:
    """Return our values of a published figure, one per data set, or nothing."""
    keep = cell["choice"] == {"": "selected", "best": "best_shd"}.get(figure["alpha"], "grid")
    if figure["alpha"] not in ("", "best"):
        keep &= (cell["alpha"] / float(figure["alpha"]) - 1).abs() < 1e-6
    if cell["test"][keep].notna().any():
        keep &= cell["test"] == (figure["test"] or tailored_test(figure["mechanism"]))
    return cell[keep]


def _row(figure: dict[str, Any], match: pd.DataFrame) -> dict[str, Any]:
    mean, std, n_ok, n = summarise(match)
    difference = mean - figure["mean"]
    errors = standard_errors(difference, std, n_ok, figure["std"])
    convention = ", ".join(dict.fromkeys(match["convention"]))
    judged = verdict(figure["metric"], difference, errors, n_ok, n, single=math.isnan(figure["std"]))
    same_data = convention == SAME_DATA and n == DATASETS
    if same_data and judged in ("agrees", "equal") and is_exact(difference, std - figure["std"]):
        judged = "exact"
    return {key: figure[key] for key in KEYS} | {
        "paper_mean": figure["mean"],
        "paper_std": figure["std"],
        "ours_mean": mean,
        "ours_std": std,
        "n_ok": n_ok,
        "n": n,
        "difference": difference,
        "standard_errors": errors,
        "verdict": judged,
        "convention": convention,
        "engine": ", ".join(dict.fromkeys(match["engine"])),
        "row": match["row"].iloc[0],
    }


def standard_errors(difference: float, std: float, n: int, paper_std: float) -> float:
    """Return a difference of means in units of its standard error; NaN where there is no spread to judge by.

    The spread is pooled over both samples, as in Student's t-test, so that a few data sets of ours that happen to be
    equal do not pass for certainty. With 10 data sets on both sides this is sqrt((s_ours^2 + s_paper^2) / 10).

    >>> standard_errors(2.0, 3.0, 10, 1.0)
    2.0
    """
    if n < 2 or math.isnan(paper_std):
        return math.nan
    pooled = ((n - 1) * std**2 + (DATASETS - 1) * paper_std**2) / (n + DATASETS - 2)
    error = math.sqrt(pooled * (1 / n + 1 / DATASETS))
    return difference / error if error > 0 else math.nan


def verdict(metric: str, difference: float, errors: float, n_ok: int, n: int, *, single: bool = False) -> str:
    """Judge a difference: agrees (within two standard errors), better or worse than published.

    ``single``: the paper's figure rests on one data set (Sachs), so ours on one is enough to call it equal.

    >>> verdict("shd", 0.4, 0.7, 10, 10), verdict("shd", -9.0, -4.0, 10, 10), verdict("shd", 9.0, 4.0, 9, 10)
    ('agrees', 'better', 'incomplete')
    >>> verdict("shd", 0.4, 0.7, 4, 4), verdict("shd", 0.0, math.nan, 1, 1, single=True)
    ('too few', 'equal')
    """
    if n_ok < n:
        return "incomplete"
    if n < FEWEST and not single:
        return "too few"
    same = abs(difference) <= (F1_ROUNDING if metric == "f1" else ROUNDING)
    if math.isnan(errors):
        return "equal" if same else "differs"
    if abs(errors) <= AGREEMENT or same:
        return "agrees"
    return "better" if (difference > 0) == (metric in HIGHER_IS_BETTER) else "worse"


def is_exact(mean_difference: float, std_difference: float) -> bool:
    """Say whether a mean and a standard deviation (both with one decimal) would be printed as the paper's are.

    >>> is_exact(0.04, -0.05), is_exact(0.04, 0.06)
    (True, False)
    """
    return abs(mean_difference) <= ROUNDING and abs(std_difference) <= ROUNDING


def differences(comparison: pd.DataFrame) -> pd.DataFrame:
    """Return, per method and row of ours, how far SHD and SID are from the published means on the paper's own data.

    On the same data sets a difference is no sampling noise: what stays over many cells is a difference of methods.
    """
    same = comparison[(comparison["convention"] == SAME_DATA) & (comparison["n_ok"] == DATASETS)]
    same = same[same["metric"].isin(["shd", "sid"])]
    rows = []
    for (method, row, metric), cells in same.groupby(["method", "row", "metric"], sort=False):
        difference = cells["difference"]
        within = cells["standard_errors"].abs()
        rows.append(
            {
                "method": method,
                "row": row,
                "metric": metric,
                "cells": len(cells),
                "exact": int((cells["verdict"] == "exact").sum()),
                "within_one": int((within <= 1).sum()),
                "within_two": int((within <= AGREEMENT).sum()),
                "mean_difference": difference.mean(),
                "mean_absolute_difference": difference.abs().mean(),
            }
        )
    return pd.DataFrame(rows, columns=DIFFERENCES)


def coverage(comparison: pd.DataFrame) -> str:
    """Say in one sentence how much of the paper the run covers."""
    total = len(load_published())
    if comparison.empty:
        return f"None of the paper's {total:,} published figures was run: no row of this run is one of its methods."
    counts = comparison["verdict"].value_counts()
    listed = ", ".join(f"{counts[name]:,} {words}" for name, words in VERDICTS.items() if name in counts)
    figures = len(comparison.drop_duplicates(KEYS))
    often = f" ({len(comparison):,} comparisons, some run more than once)" if figures < len(comparison) else ""
    verb = "was" if figures == 1 else "were"
    sentence = f"{figures:,} of the paper's {total:,} published figures {verb} run{often}: {listed}."
    smaller = comparison[(comparison["n"] < DATASETS) & comparison["paper_std"].notna()]
    if len(smaller):
        fewest = int(smaller["n"].min())
        rest = "rests" if len(smaller) == 1 else "rest"
        sentence += f" {len(smaller):,} {rest} on fewer data sets, down to {fewest}, than the paper's {DATASETS}."
    return sentence


def to_markdown(comparison: pd.DataFrame) -> str:
    """Return the comparison as Markdown."""
    lines = ["# Comparison with the published figures", "", coverage(comparison), ""]
    if len(differences(comparison)):
        lines += ["## On the paper's own data", "", "Differences to the published means, over all such cells.", ""]
        lines += [*markdown_table(*display_differences(comparison)), "", "## Every figure", ""]
    if len(comparison):
        lines += markdown_table(*display(comparison))
    return "\n".join(lines) + "\n"


def to_latex(comparison: pd.DataFrame) -> str:
    """Return the comparison as a LaTeX longtable."""
    header, rows = display(comparison)
    return "\n".join(
        [
            r"% needs the packages booktabs and longtable",
            r"\begin{longtable}{llrrllllrrrrl}",
            rf"\caption{{{latex_escape(coverage(comparison))}}}\\",
            r"\toprule",
            " & ".join(map(latex_escape, header)) + r" \\",
            r"\midrule",
            r"\endhead",
            *(" & ".join(map(latex_escape, row)) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{longtable}",
            "",
        ]
    )


def display(comparison: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the comparison as text: a header and rows."""
    header = ["Setting", "Data", "Nodes", "e", "Method", "Row", "Engine", "Metric", "Ours", "Paper"]
    header += ["Difference", "Std. errors", "Verdict"]
    rows = []
    for figure in comparison.to_dict("records"):
        alpha = {"": "", "best": "*"}.get(figure["alpha"], f" (alpha={figure['alpha']})")
        test = f" {figure['test']}" if figure["test"] else ""
        errors = figure["standard_errors"]
        ours = _spread(figure["ours_mean"], figure["ours_std"])
        if figure["n_ok"] < figure["n"]:
            ours += f" ({figure['n_ok']}/{figure['n']})"
        rows.append(
            [
                f"{figure['setting']} ({figure['experiment']})",
                str(figure["mechanism"]),
                str(figure["nodes"]),
                str(figure["edges_per_node"]),
                f"{figure['method']}{alpha}{test}",
                str(figure["row"]),
                str(figure["engine"]),
                str(figure["metric"]).upper(),
                ours,
                _spread(figure["paper_mean"], figure["paper_std"]),
                "" if math.isnan(figure["difference"]) else f"{figure['difference']:+.2f}".rstrip("0").rstrip("."),
                "" if math.isnan(errors) else f"{errors:+.1f}",
                figure["verdict"],
            ]
        )
    return header, rows


def display_differences(comparison: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return the differences on the paper's own data as text: a header and rows."""
    header = ["Method", "Row", "Metric", "Cells", "Exact", "Within 1 s.e.", "Within 2 s.e.", "Mean difference"]
    header.append("Mean absolute difference")
    rows = [
        [
            line["method"],
            line["row"],
            line["metric"].upper(),
            *(str(line[count]) for count in ("cells", "exact", "within_one", "within_two")),
            f"{line['mean_difference']:+.2f}",
            f"{line['mean_absolute_difference']:.2f}",
        ]
        for line in differences(comparison).to_dict("records")
    ]
    return header, rows


def _spread(mean: float, std: float) -> str:
    if math.isnan(mean):
        return "–"
    digits = 1 if mean >= 1 or not math.isnan(std) else 2
    return f"{mean:.{digits}f}" if math.isnan(std) else f"{mean:.1f} ± {std:.1f}"
