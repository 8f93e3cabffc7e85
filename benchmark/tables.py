"""Tables of the appendix: mean and standard deviation per method and condition, as CSV, Markdown and LaTeX."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from benchmark.plan import STANDARD_N, Condition, Experiment, Row
from benchmark.recorded.recall import describe_recorded

MECHANISM_NAMES = {
    "linear": "linear",
    "anm": "additive noise model (ANM)",
    "nn": "nonlinear with non-additive noise (NN)",
    "x": "X",
    "dna": "DNA",
}
METRIC_NAMES = {
    "shd": "SHD",
    "sid": "SID",
    "tp": "tp",
    "fn": "fn",
    "fp": "fp",
    "rev": "rev",
    "f1": "F1",
    "parent_aid": "parent AID",
    "ancestor_aid": "ancestor AID",
    "oset_aid": "O-set AID",
    "edges": "edges",
    "heldout_nll": "held-out NLL",
    "target_precision": "precision",
    "target_recall": "recall",
}
SHARES = ("target_precision", "target_recall")
ADJUSTMENT = ("parent_aid", "ancestor_aid", "oset_aid")
WIDE = 10  # columns; a table with more is set as wide as the text
SELECTED = "Selected without the truth"
CONTROLS = "Controls"
GRID = "Each fixed value"
BEST = "* Lowest SHD to the true graph, per data set: a choice that only the truth allows"
PUBLISHED = "Published in the paper"
VALUE_COLUMNS = [
    "section",
    "row",
    "method",
    "engine",
    "hyperparameters",
    "condition",
    "setting",
    "convention",
    "metric",
    "mean",
    "std",
    "n_ok",
    "n",
]


@dataclass
class Table:
    """A table ready to be written: groups of columns, and sections of rows of text."""

    name: str
    caption: str
    groups: list[tuple[str, list[str]]]
    sections: dict[str, list[tuple[str, list[str]]]] = field(default_factory=dict)
    values: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=VALUE_COLUMNS))


def summarise(cell: pd.DataFrame) -> tuple[float, float, int, int]:
    """Return mean and sample standard deviation of the values, the number of fits that succeeded, and of all fits.

    A fit that succeeded may have no value: no held-out score, or no precision where it named no target.
    """
    numbers = pd.to_numeric(cell["value"]).dropna()
    return float(numbers.mean()), float(numbers.std(ddof=1)), int((cell["status"] == "ok").sum()), len(cell)


class Layout(NamedTuple):
    """What a table shows: conditions side by side; with ``targets``, how well hidden targets were found."""

    conditions: list[Condition]
    targets: bool = False


def cell_text(mean: float, std: float, n_ok: int, n: int, digits: int = 1) -> str:
    """Return ``mean ± std``, with n_ok/n where fits failed; a dash where there is no value.

    >>> cell_text(3.25, 2.1, 10, 10), cell_text(3.25, 2.1, 8, 10), cell_text(math.nan, math.nan, 0, 10)
    ('3.2 ± 2.1', '3.2 ± 2.1 (8/10)', '– (0/10)')
    >>> cell_text(18.0, math.nan, 1, 1), cell_text(0.424, math.nan, 1, 1), cell_text(math.nan, math.nan, 1, 1)
    ('18', '0.42', '–')
    """
    if math.isnan(mean):
        text = "–"
    elif n == 1:
        text = f"{mean:.0f}" if mean == round(mean) else f"{mean:.2f}"
    else:
        text = f"{mean:.{digits}f}" if math.isnan(std) else f"{mean:.{digits}f} ± {std:.{digits}f}"
    return text if n_ok == n else f"{text} ({n_ok}/{n})"


def build_tables(experiment: Experiment, metrics: pd.DataFrame) -> list[Table]:
    """Return one table per mechanism, or one for data that are not simulated; as many again for hidden targets."""
    mine = metrics[metrics["experiment"] == experiment.name]
    return [_build(experiment, name, layout, mine) for name, layout in table_layouts(experiment).items()]


def missing_tables(experiment: Experiment, reason: str) -> list[Table]:
    """Return tables that say why there are none."""
    caption = f"{experiment.title}: this table could not be made ({reason})."
    return [Table(name, caption, [("Value", ["–"])]) for name in table_layouts(experiment)]


def table_layouts(experiment: Experiment) -> dict[str, Layout]:
    """Return the names of an experiment's tables and what each shows."""
    tables: dict[str, Layout] = {}
    for condition in experiment.conditions:
        mechanism = condition.simulation.get("mechanism")
        name = f"{experiment.name}-{mechanism}" if mechanism else experiment.name
        tables.setdefault(name, Layout([])).conditions.append(condition)
    if experiment.targets == "unknown":
        tables |= {f"{name}-targets": Layout(layout.conditions, targets=True) for name, layout in tables.items()}
    return tables


