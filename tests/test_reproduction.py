"""The comparison with the paper: the right published figure, the right difference, the right verdict."""

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.evaluation import describe
from benchmark.paper.published import load_published, tailored_test
from benchmark.paper.reproduction import (
    COLUMNS,
    compare,
    coverage,
    differences,
    display,
    read_comparison,
    standard_errors,
    to_latex,
    to_markdown,
    verdict,
)
from benchmark.plan import Experiment, Plan
from benchmark.tables import summarise
from tests.samples import SACHS, condition, configuration, experiment, metric_frame, metric_rows, row
from tests.test_tables import check_latex, unescaped

NAN = float("nan")
PLACE = condition("linear", 10, 1, datasets=10)


def plan_of(*experiments: Experiment) -> Plan:
    plan = Plan(configuration())
    plan.experiments = {shown.name: shown for shown in experiments}
    return plan


def published(**where: Any) -> dict[str, Any]:
    """Return one published figure."""
    figures = load_published()
    for column, value in where.items():
        figures = figures[figures[column] == value]
    (found,) = figures.to_dict("records")
    return dict(found)


def spread(mean: float, std: float, n: int = 10) -> list[float | None]:
    """Return n values with this mean and sample standard deviation."""
    values = np.linspace(-1.0, 1.0, n)
    return list(mean + std * values / values.std(ddof=1))


# --- which figure


SHOWN = experiment(
    [PLACE],
    [
        row("gies", "GIES"),
        row("igsp-gauss", "IGSP"),
        row("igsp-kci", "IGSP"),
        row("dcdi-g", "DCDI-G"),
        row("x", "Mine"),
    ],
    paper="main",
)
MAIN = {"experiment": "main", "setting": "perfect", "mechanism": "linear", "nodes": 10, "edges_per_node": "1"}


def igsp(test: str, shift: float) -> list[dict[str, Any]]:
    """Every choice of IGSP, each with an SHD of its own."""
    by = next(one for one in SHOWN.rows if one.name == f"igsp-{test}")

    def values(number: float) -> dict[str, list[float | None]]:
        return {"shd": [number + shift] * 10}

    rows = metric_rows(SHOWN, PLACE, by, values(1), "selected", f"alpha=0.001, test={test}")
    rows += metric_rows(SHOWN, PLACE, by, values(2), "best_shd", f"alpha=0.1, test={test}")
    for number, alpha in enumerate((0.2, 0.1, 0.01, 1e-3, 1e-5, 1e-7, 1e-9)):
        text = describe({"alpha": alpha, "test": test})
        rows += metric_rows(SHOWN, PLACE, by, values(10 + number), "grid", text)
    return rows


def ours_by_key(comparison: pd.DataFrame) -> dict[tuple[str, str, str], float]:
    return {(one["method"], one["test"], one["alpha"]): one["ours_mean"] for one in comparison.to_dict("records")}


def test_alphas_and_tests_find_their_figures() -> None:
    comparison = compare(plan_of(SHOWN), metric_frame(igsp("gauss", 0) + igsp("kci", 100)))
    alphas = ("best", "2e-1", "1e-1", "1e-2", "1e-3", "1e-5", "1e-7", "1e-9")
    expected = {}
    for test, shift in (("gauss", 0), ("kci", 100)):
        for alpha, value in zip(alphas, (2, *range(10, 17)), strict=True):
            expected["IGSP", test, alpha] = value + shift
    assert ours_by_key(comparison) == expected
    for one in comparison.to_dict("records"):
        figure = published(**MAIN, method="IGSP", test=one["test"], alpha=one["alpha"], metric="shd")
        assert (one["paper_mean"], one["paper_std"]) == (figure["mean"], figure["std"])


