"""Import the paper's own data sets: 24 conditions of 10, each with its observational twin.

They lie in the history of the authors' public repository (:mod:`benchmark.paper.source`). ``resources/paper/data.csv``
names each file by the hash of its content. Run as ``python -m benchmark.paper.data [SOURCE]``, or ``make
published-data [SOURCE=...]``; the import is finished or absent, and a second one does nothing.

A data set's rows stand as in the authors' files: a block of rows per interventional setting, the observational block
last. It is setting 0 here; the others keep their order. Neighbouring blocks can have the same targets, so a block is
told by its length: 10,000 rows are divided as evenly as possible, and the first blocks get what remains.
"""

import argparse
import csv
import fcntl
import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset, DatasetError
from benchmark.methods import ROOT
from benchmark.paper.source import COMMIT, REPOSITORY, Source, SourceError, open_source

MANIFEST = ROOT / "resources" / "paper" / "data.csv"
FOLDER = ROOT / "results" / "published-data"
DATASETS = 10
ROWS = 10_000
HELDOUT = 0.2
SPLIT_SEED = 1  # of the authors' shuffle; their published numbers come from this one
MECHANISMS = {"linear": "linear", "anm": "nnadd", "nn": "nn"}
NODES = (10, 20)
EDGES_PER_NODE = (1, 4)
INTERVENTIONS = ("perfect", "imperfect")
SWITCH = "convention: released"


@dataclass(frozen=True)
class PublishedFiles:
    """One data set in the authors' layout: its folder, its number from 1, and the hashes of its files."""

    folder: str
    number: int
    graph: str
    samples: str
    targets: str
    twin: str

    @property
    def blobs(self) -> list[str]:
        """Hashes of all its files."""
        return [self.graph, self.samples, self.targets, self.twin]


def is_published(simulation: dict[str, Any]) -> bool:
    """Say whether the authors published data sets drawn like this.

    >>> is_published({"mechanism": "nn", "nodes": 10, "edges_per_node": 4, "intervention": "perfect", "n": 10_000})
    True
    """
    return (
        simulation["mechanism"] in MECHANISMS
        and simulation["nodes"] in NODES
        and simulation["edges_per_node"] in EDGES_PER_NODE
        and simulation["intervention"] in INTERVENTIONS
        and simulation.get("n", ROWS) == ROWS
        and not {"settings", "targets_per_setting"} & set(simulation)
    )


def authors_folder(simulation: dict[str, Any]) -> str:
    """Return the authors' folder of a condition."""
    nodes, edges = simulation["nodes"], round(simulation["nodes"] * simulation["edges_per_node"])
    mechanism = MECHANISMS[simulation["mechanism"]]
    return f"data_{simulation['intervention']}_interv/data_p{nodes}_e{edges}_n{ROWS}_{mechanism}"


def imported_file(simulation: dict[str, Any], index: str, *, twin: bool = False, folder: Path = FOLDER) -> Path:
    """Return where an imported data set lies; the authors' number 1 is index 00."""
    name = f"{simulation['mechanism']}-d{simulation['nodes']}-e{simulation['edges_per_node']:g}"
    return folder / f"{name}-{simulation['intervention']}" / f"{index}{'-twin' if twin else ''}.npz"


def conditions() -> list[dict[str, Any]]:
    """Return the parameters of the published conditions, in the order of the manifest."""
    return [
        {"mechanism": mechanism, "nodes": nodes, "edges_per_node": edges, "intervention": intervention, "n": ROWS}
        for intervention in INTERVENTIONS
        for nodes in NODES
        for edges in EDGES_PER_NODE
        for mechanism in MECHANISMS
    ]


def read_manifest(path: Path = MANIFEST) -> dict[tuple[str, int], PublishedFiles]:
    """Return the files of each data set by folder and number."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = [PublishedFiles(**{**row, "number": int(row["number"])}) for row in csv.DictReader(file)]  # type: ignore[arg-type]
    return {(files.folder, files.number): files for files in rows}


def convert(source: Source, files: PublishedFiles, simulation: dict[str, Any]) -> tuple[Dataset, Dataset]:
    """Return a data set and its observational twin, with all that is known of them checked."""
    d, n = simulation["nodes"], simulation.get("n", ROWS)
    where = f"{files.folder}, data set {files.number}"
    graph = _array(source.read(files.folder, f"DAG{files.number}.npy", files.graph), (d, d), f"{where}: DAG")
    X = _array(source.read(files.folder, f"data_interv{files.number}.npy", files.samples), (n, d), f"{where}: samples")
    twin = _array(source.read(files.folder, f"data{files.number}.npy", files.twin), (n, d), f"{where}: twin")
    lines = source.read(files.folder, f"intervention{files.number}.csv", files.targets).decode().splitlines()
    setting, targets = _settings([_numbers(line) for line in lines], n, d, f"{where}: targets")
    regimes = source.regimes(files.folder, files.number)
    if regimes is not None and [int(float(number)) for number in regimes.split()] != setting.tolist():
        raise DatasetError(f"{where}: regime{files.number}.csv does not number the rows by their blocks")
    parameters = simulation | {"n": n, "convention": "published", "settings": len(targets) - 1, "commit": COMMIT}
    try:
        return (
            Dataset(X, setting, targets, graph, None, heldout_rows(n), parameters | {"blob": files.samples}),
            Dataset(
                twin,
                np.zeros(n, dtype=int),
                np.zeros((1, d)),
                graph,
                None,
                heldout_rows(n),
                parameters | {"blob": files.twin, "settings": 0, "intervention": "none"},
            ),
        )
    except DatasetError as error:
        raise DatasetError(f"{where}: {error}") from None


def heldout_rows(n: int) -> npt.NDArray[np.bool_]:
    """Return the authors' split: row numbers are shuffled, the first 80 % are trained on and the rest held out."""
    order = np.arange(n)
    np.random.RandomState(SPLIT_SEED).shuffle(order)
    heldout = np.ones(n, dtype=bool)
    heldout[order[: n - round(n * HELDOUT)]] = False
    return heldout


