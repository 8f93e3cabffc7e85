"""Classes of DAGs and their Gaussian scores by definition: slow, and independent of the search."""

import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from baselines.gies.essential_graphs import EssentialGraph, cut_edges, essential_graph
from baselines.gies.greedy_search import Phase
from benchmark.dataset import Dataset
from benchmark.graphs import find_cycle


def local_score(data: Dataset, node: int, parents: npt.ArrayLike, penalty: float) -> float:
    """The definition, by least squares on the rows."""
    rows = ~data.targeted[:, node] & data.training
    design = np.column_stack([data.X[:, np.flatnonzero(parents)], np.ones(data.n)])[rows]
    coefficients, *_ = np.linalg.lstsq(design, data.X[rows, node], rcond=None)
    variance = np.mean((data.X[rows, node] - design @ coefficients) ** 2)
    return float(-rows.sum() / 2 * (1 + np.log(variance)) - penalty * design.shape[1])


def total_score(data: Dataset, dag: npt.NDArray[np.int8], penalty: float) -> float:
    return sum(local_score(data, j, dag[:, j], penalty) for j in range(data.d))


def class_of(dag: npt.NDArray[np.int8], targets: npt.ArrayLike) -> EssentialGraph:
    return essential_graph(EssentialGraph.from_matrix(dag).parents, cut_edges(targets))


def members_of(graph: EssentialGraph, targets: npt.ArrayLike) -> list[npt.NDArray[np.int8]]:
    matrix = graph.to_matrix()
    undirected = np.argwhere(np.triu(matrix & matrix.T))
    found = []
    for turned in itertools.product((False, True), repeat=len(undirected)):
        dag = matrix.copy()
        for (i, j), turn in zip(undirected, turned, strict=True):
            dag[(i, j) if turn else (j, i)] = 0
        if find_cycle(dag) is None and class_of(dag, targets) == graph:
            found.append(dag)
    return found


def changes(dag: npt.NDArray[np.int8], phase: Phase) -> Iterator[npt.NDArray[np.int8]]:
    """All DAGs that differ by one edge in the way of a phase."""
    for i, j in itertools.permutations(range(len(dag)), 2):
        changed = dag.copy()
        if phase == "insert" and not dag[i, j] and not dag[j, i]:
            changed[i, j] = 1
        elif phase == "delete" and dag[i, j]:
            changed[i, j] = 0
        elif phase == "turn" and dag[i, j]:
            changed[i, j], changed[j, i] = 0, 1
        else:
            continue
        if find_cycle(changed) is None:
            yield changed