def test_a_figure_without_alpha_and_test_is_the_selected_one_with_the_test_that_suits_the_data() -> None:
    for mechanism, test in (("linear", "gauss"), ("anm", "kci"), ("nn", "kci")):
        place = condition(mechanism, 10, 1, "perfect-uniform", datasets=10)
        shown = experiment([place], list(SHOWN.rows), name="uniform", paper="uniform_intervention")
        rows: list[dict[str, Any]] = []
        for by, of_test, value in ((SHOWN.rows[1], "gauss", 3.0), (SHOWN.rows[2], "kci", 7.0)):
            text = f"alpha=0.001, test={of_test}"
            rows += metric_rows(shown, place, by, {"shd": [value] * 10}, "selected", text)
            rows += metric_rows(shown, place, by, {"shd": [99.0] * 10}, "grid", text)
        (one,) = compare(plan_of(shown), metric_frame(rows)).to_dict("records")
        assert (one["method"], one["test"], one["alpha"]) == ("IGSP", "", "")
        assert one["ours_mean"] == (3.0 if test == "gauss" else 7.0)


def test_a_method_without_a_test_is_compared_with_the_one_that_is_published() -> None:
    for mechanism in ("linear", "nn"):
        place = condition(mechanism, 20, 4, datasets=10)
        by = row("jci-pc", "JCI-PC")
        shown = experiment([place], [by], name="unknown", paper="main", targets="unknown")
        rows = metric_rows(shown, place, by, {"sid": [5.0] * 10}, "grid", "alpha=0.001")
        rows += metric_rows(shown, place, by, {"sid": [4.0] * 10}, "best_shd", "alpha=0.1")
        comparison = compare(plan_of(shown), metric_frame(rows))
        assert ours_by_key(comparison) == {("JCI-PC", "gauss", "1e-3"): 5.0, ("JCI-PC", "gauss", "best"): 4.0}
        assert set(comparison["setting"]) == {"unknown"}


def test_score_based_methods_are_compared_as_selected() -> None:
    rows = metric_rows(SHOWN, PLACE, SHOWN.rows[0], {"shd": [1.0] * 10, "sid": [2.0] * 10, "f1": [0.5] * 10})
    rows += metric_rows(SHOWN, PLACE, SHOWN.rows[0], {"shd": [0.0] * 10}, "best_shd", "penalty=1")
    rows += metric_rows(SHOWN, PLACE, SHOWN.rows[4], {"shd": [1.0] * 10})
    comparison = compare(plan_of(SHOWN), metric_frame(rows))
    assert list(comparison["metric"]) == ["shd", "sid"]
    assert set(comparison["method"]) == {"GIES"}
    assert list(comparison["ours_mean"]) == [1.0, 2.0]
    assert list(comparison) == COLUMNS


def test_only_the_condition_of_a_figure_is_taken() -> None:
    other = condition("linear", 10, 1, datasets=10, n=500)
    shown = experiment([PLACE, condition("linear", 10, 4, datasets=10), other], list(SHOWN.rows), paper="main")
    rows = [
        one
        for value, place in enumerate(shown.conditions)
        for one in metric_rows(shown, place, shown.rows[0], {"shd": [float(value)] * 10})
    ]
    comparison = compare(plan_of(shown), metric_frame(rows))
    assert list(zip(comparison["edges_per_node"], comparison["ours_mean"], comparison["n"], strict=True)) == [
        ("1", 0.0, 10),
        ("4", 1.0, 10),
    ]


def test_an_experiment_that_is_no_part_of_the_paper_is_not_compared() -> None:
    shown = experiment([PLACE], list(SHOWN.rows), paper=None)
    rows = metric_rows(shown, PLACE, shown.rows[0], {"shd": [1.0] * 10})
    assert compare(plan_of(shown), metric_frame(rows)).empty


# --- all of them


