"""Methods as the paper's authors ran them: what is special about each, and the published figures on their data."""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import erfc

from baselines import gies, igsp, jci_pc, ut_igsp
from baselines._shared.ci_tests import Memo
from baselines.gies.published import heldout_errors
from baselines.igsp.published import OldArc, OldDag, OldSearch, ShiftedArcs, by_targets, old_search
from baselines.igsp.search import covered_arcs, target_sets
from baselines.jci_pc.published import independent_as_text, place_in_random_order
from benchmark.dataset import Dataset, DatasetError
from benchmark.metrics import shd, sid
from benchmark.paper.data import imported_file, is_imported
from benchmark.paper.published import load_published
from benchmark.simulate import simulate

ANSWERS = Path(__file__).parent / "oracle" / "published"
needs_data = pytest.mark.skipif(
    not is_imported(), reason="the paper's data sets are not imported (make published-data)"
)
CONDITIONS = [(m, d, e) for d in (10, 20) for e in (1, 4) for m in ("linear", "anm", "nn")]
SMALL = [condition for condition in CONDITIONS if condition[1:] == (10, 1)]


def published_data(mechanism: str, nodes: int, edges: int, index: int, intervention: str = "perfect") -> Dataset:
    condition = {"mechanism": mechanism, "nodes": nodes, "edges_per_node": edges, "intervention": intervention}
    return Dataset.load(imported_file(condition, f"{index:02d}"))


def distances_to(truth: Any, graph: Any) -> tuple[float, float]:
    return shd(truth, graph), sid(truth, graph)


def answers(name: str) -> list[dict[str, Any]]:
    """The answers of the authors' programs on the paper's data, a graph or its distances each."""
    found: list[dict[str, Any]] = json.loads((ANSWERS / f"{name}.json").read_text())
    return found


def cells_that_differ(label: str, setting: str, test: str, distances: dict[tuple[Any, ...], list[Any]]) -> list[str]:
    """Compare mean and standard deviation with the paper's, to the printed decimal; ``distances`` by condition, alpha.

    Returns what differs, as text.
    """
    figures = load_published()
    figures = figures[(figures["experiment"] == "main") & (figures["setting"] == setting)]
    figures = figures[(figures["method"] == label) & (figures["test"] == test) & (figures["alpha"] != "best")]
    differ = []
    for (mechanism, nodes, edges, alpha), values in distances.items():
        of_cell = figures[(figures["mechanism"] == mechanism) & (figures["nodes"] == nodes)]
        of_cell = of_cell[(of_cell["edges_per_node"] == str(edges)) & (of_cell["alpha"].astype(float) == alpha)]
        assert sorted(of_cell["metric"]) == ["shd", "sid"]
        for column, metric in enumerate(("shd", "sid")):
            column_values = pd.Series([pair[column] for pair in values])
            figure = of_cell[of_cell["metric"] == metric].iloc[0]
            ours, theirs = (column_values.mean(), column_values.std()), (figure["mean"], figure["std"])
            if any(abs(one - other) > 0.05 + 1e-9 for one, other in zip(ours, theirs, strict=True)):
                differ.append(f"{mechanism} d={nodes} e={edges} alpha={alpha} {metric}: {ours} {theirs}")
    return differ


# --- all of them


@pytest.mark.parametrize("method", [igsp, jci_pc, ut_igsp], ids=["igsp", "jci-pc", "ut-igsp"])
def test_held_out_rows_are_left_out(method: Any) -> None:
    data = simulate("linear", 5, 1, "perfect", n=1000, seed=3)
    rng = np.random.default_rng(0)
    X = np.where(data.training[:, None], data.X, rng.normal(size=data.X.shape))
    other = Dataset(X, data.setting, data.targets, heldout=data.heldout)
    for alpha in (0.2, 0.001):
        one, two = (method.fit(shown, seed=0, alpha=alpha, variant="published") for shown in (data, other))
        np.testing.assert_array_equal(one.graph, two.graph)


