"""Verification: recorded fits are made again from nothing but the configuration, and differences are seen."""

from pathlib import Path

import pytest

from benchmark.recorded.pack import pack
from benchmark.recorded.store import Store
from benchmark.recorded.verify import compare, sample
from tests.runs import CELL, change, finish, small_plan


@pytest.fixture
def results(tmp_path: Path) -> Path:
    finish(small_plan(), tmp_path / "results")
    return tmp_path / "results"


def test_recorded_fits_have_the_same_graph_again(results: Path, tmp_path: Path) -> None:
    pack(small_plan(), results, Store(tmp_path / "records"))
    plan = small_plan("only")
    drawn = sample(plan, Store(tmp_path / "records"), 5, seed=1)
    assert len({one.name for one in drawn}) == 5
    for one in drawn:
        comparison = compare(plan, one)
        assert comparison.same_data
        assert comparison.is_same
        assert "same graph" in comparison.text()
        if one.entry.row == "sortnregress":
            assert comparison.score_difference == 0
    assert [one.name for one in sample(plan, Store(tmp_path / "records"), 5, seed=1)] == [one.name for one in drawn]
    assert len(sample(plan, Store(tmp_path / "records"), 99, seed=0)) == 14
    assert {one.entry.row for one in sample(plan, Store(tmp_path / "records"), 99, 0, ["empty"])} == {"empty"}


def test_another_graph_is_seen_with_its_distance(results: Path, tmp_path: Path) -> None:
    for number in range(6):
        change(results / CELL, number, [["V0", "V4"]])
    pack(small_plan(), results, Store(tmp_path / "records"))
    plan = small_plan("only", datasets=1)
    comparisons = [compare(plan, one) for one in sample(plan, Store(tmp_path / "records"), 6, 0, ["sortnregress"])]
    assert not all(comparison.is_same for comparison in comparisons)
    different = next(comparison for comparison in comparisons if not comparison.is_same)
    assert different.distance is not None
    assert different.distance > 0
    assert f"SHD {different.distance} between the two" in different.text()
