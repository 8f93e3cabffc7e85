"""The runner turns every outcome into a record: no failure loses a result or stops the fits after it."""

import os
import resource
import textwrap
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from benchmark.dataset import Dataset
from benchmark.methods import Grid, Method, MethodError, load_method_file
from benchmark.records import Record, read_records, write_records
from benchmark.running import runner
from benchmark.running.runner import Confinement, Limits, run
from benchmark.simulate import simulate
from tests.faults.expected import DANGEROUS, EXPECTED, LARGE, SLOW, load
from tests.faults.zoo import ANIMALS, SCORE, SLEEP

DATA = simulate("linear", 4, 1, n=60, seed=1)
GRID: Grid = [{"number": number} for number in range(3)]
PLENTY = Limits(seconds=60, memory_mb=50_000)
HEAD = """
import os, sys, time
from pathlib import Path
import numpy as np
from benchmark.dataset import Fit
LABEL, SUPPORTS, SPACE, SELECTION = "Fake", ("perfect",), {"number": [0, 1, 2]}, "heldout"
EDGE = np.eye(4, k=1, dtype=np.int8)
"""
FIT = "def fit(dataset, *, seed, number): return Fit(EDGE, heldout_nll=float(number))\n"


def go(method: Method, grid: Grid = GRID, limits: Limits = PLENTY, **options: Any) -> list[Record]:
    asked: dict[str, Any] = {"seed": 5, "hide_targets": False, "limits": limits} | options
    return run(method, DATA, grid, **asked)


def zoo(*animals: str, **options: Any) -> list[Record]:
    return go(load("zoo"), [{"animal": animal} for animal in animals], **options)


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Return a function that writes a method's file and loads it as the worker will."""

    def write(source: str) -> Method:
        path = tmp_path / "fake.py"
        path.write_text(HEAD + textwrap.dedent(source), encoding="utf-8")
        return Method("fake", "Fake", path, frozenset(["perfect"]), "heldout", None)

    return write


def statuses(records: list[Record]) -> list[str]:
    return [record["status"] for record in records]


