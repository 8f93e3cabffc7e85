"""The parts of PC: tests that regressions confirm, orientation rules and extensions that brute force confirms."""

import itertools
import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from baselines.jci_pc.pc import Flags, PartialCorrelations, extend, meek, orient, skeleton
from benchmark.graphs import find_cycle
from benchmark.simulate import simulate


def matrix(text: str) -> Flags:
    """A graph on the letters a, b, c, ... from text such as "a>b b-c"."""
    size = ord(max(text)) - ord("a") + 1
    graph = np.zeros((size, size), dtype=bool)
    for edge in text.split():
        first, last = (ord(edge[place]) - ord("a") for place in (0, 2))
        graph[first, last] = True
        graph[last, first] = edge[1] == "-"
    return graph


def with_contexts() -> tuple[npt.NDArray[np.float64], Flags]:
    """Eight variables and their eight contexts, and which are the contexts."""
    data = simulate("linear", 8, 2, n=1_000, seed=4, convention="as_written")
    contexts = np.equal.outer(data.setting, np.arange(1, data.settings))
    return np.column_stack([data.X, contexts]), np.arange(16) >= 8


# --- tests of independence


def by_regression(data: npt.NDArray[np.float64], x: int, y: int, given: tuple[int, ...]) -> float:
    """The p-value from the residuals of two regressions."""
    design = np.column_stack([np.ones(len(data)), data[:, list(given)]])
    residuals = [data[:, k] - design @ np.linalg.lstsq(design, data[:, k], rcond=None)[0] for k in (x, y)]
    r = residuals[0] @ residuals[1] / math.sqrt((residuals[0] @ residuals[0]) * (residuals[1] @ residuals[1]))
    return math.erfc(math.sqrt(len(data) - len(given) - 3) * abs(math.atanh(r)) / math.sqrt(2))


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_p_values_are_those_of_regressions(size: int) -> None:
    rng = np.random.default_rng(size)
    data = rng.normal(size=(120, 6)) @ rng.normal(size=(6, 6)) * [1, 10, 1e3, 1e-3, 1, 1] + 5
    data[:, 5] = data[:, 4] > 5  # a context
    tests = PartialCorrelations(data)
    for x in range(6):
        others = tuple(k for k in range(6) if k != x)
        sets = tuple(itertools.combinations(others, size))
        for given_set, strengths in zip(sets, tests.strengths(x, others, sets), strict=True):
            for y, strength in zip(others, strengths, strict=True):
                if y in given_set:
                    assert strength == np.inf
                else:
                    expected = by_regression(data, x, y, given_set)
                    assert math.erfc(strength / math.sqrt(2)) == pytest.approx(expected, rel=1e-6, abs=1e-14)


def test_skeleton_does_not_depend_on_the_order_of_columns() -> None:
    variables, context = with_contexts()
    adjacent, _ = skeleton(PartialCorrelations(variables), context, 0.05)
    order = np.random.default_rng(1).permutation(len(context))
    permuted, _ = skeleton(PartialCorrelations(variables[:, order]), context[order], 0.05)
    np.testing.assert_array_equal(permuted, adjacent[np.ix_(order, order)])
    assert not adjacent[np.ix_(context, context)].any()


@pytest.mark.parametrize("batch", [1, 7, 10_000])
def test_batches_do_not_matter(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    variables, context = with_contexts()
    expected = skeleton(PartialCorrelations(variables), context, 0.2)
    monkeypatch.setattr("baselines.jci_pc.pc._BATCH", batch)
    for one, other in zip(expected, skeleton(PartialCorrelations(variables), context, 0.2), strict=True):
        np.testing.assert_array_equal(one, other)


# --- rules


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        ("a>b b-c", "a>b b>c"),  # rule 1
        ("a>b b-c a-c", "a>b b-c a-c"),
        ("a>c c>b a-b", "a>c c>b a>b"),  # rule 2
        ("a-b a-c a-d c>b d>b", "a>b a-c a-d c>b d>b"),  # rule 3
        ("a-b a-c a-d c>b d>b c-d", "a-b a-c a-d c>b d>b c-d"),
        ("a>b b-c c-d", "a>b b>c c>d"),  # rule 1 twice
        ("a-b b-c", "a-b b-c"),
    ],
)
def test_rules(graph: str, expected: str) -> None:
    before = matrix(graph)
    given_graph = before.copy()
    np.testing.assert_array_equal(meek(before), matrix(expected))
    np.testing.assert_array_equal(before, given_graph)


