"""Sort-and-regress shows that standardised data give no order away, and that raw ones would."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest

from baselines._shared.sorted_regression import adaptive_lasso
from baselines.r2_sortnregress import explained
from baselines.r2_sortnregress import fit as fit_r2
from baselines.sortnregress import fit
from benchmark.dataset import Dataset, Fit
from benchmark.metrics import sid
from benchmark.simulate import simulate

Values = npt.NDArray[np.float64]
PENALTY = 0.03
SETS = 30
ORDERS = 6


def regress_in(order: npt.NDArray[np.int64], dataset: Dataset) -> Values:
    """The same regressions under a given order."""
    X = dataset.X[dataset.training]
    X = X - X.mean(axis=0)
    graph = np.zeros((dataset.d, dataset.d))
    for place in range(1, dataset.d):
        before, j = order[:place], order[place]
        graph[before, j] = adaptive_lasso(X[:, before], X[:, j], PENALTY) != 0
    return graph


def distances(sets: list[Dataset], fit: Callable[..., Fit] = fit) -> tuple[Values, Values]:
    """SID of a control on each data set, and the mean over random orders."""
    rng = np.random.default_rng(0)
    sorted_, random = [], []
    for number, data in enumerate(sets):
        assert data.graph is not None
        shown = data.blind(hide_targets=False)
        sorted_.append(sid(data.graph, fit(shown, seed=number, penalty=PENALTY).graph))
        random.append(np.mean([sid(data.graph, regress_in(rng.permutation(data.d), data)) for _ in range(ORDERS)]))
    return np.array(sorted_, dtype=float), np.array(random)


def raw_data(seed: int, nodes: int = 6, n: int = 1000) -> Dataset:
    """Linear data on their own scale, where variance grows along the order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(nodes)
    graph = np.zeros((nodes, nodes))
    graph[np.ix_(order, order)] = np.triu(rng.random((nodes, nodes)) < 0.5, k=1)
    weights = graph * rng.uniform(0.8, 2.0, graph.shape) * rng.choice([-1, 1], graph.shape)
    X = np.zeros((n, nodes))
    for j in order:
        X[:, j] = X @ weights[:, j] + rng.normal(size=n)
    return Dataset(X, np.zeros(n, dtype=int), np.zeros((1, nodes)), graph, heldout=np.arange(n) % 5 == 0)


def test_comparison_uses_the_same_regressions() -> None:
    """Given its own order, the comparison finds the graph of the method."""
    data = raw_data(1)
    order = np.argsort(data.X[data.training].var(axis=0))
    np.testing.assert_array_equal(fit(data, seed=0, penalty=PENALTY).graph, regress_in(order, data))


@pytest.mark.parametrize("intervention", ["none", "perfect"])
def test_at_chance_on_standardised_data(intervention: str) -> None:
    sets = [simulate("linear", 6, 1.25, intervention, 1000, seed) for seed in range(SETS)]  # type: ignore[arg-type]
    found, chance = distances(sets)
    difference = found - chance
    assert chance.mean() > 3  # there is something to get wrong
    assert abs(difference.mean()) <= 3 * difference.std(ddof=1) / np.sqrt(SETS)


def test_clearly_better_than_chance_on_raw_data() -> None:
    found, chance = distances([raw_data(seed) for seed in range(SETS)])
    assert found.mean() < 0.5 * chance.mean()
    difference = chance - found
    assert difference.mean() > 5 * difference.std(ddof=1) / np.sqrt(SETS)


def standardised(raw: Dataset) -> Dataset:
    """The same data, each column standardised over all rows."""
    X = (raw.X - raw.X.mean(axis=0)) / raw.X.std(axis=0)
    return Dataset(X, raw.setting, raw.targets, raw.graph, heldout=raw.heldout)


def test_standardising_does_not_hide_the_order_from_r2() -> None:
    found, chance = distances([standardised(raw_data(seed)) for seed in range(SETS)], fit_r2)
    difference = chance - found
    assert difference.mean() > 3 * difference.std(ddof=1) / np.sqrt(SETS)


def test_the_share_explained_by_hand() -> None:
    rng = np.random.default_rng(0)
    x, noise = rng.normal(size=(2, 50_000))
    X = np.stack([x, 2 * x + noise, rng.normal(size=x.size)], axis=1)
    np.testing.assert_allclose(explained(X - X.mean(axis=0)), [0.8, 0.8, 0.0], atol=0.01)
    scaled = X * [1.0, 1e-3, 1e3]
    np.testing.assert_allclose(explained(scaled - scaled.mean(axis=0)), explained(X - X.mean(axis=0)), atol=1e-9)


def test_at_chance_once_raw_data_are_standardised() -> None:
    """What was known is gone."""
    found, chance = distances([standardised(raw_data(seed)) for seed in range(SETS)])
    difference = found - chance
    assert abs(difference.mean()) <= 3 * difference.std(ddof=1) / np.sqrt(SETS)


def test_ties_are_broken_by_the_seed() -> None:
    """Without held-out rows, standardised columns tie exactly: the order must be random, not that of the columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    X[:, 1] += 2 * X[:, 0]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    data = Dataset(X, np.zeros(500, dtype=int), np.zeros((1, 2)))
    forward = [bool(fit(data, seed=seed, penalty=0.01).graph[0, 1]) for seed in range(60)]
    assert 12 < sum(forward) < 48


def test_larger_penalties_keep_fewer_edges() -> None:
    data = raw_data(2)
    edges = [int(fit(data, seed=0, penalty=penalty).graph.sum()) for penalty in (0.001, 0.1, 10.0, 1000.0)]
    assert edges == sorted(edges, reverse=True)
    assert edges[0] > edges[-1] == 0


def test_scale_of_the_data_changes_no_edge() -> None:
    """Units must not matter beyond the order: all columns times 100 keep it."""
    data = simulate("linear", 6, 1.25, "none", 1000, 3)
    scaled = Dataset(100 * data.X, data.setting, data.targets, heldout=data.heldout)
    for penalty in (0.003, 0.03, 0.3):
        one, other = fit(data, seed=0, penalty=penalty), fit(scaled, seed=0, penalty=penalty)
        np.testing.assert_array_equal(one.graph, other.graph)
