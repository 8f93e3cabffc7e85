"""Simulated data have the structure, the interventions and the two conventions that the paper's tables need."""

from collections.abc import Callable
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.dataset import Dataset
from benchmark.mechanisms import MECHANISMS, AdditiveNoise, Cross, Helix, Linear, Network
from benchmark.simulate import Convention, Intervention, simulate, split_rows

Values = npt.NDArray[np.float64]
Rows = npt.NDArray[np.bool_]
CONVENTIONS: tuple[Convention, ...] = get_args(Convention)
INTERVENTIONS: tuple[Intervention, ...] = get_args(Intervention)


def truth(data: Dataset) -> npt.NDArray[np.int8]:
    assert data.graph is not None
    return data.graph


def targets_of(data: Dataset) -> npt.NDArray[np.int8]:
    assert data.targets is not None
    return data.targets


def regress(data: Dataset, j: int, rows: Rows) -> tuple[Values, float]:
    """Coefficients of variable j on its true parents over these rows, and the residual standard deviation."""
    design = np.column_stack([data.X[rows][:, truth(data)[:, j] == 1], np.ones(rows.sum())])
    coefficients = np.linalg.lstsq(design, data.X[rows, j], rcond=None)[0]
    return coefficients[:-1], float(np.std(data.X[rows, j] - design @ coefficients))


def unscaled_coefficients(data: Dataset) -> Values:
    """Edge weights over untargeted rows, each variable in units of its noise: standardisation cancels."""
    weights, noise = np.zeros((data.d, data.d)), np.zeros(data.d)
    for j in range(data.d):
        weights[truth(data)[:, j] == 1, j], noise[j] = regress(data, j, ~data.targeted[:, j])
    return weights * noise[:, None] / noise[None, :]


# --- shapes, settings, rows, split


def test_paper_sizes_of_ten_nodes() -> None:
    data = simulate("linear", 10, 1, n=10_000)
    assert data.X.shape == (10_000, 10)
    assert sorted(np.bincount(data.setting)) == [909] * 10 + [910]
    assert data.heldout is not None
    assert data.heldout.sum() == 2000
    held = np.bincount(data.setting, weights=data.heldout)
    assert set(held) <= {181.0, 182.0}
    targets = targets_of(data)
    assert targets.shape == (11, 10)
    assert not targets[0].any()
    assert (targets.sum(axis=0) == 1).all()  # each node is the target of exactly one setting
    assert (targets[1:].sum(axis=1) == 1).all()
    assert data.names == tuple(f"V{j}" for j in range(10))


def test_paper_sizes_of_twenty_nodes() -> None:
    sizes = []
    for seed in range(20):
        data = simulate("linear", 20, 1, n=100, seed=seed)
        targets = targets_of(data)
        assert targets.shape == (21, 20)
        sizes += targets[1:].sum(axis=1).tolist()
    assert set(sizes) == {1, 2}
    assert abs(np.mean(sizes) - 1.5) < 0.1  # 400 draws: 4 standard errors


@settings(deadline=None, max_examples=60)
@given(
    n=st.integers(20, 300),
    nodes=st.integers(2, 6),
    count=st.integers(0, 12),
    most=st.integers(1, 2),
    share=st.sampled_from([0.1, 0.2, 1 / 3, 0.5]),
    mechanism=st.sampled_from(sorted(MECHANISMS)),
    intervention=st.sampled_from(INTERVENTIONS),
    convention=st.sampled_from(CONVENTIONS),
)
def test_rows_are_divided_evenly(
    n: int,
    nodes: int,
    count: int,
    most: int,
    share: float,
    mechanism: str,
    intervention: Intervention,
    convention: Convention,
) -> None:
    data = simulate(
        mechanism,
        nodes,
        0.5,
        intervention,
        n,
        settings=count,
        targets_per_setting=(1, most),
        convention=convention,
        heldout=share,
    )
    count = 0 if intervention == "none" else count
    rows = np.bincount(data.setting)
    assert (data.n, data.d, data.settings, len(targets_of(data))) == (n, nodes, count + 1, count + 1)
    assert rows.max() - rows.min() <= 1
    sizes = targets_of(data)[1:].sum(axis=1)
    assert ((sizes >= 1) & (sizes <= most)).all()
    assert data.heldout is not None
    assert data.heldout.sum() == int(n * share + 1e-9)
    held = np.bincount(data.setting, weights=data.heldout)
    assert (np.abs(held - rows * share) < 1).all()