def whole_paper() -> tuple[Plan, pd.DataFrame]:
    """Return a plan with every method of the paper, and metrics with which each published figure comes back."""
    figures, planned = load_published(), Plan(configuration()).conditions
    experiments, rows = [], []
    for (paper, setting), part in figures.groupby(["experiment", "setting"], sort=False):
        intervention = {
            "uniform_intervention": "perfect-uniform",
            "small_change": "imperfect-small",
        }.get(paper, f"{'imperfect' if setting == 'imperfect' else 'perfect'}-published")
        places = {
            (mechanism, nodes, edges): planned[
                "sachs" if mechanism == "sachs" else f"{mechanism}-d{nodes}-e{edges}-{intervention}"
            ]
            for mechanism, nodes, edges in dict.fromkeys(
                part[["mechanism", "nodes", "edges_per_node"]].itertuples(index=False, name=None)
            )
        }
        pairs = dict.fromkeys(part[["method", "test"]].itertuples(index=False, name=None))
        by = {(method, test): row(f"{method}-{test}".lower(), method) for method, test in pairs}
        shown = experiment(
            list(places.values()),
            list(by.values()),
            f"{paper}_{setting}",
            paper,
            "unknown" if setting == "unknown" else "known",
        )
        experiments.append(shown)
        for figure in part.to_dict("records"):
            place = places[figure["mechanism"], figure["nodes"], figure["edges_per_node"]]
            values = [figure["mean"]] if math.isnan(figure["std"]) else spread(figure["mean"], figure["std"])
            choice = {"": "selected", "best": "best_shd"}.get(figure["alpha"], "grid")
            chosen: dict[str, Any] = {}
            if figure["method"] in ("IGSP", "UT-IGSP", "JCI-PC"):
                chosen["alpha"] = float(figure["alpha"]) if choice == "grid" else 0.001
            if figure["method"] in ("IGSP", "UT-IGSP"):
                chosen["test"] = figure["test"] or tailored_test(figure["mechanism"])
            rows += metric_rows(
                shown,
                place,
                by[figure["method"], figure["test"]],
                {figure["metric"]: values},
                choice,
                describe(chosen),
            )
    return plan_of(*experiments), metric_frame(rows)


@cache
def whole_comparison() -> pd.DataFrame:
    """Return the comparison of a run in which every published figure comes back."""
    return compare(*whole_paper())


def test_every_published_figure_is_matched_once_and_agrees_with_itself() -> None:
    comparison = whole_comparison()
    keys = ["table", "setting", "mechanism", "nodes", "edges_per_node", "method", "test", "alpha", "metric"]
    assert len(comparison) == 2087
    assert not comparison.duplicated(keys).any()
    same_data = comparison["convention"] == "published"
    assert set(comparison.loc[same_data, "verdict"]) == {"exact"}
    simulated = comparison[~same_data]
    without_spread = simulated[simulated["paper_std"].isna() | (simulated["paper_std"] == 0)]
    assert set(without_spread["verdict"]) == {"equal"}
    assert set(simulated["verdict"]) == {"agrees", "equal"}
    assert len(without_spread) == (simulated["verdict"] == "equal").sum()
    assert comparison["difference"].abs().max() < 1e-9
    spreads = comparison[comparison["paper_std"].notna()]
    np.testing.assert_allclose(spreads["ours_std"], spreads["paper_std"], atol=1e-9)
    counts = comparison["verdict"].value_counts()
    assert coverage(comparison) == (
        f"2,087 of the paper's 2,087 published figures were run: {counts['exact']:,} equal to the printed digit, "
        f"{counts['agrees']} in agreement, {counts['equal']} equal without a spread."
    )


def test_the_sentence_says_where_data_sets_are_fewer_than_in_the_paper() -> None:
    few = condition("linear", 10, 1, datasets=3)
    shown = experiment([few], [SHOWN.rows[0]], paper="main")
    rows = metric_rows(shown, few, shown.rows[0], {"shd": [1.0, 2.0, 0.0], "sid": [1.0, 0.0, 0.0]})
    sentence = coverage(compare(plan_of(shown), metric_frame(rows)))
    assert sentence.endswith("2 rest on fewer data sets, down to 3, than the paper's 10.")


