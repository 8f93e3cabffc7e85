"""The paper's figures: that each label has its data and its file, and that each shows what it says."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from benchmark.dataset import Dataset
from benchmark.evaluation import COST_COLUMNS
from benchmark.figures import save
from benchmark.paper.boxes import paper_boxplots
from benchmark.paper.densities import density_figure, direction, setting_on
from benchmark.paper.pieces import (
    density_pieces,
    figure_pieces,
    one_fit_pieces,
    table_pieces,
    tailored,
    unseen_pieces,
)
from benchmark.paper.published import load_published
from benchmark.paper.scalability import data_scale, interval
from benchmark.paper.training import ABSENT, PRESENT, learning_dynamic, learning_targets
from benchmark.paper.unseen import score_path, unseen_figure
from benchmark.plan import Experiment, Plan
from benchmark.records import Record
from benchmark.running.plain import plain
from benchmark.simulate import simulate
from benchmark.styles import method_style, styles
from tests.project import ROOT, Project
from tests.samples import condition, configuration, experiment, metric_frame, metric_rows, row

FIGURES = {
    "results_perfect",
    "results_perfect_10_nodes",
    "results_imperfect",
    "results_imperfect_10_nodes",
    "results_unknown",
    "results_unknown_10_nodes",
    "learning_dynamic",
    "learning_targets",
    "naf_density",
    "gd_density",
    "data_scale_examples",
    "data_scale_variables",
    "nbinterv",
    "nn_unseen",
    "sachs_unseen",
}


def figure_labels(plan: Plan) -> list[str]:
    return [*figure_pieces(plan), *one_fit_pieces(plan), *unseen_pieces(plan), *density_pieces(plan)]


@pytest.mark.parametrize("preset", ["paper", "figures"])
def test_every_table_and_figure_of_the_paper_is_made(preset: str) -> None:
    plan = Plan(configuration(preset))
    labels = figure_labels(plan)
    assert len(labels) == len(set(labels))
    assert set(labels) == FIGURES
    assert [f"tab:{label}" for label in table_pieces(plan)] == list(load_published()["table"].unique())


def test_the_figures_preset_runs_every_experiment_of_the_paper() -> None:
    config = configuration("figures")
    assert config["run"] == configuration()["run"] == list(configuration()["experiments"])


def test_a_run_of_the_figures_preset_plans_a_file_for_every_label(project: Project) -> None:
    summary = project.run("presets/figures.yaml", "--summary")
    planned = {line.split("\t")[0] for line in summary.splitlines()}
    tables = [label.removeprefix("tab:") for label in load_published()["table"].unique()]
    expected = {f"paper/tab_{label}.{kind}" for label in tables for kind in ("tex", "md", "csv")}
    expected |= {f"paper/fig_{label}.{kind}" for label in FIGURES for kind in ("pdf", "png")}
    assert expected <= planned
    assert {name for name in planned if name.startswith("paper/")} == expected


def saved(figure: Figure, folder: Path) -> None:
    """A figure that can be written is a figure."""
    save(figure, folder / "figure")
    assert (folder / "figure.pdf").read_bytes().startswith(b"%PDF")


# --- boxplots


def test_each_mechanism_has_the_test_that_suits_it_and_no_control() -> None:
    plan = Plan(configuration(convention="released"))
    parts = figure_pieces(plan)["results_perfect"]
    assert [part.conditions[0].simulation["mechanism"] for part in parts] == ["linear", "anm", "nn"]
    assert [part.rows[0].name for part in parts] == ["igsp-gauss", "igsp-kci", "igsp-kci"]
    for part in parts:
        assert {place.simulation["nodes"] for place in part.conditions} == {20}
        assert [by.method.label for by in part.rows] == ["IGSP", "GIES", "CAM", "DCDI-G", "DCDI-DSF"]
    (interventions,) = figure_pieces(plan)["nbinterv"]
    assert [by.name for by in interventions.rows] == ["dcdi-g", "dcd"]


def test_a_paper_in_blocks_is_one_figure() -> None:
    parts = figure_pieces(Plan(configuration("measured")))["results_perfect"]
    assert {by.method.label for part in parts for by in part.rows} == {"IGSP", "GIES", "CAM", "DCDI-G"}
    assert len({part.name for part in parts}) > 1


def test_rows_with_one_test_each_become_one_method(tmp_path: Path) -> None:
    shown = Plan(configuration(convention="released", run=["perfect"])).experiments["perfect"]
    places = tuple(place for place in shown.conditions if place.simulation["nodes"] == 20)
    shown = replace(shown, conditions=places)
    values: dict[str, list[float | None]] = {"shd": [1.0] * 10, "sid": [2.0] * 10}
    metrics = metric_frame([one for c in places for by in shown.rows for one in metric_rows(shown, c, by, values)])
    figure = paper_boxplots(shown, metrics, "edges_per_node")
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["IGSP", "GIES", "CAM", "DCDI-G", "DCDI-DSF", "published mean"]
    assert [axes.get_title() for axes in figure.axes[:3]] == [
        "Linear",
        "Additive noise (ANM)",
        "Non-additive noise (NN)",
    ]
    published = load_published()
    kci = published.query(
        "table == 'tab:perfect_nn' and method == 'IGSP' and test == 'kci' and alpha == '1e-3' and nodes == 20"
        " and edges_per_node == '1' and metric == 'shd'"
    )["mean"].item()
    diamonds = [float(np.asarray(m.get_ydata())[0]) for m in figure.axes[2].lines if m.get_marker() == "D"]
    assert kci in diamonds
    assert len(diamonds) == 5 * 2
    assert figure.get_suptitle() == ""
    saved(figure, tmp_path)


def test_methods_stand_in_the_order_of_the_papers_table() -> None:
    shown = Plan(configuration(convention="released", run=["unknown"])).experiments["unknown"]
    values: dict[str, list[float | None]] = {"shd": [1.0] * 10, "sid": [2.0] * 10}
    place = shown.conditions[0]
    metrics = metric_frame([one for by in shown.rows for one in metric_rows(shown, place, by, values)])
    labels = [text.get_text() for text in paper_boxplots(shown, metrics, "edges_per_node").legends[0].get_texts()]
    assert labels == ["UT-IGSP", "JCI-PC", "DCDI-G", "DCDI-DSF", "published mean"]


def test_the_first_suitable_row_stands_for_its_method() -> None:
    rows = [row("a"), replace(row("a-other"), method=row("a").method), row("control", is_control=True)]
    assert [by.name for by in tailored(rows, "nn").values()] == ["a"]


# --- one fit


def history(nodes: int, steps: int = 30) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "iteration": 100 * step,
            "train_nll": 2.0 - step / 30,
            "heldout_nll": 2.1 - step / 30,
            "augmented_lagrangian": 2.5 - step / 30,
            "heldout_augmented_lagrangian": 2.6 - step / 30,
            "edge_probabilities": rng.random((nodes, nodes)).tolist(),
        }
        for step in range(steps)
    ]


def record(**entries: Any) -> Record:
    base: Any = {"hyperparameters": {}, "status": "ok", "reason": "", "edges": [], "kind": "dag", "heldout_nll": 1.0}
    return base | {"seconds": 1.0, "peak_memory_mb": 1.0, "info": {}} | entries  # type: ignore[no-any-return]


def test_learning_dynamics_show_every_edge_both_stops_and_three_snapshots(tmp_path: Path) -> None:
    truth = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.int8)
    dataset = Dataset(np.eye(3), [0, 0, 0], np.zeros((1, 3)), truth)
    steps = history(3)
    info = {"history": steps, "first_stop": 1500, "second_stop": 2000}
    figure = learning_dynamic(record(info=info), dataset)
    curves, edges, *matrices = [axes for part in figure.subfigs for axes in part.axes]
    assert [line.get_label() for line in curves.lines][:5] == [
        "NLL", "NLL on held-out rows", "AL", "AL on held-out rows", "AL minus NLL",
    ]  # fmt: skip
    for axes in (curves, edges):
        stops = [float(np.asarray(line.get_xdata())[0]) for line in axes.lines if line.get_linestyle() == "--"]
        assert stops == [1500, 2000]
    colours = [line.get_color() for line in edges.lines if line.get_linestyle() == "-"]
    assert (colours.count(PRESENT), colours.count(ABSENT)) == (2, 4)
    assert [axes.get_title() for axes in matrices] == [
        "true graph",
        "iteration 600",
        "iteration 1,000",
        "iteration 2,000",
    ]
    shown = [np.asarray(axes.images[0].get_array()) for axes in matrices]
    np.testing.assert_array_equal(shown[0], truth)
    np.testing.assert_allclose(shown[3], steps[20]["edge_probabilities"])
    saved(figure, tmp_path)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"info": {}}, "history: true"),
        ({"info": {"history": [{"iteration": 0}, "(cut: 1 more entries)"]}}, "cut after 1 steps"),
        ({"status": "timeout", "reason": "12 h"}, "status timeout: 12 h"),
    ],
)
def test_a_fit_without_a_history_says_what_is_missing(entries: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        learning_dynamic(record(**entries), Dataset(np.eye(2), [0, 0], np.zeros((1, 2)), np.zeros((2, 2))))


def test_the_history_of_a_long_fit_is_kept_whole() -> None:
    steps = history(10, steps=2000)  # 200,000 iterations; usual are 60,000 to 130,000
    assert plain(steps) == steps


def test_learned_targets_stand_beside_true_ones(tmp_path: Path) -> None:
    dataset = simulate("linear", nodes=5, edges_per_node=1, intervention="perfect", n=200, seed=0)
    learned = np.linspace(0, 1, 30).reshape(6, 5)
    figure = learning_targets(record(targets=learned.tolist()), dataset)
    left, right = figure.axes
    assert dataset.targets is not None
    np.testing.assert_allclose(np.asarray(left.images[0].get_array()), learned[1:].T)
    np.testing.assert_array_equal(np.asarray(right.images[0].get_array()), dataset.targets[1:].T)
    saved(figure, tmp_path)
    with pytest.raises(ValueError, match="no learned targets"):
        learning_targets(record(), dataset)


# --- densities


def test_densities_are_drawn_over_cause_and_effect(tmp_path: Path) -> None:
    dataset = simulate("x", nodes=2, edges_per_node=0.5, intervention="imperfect", n=600, seed=4)
    cause, effect = direction(dataset)
    assert dataset.graph is not None
    assert dataset.graph[cause, effect] == 1
    assert dataset.targets is not None
    assert list(np.flatnonzero(dataset.targets[setting_on(dataset, effect)])) == [effect]
    asked = []

    def density(X: Any, setting: int) -> Any:
        asked.append(setting)
        # All mass where the cause is large.
        return np.stack([np.where(np.asarray(X)[:, cause] > 0, 0.0, -50.0), np.zeros(len(X))], axis=1)

    figure = density_figure({"x": (dataset, density)})
    assert asked == [0, setting_on(dataset, effect)]
    image = np.asarray(figure.axes[0].images[0].get_array())
    assert image[:, -1].min() == pytest.approx(1.0)
    assert image[:, 0].max() == pytest.approx(0.0)
    (points,) = figure.axes[1].lines
    assert len(np.asarray(points.get_xdata())) == min(300, int((dataset.setting == setting_on(dataset, effect)).sum()))
    saved(figure, tmp_path)
    with pytest.raises(ValueError, match="one edge"):
        direction(Dataset(dataset.X, dataset.setting, dataset.targets))


# --- scalability


def costs_of(shown: Experiment, statuses: dict[tuple[str, int], list[str]]) -> pd.DataFrame:
    rows = []
    for place in shown.conditions:
        for by in shown.rows:
            for index, status in enumerate(statuses.get((by.name, place.simulation["n"]), ["ok"] * place.datasets)):
                rows.append(
                    {
                        "n": place.simulation["n"],
                        "row": by.name,
                        "status": status,
                        "seconds": None if status == "memory" else 360.0 * (index + 1),
                    }
                )
    return pd.DataFrame(rows, columns=COST_COLUMNS)


def test_time_outs_lie_on_the_limit_and_memory_is_named(tmp_path: Path) -> None:
    rows = [row("one", "One"), row("two", "Two")]  # with a limit of 1 hour and 1 GB
    shown = experiment([condition(n=n, datasets=3) for n in (100, 1000, 100_000)], rows)
    statuses = {("one", 100_000): ["timeout"] * 3, ("two", 100_000): ["memory"] * 3}
    values: dict[str, list[float | None]] = {"shd": [1.0, 2.0, 3.0], "sid": [4.0, 5.0, 6.0]}
    metrics = metric_frame([one for c in shown.conditions for by in rows for one in metric_rows(shown, c, by, values)])
    style = {by.name: method_style(by.name) for by in rows}
    figure = data_scale(shown, metrics, costs_of(shown, statuses), "n", style)
    runtime, shd, _ = figure.axes
    curves = {str(curve.get_label()): curve for curve in runtime.containers}
    first = np.asarray(curves["One"][0].get_ydata())
    np.testing.assert_allclose(first, [0.2, 0.2, 1.0])
    assert len(np.asarray(curves["Two"][0].get_xdata())) == 2
    assert [text.get_text() for text in runtime.texts] == ["Two ≥ 1 GB"]
    limit = [line for line in runtime.lines if line.get_linestyle() == "--"]
    assert [float(np.asarray(line.get_ydata())[0]) for line in limit] == [1.0]
    np.testing.assert_allclose(np.asarray(shd.containers[0][0].get_ydata()), [2.0, 2.0, 2.0])
    assert runtime.get_xscale() == "log"
    saved(figure, tmp_path)


def test_intervals_hold_the_mean_and_shrink_with_data() -> None:
    rng = np.random.default_rng(1)
    low, high = interval(rng.normal(size=400))
    assert low < 0.1
    assert high > -0.1
    assert high - low == pytest.approx(2 * 1.96 / 20, rel=0.2)


# --- unseen interventions


def test_unseen_interventions_are_boxes_or_one_mean_with_its_deviation(tmp_path: Path) -> None:
    plan = Plan(configuration("figures", run=["nn_unseen", "sachs_unseen"]))
    pieces = unseen_pieces(plan)
    for label, shown in pieces.items():
        shown = replace(
            shown, conditions=tuple(replace(c, datasets=6 if label == "nn_unseen" else 1) for c in shown.conditions)
        )
        for place in shown.conditions:
            for index in place.indices:
                for number, by in enumerate(shown.rows):
                    path = tmp_path / score_path("known", place.name, index, by.name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    failed = number == 0 and index == "00" and label == "nn_unseen"
                    score = {"mean": None if failed else -10.0 - number, "std": None if failed else 2.0}
                    path.write_text(json.dumps(score))
        figure = unseen_figure(shown, styles(plan), tmp_path)
        (axes,) = figure.axes
        assert [tick.get_text() for tick in axes.get_xticklabels()] == [by.label for by in shown.rows]
        if label == "nn_unseen":
            points = [len(np.asarray(line.get_ydata())) for line in axes.lines if line.get_marker() == "."]
            assert points == [5, 6, 6, 6, 6]
        else:
            assert len(axes.containers) == len(shown.rows)
        saved(figure, tmp_path)


# --- the list in the docs


def test_the_docs_list_every_label_with_its_file_and_what_it_costs() -> None:
    plan = Plan(configuration())
    page = (ROOT / "docs" / "reproducing-the-paper.md").read_text(encoding="utf-8")
    command, file = r"`snakemake --cores 2 -- (paper/\w+\.\w+)`", r"`results/paper/(paper/\w+\.\w+)`"
    line = rf"^\| `(tab|fig):(\w+)` \| {command} \| {file} \| ([\d,]+) \(([\d,]+)\) \|$"
    listed = re.findall(line, page, re.MULTILINE)
    assert {f"{kind}:{label}" for kind, label, *_ in listed} == {f"tab:{label}" for label in table_pieces(plan)} | {
        f"fig:{label}" for label in FIGURES
    }
    endings = {"tab": "tex", "fig": "pdf"}
    for kind, label, asked, written, *_ in listed:
        assert asked == written == f"paper/{kind}_{label}.{endings[kind]}"
    needed = table_pieces(plan) | figure_pieces(plan)
    for _, label, _, _, fits, jobs in listed:
        if label not in needed:
            continue  # made from single fits
        cells = {
            (by.name, part.targets, place.name, index)
            for part in needed[label]
            for place in part.conditions
            for index in place.indices
            for by in part.rows
        }
        assert (fits, jobs) == (f"{sum(len(plan.grid(*cell)) for cell in cells):,}", f"{len(cells):,}"), label
