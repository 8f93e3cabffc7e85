"""Figures show what the metrics hold: one box per row and place, in colours that mean the same everywhere."""

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.colors
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch

from benchmark.figures import CONTROL_GREYS, METRICS, boxplots, colours, save
from benchmark.plan import Condition, Experiment, Plan, figure_axes
from tests.samples import condition, configuration, experiment, metric_frame, metric_rows, row

ROWS = [row("one", "Method one"), row("two", "Method two"), row("control", "Control", is_control=True)]
MECHANISMS = ("linear", "nn")
EDGES = (1, 4)
SHOWN = experiment([condition(m, edges_per_node=e, datasets=4) for m in MECHANISMS for e in EDGES], ROWS)


def metrics_of(shown: Experiment, missing: tuple[str, ...] = ()) -> pd.DataFrame:
    rng = np.random.default_rng(3)
    rows = []
    for place in shown.conditions:
        for by in shown.rows:
            failed = by.name in missing
            values: dict[str, list[float | None]] = {
                metric: [None] * place.datasets if failed else rng.integers(1, 60, place.datasets).tolist()
                for metric in METRICS
            }
            rows += metric_rows(shown, place, by, values)
            rows += metric_rows(shown, place, by, {"shd": [999.0] * place.datasets}, "best_shd")
    return metric_frame(rows)


def draw(shown: Experiment = SHOWN, metrics: pd.DataFrame | None = None, name: str = "perfect-d10") -> Figure:
    along, nodes = figure_axes(shown)[name]
    return boxplots(shown, metrics_of(shown) if metrics is None else metrics, along, nodes, colours([shown]))


def panel(figure: Figure, metric: str, mechanism: str) -> Axes:
    return figure.axes[METRICS.index(metric) * len(MECHANISMS) + MECHANISMS.index(mechanism)]


def boxes(axes: Axes) -> list[PathPatch]:
    return [patch for patch in axes.patches if isinstance(patch, PathPatch)]


def points(axes: Axes) -> list[list[float]]:
    return [list(map(float, np.asarray(line.get_ydata()))) for line in axes.lines if line.get_marker() == "."]


def rgb(colour: object) -> tuple[float, ...]:
    return matplotlib.colors.to_rgb(colour)  # type: ignore[arg-type]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_each_row_and_place_is_a_box_of_its_values(metric: str, mechanism: str) -> None:
    metrics = metrics_of(SHOWN)
    axes = panel(draw(metrics=metrics), metric, mechanism)
    drawn, shown = boxes(axes), points(axes)
    assert len(drawn) == len(shown) == len(ROWS) * len(EDGES)
    cells = [(by, place, edges) for by in ROWS for place, edges in enumerate(EDGES)]
    for (by, place, edges), box, values in zip(cells, drawn, shown, strict=True):
        expected = metrics[
            (metrics["row"] == by.name)
            & (metrics["mechanism"] == mechanism)
            & (metrics["edges_per_node"] == edges)
            & (metrics["metric"] == metric)
            & (metrics["choice"] == "selected")
        ]["value"].tolist()
        assert values == expected
        corners = np.asarray(box.get_path().vertices)
        low, high = np.percentile(expected, [25, 75])
        assert (corners[:, 1].min(), corners[:, 1].max()) == pytest.approx((low, high))
        assert round(corners[:, 0].mean()) == place
        assert rgb(box.get_facecolor()) == pytest.approx(rgb(colours([SHOWN])[by.name]))
    medians = [line for line in axes.lines if line.get_linewidth() == 1.0 and line.get_marker() != "."]
    assert [float(np.asarray(line.get_ydata())[0]) for line in medians] == [float(np.median(v)) for v in shown]


def test_boxes_of_a_place_stand_side_by_side() -> None:
    spans = sorted(
        (np.asarray(box.get_path().vertices)[:, 0].min(), np.asarray(box.get_path().vertices)[:, 0].max())
        for box in boxes(draw().axes[0])
    )
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))


def test_titles_and_axes_say_what_is_shown() -> None:
    figure = draw()
    assert [axes.get_title() for axes in figure.axes] == ["Linear", "Non-additive noise (NN)", "", ""]
    assert [axes.get_ylabel() for axes in figure.axes] == ["SHD", "", "SID", ""]
    assert [axes.get_xlabel() for axes in figure.axes][2:] == ["expected edges per node $e$"] * 2
    assert [label.get_text() for label in figure.axes[2].get_xticklabels()] == ["1", "4"]
    assert figure.get_suptitle() == "Title of perfect, 10 nodes (4 data sets, convention released)"
    assert all(-0.05 * axes.get_ylim()[1] <= axes.get_ylim()[0] < 0 for axes in figure.axes)  # boxes of zeros show


@pytest.mark.parametrize("conditions", [SHOWN.conditions[:1], SHOWN.conditions])
def test_a_long_title_stays_within_the_figure(conditions: tuple[Condition, ...]) -> None:
    shown = replace(SHOWN, title="Perfect interventions with unknown targets, a long title", conditions=conditions)
    figure = draw(shown)
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    (title,) = [text for text in figure.texts if text.get_text() == figure.get_suptitle()]
    extent = title.get_window_extent(canvas.get_renderer())
    assert 0 <= extent.x0 < extent.x1 <= figure.bbox.width
    assert extent.y1 <= figure.bbox.height
    boxes = [axes.get_tightbbox(canvas.get_renderer()) for axes in figure.axes]
    assert all(box is not None and box.y1 < extent.y0 for box in boxes)