def test_targets_are_distinct_while_there_are_nodes_left() -> None:
    targets = targets_of(simulate("linear", 4, 1, n=100, settings=9))
    np.testing.assert_array_equal(targets[1:5].sum(axis=0), 1)
    np.testing.assert_array_equal(targets[5:9].sum(axis=0), 1)


def test_nothing_is_held_out_when_asked() -> None:
    assert simulate("linear", 3, 1, n=50, heldout=0).heldout is None


def test_split_is_random_within_a_setting() -> None:
    setting = np.repeat([0, 1], [30, 20])
    splits = np.array([split_rows(setting, 0.2, np.random.default_rng(seed)) for seed in range(500)])
    assert (splits.sum(axis=1) == 10).all()
    share = splits.mean(axis=0)
    assert np.abs(share - 0.2).max() < 5 * np.sqrt(0.16 / 500)  # every row is as likely as any other


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_same_seed_same_data(mechanism: str, convention: Convention) -> None:
    one, again, other = (simulate(mechanism, 4, 1, n=60, seed=seed, convention=convention) for seed in (7, 7, 8))
    for name in ("X", "setting", "targets", "graph", "heldout"):
        np.testing.assert_array_equal(getattr(one, name), getattr(again, name))
    assert not np.array_equal(one.X, other.X)
    assert one.parameters == again.parameters


def test_parameters_reproduce_the_data() -> None:
    data = simulate("nn", 5, 1, "imperfect", 80, 3, settings=3, targets_per_setting=(1, 2), convention="as_written")
    again = simulate(**data.parameters)
    np.testing.assert_array_equal(data.X, again.X)


@pytest.mark.parametrize(("nodes", "edges_per_node"), [(10, 1), (10, 4), (20, 1), (5, 2)])
def test_expected_density(nodes: int, edges_per_node: float) -> None:
    draws = 200
    graphs = np.array([truth(simulate("linear", nodes, edges_per_node, "none", 4, s, heldout=0)) for s in range(draws)])
    pairs = nodes * (nodes - 1) / 2
    share = edges_per_node * nodes / pairs
    error = np.sqrt(pairs * share * (1 - share) / draws)
    assert abs(graphs.sum(axis=(1, 2)).mean() - edges_per_node * nodes) <= 4 * error
    forward = np.triu(graphs).sum() / graphs.sum()
    assert abs(forward - 0.5) < 0.1  # the order is random: names give no direction away


# --- conventions


@pytest.mark.parametrize("intervention", INTERVENTIONS)
@pytest.mark.parametrize("mechanism", ["linear", "anm", "nn"])
def test_released_is_standardised_within_settings(mechanism: str, intervention: Intervention) -> None:
    data = simulate(mechanism, 6, 2, intervention, 700, convention="released")
    for k in range(data.settings):
        rows = data.X[data.setting == k]
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(rows.std(axis=0), 1, atol=1e-9)


@pytest.mark.parametrize("intervention", INTERVENTIONS)
@pytest.mark.parametrize("mechanism", ["linear", "anm", "nn"])
def test_as_written_is_standardised_over_all_rows(mechanism: str, intervention: Intervention) -> None:
    data = simulate(mechanism, 6, 2, intervention, 700, convention="as_written")
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(data.X.std(axis=0), 1, atol=1e-9)
    if intervention != "none":
        sds = [data.X[data.setting == k].std(axis=0) for k in range(data.settings)]
        assert np.ptp(sds, axis=0).min() > 0.02


def test_one_row_per_setting_is_finite() -> None:
    assert np.isfinite(simulate("linear", 4, 1, n=5, heldout=0).X).all()


def test_as_written_keeps_the_mean_shift() -> None:
    """Sources only: in units of a target's own sd (1 before standardisation) it is 2 above the other rows."""
    data = simulate("linear", 5, 0, n=24_000, convention="as_written")
    for j in range(5):
        targeted = data.targeted[:, j]
        unit = data.X[targeted, j].std()
        assert (data.X[targeted, j].mean() - data.X[~targeted, j].mean()) / unit == pytest.approx(2, abs=0.12)
        assert 0.95 < data.X[~targeted, j].std() / unit < np.sqrt(2) + 0.05  # variance of sources: U[1, 2]


