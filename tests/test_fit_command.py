"""One command for one data set."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark.dataset import Dataset
from benchmark.fit import main

TABLE = ["genes.csv", "--setting", "condition", "--control", "wt"]
KNOWN = [*TABLE, "--target", "KO_b=b", "--target", "double=a,c"]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    a = np.where(np.arange(300) < 200, rng.normal(size=300), rng.normal(-3, 1, size=300))
    b = 2 * a + rng.normal(size=300)
    b[100:200] = rng.normal(3, 1, size=100)
    c = b + rng.normal(size=300)
    c[200:] = rng.normal(3, 1, size=100)
    conditions = ["wt"] * 100 + ["KO_b"] * 100 + ["double"] * 100
    pd.DataFrame({"a": a, "b": b, "c": c, "id": "x", "condition": conditions}).to_csv("genes.csv", index=False)
    return tmp_path


def test_it_prints_the_edges_and_writes_the_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*KNOWN, "--ignore", "id", "--method", "gies", "--method", "sortnregress", "--standardise"]) == 0
    printed = capsys.readouterr()
    assert "300 rows (wt 100, KO_b 100, double 100), 3 variables (a, b, c), targets known" in printed.out
    assert "GIES (penalty=" in printed.out
    assert "  a -> b\n" in printed.out
    assert "GIES: 100%" in printed.err
    made = {path.name for path in (folder / "genes-graphs").iterdir()}
    assert {"gies.csv", "gies.graphml", "gies.png", "sortnregress.csv", "summary.csv"} <= made
    edges = pd.read_csv("genes-graphs/gies.csv")
    assert ["a", "b"] in edges[["from", "to"]].to_numpy().tolist()


def test_the_truth_hyperparameters_and_the_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("truth.csv").write_text("from,to\na,b\nb,c\n")
    options = ["--truth", "truth.csv", "--set", "penalty=5", "--out", "here", "--method", "gies"]
    assert main([*KNOWN, "--ignore", "id", *options]) == 0
    assert "GIES (penalty=5)" in capsys.readouterr().out
    assert set(pd.read_csv("here/gies.csv")["verdict"]) == {"correct"}


def test_unknown_targets_are_learned(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*TABLE, "--ignore", "id", "--method", "jci-pc"]) == 0
    printed = capsys.readouterr().out
    assert "targets unknown" in printed
    assert "learned targets:\n  KO_b: " in printed
    assert pd.read_csv("genes-graphs/jci-pc.targets.csv")["condition"].tolist() == ["KO_b", "double"]


def test_a_saved_data_set_and_observational_data(capsys: pytest.CaptureFixture[str]) -> None:
    Dataset(np.random.default_rng(0).normal(size=(50, 2)), [0] * 50, None, names=["u", "v"]).save("own.npz")
    assert main(["own.npz", "--method", "sortnregress", "--set", "penalty=0.1"]) == 0
    assert "50 rows (observational 50), 2 variables (u, v)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*KNOWN, "--method", "gies"], "genes.csv: column 'id', row 2: 'x' is not a number"),
        (["absent.csv", "--method", "gies"], "absent.csv: there is no such file"),
        ([*KNOWN, "--ignore", "id", "--method", "geis"], "there is no method 'geis'. Did you mean 'gies'?"),
        ([*TABLE, "--ignore", "id", "--method", "gies"], "gies: it does not support unknown targets; these do: "),
        ([*TABLE, "--target", "KO_b", "--method", "gies"], "--target KO_b: expected NAME=VALUE,..."),
        ([*KNOWN, "--ignore", "id", "--method", "dcd-no-interv"], "it runs on observational twins"),
        ([*KNOWN, "--ignore", "id", "--method", "gies", "--set", "alpha=1"], "--set alpha: there is no such hyperp"),
        ([*KNOWN, "--ignore", "id", "--method", "gies", "--heldout", "2"], "--heldout is 2.0; expected a share"),
        (["own.npz", "--control", "wt", "--method", "gies"], "--control: a .npz file says this itself"),
        ([*KNOWN, "--ignore", "id", "--method", "igsp", "--set", "alpha=0.5,0.6"], "igsp has no score to choose by"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_a_fit_that_fails_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*KNOWN, "--ignore", "id", "--method", "igsp", "--set", "alpha=7"]) == 1
    assert "failed: ValueError: " in capsys.readouterr().out
    assert pd.read_csv("genes-graphs/summary.csv")["status"].tolist() == ["error"]
