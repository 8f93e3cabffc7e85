"""Data sets and fits: the two records that every method reads and returns.

Conventions: A[i, j] = 1 means i -> j; setting 0 is observational; targets is settings x nodes.
"""

import copy
import json
import os
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from benchmark.files import written_whole
from benchmark.graphs import find_cycle

CONVENTIONS = "graph[i, j] = 1 means i -> j; setting 0 is observational; targets is settings x nodes"


class DatasetError(ValueError):
    """A data set that cannot be used; the message names the file and the field."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples of one causal model under several interventional settings.

    Parameters
    ----------
    X : [n x d] float64
        One row per sample.
    setting : [n] int
        The interventional setting of each row; 0 is observational. Every setting has rows.
    targets : [K x d] 0/1, or None
        ``targets[k, j] = 1`` where setting k intervenes on variable j; None where targets are unknown.
    graph : [d x d] 0/1, or None
        The true DAG, ``graph[i, j] = 1`` for i -> j; None where it is unknown.
    names : d distinct strings
        ``V0``, ``V1``, ... where not given.
    heldout : [n] bool, or None
        The rows kept for selection.
    parameters : dict
        What generated the data (mechanism, seed, ...); never shown to a method.

    Examples
    --------
    >>> data = Dataset([[0.1, 1.0], [0.3, 0.9], [2.0, 1.1]], setting=[0, 0, 1], targets=[[0, 0], [1, 0]])
    >>> data.n, data.d, data.names
    (3, 2, ('V0', 'V1'))
    >>> data.targeted[:, 0]
    array([False, False,  True])
    """

    X: npt.NDArray[np.float64]
    setting: npt.NDArray[np.int64]
    targets: npt.NDArray[np.int8] | None
    graph: npt.NDArray[np.int8] | None = None
    names: tuple[str, ...] = ()
    heldout: npt.NDArray[np.bool_] | None = None
    parameters: dict[str, Any] = field(default_factory=dict)

    def __init__(
        self,
        X: npt.ArrayLike,
        setting: npt.ArrayLike,
        targets: npt.ArrayLike | None,
        graph: npt.ArrayLike | None = None,
        names: Sequence[str] | None = None,
        heldout: npt.ArrayLike | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        samples = _matrix("X", X, np.float64)
        n, d = samples.shape
        labels = tuple(f"V{j}" for j in range(d)) if names is None else _names(names, d)
        _check_finite(samples, labels)
        numbers = _whole_numbers("setting", setting, (n,), "one number per row of X")
        known = None if targets is None else _binary("targets", targets, (None, d), "settings x nodes")
        _check_settings(numbers, known)
        truth = None if graph is None else _binary("graph", graph, (d, d), "nodes x nodes")
        if truth is not None:
            _check_acyclic(truth, labels)
        split = None if heldout is None else _binary("heldout", heldout, (n,), "one flag per row of X").astype(bool)
        if split is not None and len(np.unique(split)) < 2:
            raise DatasetError("field 'heldout': it must mark some rows and leave others for fitting")
        values = {"X": samples, "setting": numbers, "targets": known, "graph": truth, "heldout": split}
        for name, value in values.items():
            if value is not None:
                value.flags.writeable = False  # one data set serves many fits
            object.__setattr__(self, name, value)
        object.__setattr__(self, "names", labels)
        object.__setattr__(self, "parameters", dict(parameters or {}))

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.X)

    @property
    def d(self) -> int:
        """Number of variables."""
        return int(self.X.shape[1])

    @property
    def settings(self) -> int:
        """Number of settings, the observational one included."""
        return int(self.setting.max()) + 1

    @property
    def targeted(self) -> npt.NDArray[np.bool_]:
        """[n x d]: whether the setting of a row intervenes on a variable."""
        if self.targets is None:
            raise DatasetError("field 'targets': the targets of this data set are unknown")
        return self.targets[self.setting].astype(bool)

    @property
    def training(self) -> npt.NDArray[np.bool_]:
        """[n]: the rows to fit on, all of them where nothing is held out."""
        return np.ones(self.n, dtype=bool) if self.heldout is None else ~self.heldout

    def blind(self, *, hide_targets: bool) -> "Dataset":
        """Return what a method may see: no true graph, no generating parameters, no hidden targets.

        Of ``parameters`` stays what an experimenter knows: the expected density of graphs, ``edges_per_node``, and
        whether interventions are perfect or imperfect, ``intervention``.
        """
        prior = {key: self.parameters[key] for key in ("edges_per_node", "intervention") if key in self.parameters}
        if "intervention" in prior:
            prior["intervention"] = str(prior["intervention"]).split("-")[0]
        shown = copy.copy(self)
        object.__setattr__(shown, "targets", None if hide_targets else self.targets)
        object.__setattr__(shown, "graph", None)
        object.__setattr__(shown, "parameters", prior)
        return shown

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one ``.npz`` file, whole or not at all."""
        arrays: dict[str, Any] = {
            "X": self.X,
            "setting": self.setting,
            "names": np.array(self.names, dtype=str),
            "parameters": np.array(json.dumps(self.parameters, sort_keys=True)),
            "conventions": np.array(CONVENTIONS),
        }
        optional = {"targets": self.targets, "graph": self.graph, "heldout": self.heldout}
        arrays.update({name: value for name, value in optional.items() if value is not None})
        with written_whole(path) as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by :meth:`save` or by ``numpy.savez`` with the same fields."""
        try:
            with open(path, "rb") as handle:  # numpy leaves a file open that it cannot read
                file = np.load(handle, allow_pickle=False)
                if not isinstance(file, np.lib.npyio.NpzFile):
                    raise ValueError("it holds one array without a name")
                stored = {name: file[name] for name in file.files}
        except FileNotFoundError:
            raise DatasetError(f"{path}: there is no such file") from None
        except (ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise DatasetError(f"{path}: this is not a readable .npz file ({error})") from None
        for name in ("X", "setting"):
            if name not in stored:
                raise DatasetError(f"{path}: field '{name}' is missing; the file has {', '.join(sorted(stored))}")
        names = [str(name) for name in np.atleast_1d(stored["names"])] if "names" in stored else None
        try:
            parameters = json.loads(str(stored["parameters"])) if "parameters" in stored else None
        except json.JSONDecodeError as error:
            raise DatasetError(f"{path}: field 'parameters': it is not JSON ({error})") from None
        try:
            return cls(
                stored["X"],
                stored["setting"],
                stored.get("targets"),
                stored.get("graph"),
                names,
                stored.get("heldout"),
                parameters,
            )
        except DatasetError as error:
            raise DatasetError(f"{path}: {error}") from None


@dataclass(frozen=True, eq=False)
class Fit:
    """What a method returns for one combination of hyperparameters.

    Parameters
    ----------
    graph : [d x d] 0/1
        The estimated DAG, ``graph[i, j] = 1`` for i -> j.
    kind : "dag" or "cpdag"
        "cpdag" where the method identifies only a class of graphs: ``graph`` is then one DAG of it and
        ``info["cpdag"]`` the class itself, an undirected edge having both entries 1.
    heldout_nll : float or None
        Negative log-likelihood per sample and variable on the held-out rows; lower is better.
    targets : [K x d] or None
        The targets that the method learned, where it learns them.
    info : dict
        Anything else: engine, iterations, ...

    Examples
    --------
    >>> Fit([[0, 1], [0, 0]]).graph.sum()
    np.int64(1)
    """

    graph: npt.NDArray[np.int8]
    kind: Literal["dag", "cpdag"] = "dag"
    heldout_nll: float | None = None
    targets: npt.NDArray[np.float64] | None = None
    info: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = np.shape(self.graph)
        size = shape[0] if shape else 0
        graph = _binary("graph", self.graph, (size, size), "nodes x nodes")
        _check_acyclic(graph, tuple(f"V{j}" for j in range(size)))
        object.__setattr__(self, "graph", graph)
        if self.kind not in ("dag", "cpdag"):
            raise ValueError(f"kind is {self.kind!r}; expected 'dag' or 'cpdag'")
        if self.kind == "cpdag":
            _check_class(graph, self.info.get("cpdag"))
        if self.heldout_nll is not None:
            object.__setattr__(self, "heldout_nll", float(self.heldout_nll))
        if self.targets is not None:
            object.__setattr__(self, "targets", _matrix("targets", self.targets, np.float64))

    def with_info(self, **entries: Any) -> "Fit":
        """Return the same fit with more entries in ``info``."""
        return replace(self, info=self.info | entries)


def _matrix(name: str, value: npt.ArrayLike, dtype: type) -> npt.NDArray[Any]:
    try:
        array: npt.NDArray[Any] = np.array(value, dtype=dtype)
    except (ValueError, TypeError) as error:
        raise DatasetError(f"field '{name}': it is not a matrix of numbers ({error})") from None
    if array.ndim != 2 or 0 in array.shape:
        raise DatasetError(f"field '{name}': it has shape {array.shape}; expected two dimensions, neither empty")
    return array


def _names(names: Sequence[str], d: int) -> tuple[str, ...]:
    labels = tuple(str(name) for name in names)
    if len(labels) != d:
        raise DatasetError(f"field 'names': it has {len(labels)} names; X has {d} columns")
    repeated = sorted({name for name in labels if labels.count(name) > 1})
    if repeated:
        raise DatasetError(f"field 'names': {', '.join(map(repr, repeated))} stands more than once")
    return labels


def _check_finite(X: npt.NDArray[np.float64], names: tuple[str, ...]) -> None:
    bad = np.argwhere(~np.isfinite(X))
    if len(bad):
        row, column = bad[0]
        raise DatasetError(
            f"field 'X': {len(bad)} values are NaN or infinite, the first in row {row}, column {names[column]!r}; "
            "remove or impute them"
        )


def _whole_numbers(
    name: str, value: npt.ArrayLike, shape: tuple[int | None, ...], meaning: str
) -> npt.NDArray[np.int64]:
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


def _binary(name: str, value: npt.ArrayLike, shape: tuple[int | None, ...], meaning: str) -> npt.NDArray[np.int8]:
    array = _whole_numbers(name, value, shape, meaning)
    if not np.isin(array, (0, 1)).all():
        raise DatasetError(f"field '{name}': its entries must be 0 or 1")
    return array.astype(np.int8)


def _check_settings(setting: npt.NDArray[np.int64], targets: npt.NDArray[np.int8] | None) -> None:
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


def _check_acyclic(graph: npt.NDArray[np.int8], names: tuple[str, ...]) -> None:
    cycle = find_cycle(graph)
    if cycle:
        path = " -> ".join(names[node] for node in cycle)
        raise DatasetError(f"field 'graph': it must be acyclic, but has the cycle {path}")


def _check_class(graph: npt.NDArray[np.int8], cpdag: npt.ArrayLike | None) -> None:
    if cpdag is None:
        raise ValueError("kind is 'cpdag', so info['cpdag'] must hold the class")
    entries = _binary("info['cpdag']", cpdag, graph.shape, "nodes x nodes")
    same_skeleton = np.array_equal(entries | entries.T, graph | graph.T)
    if not same_skeleton or np.any(graph & ~entries):
        raise ValueError("info['cpdag'] does not contain 'graph': skeleton or directed edges differ")
