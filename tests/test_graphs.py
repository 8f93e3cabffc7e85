"""Cycles against networkx; CPDAGs against the union of every Markov equivalence class on 3 and 4 nodes."""

import itertools
from collections import defaultdict
from typing import Any

import networkx as nx
import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from benchmark.graphs import cpdag_of, find_cycle

Graph = npt.NDArray[Any]
GRAPHS = st.integers(1, 8).flatmap(lambda d: hnp.arrays(np.int8, (d, d), elements=st.integers(0, 1), fill=st.just(0)))


@settings(deadline=None, max_examples=300)
@given(graph=GRAPHS)
def test_find_cycle_agrees_with_networkx(graph: Graph) -> None:
    cycle = find_cycle(graph)
    assert (cycle is None) == nx.is_directed_acyclic_graph(nx.from_numpy_array(graph, create_using=nx.DiGraph))
    if cycle is not None:
        assert cycle[0] == cycle[-1]
        assert len(set(cycle)) == len(cycle) - 1 > 0
        assert all(graph[i, j] for i, j in itertools.pairwise(cycle))  # in the direction of the edges


def test_find_cycle_of_no_nodes() -> None:
    assert find_cycle(np.zeros((0, 0))) is None


def all_dags(nodes: int) -> list[Graph]:
    pairs = list(itertools.combinations(range(nodes), 2))
    dags = []
    for choice in itertools.product((None, False, True), repeat=len(pairs)):
        graph = np.zeros((nodes, nodes), dtype=np.int8)
        for (i, j), reverse in zip(pairs, choice, strict=True):
            if reverse is not None:
                graph[(j, i) if reverse else (i, j)] = 1
        if nx.is_directed_acyclic_graph(nx.from_numpy_array(graph, create_using=nx.DiGraph)):
            dags.append(graph)
    return dags


def markov_class(graph: Graph) -> tuple[bytes, frozenset[tuple[int, int, int]]]:
    """Skeleton and v-structures, which decide the class (Verma and Pearl 1990)."""
    skeleton = graph | graph.T
    colliders = frozenset(
        (i, j, k)
        for j in range(len(graph))
        for i, k in itertools.combinations(np.flatnonzero(graph[:, j]).tolist(), 2)
        if not skeleton[i, k]
    )
    return skeleton.tobytes(), colliders


@pytest.mark.parametrize(("nodes", "dags", "classes"), [(1, 1, 1), (2, 3, 2), (3, 25, 11), (4, 543, 185)])
def test_cpdag_is_the_union_of_its_class(nodes: int, dags: int, classes: int) -> None:
    members: dict[Any, list[Graph]] = defaultdict(list)
    for graph in all_dags(nodes):
        members[markov_class(graph)].append(graph)
    assert sum(map(len, members.values())) == dags  # the known numbers of DAGs and of classes
    assert len(members) == classes
    for group in members.values():
        union = np.bitwise_or.reduce(group)
        for graph in group:
            np.testing.assert_array_equal(cpdag_of(graph), union)


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(5, 9), density=st.floats(0.1, 0.9))
def test_cpdag_of_larger_graphs(seed: int, d: int, density: float) -> None:
    """Directed edges are those of the DAG; v-structures stay directed; relabelling changes nothing."""
    rng = np.random.default_rng(seed)
    dag = np.triu(rng.random((d, d)) < density, k=1).astype(np.int8)
    cpdag = cpdag_of(dag)
    assert cpdag.dtype == np.int8
    np.testing.assert_array_equal(cpdag | cpdag.T, dag | dag.T)
    assert not np.any((dag == 1) & (cpdag == 0))
    for i, j, k in markov_class(dag)[1]:
        assert (cpdag[j, i], cpdag[j, k]) == (0, 0)
    order = rng.permutation(d)
    np.testing.assert_array_equal(cpdag_of(dag[np.ix_(order, order)]), cpdag[np.ix_(order, order)])


def test_cpdag_refuses_a_cycle() -> None:
    with pytest.raises(ValueError, match="directed cycle"):
        cpdag_of([[0, 1], [1, 0]])
