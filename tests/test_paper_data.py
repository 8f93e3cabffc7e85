"""The import of the paper's own data: from a small repository in the authors' layout, and checked on the real one."""

import csv
import io
import subprocess
import sys
import zipfile
from dataclasses import astuple
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from benchmark.dataset import Dataset, DatasetError
from benchmark.paper import data as paper
from benchmark.paper import source as sources
from benchmark.paper.data import PublishedFiles, authors_folder, import_published, imported_file, is_imported
from benchmark.paper.source import SourceError, blob_hash
from tests.project import Project

SMALL: dict[str, Any] = {"mechanism": "anm", "nodes": 10, "edges_per_node": 1, "intervention": "perfect", "n": 10_000}
LARGE: dict[str, Any] = {
    "mechanism": "linear",
    "nodes": 20,
    "edges_per_node": 4,
    "intervention": "imperfect",
    "n": 10_000,
}


def bytes_of(array: npt.NDArray[Any]) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def authors_files(simulation: dict[str, Any], number: int) -> dict[str, bytes]:
    """Return the files of one data set as the authors wrote them."""
    d = simulation["nodes"]
    rng = np.random.default_rng([d, number])
    lengths = [10_000 // (d + 1) + (block < 10_000 % (d + 1)) for block in range(d + 1)]
    targets = [[block] for block in range(d)]
    if d == 20:
        targets[3] = targets[2] = [7, 1]  # neighbours of equal targets
    lines = [",".join(map(str, chosen)) for chosen in [*targets, []]]
    return {
        f"DAG{number}.npy": bytes_of(np.triu(rng.random((d, d)) < 0.3, k=1).astype(float)),
        f"CPDAG{number}.npy": bytes_of(np.zeros((d, d))),
        f"data_interv{number}.npy": bytes_of(rng.normal(size=(10_000, d))),
        f"data{number}.npy": bytes_of(rng.normal(size=(10_000, d))),
        f"intervention{number}.csv": "".join(
            f"{line}\r\n" * length for line, length in zip(lines, lengths, strict=True)
        ).encode(),
    }


class Authors:
    """A repository in the authors' layout, and a manifest of its data sets."""

    def __init__(self, folder: Path) -> None:
        self.repository = folder / "repository"
        self.manifest = folder / "manifest.csv"
        self.files = {(key["nodes"], number): authors_files(key, number) for key in (SMALL, LARGE) for number in (1, 2)}
        rows = []
        for simulation in (SMALL, LARGE):
            place = self.place(simulation)
            place.mkdir(parents=True)
            for number in (1, 2):
                files = self.files[simulation["nodes"], number]
                for name, content in files.items():
                    (place / name).write_bytes(content)
                names = ("DAG{}.npy", "data_interv{}.npy", "intervention{}.csv", "data{}.npy")
                blobs = [blob_hash(files[name.format(number)]) for name in names]
                rows.append(PublishedFiles(authors_folder(simulation), number, *blobs))
        with open(self.manifest, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(PublishedFiles.__annotations__)
            writer.writerows(astuple(row) for row in rows)

    def place(self, simulation: dict[str, Any]) -> Path:
        return self.repository / "data" / authors_folder(simulation)

    def git(self, *arguments: str) -> str:
        identity = ("-c", "user.name=Tests", "-c", "user.email=tests@example.org")
        command = ["git", "-C", str(self.repository), *identity, *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, message: str) -> str:
        """Commit all files; return the commit."""
        if not (self.repository / ".git").exists():
            self.git("init", "--quiet")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", message)
        return self.git("rev-parse", "HEAD")


@pytest.fixture
def authors(tmp_path: Path) -> Authors:
    return Authors(tmp_path)


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "results" / "published-data"


def check_import(authors: Authors, target: Path) -> None:
    assert len(list(target.rglob("*.npz"))) == 8
    for simulation in (SMALL, LARGE):
        d = simulation["nodes"]
        files = authors.files[d, 2]
        own = Dataset.load(imported_file(simulation, "01", folder=target))
        twin = Dataset.load(imported_file(simulation, "01", twin=True, folder=target))
        assert np.array_equal(own.X, np.load(io.BytesIO(files["data_interv2.npy"])))
        assert np.array_equal(twin.X, np.load(io.BytesIO(files["data2.npy"])))
        assert own.graph is not None
        assert np.array_equal(own.graph, np.load(io.BytesIO(files["DAG2.npy"])))
        assert (own.settings, twin.settings) == (d + 1, 1)
        assert own.targets is not None
        assert own.targets[1].tolist() == [1] + [0] * (d - 1)
        assert own.parameters["convention"] == "published"
        assert np.array_equal(np.flatnonzero(own.setting == 0), np.arange(10_000 - 10_000 // (d + 1), 10_000))
        order = np.arange(10_000)
        np.random.RandomState(1).shuffle(order)
        for dataset in (own, twin):
            assert dataset.heldout is not None
            assert np.array_equal(np.flatnonzero(dataset.heldout), np.sort(order[8_000:]))
    # Blocks of equal targets beside each other stay apart.
    own = Dataset.load(imported_file(LARGE, "00", folder=target))
    assert own.targets is not None
    assert np.array_equal(own.targets[3], own.targets[4])
    assert np.bincount(own.setting)[[3, 4]].tolist() == [477, 477]


def test_from_a_folder_and_a_second_call_does_nothing(authors: Authors, target: Path) -> None:
    assert import_published(str(authors.repository), target, authors.manifest)
    check_import(authors, target)
    before = {path: path.stat().st_mtime_ns for path in target.rglob("*")}
    assert not import_published("a place that is not there", target, authors.manifest)
    assert before == {path: path.stat().st_mtime_ns for path in target.rglob("*")}


def test_from_a_git_directory_whatever_its_newest_commit_holds(authors: Authors, target: Path) -> None:
    authors.commit("data")
    authors.git("rm", "--quiet", "-r", "data")
    authors.commit("data moved elsewhere")
    assert import_published(str(authors.repository / ".git"), target, authors.manifest)
    check_import(authors, target)


@pytest.mark.parametrize("filters", [True, False], ids=["partial", "a server that sends all"])
def test_from_a_git_url(authors: Authors, target: Path, filters: bool, capsys: pytest.CaptureFixture[str]) -> None:
    commit = authors.commit("data")
    authors.git("config", "uploadpack.allowFilter", str(filters).lower())
    authors.git("config", "uploadpack.allowAnySHA1InWant", "true")
    with sources.open_source(authors.repository.as_uri(), blobs(authors), commit) as source:
        pair = paper.convert(source, manifest(authors)[authors_folder(SMALL), 1], SMALL)
    assert np.array_equal(pair[0].X, np.load(io.BytesIO(authors.files[10, 1]["data_interv1.npy"])))
    assert "Downloading 16 files" in capsys.readouterr().out


def manifest(authors: Authors) -> dict[tuple[str, int], PublishedFiles]:
    return paper.read_manifest(authors.manifest)


def blobs(authors: Authors) -> list[str]:
    return [blob for files in manifest(authors).values() for blob in files.blobs]


def test_a_commit_that_the_server_lacks(authors: Authors) -> None:
    authors.commit("data")
    with (
        pytest.raises(SourceError, match=r"git fetch failed"),
        sources.open_source(authors.repository.as_uri(), blobs(authors), "0" * 39 + "1"),
    ):
        pass


def zipped(authors: Authors, *, regimes: bool = True) -> Path:
    """Return a folder in the authors' later layout: a zip file per condition, with the settings of the rows."""
    folder = authors.repository.with_name("later")
    for simulation in (SMALL, LARGE):
        kind, d = simulation["intervention"], simulation["nodes"]
        place = folder / kind
        place.mkdir(parents=True)
        name = f"{Path(authors_folder(simulation)).name}_{kind}"
        with zipfile.ZipFile(place / f"{name}.zip", "w") as archive:
            for number in (1, 2):
                for file, content in authors.files[d, number].items():
                    archive.writestr(f"{name}/{file}", content)
                lengths = [10_000 // (d + 1) + (block < 10_000 % (d + 1)) for block in range(d + 1)]
                numbers = np.repeat([*range(1, d + 1), 0], lengths)
                shown = numbers if regimes else numbers[::-1]
                archive.writestr(f"{name}/regime{number}.csv", "".join(f"{k}\r\n" for k in shown))
    return folder


def test_the_later_layout(authors: Authors, target: Path) -> None:
    assert import_published(str(zipped(authors)), target, authors.manifest)
    check_import(authors, target)


def test_regimes_that_contradict_the_blocks(authors: Authors, target: Path) -> None:
    with pytest.raises(DatasetError, match=r"regime1\.csv does not number the rows"):
        import_published(str(zipped(authors, regimes=False)), target, authors.manifest)
    assert not is_imported(target)


def truncate(authors: Authors) -> None:
    path = authors.place(LARGE) / "data_interv2.npy"
    path.write_bytes(path.read_bytes()[:-8])


def remove_folder(authors: Authors) -> None:
    for path in authors.place(LARGE).iterdir():
        path.unlink()
    authors.place(LARGE).rmdir()


def other_commit(authors: Authors) -> None:
    remove_folder(authors)
    for path in authors.place(SMALL).iterdir():
        path.unlink()
    (authors.repository / "README").write_text("no data")
    for folder in sorted(authors.repository.rglob("*"), reverse=True):
        if folder.is_dir():
            folder.rmdir()
    authors.commit("another history")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (truncate, r"data_p20_e80_n10000_linear/data_interv2\.npy: its content is not the paper's"),
        (remove_folder, r"data_imperfect_interv/data_p20_e80_n10000_linear/DAG1\.npy is missing"),
        (other_commit, r"this repository lacks commit 0c0a7b8e3687"),
    ],
)
def test_one_clear_message_and_nothing_half(authors: Authors, target: Path, harm: Any, message: str) -> None:
    harm(authors)
    with pytest.raises(SourceError, match=message):
        import_published(str(authors.repository), target, authors.manifest)
    assert not target.exists()
    assert [path.name for path in target.parent.iterdir()] == [".published-data.lock"]


def test_without_a_network_the_message_names_the_ways_on(target: Path) -> None:
    with pytest.raises(SourceError, match=r"make published-data SOURCE=(.|\n)*`convention: released`"):
        paper.bring("https://localhost:1/nothing", target)
    assert not target.exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "they name 9999 rows; expected 10000"),
        (lambda lines: [[0], *lines], "they name 10001 rows"),
        (lambda lines: [lines[-1], *lines[1:]], "rows 0 to 909 have several"),
        (lambda lines: [[10]] * 910 + lines[910:], "row 0 names .10.; there are 10 variables"),
        (lambda lines: [[]] * 910 + lines[910:], "row 0 names none; only the last block has none"),
        (lambda lines: lines[:9091] + [[0]] * 909, "row 9091 names .0.; only the last block has none"),
    ],
)
def test_targets_that_are_not_in_blocks(change: Any, message: str) -> None:
    content = authors_files(SMALL, 1)["intervention1.csv"].decode().splitlines()
    lines = [[int(number) for number in line.split(",") if number] for line in content]
    with pytest.raises(DatasetError, match=message):
        paper._settings(change(lines), 10_000, 10, "data set 1: targets")


