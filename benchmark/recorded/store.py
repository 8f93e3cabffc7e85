"""The record store: what has been measured, small enough to lie beside the code.

``inventory.csv`` has a line per cell: a method's fits to one data set, over its grid. The fits themselves lie in
shards, ``<targets>/<condition>/<row>-<hash>.jsonl.xz``, a line of JSON per cell. A shard is never changed: one with
more cells has another name, and the inventory, which is written last and takes its place at once, says which shards
count. So the store is the old or the new one whenever packing ends. Each cell is read with its hash checked.
"""

import csv
import fcntl
import hashlib
import io
import json
import lzma
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

from benchmark.files import written_whole
from benchmark.methods import ROOT, Grid
from benchmark.records import Record

FOLDER = ROOT / "records"
INVENTORY = "inventory.csv"
_SUFFIX = ".jsonl.xz"
_DIGITS = 16
_REMEDY = "take back the committed version of the records"


class StoreError(ValueError):
    """A store that cannot be trusted; the message names the file and the line."""


class RecordedFit(Record):
    """A fit with its distances to the true graph, as :mod:`benchmark.evaluation` measures them, and its run."""

    metrics: dict[str, float | None]
    run: int


class Cell(TypedDict):
    """All fits of one row to one data set."""

    targets: str
    condition: str
    dataset: str
    row: str
    method: str
    seed: int
    data: str  # fingerprint of what the method sees of the data set
    origin: str  # fingerprint of what the data set is made from
    nodes: int
    n: int
    settings: int
    names: list[str]
    runs: list[dict[str, Any]]  # where fits come from: commit, source, packages, processor
    fits: list[RecordedFit]


class Key(NamedTuple):
    """What a cell is the only one of."""

    targets: str
    condition: str
    row: str
    dataset: str
    method: str
    seed: int
    data: str


class Entry(NamedTuple):
    """A line of the inventory."""

    targets: str
    condition: str
    row: str
    dataset: str
    method: str
    seed: int
    data: str
    origin: str
    grid: str
    fits: int
    ok: int
    cpu_seconds: float
    source: str
    commit: str
    shard: str
    sha256: str

    @property
    def key(self) -> Key:
        """What tells this cell from all others."""
        return Key(self.targets, self.condition, self.row, self.dataset, self.method, self.seed, self.data)


