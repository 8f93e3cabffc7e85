"""Fit records: one JSON file per data set and method, one record per combination of hyperparameters.

Edges are pairs of names [from, to]. A failed fit is a record too, with a status other than "ok" and the reason.
"""

import json
import math
import os
from pathlib import Path
from typing import Any, Literal, NotRequired, TypedDict

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Fit
from benchmark.files import written_whole

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


def write_records(path: str | os.PathLike[str], records: list[Record], provenance: dict[str, Any]) -> None:
    """Write the records of one data set and method, whole or not at all."""
    content = {"format": FORMAT, "conventions": "edges are [from, to]", "provenance": provenance, "records": records}
    text = json.dumps(_plain(content), indent=1, allow_nan=False) + "\n"
    with written_whole(path) as file:
        file.write(text.encode())


def read_records(path: str | os.PathLike[str]) -> tuple[list[Record], dict[str, Any]]:
    """Read the records of one data set and method and where they come from."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
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
    return records, content.get("provenance", {})


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _plain(value: Any) -> Any:
    """Return what JSON can hold: no numpy values, and null where a number is NaN or infinite."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(entry) for entry in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | int) else str(value)