@pytest.mark.parametrize(
    ("graph", "extendable"),
    [
        ("a-b", True),
        ("a-b b-c c-a", True),
        ("a-b b-c", True),
        ("a-b b-c c-d d-a", False),  # a square has no order without a collider
        ("a>b b>c c>a", False),
        ("a>b c>d b-d", False),  # b - d would make a collider in either direction
        ("a>b c>b", True),
    ],
)
def test_extensions(graph: str, extendable: bool) -> None:
    assert (extend(matrix(graph)) is not None) == extendable


def colliders(graph: Flags) -> set[tuple[int, int, int]]:
    """Unshielded i -> k <- j with both edges directed."""
    directed, near = graph & ~graph.T, graph | graph.T
    found = itertools.combinations(range(len(graph)), 2)
    return {(i, k, j) for i, j in found for k in np.flatnonzero(directed[i] & directed[j]).tolist() if not near[i, j]}


def all_extensions(pdag: Flags) -> list[Flags]:
    """By brute force: the DAGs with the skeleton, the directed edges and the colliders of a graph."""
    undirected = np.argwhere(np.triu(pdag & pdag.T))
    found = []
    for choice in itertools.product((False, True), repeat=len(undirected)):
        dag = pdag.copy()
        for (i, j), forward in zip(undirected, choice, strict=True):
            dag[i, j], dag[j, i] = forward, not forward
        if find_cycle(dag) is None and colliders(dag) == colliders(pdag):
            found.append(dag)
    return found


@st.composite
def pdags(draw: st.DrawFn, largest: int = 5) -> Flags:
    size = draw(st.integers(2, largest))
    graph = np.zeros((size, size), dtype=bool)
    for i, j in itertools.combinations(range(size), 2):
        graph[i, j], graph[j, i] = draw(st.tuples(st.booleans(), st.booleans()))
    return graph


@given(pdags())
@settings(max_examples=300, deadline=None)
def test_extension_exists_where_brute_force_finds_one(pdag: Flags) -> None:
    expected = all_extensions(pdag)
    dag = extend(pdag)
    assert (dag is not None) == bool(expected)
    if dag is not None:
        assert any(np.array_equal(dag, other) for other in expected)


@given(pdags())
@settings(max_examples=300, deadline=None)
def test_rules_lose_no_extension(pdag: Flags) -> None:
    closed = meek(pdag)
    np.testing.assert_array_equal(closed | closed.T, pdag | pdag.T)
    assert not np.any(closed & ~pdag)
    for dag in all_extensions(pdag):
        assert not np.any(dag & ~closed)


@given(st.integers(0, 2**32 - 1), st.integers(1, 5), st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_true_separators_give_the_class(seed: int, system: int, contexts: int) -> None:
    """From a true DAG with contexts: an edge is directed if and only if all DAGs of its class agree on it."""
    rng = np.random.default_rng(seed)
    size = system + contexts
    context = np.arange(size) >= system
    order = np.r_[np.arange(system, size), rng.permutation(system)]
    dag = np.zeros((size, size), dtype=bool)
    dag[np.ix_(order, order)] = np.triu(rng.random((size, size)) < rng.choice([0.3, 0.6, 0.9]), k=1)
    clique = np.ix_(context, context)
    dag[clique] = np.triu(np.ones((contexts, contexts), dtype=bool), k=1)
    near = dag | dag.T
    separates = np.zeros((size,) * 3, dtype=bool)
    for first, last in itertools.combinations(order, 2):
        separates[first, last] = separates[last, first] = dag[:, last]
    adjacent = near & ~np.outer(context, context)

    pdag = orient(adjacent, separates, context)
    assert pdag[clique].sum() == contexts * (contexts - 1)
    assert not pdag[np.ix_(~context, context)].any()

    pattern = dag.copy()  # what is known: causes of contexts are none, and the colliders
    kept = np.zeros_like(dag)
    kept[context] = True
    for i, k, j in colliders(dag):
        kept[[i, j], k] = True
    free = dag & ~kept
    pattern |= free.T
    members = all_extensions(pattern)
    np.testing.assert_array_equal(pdag[:system, :system], np.any(members, axis=0)[:system, :system])
    extension = extend(pdag)
    assert extension is not None
    assert any(np.array_equal(extension[:system, :system], member[:system, :system]) for member in members)