def test_mean_shift_of_targets_with_parents() -> None:
    data = simulate("linear", 6, 2, n=14_000, convention="as_written", seed=2)
    for k in range(1, 7):
        (j,) = np.flatnonzero(targets_of(data)[k])
        assert data.X[data.setting == k, j].mean() > data.X[data.setting == 0, j].mean() + 0.3


def test_noise_is_that_of_the_paper() -> None:
    """Noise is 0.4 N_j with variance U[1, 2]; a perfect target has sd 1 and so gives the scale of its variable."""
    scales = []
    for seed in range(12):
        data = simulate("linear", 5, 1, n=9000, convention="as_written", seed=seed)
        for j in range(5):
            noise = regress(data, j, ~data.targeted[:, j])[1] / data.X[data.targeted[:, j], j].std()
            scales.append(noise / 0.4 if truth(data)[:, j].any() else noise)
    assert min(scales) > 0.94
    assert max(scales) < np.sqrt(2) * 1.06
    assert np.mean(np.square(scales)) == pytest.approx(1.5, abs=0.15)


def test_noise_scales_by_convention() -> None:
    """Residual sd over slope does not depend on the child's own scale: 0.4 sigma / |w| of each setting."""
    for seed in range(3):
        ratios: dict[Convention, Values] = {}
        for convention in CONVENTIONS:
            data = simulate("linear", 2, 0.5, n=45_000, settings=8, convention=convention, seed=seed)
            (child,) = np.flatnonzero(truth(data).any(axis=0))
            ratio = []
            for k in np.flatnonzero(targets_of(data)[:, child] == 0):
                (slope,), noise = regress(data, int(child), data.setting == k)
                # "as_written" data share one scale per variable; "released" parents have sd 1 in each setting
                ratio.append(noise / abs(slope))
            ratios[convention] = np.array(ratio)
        written, released = ratios["as_written"], ratios["released"]
        assert len(written) == len(released) == 5
        assert written.max() / written.min() < 1.12
        assert 1.12 < released.max() / released.min() < np.sqrt(2) * 1.1


# --- twins


@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_twin_has_the_same_graph(mechanism: str) -> None:
    graphs = [
        truth(simulate(mechanism, 6, 1.5, intervention, 40, 5, convention=convention))
        for intervention in INTERVENTIONS
        for convention in CONVENTIONS
    ]
    assert graphs[0].any()
    for graph in graphs[1:]:
        np.testing.assert_array_equal(graph, graphs[0])


@pytest.mark.parametrize("intervention", ["perfect", "perfect-uniform", "imperfect", "imperfect-small"])
def test_twin_has_the_same_mechanisms(intervention: Intervention) -> None:
    for seed in (1, 2):
        data = simulate("linear", 5, 1, intervention, 24_000, seed, convention="as_written")
        twin = simulate("linear", 5, 1, "none", 24_000, seed, convention="as_written")
        other = simulate("linear", 5, 1, "none", 24_000, seed + 10, convention="as_written")
        assert twin.settings == 1
        assert not targets_of(twin).any()
        np.testing.assert_allclose(unscaled_coefficients(data), unscaled_coefficients(twin), rtol=0.06, atol=0.06)
        assert not np.allclose(unscaled_coefficients(data), unscaled_coefficients(other), rtol=0.2, atol=0.2)


def test_twin_of_released_data_has_the_same_mechanisms() -> None:
    """Parents have sd 1, so the ratio of two coefficients of one child does not depend on the setting's scales."""
    data = simulate("linear", 6, 2.5, n=28_000, seed=4)
    twin = simulate("linear", 6, 2.5, "none", n=28_000, seed=4)
    children = [j for j in range(6) if truth(data)[:, j].sum() >= 2]
    assert children
    for j in children:
        expected, _ = regress(twin, j, np.ones(twin.n, dtype=bool))
        for k in np.flatnonzero(targets_of(data)[:, j] == 0):
            found, _ = regress(data, j, data.setting == k)
            np.testing.assert_allclose(found / np.linalg.norm(found), expected / np.linalg.norm(expected), atol=0.1)


# --- interventions


def edges_into_targets(data: Dataset) -> list[tuple[int, int]]:
    """(setting, target) of the targets that have parents."""
    pairs = np.argwhere(targets_of(data))
    return [(int(k), int(j)) for k, j in pairs if truth(data)[:, j].any()]


