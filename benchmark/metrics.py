"""Distances between a true and an estimated graph; always (truth, estimate), A[i, j] = 1 for i -> j."""

from typing import NamedTuple

import gadjid
import numpy as np
import numpy.typing as npt

from benchmark.graphs import cpdag_of, find_cycle


class EdgeCounts(NamedTuple):
    """Edges of the estimate: right, missing, superfluous, reversed."""

    tp: int
    fn: int
    fp: int
    rev: int


class TargetCounts(NamedTuple):
    """Entries of the estimated targets: right, missing, superfluous."""

    tp: int
    fn: int
    fp: int

    @property
    def precision(self) -> float | None:
        """Share of the estimated targets that are right; nothing where none is estimated."""
        return self.tp / (self.tp + self.fp) if self.tp + self.fp else None

    @property
    def recall(self) -> float | None:
        """Share of the true targets that are found; nothing where there is none."""
        return self.tp / (self.tp + self.fn) if self.tp + self.fn else None


def edge_counts(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> EdgeCounts:
    """Count the edges of two DAGs that agree, are missing, are superfluous or are reversed.

    >>> edge_counts([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [1, 1, 0]])
    EdgeCounts(tp=1, fn=0, fp=1, rev=1)
    """
    true, estimated = _dags(truth, estimate)
    adjacent_true, adjacent_estimated = true | true.T, estimated | estimated.T
    return EdgeCounts(
        tp=int((true & estimated).sum()),
        fn=int((true & ~adjacent_estimated).sum()),
        fp=int((estimated & ~adjacent_true).sum()),
        rev=int((true & estimated.T).sum()),
    )


def shd(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> int:
    """Return the structural Hamming distance of two DAGs: missing, superfluous and reversed edges, a reversal once.

    >>> shd([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    1
    """
    counts = edge_counts(truth, estimate)
    return counts.fn + counts.fp + counts.rev


def sid(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> int:
    """Return the structural interventional distance of two DAGs (Peters and Buehlmann 2015), from the package gadjid.

    >>> sid([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    2
    """
    true, estimated = _dags(truth, estimate)
    if len(true) < 2:
        return 0  # gadjid refuses them
    distance = gadjid.sid(true.astype(np.int8), estimated.astype(np.int8), edge_direction="from row to column")
    return int(distance[1])


class AdjustmentDistances(NamedTuple):
    """Pairs of nodes whose effect the estimate would identify wrongly, by three ways to adjust for others."""

    parent: int
    ancestor: int
    optimal: int


def adjustment_distances(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> AdjustmentDistances:
    """Return the adjustment identification distances (Henckel, Würtzen and Weichwald 2024), from the package gadjid.

    For each pair of nodes the estimate says how to identify the effect of one on the other: by adjusting for its
    parents, its ancestors or the most efficient set; counted is where that is wrong in the true DAG. The estimate is
    a DAG or a CPDAG (undirected edge: both entries 1), where an effect that it leaves open counts as wrong. Between
    DAGs the first is the SID.

    >>> adjustment_distances([[0, 1], [0, 0]], [[0, 1], [0, 0]])
    AdjustmentDistances(parent=0, ancestor=0, optimal=0)
    >>> adjustment_distances([[0, 1], [0, 0]], [[0, 1], [1, 0]])
    AdjustmentDistances(parent=2, ancestor=2, optimal=2)
    """
    true, estimated = _pair(truth, estimate)
    undirected = estimated & estimated.T
    for name, graph in (("true graph is not a DAG", true), ("estimate is no class of DAGs", estimated & ~undirected)):
        cycle = find_cycle(graph)
        if cycle:
            raise ValueError(f"the {name}: it has the cycle {' -> '.join(map(str, cycle))}")
    if len(true) < 2:
        return AdjustmentDistances(0, 0, 0)  # gadjid refuses them
    coded = np.where(undirected, 2, estimated).astype(np.int8)  # gadjid's code for an undirected edge
    measures = (gadjid.parent_aid, gadjid.ancestor_aid, gadjid.oset_aid)
    return AdjustmentDistances(
        *(int(aid(true.astype(np.int8), coded, edge_direction="from row to column")[1]) for aid in measures)
    )


def f1(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> float:
    """Return the F1 score of the edges as in the paper's Table of Sachs: 2 tp / (2 tp + fp + fn), reversals left out.

    >>> f1([[0, 1, 1], [0, 0, 0], [0, 0, 0]], [[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    0.6666666666666666
    """
    counts = edge_counts(truth, estimate)
    total = 2 * counts.tp + counts.fp + counts.fn
    return 2 * counts.tp / total if total else 1.0


def shd_cpdag(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> int:
    """Count the node pairs whose edge differs between two CPDAGs (absent, ->, <- or undirected).

    A DAG stands for its Markov equivalence class; a graph with undirected edges (both entries 1) is a CPDAG already.

    >>> shd_cpdag([[0, 1], [0, 0]], [[0, 0], [1, 0]])
    0
    """
    true, estimated = (_as_cpdag(graph) for graph in _pair(truth, estimate))
    differs = (true != estimated) | (true != estimated).T
    return int(np.triu(differs, k=1).sum())


def target_counts(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> TargetCounts:
    """Compare targets [settings x nodes] over the interventional settings; an estimate above 0.5 counts as a target.

    >>> target_counts([[0, 0], [1, 0]], [[0, 0], [0.9, 0.7]])
    TargetCounts(tp=1, fn=0, fp=1)
    """
    true, estimated = np.asarray(truth)[1:] > 0.5, np.asarray(estimate)[1:] > 0.5
    if true.shape != estimated.shape:
        raise ValueError(f"targets have shapes {np.shape(truth)} and {np.shape(estimate)}; they must be equal")
    return TargetCounts(int((true & estimated).sum()), int((true & ~estimated).sum()), int((~true & estimated).sum()))


def _pair(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    true, estimated = np.asarray(truth) != 0, np.asarray(estimate) != 0
    if true.shape != estimated.shape or true.ndim != 2 or true.shape[0] != true.shape[1]:
        raise ValueError(f"graphs have shapes {true.shape} and {estimated.shape}; expected the same d x d for both")
    return true, estimated


def _dags(truth: npt.ArrayLike, estimate: npt.ArrayLike) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    true, estimated = _pair(truth, estimate)
    for name, graph in (("true", true), ("estimated", estimated)):
        cycle = find_cycle(graph)
        if cycle:
            raise ValueError(f"the {name} graph is not a DAG: it has the cycle {' -> '.join(map(str, cycle))}")
    return true, estimated


def _as_cpdag(graph: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    if (graph & graph.T).any():
        return graph
    return cpdag_of(graph).astype(bool)
