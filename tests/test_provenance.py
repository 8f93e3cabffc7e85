"""A fingerprint changes with what a method does and what it sees, and with nothing else."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmark.dataset import Dataset
from benchmark.methods import ROOT, available, load_method
from benchmark.recorded import provenance as module
from benchmark.recorded.provenance import (
    commit,
    data_fingerprint,
    fingerprint,
    provenance,
    source_files,
    source_fingerprint,
)

DATA = Dataset([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]], [0, 0, 1], [[0, 0], [1, 0]], [[0, 1], [0, 0]], heldout=[0, 1, 0])

PROJECT = {
    "methods/__init__.py": "",
    "methods/first.py": '"""First."""\nfrom methods import _used\n\n\ndef fit(x):\n    return _used.add(x)\n',
    "methods/_used.py": "from methods._deeper import one\n\n\ndef add(x):\n    return x + one\n",
    "methods/_deeper.py": "one = 1\n",
    "methods/second.py": "def fit(x):\n    return call('second.R', x)\n",
    "methods/second.R": "f <- 1\n",
    "methods/third/__init__.py": "def fit(x):\n    from . import parts\n    return parts.f(x)\n",
    "methods/third/parts.py": "def f(x):\n    return load('methods.third.late')\n",
    "methods/third/late.py": "three = 3\n",
    "methods/third/search.c": "int main;\n",
    "methods/bench.py": "from methods import first, second, third\n",
}
METHODS = ("methods/first.py", "methods/second.py", "methods/third/__init__.py")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(module, "ROOT", tmp_path)
    for name, text in PROJECT.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("edited", "text", "changed"),
    [
        ("methods/first.py", PROJECT["methods/first.py"].replace("add(x)", "add(2)"), ["methods/first.py"]),
        ("methods/first.py", PROJECT["methods/first.py"].replace("First.", "Another docstring."), []),
        ("methods/first.py", "# a comment\n" + PROJECT["methods/first.py"].replace("\n\n\n", "\n\n\n\n"), []),
        ("methods/_used.py", PROJECT["methods/_used.py"].replace("+", "-"), ["methods/first.py"]),
        ("methods/_deeper.py", "one = 2\n", ["methods/first.py"]),
        ("methods/second.R", "f <- 2\n", ["methods/second.py"]),
        ("methods/third/parts.py", "def f(x):\n    return 0\n", ["methods/third/__init__.py"]),
        ("methods/third/late.py", "three = 4\n", ["methods/third/__init__.py"]),
        ("methods/third/search.c", "int other;\n", ["methods/third/__init__.py"]),
        ("methods/third/README.md", "How it works.\n", []),
        ("methods/bench.py", "x = 1\n", []),
    ],
)
def test_a_method_changes_with_what_it_imports(project: Path, edited: str, text: str, changed: list[str]) -> None:
    before = {name: source_fingerprint(project / name) for name in METHODS}
    (project / edited).write_text(text, encoding="utf-8")
    after = {name: source_fingerprint(project / name) for name in METHODS}
    assert [name for name in METHODS if before[name] != after[name]] == changed


def test_the_files_of_this_projects_methods() -> None:
    for name, file in available().items():
        files = source_files(file)
        assert file in files, name
        assert not any(path.is_relative_to(ROOT / "benchmark") for path in files), name
        assert not any(path.stem == "bench" for path in files), name
    assert len({source_fingerprint(file) for file in available().values()}) == len(available())
    assert {path.name for path in source_files(available()["dcdi-g"])} >= {"cpu.py", "torch_engine.py", "dcdi_g.py"}
    assert "cam.R" in {path.name for path in source_files(available()["cam"])}


def test_a_fingerprint_of_a_folder_and_of_other_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name / "inner").mkdir(parents=True)
        (tmp_path / name / "inner" / "a.py").write_text(f"x = 1  # {name}\n", encoding="utf-8")
        (tmp_path / name / "b.py").write_text("y = 1\n", encoding="utf-8")
    assert fingerprint(tmp_path / "one") == fingerprint(tmp_path / "two")
    (tmp_path / "two" / "b.py").write_text("y = 2\n", encoding="utf-8")
    assert fingerprint(tmp_path / "one") != fingerprint(tmp_path / "two")
    (tmp_path / "one.smk").write_text("rule a:\n", encoding="utf-8")
    (tmp_path / "two.smk").write_text("rule a:  # not Python\n", encoding="utf-8")
    assert fingerprint(tmp_path / "one.smk") != fingerprint(tmp_path / "two.smk")


def test_a_data_set_is_what_a_method_sees(tmp_path: Path) -> None:
    blind = DATA.blind(hide_targets=False)
    known = data_fingerprint(blind)
    DATA.save(tmp_path / "data.npz")
    assert data_fingerprint(Dataset.load(tmp_path / "data.npz").blind(hide_targets=False)) == known
    without_truth = Dataset(DATA.X, DATA.setting, DATA.targets, heldout=DATA.heldout, parameters={"seed": 3})
    assert data_fingerprint(without_truth.blind(hide_targets=False)) == known
    others = [
        DATA.blind(hide_targets=True),
        replace(blind, X=blind.X + 1e-12),
        replace(blind, X=np.asfortranarray(blind.X)[::-1]),
        replace(blind, setting=np.array([0, 1, 0])),
        replace(blind, names=("a", "b")),
        replace(blind, heldout=None),
        replace(blind, parameters={"edges_per_node": 1}),
    ]
    assert len({known, *map(data_fingerprint, others)}) == len(others) + 1


def test_provenance_says_all_that_a_record_needs() -> None:
    made = provenance(load_method("sortnregress"), 7, DATA.blind(hide_targets=False), [{"penalty": 0.1}])
    assert (made["method"], made["seed"]) == ("sortnregress", 7)
    assert set(made["packages"]) == {"numpy", "scikit-learn"}
    assert made["python"].startswith("3.11")
    assert made["source"] == source_fingerprint(available()["sortnregress"])
    assert made["data"] == data_fingerprint(DATA.blind(hide_targets=False))
    assert made["cpu"]
    json.dumps(made)


def test_a_package_that_is_absent_has_no_version() -> None:
    method = replace(load_method("empty"), packages=("no-such-package",))
    assert provenance(method, 0, DATA.blind(hide_targets=False), [{}])["packages"]["no-such-package"] is None


def test_new_and_changed_sources_make_a_commit_dirty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        subprocess.run(["git", "-C", str(tmp_path), *identity, *arguments], check=True, capture_output=True)

    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert commit() is None
    (tmp_path / "baselines").mkdir()
    source = tmp_path / "baselines" / "a.py"
    source.write_text("x = 1\n", encoding="utf-8")
    git("init", "-q")
    git("add", ".")
    git("commit", "-q", "-m", "first")
    clean = commit()
    assert clean is not None
    assert len(clean) == 12
    (tmp_path / "notes.txt").write_text("no source\n", encoding="utf-8")
    assert commit() == clean
    (tmp_path / "baselines" / "new.py").write_text("y = 1\n", encoding="utf-8")
    assert commit() == f"{clean}+"
    (tmp_path / "baselines" / "new.py").unlink()
    source.write_text("x = 2\n", encoding="utf-8")
    assert commit() == f"{clean}+"
