"""Write ``docs/measured-reproduction.md`` from the records: ``make measured``.

It reads the comparison that ``make paper`` made of them; nothing in the page is written by hand.
"""

import argparse
import shutil
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import TwoSlopeNorm
from matplotlib.figure import Figure

from benchmark.methods import ROOT
from benchmark.paper.claims import CLAIMS, answer
from benchmark.paper.printed import row_label
from benchmark.paper.published import DATASETS, load_published
from benchmark.paper.reproduction import (
    AGREEMENT,
    HIGHER_IS_BETTER,
    KEYS,
    SAME_DATA,
    VERDICTS,
    WITHHELD,
    display,
    display_differences,
    read_comparison,
)
from benchmark.paper.untabled import directions, exponents, hidden_targets, scaling
from benchmark.recorded.store import Store
from benchmark.tables import markdown_table

PAGE = ROOT / "docs" / "measured-reproduction.md"
PICTURE = ROOT / "docs" / "images" / "measured.png"
BOXES = ROOT / "docs" / "images" / "perfect-d10.png"
AS_PUBLISHED = "-published"  # how the rows end that run a method as the paper's authors did
JUDGED = [verdict for verdict in VERDICTS if verdict not in WITHHELD]
LARGEST = 4  # standard errors, of the colour scale
BLOCK = ["experiment", "setting"]
TITLES = {
    "main": "Main tables, {setting}",
    "ablation": "Interventional loss, {setting}",
    "linear_model": "Linear model, {setting}",
    "uniform_intervention": "Without a mean shift, {setting}",
    "small_change": "Small changes, {setting}",
    "sachs": "Flow cytometry (Sachs)",
}
ROW = ["method", "test", "alpha"]
COLUMN = ["mechanism", "nodes", "edges_per_node", "metric"]
TILE = 0.115  # inches
SIDES, SIDE_TILES, LABEL_TILES = 3, 36, 11  # columns of blocks, and tiles that a column and its labels take
GAP, LEGEND_TILES = 7, 4  # tiles between blocks, and below them


def scored(comparison: pd.DataFrame, *, as_published: bool) -> pd.DataFrame:
    """Return every published figure once with our answer, or none.

    Where a method was run in two ways, as its authors published it and as it should be, that on more data sets is
    taken, and of equals the one asked for.
    """
    is_published = comparison["row"].str.endswith(AS_PUBLISHED)
    ranked = comparison.assign(other=is_published != as_published, fewer=-comparison["n_ok"])
    first = ranked.sort_values(["fewer", "other"], kind="stable")
    ours = first.drop_duplicates(KEYS).drop(columns=["fewer", "other", "paper_mean", "paper_std"])
    return load_published().merge(ours, on=KEYS, how="left")


def scoreboard(figures: pd.DataFrame, by: str) -> tuple[list[str], list[list[str]]]:
    """Count verdicts by table or method."""
    header = [by.capitalize(), "Figures", *(name.capitalize() for name in JUDGED), "Other", "Not run"]
    rows = []
    groups = [(str(name), part) for name, part in figures.groupby(by, sort=False)]
    for name, part in [*groups, ("All", figures)]:
        counts = [int((part["verdict"] == verdict).sum()) for verdict in JUDGED]
        absent = int(part["verdict"].isna().sum())
        numbers = [len(part), *counts, len(part) - sum(counts) - absent, absent]
        rows.append([name.removeprefix("tab:"), *(f"{number:,}" for number in numbers)])
    return header, rows


def agreement(figures: pd.DataFrame) -> str:
    """Say how many answers on the paper's own data are within one and two standard errors."""
    same = figures[(figures["convention"] == SAME_DATA) & (figures["n_ok"] == DATASETS)]
    errors = same["standard_errors"].abs()
    known = same[errors.notna()]
    if known.empty:
        return "No figure has yet been measured on all ten of the paper's own data sets."
    one, two = int((errors <= 1).sum()), int((errors <= AGREEMENT).sum())
    return (
        f"On all ten of the paper's own data sets of a condition, {len(known):,} figures: {one:,} "
        f"({one / len(known):.1%}) within one standard error, {two:,} ({two / len(known):.1%}) within two."
    )


def claims_table(figures: pd.DataFrame) -> tuple[list[str], list[list[str]]]:
    """Return each claim with its answers by the published means and by ours."""
    complete = figures["ours_mean"].where((figures["n_ok"] == figures["n"]) & (figures["n"] >= figures["wanted"]))
    ours = figures.assign(mean=complete)
    header = ["Where", "The paper's words", "Check", "Published", "Ours"]
    return header, [
        [claim.place, f"“{claim.quote}”", claim.check, answer(claim, figures).text, answer(claim, ours).text]
        for claim in CLAIMS
    ]