def published_preset(project: Project, authors: Authors) -> str:
    """Return a preset that asks for data sets of a project whose authors are these."""
    (project.folder / "resources" / "paper" / "data.csv").write_bytes(authors.manifest.read_bytes())
    data = {"mechanism": "anm", "nodes": 10, "edges_per_node": 1}
    experiments = {"perfect": {"data": data, "methods": ["empty", "random"]}}
    return project.preset(convention="published", experiments=experiments)


def test_a_run_takes_the_data_that_were_brought_in(project: Project, authors: Authors) -> None:
    preset = published_preset(project, authors)
    command = [sys.executable, "-m", "benchmark.paper.data", str(authors.repository)]
    subprocess.run(command, cwd=project.folder, env=project.environment(), check=True)
    project.run(preset)
    metrics = pd.read_csv(project.results("metrics.csv"))
    assert set(metrics["convention"]) == {"published"}
    taken = project.results("data/anm-d10-e1-perfect-published/01.npz")
    own = imported_file(SMALL, "01", folder=project.folder / "results" / "published-data")
    assert taken.samefile(own)
    assert "Nothing to be done" in project.run(preset)


def test_a_run_that_cannot_bring_them_in_says_what_to_do(project: Project, authors: Authors) -> None:
    preset = published_preset(project, authors)
    path = project.folder / "benchmark" / "paper" / "source.py"
    path.write_text(path.read_text(encoding="utf-8").replace("https://github.com", "https://localhost:1"))
    output = project.run(preset, check=False)
    assert "make published-data SOURCE=" in output
    assert "`convention: released`" in output
    assert "Traceback" not in output


