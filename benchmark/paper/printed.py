"""The tables of the paper as it prints them, under its labels: its rows, order and names, its figures beside ours."""

import math
from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.paper.pieces import PREFIX
from benchmark.paper.published import DATASETS, load_published
from benchmark.paper.reproduction import HIGHER_IS_BETTER, KEYS
from benchmark.tables import MECHANISM_NAMES, METRIC_NAMES, latex_escape, markdown_table

ROW = ["method", "test", "alpha"]
COLUMN = ["nodes", "edges_per_node", "metric"]
OURS = ["ours_mean", "ours_std", "n_ok", "n", "difference", "standard_errors", "verdict", "convention", "engine", "row"]
NAMES = {"UT-IGSP": "UTIGSP"}  # as the paper's tables spell it
WIDTHS = {"linear_model": 0.7, "sachs": 0.6}  # shares of the text's width; all others fill it
KINDS = {
    ("main", "perfect"): "perfect interventions",
    ("main", "imperfect"): "imperfect interventions",
    ("main", "unknown"): "perfect interventions with unknown targets",
    ("ablation", "perfect"): "perfect interventions, relevance of the interventional loss",
    ("ablation", "imperfect"): "imperfect interventions, relevance of the interventional loss",
    ("ablation", "unknown"): "unknown targets, relevance of the interventional loss",
    ("linear_model", "perfect"): "perfect interventions, relevance of neural networks",
    ("uniform_intervention", "perfect"): "perfect interventions without a mean shift",
    ("small_change", "imperfect"): "imperfect interventions of small size",
}
PREAMBLE = r"""% needs the packages booktabs, graphicx and xcolor
\providecommand{\sd}[1]{{\scriptsize$\pm$#1}}
\providecommand{\published}[1]{{\scriptsize\textcolor{gray}{#1}}}"""


def printed_values(label: str, comparison: pd.DataFrame) -> pd.DataFrame:
    """Return all figures of a table of the paper in its order, with ours where they were run.

    Where several rows of a run stand for one row of the paper, the first is shown; the comparison has them all.
    """
    published = load_published()
    figures = published[published["table"] == PREFIX + label]
    figures = figures.rename(columns={"mean": "paper_mean", "std": "paper_std"})
    values = figures.merge(comparison.drop_duplicates(KEYS)[[*KEYS, *OURS]], on=KEYS, how="left")
    values["label"] = [row_label(*row) for row in values[ROW].itertuples(index=False)]
    values["best"] = _best(values)
    return values


def row_label(method: str, test: str, alpha: str) -> str:
    """Return the name of a row as the paper prints it.

    >>> row_label("IGSP", "gauss", "2e-1"), row_label("UT-IGSP", "kci", "best"), row_label("JCI-PC", "gauss", "1e-3")
    ('IGSP(α=2e-1)-lin', 'UTIGSP*', 'JCI-PC(α=1e-3)')
    """
    value = {"": "", "best": "*"}.get(alpha, f"(α={alpha})")
    # JCI-PC has partial correlations alone, so the paper does not say so.
    linear = "-lin" if test == "gauss" and method != "JCI-PC" else ""
    return f"{NAMES.get(method, method)}{value}{linear}"


def caption(values: pd.DataFrame) -> str:
    """Say what a table shows, of which data, and how to read it."""
    experiment, setting, mechanism = values[["experiment", "setting", "mechanism"]].iloc[0]
    if experiment == "sachs":
        return "Flow cytometry data (one data set). In grey: published. Bold: best of ours."
    name = MECHANISM_NAMES[mechanism]
    run = values[values["n"].notna()]
    counts = sorted({int(n) for n in run["n"]})
    of = f"mean ± standard deviation over {' or '.join(map(str, counts)) or 'no'} data set{'s' if counts else ''}"
    shown = "value on one data set" if counts == [1] else of
    conventions = "".join(f", convention `{name}`" for name in dict.fromkeys(run["convention"]))
    truth = ", rows with a star aside (they choose by the truth)" if (values["alpha"] == "best").any() else ""
    return (
        f"{name[0].upper()}{name[1:]} data, {KINDS[experiment, setting]}: {shown} per condition"
        f"{conventions}. In grey: the published mean, over {DATASETS}. Bold: best mean of ours{truth}."
    )


