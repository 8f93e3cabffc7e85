"""The runner turns every outcome into a record: no failure loses a result or stops the fits after it.

The methods are local functions; the runner forks, so they need no file.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from benchmark.dataset import Dataset, Fit
from benchmark.methods import Grid, Method
from benchmark.records import Record, read_records, write_records
from benchmark.runner import Limits, run
from benchmark.simulate import simulate

DATA = simulate("linear", 4, 1, n=60, seed=1)
GRID: Grid = [{"number": number} for number in range(3)]
EDGE = np.eye(4, k=1, dtype=np.int8)
PLENTY = Limits(seconds=30, memory_mb=50_000)


def one_edge(dataset: Dataset, *, seed: int, number: int) -> Fit:
    return Fit(EDGE, heldout_nll=float(number))


def method(fit: Callable[..., Any] = one_edge, **fields: Any) -> Method:
    return Method("fake", "Fake", Path("fake.py"), frozenset(["perfect"]), "heldout", fit, **fields)


def go(
    fit: Callable[..., Any] = one_edge, *, limits: Limits = PLENTY, grid: Grid = GRID, hide: bool = False, **fields: Any
) -> list[Record]:
    return run(method(fit, **fields), DATA, grid, seed=5, limits=limits, hide_targets=hide)


def statuses(records: list[Record]) -> list[str]:
    return [record["status"] for record in records]


def assert_failed(record: Record, status: str, reason: str, number: int = 1) -> None:
    assert record["status"] == status, record
    assert reason in record["reason"]
    assert record["edges"] is None
    assert record["kind"] is None
    assert record["heldout_nll"] is None
    assert record["hyperparameters"] == {"number": number}


def second_fails(fail: Callable[[], Any]) -> Callable[..., Any]:
    """A method whose second combination goes wrong."""

    def fit(dataset: Dataset, *, seed: int, number: int) -> Any:
        return fail() if number == 1 else one_edge(dataset, seed=seed, number=number)

    return fit


def test_ok() -> None:
    records = go()
    assert statuses(records) == ["ok"] * 3
    for number, record in enumerate(records):
        assert record["hyperparameters"] == {"number": number}
        assert record["edges"] == [["V0", "V1"], ["V1", "V2"], ["V2", "V3"]]
        assert record["kind"] == "dag"
        assert record["heldout_nll"] == number
        assert record["reason"] == ""
        assert record["seconds"] is not None
        assert 0 <= record["seconds"] < 5
        assert record["peak_memory_mb"] is not None
        assert 5 < record["peak_memory_mb"] < 20_000


def test_empty_grid_gives_no_records() -> None:
    assert go(grid=[]) == []


def test_seed_reaches_the_method() -> None:
    def fit(dataset: Dataset, *, seed: int, number: int) -> Fit:
        return Fit(EDGE, info={"seed": seed, "number": number})

    assert [record["info"] for record in go(fit)] == [{"seed": 5, "number": number} for number in range(3)]


def test_records_can_be_written(tmp_path: Path) -> None:
    records = go(second_fails(lambda: 1 / 0))
    write_records(tmp_path / "r.json", records, {})
    assert read_records(tmp_path / "r.json")[0] == records


# --- one fit fails, the others do not


def fail_with_exception() -> None:
    raise ValueError("the matrix is singular")


def fail_with_a_message_of_two_lines() -> None:
    raise RuntimeError("first\nsecond")


def refuse_memory() -> None:
    raise MemoryError("Unable to allocate 4 TiB")


def unpicklable() -> Fit:
    return Fit(EDGE, info={"model": lambda: None})


@pytest.mark.parametrize(
    ("fail", "status", "reason"),
    [
        (fail_with_exception, "error", "ValueError: the matrix is singular"),
        (fail_with_a_message_of_two_lines, "error", "RuntimeError: first"),
        (refuse_memory, "memory", "4 TiB"),
        (lambda: next(iter(())), "error", "StopIteration"),
        (lambda: os._exit(0), "error", "exit code 0"),
        (lambda: os._exit(3), "error", "exit code 3"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "error", "exit code -15"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "memory", "killed"),
        (lambda: (_ for _ in ()).throw(SystemExit(2)), "error", "exit code 2"),
        (lambda: EDGE, "error", "ndarray"),
        (lambda: {"graph": EDGE}, "error", "dict"),
        (lambda: Fit(np.zeros((3, 3), dtype=np.int8)), "error", "shape (3, 3)"),
        (lambda: Fit(np.array([[0, 1], [1, 0]])), "error", "acyclic"),
        (lambda: Fit(EDGE, kind="cpdag"), "error", "cpdag"),
        (unpicklable, "error", "pickle"),
    ],
)
def test_failure_is_a_row_and_the_rest_still_runs(fail: Callable[[], Any], status: str, reason: str) -> None:
    before, record, after = go(second_fails(fail))
    assert_failed(record, status, reason)
    assert (before["status"], after["status"]) == ("ok", "ok")
    assert after["edges"] == before["edges"]


def test_every_fit_may_fail() -> None:
    def fit(dataset: Dataset, *, seed: int, number: int) -> Fit:
        raise ValueError(f"number {number}")

    for number, record in enumerate(go(fit)):
        assert_failed(record, "error", f"ValueError: number {number}", number)


def test_a_return_of_nothing_is_an_error_of_the_method() -> None:
    """A fit that forgets its return statement: the reason must not speak of a sweep that does not exist."""
    _, record, after = go(second_fails(lambda: None))
    assert_failed(record, "error", "NoneType")
    assert "sweep" not in record["reason"]
    assert after["status"] == "ok"


def test_timeout() -> None:
    started = time.monotonic()
    before, record, after = go(second_fails(lambda: time.sleep(60)), limits=Limits(0.8, 50_000))
    assert time.monotonic() - started < 10
    assert_failed(record, "timeout", "limit is")
    assert record["seconds"] is not None
    assert 0.8 <= record["seconds"] < 5
    assert (before["status"], after["status"]) == ("ok", "ok")


def test_a_fit_that_ignores_signals_is_ended() -> None:
    def stubborn() -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        while True:
            pass

    assert statuses(go(second_fails(stubborn), limits=Limits(0.8, 50_000))) == ["ok", "timeout", "ok"]


def test_time_of_one_fit_is_not_charged_to_the_next() -> None:
    def fit(dataset: Dataset, *, seed: int, number: int) -> Fit:
        time.sleep(0.35)
        return Fit(EDGE)

    records = go(fit, limits=Limits(0.9, 50_000))  # three of them take longer than the limit of one
    assert statuses(records) == ["ok"] * 3
    assert all(record["seconds"] == pytest.approx(0.35, abs=0.3) for record in records)


def eat_memory() -> None:
    blocks = []
    for _ in range(40):
        blocks.append(np.ones(25 * 2**17))  # 25 MB that are really used
        time.sleep(0.02)
    time.sleep(60)


def test_memory_limit() -> None:
    base = psutil.Process().memory_info().rss / 2**20
    before, record, after = go(second_fails(eat_memory), limits=Limits(30, base + 300))
    assert_failed(record, "memory", "MB; the limit is")
    assert record["peak_memory_mb"] is not None
    assert base + 300 < record["peak_memory_mb"] < base + 1000
    assert (before["status"], after["status"]) == ("ok", "ok")
    assert after["peak_memory_mb"] is not None
    assert after["peak_memory_mb"] < base + 300


def test_memory_of_children_counts() -> None:
    base = psutil.Process().memory_info().rss / 2**20

    def in_a_child() -> None:
        if os.fork() == 0:
            eat_memory()
        time.sleep(60)

    # one process alone stays below this limit, whatever the tests before have imported
    assert statuses(go(second_fails(in_a_child), limits=Limits(30, base + 700))) == ["ok", "memory", "ok"]


# --- sweeps


def sweep_of(count: int, then: Callable[[], Any] = lambda: None) -> Callable[..., Iterable[Fit]]:
    def sweep(dataset: Dataset, *, seed: int, grid: Grid) -> Iterator[Fit]:
        for combination in grid[:count]:
            yield one_edge(dataset, seed=seed, **combination)
        then()

    return sweep


def test_sweep() -> None:
    records = go(sweep=sweep_of(3))
    assert statuses(records) == ["ok"] * 3
    assert [record["heldout_nll"] for record in records] == [0, 1, 2]


def test_sweep_may_return_a_list() -> None:
    def sweep(dataset: Dataset, *, seed: int, grid: Grid) -> list[Fit]:
        return [one_edge(dataset, seed=seed, **combination) for combination in grid]

    assert statuses(go(sweep=sweep)) == ["ok"] * 3


@pytest.mark.parametrize(
    ("then", "status", "reason"),
    [
        (fail_with_exception, "error", "the matrix is singular"),
        (lambda: None, "error", "fewer fits than the 3 combinations"),
        (lambda: os._exit(4), "error", "exit code 4"),
        (lambda: os.kill(os.getpid(), signal.SIGKILL), "memory", "killed"),
        (lambda: time.sleep(60), "timeout", "limit"),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 2])
def test_sweep_that_fails_midway_keeps_what_it_delivered(
    count: int, then: Callable[[], Any], status: str, reason: str
) -> None:
    records = go(sweep=sweep_of(count, then), limits=Limits(0.3 if status == "timeout" else 30, 50_000))
    assert statuses(records) == ["ok"] * count + [status] * (3 - count)
    for number, record in enumerate(records):
        if number < count:
            assert record["heldout_nll"] == number
        else:
            assert_failed(record, status, reason, number)


def test_sweep_may_use_the_time_of_all_its_fits() -> None:
    def sweep(dataset: Dataset, *, seed: int, grid: Grid) -> Iterator[Fit]:
        time.sleep(0.8)  # the shared work comes first
        for _ in grid:
            yield Fit(EDGE)

    assert statuses(go(sweep=sweep, limits=Limits(0.6, 50_000))) == ["ok"] * 3


def test_sweep_with_wrong_fits() -> None:
    def sweep(dataset: Dataset, *, seed: int, grid: Grid) -> Iterator[Any]:
        yield Fit(EDGE)
        yield EDGE

    records = go(sweep=sweep)
    assert statuses(records) == ["ok", "error", "error"]
    assert "ndarray" in records[1]["reason"]


# --- what a method sees


@pytest.mark.parametrize("hide", [True, False])
def test_method_sees_no_truth(hide: bool) -> None:
    def spy(dataset: Dataset, *, seed: int, number: int) -> Fit:
        seen = {
            "graph": dataset.graph is not None,
            "targets": dataset.targets is not None,
            "parameters": sorted(dataset.parameters),
            "heldout": dataset.heldout is not None,
            "fields": sorted(vars(dataset)),
        }
        return Fit(EDGE, info=seen)

    expected = {
        "graph": False,
        "targets": not hide,
        "parameters": ["edges_per_node", "intervention"],
        "heldout": True,
        "fields": ["X", "graph", "heldout", "names", "parameters", "setting", "targets"],
    }
    assert [record["info"] for record in go(spy, hide=hide)] == [expected] * 3

    def sweep(dataset: Dataset, *, seed: int, grid: Grid) -> Iterator[Fit]:
        return (spy(dataset, seed=seed, **combination) for combination in grid)

    assert [record["info"] for record in go(sweep=sweep, hide=hide)] == [expected] * 3


def test_method_cannot_change_the_data() -> None:
    copy = DATA.X.copy()

    def vandal(dataset: Dataset, *, seed: int, number: int) -> Fit:
        dataset.X.flags.writeable = True
        dataset.X[:] = 0
        return Fit(EDGE)

    assert statuses(go(vandal)) == ["ok"] * 3
    np.testing.assert_array_equal(DATA.X, copy)


# --- processes


def is_alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def ends_soon(pid: int) -> bool:
    for _ in range(40):
        if not is_alive(pid):
            return True
        time.sleep(0.05)
    os.kill(pid, signal.SIGKILL)  # leave nothing behind
    return False


STARTED: list[subprocess.Popen[bytes]] = []  # keeps a child's Popen alive until the child ends


@pytest.mark.parametrize(
    ("then", "status"),
    [
        (lambda: time.sleep(60), "timeout"),
        (fail_with_exception, "error"),
        (lambda: os._exit(3), "error"),
        (lambda: Fit(EDGE), "ok"),
    ],
)
def test_processes_that_a_fit_started_are_ended(then: Callable[[], Any], status: str, tmp_path: Path) -> None:
    def fit(dataset: Dataset, *, seed: int, number: int) -> Any:
        STARTED.append(subprocess.Popen(["sleep", "100"]))
        (tmp_path / "pid").write_text(str(STARTED[-1].pid))
        return then()

    records = go(fit, grid=GRID[:1], limits=Limits(1.2, 50_000))
    assert statuses(records) == [status]
    assert ends_soon(int((tmp_path / "pid").read_text()))


def test_a_crash_is_seen_although_a_fork_of_the_fit_lives_on(tmp_path: Path) -> None:
    """A forked worker inherits the pipe, so that the pipe stays open when the fit itself is gone."""

    def fit(dataset: Dataset, *, seed: int, number: int) -> Fit:
        worker = os.fork()
        if worker == 0:
            time.sleep(100)
            os._exit(0)
        (tmp_path / "pid").write_text(str(worker))
        os._exit(3)

    records = go(fit, grid=GRID[:1], limits=Limits(2, 50_000))
    ended = ends_soon(int((tmp_path / "pid").read_text()))
    assert statuses(records) == ["error"]
    assert ended


def test_no_process_is_left() -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    go(second_fails(lambda: time.sleep(60)), limits=Limits(0.3, 50_000))
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before


# --- warm-up


def test_warm_up_is_not_time_of_the_fit() -> None:
    for sweep in (None, sweep_of(3)):
        records = go(warm_up=lambda: time.sleep(0.5), sweep=sweep)
        assert statuses(records) == ["ok"] * 3
        assert all(record["seconds"] is not None and record["seconds"] < 0.4 for record in records)


def test_warm_up_does_not_count_against_the_limit() -> None:
    assert statuses(go(warm_up=lambda: time.sleep(1.2), limits=Limits(0.6, 50_000))) == ["ok"] * 3


def test_warm_up_that_fails_is_a_row() -> None:
    def no_package() -> None:
        raise ImportError("no module named rpy2")

    records = go(warm_up=no_package)
    assert statuses(records) == ["error"] * 3
    assert "no module named rpy2" in records[0]["reason"]


# --- cost


def test_cpu_seconds_are_those_of_all_threads_and_not_of_waiting() -> None:
    def busy(dataset: Dataset, *, seed: int, number: int) -> Fit:
        time.sleep(0.2)
        ended = time.process_time() + 0.2
        while time.process_time() < ended:
            pass
        return Fit(EDGE)

    for record in go(busy, grid=GRID[:2]):
        assert record["cpu_seconds"] is not None
        assert record["seconds"] is not None
        assert 0.19 <= record["cpu_seconds"] < 0.35
        assert record["seconds"] >= 0.39
