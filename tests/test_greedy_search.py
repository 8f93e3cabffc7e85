"""Scores against least squares, and each step of the search against a search over all DAGs of a class."""

import itertools
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest

from baselines.gies.essential_graphs import EssentialGraph, draw_dag
from baselines.gies.greedy_search import GreedySearch, Phase
from baselines.gies.interventional_score import InterventionalScore
from benchmark.dataset import Dataset
from benchmark.simulate import simulate
from tests.classes import changes, class_of, local_score, members_of

# --- the score


def test_local_score_is_that_of_least_squares() -> None:
    rng = np.random.default_rng(0)
    data = simulate("linear", 6, 2, n=500, seed=1, settings=3, targets_per_setting=(1, 3))
    scaled = Dataset(data.X * 10.0 ** rng.integers(-3, 4, size=6) + 7, data.setting, data.targets, heldout=data.heldout)
    score = InterventionalScore(scaled)
    for node, parents, penalty in itertools.product(range(6), range(1 << 6), (0.0, 2.5)):
        if not parents >> node & 1:
            flags = [parents >> i & 1 for i in range(6)]
            expected = local_score(scaled, node, flags, penalty)
            assert score.local(node, parents, penalty) == pytest.approx(expected, abs=1e-5)


def test_gains_are_differences_of_local_scores() -> None:
    score = InterventionalScore(simulate("linear", 7, 2, n=400, seed=2, settings=2, targets_per_setting=(2, 3)))
    for u, v in itertools.permutations(range(4), 2):
        gains = score.gains(u, v, 0b0010000, 0b1100000)
        for number, chosen in enumerate((0b0010000, 0b1010000, 0b0110000, 0b1110000)):
            expected = score.local(v, chosen | 1 << u, 0.0) - score.local(v, chosen, 0.0)
            assert gains[number] == pytest.approx(expected, abs=1e-7)


# --- the search


@pytest.mark.parametrize("phase", ["insert", "delete", "turn"])
@pytest.mark.parametrize("settings", [0, 1, 2])
def test_step_is_the_best_over_all_members_of_the_class(phase: Phase, settings: int) -> None:
    rng = np.random.default_rng(settings)
    data = simulate("linear", 5, 2, n=300, seed=settings, settings=settings, targets_per_setting=(1, 2), heldout=0)
    assert data.targets is not None
    search, taken = GreedySearch(InterventionalScore(data)), 0
    known = cache(lambda node, parents: local_score(data, node, [parents >> i & 1 for i in range(5)], 0))

    def score(dag: npt.NDArray[np.int8]) -> float:
        return sum(known(node, parents) for node, parents in enumerate(EssentialGraph.from_matrix(dag).parents))

    for _ in range(40):
        dag = np.triu(rng.random((5, 5)) < rng.uniform(0.3, 1), k=1).astype(np.int8)
        order = rng.permutation(5)
        graph = class_of(dag[np.ix_(order, order)], data.targets)
        best, leads_to = -np.inf, set[EssentialGraph]()
        for member in members_of(graph, data.targets):
            before = score(member)
            for changed in changes(member, phase):
                gain = score(changed) - before
                if gain > best + 1e-6:
                    best, leads_to = gain, set()
                if gain > best - 1e-6:
                    leads_to.add(class_of(changed, data.targets))
        step = search.best_step(graph, phase)
        if step is None:
            assert best == -np.inf or (phase == "turn" and best < 1e-6)
        else:
            taken += 1
            assert step.gain == pytest.approx(best, abs=1e-5)
            assert step.graph in leads_to
    assert taken > 5


def test_cliques_that_are_too_large_are_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("baselines.gies.greedy_search.LARGEST_CLIQUE", 2)
    data = simulate("linear", 8, 3, "none", n=300, seed=5)
    search = GreedySearch(InterventionalScore(data))
    for penalty in (1e-4, 0.1, 3.0):
        graph = search.run(penalty)
        assert class_of(draw_dag(graph, np.random.default_rng(0)), [[0] * 8]) == graph