@pytest.mark.parametrize("method", [igsp, jci_pc, ut_igsp], ids=["igsp", "jci-pc", "ut-igsp"])
def test_variants_do_not_meet_in_a_sweep(method: Any) -> None:
    data = simulate("nn", 6, 1.5, "perfect", n=1000, seed=4)
    grid = [{"alpha": alpha, "variant": variant} for alpha in (0.2, 0.001) for variant in ("published", "sound")]
    for combination, found in zip(grid, method.sweep(data, seed=2, grid=grid), strict=True):
        np.testing.assert_array_equal(found.graph, method.fit(data, seed=2, **combination).graph)
    assert method.fit(data, seed=2, alpha=0.2).graph.tolist() == method.fit(data, seed=2, **grid[1]).graph.tolist()


@pytest.mark.parametrize("method", [igsp, jci_pc, ut_igsp], ids=["igsp", "jci-pc", "ut-igsp"])
def test_an_unknown_variant_is_refused(method: Any) -> None:
    data = simulate("linear", 4, 1, "perfect", n=300, seed=0)
    with pytest.raises(ValueError, match="variant is 'publisht'; expected 'sound' or 'published'"):
        method.fit(data, seed=0, alpha=0.01, variant="publisht")


# --- GIES


def test_gies_finds_the_same_graphs_and_scores_them_otherwise() -> None:
    data = simulate("linear", 6, 1.5, "perfect", n=2000, seed=5)
    for penalty in (0.1, 10.0):
        sound, published = (gies.fit(data, seed=1, penalty=penalty, variant=name) for name in ("sound", "published"))
        np.testing.assert_array_equal(sound.graph, published.graph)
        assert sound.heldout_nll != published.heldout_nll
    unsplit = Dataset(data.X, data.setting, data.targets)
    assert gies.fit(unsplit, seed=1, penalty=10.0, variant="published").heldout_nll is None


def test_the_error_of_gies_is_that_of_least_squares_without_intercepts() -> None:
    """Training stops near the minimum: where 100 iterations gain less than 1e-4."""
    data = simulate("linear", 5, 1, "perfect", n=3000, seed=6)
    X = data.X + 0.5  # an intercept would matter
    shifted = Dataset(X, data.setting, data.targets, heldout=data.heldout)
    assert data.graph is not None
    assert shifted.heldout is not None
    free = ~shifted.targeted
    expected = []
    for j in range(5):
        parents = data.graph[:, j] == 1
        train, test = shifted.training & free[:, j], shifted.heldout & free[:, j]
        weights = np.linalg.lstsq(X[train][:, parents], X[train, j], rcond=None)[0]
        expected.append(0.5 * np.mean((X[test, j] - X[test][:, parents] @ weights) ** 2))
    empty = np.zeros((5, 5), dtype=np.int8)
    found = heldout_errors(shifted, [data.graph, empty, data.graph])
    assert found[0] == found[2] == pytest.approx(np.mean(expected), abs=0.005)
    assert found[1] == pytest.approx(
        np.mean([0.5 * np.mean(X[shifted.heldout & free[:, j], j] ** 2) for j in range(5)])
    )


# --- JCI-PC


@pytest.mark.parametrize("alpha", [0.2, 0.1, 0.01, 0.001])
def test_p_values_are_compared_as_text(alpha: float) -> None:
    strengths = np.concatenate([np.linspace(0, 40, 4001), [3.8905, 3.8907, 37.519, 37.52]])
    tails = np.where(strengths < 37.5193, erfc(strengths / np.sqrt(2)), 0.0)
    texts = [f"{p:.15g}" for p in tails]  # R writes numbers like this
    expected = [text >= str(alpha) for text in texts]
    assert independent_as_text(alpha, strengths).tolist() == expected


def test_levels_that_r_would_write_with_an_exponent_are_refused() -> None:
    with pytest.raises(ValueError, match=r"levels of at least 0\.0001"):
        independent_as_text(1e-5, np.zeros(1))