def explained(data: Dataset, j: int, rows: Rows) -> float:
    """Share of the variance of j that its parents explain linearly."""
    return 1 - (regress(data, j, rows)[1] / float(data.X[rows, j].std())) ** 2


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("mechanism", ["linear", "anm", "nn"])
@pytest.mark.parametrize("intervention", ["perfect", "perfect-uniform"])
def test_perfect_targets_do_not_depend_on_their_parents(
    mechanism: str, intervention: Intervention, convention: Convention
) -> None:
    data = simulate(mechanism, 6, 1.5, intervention, 14_000, 3, convention=convention)
    pairs = edges_into_targets(data)
    assert len(pairs) >= 3
    for k, j in pairs:
        parents = truth(data)[:, j].sum()
        assert explained(data, j, data.setting == k) < (parents + 6 * np.sqrt(2 * parents) + 6) / 2000


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("intervention", ["imperfect", "imperfect-small"])
def test_imperfect_targets_depend_on_their_parents(intervention: Intervention, convention: Convention) -> None:
    data = simulate("linear", 6, 1.5, intervention, 14_000, 3, convention=convention)
    pairs = edges_into_targets(data)
    assert len(pairs) >= 3
    for k, j in pairs:
        assert explained(data, j, data.setting == k) > 0.3


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_perfect_uniform_targets_are_bounded(convention: Convention) -> None:
    """The range of U[-1, 1] is 2 sqrt(3) of its standard deviations; a normal sample's is near 7."""
    for intervention, low, high in (("perfect-uniform", 3.3, 3.6), ("perfect", 5.5, 10.0)):
        data = simulate("nn", 5, 1, intervention, 12_000, 1, convention=convention)  # type: ignore[arg-type]
        for k in range(1, 6):
            (j,) = np.flatnonzero(targets_of(data)[k])
            values = data.X[data.setting == k, j]
            assert low < np.ptp(values) / values.std() < high


def test_perfect_uniform_has_no_mean_shift() -> None:
    data = simulate("linear", 5, 0, "perfect-uniform", 24_000, convention="as_written")
    for j in range(5):
        targeted = data.targeted[:, j]
        assert abs(data.X[targeted, j].mean() - data.X[~targeted, j].mean()) < 0.1


@pytest.mark.parametrize("intervention", ["imperfect", "imperfect-small"])
def test_imperfect_targets_without_parents_become_shifted_normals(intervention: Intervention) -> None:
    data = simulate("linear", 4, 0, intervention, 20_000, convention="as_written")
    for j in range(4):
        targeted = data.targeted[:, j]
        unit = data.X[targeted, j].std()
        assert (data.X[targeted, j].mean() - data.X[~targeted, j].mean()) / unit == pytest.approx(2, abs=0.12)


def relative_changes(data: Dataset, j: Any) -> list[Values]:
    """Coefficients of j in each setting that targets it, over those of its untargeted rows."""
    before, _ = regress(data, j, ~data.targeted[:, j])
    return [regress(data, j, data.setting == k)[0] / before for k in np.flatnonzero(targets_of(data)[:, j])]


KINDS: tuple[Intervention, Intervention] = ("imperfect", "imperfect-small")


def test_imperfect_changes_by_a_lot_and_small_by_a_little() -> None:
    """Weights are in +-[0.25, 1]; a lot adds +-[2, 5], a little adds [0.5, 1] away from 0."""
    seen = 0
    for seed in range(4):
        large, small = (simulate("linear", 5, 0.75, kind, 18_000, seed, convention="as_written") for kind in KINDS)
        for j in np.flatnonzero(truth(large).any(axis=0)):
            (lot,), (little,) = relative_changes(large, j), relative_changes(small, j)
            seen += len(lot)
            assert (np.abs(lot - 1) > 2 * 0.85).all()
            assert (np.abs(lot - 1) < 20 * 1.25).all()
            assert (little > 1.5 * 0.85).all()  # no sign changes: no dependency is lost
            assert (little < 5 * 1.25).all()
            assert (np.abs(little - 1) < np.abs(lot - 1)).all()
    assert seen >= 8


@pytest.mark.parametrize("intervention", ["imperfect", "imperfect-small"])
def test_a_node_changes_alike_in_every_setting(intervention: Intervention) -> None:
    for seed in range(3):
        data = simulate("linear", 3, 1, intervention, 20_000, seed, settings=6, convention="as_written")
        for j in np.flatnonzero(truth(data).any(axis=0)):
            one, other = relative_changes(data, j)
            np.testing.assert_allclose(one, other, rtol=0.15, atol=0.15)


