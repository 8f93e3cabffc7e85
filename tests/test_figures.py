"""Figures show what the metrics hold: one box per row and place, in colours that mean the same everywhere."""

import itertools
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.colors
import matplotlib.text
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch

from benchmark.figures import METRICS, STYLE, WIDTH, boxplots, save
from benchmark.plan import Condition, Experiment, Plan, figure_axes
from benchmark.styles import CONTROLS, METHODS, Style, method_style, style_of, styles
from tests.samples import condition, configuration, experiment, metric_frame, metric_rows, row

ROWS = [row("one", "Method one"), row("two", "Method two"), row("control", "Control", is_control=True)]
MECHANISMS = ("linear", "nn")
EDGES = (1, 4)
SHOWN = experiment([condition(m, edges_per_node=e, datasets=6) for m in MECHANISMS for e in EDGES], ROWS)


def style_by_row(shown: Experiment) -> dict[str, Style]:
    return {by.name: style_of(by, {}) for by in shown.rows}


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
    return boxplots(shown, metrics_of(shown) if metrics is None else metrics, along, nodes, style_by_row(shown))


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
        assert rgb(box.get_facecolor()) == pytest.approx(rgb(style_by_row(SHOWN)[by.name].colour))
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
    assert figure.get_suptitle() == "Title of perfect, 10 nodes (6 data sets, convention released)"
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
    assert shown == [pytest.approx(rgb(style_by_row(SHOWN)[by.name].colour)) for by in ROWS]


def is_grey(colour: object) -> bool:
    red, green, blue = rgb(colour)
    return red == green == blue


def test_controls_are_grey_and_methods_are_not() -> None:
    assert all(is_grey(method_style(name, is_control=True).colour) for name in (*CONTROLS, "another"))
    assert not any(is_grey(method_style(name).colour) for name in (*METHODS, "another", "correlation"))


def test_methods_of_the_paper_are_told_apart_in_colour_and_in_greyscale() -> None:
    looks = [method_style(name) for name in METHODS]
    assert len(set(looks)) == len(METHODS)
    brightness = [0.3 * r + 0.59 * g + 0.11 * b for r, g, b in (rgb(look.colour) for look in looks)]
    for one, other in itertools.combinations(range(len(looks)), 2):
        assert looks[one].hatch != looks[other].hatch or abs(brightness[one] - brightness[other]) > 0.15


def test_a_method_of_ones_own_has_no_colour_of_the_papers_methods_or_of_a_control() -> None:
    taken = [rgb(colour) for colour in (*(colour for colour, _ in METHODS.values()), *CONTROLS.values())]
    for name in ("correlation", *(f"mine-{number}" for number in range(100))):
        own = rgb(method_style(name).colour)
        assert all(math.dist(own, colour) > 0.24 for colour in taken), name


def test_a_row_looks_the_same_in_every_preset_and_a_variant_is_a_shade_of_its_method() -> None:
    by_preset = {preset: styles(Plan(configuration(preset))) for preset in ("paper", "quick", "small")}
    for chosen in by_preset.values():
        assert all(chosen[name] == by_preset["paper"][name] for name in chosen if name in by_preset["paper"])
    looks = by_preset["paper"]
    assert looks["igsp-kci"] == method_style("igsp")
    assert looks["dcdi-g-unknown"] == looks["dcdi-g"] == Style("#0072B2", "")
    variants = [looks[name] for name in ("igsp-kci", "igsp-gauss", "igsp-gauss-fixed", "igsp-kci-fixed")]
    assert len({look.colour for look in variants}) == 4
    assert {look.hatch for look in variants} == {""}


def test_published_means_are_diamonds_on_their_boxes() -> None:
    (place, *_) = SHOWN.conditions
    along, nodes = figure_axes(SHOWN)["perfect-d10"]
    published = {(place.name, "two", "shd"): 7.5, ("elsewhere", "two", "shd"): 1.0}
    figure = boxplots(SHOWN, metrics_of(SHOWN), along, nodes, style_by_row(SHOWN), published)
    marks = [(axes, line) for axes in figure.axes for line in axes.lines if line.get_marker() == "D"]
    ((axes, mark),) = marks
    assert axes is figure.axes[0]
    assert list(np.asarray(mark.get_ydata())) == [7.5]
    (box,) = [box for box in boxes(axes) if rgb(box.get_facecolor()) == rgb(method_style("two").colour)][:1]
    corners = np.asarray(box.get_path().vertices)[:, 0]
    assert corners.min() < float(np.asarray(mark.get_xdata())[0]) < corners.max()
    assert [text.get_text() for text in figure.legends[0].get_texts()][-1] == "published mean"
    assert "published mean" not in [text.get_text() for text in draw().legends[0].get_texts()]


