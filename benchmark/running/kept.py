"""Fits are kept as they end, so that a kill, a crash or a full disk costs the one under way and no more.

Beside ``<row>.json`` grows ``<row>.partial.jsonl``: a line that says what the records belong to, then a line per
record. It is removed when the whole file is written.
"""

import json
import os
from pathlib import Path
from typing import Any, cast

from benchmark.files import written_whole
from benchmark.methods import Grid
from benchmark.records import Record, RecordError, for_file, read_records
from benchmark.running.plain import plain

# Records may be taken up only by a run of the same method, source, seed and data set.
KEY = ("method", "source", "seed", "data")


def partial_path(path: str | os.PathLike[str]) -> Path:
    """Return where the records of an unfinished file of records are kept."""
    return Path(path).with_suffix(".partial.jsonl")


class Kept:
    """The records of one data set and method that have been made so far.

    Parameters
    ----------
    path
        The file that all of them will make.
    provenance
        Of the run that asks; its entries :data:`KEY` must be those of the run that made them.
    """

    def __init__(self, path: str | os.PathLike[str], provenance: dict[str, Any]) -> None:
        self._path = partial_path(path)
        self._key = {name: provenance[name] for name in KEY}

    def take_up(self, grid: Grid) -> dict[int, Record]:
        """Return the records of an earlier run by their place in the grid, and begin to keep new ones."""
        records = self._read()
        places: dict[int, Record] = {}
        for record in records:
            for place, combination in enumerate(grid):
                if place not in places and plain(combination) == record["hyperparameters"]:
                    places[place] = record
                    break
        write_partial(self._path, self._key, list(places.values()))
        return places

    def add(self, record: Record) -> None:
        """Keep one more record."""
        with open(self._path, "ab") as file:
            file.write(_line(record))

    def remove(self) -> None:
        """Forget them: the whole file has been written."""
        self._path.unlink(missing_ok=True)

    def _read(self) -> list[Record]:
        try:
            lines = self._path.read_bytes().split(b"\n")
        except OSError:
            return []
        content: list[Any] = []
        for line in lines[:-1]:  # what follows the last end of a line was cut off
            try:
                content.append(json.loads(line))
            except ValueError:
                break
        if not content or content[0] != self._key:
            return []
        usable = [record for record in content[1:] if isinstance(record, dict) and "hyperparameters" in record]
        return cast(list[Record], usable)


def write_partial(path: Path, key: dict[str, Any], records: list[Record]) -> None:
    """Write the file of kept records anew, whole or not at all."""
    with written_whole(path) as file:
        file.write(json.dumps(key).encode() + b"\n")
        for record in records:
            file.write(_line(record))


def forget_failures(results: Path) -> int:
    """Prepare the failed fits of a run to be run again, and only those; return how many there are.

    A file with failures makes way for its other records, kept as those of an unfinished run. Where it does not say
    what they belong to, all of its fits run again.
    """
    count = 0
    for path in sorted(results.glob("fits/**/*.json")):
        try:
            records, provenance = read_records(path)
        except RecordError:
            records, provenance = [], {}
        good = [record for record in records if record["status"] == "ok"]
        if records and len(good) == len(records):
            continue
        count += max(1, len(records) - len(good))
        if good and all(name in provenance for name in KEY):
            write_partial(partial_path(path), {name: provenance[name] for name in KEY}, good)
        path.unlink()
    return count


def _line(record: Record) -> bytes:
    return json.dumps(for_file(record), allow_nan=False).encode() + b"\n"
