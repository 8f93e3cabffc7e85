"""Data sets and fits: the two records that every method reads and returns.

Conventions: A[i, j] = 1 means i -> j; setting 0 is observational; targets is settings x nodes.
"""

import copy
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
import numpy.typing as npt

from benchmark import checks
from benchmark.checks import DatasetError
from benchmark.files import written_whole
from benchmark.npz import read_arrays

if TYPE_CHECKING:
    import networkx
    import pandas

__all__ = ["CONVENTIONS", "Dataset", "DatasetError", "Fit"]

_FIELDS = ("X", "setting", "targets", "graph", "names", "heldout", "parameters")
CONVENTIONS = "graph[i, j] = 1 means i -> j; setting 0 is observational; targets is settings x nodes"


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
        samples = checks.matrix("X", X, np.float64)
        n, d = samples.shape
        labels = tuple(f"V{j}" for j in range(d)) if names is None else checks.distinct_names(names, d)
        checks.finite(samples, labels)
        numbers = checks.whole_numbers("setting", setting, (n,), "one number per row of X")
        known = None if targets is None else checks.binary("targets", targets, (None, d), "settings x nodes")
        checks.settings(numbers, known)
        truth = None if graph is None else checks.binary("graph", graph, (d, d), "nodes x nodes")
        if truth is not None:
            checks.acyclic(truth, labels)
        flags = None if heldout is None else checks.binary("heldout", heldout, (n,), "one flag per row of X")
        split = None if flags is None else flags.astype(bool)
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

    @property
    def conditions(self) -> tuple[str, ...]:
        """Names of the settings: those of the table that the data come from, or their numbers."""
        numbered = ("observational", *(f"setting {k}" for k in range(1, self.settings)))
        return tuple(self.parameters.get("conditions", numbered))

    def __repr__(self) -> str:
        """Return what there is, in one line."""
        counts = np.bincount(self.setting).tolist()
        rows = [f"{name} {count}" for name, count in zip(self.conditions, counts, strict=True)]
        known = {True: "unknown", False: "known"}
        return (
            f"<Dataset: {self.n} rows ({_shortened(rows)}), {self.d} variables ({_shortened(self.names)}), targets "
            f"{known[self.targets is None]}, true graph {known[self.graph is None]}, "
            f"{0 if self.heldout is None else int(self.heldout.sum())} rows held out>"
        )

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
        stored: dict[str, Any] = {
            "X": self.X,
            "setting": self.setting,
            "names": np.array(self.names, dtype=str),
            "parameters": np.array(json.dumps(self.parameters, sort_keys=True)),
            "conventions": np.array(CONVENTIONS),
        }
        optional = {"targets": self.targets, "graph": self.graph, "heldout": self.heldout}
        stored.update({name: value for name, value in optional.items() if value is not None})
        with written_whole(path) as file:
            np.savez(file, **stored)

    @classmethod
    def from_frame(
        cls,
        frame: "pandas.DataFrame",
        *,
        setting: str | None = None,
        control: str | None = None,
        targets: Mapping[str, str | Sequence[str]] | None = None,
        truth: "pandas.DataFrame | Sequence[Sequence[str]] | None" = None,
        intervention: Literal["perfect", "imperfect"] = "perfect",
        standardise: bool = False,
        ignore: Sequence[str] = (),
    ) -> "Dataset":
        """Return the data set of a table with one row per sample and one column per variable.

        Parameters
        ----------
        frame
            Columns that are neither ``setting`` nor in ``ignore`` are variables.
        setting
            The column that names the condition of each row; None where all rows are observational.
        control
            The condition that is observational.
        targets
            Condition -> the variables it intervenes on, for every condition but the control; None where unknown.
        truth
            The edges of the true graph: pairs (from, to), or a table with these columns.
        intervention
            "perfect": an intervention cuts its targets off from their causes; "imperfect": it changes how they depend.
        standardise
            Give every variable mean 0 and standard deviation 1 over all rows. DCDI asks for it.
        ignore
            Columns to leave out.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"TP53": [1.2, 0.9, 0.1], "MDM2": [2.1, 1.8, 0.4], "condition": ["wt", "wt", "KO"]})
        >>> Dataset.from_frame(frame, setting="condition", control="wt", targets={"KO": ["TP53"]})
        <Dataset: 3 rows (wt 2, KO 1), 2 variables (TP53, MDM2), targets known, true graph unknown, 0 rows held out>
        """
        from benchmark.frames import from_frame

        return from_frame(
            frame,
            setting=setting,
            control=control,
            targets=targets,
            truth=truth,
            intervention=intervention,
            standardise=standardise,
            ignore=ignore,
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by :meth:`save` or by ``numpy.savez`` with the same fields."""
        stored, present = read_arrays(path, (*_FIELDS, "problem"))
        if "problem" in stored:
            raise DatasetError(str(stored["problem"]))
        for name in ("X", "setting"):
            if name not in stored:
                raise DatasetError(f"{path}: field '{name}' is missing; the file has {', '.join(present) or 'none'}")
        names = [str(name) for name in stored["names"].ravel()] if "names" in stored else None
        parameters = _parameters(path, stored["parameters"]) if "parameters" in stored else None
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


def _parameters(path: str | os.PathLike[str], stored: npt.NDArray[Any]) -> dict[str, Any]:
    try:
        parameters = json.loads(str(stored))
    except (ValueError, RecursionError) as error:
        raise DatasetError(f"{path}: field 'parameters': it is not JSON ({error})") from None
    if not isinstance(parameters, dict):
        kind = type(parameters).__name__
        raise DatasetError(f"{path}: field 'parameters': it is {kind}; expected a JSON object of names and values")
    return parameters


def save_problem(path: str | os.PathLike[str], problem: str) -> None:
    """Write, in the place of a data set that cannot be used, a file that says why; to load it is an error."""
    with written_whole(path) as file:
        np.savez(file, problem=np.array(problem))


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
        Anything else: engine, iterations, ..., and ``edge_probabilities`` [d x d] where the method has them.
    names : d distinct strings
        Of the variables; ``V0``, ``V1``, ... where not given.

    Examples
    --------
    >>> Fit([[0, 1], [0, 0]], names=("TP53", "MDM2"))
    <Fit: dag of 2 variables, 1 edge: TP53 -> MDM2>
    """

    graph: npt.NDArray[np.int8]
    kind: Literal["dag", "cpdag"] = "dag"
    heldout_nll: float | None = None
    targets: npt.NDArray[np.float64] | None = None
    info: dict[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        shape = np.shape(self.graph)
        size = shape[0] if shape else 0
        graph = checks.binary("graph", self.graph, (size, size), "nodes x nodes")
        names = checks.distinct_names(self.names or [f"V{j}" for j in range(size)], size)
        object.__setattr__(self, "names", names)
        checks.acyclic(graph, names)
        object.__setattr__(self, "graph", graph)
        if self.kind not in ("dag", "cpdag"):
            raise ValueError(f"kind is {self.kind!r}; expected 'dag' or 'cpdag'")
        if self.kind == "cpdag":
            checks.equivalence_class(graph, self.info.get("cpdag"))
        if self.heldout_nll is not None:
            object.__setattr__(self, "heldout_nll", float(self.heldout_nll))
        if self.targets is not None:
            object.__setattr__(self, "targets", checks.matrix("targets", self.targets, np.float64))

    def __repr__(self) -> str:
        """Return the graph in words."""
        undirected = self.undirected
        edges = []
        for i, j in zip(*np.nonzero(self.graph), strict=True):
            mark = "--" if undirected[i, j] else "->"
            edges.append(f"{self.names[i]} {mark} {self.names[j]}")
        score = "" if self.heldout_nll is None else f", held-out nll {self.heldout_nll:.4f}"
        count = f"{len(edges)} edge{'' if len(edges) == 1 else 's'}"
        listed = f": {_shortened(edges)}" if edges else ""
        return f"<Fit: {self.kind} of {len(self.graph)} variables{score}, {count}{listed}>"

    @property
    def undirected(self) -> npt.NDArray[np.bool_]:
        """[d x d]: the edges whose direction the method leaves open, both ways."""
        if self.kind == "dag":
            return np.zeros(self.graph.shape, dtype=bool)
        entries = np.asarray(self.info["cpdag"]).astype(bool)
        both: npt.NDArray[np.bool_] = entries & entries.T
        return both

    def to_networkx(self) -> "networkx.DiGraph":
        """Return the graph with names as nodes.

        Edges have ``probability``, where the method has one, and ``undirected``: whether their direction is one of two
        that the method cannot tell apart.
        """
        import networkx

        graph = networkx.DiGraph()
        graph.add_nodes_from(self.names)
        probabilities, undirected = self.info.get("edge_probabilities"), self.undirected
        for i, j in zip(*np.nonzero(self.graph), strict=True):
            weight = {} if probabilities is None else {"probability": float(probabilities[i][j])}
            graph.add_edge(self.names[i], self.names[j], undirected=bool(undirected[i, j]), **weight)
        return graph

    def with_names(self, names: Sequence[str]) -> "Fit":
        """Return the same fit with the names of its variables."""
        return replace(self, names=tuple(names))

    def with_info(self, **entries: Any) -> "Fit":
        """Return the same fit with more entries in ``info``."""
        return replace(self, info=self.info | entries)


def _shortened(words: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(words[:most])
    return shown if len(words) <= most else f"{shown}, and {len(words) - most} more"