# --- two-node sets


@pytest.mark.parametrize("convention", CONVENTIONS)
@pytest.mark.parametrize("mechanism", ["x", "dna"])
def test_two_node_sets(mechanism: str, convention: Convention) -> None:
    data = simulate(mechanism, 2, 0.5, n=12_000, seed=1, convention=convention)
    assert truth(data).sum() == 1
    np.testing.assert_array_equal(np.sort(targets_of(data), axis=0), [[0, 0], [0, 0], [1, 1]])
    assert (targets_of(data)[1:].sum(axis=1) == 1).all()
    ((cause, effect),) = np.argwhere(truth(data))
    for k in range(3):
        x, y = data.X[data.setting == k, cause], data.X[data.setting == k, effect]
        assert abs(np.corrcoef(x, y)[0, 1]) < 5 / np.sqrt(len(x))
        places = np.argsort(np.argsort(x)) * 10 // len(x)
        spread = np.bincount(places, weights=(y - y.mean()) ** 2) / np.bincount(places)
        depends = spread.max() / spread.min() > 1.5  # the spread of the effect varies with the cause
        assert depends == (not targets_of(data)[k, effect])


def test_x_magnitudes_are_dependent() -> None:
    for seed in range(6):
        data = simulate("x", 2, 0.5, "none", 6000, seed)
        assert abs(np.corrcoef(data.X[:, 0], data.X[:, 1])[0, 1]) < 5 / np.sqrt(6000)
        assert np.corrcoef(data.X[:, 0] ** 2, data.X[:, 1] ** 2)[0, 1] > 0.08


# --- errors


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mechanism": "quadratic"}, "mechanism is 'quadratic'; expected one of linear"),
        ({"intervention": "stochastic"}, "intervention is 'stochastic'; expected one of perfect"),
        ({"convention": "paper"}, "convention is 'paper'; expected one of released, as_written"),
        ({"edges_per_node": 2.1}, r"edges_per_node is 2.1; .*5 nodes has between 0 and 2.0"),
        ({"edges_per_node": -1}, "edges_per_node is -1"),
        ({"edges_per_node": float("nan")}, "edges_per_node is nan"),
        ({"nodes": 1, "edges_per_node": 1}, "edges_per_node is 1"),
        ({"nodes": 0}, "nodes is 0"),
        ({"n": 5}, "n is 5; 6 settings need"),
        ({"n": 0, "intervention": "none"}, "n is 0"),
        ({"heldout": 1.0}, "heldout is 1.0"),
        ({"heldout": -0.1}, "heldout is -0.1"),
        ({"settings": -1}, "settings is -1"),
        ({"targets_per_setting": (0, 1)}, "targets_per_setting is"),
        ({"targets_per_setting": (2, 1)}, "targets_per_setting is"),
        ({"targets_per_setting": (1, 6)}, "targets_per_setting is"),
    ],
)
def test_errors_name_the_argument(arguments: dict[str, Any], message: str) -> None:
    call: dict[str, Any] = {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "n": 100} | arguments
    with pytest.raises(ValueError, match=message):
        simulate(**call)


# --- mechanisms

RNG = np.random.default_rng(12345)
MANY = 4000


def drawn(get: Callable[[], Values], times: int = MANY) -> Values:
    return np.array([get() for _ in range(times)])


@pytest.mark.parametrize("kind", [Linear, Cross])
def test_linear_weights(kind: type[Linear] | type[Cross]) -> None:
    weights = drawn(lambda: kind.draw(RNG, 3).weights)
    assert weights.shape == (MANY, 3)
    assert np.abs(weights).min() >= 0.25
    assert np.abs(weights).max() <= 1.0
    np.testing.assert_allclose(np.quantile(np.abs(weights), [0.25, 0.5, 0.75]), [0.4375, 0.625, 0.8125], atol=0.02)
    assert abs((weights > 0).mean() - 0.5) < 0.03


