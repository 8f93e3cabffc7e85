"""What a run will cost: from recorded and finished fits, with what is recorded and done taken off."""

from pathlib import Path

import pytest

from benchmark.recorded.cost import UnitCosts, describe, idle_cores, jobs_of, lines_of, summary, unit_costs, warning
from benchmark.recorded.pack import pack
from benchmark.recorded.recall import Recall
from benchmark.recorded.store import Store
from tests.runs import CELL, finish, small_plan


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    results, folder = tmp_path_factory.mktemp("results"), tmp_path_factory.mktemp("records")
    finish(small_plan(), results)
    pack(small_plan(), results, Store(folder))
    return Store(folder)


def test_the_cost_of_the_most_similar_fits_is_taken() -> None:
    costs = UnitCosts()
    assert costs.seconds("cam", "cam", "known", "nn-d10-e1-perfect") is None
    costs.add("cam-fixed", "cam", "known", "linear-d50-e1-perfect", 900.0, 1)
    assert costs.seconds("cam", "cam", "unknown", "nn-d10-e1-perfect") == pytest.approx(900.0 / 5**1.5)
    costs.add("cam", "cam", "known", "linear-d10-e4-perfect", 80.0, 10)
    assert costs.seconds("cam", "cam", "known", "nn-d10-e1-imperfect") == 8.0
    costs.add("cam", "cam", "known", "linear-d10-e1-perfect", 20.0, 10)
    assert costs.seconds("cam", "cam", "known", "nn-d10-e1-perfect") == 2.0
    costs.add("cam", "cam", "known", "nn-d10-e1-perfect", 30.0, 10)
    assert costs.seconds("cam", "cam", "known", "nn-d10-e1-perfect") == 3.0
    assert costs.seconds("cam", "cam", "known", "nn-d20-e1-perfect") == pytest.approx(2**1.5 * 130 / 30)
    # A row of its own costs, a dear test here, says more than the other rows of its method on data of this size.
    costs.add("cam-dear", "cam", "known", "nn-d10-e1-perfect", 500.0, 1)
    costs.add("cam-other", "cam", "known", "nn-d20-e1-perfect", 9.0, 1)
    assert costs.seconds("cam-dear", "cam", "known", "nn-d20-e1-perfect") == pytest.approx(2**1.5 * 500.0)


def test_costs_grow_with_the_number_of_nodes_as_those_of_the_methods_other_rows() -> None:
    costs = UnitCosts()
    costs.add("igsp-kci", "igsp", "known", "nn-d10-e1-perfect", 7.0, 10)
    costs.add("igsp-gauss", "igsp", "known", "nn-d10-e1-perfect", 1.0, 10)
    costs.add("igsp-gauss", "igsp", "known", "nn-d20-e1-perfect", 8.0, 10)  # the power 3
    costs.add("igsp-old", "igsp", "known", "nn-d10-e1-perfect", 1.0, 10)
    costs.add("igsp-old", "igsp", "known", "nn-d20-e1-perfect", 32.0, 10)  # the power 5
    costs.add("cam", "cam", "known", "nn-d20-e1-perfect", 1.0, 10)
    assert costs.seconds("igsp-kci", "igsp", "known", "nn-d20-e1-perfect") == pytest.approx(0.7 * 2**4)
    # The nearest of several sizes counts.
    assert costs.seconds("igsp-gauss", "igsp", "known", "nn-d40-e1-perfect") == pytest.approx(0.8 * 2**4)


def test_fits_that_took_no_time_say_nothing_of_how_costs_grow() -> None:
    costs = UnitCosts()
    costs.add("empty", "empty", "known", "nn-d10-e1-perfect", 0.0, 10)
    costs.add("empty", "empty", "known", "nn-d20-e1-perfect", 1.0, 10)
    assert costs.seconds("empty", "empty", "known", "nn-d40-e1-perfect") == pytest.approx(0.1 * 2**1.5)