def test_a_figure_that_two_experiments_run_counts_once() -> None:
    one, other = (experiment([PLACE], [SHOWN.rows[0]], name, "main") for name in ("first", "second"))
    rows = [row for shown in (one, other) for row in metric_rows(shown, PLACE, one.rows[0], {"shd": [1.0, 2.0] * 5})]
    sentence = coverage(compare(plan_of(one, other), metric_frame(rows)))
    assert sentence.startswith("1 of the paper's 2,087 published figures was run (2 comparisons, some run")


# --- the paper's own data


def on_the_same_data(convention: str, mean: float, std: float) -> pd.DataFrame:
    place = condition("linear", 10, 1, datasets=10, convention=convention)
    shown = experiment([place], [SHOWN.rows[0]], paper="main")
    rows = metric_rows(shown, place, shown.rows[0], {"shd": spread(mean, std)})
    return compare(plan_of(shown), metric_frame(rows))


@pytest.mark.parametrize(
    ("convention", "mean", "std", "expected"),
    [
        ("published", 0.0, 0.0, "exact"),
        ("published", 0.04, -0.04, "exact"),
        ("published", 0.04, 0.2, "agrees"),
        ("published", 0.2, 0.0, "agrees"),
        ("released", 0.0, 0.0, "agrees"),
    ],
)
def test_exact_is_equal_to_the_printed_digit_on_the_same_data(
    convention: str, mean: float, std: float, expected: str
) -> None:
    figure = published(**MAIN, method="GIES", metric="shd")
    (one,) = on_the_same_data(convention, figure["mean"] + mean, figure["std"] + std).to_dict("records")
    assert one["verdict"] == expected


def test_differences_are_averaged_on_the_papers_data_alone() -> None:
    figure = published(**MAIN, method="GIES", metric="shd")
    up, down, elsewhere = (
        on_the_same_data(convention, figure["mean"] + difference, figure["std"])
        for convention, difference in (("published", 0.75), ("published", -0.25), ("released", 9.0))
    )
    (line,) = differences(pd.concat([up, down, elsewhere])).to_dict("records")
    assert (line["method"], line["metric"], line["cells"]) == ("GIES", "shd", 2)
    assert line["mean_difference"] == pytest.approx(0.25)
    assert line["mean_absolute_difference"] == pytest.approx(0.5)
    shown = to_markdown(pd.concat([up, down]))
    assert "| GIES | gies | SHD | 2 | 0 | " in shown
    assert "On the paper's own data" not in to_markdown(elsewhere)


# --- how far apart, and what that means


def test_the_difference_in_standard_errors_by_hand() -> None:
    figure = published(**MAIN, method="GIES", metric="shd")
    values = [0.0, 1.0, 4.0, 2.0, 0.0, 3.0, 1.0, 1.0, 0.0, 2.0]
    rows = metric_rows(SHOWN, PLACE, SHOWN.rows[0], {"shd": list(values)})
    (one,) = compare(plan_of(SHOWN), metric_frame(rows)).to_dict("records")
    mean = sum(values) / 10
    variance = sum((value - mean) ** 2 for value in values) / 9
    error = math.sqrt(variance / 10 + figure["std"] ** 2 / 10)
    assert one["difference"] == pytest.approx(mean - figure["mean"])
    assert one["standard_errors"] == pytest.approx((mean - figure["mean"]) / error)
    assert (one["n_ok"], one["n"], one["engine"], one["convention"]) == (10, 10, "python", "released")


def test_our_number_of_data_sets_counts() -> None:
    pooled = (4 * 9 + 9 * 1) / 13
    assert standard_errors(2.0, 3.0, 5, 1.0) == pytest.approx(2 / math.sqrt(pooled * (1 / 5 + 1 / 10)))
    assert math.isnan(standard_errors(2.0, NAN, 1, 1.0))
    assert math.isnan(standard_errors(2.0, 3.0, 10, NAN))


