"""Fit records: one JSON file per data set and method, one record per combination of hyperparameters.

Edges are pairs of names [from, to]. A failed fit is a record too, with a status other than "ok" and the reason.
"""

import json
import math
import os
import sys
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict, get_args

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Fit
from benchmark.files import written_whole
from benchmark.graphs import find_cycle
from benchmark.running.plain import MOST_ENTRIES, clean, describe_error, plain

Status = Literal["ok", "timeout", "memory", "error"]
FORMAT = 1


class Record(TypedDict):
    """One fit: its combination, what it found, and what it cost."""

    hyperparameters: dict[str, Any]
    status: Status
    reason: str
    edges: list[list[str]] | None
    kind: Literal["dag", "cpdag"] | None
    cpdag: NotRequired[list[list[str]] | None]
    heldout_nll: float | None
    targets: NotRequired[list[list[float]] | None]
    seconds: float | None
    cpu_seconds: NotRequired[float | None]
    peak_memory_mb: float | None
    info: NotRequired[dict[str, Any]]


class RecordError(ValueError):
    """A record file that cannot be used; the message names the file and the field."""


def succeeded(
    fit: Fit,
    hyperparameters: dict[str, Any],
    names: tuple[str, ...],
    seconds: float,
    peak_memory_mb: float,
    cpu_seconds: float | None = None,
) -> Record:
    """Return the record of a fit that ended well."""
    info = {key: value for key, value in fit.info.items() if key != "cpdag"}
    return {
        "hyperparameters": hyperparameters,
        "status": "ok",
        "reason": "",
        "edges": to_edges(fit.graph, names),
        "kind": fit.kind,
        "cpdag": to_edges(fit.info["cpdag"], names) if "cpdag" in fit.info else None,
        "heldout_nll": _finite(fit.heldout_nll),
        "targets": None if fit.targets is None else fit.targets.tolist(),
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_memory_mb": peak_memory_mb,
        "info": info,
    }


def failed(
    status: Status,
    reason: str,
    hyperparameters: dict[str, Any],
    seconds: float | None,
    peak_memory_mb: float | None,
    cpu_seconds: float | None = None,
) -> Record:
    """Return the record of a fit that did not end well."""
    return {
        "hyperparameters": hyperparameters,
        "status": status,
        "reason": reason,
        "edges": None,
        "kind": None,
        "heldout_nll": None,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "peak_memory_mb": peak_memory_mb,
    }


def to_edges(graph: npt.ArrayLike, names: tuple[str, ...]) -> list[list[str]]:
    """Return the edges of a graph as pairs of names.

    >>> to_edges([[0, 1], [0, 0]], ("a", "b"))
    [['a', 'b']]
    """
    return [[names[i], names[j]] for i, j in zip(*np.nonzero(np.asarray(graph)), strict=True)]


def to_graph(edges: list[list[str]], names: tuple[str, ...]) -> npt.NDArray[np.int8]:
    """Return the matrix of a list of edges, the inverse of :func:`to_edges`."""
    index = {name: i for i, name in enumerate(names)}
    graph = np.zeros((len(names), len(names)), dtype=np.int8)
    for edge in edges:
        if not isinstance(edge, list | tuple) or len(edge) != 2:
            raise RecordError(f"field 'edges': {edge!r} is not valid; expected pairs of names [from, to]")
        cause, effect = edge
        if cause not in index or effect not in index:
            raise RecordError(
                f"field 'edges': {cause!r} -> {effect!r} names a variable that the data set does not have"
            )
        graph[index[cause], index[effect]] = 1
    return graph


def checked(record: Record, names: tuple[str, ...], settings: int) -> Record:
    """Return a record as it is or, where it cannot be what a method found on this data set, as one that failed."""
    described: Any = record["hyperparameters"]
    combination = described if isinstance(described, dict) else {"hyperparameters": clean(str(described))}
    costs = [_number_or_none(record.get(name)) for name in ("seconds", "peak_memory_mb", "cpu_seconds")]
    try:
        if record["status"] in get_args(Status) and record["status"] != "ok":
            return failed(record["status"], clean(str(record.get("reason", ""))), combination, *costs)
        _check_result(record, names, settings)
    except Exception as error:  # whatever an external program wrote there
        reason = str(error) if isinstance(error, RecordError) else describe_error(error)
        return failed("error", clean(reason), combination, *costs)
    return record


def _check_result(record: Record, names: tuple[str, ...], settings: int) -> None:
    if record["status"] != "ok":
        raise RecordError(f"field 'status': {record['status']!r}; expected one of {', '.join(get_args(Status))}")
    if not isinstance(record["hyperparameters"], dict):
        raise RecordError("field 'hyperparameters': expected an object")
    cycle = find_cycle(to_graph(record["edges"] or [], names))
    if cycle:
        path = " -> ".join(names[node] for node in cycle)
        raise RecordError(f"field 'edges': not a DAG, it has the cycle {path}")
    to_graph(record.get("cpdag") or [], names)
    score = record["heldout_nll"]
    if score is not None and _number_or_none(score) is None:
        raise RecordError(f"field 'heldout_nll': {score!r}; expected a finite number or null")
    if record.get("targets") is not None:
        targets = np.array(record["targets"], dtype=float)
        if targets.shape != (settings, len(names)):
            raise RecordError(f"field 'targets': shape {targets.shape}; expected {(settings, len(names))}")
        if not ((targets >= 0) & (targets <= 1)).all():
            raise RecordError("field 'targets': not all between 0 and 1")
    if not isinstance(record.get("info") or {}, dict):
        raise RecordError("field 'info': expected an object")


def _number_or_none(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) else None


def write_records(path: str | os.PathLike[str], records: list[Record], provenance: dict[str, Any]) -> None:
    """Write the records of one data set and method, whole or not at all."""
    content = {
        "format": FORMAT,
        "conventions": "edges are [from, to]",
        "provenance": plain(provenance),
        "records": [for_file(record) for record in records],
    }
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    with written_whole(path) as file:
        file.write(text.encode())


def for_file(record: Record) -> dict[str, Any]:
    """Return a record as JSON can hold it: graphs whole and by their exact names, the rest plain and not too long."""
    made: dict[str, Any] = {}
    for name, value in record.items():
        if name in ("edges", "cpdag"):
            made[name] = value
        else:
            made[name] = plain(value, most=sys.maxsize if name == "targets" else MOST_ENTRIES)
    return made


def read_records(path: str | os.PathLike[str]) -> tuple[list[Record], dict[str, Any]]:
    """Read the records of one data set and method and where they come from."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise RecordError(f"{path}: it is not JSON ({error})") from None
    records = content.get("records") if isinstance(content, dict) else None
    if not isinstance(records, list) or not records:
        raise RecordError(f"{path}: field 'records': expected a list with one object per combination")
    required = ("hyperparameters", "status", "edges", "heldout_nll")
    for number, record in enumerate(records):
        if not isinstance(record, dict):
            raise RecordError(f"{path}: field 'records[{number}]': expected an object")
        absent = [name for name in required if name not in record]
        if absent:
            raise RecordError(f"{path}: field 'records[{number}]': {', '.join(absent)} is missing")
        if record["status"] == "ok" and record["edges"] is None:
            raise RecordError(f"{path}: field 'records[{number}].edges': a fit with status ok must have a graph")
    provenance = content.get("provenance", {})
    return records, provenance if isinstance(provenance, dict) else {}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