def test_the_legend_names_every_row_in_its_colour() -> None:
    figure = draw()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [by.label for by in ROWS]
    shown = [rgb(patch.get_facecolor()) for patch in legend.get_patches()]
    assert shown == [pytest.approx(rgb(colours([SHOWN])[by.name])) for by in ROWS]


def is_grey(colour: object) -> bool:
    red, green, blue = rgb(colour)
    return red == green == blue


@pytest.mark.parametrize("count", [1, 3, 8, 9, 10, 14])
def test_controls_are_grey_and_methods_are_not(count: int) -> None:
    methods = [row(f"method{number}") for number in range(count)]
    controls = [row(f"control{number}", is_control=True) for number in range(3)]
    chosen = colours([experiment([], [*methods, *controls])])
    assert set(chosen) == {by.name for by in (*methods, *controls)}
    assert all(is_grey(chosen[by.name]) for by in controls)
    assert not any(is_grey(chosen[by.name]) for by in methods)
    assert len({rgb(colour) for colour in chosen.values()}) == count + 3


def test_greys_begin_again_when_there_are_many_controls() -> None:
    controls = [row(f"control{number}", is_control=True) for number in range(6)]
    assert set(colours([experiment([], controls)]).values()) == set(CONTROL_GREYS)


def test_a_row_has_the_same_colour_in_every_experiment() -> None:
    other = experiment([condition("linear", datasets=4)], [ROWS[1], ROWS[2]], name="other")
    colour = colours([SHOWN, other])
    legends = []
    for shown in (SHOWN, other):
        ((along, nodes),) = figure_axes(shown).values()
        (legend,) = boxplots(shown, metrics_of(shown), along, nodes, colour).legends
        patches = {patch.get_label(): rgb(patch.get_facecolor()) for patch in legend.get_patches()}
        legends.append(patches)
    assert legends[1] == {label: legends[0][label] for label in ("Method two", "Control")}


def test_drawing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        save(draw(), tmp_path / folder / "perfect-d10")
    assert {path.name for path in (tmp_path / "first").iterdir()} == {"perfect-d10.pdf", "perfect-d10.png"}
    for name in ("perfect-d10.pdf", "perfect-d10.png"):
        content = (tmp_path / "first" / name).read_bytes()
        assert content == (tmp_path / "second" / name).read_bytes()
        assert content.startswith((b"%PDF", b"\x89PNG"))


def test_missing_values_leave_a_gap() -> None:
    figure = draw(metrics=metrics_of(SHOWN, missing=("two",)))
    assert all(len(boxes(axes)) == 2 * len(EDGES) for axes in figure.axes)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == [by.label for by in ROWS]


def test_all_values_missing_is_an_empty_figure(tmp_path: Path) -> None:
    figure = draw(metrics=metrics_of(SHOWN, missing=("one", "two", "control")))
    assert not any(boxes(axes) for axes in figure.axes)
    save(figure, tmp_path / "empty")


def test_one_data_set_is_a_point() -> None:
    shown = experiment([condition(datasets=1)], ROWS)
    figure = draw(shown)
    assert all(len(values) == 1 for axes in figure.axes for values in points(axes))


def test_a_figure_shows_its_number_of_nodes_only() -> None:
    shown = experiment([condition(nodes=nodes, datasets=2) for nodes in (10, 20)], ROWS)
    shown = experiment([*shown.conditions, condition(nodes=10, edges_per_node=4, datasets=2)], ROWS)
    metrics = metrics_of(shown)
    for name, places in (("perfect-d10", 2), ("perfect-d20", 1)):
        along, nodes = figure_axes(shown)[name]
        figure = boxplots(shown, metrics, along, nodes, colours([shown]))
        assert len(boxes(figure.axes[0])) == places * len(ROWS)


def test_nodes_along_the_axis() -> None:
    shown = experiment([condition(nodes=nodes, datasets=2) for nodes in (10, 20)], ROWS)
    figure = draw(shown, name="perfect")
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == ["10", "20"]
    assert len(boxes(figure.axes[0])) == 2 * len(ROWS)


def test_every_experiment_of_the_paper_but_sachs_has_figures() -> None:
    for name, shown in Plan(configuration()).experiments.items():
        figures = figure_axes(shown)
        assert bool(figures) == (name != "sachs")
        assert all(figure == name or figure.startswith(f"{name}-d") for figure in figures)


@pytest.mark.parametrize("name", ["number_of_interventions", "number_of_examples", "two_node_perfect"])
def test_the_other_axes_of_the_paper_are_drawn(name: str) -> None:
    shown = Plan(configuration()).experiments[name]
    metrics = metrics_of(shown)
    for along, nodes in figure_axes(shown).values():
        figure = boxplots(shown, metrics, along, nodes, colours([shown]))
        places = metrics[along].nunique()
        assert all(len(boxes(axes)) == places * len(shown.rows) for axes in figure.axes)
