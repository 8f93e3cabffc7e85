"""The program that measures the engines runs, and prints what it says it prints."""

import re

import numpy as np
import pytest

from dcdi import bench


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--nodes 3 --density gaussian --mode known unknown --rows 200 --seconds 0.01 --rounds 1"
    bench.main(options.split())
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("CPU time of an iteration")
    assert lines[1].split() == ["density", "mode", "nodes", "cpu", "ms", "torch", "ms", "cpu/torch"]
    for line, mode in zip(lines[2:], ("known", "unknown"), strict=True):
        density, found, nodes, cpu, torch, ratio = line.split()
        assert (density, found, nodes) == ("gaussian", mode, "3")
        assert 0 < float(cpu) < float(torch)
        assert re.fullmatch(r"1/\d+", ratio)


def test_subset(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--nodes 2 --density dsf --mode imperfect --engine cpu --rows 100 --seconds 0.01 --rounds 1"
    bench.main(options.split())
    assert [line.split()[:3] for line in capsys.readouterr().out.splitlines()[2:]] == [["dsf", "imperfect", "2"]]


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