def _build(experiment: Experiment, name: str, layout: Layout, metrics: pd.DataFrame) -> Table:
    conditions = layout.conditions
    mine = metrics[metrics["condition"].isin([condition.name for condition in conditions])]
    if layout.targets:
        mine = mine[mine["metric"].isin(SHARES) & (mine["choice"] == "selected")]
    shown = list(SHARES) if layout.targets else _shown_metrics(conditions, mine)
    n_varies = len({condition.simulation.get("n") for condition in conditions}) > 1
    table = Table(
        name,
        _caption(experiment, layout, mine, shown),
        [(heading(c, n_varies=n_varies), [METRIC_NAMES[m] for m in shown]) for c in conditions],
    )
    rows: list[tuple[str, Row, str, str | None]] = []
    for row in experiment.rows:
        own = mine[mine["row"] == row.name]
        if layout.targets and own["value"].isna().all():
            continue  # it does not say targets
        rows.append((CONTROLS if row.method.is_control else SELECTED, row, "selected", None))
        for hyperparameters in dict.fromkeys(own.loc[own["choice"] == "grid", "hyperparameters"]):
            rows.append((GRID, row, "grid", hyperparameters))
        if (own["choice"] == "best_shd").any():
            rows.append((BEST, row, "best_shd", None))
    values, nothing = [], mine.iloc[:0]
    by_choice = dict(list(mine.groupby(["row", "choice"])))
    by_combination = dict(list(mine[mine["choice"] == "grid"].groupby(["row", "hyperparameters"])))
    for section in (SELECTED, CONTROLS, GRID, BEST):
        for _, row, choice, hyperparameters in (entry for entry in rows if entry[0] == section):
            if hyperparameters is None:
                chosen = by_choice.get((row.name, choice), nothing)
            else:
                chosen = by_combination[row.name, hyperparameters]
            label = {"best_shd": f"{row.label}*", "grid": f"{row.label} ({hyperparameters})"}.get(choice, row.label)
            engines, combinations = (list(dict.fromkeys(chosen[name])) for name in ("engine", "hyperparameters"))
            how = combinations[0] if len(combinations) == 1 else "chosen per data set"
            cells = dict(list(chosen[["condition", "metric", "status", "value"]].groupby(["condition", "metric"])))
            texts = []
            for condition in conditions:
                convention = condition.simulation.get("convention", "as given")
                about = condition.name, experiment.setting(condition), convention
                for metric in shown:
                    summary = summarise(cells.get((condition.name, metric), nothing))
                    text = cell_text(*summary, digits=2 if layout.targets else 1)
                    is_part = 0 < summary[-1] < condition.datasets
                    texts.append(f"{text} ({summary[-1]} of {condition.datasets} recorded)" if is_part else text)
                    values.append((section, row.name, label, ", ".join(engines), how, *about, metric, *summary))
            table.sections.setdefault(section, []).append((label, texts))
    table.values = pd.DataFrame(values, columns=VALUE_COLUMNS)
    published = [] if layout.targets else _published_rows(experiment, conditions, shown)
    if published:
        table.sections[PUBLISHED] = published
        if any(condition.simulation for condition in conditions):
            table.caption += " Published figures: over 10 data sets."
    recorded = describe_recorded(mine)
    table.caption += f" {recorded}" if recorded else ""
    return table