def test_figures_are_made_for_print(tmp_path: Path) -> None:
    figure = draw()
    assert figure.get_figwidth() == WIDTH == 5.5
    canvas: Any = FigureCanvasAgg(figure)
    canvas.draw()
    sizes = [float(text.get_fontsize()) for text in figure.findobj(matplotlib.text.Text) if text.get_text()]
    assert min(sizes) >= 6
    save(figure, tmp_path / "figure")
    content = (tmp_path / "figure.pdf").read_bytes()
    assert b"/Type3" not in content
    assert STYLE["pdf.fonttype"] == 42


def test_drawing_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for folder in ("first", "second"):
        save(draw(), tmp_path / folder / "perfect-d10")
    assert {path.name for path in (tmp_path / "first").iterdir()} == {"perfect-d10.pdf", "perfect-d10.png"}
    for name in ("perfect-d10.pdf", "perfect-d10.png"):
        content = (tmp_path / "first" / name).read_bytes()
        assert content == (tmp_path / "second" / name).read_bytes()
        assert content.startswith((b"%PDF", b"\x89PNG"))


def test_missing_values_leave_a_gap_and_a_dash_in_the_legend() -> None:
    figure = draw(metrics=metrics_of(SHOWN, missing=("two",)))
    assert all(len(boxes(axes)) == 2 * len(EDGES) for axes in figure.axes)
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["Method one", "Method two: –", "Control"]


def test_all_values_missing_is_an_empty_figure(tmp_path: Path) -> None:
    figure = draw(metrics=metrics_of(SHOWN, missing=("one", "two", "control")))
    assert not any(boxes(axes) for axes in figure.axes)
    save(figure, tmp_path / "empty")


@pytest.mark.parametrize(("count", "boxed"), [(1, False), (4, False), (5, True)])
def test_few_data_sets_are_points_without_a_box(count: int, boxed: bool) -> None:
    shown = experiment([condition(datasets=count)], ROWS)
    figure = draw(shown)
    for axes in figure.axes:
        assert len(boxes(axes)) == (len(ROWS) if boxed else 0)
        drawn = [line for line in axes.lines if line.get_marker() == ("." if boxed else "o")]
        assert [len(np.asarray(line.get_ydata())) for line in drawn] == [count] * len(ROWS)


def test_a_figure_shows_its_number_of_nodes_only() -> None:
    shown = experiment([condition(nodes=nodes, datasets=5) for nodes in (10, 20)], ROWS)
    shown = experiment([*shown.conditions, condition(nodes=10, edges_per_node=4, datasets=5)], ROWS)
    metrics = metrics_of(shown)
    for name, places in (("perfect-d10", 2), ("perfect-d20", 1)):
        along, nodes = figure_axes(shown)[name]
        figure = boxplots(shown, metrics, along, nodes, style_by_row(shown))
        assert len(boxes(figure.axes[0])) == places * len(ROWS)


def test_nodes_along_the_axis() -> None:
    shown = experiment([condition(nodes=nodes, datasets=5) for nodes in (10, 20)], ROWS)
    figure = draw(shown, name="perfect")
    assert [label.get_text() for label in figure.axes[1].get_xticklabels()] == ["10", "20"]
    assert len(boxes(figure.axes[0])) == 2 * len(ROWS)


def test_every_experiment_of_the_paper_but_sachs_has_figures() -> None:
    for name, shown in Plan(configuration()).experiments.items():
        figures = figure_axes(shown)
        assert bool(figures) == (name not in ("sachs", "sachs_unseen"))
        assert all(figure == name or figure.startswith(f"{name}-d") for figure in figures)


@pytest.mark.parametrize("name", ["number_of_interventions", "number_of_examples", "two_node_perfect"])
def test_the_other_axes_of_the_paper_are_drawn(name: str) -> None:
    shown = Plan(configuration()).experiments[name]
    metrics = metrics_of(shown)
    for along, nodes in figure_axes(shown).values():
        figure = boxplots(shown, metrics, along, nodes, style_by_row(shown))
        places = metrics[along].nunique()
        assert all(len(boxes(axes)) == places * len(shown.rows) for axes in figure.axes)