def test_a_spread_of_zero_on_our_side_is_no_certainty() -> None:
    few, many = (standard_errors(2.0, 0.0, n, 3.0) for n in (2, 10))
    assert few == pytest.approx(2 / math.sqrt(9 * 9 / 10 * (1 / 2 + 1 / 10)))
    assert many == pytest.approx(2 / math.sqrt(9 / 2 * (1 / 10 + 1 / 10)))
    assert few < many
    assert standard_errors(2.0, 3.0, 10, 0.0) == many


def test_without_any_spread_means_are_equal_or_differ() -> None:
    assert math.isnan(standard_errors(3.0, 0.0, 10, 0.0))
    assert verdict("shd", 3.0, NAN, 10, 10) == "differs"
    assert verdict("shd", 0.05, NAN, 10, 10) == "equal"


@pytest.mark.parametrize(("n", "expected"), [(1, "too few"), (4, "too few"), (5, "worse"), (10, "worse")])
def test_few_data_sets_have_no_verdict(n: int, expected: str) -> None:
    few = condition("linear", 10, 1, datasets=n)
    shown = experiment([few], [SHOWN.rows[0]], paper="main")
    rows = metric_rows(shown, few, shown.rows[0], {"shd": spread(90.0, 1.0, n) if n > 1 else [90.0]})
    (one,) = compare(plan_of(shown), metric_frame(rows)).to_dict("records")
    assert one["verdict"] == expected


@pytest.mark.parametrize(
    ("metric", "difference", "errors", "n_ok", "expected"),
    [
        ("shd", 1.0, 1.9, 10, "agrees"),
        ("shd", 1.0, 2.0, 10, "agrees"),
        ("shd", 1.0, 2.1, 10, "worse"),
        ("shd", -1.0, -2.1, 10, "better"),
        ("sid", 1.0, 2.1, 10, "worse"),
        ("fn", -1.0, -2.1, 10, "better"),
        ("f1", 0.2, 2.1, 10, "better"),
        ("f1", -0.2, -2.1, 10, "worse"),
        ("tp", 1.0, 2.1, 10, "better"),
        ("tp", -1.0, -2.1, 10, "worse"),
        ("shd", 0.0, 0.0, 9, "incomplete"),
        ("shd", NAN, NAN, 0, "incomplete"),
        ("shd", 0.0, NAN, 10, "equal"),
        ("shd", 0.04, NAN, 10, "equal"),
        ("shd", 1.0, NAN, 10, "differs"),
    ],
)
def test_verdicts(metric: str, difference: float, errors: float, n_ok: int, expected: str) -> None:
    assert verdict(metric, difference, errors, n_ok, 10) == expected


@pytest.mark.parametrize("ours", [3.15, 3.25])
def test_a_mean_that_the_paper_would_round_to_its_figure_agrees(ours: float) -> None:
    assert verdict("shd", ours - 3.2, math.copysign(9.0, ours - 3.2), 10, 10) == "agrees"
    assert verdict("shd", ours + 0.02 * (ours - 3.2) / 0.05 - 3.2, 9.0, 10, 10) != "agrees"


def test_f1_is_printed_with_two_decimals() -> None:
    assert verdict("f1", 0.4237 - 0.42, NAN, 1, 1, single=True) == "equal"
    assert verdict("f1", 0.46 - 0.42, NAN, 1, 1, single=True) == "differs"


def test_sachs_is_equal_or_differs() -> None:
    by = row("gies", "GIES")
    shown = experiment([SACHS], [by], name="sachs", paper="sachs")
    rows = metric_rows(shown, SACHS, by, {"shd": [38.0], "sid": [30.0], "tp": [10.0], "f1": [0.33]})
    comparison = compare(plan_of(shown), metric_frame(rows))
    verdicts = dict(zip(comparison["metric"], comparison["verdict"], strict=True))
    differs = "differs"
    assert verdicts == {"shd": "equal", "sid": differs, "tp": "equal", "f1": "equal"}
    assert comparison["edges_per_node"].tolist() == [""] * 4