def is_imported(folder: Path = FOLDER) -> bool:
    """Say whether the import is there; it is whole then, because a folder takes this name when all is written."""
    return folder.is_dir()


def import_published(place: str = REPOSITORY, folder: Path = FOLDER, manifest: Path = MANIFEST) -> bool:
    """Import all data sets of the manifest into a folder, whole or not at all; False where they are there already."""
    files = read_manifest(manifest)
    blobs = [blob for entry in files.values() for blob in entry.blobs]
    with _locked(folder):
        if is_imported(folder):
            return False
        partial = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        try:
            with open_source(place, blobs) as source:
                for simulation in conditions():
                    numbers = [number for name, number in files if name == authors_folder(simulation)]
                    for number in numbers:
                        pair = convert(source, files[authors_folder(simulation), number], simulation)
                        for is_twin, dataset in enumerate(pair):
                            index = f"{number - 1:02d}"
                            dataset.save(imported_file(simulation, index, twin=bool(is_twin), folder=partial))
            os.replace(partial, folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return True


def bring(place: str = REPOSITORY, folder: Path = FOLDER) -> str:
    """Import where needed and say so in a line; a failure names the ways on."""
    try:
        new = import_published(place, folder)
    except SourceError as error:
        raise SourceError(
            f"{error}\nThe paper's own data could not be brought in. From a copy of the authors' repository: "
            f"make published-data SOURCE=<git URL, git directory or folder>. To run on simulated data instead, "
            f"set `{SWITCH}` in the configuration."
        ) from None
    count = len(read_manifest())
    return f"{count} data sets and their twins {'imported into' if new else 'are in'} {folder}"


def take(simulation: dict[str, Any], index: str, output: str, *, twin: bool, folder: Path = FOLDER) -> None:
    """Give an imported file a second name, or copy it to another disk."""
    source = imported_file(simulation, index, twin=twin, folder=folder)
    if not source.exists():
        raise DatasetError(f"{source}: it is missing from the import; remove {folder} and run again")
    Path(output).unlink(missing_ok=True)
    try:
        os.link(source, output)
    except OSError:
        shutil.copyfile(source, output)


def _settings(lines: list[list[int]], n: int, d: int, where: str) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """Return the setting of each row and the targets of each setting, from the targets of each row."""
    if len(lines) != n:
        raise DatasetError(f"{where}: they name {len(lines)} rows; expected {n}")
    blocks = d + 1
    lengths = np.full(blocks, n // blocks)
    lengths[: n % blocks] += 1
    number = np.r_[1:blocks, 0]  # the observational block is last
    setting = np.repeat(number, lengths)
    targets = np.zeros((blocks, d), dtype=np.int8)
    for k, start, length in zip(number, np.cumsum(lengths) - lengths, lengths, strict=True):
        block = lines[start : start + length]
        if any(line != block[0] for line in block):
            raise DatasetError(f"{where}: rows {start} to {start + length - 1} have several; expected one block each")
        if any(not 0 <= target < d for target in block[0]):
            raise DatasetError(f"{where}: row {start} names {block[0]}; there are {d} variables")
        if bool(block[0]) != bool(k):
            raise DatasetError(f"{where}: row {start} names {block[0] or 'none'}; only the last block has none")
        targets[k, block[0]] = 1
    return setting, targets


def _numbers(line: str) -> list[int]:
    return [int(float(number)) for number in line.split(",") if number.strip()]


def _array(content: bytes, shape: tuple[int, int], where: str) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise DatasetError(f"{where}: it is not a readable .npy file ({error})") from None
    if array.shape != shape:
        raise DatasetError(f"{where}: it has shape {array.shape}; expected {shape}")
    return array


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Let one import at a time work on a folder."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f".{folder.name}.lock"), "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def main() -> None:
    """Import from the authors' repository, or from a copy of it."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("source", nargs="?", default=REPOSITORY, help="git URL, git directory or folder")
    try:
        print(bring(parser.parse_args().source))
    except DatasetError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