class Store:
    """The records in a folder.

    Parameters
    ----------
    folder : Path
        Where they lie; a folder without an inventory is an empty store.
    """

    def __init__(self, folder: Path = FOLDER) -> None:
        self.folder = folder
        self.entries: dict[Key, Entry] = {}
        self._lines: dict[Key, int] = {}
        self._shards: dict[str, set[str]] = defaultdict(set)
        self._places: dict[tuple[str, str, str, str], list[Entry]] = defaultdict(list)
        self._read_inventory()

    def at(self, targets: str, condition: str, dataset: str, row: str) -> list[Entry]:
        """Return the entries of a cell's name: one per method, seed and data set behind it."""
        return self._places.get((targets, condition, dataset, row), [])

    def read(self, entry: Entry) -> Cell:
        """Return a cell, or refuse it where shard or inventory were damaged or changed by hand."""
        lines = self._shard(entry.shard)
        if entry.sha256 not in lines:
            raise StoreError(f"{self._where(entry)}: {entry.shard} has no cell with this hash; {_REMEDY}")
        if number := self._unknown_line(entry.shard, lines):
            raise StoreError(f"{self.folder / INVENTORY}: it lacks line {number} of {entry.shard}; {_REMEDY}")
        cell: Cell = json.loads(lines[entry.sha256])
        for name, have, want in zip(Entry._fields, entry, entry_of(cell, entry.shard), strict=True):
            if have != want:
                raise StoreError(f"{self._where(entry)}: {name} is {have!r}, but the records say {want!r}; {_REMEDY}")
        return cell

    def check(self) -> int:
        """Read every cell; return how many there are."""
        for entry in self.entries.values():
            self.read(entry)
        return len(self.entries)

    @contextmanager
    def writing(self) -> Iterator["Store"]:
        """Hold the store for one writer, as it is when nobody else writes, without what a kill has left."""
        self.folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(self.folder, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            current = Store(self.folder)
            current._remove_leftovers(current.entries)
            yield current
        finally:
            os.close(handle)

    def write(self, cells: list[Cell]) -> None:
        """Add cells, or put them in the place of those with the same key; whole or not at all."""
        changed = {key_of(cell): _dump(cell) for cell in cells}
        shards = {key[:3] for key in changed}
        lines: dict[tuple[str, str, str], dict[Key, str]] = {shard: {} for shard in shards}
        for key, entry in self.entries.items():
            if key[:3] in shards:
                lines[key[:3]][key] = _dump(self.read(entry))
        for key, line in changed.items():
            lines[key[:3]][key] = line
        entries = {key: entry for key, entry in self.entries.items() if key[:3] not in shards}
        for shard in sorted(shards):
            content = "".join(f"{line}\n" for _, line in sorted(lines[shard].items()))
            targets, condition, row = shard
            name = f"{targets}/{condition}/{row}-{_hash(content)}{_SUFFIX}"
            if not (self.folder / name).exists():
                with written_whole(self.folder / name) as file:
                    file.write(lzma.compress(content.encode(), preset=9))
            entries |= {key: entry_of(json.loads(line), name) for key, line in lines[shard].items()}
        with written_whole(self.folder / INVENTORY) as file:
            file.write(_inventory_text(entries).encode())
        self._remove_leftovers(entries)

    def _remove_leftovers(self, entries: dict[Key, Entry]) -> None:
        """Remove shards that do not count, and what a writer that was killed has left."""
        shards = {entry.shard for entry in entries.values()}
        for pattern in (f"*/*/*{_SUFFIX}", f"*/*/.*{_SUFFIX}.*", f".{INVENTORY}.*"):
            for path in self.folder.glob(pattern):
                if str(path.relative_to(self.folder)) not in shards:
                    path.unlink()

    def _where(self, entry: Entry) -> str:
        return f"{self.folder / INVENTORY}, line {self._lines[entry.key]}"

    def _unknown_line(self, shard: str, lines: dict[str, str]) -> int | None:
        numbers = (number for number, sha256 in enumerate(lines, start=1) if sha256 not in self._shards[shard])
        return next(numbers, None)

    def _shard(self, name: str) -> dict[str, str]:
        """Return the lines of a shard by their hash, each of them as it was packed."""
        path = self.folder / name
        try:
            status = path.stat()
        except (OSError, ValueError):
            raise StoreError(f"{path}: this file of the inventory is missing; {_REMEDY}") from None
        content, lines = _lines_of(path, status.st_mtime_ns, status.st_size)
        if not name.endswith(f"-{content}{_SUFFIX}"):
            number = self._unknown_line(name, lines) or len(lines) + 1
            raise StoreError(f"{path}, line {number}: it has changed since it was packed; {_REMEDY}")
        return lines

    def _read_inventory(self) -> None:
        path = self.folder / INVENTORY
        if not path.exists():
            return
        previous: Key | None = None
        *lines, end = path.read_bytes().decode(errors="replace").split("\n")
        if end:
            raise StoreError(f"{path}, line {len(lines) + 1}: the file ends within a line; {_REMEDY}")
        for number, line in enumerate(lines, start=1):
            where = f"{path}, line {number}"
            try:
                fields = next(csv.reader([line]), [])
            except csv.Error as error:
                raise StoreError(f"{where}: {error}") from None
            if number == 1:
                if fields != list(Entry._fields):
                    raise StoreError(f"{where}: expected the columns {','.join(Entry._fields)}")
                continue
            if len(fields) != len(Entry._fields):
                raise StoreError(f"{where}: it has {len(fields)} fields; expected {len(Entry._fields)}")
            try:
                entry = Entry(
                    **{
                        name: kind(text)
                        for (name, kind), text in zip(Entry.__annotations__.items(), fields, strict=True)
                    }
                )
            except ValueError as error:
                raise StoreError(f"{where}: {error}") from None
            if not entry.shard.startswith(f"{entry.targets}/{entry.condition}/{entry.row}-"):
                raise StoreError(f"{where}: {entry.shard} is not the shard of {'/'.join(entry[:3])}; {_REMEDY}")
            if previous is not None and entry.key <= previous:
                raise StoreError(f"{where}: the lines are not sorted, or a cell stands twice")
            previous = entry.key
            self.entries[entry.key] = entry
            self._lines[entry.key] = number
            self._shards[entry.shard].add(entry.sha256)
            self._places[entry.targets, entry.condition, entry.dataset, entry.row].append(entry)


def key_of(cell: Cell) -> Key:
    """Return what tells a cell from all others."""
    return Key(*(cell[name] for name in Key._fields))  # type: ignore[literal-required]


def grid_fingerprint(grid: Grid) -> str:
    """Return a hash of the combinations of a grid, in whatever order they stand.

    >>> grid_fingerprint([{"a": 1, "b": 2}, {"a": 3}]) == grid_fingerprint([{"a": 3}, {"b": 2, "a": 1}])
    True
    """
    return _hash("\n".join(sorted(map(combination_text, grid))))


def combination_text(combination: dict[str, Any]) -> str:
    """Return a combination of hyperparameters as text that is the same whatever their order."""
    return json.dumps(combination, sort_keys=True)


def entry_of(cell: Cell, shard: str) -> Entry:
    """Return the line of the inventory for a cell of a shard."""
    fits = cell["fits"]
    cost = sum(fit.get("cpu_seconds") or fit.get("seconds") or 0.0 for fit in fits)
    return Entry(
        *key_of(cell),
        origin=cell["origin"],
        grid=grid_fingerprint([fit["hyperparameters"] for fit in fits]),
        fits=len(fits),
        ok=sum(fit["status"] == "ok" for fit in fits),
        cpu_seconds=round(cost, 3),
        source=_joined(cell["runs"], "source"),
        commit=_joined(cell["runs"], "commit"),
        shard=shard,
        sha256=_hash(_dump(cell)),
    )


def _joined(runs: list[dict[str, Any]], name: str) -> str:
    return " ".join(sorted({str(run.get(name)) for run in runs}))


def _inventory_text(entries: dict[Key, Entry]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Entry._fields)
    writer.writerows(entry for _, entry in sorted(entries.items()))
    return text.getvalue()


def _dump(cell: Cell) -> str:
    return json.dumps(cell, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


@lru_cache(maxsize=32)  # cells are read data set by data set, from the shards of all rows
def _lines_of(path: Path, changed: int, size: int) -> tuple[str, dict[str, str]]:
    """Return the hash of a shard as it was at a time and size, and its lines by theirs."""
    try:
        content = lzma.decompress(path.read_bytes()).decode()
    except (lzma.LZMAError, UnicodeDecodeError, EOFError) as error:
        raise StoreError(f"{path}, line 1: it cannot be read ({error}); {_REMEDY}") from None
    return _hash(content), {_hash(line): line for line in content.split("\n") if line}
