"""The program that measures baselines: its table, its limits, and that it measures CPU time."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from baselines import bench
from benchmark.dataset import Dataset, Fit
from benchmark.methods import ROOT, Method, load_method, load_method_file

TINY = ["--nodes", "4", "--edges", "0.5", "1", "--rows", "300"]


def method(fit: Callable[..., Fit], **entries: object) -> Method:
    values = {"supports": frozenset({"perfect"}), "selection": {}} | entries
    return Method("made-up", "Made up", Path(__file__), fit=fit, **values)  # type: ignore[arg-type]


def no_edges(dataset: Dataset) -> Fit:
    return Fit(np.zeros((dataset.d, dataset.d), dtype=np.int8))


def test_table_of_a_tiny_case() -> None:
    command = [sys.executable, "-m", "baselines.bench", "--methods", "jci-pc", "sortnregress", *TINY]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    head, *rows = [line.split() for line in done.stdout.splitlines()]
    assert head == ["method", "nodes", "edges/node", "fits", "CPU", "seconds", "status"]
    sizes = [(row[0], row[1], row[2], row[3], row[5]) for row in rows]
    fits = {"jci-pc": "4", "sortnregress": "6"}
    assert sizes == [(name, "4", edges, count, "ok") for edges in ("0.5", "1") for name, count in fits.items()]
    assert all(float(row[4]) > 0 for row in rows)


def test_every_test_of_a_method_is_measured(capsys: pytest.CaptureFixture[str]) -> None:
    bench.main(["--methods", "jci-pc", "igsp", "--nodes", "4", "--edges", "1", "--rows", "300"])
    rows = [line.split("  ")[0] for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == ["jci-pc", "igsp gauss", "igsp kci"]


def test_baselines_are_found() -> None:
    names = bench.baselines()
    assert "jci-pc" in names
    assert not {"empty", "random", "sortnregress", "bench"} & set(names)
    assert all(load_method(name).file.is_relative_to(ROOT / "baselines") for name in names)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--methods", "jci-cp"], "there is no method 'jci-cp'. Did you mean 'jci-pc'"),
        (["--nodes", "4", "--edges", "3"], "edges_per_node is 3.0; a graph of 4 nodes"),
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(arguments)
    output = capsys.readouterr()
    assert message in output.err
    assert output.out == ""


def written(folder: Path, fit: str, space: str = "{}") -> Method:
    """Return a method whose file has this body of ``fit``."""
    file = folder / "made_up.py"
    file.write_text(
        f"""
import time
import numpy as np
from benchmark.dataset import Fit
LABEL, SUPPORTS, SPACE, SELECTION = "Made up", ("perfect",), {space}, {{}}
def fit(dataset, *, seed, place=0):
    {fit}
    return Fit(np.zeros((dataset.d, dataset.d), dtype=np.int8))
""",
        encoding="utf-8",
    )
    return load_method_file("made-up", file)


def test_time_is_cpu_time(tmp_path: Path) -> None:
    idle = written(tmp_path, "time.sleep(3)")
    data = bench.data_for(idle, 4, 1, 300)
    resting = bench.measure(idle, data, 60)[0]  # its import alone
    busy = written(tmp_path, "while time.process_time() < 3: pass")
    assert bench.measure(busy, data, 60)[0] > 2.9 > resting


def test_limit_is_for_the_whole_grid(tmp_path: Path) -> None:
    two = written(tmp_path, "time.sleep(60 * place)", '{"place": [0, 1]}')
    started = time.monotonic()
    _, records = bench.measure(two, bench.data_for(two, 4, 1, 300), 2)
    assert time.monotonic() - started < 30
    assert bench.summary(records) == "1 ok, 1 timeout (it ran for 1 s; the limit is 1 s)"


@pytest.mark.parametrize(
    ("supports", "data", "settings", "setting"),
    [
        ({"observational", "perfect"}, "own", 5, "perfect"),
        ({"observational", "perfect"}, "twin", 1, "perfect"),
        ({"unknown", "imperfect-unknown"}, "own", 5, "unknown"),
        ({"imperfect"}, "own", 5, "imperfect"),
        ({"observational"}, "own", 1, "observational"),
    ],
)
def test_data_suit_the_method(supports: set[str], data: str, settings: int, setting: str) -> None:
    measured = method(lambda dataset, *, seed: no_edges(dataset), supports=frozenset(supports), data=data)
    assert bench.data_for(measured, 4, 1, 300).settings == settings
    assert bench.setting_of(measured) == setting


def test_program_uses_one_core() -> None:
    code = """
import os, runpy, sys
sys.argv = ["bench", "--help"]
try:
    runpy.run_module("baselines.bench", run_name="__main__")
finally:
    print(os.environ["OMP_NUM_THREADS"], os.environ["NUMBA_NUM_THREADS"])
"""
    environment = os.environ | {"OMP_NUM_THREADS": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "1 1"