def test_recorded_and_finished_cells_are_not_to_be_fitted(store: Store, tmp_path: Path) -> None:
    plan = small_plan("reuse", datasets=4)
    jobs = list(jobs_of(plan, Recall(plan, store), tmp_path))
    lines = {line.row: line for line in lines_of(jobs, unit_costs(store, tmp_path, jobs))}
    assert (lines["empty"].recorded, lines["empty"].jobs, lines["empty"].fits) == (2, 2, 2)
    assert (lines["sortnregress"].recorded, lines["sortnregress"].jobs, lines["sortnregress"].fits) == (2, 2, 12)
    # 0.25 CPU seconds a fit; whatever a job costs beside its fits comes on top.
    assert lines["sortnregress"].hours is not None
    assert 12 * 0.25 <= lines["sortnregress"].hours * 3600 < 12 * 0.25 + 2 * 10

    finish(small_plan(), tmp_path)
    fresh = small_plan("off", datasets=4)
    jobs = list(jobs_of(fresh, Recall(fresh), tmp_path))
    lines = {line.row: line for line in lines_of(jobs, unit_costs(Store(tmp_path / "none"), tmp_path, jobs))}
    assert (lines["sortnregress"].recorded, lines["sortnregress"].done, lines["sortnregress"].jobs) == (0, 2, 2)


def test_a_plan_says_what_is_left_and_when_it_ends(store: Store, tmp_path: Path) -> None:
    plan = small_plan("reuse", rows=("sortnregress", "random"), datasets=3)
    recall = Recall(plan, store)
    jobs = list(jobs_of(plan, recall, tmp_path))
    lines = lines_of(jobs, unit_costs(store, tmp_path, jobs))
    text = describe(lines, 2, [], 0.0)
    assert text.splitlines()[0].split() == [
        "experiment",
        "method",
        "recorded",
        "done",
        "to",
        "fit",
        "fits",
        "core-hours",
    ]
    assert "mine        random               0     0       3     3           ?" in text
    assert "4 jobs with 9 fits are left" in text
    assert "on 2 cores" in text
    assert "no fit like them is recorded: random" in text
    assert "of the jobs are done" not in text
    running = [line._replace(done=1) for line in lines[:1]]
    assert "50% of the jobs are done, the last one 10 minutes ago" in describe(running, 1, [400.0, 300.0], 1000.0)
    assert summary(plan, recall, tmp_path) == (
        "Cells: 2 recorded, 0 done, 4 to be fitted (9 fits, about 0.0 core-hours, and 1 row of unknown cost)"
    )


def test_what_is_not_recorded_is_not_counted_as_recorded_where_nothing_is_fitted(store: Store, tmp_path: Path) -> None:
    plan = small_plan("only", datasets=3)
    assert summary(plan, Recall(plan, store), tmp_path) == "Cells: 4 recorded, 2 not; records: only fits nothing"
    jobs = list(jobs_of(plan, Recall(plan, store), tmp_path))
    assert {line.recorded for line in lines_of(jobs, unit_costs(store, tmp_path, jobs))} == {2}


def test_a_million_fits_are_said_beforehand() -> None:
    assert warning(small_plan()) == ""
    text = warning(small_plan(datasets=300_000))
    assert "asks for 2,100,000 fits, 2,100,000 of them in experiments.mine" in text
    assert "datasets" in text


def test_a_finished_cell_that_cannot_be_read_costs_nothing_else(store: Store, tmp_path: Path) -> None:
    finish(small_plan(), tmp_path)
    (tmp_path / CELL).write_text("{", encoding="utf-8")
    plan = small_plan()
    assert "4 done" in summary(plan, Recall(plan), tmp_path)


def test_cores_that_the_memory_of_the_fits_leaves_idle_are_said_beforehand() -> None:
    plan = small_plan(limits={"memory_gb": 4})
    assert idle_cores(plan, cores=4, memory_mb=16 * 1024, runner_mb=0) == ""
    text = idle_cores(plan, cores=4, memory_mb=16 * 1024, runner_mb=100)
    assert "3 fits at a time, not 4" in text
    assert "limits.memory_gb" in text
    large = small_plan(limits={"memory_gb": 4}, methods={"empty": {"limits": {"memory_gb": 8}}})
    assert "2 fits of empty at a time, not 4" in idle_cores(large, cores=4, memory_mb=16 * 1024, runner_mb=0)
    # A fit is run even where the machine has less than it may use.
    assert "1 fit at a time, not 2" in idle_cores(plan, cores=2, memory_mb=1024, runner_mb=0)
