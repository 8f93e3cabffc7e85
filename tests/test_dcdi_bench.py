"""The program that measures the engines runs, and prints what it says it prints."""

import re
from pathlib import Path

import numpy as np
import pytest

from dcdi import bench
from dcdi.training import Schedule
from tests.project import ROOT


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--nodes 3 --density gaussian --mode known unknown --rows 200 --seconds 0.01 --rounds 1"
    bench.main(options.split())
    iterations, fits = (part.splitlines() for part in capsys.readouterr().out.split("\n\n"))
    assert iterations[0].startswith("CPU time of an iteration")
    peak = float(re.fullmatch(r"Peak of this processor: (\S+) GFLOP/s", iterations[1])[1])  # type: ignore[index]
    header = ["density", "mode", "nodes", "cpu", "ms", "torch", "ms", "cpu", "GFLOP/s", "of", "peak", "cpu/torch"]
    assert iterations[2].split() == header
    for line, mode in zip(iterations[3:], ("known", "unknown"), strict=True):
        density, found, nodes, cpu, torch, speed, share, ratio = line.split()
        assert 0 < float(speed) < peak
        assert float(share.rstrip("%")) / 100 == pytest.approx(float(speed) / peak, abs=0.01)
        assert (density, found, nodes) == ("gaussian", mode, "3")
        assert 0 < float(cpu) < float(torch)
        assert re.fullmatch(r"1/\d+", ratio)
    assert fits[0].startswith("CPU time of a whole fit, 3 nodes, 200 rows")
    for line, mode in zip(fits[2:], ("known", "unknown"), strict=True):
        density, found, seconds, iterations_of_fit, milliseconds = line.split()
        assert (density, found) == ("gaussian", mode)
        assert float(milliseconds) * int(iterations_of_fit) / 1000 == pytest.approx(float(seconds), abs=0.1)


def test_subset(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--nodes 2 --density dsf --mode imperfect --engine cpu --rows 100 --seconds 0.01 --rounds 1"
    bench.main(options.split())
    iterations, fits = (part.splitlines() for part in capsys.readouterr().out.split("\n\n"))
    assert [line.split()[:3] for line in iterations[3:]] == [["dsf", "imperfect", "2"]]
    assert [line.split()[:2] for line in fits[2:]] == [["dsf", "imperfect"]]


def test_against_another_checkout(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--nodes 2 --density gaussian --mode known --rows 100 --seconds 0.01 --rounds 1"
    bench.main([*options.split(), "--against", str(ROOT)])
    *_, line = capsys.readouterr().out.splitlines()
    density, mode, nodes, here, there, ratio = line.split()
    assert (density, mode, nodes) == ("gaussian", "known", "2")
    assert float(ratio) == pytest.approx(float(here) / float(there), rel=0.05)


def test_against_no_checkout(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"{tmp_path}: the measurement ended"):
        bench.main(["--against", str(tmp_path)])


def test_wrong_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        bench.main(["--density", "normal"])
    assert "invalid choice: 'normal'" in capsys.readouterr().err


@pytest.mark.parametrize("nodes", [1, 2, 10, 20, 50])
def test_data(nodes: int) -> None:
    data = bench.a_dataset(nodes, 500, seed=0)
    assert data.targets is not None
    assert (data.targets[1:].sum(axis=1) == max(1, nodes // 10)).all()
    np.testing.assert_allclose(data.X.std(axis=0), 1)
    assert data.settings == (nodes if nodes <= 20 else 10) + 1


def test_operations() -> None:
    """Counted by hand: 3 inputs, 16 and 16 units, 1 output are 320 weights; 64 samples, 6 operations each."""
    data, schedule = bench.a_dataset(3, 400, seed=0), Schedule()
    known = bench.operations(bench.an_engine("cpu", "gaussian", "known", data, schedule).model, data, schedule)
    assert known == (320 * 3 * 64 * 6, 320 * 3 * 80 * 2)
    imperfect = bench.operations(bench.an_engine("cpu", "gaussian", "imperfect", data, schedule).model, data, schedule)
    assert imperfect.iteration == pytest.approx(known.iteration * (3 + 3 / 4) / 3)  # 3 of 4 settings have a target