def _published_rows(
    experiment: Experiment, conditions: list[Condition], shown: list[str]
) -> list[tuple[str, list[str]]]:
    """Return the paper's own figures for the same conditions, so that a new method can be read beside them."""
    if experiment.paper is None:
        return []
    from benchmark.paper.published import DATASETS, main_figures  # the suite works without that folder

    figures = [main_figures(experiment.paper, experiment.setting(c), c.simulation) for c in conditions]
    rows = []
    for method in dict.fromkeys(name for part in figures for name in part["method"]):
        texts = []
        for part in figures:
            for metric in shown:
                found = part[(part["method"] == method) & (part["metric"] == metric)]
                count = DATASETS if len(found) and found["std"].notna().all() else 1
                texts.append(
                    cell_text(found["mean"].iloc[0], found["std"].iloc[0], count, count) if len(found) else "–"
                )
        rows.append((f"{method} (paper)", texts))
    return rows


def heading(condition: Condition, *, n_varies: bool = False) -> str:
    """Return the heading of a condition's columns; the usual number of rows is named only beside others.

    >>> heading(Condition("linear-d10-e1-perfect", "simulated", 10, {"nodes": 10, "edges_per_node": 1, "n": 10_000}))
    '10 nodes, e = 1'
    """
    simulation = condition.simulation
    if not simulation:
        return condition.name.removeprefix("file-")
    parts = [f"{simulation['nodes']} nodes", f"e = {simulation['edges_per_node']:g}"]
    if "settings" in simulation:
        parts.append(f"{simulation['settings']} interventions")
    if n_varies or simulation["n"] != STANDARD_N:
        parts.append(f"n = {simulation['n']:,}")
    return ", ".join(parts)


def _shown_metrics(conditions: list[Condition], metrics: pd.DataFrame) -> list[str]:
    present = set(metrics["metric"])
    if present and "shd" not in present:
        return ["edges", "heldout_nll"]
    # Fits from records come with the distances of their time, which may lack these.
    measured = metrics.loc[metrics["value"].notna(), "metric"]
    adjustment = [name for name in ADJUSTMENT if (measured == name).any()]
    if any(condition.simulation for condition in conditions):
        return ["shd", "sid", *adjustment]
    return ["shd", "sid", "tp", "fn", "fp", "rev", "f1", *adjustment]


def _caption(experiment: Experiment, layout: Layout, metrics: pd.DataFrame, shown: list[str]) -> str:
    title = f"{experiment.title}, targets found" if layout.targets else experiment.title
    distances = (
        " AID: adjustment distances by parents, ancestors and optimal sets, of the class where a method returns one."
        if set(ADJUSTMENT) & set(shown)
        else ""
    )
    simulation = layout.conditions[0].simulation
    counts = sorted({condition.datasets for condition in layout.conditions})
    if not simulation:
        return f"{title}: one data set each, as given.{distances} {_engines(metrics)}"
    mechanism = MECHANISM_NAMES[simulation["mechanism"]]
    over = "one data set" if counts == [1] else f"{counts[0]} data sets per condition"
    statistic = "value on" if counts == [1] else "mean ± standard deviation over"
    over += "; precision where a method named a target" if layout.targets else ""
    conventions = dict.fromkeys(f"`{condition.simulation['convention']}`" for condition in layout.conditions)
    named = f"data convention{'s' if len(conventions) > 1 else ''} {' and '.join(conventions)}"
    return f"{title}: {mechanism} data, {statistic} {over}; {named}.{distances} {_engines(metrics)}"


