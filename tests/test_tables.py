"""Tables: the numbers, the sections, and that each format is well formed."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.paper.published import load_published, tailored_test
from benchmark.plan import Experiment, Plan
from benchmark.tables import (
    BEST,
    CONTROLS,
    GRID,
    PUBLISHED,
    SELECTED,
    Table,
    build_tables,
    cell_text,
    latex_escape,
    summarise,
    table_layouts,
    to_latex,
    to_markdown,
    write_table,
)
from tests.samples import SACHS, condition, configuration, experiment, metric_frame, metric_rows, row

PLACES = [condition(edges_per_node=edges) for edges in (1, 4)]
NAN = float("nan")


def rows_of(shown: Experiment, rng: np.random.Generator) -> list[dict[str, Any]]:
    """Metrics with every choice: fixed selection has a grid, held-out selection a best choice, a control neither."""
    rows: list[dict[str, Any]] = []
    for place in shown.conditions:
        for by in shown.rows:

            def draw(missing: int = 0, count: int = place.datasets) -> dict[str, list[float | None]]:
                return {m: [None] * missing + rng.integers(0, 30, count - missing).tolist() for m in ("shd", "sid")}

            chosen = "alpha=0.1" if by.selection != "heldout" else ""
            rows += metric_rows(shown, place, by, draw(), hyperparameters=chosen)
            if not by.method.is_control:
                rows += metric_rows(shown, place, by, draw(1), "best_shd", "alpha=0.2")
            if by.selection != "heldout":
                for alpha in ("alpha=0.1", "alpha=0.2"):
                    rows += metric_rows(shown, place, by, draw(), "grid", alpha)
    return rows


def sample(paper: str | None = "main") -> tuple[Experiment, pd.DataFrame]:
    rows = [
        row("control", "Control", is_control=True),
        row("fixed", "Fixed", {"alpha": 0.1}),
        row("scored", "Scored_1 & 50 % | {x}"),
    ]
    shown = experiment(PLACES, rows, paper=paper)
    return shown, metric_frame(rows_of(shown, np.random.default_rng(0)))


def table(paper: str | None = "main") -> Table:
    (made,) = build_tables(*sample(paper))
    return made


# --- numbers


def cell(*values: float, failed: int = 0) -> pd.DataFrame:
    """Values of fits that succeeded, and fits that failed."""
    return pd.DataFrame({"value": [*values, *[NAN] * failed], "status": ["ok"] * len(values) + ["error"] * failed})


def test_a_summary_is_mean_and_sample_deviation_of_the_fits_that_succeeded() -> None:
    assert summarise(cell(1.0, 2.0, 6.0)) == pytest.approx((3.0, np.sqrt(7), 3, 3))
    assert summarise(cell(1.0, 3.0, failed=1)) == pytest.approx((2.0, np.sqrt(2), 2, 3))
    assert summarise(cell(failed=2)) == pytest.approx((NAN, NAN, 0, 2), nan_ok=True)
    assert summarise(cell(4.0, NAN, failed=1)) == pytest.approx((4.0, NAN, 2, 3), nan_ok=True)


@pytest.mark.parametrize(
    ("summary", "text"),
    [
        ((3.04, 2.16, 10, 10), "3.0 ± 2.2"),
        ((3.04, 2.16, 8, 10), "3.0 ± 2.2 (8/10)"),
        ((3.04, NAN, 1, 10), "3.0 (1/10)"),
        ((NAN, NAN, 0, 10), "– (0/10)"),
        ((18.0, NAN, 1, 1), "18"),
        ((0.424, NAN, 1, 1), "0.42"),
        ((NAN, NAN, 0, 1), "– (0/1)"),
        ((NAN, NAN, 0, 0), "–"),
        ((NAN, NAN, 1, 1), "–"),
        ((NAN, NAN, 10, 10), "–"),
        ((0.5, NAN, 10, 10), "0.5"),
        ((3.0, 0.0, 2, 2), "3.0 ± 0.0"),
    ],
)
def test_the_text_of_a_cell(summary: tuple[float, float, int, int], text: str) -> None:
    assert cell_text(*summary) == text


def test_values_equal_a_computation_of_their_own() -> None:
    shown, metrics = sample()
    (made,) = build_tables(shown, metrics)
    keys = ["row", "choice", "hyperparameters", "condition", "metric"]
    expected = metrics.groupby(keys)["value"].agg(["mean", "std", "count", "size"])
    labels = {(by.name, choice): by.label for by in shown.rows for choice in ("selected", "grid", "best_shd")}
    computed = {}
    for (name, choice, hyperparameters, place, metric), values in expected.iterrows():
        suffix = {"grid": f" ({hyperparameters})", "best_shd": "*"}.get(choice, "")
        computed[labels[name, choice] + suffix, place, metric] = tuple(values)
    written = {
        (one["method"], one["condition"], one["metric"]): (one["mean"], one["std"], one["n_ok"], one["n"])
        for one in made.values.to_dict("records")
    }
    assert written.keys() == computed.keys()
    for key, values in computed.items():
        assert written[key] == pytest.approx(values)
    assert set(made.values["convention"]) == {"released"}
    assert set(made.values["setting"]) == {"perfect"}


def test_the_text_shows_the_values() -> None:
    made = table()
    for one in made.values.to_dict("records"):
        texts = dict(made.sections[one["section"]])[one["method"]]
        text = cell_text(one["mean"], one["std"], one["n_ok"], one["n"])
        column = [place.name for place in PLACES].index(one["condition"]) * 2 + ["shd", "sid"].index(one["metric"])
        assert texts[column] == text


def test_failed_fits_are_counted() -> None:
    best = dict(table().sections[BEST])
    assert all(re.fullmatch(r"\d+\.\d ± \d+\.\d \(2/3\)", text) for text in best["Fixed*"])
    shown = experiment(PLACES, [row("a")])
    metrics = metric_frame(
        metric_rows(shown, PLACES[0], shown.rows[0], {"shd": [None] * 3, "sid": [None] * 3})
        + metric_rows(shown, PLACES[1], shown.rows[0], {"shd": [4.0, None, None], "sid": [1.0, 2.0, 3.0]})
    )
    (made,) = build_tables(shown, metrics)
    assert made.sections == {SELECTED: [("a", ["– (0/3)", "– (0/3)", "4.0 (1/3)", "2.0 ± 1.0"])]}


def test_a_single_data_set_has_no_deviation() -> None:
    place = condition(datasets=1)
    shown = experiment([place], [row("a")])
    (made,) = build_tables(shown, metric_frame(metric_rows(shown, place, shown.rows[0], {"shd": [4.0], "sid": [7.5]})))
    assert made.sections[SELECTED] == [("a", ["4", "7.50"])]
    assert "value on one data set" in made.caption


def test_sachs_shows_all_counts() -> None:
    shown = experiment([SACHS], [row("a")], name="sachs", paper="sachs")
    names = ("shd", "sid", "tp", "fn", "fp", "rev", "f1", "edges", "shd_cpdag", "heldout_nll")
    rows = metric_rows(shown, SACHS, shown.rows[0], {name: [number + 0.5] for number, name in enumerate(names)})
    (made,) = build_tables(shown, metric_frame(rows))
    assert made.name == "sachs"
    assert made.groups == [("sachs", ["SHD", "SID", "tp", "fn", "fp", "rev", "F1"])]
    assert made.sections[SELECTED] == [("a", ["0.50", "1.50", "2.50", "3.50", "4.50", "5.50", "6.50"])]
    assert ("IGSP (paper)", ["18", "54", "4", "6", "5", "7", "0.42"]) in made.sections[PUBLISHED]
    assert "10 data sets" not in made.caption
    assert table().caption.endswith("Published figures: over 10 data sets.")


def test_adjustment_distances_stand_beside_the_others_where_they_were_measured() -> None:
    values: dict[str, list[float | None]] = {"shd": [1.0], "sid": [2.0], "f1": [0.5]}
    adjustment = values | {"parent_aid": [3.0], "ancestor_aid": [4.0], "oset_aid": [5.0]}
    columns = ["SHD", "SID", "parent AID", "ancestor AID", "O-set AID"]
    places = [condition(edges_per_node=edges, datasets=1) for edges in (1, 4)]
    shown = experiment(places, [row("a"), row("b")], paper="main")
    measured = [one for place in places for one in metric_rows(shown, place, shown.rows[0], adjustment)]
    recorded = [one for place in places for one in metric_rows(shown, place, shown.rows[1], values)]
    (made,) = build_tables(shown, metric_frame(measured + recorded))
    assert [names for _, names in made.groups] == [columns] * 2
    assert made.sections[SELECTED] == [("a", ["1", "2", "3", "4", "5"] * 2), ("b", ["1", "2", "–", "–", "–"] * 2)]
    assert all(texts[2:5] == ["–"] * 3 for _, texts in made.sections[PUBLISHED])
    assert "adjustment distances by parents, ancestors and optimal sets" in made.caption
    check_latex(to_latex(made))
    assert r"\resizebox{\textwidth}{!}{%" in to_latex(made)
    (without,) = build_tables(shown, metric_frame(recorded))
    assert [names for _, names in without.groups] == [["SHD", "SID"]] * 2
    assert "AID" not in without.caption
    sachs = experiment([SACHS], [row("a")], paper="sachs")
    (made,) = build_tables(sachs, metric_frame(metric_rows(sachs, SACHS, sachs.rows[0], adjustment)))
    assert made.groups[0][1] == ["SHD", "SID", "tp", "fn", "fp", "rev", "F1", *columns[2:]]


def test_data_without_a_truth_show_edges_and_the_score() -> None:
    shown = experiment([SACHS], [row("a")])
    rows = metric_rows(shown, SACHS, shown.rows[0], {"edges": [12], "heldout_nll": [1.234]})
    (made,) = build_tables(shown, metric_frame(rows))
    assert made.groups == [("sachs", ["edges", "held-out NLL"])]
    assert made.sections[SELECTED] == [("a", ["12", "1.23"])]


def test_a_method_without_a_score_shows_a_dash() -> None:
    shown = experiment([SACHS], [row("a"), row("b")])
    rows = [one for by in shown.rows for one in metric_rows(shown, SACHS, by, {"edges": [12], "heldout_nll": [None]})]
    metrics = metric_frame(rows)
    metrics.loc[metrics["row"] == "a", "status"] = "ok"
    (made,) = build_tables(shown, metrics)
    assert made.sections[SELECTED] == [("a", ["12", "–"]), ("b", ["12", "– (0/1)"])]


# --- sections


def test_sections_and_their_order() -> None:
    made = table()
    assert list(made.sections) == [SELECTED, CONTROLS, GRID, BEST, PUBLISHED]
    scored = "Scored_1 & 50 % | {x}"
    assert [label for label, _ in made.sections[SELECTED]] == ["Fixed", scored]
    assert [label for label, _ in made.sections[CONTROLS]] == ["Control"]
    assert [label for label, _ in made.sections[GRID]] == ["Fixed (alpha=0.1)", "Fixed (alpha=0.2)"]
    assert [label for label, _ in made.sections[BEST]] == ["Fixed*", f"{scored}*"]
    assert "only the truth allows" in BEST


def test_without_a_part_of_the_paper_nothing_is_published() -> None:
    assert PUBLISHED not in table(paper=None).sections


def distances(shown: Experiment) -> pd.DataFrame:
    """Some SHD and SID for every condition of an experiment."""
    values: dict[str, list[float | None]] = {"shd": [1.0], "sid": [2.0]}
    return metric_frame([one for c in shown.conditions for one in metric_rows(shown, c, shown.rows[0], values)])


def published_cells() -> dict[tuple[str, str, str, str], str]:
    """Return all published cells that tables of config.yaml show: (table, condition, metric, method) -> text."""
    cells = {}
    for shown in Plan(configuration()).experiments.values():
        for made in build_tables(shown, distances(shown)):
            names = [(place.name, m) for place in table_layouts(shown)[made.name].conditions for m in made.groups[0][1]]
            for label, texts in made.sections.get(PUBLISHED, []):
                for (place, metric), text in zip(names, texts, strict=True):
                    cells[made.name, place, metric.lower(), label.removesuffix(" (paper)")] = text
    return cells


def test_published_rows_are_those_of_the_paper() -> None:
    cells = published_cells()
    for shown in Plan(configuration()).experiments.values():
        for name, layout in table_layouts(shown).items():
            for place in layout.conditions if not layout.targets else ():
                figures = load_published()
                mechanism, simulation = place.simulation.get("mechanism", "sachs"), place.simulation
                figures = figures[
                    (figures["experiment"] == shown.paper)
                    & (figures["setting"] == shown.setting(place))
                    & (figures["mechanism"] == mechanism)
                    & (figures["nodes"] == simulation.get("nodes", 11))
                    & (figures["edges_per_node"] == (f"{simulation['edges_per_node']}" if simulation else ""))
                    & figures["alpha"].isin(["", "1e-3"])
                ]
                for (method, metric), found in figures.groupby(["method", "metric"]):
                    # Where a method is published with two tests, the tables show the one that suits the data.
                    best = found if len(found) == 1 else found[found["test"] == tailored_test(mechanism)]
                    ((mean, std),) = best[["mean", "std"]].itertuples(index=False)
                    text = cells.pop((name, place.name, metric, method))
                    assert text == (f"{mean:.1f} ± {std:.1f}" if simulation else f"{mean:g}")
    assert not cells


def test_published_rows_stand_beside_the_data_of_the_paper_only() -> None:
    for place in (condition(n=300), condition(settings=5), condition(targets_per_setting=[2, 3])):
        shown = experiment([place], [row("a")], paper="main")
        (made,) = build_tables(shown, distances(shown))
        assert PUBLISHED not in made.sections, place.name
    shown = experiment([condition(n=10_000, settings=10, targets_per_setting=[1, 1])], [row("a")], paper="main")
    (made,) = build_tables(shown, distances(shown))
    assert PUBLISHED in made.sections


# --- names and captions


def test_one_table_per_mechanism() -> None:
    names = [name for shown in Plan(configuration("quick")).experiments.values() for name in table_layouts(shown)]
    expected = [f"{name}-nn" for name in ("perfect", "ablation_perfect", "imperfect", "unknown", "unknown")]
    assert names == [*expected[:-1], f"{expected[-1]}-targets", "sachs"]
    layouts = table_layouts(Plan(configuration()).experiments["perfect"])
    assert list(layouts) == [f"perfect-{mechanism}" for mechanism in ("linear", "anm", "nn")]


@pytest.mark.parametrize("convention", ["released", "as_written"])
def test_the_caption_names_convention_and_number_of_data_sets(convention: str) -> None:
    shown = Plan(configuration("quick", convention=convention)).experiments["perfect"]
    for made in build_tables(shown, metric_frame([])):
        assert f"data convention `{convention}`" in made.caption
        assert "mean ± standard deviation over 2 data sets per condition" in made.caption
        assert f"data convention {convention.replace('_', chr(92) + '_')}" in to_latex(made)
    (sachs,) = build_tables(Plan(configuration()).experiments["sachs"], metric_frame([]))
    assert "as given" in sachs.caption


def test_the_caption_names_the_engines() -> None:
    shown = experiment(PLACES, [row("a")])
    rows = metric_rows(shown, PLACES[0], shown.rows[0], {"shd": [1.0] * 3, "sid": [1.0] * 3}, engine="R pcalg")
    (made,) = build_tables(shown, metric_frame(rows))
    assert made.caption.endswith("Engines: R pcalg (a); otherwise python.")
    by = row("a")
    sachs = experiment([SACHS], [by])
    (made,) = build_tables(sachs, metric_frame(metric_rows(sachs, SACHS, by, {"shd": [1.0]})))
    assert made.caption.endswith("as given. Engine: python.")


def test_headings_tell_conditions_apart() -> None:
    for shown in Plan(configuration()).experiments.values():
        for made in build_tables(shown, metric_frame([])):
            heads = [head for head, _ in made.groups]
            assert len(set(heads)) == len(heads), made.name


def test_the_usual_number_of_rows_is_named_where_others_stand_beside_it() -> None:
    (made,) = build_tables(Plan(configuration()).experiments["number_of_examples"], metric_frame([]))
    counts = [head.rsplit(", n = ")[1] for head, _ in made.groups]
    assert counts == ["100", "1,000", "10,000", "100,000", "1,000,000"]
    (linear, *_) = build_tables(Plan(configuration()).experiments["perfect"], metric_frame([]))
    assert not any("n =" in head for head, _ in linear.groups)


# --- targets


def test_hidden_targets_have_a_table_of_the_methods_that_say_them() -> None:
    place = condition(datasets=3)
    rows = [row("a", "Says"), row("b", "Fails once"), row("c", "Silent"), row("d", "Silent and fails")]
    shown = experiment([place], rows, "unknown", "main", targets="unknown")
    values: list[dict[str, list[float | None]]] = [
        {"target_precision": [1.0, 0.5, 0.75], "target_recall": [1.0, 1.0, 0.7]},
        {"target_precision": [1.0, None, 0.9], "target_recall": [0.4, None, 0.5]},
        {},
        {"target_precision": [None] * 3, "target_recall": [None] * 3},
    ]
    metrics = []
    for by, targets in zip(rows, values, strict=True):
        metrics += metric_rows(shown, place, by, {"shd": [1.0] * 3, "sid": [1.0] * 3})
        metrics += metric_rows(shown, place, by, targets)
        metrics += metric_rows(shown, place, by, targets, "best_shd", "alpha=0.2")
    graphs, targets_found = build_tables(shown, metric_frame(metrics))
    assert graphs.name == "unknown-linear"
    assert [label for label, _ in graphs.sections[SELECTED]] == [by.label for by in rows]
    assert targets_found.name == "unknown-linear-targets"
    assert targets_found.caption.startswith("Title of unknown, targets found: linear data, mean")
    assert targets_found.groups == [("10 nodes, e = 1", ["precision", "recall"])]
    assert targets_found.sections == {
        SELECTED: [
            ("Says", ["0.75 ± 0.25", "0.90 ± 0.17"]),
            ("Fails once", ["0.95 ± 0.07 (2/3)", "0.45 ± 0.07 (2/3)"]),
        ]
    }
    assert list(targets_found.values["n"]) == [3] * 4


# --- formats


def unescaped(text: str, character: str) -> int:
    return len(re.findall(rf"(?<!\\){re.escape(character)}", text))


def check_latex(text: str) -> None:
    plain = re.sub(r"\\[{}]", "", text)
    depth = 0
    for character in plain:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0
    stack = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    for rule in (r"\toprule", r"\bottomrule"):
        assert text.count(rule) == 1
    assert text.count(r"\midrule") >= 1
    columns = re.search(r"\\begin\{(?:tabular|longtable)\}\{([lrc]+)\}", text)
    assert columns
    for line in text.splitlines():
        if line.endswith(r" \\"):
            spans = [int(span) for span in re.findall(r"\\multicolumn\{(\d+)\}", line)]
            assert unescaped(line, "&") + 1 + sum(span - 1 for span in spans) == len(columns[1]), line
    assert unescaped(text.replace(r"$\pm$", ""), "$") == 0
    for character in "%#":
        assert unescaped(text.replace("!}{%", "").replace("% needs the packages", ""), character) == 0
    body = re.sub(r"\\(label|begin|end)\{[^}]*\}", "", text)
    assert unescaped(body, "_") == 0
    assert not set(text) & set("±–`")


@pytest.mark.parametrize("paper", ["main", None])
def test_latex_is_well_formed(paper: str | None) -> None:
    text = to_latex(table(paper))
    check_latex(text)
    assert r"Scored\_1 \& 50 \% | \{x\}*" in text
    assert text.count(r"\midrule") == len(table(paper).sections)
    assert r"\cmidrule(lr){2-3}\cmidrule(lr){4-5}" in text


def test_special_characters_are_escaped_once() -> None:
    assert latex_escape(r"a\b_{c}^2~$%#&") == (r"a\textbackslash{}b\_\{c\}\textasciicircum{}2\textasciitilde{}\$\%\#\&")


def cells(line: str) -> int:
    return unescaped(line, "|") - 1


def test_markdown_rows_have_equal_numbers_of_cells() -> None:
    made = table()
    lines = [line for line in to_markdown(made).splitlines() if line.startswith("|")]
    assert {cells(line) for line in lines} == {5}
    assert len(lines) == 2 + len(made.sections) + sum(len(rows) for rows in made.sections.values())
    assert any(line.startswith(r"| Fixed\* |") for line in lines)
    assert to_markdown(made).startswith(f"{made.caption}\n\n| Method | 10 nodes, e = 1 SHD |")


def test_a_table_is_written_in_three_formats(tmp_path: Path) -> None:
    made = table()
    write_table(made, tmp_path / "tables")
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {
        f"perfect-linear.{k}" for k in ("csv", "md", "tex")
    }
    read = pd.read_csv(tmp_path / "tables" / "perfect-linear.csv", keep_default_na=False, na_values={"std": [""]})
    pd.testing.assert_frame_equal(read, made.values, check_dtype=False)
    assert set(read["hyperparameters"]) == {"", "alpha=0.1", "alpha=0.2"}