def to_latex(label: str, values: pd.DataFrame) -> str:
    """Return a LaTeX table that fits the paper's text: mean and small deviation, the published mean in grey."""
    experiment = values["experiment"].iloc[0]
    columns = list(values[COLUMN].drop_duplicates().itertuples(index=False, name=None))
    groups = list(dict.fromkeys((nodes, edges) for nodes, edges, _ in columns))
    span = len(columns) // len(groups)
    lines = [
        PREAMBLE,
        r"\begin{table}",
        r"\centering",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{latex_escape(caption(values))}}}",
        rf"\label{{{PREFIX}{label}}}",
        r"\vspace{2mm}",
        rf"\resizebox{{{WIDTHS.get(experiment, 1):g}\textwidth}}{{!}}{{%",
        r"\begin{tabular}{@{}l" + "l" * len(columns) + "@{}}",
        r"\toprule",
    ]
    if experiment != "sachs":
        heads = [rf"\multicolumn{{{span}}}{{c}}{{{nodes} nodes, $e={edges}$}}" for nodes, edges in groups]
        rules = [rf"\cmidrule(lr){{{2 + span * i}-{1 + span * (i + 1)}}}" for i in range(len(groups))]
        lines += [" & " + " & ".join(heads) + r" \\", "".join(rules)]
    names = [rf"\multicolumn{{1}}{{c}}{{{METRIC_NAMES[metric]}}}" for _, _, metric in columns]
    lines += ["Method & " + " & ".join(names) + r" \\", r"\midrule"]
    previous = ""
    for name, row in values.groupby("label", sort=False):
        # The paper rules off one method from the next where a method has many rows.
        family = row["method"].iloc[0].split("-")[0]
        if previous not in ("", family) and experiment == "main":
            lines.append(r"\midrule")
        previous = family
        cells = [latex_cell(one) for one in row.to_dict("records")]
        lines.append(" & ".join([latex_escape(str(name)).replace("α", r"$\alpha$"), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}}", r"\end{table}"]) + "\n"


def to_markdown(values: pd.DataFrame) -> str:
    """Return a Markdown table: ours, and the paper's in brackets."""
    columns = [
        METRIC_NAMES[metric] if not edges else f"{nodes} nodes, e = {edges} {METRIC_NAMES[metric]}"
        for nodes, edges, metric in values[COLUMN].drop_duplicates().itertuples(index=False)
    ]
    rows = [
        [str(name).replace("*", r"\*"), *map(markdown_cell, row.to_dict("records"))]
        for name, row in values.groupby("label", sort=False)
    ]
    heading = caption(values).replace("In grey: the published mean", "In brackets: published")
    return "\n".join([heading, "", *markdown_table(["Method", *columns], rows)]) + "\n"


def write_printed(label: str, comparison: pd.DataFrame, folder: Path) -> None:
    """Write a table as LaTeX, Markdown and CSV."""
    values = printed_values(label, comparison)
    folder.mkdir(parents=True, exist_ok=True)
    stem = folder / f"tab_{label}"
    stem.with_suffix(".tex").write_text(to_latex(label, values), encoding="utf-8")
    stem.with_suffix(".md").write_text(to_markdown(values), encoding="utf-8")
    values.drop(columns=["best"]).to_csv(stem.with_suffix(".csv"), index=False)


def markdown_cell(figure: dict[str, Any]) -> str:
    """Return mean and deviation, and the published ones in brackets."""
    mean, std = _numbers(figure, "ours")
    mean = f"**{mean}**" if figure["best"] else mean
    published = " ± ".join(filter(None, _numbers(figure, "paper")))
    return f"{' ± '.join(filter(None, (mean, std)))}{_failed(figure)} [{published}]"


def latex_cell(figure: dict[str, Any]) -> str:
    """Return mean and small deviation, and the published mean in grey."""
    mean, std = _numbers(figure, "ours")
    mean = rf"\textbf{{{mean}}}" if figure["best"] else mean
    published, _ = _numbers(figure, "paper")
    deviation = rf"\sd{{{std}}}" if std else ""
    return rf"{mean}{deviation}{_failed(figure)} \published{{{published}}}".replace("–", "--")


def _numbers(figure: dict[str, Any], side: str) -> tuple[str, str]:
    """Return mean and deviation with the paper's decimals; Sachs has whole numbers, and two decimals of F1."""
    mean, std = figure[f"{side}_mean"], figure[f"{side}_std"]
    digits = 1 if figure["experiment"] != "sachs" else 2 if figure["metric"] == "f1" else 0
    return ("–", "") if math.isnan(mean) else (f"{mean:.{digits}f}", "" if math.isnan(std) else f"{std:.1f}")


def _failed(figure: dict[str, Any]) -> str:
    """Return how many fits succeeded, where not all did."""
    return f" ({figure['n_ok']:.0f}/{figure['n']:.0f})" if figure["n_ok"] < figure["n"] else ""


def _best(values: pd.DataFrame) -> list[bool]:
    """Say which figures are the best mean of their column as printed; a row that looks at the truth cannot be."""
    shown = values["ours_mean"].where(values["alpha"] != "best")
    shown = shown.round(1).where(values["metric"] != "f1", shown.round(2))
    shown = shown.where(~values["metric"].isin(HIGHER_IS_BETTER), -shown)
    lowest = shown.groupby([values[key] for key in COLUMN]).transform("min")
    return list((shown == lowest) & shown.notna())