def test_the_random_order_is_that_of_r() -> None:
    """``set.seed(42); sample.int(40)`` of R 4.2.2; 5 of the pairs of bits that were drawn are too large."""
    of_r = (
        "37 1 25 10 36 18 24 7 4 38 5 14 20 26 35 15 3 9 32 30 13 21 2 8 34 40 39 31 17 11 6 12 22 23 28 27 29 33 19 16"
    )
    assert (1 + np.argsort(place_in_random_order(40))).tolist() == [int(number) for number in of_r.split()]
    assert place_in_random_order(1).tolist() == [0]


def jci_pc_distances(conditions: list[tuple[str, int, int]]) -> dict[tuple[Any, ...], list[Any]]:
    alphas = jci_pc.SPACE["alpha"]
    found: dict[tuple[Any, ...], list[Any]] = {(*condition, alpha): [] for condition in conditions for alpha in alphas}
    for condition in conditions:
        for index in range(10):
            data = published_data(*condition, index)
            fits = jci_pc.sweep(data, seed=9, grid=[{"alpha": alpha, "variant": "published"} for alpha in alphas])
            for alpha, result in zip(alphas, fits, strict=True):
                found[(*condition, alpha)].append(distances_to(data.graph, result.graph))
    return found


@needs_data
def test_jci_pc_gives_the_published_figures_of_small_graphs() -> None:
    distances = jci_pc_distances(SMALL)
    assert cells_that_differ("JCI-PC", "unknown", "gauss", distances) == []
    for answer in answers("jci_pc"):
        key = tuple(answer[name] for name in ("mechanism", "nodes", "edges_per_node")), float(answer["alpha"])
        if key[0] in SMALL and answer["extendable"]:
            assert distances[(*key[0], key[1])][answer["dataset"]] == (answer["shd"], answer["sid"])


@needs_data
@pytest.mark.slow
def test_jci_pc_gives_all_published_figures() -> None:
    assert cells_that_differ("JCI-PC", "unknown", "gauss", jci_pc_distances(CONDITIONS)) == []


# --- IGSP and UT-IGSP