def _engines(metrics: pd.DataFrame) -> str:
    """Say which engines ran the methods; Python, where nothing else is said."""
    others = metrics[~metrics["engine"].isin(["python", ""]) & metrics["engine"].notna()]
    named = [f"{name} ({', '.join(dict.fromkeys(of['method']))})" for name, of in others.groupby("engine")]
    return f"Engines: {', '.join(named)}; otherwise python." if named else "Engine: python."


def markdown_table(header: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    lines = [" | ".join(cell.replace("|", r"\|") for cell in row) for row in (header, *rows)]
    return [f"| {lines[0]} |", "|" + "---|" * len(header), *(f"| {line} |" for line in lines[1:])]


def to_markdown(table: Table) -> str:
    """Return a Markdown table under its caption."""
    columns = [f"{head} {metric}" for head, metrics in table.groups for metric in metrics]
    lines = []
    for section, rows in table.sections.items():
        if len(table.sections) > 1:
            lines.append([f"**{section.replace('* ', '', 1)}**", *[""] * len(columns)])
        lines += [[label.replace("*", r"\*"), *texts] for label, texts in rows]
    return "\n".join([table.caption, "", *markdown_table(["Method", *columns], lines)]) + "\n"


def to_latex(table: Table) -> str:
    """Return a LaTeX table for the package booktabs; a wide one also needs graphicx."""
    width = 1 + sum(len(metrics) for _, metrics in table.groups)
    heads, rules, first = [], [], 2
    for head, metrics in table.groups:
        heads.append(rf"\multicolumn{{{len(metrics)}}}{{c}}{{{latex_escape(head)}}}")
        rules.append(rf"\cmidrule(lr){{{first}-{first + len(metrics) - 1}}}")
        first += len(metrics)
    names = [latex_escape(metric) for _, metrics in table.groups for metric in metrics]
    lines = [
        r"\begin{table}",
        r"\centering",
        rf"\caption{{{latex_escape(table.caption)}}}",
        rf"\label{{tab:{table.name}}}",
        *([r"\resizebox{\textwidth}{!}{%"] if width > WIDE else []),
        r"\begin{tabular}{l" + "r" * (width - 1) + "}",
        r"\toprule",
        " & " + " & ".join(heads) + r" \\",
        "".join(rules),
        "Method & " + " & ".join(names) + r" \\",
    ]
    for section, rows in table.sections.items():
        lines.append(r"\midrule")
        if len(table.sections) > 1:
            lines.append(rf"\multicolumn{{{width}}}{{l}}{{\emph{{{latex_escape(section)}}}}} \\")
        lines += [" & ".join(map(latex_escape, [label, *texts])) + r" \\" for label, texts in rows]
    end = r"\end{tabular}}" if width > WIDE else r"\end{tabular}"
    return "\n".join([*lines, r"\bottomrule", end, r"\end{table}"]) + "\n"


WRITERS: dict[str, Callable[[Table], str]] = {
    "csv": lambda table: table.values.to_csv(index=False),
    "md": to_markdown,
    "tex": to_latex,
}


def write_table(table: Table, folder: Path) -> None:
    """Write a table in every format."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, render in WRITERS.items():
        (folder / f"{table.name}.{kind}").write_text(render(table), encoding="utf-8")


_LATEX_SPECIAL = {
    "&": r"\&",
    "%": r"\%",
    "_": r"\_",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "±": r"$\pm$",
    "–": "--",
    "`": "",
}


def latex_escape(text: str) -> str:
    r"""Return text that LaTeX prints as it is.

    >>> latex_escape("3.2 ± 2.1, 80 %")
    '3.2 $\\pm$ 2.1, 80 \\%'
    """
    return re.sub("|".join(map(re.escape, _LATEX_SPECIAL)), lambda match: _LATEX_SPECIAL[match[0]], text)