def test_linear_changes() -> None:
    start = Linear.draw(RNG, 2000)
    lot = start.changed(RNG, "large").weights - start.weights
    assert np.abs(lot).min() >= 2
    assert np.abs(lot).max() <= 5
    assert abs((lot > 0).mean() - 0.5) < 0.06
    assert np.abs(lot).mean() == pytest.approx(3.5, abs=0.1)
    little = start.changed(RNG, "small").weights - start.weights
    assert np.abs(little).min() >= 0.5
    assert np.abs(little).max() <= 1
    np.testing.assert_array_equal(np.sign(little), np.sign(start.weights))


@pytest.mark.parametrize(("kind", "inputs", "units"), [(AdditiveNoise, 3, 10), (Network, 4, 20)])
def test_network_parameters(kind: type[AdditiveNoise] | type[Network], inputs: int, units: int) -> None:
    networks = [kind.draw(RNG, 3) for _ in range(1000)]
    for weights, shape in (
        (np.array([network.weights1 for network in networks]), (inputs, units)),
        (np.array([network.weights2 for network in networks]), (units,)),
    ):
        assert weights.shape[1:] == shape
        assert weights.mean() == pytest.approx(0, abs=0.05)
        assert weights.std() == pytest.approx(1, abs=0.05)
    for biases, fan_in in (
        (np.array([network.bias1 for network in networks]), inputs),
        (np.array([network.bias2 for network in networks]), units),
    ):
        assert np.abs(biases).max() <= 1 / np.sqrt(fan_in)
        assert biases.std() == pytest.approx(1 / np.sqrt(3 * fan_in), rel=0.1)


@pytest.mark.parametrize("kind", [AdditiveNoise, Network])
def test_network_changes(kind: type[AdditiveNoise] | type[Network]) -> None:
    networks = [kind.draw(RNG, 3) for _ in range(500)]
    lot = [network.changed(RNG, "large") for network in networks]
    little = [network.changed(RNG, "small") for network in networks]
    for before, after in zip(networks, lot, strict=True):  # a lot: the last layer only
        np.testing.assert_array_equal(before.weights1, after.weights1)
        np.testing.assert_array_equal(before.bias1, after.bias1)
    last = np.array([after.weights2 - before.weights2 for before, after in zip(networks, lot, strict=True)])
    assert last.std() == pytest.approx(1, abs=0.06)
    for name in ("weights1", "weights2"):  # a little: every weight
        change = [getattr(after, name) - getattr(before, name) for before, after in zip(networks, little, strict=True)]
        assert np.std(change) == pytest.approx(0.1, abs=0.006)


def test_additive_noise_is_additive_and_leaky() -> None:
    network = AdditiveNoise.draw(RNG, 2)
    parents, noise = RNG.normal(size=(50, 2)), RNG.normal(size=50)
    hidden = parents @ network.weights1 + network.bias1
    expected = np.where(hidden > 0, hidden, 0.25 * hidden) @ network.weights2 + network.bias2
    np.testing.assert_allclose(network(parents, np.zeros(50), RNG), expected)
    np.testing.assert_allclose(network(parents, noise, RNG), expected + noise)


def test_network_takes_noise_as_an_input() -> None:
    network = Network.draw(RNG, 2)
    parents, noise = RNG.normal(size=(50, 2)), RNG.normal(size=50)
    inputs = np.column_stack([parents, noise])
    expected = np.tanh(inputs @ network.weights1 + network.bias1) @ network.weights2 + network.bias2
    np.testing.assert_allclose(network(parents, noise, RNG), expected)


def test_mixtures_have_two_branches() -> None:
    parents, none = RNG.normal(size=(400, 1)), np.zeros(400)
    cross = Cross.draw(RNG, 1)
    branch = cross(parents, none, RNG) / (parents @ cross.weights)
    np.testing.assert_allclose(np.abs(branch), 1)
    assert 0.35 < (branch > 0).mean() < 0.65
    helix = Helix.draw(RNG, 1)
    wave = helix.amplitude * np.sin(helix.frequency * (parents[:, 0] + np.pi / 2))
    branch = helix(parents, none, RNG) / wave
    np.testing.assert_allclose(np.abs(branch), 1)
    assert 0.35 < (branch > 0).mean() < 0.65


def test_no_mechanism_changes_its_input() -> None:
    for kind in MECHANISMS.values():
        parents, noise = RNG.normal(size=(10, 2)), RNG.normal(size=10)
        copies = parents.copy(), noise.copy()
        kind.draw(RNG, 2)(parents, noise, RNG)
        np.testing.assert_array_equal(parents, copies[0])
        np.testing.assert_array_equal(noise, copies[1])
