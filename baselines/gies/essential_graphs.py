"""Interventional essential graphs as bit masks: what the data of known interventions can tell of a DAG.

Two DAGs are interventionally equivalent when they have the same skeleton, the same colliders, and agree on every
edge of which some setting targets exactly one end (Hauser and Buehlmann 2012, Theorem 10). Their class is drawn as
one graph with directed and undirected edges. A set of nodes is an ``int`` whose bit j says whether node j is in it,
because the search asks for unions and intersections of such sets far more often than for anything else.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class EssentialGraph:
    """A class of DAGs: for each node the set of its parents and of its neighbours by undirected edges."""

    parents: tuple[int, ...]
    neighbours: tuple[int, ...]
    children: tuple[int, ...] = field(init=False, compare=False, repr=False)
    adjacent: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        children = [0] * len(self.parents)
        for j, parents in enumerate(self.parents):
            for i in members(parents):
                children[i] |= 1 << j
        everything = zip(self.parents, self.neighbours, children, strict=True)
        object.__setattr__(self, "children", tuple(children))
        object.__setattr__(self, "adjacent", tuple(pa | ne | ch for pa, ne, ch in everything))

    def reachable(self, start: int, avoiding: int) -> int:
        """Return the nodes to which paths of directed (followed forwards) and undirected edges lead, start included."""
        seen, frontier = start, start
        closed = avoiding | start
        while frontier:
            reached = 0
            for node in members(frontier):
                reached |= self.children[node] | self.neighbours[node]
            frontier = reached & ~closed
            closed |= frontier
            seen |= frontier
        return seen

    def to_matrix(self) -> npt.NDArray[np.int8]:
        """Return [d x d] with both entries 1 for an undirected edge."""
        d = len(self.parents)
        into = (self.parents[j] | self.neighbours[j] for j in range(d))
        return np.array([[nodes >> i & 1 for i in range(d)] for nodes in into], dtype=np.int8).T

    @classmethod
    def from_matrix(cls, matrix: npt.ArrayLike) -> "EssentialGraph":
        """Read [d x d] with both entries 1 for an undirected edge.

        >>> EssentialGraph.from_matrix([[0, 1, 1], [1, 0, 0], [0, 0, 0]])
        EssentialGraph(parents=(0, 0, 1), neighbours=(2, 1, 0))
        """
        entries = np.asarray(matrix, dtype=bool)
        return cls(_columns(entries & ~entries.T), _columns(entries & entries.T))


def members(nodes: int) -> Iterator[int]:
    """Yield the nodes of a set in ascending order.

    >>> list(members(0b1101))
    [0, 2, 3]
    """
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest


def cut_edges(targets: npt.ArrayLike) -> tuple[int, ...]:
    """Return for each node the nodes from which some setting's targets separate it.

    >>> cut_edges([[0, 0, 0], [1, 1, 0]])
    (4, 4, 3)
    """
    chosen = np.asarray(targets, dtype=bool)
    return _columns((chosen[:, :, None] != chosen[:, None, :]).any(axis=0))


def essential_graph(dag: Sequence[int], cut: Sequence[int]) -> EssentialGraph:
    """Return the class of a DAG (the set of parents of each node) under interventions that cut these edges.

    Colliders and cut edges are compelled; Meek's rules 1 to 3 compel what follows. They find every edge that is
    strongly protected in the sense of Hauser and Buehlmann (2012, Definition 14).
    """
    d = len(dag)
    children, adjacent = [0] * d, list(dag)
    for j in range(d):
        for i in members(dag[j]):
            children[i] |= 1 << j
            adjacent[i] |= 1 << j
    compelled = [0] * d
    compelled_children = [0] * d
    open_edges = [(i, j) for j in range(d) for i in members(dag[j])]

    def follows(i: int, j: int) -> bool:
        if compelled[i] & ~adjacent[j] or compelled_children[i] & compelled[j]:
            return True
        undirected = (dag[i] & ~compelled[i]) | (children[i] & ~compelled_children[i])
        between = undirected & compelled[j]
        return any(between & ~adjacent[k] & ~(1 << k) for k in members(between))

    def is_compelled_by_itself(i: int, j: int) -> bool:
        return bool(cut[j] >> i & 1 or dag[j] & ~adjacent[i] & ~(1 << i))

    rule = is_compelled_by_itself
    while True:
        still_open = []
        for i, j in open_edges:
            if rule(i, j):
                compelled[j] |= 1 << i
                compelled_children[i] |= 1 << j
            else:
                still_open.append((i, j))
        if rule is follows and len(still_open) == len(open_edges):
            break
        rule, open_edges = follows, still_open
    neighbours = [0] * d
    for i, j in open_edges:
        neighbours[i] |= 1 << j
        neighbours[j] |= 1 << i
    return EssentialGraph(tuple(compelled), tuple(neighbours))


def elimination_order(
    neighbours: Sequence[int], first: Sequence[int] = (), priority: Sequence[int] | None = None
) -> list[int]:
    """Order the nodes by maximum cardinality search: next is a node with the most neighbours already chosen.

    Orienting a chordal graph along such an order makes no collider. ``first`` starts it: a clique of each
    undirected component. Ties go to the node with the lowest ``priority``; nodes without neighbours are left out.
    """
    order = list(first)
    rank = range(len(neighbours)) if priority is None else priority
    chosen = 0
    for node in order:
        chosen |= 1 << node
    rest = {node for node, near in enumerate(neighbours) if near and not chosen >> node & 1}
    while rest:
        node = max(rest, key=lambda node: ((neighbours[node] & chosen).bit_count(), -rank[node]))
        order.append(node)
        rest.remove(node)
        chosen |= 1 << node
    return order


def orient(graph: EssentialGraph, order: Sequence[int]) -> list[int]:
    """Return the DAG (the parents of each node) whose undirected edges follow the order."""
    dag = list(graph.parents)
    before = 0
    for node in order:
        dag[node] |= graph.neighbours[node] & before
        before |= 1 << node
    return dag


def draw_dag(graph: EssentialGraph, rng: np.random.Generator) -> npt.NDArray[np.int8]:
    """Return a random DAG of the class, as a matrix."""
    priority = rng.permutation(len(graph.parents)).tolist()
    dag = orient(graph, elimination_order(graph.neighbours, priority=priority))
    return EssentialGraph(tuple(dag), (0,) * len(dag)).to_matrix()


def maximal_cliques(neighbours: Sequence[int], within: int) -> tuple[int, ...]:
    """Return the maximal cliques of a chordal graph among these nodes; of no nodes, the empty clique.

    >>> maximal_cliques([0b110, 0b101, 0b011, 0], 0b0111), maximal_cliques([0], 0)
    ((7,), (0,))
    """
    if not within:
        return (0,)
    inside = [nodes & within if within >> node & 1 else 0 for node, nodes in enumerate(neighbours)]
    before = 0
    cliques = [1 << node for node in members(within) if not inside[node]]
    for node in elimination_order(inside):
        # Every maximal clique is a node with its neighbours before it (Blair and Peyton 1993).
        cliques.append(1 << node | inside[node] & before)
        before |= 1 << node
    return tuple(one for one in cliques if not any(one & ~other == 0 and one != other for other in cliques))


def _columns(matrix: npt.NDArray[np.bool_]) -> tuple[int, ...]:
    return tuple(sum(1 << int(i) for i in np.flatnonzero(column)) for column in matrix.T)