def sleepers() -> list[int]:
    """Return the processes that animals leave behind."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["cmdline"] == ["sleep", SLEEP] and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process.pid)
    return found


def cpu_seconds() -> float:
    """Return the CPU time of this process and of those that it has waited for."""
    usages = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def assert_failed(record: Record) -> None:
    assert record["edges"] is None
    assert record["kind"] is None
    assert record["heldout_nll"] is None


# --- outcomes


def test_ok(written: Any) -> None:
    records = go(written(FIT))
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
    assert go(load("zoo"), []) == []


def test_every_animal_is_expected() -> None:
    functions = {name for name in ANIMALS if name not in ("fit", "Unpicklable", "UnspeakableError")}
    assert functions == {*EXPECTED, *SLOW, *LARGE, *DANGEROUS}


COSTLY = ("uses_more_cores", "forks_many", "informs_of_a_tensor", "informs_of_much", "raises_a_novel", "kills_parent")


@pytest.mark.parametrize(
    "animals", [[name for name in EXPECTED if name not in COSTLY], pytest.param(COSTLY, marks=pytest.mark.slow)]
)
def test_each_failure_is_a_row_and_the_rest_still_runs(
    animals: list[str], capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    scratch = tmp_path / "scratch"
    names = [name for animal in animals for name in (animal, "good")]
    records = zoo(*names, scratch=scratch)
    for name, record in zip(names, records, strict=True):
        status, reason = EXPECTED[name]
        assert (record["status"], record["hyperparameters"]) == (status, {"animal": name}), record["reason"]
        assert reason in record["reason"], name
        assert len(record["reason"]) < 5000
        if status == "ok":
            assert record["edges"] == [["V0", "V1"], ["V1", "V2"], ["V2", "V3"]]
        else:
            assert_failed(record)
    write_records(tmp_path / "r.json", records, {})
    assert read_records(tmp_path / "r.json")[0] == records
    assert (tmp_path / "r.json").stat().st_size < 5 * 10**6  # 400,000 entries of info at most
    made = dict(zip(names, records, strict=True))
    assert made["good"]["heldout_nll"] == SCORE
    if "informs_of_a_tensor" in made:
        assert made["informs_of_a_tensor"]["info"] == {"weights": [1, 1]}
    else:
        assert made["returns_nan_score"]["heldout_nll"] is None
    assert not sleepers()
    assert not scratch.exists()
    printed = capfd.readouterr().out
    assert ("(cut: a method may write 1 MB here)" in printed) == ("writes_much" in animals)
    assert ("(cut: 100,000,000 characters)" in printed) == ("raises_a_novel" in animals)
    assert len(printed) < 2 * 2**20


def test_time_limit() -> None:
    started = time.monotonic()
    names = [name for animal in SLOW for name in (animal, "good")]
    records = zoo(*names, limits=Limits(1.5, 50_000))
    assert time.monotonic() - started < 60
    assert statuses(records) == ["timeout", "ok"] * 3
    for record in records[::2]:
        assert_failed(record)
        assert record["seconds"] is not None
        assert 1.5 <= record["seconds"] < 10


def test_memory_limit() -> None:
    """Also of children: the two together exceed a limit that one alone does not."""
    records = zoo("good", "eats_memory", "good", "eats_memory_in_a_child", "good", limits=Limits(30, 450))
    assert statuses(records) == ["ok", "memory", "ok", "memory", "ok"]
    for record in records[1::2]:
        assert_failed(record)
        assert record["peak_memory_mb"] is not None
        assert 450 < record["peak_memory_mb"] < 1500
    assert records[2]["peak_memory_mb"] is not None
    assert records[2]["peak_memory_mb"] < 450


def test_time_of_one_fit_is_not_charged_to_the_next(written: Any) -> None:
    method = written("def fit(dataset, *, seed, number): time.sleep(0.7); return Fit(EDGE)\n")
    records = go(method, limits=Limits(1.8, 50_000))  # three of them take longer than the limit of one
    assert statuses(records) == ["ok"] * 3
    assert all(record["seconds"] == pytest.approx(0.7, abs=0.6) for record in records)


def test_a_fit_costs_little_more_than_itself() -> None:
    def cpu_of(*animals: str) -> float:
        before = cpu_seconds()
        zoo(*animals)
        return cpu_seconds() - before

    one, many = cpu_of("good"), cpu_of(*["good"] * 21)
    assert one < 1  # to start Python and the processes that look after the fits
    assert (many - one) / 20 < 0.1


def test_cpu_seconds_are_those_of_work_and_not_of_waiting(written: Any) -> None:
    method = written(
        """
        def fit(dataset, *, seed, number):
            time.sleep(0.2)
            ended = time.process_time() + 0.2
            while time.process_time() < ended:
                pass
            return Fit(EDGE)
        """
    )
    for record in go(method, GRID[:2]):
        assert record["cpu_seconds"] is not None
        assert record["seconds"] is not None
        assert 0.19 <= record["cpu_seconds"] < 0.35
        assert record["seconds"] >= 0.39


@pytest.mark.parametrize(("cpu", "said"), [(9.9, False), (20.0, True)])
def test_more_cores_than_one_are_reported_in_the_row(cpu: float, said: bool) -> None:
    fit = {"graph": np.zeros((4, 4)), "kind": "dag", "heldout_nll": 1.0, "targets": None, "cpdag": None, "info": {}}
    outcome = {"fit": fit, "seconds": 10.0, "cpu_seconds": cpu, "peak_memory_mb": 1.0}
    record = runner._delivered(outcome, {}, DATA)
    assert record["status"] == "ok"
    assert record["reason"] == ("it took 20.0 CPU seconds in 10.0 s; a fit has one core" if said else "")


def test_a_method_cannot_kill_what_is_not_its_own(namespaces: bool) -> None:
    if not namespaces:
        pytest.skip("this system permits no namespaces, so a method can see other processes")
    records = zoo("kills_all", "good", confinement=Confinement())
    assert statuses(records) == ["error", "ok"]


# --- sweeps


def swept(then: str, count: int = 3, seconds: float = 30) -> list[Record]:
    grid = [{"number": number, "then": then, "count": count} for number in range(3)]
    return go(load("sweeps"), grid, Limits(seconds, 50_000))


@pytest.mark.parametrize("then", ["ends", "yields too many"])
def test_sweep(then: str) -> None:
    records = swept(then)
    assert statuses(records) == ["ok"] * 3
    assert [record["heldout_nll"] for record in records] == [0, 1, 2]


@pytest.mark.parametrize(
    ("then", "count", "status", "reason"),
    [
        ("raises", 0, "error", "the matrix is singular"),
        ("ends", 1, "error", "fewer fits than the 3 combinations"),
        ("exits", 2, "error", "exit code 4"),
        ("kills itself", 1, "memory", "killed"),
        ("sleeps", 2, "timeout", "limit"),
        ("yields errors", 1, "error", "ArithmeticError: this one alone"),
        ("yields a matrix", 1, "error", "ndarray"),
    ],
)
def test_sweep_that_fails_midway_keeps_what_it_delivered(then: str, count: int, status: str, reason: str) -> None:
    records = swept(then, count, 0.5 if status == "timeout" else 30)
    assert statuses(records) == ["ok"] * count + [status] * (3 - count)
    for number, record in enumerate(records):
        if number < count:
            assert record["heldout_nll"] == number
        else:
            assert_failed(record)
            assert reason in record["reason"]


def test_sweep_may_use_the_time_of_all_its_fits() -> None:
    assert statuses(swept("shares first", seconds=0.6)) == ["ok"] * 3


# --- what a method sees


@pytest.mark.parametrize("hide", [True, False])
def test_method_sees_no_truth(hide: bool, written: Any) -> None:
    method = written(
        """
        def fit(dataset, *, seed, number):
            seen = {
                "graph": dataset.graph is not None,
                "targets": dataset.targets is not None,
                "parameters": sorted(dataset.parameters),
                "heldout": dataset.heldout is not None,
                "fields": sorted(vars(dataset)),
                "seed": seed,
                "arguments": sys.argv[1:2],
            }
            import gc
            from benchmark.dataset import Dataset
            known = [thing for thing in gc.get_objects() if isinstance(thing, Dataset)]
            seen["graphs"] = sum(thing.graph is not None for thing in known)
            return Fit(EDGE, info=seen)
        """
    )
    (record,) = go(method, GRID[:1], hide_targets=hide)
    info = dict(record["info"])
    assert len(info.pop("arguments")) == 1  # a number of a descriptor
    assert info == {
        "graph": False,
        "targets": not hide,
        "parameters": ["edges_per_node", "intervention"],
        "heldout": True,
        "fields": ["X", "graph", "heldout", "names", "parameters", "setting", "targets"],
        "seed": 5,
        "graphs": 0,
    }


def test_the_data_that_arrive_are_those_that_were_sent(written: Any) -> None:
    method = written(
        """
        def fit(dataset, *, seed, number):
            found = np.array([dataset.X.sum(), dataset.X[7, 2], dataset.setting.sum(), dataset.targets.sum(),
                              dataset.heldout.sum(), dataset.settings])
            return Fit(EDGE, info={"found": found, "names": dataset.names, "contiguous": dataset.X.flags.c_contiguous})
        """
    )
    (record,) = go(method, GRID[:1])
    assert DATA.targets is not None
    assert DATA.heldout is not None
    sums = [DATA.X.sum(), DATA.X[7, 2], DATA.setting.sum(), DATA.targets.sum(), DATA.heldout.sum(), DATA.settings]
    assert record["info"]["found"] == sums
    assert record["info"]["names"] == list(DATA.names)
    assert record["info"]["contiguous"]


def test_a_hyperparameter_may_be_infinite(written: Any) -> None:
    method = written("def fit(dataset, *, seed, number): return Fit(EDGE, info={'big': number > 1e300})\n")
    (record,) = go(method, [{"number": np.inf}])
    assert record["info"] == {"big": True}


def test_folders_are_hidden_or_read_only(written: Any, tmp_path: Path, namespaces: bool) -> None:
    if not namespaces:
        pytest.skip("this system permits no namespaces, so folders cannot be hidden")
    results = tmp_path / "results"
    secret = results / "data" / "00.npz"
    secret.parent.mkdir(parents=True)
    secret.write_text("truth")
    own = tmp_path / "own.npz"
    own.write_text("truth")
    cache = results / ".cache"
    cache.mkdir()
    method = written(
        f"""
        def attempt(action):
            try:
                return str(action())
            except OSError as error:
                return type(error).__name__

        def fit(dataset, *, seed, number):
            results = Path({str(results)!r})
            seen = {{
                "listed": sorted(str(path.relative_to(results)) for path in results.rglob("*")),
                "read": attempt(lambda: (results / "data/00.npz").read_text()),
                "file": attempt(lambda: Path({str(own)!r}).read_text()),
                "elsewhere": attempt(lambda: Path({str(tmp_path)!r}, "new").write_text("x")),
                "cached": attempt(lambda: (results / ".cache" / "new").write_text("x")),
                "scratch": attempt(lambda: Path("new").write_text("x")),
                "umount": os.system(f"umount -l {{results}} 2>/dev/null") != 0,
                "still": attempt(lambda: (results / "data/00.npz").read_text()),
                "processes": len([name for name in os.listdir("/proc") if name.isdigit()]),
                "folder": os.getcwd(),
            }}
            return Fit(EDGE, info=seen)
        """
    )
    scratch = results / ".scratch" / "cell"
    (record,) = go(method, GRID[:1], scratch=scratch, confinement=Confinement((results, own), (cache,)))
    assert record["info"] == {
        "listed": [".cache", ".scratch", ".scratch/cell"],
        "read": "FileNotFoundError",
        "file": "",
        "elsewhere": "OSError",
        "cached": "1",
        "scratch": "1",
        "umount": True,
        "still": "FileNotFoundError",
        "processes": 3,
        "folder": str(scratch),
    }
    assert (cache / "new").exists()
    assert secret.read_text() == own.read_text() == "truth"
    assert not scratch.exists()


# --- import and warm-up


def test_without_namespaces_rows_are_the_same_and_the_log_says_what_is_not_covered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    # Python runs this first in the processes of the fits, as if the system refused them namespaces.
    refusal = "from benchmark.running import sandbox\nsandbox._unshare = lambda flags: False\n"
    (tmp_path / "sitecustomize.py").write_text(refusal, encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    names = ["good", "raises", "leaves_a_daemon", "kills_itself", "leaves_a_daemon_and_dies", "kills_parent", "good"]
    records = zoo(*names, confinement=Confinement((tmp_path,), ()), scratch=tmp_path / "scratch")
    for name, record in zip(names, records, strict=True):
        assert record["status"] == EXPECTED[name][0], record["reason"]
        assert EXPECTED[name][1] in record["reason"]
    assert not sleepers()
    printed = capfd.readouterr().out
    assert "not fully confined: processes that it detaches may outlive a kill -9" in printed
    assert "not fully confined: it can read all folders" in printed


@pytest.mark.parametrize(
    ("source", "status", "reason"),
    [
        ("raise ImportError('no module named rpy2')", "error", "no module named rpy2"),
        ("sys.exit(3)", "error", "SystemExit: 3"),
        ("os._exit(3)", "error", "exit code 3"),
        ("import ctypes; ctypes.string_at(0)", "error", "exit code -11"),
        ("time.sleep(60)", "timeout", "the limit is"),
        ("block = np.ones(60 * 2**20); time.sleep(60)", "memory", "the limit is"),
        (FIT + "def warm_up(): raise OSError('no licence')", "error", "OSError: no licence"),
        (FIT + "def warm_up(): os._exit(5)", "error", "exit code 5"),
        (FIT + "def warm_up(): time.sleep(60)", "timeout", "the limit is"),
        ("fit = None; del LABEL", "error", "LABEL"),
    ],
)
def test_what_fails_before_the_first_fit_fails_once(source: str, status: str, reason: str, written: Any) -> None:
    started = time.monotonic()
    records = go(written(source), limits=Limits(30, 400, start_seconds=2 if status == "timeout" else 30))
    assert time.monotonic() - started < 25
    assert statuses(records) == [status] * 3
    assert "before the first fit" in records[0]["reason"]
    assert reason in records[0]["reason"]


def test_warm_up_is_paid_once_and_is_no_time_of_the_fit(written: Any, tmp_path: Path) -> None:
    method = written(
        f"""
        def warm_up():
            time.sleep(1.2)
            with open({str(tmp_path / "warm")!r}, "a") as file:
                file.write("x")

        def fit(dataset, *, seed, number):
            if number != 1:
                os._exit(3)
            return Fit(EDGE)
        """
    )
    records = go(method, limits=Limits(1.0, 50_000))
    assert statuses(records) == ["error", "ok", "error"]
    assert records[1]["seconds"] is not None
    assert records[1]["seconds"] < 0.9
    assert (tmp_path / "warm").read_text() == "x"


# --- what is kept


def test_each_record_is_kept_as_it_is_made_and_known_ones_are_not_made_again(written: Any, tmp_path: Path) -> None:
    method = written(
        f"""
        def fit(dataset, *, seed, number):
            Path({str(tmp_path)!r}, f"ran{{number}}").touch()
            if number == 0:
                raise ValueError("no")
            return Fit(EDGE, heldout_nll=1.0)
        """
    )
    kept: list[Record] = []
    records = go(method, keep=kept.append)
    assert kept == records
    for path in tmp_path.glob("ran*"):
        path.unlink()
    again = go(method, known={2: records[2]}, keep=kept.append)
    assert again[2] is records[2]
    assert sorted(path.name for path in tmp_path.glob("ran*")) == ["ran0", "ran1"]
    assert len(kept) == 5


# --- processes


def test_no_process_is_left() -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    zoo("leaves_a_daemon", "sleeps", limits=Limits(0.8, 50_000))
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    assert not sleepers()


@pytest.mark.parametrize("victim", ["runner", "guard", "keeper"])
def test_nothing_is_left_when_one_of_the_processes_is_killed(victim: str) -> None:
    runner = os.fork()
    if runner == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        zoo("leaves_a_daemon_and_dies", "sleeps")
        os._exit(0)
    try:
        deadline = time.monotonic() + 60
        family: list[psutil.Process] = []
        while len(family) < 4 and time.monotonic() < deadline:  # guard, keeper, starter, fits
            time.sleep(0.05)
            family = psutil.Process(runner).children(recursive=True)
        time.sleep(0.5)
        family = psutil.Process(runner).children(recursive=True)
        guard = psutil.Process(runner).children()[0]
        chosen = {"runner": psutil.Process(runner), "guard": guard, "keeper": guard.children()[0]}[victim]
        chosen.kill()
        if victim == "runner":
            os.waitpid(runner, 0)
        _, alive = psutil.wait_procs(family, timeout=5)
        assert not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]
        assert not sleepers()
    finally:
        if psutil.pid_exists(runner) and victim != "runner":
            psutil.Process(runner).kill()
            os.waitpid(runner, 0)


def test_external_programs_are_refused(tmp_path: Path) -> None:
    rules = tmp_path / "outside.smk"
    rules.write_text("rule outside:\n", encoding="utf-8")
    outside = load_method_file("outside", rules)
    with pytest.raises(MethodError, match="external program"):
        go(outside)


def test_the_data_set_is_not_changed() -> None:
    copy = DATA.X.copy()
    zoo("changes_data", "changes_memory")
    np.testing.assert_array_equal(DATA.X, copy)
    assert isinstance(DATA, Dataset)
