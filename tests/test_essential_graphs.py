"""Interventional essential graphs against their definition: all DAGs of a class, one by one."""

import itertools
from collections.abc import Iterator
from functools import cache

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest

from baselines.gies.essential_graphs import (
    EssentialGraph,
    cut_edges,
    draw_dag,
    elimination_order,
    essential_graph,
    maximal_cliques,
    members,
    orient,
)
from benchmark.graphs import cpdag_of, find_cycle

Graph = npt.NDArray[np.int8]
FAMILIES = {
    "observational": [[0, 0, 0, 0]],
    "one": [[0, 0, 0, 0], [0, 1, 0, 0]],
    "two together": [[0, 0, 0, 0], [0, 1, 1, 0]],
    "several": [[0, 0, 0, 0], [1, 1, 0, 0], [0, 0, 0, 1]],
    "repeated": [[0, 0, 0, 0], [0, 0, 1, 0], [0, 0, 1, 0]],
    "every": [[0, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
}


@cache
def dags(d: int) -> list[Graph]:
    """All DAGs of d nodes."""
    pairs = list(itertools.combinations(range(d), 2))
    found = []
    for states in itertools.product(range(3), repeat=len(pairs)):
        graph = np.zeros((d, d), dtype=np.int8)
        for (i, j), state in zip(pairs, states, strict=True):
            graph[i, j], graph[j, i] = state == 1, state == 2
        if find_cycle(graph) is None:
            found.append(graph)
    return found


def signature(dag: Graph, targets: npt.ArrayLike) -> tuple[bytes, bytes, bytes]:
    """What equivalent DAGs have in common: skeleton, colliders, and edges with exactly one end targeted."""
    chosen = np.asarray(targets, dtype=bool)
    cut = (chosen[:, :, None] != chosen[:, None, :]).any(axis=0)
    adjacent = dag | dag.T
    apart = 1 - (adjacent | np.eye(len(dag), dtype=np.int8))
    colliders = dag[:, None, :] & dag[None, :, :] & apart[:, :, None]
    return adjacent.tobytes(), colliders.tobytes(), (dag * cut).tobytes()


@cache
def classes(family: str) -> dict[tuple[bytes, bytes, bytes], list[Graph]]:
    found: dict[tuple[bytes, bytes, bytes], list[Graph]] = {}
    for dag in dags(4):
        found.setdefault(signature(dag, FAMILIES[family]), []).append(dag)
    return found


def parents_of(dag: Graph) -> tuple[int, ...]:
    return EssentialGraph.from_matrix(dag).parents


def class_of(dag: Graph, targets: npt.ArrayLike) -> EssentialGraph:
    return essential_graph(parents_of(dag), cut_edges(targets))


def random_dags(count: int, d: int, seed: int) -> Iterator[Graph]:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        graph = np.triu(rng.random((d, d)) < rng.random(), k=1).astype(np.int8)
        order = rng.permutation(d)
        yield graph[np.ix_(order, order)]


@pytest.mark.parametrize("family", FAMILIES)
def test_class_is_the_union_of_its_members(family: str) -> None:
    assert len(dags(4)) == 543
    for equivalent in classes(family).values():
        union = np.bitwise_or.reduce(equivalent)
        for dag in equivalent:
            np.testing.assert_array_equal(class_of(dag, FAMILIES[family]).to_matrix(), union)


def test_observational_class_is_the_cpdag() -> None:
    for dag in random_dags(60, 9, seed=1):
        np.testing.assert_array_equal(class_of(dag, np.zeros((1, 9))).to_matrix(), cpdag_of(dag))


@pytest.mark.parametrize("family", ["observational", "one", "two together"])
def test_every_member_can_be_drawn(family: str) -> None:
    for equivalent in classes(family).values():
        if len(equivalent) in (2, 6, 24):
            graph = class_of(equivalent[0], FAMILIES[family])
            drawn = {draw_dag(graph, np.random.default_rng(seed)).tobytes() for seed in range(40 * len(equivalent))}
            assert drawn == {dag.tobytes() for dag in equivalent}


def test_drawn_dag_is_a_member() -> None:
    rng = np.random.default_rng(2)
    for number, dag in enumerate(random_dags(80, 10, seed=3)):
        targets = rng.random((number % 4 + 1, 10)) < 0.3
        targets[0] = False
        graph = class_of(dag, targets)
        assert class_of(draw_dag(graph, rng), targets) == graph


def test_a_clique_may_come_first() -> None:
    """The search orients a class so that chosen neighbours of a node point at it."""
    for dag in random_dags(60, 8, seed=4):
        graph = class_of(dag, np.zeros((1, 8)))
        for clique in maximal_cliques(graph.neighbours, sum(1 << v for v in range(8) if graph.neighbours[v])):
            first = list(members(clique))[::-1]
            oriented = orient(graph, elimination_order(graph.neighbours, first))
            assert essential_graph(oriented, (0,) * 8) == graph
            for place, node in enumerate(first):
                assert all(oriented[later] >> node & 1 for later in first[place + 1 :])


def test_maximal_cliques() -> None:
    for dag in random_dags(60, 9, seed=5):
        graph = class_of(dag, np.zeros((1, 9)))
        within = [0, 1, 3, 4, 6, 8]
        undirected = graph.to_matrix() & graph.to_matrix().T
        subgraph = nx.from_numpy_array(undirected).subgraph(within)
        expected = {sum(1 << node for node in clique) for clique in nx.find_cliques(subgraph)}
        found = maximal_cliques(graph.neighbours, sum(1 << node for node in within))
        assert len(found) == len(set(found))
        assert set(found) == expected


def test_matrix_round_trip() -> None:
    for dag in random_dags(20, 7, seed=6):
        graph = class_of(dag, [[0] * 7, [1, 0, 0, 0, 0, 0, 0]])
        assert EssentialGraph.from_matrix(graph.to_matrix()) == graph


def test_reachable() -> None:
    graph = EssentialGraph.from_matrix([[0, 1, 0, 0], [1, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])  # 0 - 1 -> 2 -> 3
    assert graph.reachable(0b0001, avoiding=0) == 0b1111
    assert graph.reachable(0b0001, avoiding=0b0100) == 0b0011
    assert graph.reachable(0b0100, avoiding=0) == 0b1100