def picture(figures: pd.DataFrame) -> Figure:
    """Draw every published figure as a tile: its difference in standard errors, grey where it was not run."""
    blocks = list(figures.groupby(BLOCK, sort=False))
    large = [block for block in blocks if block[0][0] == "main"]
    others = sorted((block for block in blocks if block[0][0] != "main"), key=lambda block: -_lines(block[1]))
    sides: list[list[tuple[str, pd.DataFrame]]] = [[] for _ in range(SIDES)]
    tops = [0] * SIDES
    for name, part in [*large, *others]:
        shortest = tops.index(min(tops))
        sides[shortest].append((TITLES[name[0]].format(setting=name[1]), part))
        tops[shortest] += _lines(part) + GAP
    wide, tall = SIDES * SIDE_TILES, max(tops) + LEGEND_TILES
    with matplotlib.rc_context({"font.size": 5, "axes.linewidth": 0.4}):
        figure = Figure(figsize=(wide * TILE, tall * TILE))
        for side, column in enumerate(sides):
            top = 2
            for title, part in column:
                lines, left = _lines(part), (LABEL_TILES + side * SIDE_TILES) / wide
                width = part.drop_duplicates(COLUMN).shape[0] / wide
                _block(figure.add_axes((left, 1 - (top + lines) / tall, width, lines / tall)), title, part)
                top += lines + GAP
        _legend(figure, wide, tall)
    return figure


def _lines(part: pd.DataFrame) -> int:
    return len(part.drop_duplicates(ROW))


def _block(axes: Axes, title: str, part: pd.DataFrame) -> None:
    rows = list(part[ROW].drop_duplicates().itertuples(index=False, name=None))
    columns = list(part[COLUMN].drop_duplicates().itertuples(index=False, name=None))
    tiles = np.full((len(rows), len(columns)), np.nan)
    for one in part[part["verdict"].isin(JUDGED)].to_dict("records"):
        place = rows.index(tuple(one[name] for name in ROW)), columns.index(tuple(one[name] for name in COLUMN))
        worse = -1 if one["metric"] in HIGHER_IS_BETTER else 1
        error = one["standard_errors"]
        if pd.isna(error):
            error = float(np.sign(one["difference"])) * LARGEST / 2 if one["verdict"] == "differs" else 0.0
        tiles[place] = worse * float(np.clip(error, -LARGEST, LARGEST))
        if one["verdict"] in ("exact", "equal"):
            axes.plot(place[1], place[0], ".", color="black", markersize=1.5)
    axes.set_facecolor("#e4e4e4")
    axes.imshow(tiles, cmap="RdBu_r", norm=TwoSlopeNorm(0, -LARGEST, LARGEST), aspect="auto", interpolation="nearest")
    axes.set_yticks(range(len(rows)), [row_label(*row) for row in rows])
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=0.4)
    places = [(mechanism, nodes, edges) for mechanism, nodes, edges, _ in columns]
    if len(set(places)) == 1:
        axes.set_xticks(range(len(columns)), [metric.upper() for *_, metric in columns], rotation=90, fontsize=4)
    else:  # SHD and SID side by side, named once
        names = [f"{mechanism} {nodes}, e={edges}" for mechanism, nodes, edges in places[::2]]
        axes.set_xticks(np.arange(0, len(columns), 2) + 0.5, names, rotation=90, fontsize=4)
    axes.tick_params(which="both", length=0, pad=1)
    axes.set_title(title, fontsize=6, loc="left", pad=2)


def _legend(figure: Figure, wide: int, tall: int) -> None:
    axes = figure.add_axes((LABEL_TILES / wide, 2.2 / tall, 24 / wide, 0.7 / tall))
    scale = matplotlib.cm.ScalarMappable(TwoSlopeNorm(0, -LARGEST, LARGEST), "RdBu_r")
    figure.colorbar(scale, cax=axes, orientation="horizontal")
    axes.set_title("standard errors from the published mean; red: worse, blue: better", fontsize=5, pad=2)
    note = (
        "A tile a figure, SHD and SID side by side. Dot: equal to the printed digit. Grey: not run,\n"
        "or not on enough data sets. Sachs is one data set, without a spread:\n"
        "its colours say only which is better."
    )
    figure.text((LABEL_TILES + SIDE_TILES) / wide, 2.2 / tall, note)


