"""The protein data: the rows, targets and graph that the paper used."""

import importlib.machinery
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.dataset import Dataset
from benchmark.sachs import load_sachs

NAMES = ("praf", "pmek", "plcg", "PIP2", "PIP3", "p44/42", "pakts473", "PKA", "PKC", "P38", "pjnk")
EDGES = (
    "praf>pmek pmek>p44/42 plcg>PIP2 plcg>PIP3 PIP3>PIP2 p44/42>pakts473 "
    "PKA>praf PKA>pmek PKA>p44/42 PKA>pakts473 PKA>P38 PKA>pjnk PKC>praf PKC>pmek PKC>PKA PKC>P38 PKC>pjnk"
)


@pytest.fixture(scope="module")
def sachs() -> Dataset:
    return load_sachs()


def test_rows_and_settings(sachs: Dataset) -> None:
    assert sachs.X.shape == (5846, 11)
    assert np.bincount(sachs.setting).tolist() == [1755, 911, 723, 810, 799, 848]
    assert (np.diff(sachs.setting) >= 0).all()


def test_names_and_targets(sachs: Dataset) -> None:
    assert sachs.names == NAMES
    assert sachs.targets is not None
    found = [[sachs.names[j] for j in np.flatnonzero(row)] for row in sachs.targets]
    # Akt, PKC, PIP2, Mek and PIP3, after the observational rows
    assert found == [[], ["pakts473"], ["PKC"], ["PIP2"], ["pmek"], ["PIP3"]]


def test_consensus_graph(sachs: Dataset) -> None:
    assert sachs.graph is not None
    found = {f"{sachs.names[i]}>{sachs.names[j]}" for i, j in np.argwhere(sachs.graph)}
    assert found == set(EDGES.split())
    assert len(found) == 17


def test_log_scale(sachs: Dataset) -> None:
    """The first row of the published measurements, and every row of the file."""
    first = [26.4, 13.2, 8.82, 18.3, 58.8, 6.61, 17.0, 414.0, 17.0, 44.9, 40.0]
    np.testing.assert_allclose(np.exp(sachs.X[0]), first, rtol=1e-9)
    spec = importlib.util.find_spec("cdt")
    assert spec is not None
    assert spec.submodule_search_locations
    file = Path(spec.submodule_search_locations[0]) / "data" / "resources" / "cyto_full_data.csv"
    raw = np.genfromtxt(file, delimiter=",", skip_header=1)[:5846]
    np.testing.assert_allclose(sachs.X, np.log(raw), rtol=1e-12)


def test_split(sachs: Dataset) -> None:
    assert sachs.heldout is not None
    assert sachs.heldout.sum() == 1169
    held = np.bincount(sachs.setting, weights=sachs.heldout)
    assert (np.abs(held - 0.2 * np.bincount(sachs.setting)) < 1).all()
    again, other = load_sachs(), load_sachs(seed=1)
    assert again.heldout is not None
    assert other.heldout is not None
    assert np.array_equal(sachs.heldout, again.heldout)
    assert not np.array_equal(sachs.heldout, other.heldout)
    assert load_sachs(heldout=0).heldout is None


def test_round_trip(sachs: Dataset, tmp_path: Path) -> None:
    sachs.save(tmp_path / "sachs.npz")
    again = Dataset.load(tmp_path / "sachs.npz")
    assert again.names == NAMES
    np.testing.assert_array_equal(again.X, sachs.X)


def test_without_cdt_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec

    def without_cdt(name: str, package: str | None = None) -> importlib.machinery.ModuleSpec | None:
        return None if name == "cdt" else find_spec(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without_cdt)
    with pytest.raises(FileNotFoundError, match=r"Sachs.*cdt.*pip install"):
        load_sachs()


def test_cdt_without_its_file_names_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Spec:
        submodule_search_locations = (str(tmp_path),)

    def elsewhere(name: str, package: str | None = None) -> Any:
        return Spec()

    monkeypatch.setattr(importlib.util, "find_spec", elsewhere)
    with pytest.raises(FileNotFoundError, match=r"cyto_full_data\.csv"):
        load_sachs()


def test_cdt_is_not_imported() -> None:
    """Its import takes 10 s and probes R."""
    code = "import sys; from benchmark.sachs import load_sachs; load_sachs(); sys.exit('cdt' in sys.modules)"
    root = Path(__file__).resolve().parent.parent
    assert subprocess.run([sys.executable, "-c", code], cwd=root, check=False).returncode == 0
