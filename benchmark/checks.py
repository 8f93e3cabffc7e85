"""Checks of the arrays of data sets and fits; an error names the field."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.graphs import find_cycle

_KINDS = "biufO"  # numbers, and lists of mixed ones; neither complex ones, times nor text


class DatasetError(ValueError):
    """A data set that cannot be used; the message names the file and the field."""


def matrix(name: str, value: npt.ArrayLike, dtype: type) -> npt.NDArray[Any]:
    """Return a matrix of numbers, neither of its dimensions empty."""
    try:
        if np.asarray(value).dtype.kind not in _KINDS:
            raise TypeError(f"its type is {np.asarray(value).dtype}")
        array: npt.NDArray[Any] = np.array(value, dtype=dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise DatasetError(f"field '{name}': it is not a matrix of numbers ({error})") from None
    if array.ndim != 2 or 0 in array.shape:
        raise DatasetError(f"field '{name}': it has shape {array.shape}; expected two dimensions, neither empty")
    return array


def distinct_names(names: Sequence[str], d: int) -> tuple[str, ...]:
    """Return d distinct names."""
    labels = tuple(str(name) for name in names)
    if len(labels) != d:
        raise DatasetError(f"field 'names': it has {len(labels)} names; X has {d} columns")
    repeated = sorted(name for name, count in Counter(labels).items() if count > 1)
    if repeated:
        shown = ", ".join(map(repr, repeated[:5])) + (f" and {len(repeated) - 5} others" if len(repeated) > 5 else "")
        raise DatasetError(f"field 'names': {shown} stands more than once")
    return labels


def finite(X: npt.NDArray[np.float64], names: tuple[str, ...]) -> None:
    """Refuse NaN and infinity."""
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        row, column = bad[0]
        raise DatasetError(
            f"field 'X': {len(bad)} values are NaN or infinite, the first in row {row}, column {names[column]!r}; "
            "remove or impute them"
        )


def whole_numbers(
    name: str, value: npt.ArrayLike, shape: tuple[int | None, ...], meaning: str
) -> npt.NDArray[np.int64]:
    """Return an array of whole numbers of the given shape; None stands for any size."""
    try:
        array = np.asarray(value)
    except ValueError as error:
        raise DatasetError(f"field '{name}': it is not an array of numbers ({error})") from None
    fits = array.ndim == len(shape) and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    if not fits:
        expected = " x ".join("any" if want is None else str(want) for want in shape)
        raise DatasetError(f"field '{name}': it has shape {array.shape}; expected {expected} ({meaning})")
    if array.dtype.kind not in "biuf" or (
        array.dtype.kind == "f" and not (np.isfinite(array).all() and np.array_equal(array, np.round(array)))
    ):
        raise DatasetError(f"field '{name}': its entries must be whole numbers")
    return array.astype(np.int64)


def binary(name: str, value: npt.ArrayLike, shape: tuple[int | None, ...], meaning: str) -> npt.NDArray[np.int8]:
    """Return an array of 0 and 1 of the given shape."""
    array = whole_numbers(name, value, shape, meaning)
    if not np.isin(array, (0, 1)).all():
        raise DatasetError(f"field '{name}': its entries must be 0 or 1")
    return array.astype(np.int8)


def settings(setting: npt.NDArray[np.int64], targets: npt.NDArray[np.int8] | None) -> None:
    """Refuse setting numbers with gaps or beyond the targets, and targets of the observational setting."""
    if setting.min() < 0:
        raise DatasetError(f"field 'setting': it contains {setting.min()}; settings are numbered 0, 1, 2, ...")
    highest = int(setting.max())
    if targets is not None and highest >= len(targets):
        raise DatasetError(
            f"field 'setting': it contains {highest}, but 'targets' describes only settings 0 to {len(targets) - 1}"
        )
    expected = highest + 1 if targets is None else len(targets)
    present = np.unique(setting)
    if len(present) < expected:
        gaps = np.flatnonzero(present != np.arange(len(present)))
        first = int(gaps[0]) if len(gaps) else len(present)
        missing = expected - len(present)
        more = f" (and {missing - 1} other settings)" if missing > 1 else ""
        raise DatasetError(f"field 'setting': no row belongs to setting {first}{more}")
    if targets is not None and targets[0].any():
        raise DatasetError("field 'targets': its row 0 must be all 0, because setting 0 is observational")


def acyclic(graph: npt.NDArray[np.int8], names: tuple[str, ...]) -> None:
    """Refuse a graph with a directed cycle."""
    cycle = find_cycle(graph)
    if cycle:
        path = " -> ".join(names[node] for node in cycle)
        raise DatasetError(f"field 'graph': it must be acyclic, but has the cycle {path}")


def equivalence_class(graph: npt.NDArray[np.int8], cpdag: npt.ArrayLike | None) -> None:
    """Refuse an equivalence class that does not contain the graph."""
    if cpdag is None:
        raise ValueError("kind is 'cpdag', so info['cpdag'] must hold the class")
    entries = binary("info['cpdag']", cpdag, graph.shape, "nodes x nodes")
    same_skeleton = np.array_equal(entries | entries.T, graph | graph.T)
    if not same_skeleton or np.any(graph & ~entries):
        raise ValueError("info['cpdag'] does not contain 'graph': skeleton or directed edges differ")
