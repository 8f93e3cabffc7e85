"""How long a run will take: by costs, not by counts."""

from pathlib import Path

import pytest

from benchmark.plan import Plan, fit_path
from benchmark.recorded.recall import Recall
from benchmark.recorded.store import Store
from benchmark.records import failed, write_records
from benchmark.running.progress import Progress
from tests.samples import own_configuration

CONDITION = "linear-d5-e1-perfect"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [0.0]
    monkeypatch.setattr("benchmark.running.progress.time.monotonic", lambda: now[0])
    return now


def planned(results: Path, datasets: int = 3) -> Progress:
    """Two methods; data set 00 is done, and a fit of the first costs 100 times one of the second."""
    plan = Plan(own_configuration(["sortnregress", "empty"], datasets=datasets))
    for row, seconds in {"sortnregress": 100.0, "empty": 1.0}.items():
        grid = plan.grid(row, "known", CONDITION, "00")
        records = [failed("error", "", combination, seconds, None) for combination in grid]
        write_records(results / fit_path("known", CONDITION, "00", row), records, {})
    progress = Progress(plan, Recall(plan, Store(results / "none")), results, cores=2)
    indices = [f"{number:02d}" for number in range(1, datasets)]
    progress.expect([("known", CONDITION, index, row) for index in indices for row in ("sortnregress", "empty")])
    return progress


def test_what_is_left_is_weighed_by_its_cost(tmp_path: Path, clock: list[float]) -> None:
    progress = planned(tmp_path)
    assert progress.total == 4
    fits = len(Plan(own_configuration(["sortnregress"])).grid("sortnregress", "known", CONDITION, "00"))
    expected = 2 * (100 * fits + 1.5) + 2 * (1 + 1.5)
    assert progress.seconds() == pytest.approx(expected / 2)
    for index in ("01", "02"):
        progress.start(int(index), targets="known", condition=CONDITION, index=index, row="empty")
        clock[0] += 2.5
        assert progress.end(int(index))
    # Half of the jobs are done, next to nothing of the work.
    assert progress.seconds() == pytest.approx((expected - 5) / 2)


def test_a_slow_machine_is_noticed(tmp_path: Path, clock: list[float]) -> None:
    progress = planned(tmp_path)
    before = progress.seconds()
    progress.start(7, targets="known", condition=CONDITION, index="01", row="empty")
    clock[0] += 25.0
    progress.end(7)
    assert progress.seconds() == pytest.approx(10 * (before - 1.25))


def test_one_long_fit_is_not_divided_over_the_cores(tmp_path: Path, clock: list[float]) -> None:
    progress = planned(tmp_path, datasets=2)
    assert progress.seconds() == pytest.approx(max(progress.left.values()))


def test_the_line_names_what_runs(tmp_path: Path, clock: list[float]) -> None:
    progress = planned(tmp_path)
    assert not progress.end(3)  # no fit
    progress.start(1, targets="known", condition=CONDITION, index="01", row="empty")
    progress.start(2, targets="known", condition=CONDITION, index="01", row="sortnregress")
    clock[0] += 2.5
    progress.end(1)
    line = progress.describe()
    assert line.startswith("1 of 4 jobs of fits done, about ")
    assert line.endswith(f"of fitting left; running: sortnregress on {CONDITION}/01")


def test_a_run_of_a_few_cells_counts_these_alone(tmp_path: Path, clock: list[float]) -> None:
    progress = planned(tmp_path)
    progress.expect([("known", CONDITION, "00", "empty")])  # done, and asked for again by its path
    assert progress.total == 1
    assert progress.seconds() == pytest.approx(1 + 1.5)
    progress.start(1, targets="known", condition=CONDITION, index="00", row="empty")
    clock[0] += 2.5
    progress.end(1)
    assert progress.describe() == "1 of 1 jobs of fits done, all fits are done"