def test_failed_fits_make_a_figure_incomplete() -> None:
    rows = metric_rows(SHOWN, PLACE, SHOWN.rows[0], {"shd": [1.0] * 9 + [None], "sid": [None] * 10})
    comparison = compare(plan_of(SHOWN), metric_frame(rows))
    assert list(comparison["verdict"]) == ["incomplete", "incomplete"]
    _, texts = display(comparison)
    assert [text[8] for text in texts] == ["1.0 ± 0.0 (9/10)", "– (0/10)"]
    assert [text[10] for text in texts][1] == ""


# --- how it is shown


def mixed() -> pd.DataFrame:
    """Return a comparison with simulated data and Sachs, alphas and stars."""
    by = row("igsp", "IGSP")
    sachs = experiment([SACHS], [by], name="sachs", paper="sachs")
    rows = igsp("gauss", 0) + metric_rows(sachs, SACHS, by, {"shd": [18.0], "f1": [0.5]})
    return compare(plan_of(SHOWN, sachs), metric_frame(rows))


def test_the_text_of_a_comparison() -> None:
    header, rows = display(mixed())
    assert all(len(one) == len(header) for one in rows)
    named = {(one[0], one[4], one[7]): one for one in rows}
    figure = published(**MAIN, method="IGSP", test="gauss", alpha="best", metric="shd")
    star = named["perfect (main)", "IGSP* gauss", "SHD"]
    assert star[1:4] == ["linear", "10", "1"]
    assert star[5:7] == ["igsp-gauss", "python"]
    assert star[8:10] == ["2.0 ± 0.0", f"{figure['mean']:.1f} ± {figure['std']:.1f}"]
    assert "IGSP (alpha=1e-3) gauss" in {one[4] for one in rows}
    assert named["perfect (sachs)", "IGSP", "F1"][8:] == ["0.50", "0.42", "+0.08", "", "differs"]


def test_a_comparison_keeps_its_text_through_a_file(tmp_path: Path) -> None:
    for comparison in (mixed(), mixed().iloc[:0]):
        comparison.to_csv(tmp_path / "reproduction.csv", index=False)
        read = read_comparison(tmp_path / "reproduction.csv")
        assert display(read) == display(comparison)
        assert coverage(read) == coverage(comparison)


def test_markdown_and_latex_are_well_formed() -> None:
    comparison = mixed()
    lines = [line for line in to_markdown(comparison).splitlines() if line.startswith("|")]
    assert len(lines) == len(comparison) + 2
    assert {unescaped(line, "|") for line in lines} == {14}
    text = to_latex(comparison)
    check_latex(text)
    assert text.count(r" \\") == len(comparison) + 1


def test_where_nothing_was_run_a_sentence_says_so() -> None:
    comparison = compare(plan_of(SHOWN), metric_frame([]))
    assert comparison.empty
    assert list(comparison) == COLUMNS
    sentence = "None of the paper's 2,087 published figures was run: no row of this run is one of its methods."
    assert coverage(comparison) == sentence
    assert to_markdown(comparison) == f"# Comparison with the published figures\n\n{sentence}\n\n"
    check_latex(to_latex(comparison))


def test_the_quick_preset_is_compared_with_the_paper() -> None:
    plan = Plan(configuration("quick"))
    rows = [
        one
        for shown in plan.experiments.values()
        for place in shown.conditions
        for by in shown.rows
        for one in metric_rows(shown, place, by, {"shd": [1.0], "sid": [1.0]})
    ]
    comparison = compare(plan, metric_frame(rows))
    assert {"DCDI-G", "CAM"} <= set(comparison["method"])
    assert not {"Empty graph", "Random graph", "Sort-and-regress"} & set(comparison["method"])


def test_summaries_of_both_sides_are_computed_alike() -> None:
    cell = pd.DataFrame({"value": spread(3.0, 2.0), "status": "ok"})
    assert summarise(cell) == pytest.approx((3.0, 2.0, 10, 10))