def page(comparison: pd.DataFrame, metrics: pd.DataFrame, costs: pd.DataFrame, store: Store) -> str:
    """Return the page as Markdown."""
    figures = scored(comparison, as_published=True)
    figures["wanted"] = np.where(figures["std"].isna(), 1, DATASETS)
    own = scored(comparison, as_published=False).assign(wanted=figures["wanted"])
    outside = comparison[comparison["standard_errors"].abs() > AGREEMENT]
    counted = pd.MultiIndex.from_frame(outside[[*KEYS, "row"]]).isin(pd.MultiIndex.from_frame(figures[[*KEYS, "row"]]))
    commits = sorted({commit for entry in store.entries.values() for commit in entry.commit.split()})
    fits = sum(entry.fits for entry in store.entries.values())
    hours = sum(entry.cpu_seconds for entry in store.entries.values()) / 3600
    answered = int(figures["verdict"].isin(JUDGED).sum())
    parts = [
        "# Measured reproduction",
        "",
        "How near this suite comes to the paper, on what `records/` holds. `make measured` writes this page; it is "
        "never edited by hand. [findings.md](findings.md) says what was found where numbers differ.",
        "",
        f"The records have {fits:,} fits in {len(store.entries):,} cells, {hours:.1f} CPU hours, of commits "
        f"{', '.join(commits) or 'none'}. {answered:,} of the paper's {len(figures):,} published figures have an "
        f"answer. {agreement(figures)}",
        "",
        "A figure agrees when its mean is within two standard errors, and is exact when mean and standard deviation "
        "equal the printed ones. Without a spread, as on Sachs, which is one data set, figures are equal or differ. "
        "Where a method was also run as its authors ran it, on as many data sets, that row is counted here.",
        "",
        "![Every published figure as a tile](images/measured.png)",
        "",
        "## By table",
        "",
        *markdown_table(*scoreboard(figures, "table")),
        "",
        "## By method",
        "",
        *markdown_table(*scoreboard(figures, "method")),
        "",
        "## Differences on the same data",
        "",
        f"Over the conditions of which all {DATASETS} of the paper's own data sets are recorded; positive: ours is "
        "larger.",
        "",
        *markdown_table(*display_differences(comparison)),
        "",
        "## The paper's claims as checks",
        "",
        "Each is counted over conditions and metrics (SHD and SID, lower is better), with the cutoff 1e-3 and the test "
        "tailored to the data where a method has several, and with our rows as the methods should be. A sentence "
        "about all of them must hold in every one, a sentence with “often”, “usually” or “overall” in more than half. "
        "Where a method is not run, a condition is open, unless the others decide it.",
        "",
        *markdown_table(*claims_table(own)),
        "",
        "## Two nodes with complex densities",
        "",
        "What the paper says in words (Appendix C.2), on X and DNA data: the edge in its direction (→), none (–) or "
        "reversed (←), with the penalty that the held-out score selects.",
        "",
        *markdown_table(*directions(metrics)),
        "",
        "## Hidden targets",
        "",
        "What the paper shows of one data set in a picture (Appendix B.3): which variables each intervention was found "
        "to target, with the hyperparameters that the held-out score selects. Precision / recall, means over ten data "
        "sets; rows as published are left out, because UT-IGSP was told the targets there.",
        "",
        *markdown_table(*hidden_targets(metrics[~metrics["row"].str.endswith(AS_PUBLISHED)])),
        "",
        "## Time and memory against size",
        "",
        "The scalability experiments of Appendix C.3 with its fixed hyperparameters, one core a fit: means over data "
        "sets, the longest fit and the most memory of a process.",
        "",
        *markdown_table(*scaling(metrics, costs)),
        "",
        "The exponents of the power laws nearest to all fits of a row:",
        "",
        *markdown_table(*exponents(costs)),
        "",
        "## Outside two standard errors",
        "",
        "Of the figures counted above; [findings.md](findings.md#outside-two-standard-errors) says what was found:",
        "",
        *_outside(outside[counted]),
        "",
        "Of methods as they should be, where a row as published is counted:",
        "",
        *_outside(outside[~counted]),
    ]
    return "\n".join(parts) + "\n"


def _outside(figures: pd.DataFrame) -> list[str]:
    return markdown_table(*display(figures)) if len(figures) else ["None."]


def main() -> None:
    """Write the page and the pictures of it and of the README."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.paper.measured", description=__doc__)
    parser.add_argument("results", type=Path, help="what make paper made: results/recorded")
    options = parser.parse_args()
    comparison = read_comparison(options.results / "reproduction.csv")
    PICTURE.parent.mkdir(parents=True, exist_ok=True)
    picture(scored(comparison, as_published=True)).savefig(PICTURE, dpi=200, metadata={"Software": None})
    metrics, costs = (pd.read_csv(options.results / f"{name}.csv") for name in ("metrics", "costs"))
    shutil.copyfile(options.results / "paper" / "fig_results_perfect_10_nodes.png", BOXES)
    PAGE.write_text(page(comparison, metrics, costs, Store()), encoding="utf-8")


if __name__ == "__main__":
    main()
