"""Directed graphs as 0/1 matrices: A[i, j] = 1 means i -> j, everywhere."""

from graphlib import CycleError, TopologicalSorter

import numpy as np
import numpy.typing as npt


def find_cycle(graph: npt.ArrayLike) -> list[int] | None:
    """Return the nodes of one directed cycle in edge order, or None for a DAG.

    >>> find_cycle([[0, 1], [0, 0]]) is None
    True
    >>> find_cycle([[0, 1], [1, 0]])
    [0, 1, 0]
    """
    adjacency = np.asarray(graph)
    parents = {j: np.flatnonzero(adjacency[:, j]).tolist() for j in range(len(adjacency))}
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        cycle: list[int] = error.args[1]
        first = cycle.index(min(cycle))
        return cycle[first:-1] + cycle[: first + 1]
    return None


def cpdag_of(dag: npt.ArrayLike) -> npt.NDArray[np.int8]:
    """Return the CPDAG of a DAG: undirected edges (both entries 1) are those its Markov class leaves open.

    >>> cpdag_of([[0, 1, 0], [0, 0, 1], [0, 0, 0]]).tolist()  # a chain: no edge is compelled
    [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> cpdag_of([[0, 0, 1], [0, 0, 1], [0, 0, 0]]).tolist()  # a collider: both edges are
    [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    """
    directed = np.asarray(dag).astype(bool)
    if find_cycle(directed) is not None:
        raise ValueError("the graph has a directed cycle, so it has no CPDAG")
    adjacent = directed | directed.T
    compelled = np.zeros_like(directed)
    for j in range(len(directed)):
        parents = np.flatnonzero(directed[:, j])
        for i in parents:
            # a collider i -> j <- k with i and k not adjacent
            compelled[i, j] = any(k != i and not adjacent[i, k] for k in parents)
    while True:
        more = _meek(compelled, adjacent) & directed & ~compelled
        if not more.any():
            break
        compelled |= more
    undirected = directed & ~compelled
    cpdag: npt.NDArray[np.int8] = (compelled | undirected | undirected.T).astype(np.int8)
    return cpdag


def _meek(compelled: npt.NDArray[np.bool_], adjacent: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Edges i -> j that Meek's rules 1 to 3 compel (rule 4 is needed only with background knowledge)."""
    found = np.zeros_like(compelled)
    undirected = adjacent & ~compelled & ~compelled.T
    for i, j in zip(*np.nonzero(undirected), strict=True):
        incoming = compelled[:, i] & ~adjacent[:, j]
        incoming[j] = False
        between = compelled[i] & compelled[:, j]
        colliders = np.flatnonzero(undirected[i] & compelled[:, j])
        found[i, j] = (
            incoming.any() or between.any() or any(not adjacent[k, m] for k in colliders for m in colliders if k != m)
        )
    return found
