"""External programs: whatever they do becomes rows with the right status, and nothing is left behind."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from benchmark.dataset import Dataset
from benchmark.methods import MethodError, load_method, load_method_file
from benchmark.records import read_records
from benchmark.running import external

READ = """
import json, os, signal, subprocess, sys, time
import numpy as np
data_file, job_file, fit_file = sys.argv[1:]
data, job = dict(np.load(data_file)), json.load(open(job_file))
x = job["hyperparameters"]["x"]
def write(**fit):
    json.dump(fit, open(fit_file, "w"))
"""
GOOD = 'write(edges=[["A", "B"]], heldout_nll=x / 2, info={"engine": "mine"})'


@pytest.fixture
def data(tmp_path: Path) -> Path:
    X = np.random.default_rng(0).normal(size=(40, 3))
    truth = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    dataset = Dataset(X, np.repeat([0, 1], 20), [[0, 0, 0], [0, 1, 0]], truth, ("A", "B", "C"), np.arange(40) % 5 == 0)
    dataset.save(tmp_path / "data.npz")
    return tmp_path / "data.npz"


def run(data: Path, code: str, *, targets: str = "known", seconds: float = 20, memory_mb: float = 2000) -> Any:
    """Run a program for x = 1 and x = 2; return its two records."""
    folder = data.parent
    (folder / "run.py").write_text(READ + code, encoding="utf-8")
    rule = folder / "mine.smk"
    rule.write_text("", encoding="utf-8")
    job = {
        "method": "mine",
        "file": str(rule),
        "grid": [{"x": 1}, {"x": 2}],
        "seed": 7,
        "hide_targets": targets == "unknown",
    }
    output = folder / "fit.json"
    options = ["--job", json.dumps(job), "--data", str(data), "--output", str(output)]
    options += ["--seconds", str(seconds), "--memory-mb", str(memory_mb)]
    external.main([*options, "--", sys.executable, str(folder / "run.py")])
    records, provenance = read_records(output)
    assert [record["hyperparameters"] for record in records] == [{"x": 1}, {"x": 2}]
    if provenance:
        assert provenance["method"] == "mine"
    return records


def test_a_program_sees_its_job_and_not_the_truth(data: Path) -> None:
    checks = (
        'assert "graph" not in data and data["targets"].tolist() == [[0, 0, 0], [0, 1, 0]]\n'
        'assert data["heldout"].sum() == 8 and data["names"].tolist() == ["A", "B", "C"]\n'
        'assert job["seed"] == 7 and "PYTHONPATH" not in os.environ\n'
    )
    records = run(data, checks + GOOD)
    assert [record["status"] for record in records] == ["ok", "ok"], records
    assert [record["heldout_nll"] for record in records] == [0.5, 1.0]
    assert records[0]["edges"] == [["A", "B"]]
    assert records[0]["info"]["engine"] == "mine"
    assert records[0]["seconds"] > 0
    assert run(data, 'write(edges=[["A", "B"]])')[0]["info"]["engine"] == "external"
    hidden = run(data, 'assert "targets" not in data and "graph" not in data\n' + GOOD, targets="unknown")
    assert [record["status"] for record in hidden] == ["ok", "ok"], hidden


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ('print("first"); sys.exit("no luck today")', "error", "exit code 1: no luck today"),
        ("sys.exit(3)", "error", "exit code 3: it said nothing"),
        ("os.kill(os.getpid(), signal.SIGSEGV)", "error", "signal SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "memory", "killed from outside"),
        ("pass", "error", "without writing its fit"),
        ('open(fit_file, "w").write("garbage")', "error", "not JSON"),
        ('open(fit_file, "wb").write(bytes(range(256)))', "error", "not JSON"),
        ('open(fit_file, "w").write("[1]")', "error", "expected an object"),
        ("write()", "error", "'edges'"),
        ('write(edges=[["A", "Z"]])', "error", "'Z' names a variable that the data set does not have"),
        ('write(edges=[["A"]])', "error", "pairs of names"),
        ('write(edges=[["A", "B"], ["B", "A"]])', "error", "cycle"),
        ("write(edges=[], heldout_nnl=1)", "error", "'heldout_nnl' of the fit is not known"),
        ('write(edges=[], heldout_nll="low")', "error", "'heldout_nll' of the fit is 'low'"),
        ("write(edges=[], targets=[[1]])", "error", "expected 2 lists of 3 numbers"),
    ],
)
def test_what_goes_wrong_is_a_row_and_the_next_one_goes_on(data: Path, code: str, status: str, reason: str) -> None:
    bad, good = run(data, f"if x == 1:\n    {code}\nelse:\n    {GOOD}\n")
    assert (bad["status"], bad["edges"]) == (status, None), bad
    assert reason in bad["reason"]
    assert good["status"] == "ok", good


def test_a_program_that_hangs_is_ended_with_all_that_it_started(data: Path) -> None:
    mark = f"left behind by {data.parent.name}"
    code = (
        "if x == 1:\n"
        f"    sleeper = [sys.executable, '-c', 'import time; time.sleep(600)', {mark!r}]\n"
        "    subprocess.Popen(sleeper, start_new_session=True)\n"
        "    time.sleep(600)\n"
    )
    bad, good = run(data, code + GOOD, seconds=4)
    assert bad["status"] == "timeout", bad
    assert good["status"] == "ok", good
    left = [process for process in psutil.process_iter(["cmdline"]) if mark in (process.info["cmdline"] or [])]
    assert left == []


def test_a_program_that_takes_too_much_memory_is_ended(data: Path) -> None:
    code = "if x == 1:\n    hoard = bytearray(700 * 2**20)\n    time.sleep(600)\n"
    bad, good = run(data, code + GOOD, memory_mb=600)
    assert bad["status"] == "memory", bad
    assert good["status"] == "ok", good


def test_a_program_that_does_not_exist_and_data_that_cannot_be_read_are_rows(data: Path) -> None:
    output = data.parent / "fit.json"
    job = {"method": "mine", "file": str(data), "grid": [{}], "seed": 0, "hide_targets": False}
    options = ["--job", json.dumps(job), "--data", str(data), "--output", str(output), "--seconds", "20"]
    external.main([*options, "--memory-mb", "2000", "--", "no-such-program"])
    ((record,), _) = read_records(output)
    assert record["status"] == "error"
    assert "no-such-program cannot be started" in record["reason"]
    data.write_bytes(b"no data")
    external.main([*options, "--memory-mb", "2000", "--", sys.executable])
    ((record,), _) = read_records(output)
    assert record["status"] == "error"
    assert "data.npz" in record["reason"]


# --- what the file of a rule says


def test_a_rule_file_describes_its_method(tmp_path: Path) -> None:
    described = 'LABEL = "Mine"\nSUPPORTS = ("perfect",)\nSPACE = {"x": [1, 2]}\nSELECTION = {"x": 1}\nA = f(1)\n'
    (tmp_path / "mine.smk").write_text(described + '\n\nrule mine:\n    shell: "{x}"\n', encoding="utf-8")
    method = load_method_file("mine", tmp_path / "mine.smk")
    assert (method.label, method.selection) == ("Mine", {"x": 1})
    assert method.supports == {"perfect"}
    assert method.grid(0) == [{"x": 1}, {"x": 2}]
    assert method.hyperparameters() == {"x"}
    (tmp_path / "mine.smk").write_text("rule mine:\n", encoding="utf-8")
    bare = load_method_file("mine", tmp_path / "mine.smk")
    assert (bare.label, bare.selection, bare.grid(0)) == ("mine", "heldout", [{}])


@pytest.mark.parametrize("line", ['SUPPORTS = ("perfct",)', "SPACE = {'x': range(3)}", "LABEL = 'x"])
def test_a_rule_file_that_cannot_be_read_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "mine.smk").write_text(f"{line}\n\nrule mine:\n", encoding="utf-8")
    with pytest.raises(MethodError, match=r"mine\.smk: "):
        load_method_file("mine", tmp_path / "mine.smk")


def test_sdcd_is_run_with_known_targets_and_the_hyperparameters_of_its_authors() -> None:
    method = load_method("sdcd")
    assert method.supports == {"perfect"}
    assert method.grid(0) == [
        {
            "stage1_alpha": 1e-2,
            "stage1_beta": 2e-4,
            "stage2_alpha": 5e-4,
            "stage2_beta": 5e-3,
            "threshold": 0.1,
            "epochs": 2000,
        }
    ]