def test_the_manifest_names_240_data_sets() -> None:
    entries = paper.read_manifest()
    folders = [authors_folder(simulation) for simulation in paper.conditions()]
    assert list(entries) == [(folder, number) for folder in folders for number in range(1, 11)]
    assert len({blob for files in entries.values() for blob in files.blobs}) == 960


needs_import = pytest.mark.skipif(not is_imported(), reason="the paper's data are not imported (make published-data)")


@needs_import
@pytest.mark.parametrize("simulation", paper.conditions(), ids=authors_folder)
def test_every_imported_data_set_is_the_authors(simulation: dict[str, Any]) -> None:
    """The manifest's hashes are those of the arrays that the files hold, in the authors' format."""
    entries = paper.read_manifest()
    for number in (1, 10):
        files = entries[authors_folder(simulation), number]
        own = Dataset.load(imported_file(simulation, f"{number - 1:02d}"))
        twin = Dataset.load(imported_file(simulation, f"{number - 1:02d}", twin=True))
        assert blob_hash(bytes_of(np.asarray(own.X))) == files.samples
        assert blob_hash(bytes_of(np.asarray(twin.X))) == files.twin
        assert own.settings == simulation["nodes"] + 1
        assert own.heldout is not None
        assert own.heldout.sum() == 2_000
        # The convention `released`: each variable is standardised within each setting.
        for k in range(own.settings):
            block = own.X[own.setting == k]
            assert np.abs(block.mean(axis=0)).max() < 1e-3
            assert np.abs(block.std(axis=0) - 1).max() < 1e-2
