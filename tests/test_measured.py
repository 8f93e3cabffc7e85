"""The page of the measured reproduction: counts, claims and a picture, all computed."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.evaluation import COST_COLUMNS, METRIC_COLUMNS
from benchmark.paper.claims import CLAIMS, Answer, answer, both, highest, lower, lowest
from benchmark.paper.measured import agreement, page, picture, scoreboard, scored
from benchmark.paper.published import load_published
from benchmark.paper.reproduction import COLUMNS, KEYS
from benchmark.recorded.store import Store


def comparison(
    rows: tuple[str, ...] = ("cam",), methods: tuple[str, ...] = ("CAM",), shift: float = 0.0
) -> pd.DataFrame:
    """Return a comparison in which some methods have the published means, moved by a number."""
    published = load_published()
    chosen = published[published["method"].isin(methods)].rename(columns={"mean": "paper_mean", "std": "paper_std"})
    ours = chosen.assign(ours_mean=chosen["paper_mean"] + shift, ours_std=chosen["paper_std"], difference=shift)
    count = chosen["paper_std"].isna().map({True: 1, False: 10})
    errors = math.nan if shift == 0 else shift
    verdict = "exact" if shift == 0 else "worse"
    made = ours.assign(
        n=count, n_ok=count, standard_errors=errors, verdict=verdict, convention="published", engine="python"
    )
    return pd.concat([made.assign(row=row) for row in rows])[COLUMNS]


def test_each_figure_counts_once_and_the_row_as_published_first() -> None:
    both = pd.concat([comparison(("gies",), ("GIES",), 3.0), comparison(("gies-published",), ("GIES",))])
    figures = scored(both, as_published=True)
    assert len(figures) == len(load_published()) == len(figures.drop_duplicates(KEYS))
    assert set(figures["row"].dropna()) == {"gies-published"}
    assert set(scored(both, as_published=False)["row"].dropna()) == {"gies"}
    header, rows = scoreboard(figures, "method")
    gies = dict(zip(header, next(row for row in rows if row[0] == "GIES"), strict=True))
    assert (gies["Figures"], gies["Exact"], gies["Worse"], gies["Not run"]) == ("79", "79", "0", "0")
    assert rows[-1][0] == "All"
    assert rows[-1][-1] == f"{2087 - 79:,}"
    for row in rows:
        assert sum(int(number.replace(",", "")) for number in row[2:]) == int(row[1].replace(",", ""))


def test_a_row_as_published_on_fewer_data_sets_does_not_hide_a_whole_one() -> None:
    begun = comparison(("gies-published",), ("GIES",)).assign(n=4, n_ok=4)
    figures = scored(pd.concat([comparison(("gies",), ("GIES",), 3.0), begun]), as_published=True)
    assert set(figures.loc[figures["experiment"] == "main", "row"].dropna()) == {"gies"}


def test_agreement_counts_standard_errors_on_the_same_data() -> None:
    figures = scored(comparison(shift=1.5), as_published=True)
    assert "72 figures: 0 (0.0%) within one standard error, 72 (100.0%) within two" in agreement(figures)
    assert "No figure has yet been measured" in agreement(scored(comparison().iloc[:0], as_published=True))


@pytest.mark.parametrize(
    ("check", "means", "expected"),
    [
        (lower(("a", "b"), ("c",)), {"a": 1, "b": 2, "c": 3}, True),
        (lower(("a", "b"), ("c",)), {"a": 1, "b": 4, "c": 3}, False),
        (lower(("a", "b"), ("c",), every=False), {"a": 1, "b": 4, "c": 3}, True),
        (lower(("a", "b"), ("c",)), {"a": 1, "b": 3, "c": 3}, False),
        (lower(("a",), ("c",)), {"a": 1}, None),
        (lowest("a", ("b",)), {"a": 1, "b": 1}, True),
        (highest("a", ("b",)), {"a": 1, "b": 2}, False),
        (highest("a", ("b",)), {"b": 2}, None),
        (both(lowest("a", ("b",)), lowest("b", ("c",))), {"a": 1, "b": 2, "c": 3}, True),
        # What is missing leaves a check open only where it could change the answer.
        (lower(("a", "b"), ("c",)), {"a": 4, "c": 3}, False),
        (lower(("a", "b"), ("c",)), {"a": 1, "c": 3}, None),
        (lower(("a", "b"), ("c",), every=False), {"a": 1, "c": 3}, True),
        (lower(("a", "b"), ("c",), every=False), {"a": 4, "c": 3}, None),
        (lower(("a", "b"), ("c", "d"), every=False), {"a": 4, "b": 5, "c": 3}, False),
        (lowest("a", ("b", "c")), {"a": 2, "b": 1}, False),
        (both(lowest("a", ("b",)), lowest("b", ("c",))), {"b": 3, "c": 2}, False),
    ],
)
def test_checks(check: object, means: dict[str, float], expected: bool | None) -> None:
    assert check(means) is expected  # type: ignore[operator]


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (Answer(3, 3, 3, "every"), "yes (3 of 3)"),
        (Answer(2, 3, 3, "every"), "no (2 of 3)"),
        (Answer(2, 2, 3, "every"), "open (2 of 2, 1 open)"),
        (Answer(1, 2, 3, "every"), "no (1 of 2, 1 open)"),
        (Answer(2, 2, 3, "most"), "yes (2 of 2, 1 open)"),
        (Answer(1, 2, 3, "most"), "open (1 of 2, 1 open)"),
        (Answer(0, 2, 3, "most"), "no (0 of 2, 1 open)"),
        (Answer(0, 0, 3, "most"), "open (none decided)"),
    ],
)
def test_an_answer_stands_only_where_nothing_missing_can_change_it(found: Answer, text: str) -> None:
    assert found.text == text


def test_claims_are_decided_by_the_published_means() -> None:
    answers = {claim.check: answer(claim, load_published()) for claim in CLAIMS}
    assert len(CLAIMS) >= 10
    assert all(found.decided == found.cells > 0 for found in answers.values())
    assert answers["GIES the lowest of all methods, linear data"].text == "yes (7 of 8)"
    assert answers["CAM's F1 score the highest"].text == "yes (1 of 1)"
    assert answers["DCDI-G below IGSP, interventions without a mean shift"].text == "yes (24 of 24)"


def test_the_page_has_all_its_parts(tmp_path: Path) -> None:
    nothing = pd.DataFrame(columns=METRIC_COLUMNS), pd.DataFrame(columns=COST_COLUMNS)
    text = page(comparison(methods=tuple(load_published()["method"].unique())), *nothing, Store(tmp_path))
    assert "2,087 of the paper's 2,087 published figures have an answer" in text
    for claim in CLAIMS:
        assert claim.quote in text
    # With the published means as ours, both columns of answers are the same.
    for line in text.splitlines():
        if line.startswith(("| Section 4", "| Appendix C")):
            *_, published, ours, _ = (
                line.split(" | ") if line.endswith(" | ") else [*line.removesuffix(" |").split(" | "), ""]
            )
            assert published == ours


def test_a_figure_on_too_few_data_sets_is_no_answer(tmp_path: Path) -> None:
    nothing = pd.DataFrame(columns=METRIC_COLUMNS), pd.DataFrame(columns=COST_COLUMNS)
    begun = comparison()
    begun.loc[begun["experiment"] == "main", "verdict"] = "too few"
    answered = len(begun) - int((begun["experiment"] == "main").sum())
    assert f" {answered} of the paper's 2,087 published figures have" in page(begun, *nothing, Store(tmp_path))
    drawn = picture(scored(begun, as_published=True))
    (main,) = [axes for axes in drawn.axes if axes.get_title(loc="left") == "Main tables, perfect"]
    tiles: Any = main.images[0].get_array()
    assert np.isnan(tiles.filled(np.nan)).all()


def test_figures_outside_are_listed_as_published_and_as_they_should_be(tmp_path: Path) -> None:
    nothing = pd.DataFrame(columns=METRIC_COLUMNS), pd.DataFrame(columns=COST_COLUMNS)
    both = pd.concat([comparison(("gies",), ("GIES",), 9.0), comparison(("gies-published",), ("GIES",), 3.0)])
    _, _, outside = page(both, *nothing, Store(tmp_path)).partition("## Outside two standard errors")
    counted, _, own = outside.partition("Of methods as they should be")
    assert counted.count("| gies-published |") == own.count("| gies |") == 79
    assert "| gies |" not in counted
    assert "| gies-published |" not in own


def test_the_picture_has_a_block_per_table_group() -> None:
    drawn = picture(scored(comparison(shift=3.0), as_published=True))
    titles = [axes.get_title(loc="left") for axes in drawn.axes]
    assert {"Interventional loss, unknown", "Flow cytometry (Sachs)"} <= set(titles)
    # The main tables head the columns, in the order of the paper.
    heads = sorted(drawn.axes[:-1], key=lambda axes: (-axes.get_position().y1, axes.get_position().x0))[:3]
    assert [axes.get_title(loc="left") for axes in heads] == [
        "Main tables, perfect",
        "Main tables, imperfect",
        "Main tables, unknown",
    ]


def test_what_equals_the_printed_digit_without_a_spread_is_counted_and_has_a_dot() -> None:
    """Sachs is one data set: its figures are equal or differ."""
    answers = comparison()
    on_sachs = answers["experiment"] == "sachs"
    answers.loc[on_sachs, "verdict"] = ["equal", "differs", *["equal"] * 5]
    figures = scored(answers, as_published=True)
    header, rows = scoreboard(figures, "table")
    sachs = dict(zip(header, rows[0], strict=True))
    assert (sachs["Table"], sachs["Equal"], sachs["Differs"], sachs["Other"]) == ("sachs", "6", "1", "0")
    drawn = next(axes for axes in picture(figures).axes if axes.get_title(loc="left") == "Flow cytometry (Sachs)")
    assert len(drawn.lines) == 6