class Recorder:
    """Tests that note what they are asked, and answer by chance."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.asked: list[tuple[int, int, tuple[int, ...]]] = []

    def independence(self, i: int, j: int, given: tuple[int, ...]) -> float:
        return random.Random(f"{self._seed} {i} {j} {given}").random()

    def invariance(self, i: int, setting: int, given: tuple[int, ...]) -> float:
        self.asked.append((i, setting, given))
        return random.Random(f"{self._seed} {i} {setting} {given} invariance").random()


def test_the_shifted_question() -> None:
    """Asked about 3 -> 1 with setting 4 on node 3: node 1 given variable number 3, counted from 0, in setting 1."""
    recorder = Recorder(0)
    search = OldSearch(5, Memo(recorder), 0.5, random.Random(1), 0.5, frozenset())
    arcs = ShiftedArcs(search, [frozenset({0}), frozenset({1}), frozenset({2}), frozenset({3})])
    arcs.may_reverse(3, 1)
    assert recorder.asked == [(1, 1, (3,))]
    assert arcs.may_reverse(4, 1)  # no setting targets it alone
    swapped = ShiftedArcs(search, [frozenset({1}), frozenset({0})])
    assert not swapped.may_reverse(0, 1)  # given itself
    assert len(recorder.asked) == 1


def test_igsp_as_published_has_no_more_settings_than_variables() -> None:
    X = np.random.default_rng(0).normal(size=(40, 2))
    data = Dataset(X, np.arange(40) % 4, [[0, 0], [1, 0], [0, 1], [1, 1]])
    with pytest.raises(DatasetError, match="3 settings for 2 variables"):
        igsp.fit(data, seed=0, alpha=0.01, variant="published")


def test_marginals_pass_under_kernels_where_samples_differ_in_size() -> None:
    data = Dataset(np.zeros((7, 2)), [0, 0, 0, 1, 1, 1, 2], [[0, 0], [1, 0], [0, 1]])
    tests = Memo(Recorder(0))
    search = old_search(data, tests, "kci", 0.999)
    assert (search.starting_level, search.untested) == (0.999, frozenset({2}))
    assert search.invariant(0, 2, 0)
    assert not search.invariant(0, 1, 0)
    assert not search.invariant(0, 2, 1 << 1)
    assert old_search(data, tests, "gauss", 0.1).untested == frozenset()


def test_settings_are_numbered_by_their_targets() -> None:
    setting = np.array([0, 1, 2, 3, 4])
    targets = [[0, 0, 0], [0, 1, 1], [0, 1, 0], [1, 0, 0], [0, 1, 0]]
    found = by_targets(Dataset(np.arange(15.0).reshape(5, 3), setting, targets))
    assert target_sets(found) == [frozenset({0}), frozenset({1}), frozenset({1, 2})]
    assert found.setting.tolist() == [0, 3, 2, 1, 2]


def test_arcs_are_hashed_as_in_python_37() -> None:
    assert hash(OldArc((1, 2))) == 3713081631934410656
    assert OldArc((1, 2)) == (1, 2)


@pytest.mark.parametrize("seed", range(5))
def test_old_dags_have_the_arcs_of_their_parents(seed: int) -> None:
    search = OldSearch(7, Memo(Recorder(seed)), 0.4, random.Random(seed), 0.4, frozenset())
    dag = next(search.starts())
    for step in range(30):
        assert isinstance(dag, OldDag)
        assert sorted(dag.arcs) == sorted((i, j) for j in range(7) for i in range(7) if dag[j] >> i & 1)
        choices = search.covered(dag)
        assert sorted(choices) == covered_arcs(dag)
        if not choices:
            break
        dag = search.reversed(dag, choices[step % len(choices)])


def test_ut_igsp_as_published_needs_targets() -> None:
    data = simulate("linear", 4, 1, "perfect", n=400, seed=0).blind(hide_targets=True)
    with pytest.raises(DatasetError, match="UT-IGSP as published was told them"):
        ut_igsp.fit(data, seed=0, alpha=0.01, variant="published")
    ut_igsp.fit(data, seed=0, alpha=0.01)


def test_the_later_library_is_not_that_of_the_paper() -> None:
    data = simulate("linear", 4, 1, "perfect", n=400, seed=0)
    with pytest.raises(ValueError, match="variant 'published' needs engine 'python'"):
        igsp.fit(data, seed=0, alpha=0.01, variant="published", engine="causaldag")


@cache
def ut_igsp_graphs(mechanism: str, nodes: int, edges: int, index: int) -> dict[float, Any]:
    data = published_data(mechanism, nodes, edges, index)
    alphas = ut_igsp.SPACE["alpha"]
    fits = ut_igsp.sweep(data, seed=9, grid=[{"alpha": alpha, "variant": "published"} for alpha in alphas])
    return {alpha: result.graph for alpha, result in zip(alphas, fits, strict=True)}


def check_ut_igsp(keep: Callable[[tuple[str, int, int]], bool]) -> int:
    """Compare with the graphs of the library of 2020; return how many."""
    compared = 0
    for answer in answers("ut_igsp"):
        condition = answer["mechanism"], answer["nodes"], answer["edges_per_node"]
        if keep(condition):
            graph = ut_igsp_graphs(*condition, answer["dataset"])[float(answer["alpha"])]
            assert np.argwhere(graph).tolist() == sorted(answer["edges"]), answer
            compared += 1
    return compared


@needs_data
def test_ut_igsp_gives_the_graphs_of_the_library_of_2020() -> None:
    assert check_ut_igsp(lambda condition: condition[1:] == (10, 1)) == 140


@needs_data
@pytest.mark.slow
def test_ut_igsp_gives_all_graphs_and_all_published_figures() -> None:
    assert check_ut_igsp(lambda condition: True) == 250
    distances: dict[tuple[Any, ...], list[Any]] = {}
    for condition in CONDITIONS:
        for index in range(10):
            truth = published_data(*condition, index).graph
            for alpha, graph in ut_igsp_graphs(*condition, index).items():
                distances.setdefault((*condition, alpha), []).append(distances_to(truth, graph))
    assert cells_that_differ("UT-IGSP", "unknown", "gauss", distances) == []
