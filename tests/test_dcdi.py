"""DCDI as its users see it: the estimator, the fitted densities, and the methods of the workflow."""

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import dcdi
from benchmark.dataset import Dataset, DatasetError, Fit
from benchmark.graphs import find_cycle
from benchmark.methods import ROOT, load_method
from benchmark.simulate import simulate
from dcdi.estimator import DCDI, ConvergenceError
from dcdi.fitted import FittedModel
from dcdi.model import Density, Intervention, Targets
from dcdi.training import Schedule
from tests.dcdi_cases import DENSITIES, MODES, SHORT, Size, a_model, an_engine, some_data

SMALL: dict[str, Any] = {
    "hidden_layers": 1,
    "units": 4,
    "flow_layers": 1,
    "flow_units": 4,
    "engine": "cpu",
    "schedule": SHORT,
}
LABELS = {
    "dcdi-g": "DCDI-G",
    "dcdi-dsf": "DCDI-DSF",
    "dcd": "DCD",
    "dcd-no-interv": "DCD-no-interv",
    "dcdi-linear": "DCDI-linear",
}
GRAPH = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])

every_mode = pytest.mark.parametrize(
    ("density", "intervention", "targets"), [(density, *mode) for density in DENSITIES for mode in MODES]
)


@cache
def chain(intervention: Intervention = "perfect", n: int = 800, settings: int = 4) -> Dataset:
    """V0 -> V1 -> V2, strong and linear; setting k intervenes on variable k - 1."""
    rng = np.random.default_rng(4)
    setting = np.arange(n) % settings
    noise, X = rng.normal(size=(n, 3)), np.zeros((n, 3))
    changed = -0.4 if intervention == "imperfect" else 0.0
    for j in range(3):
        hit = setting == j + 1
        if j > 0:
            X[:, j] = np.where(hit, changed, 1.2) * X[:, j - 1]
        X[:, j] += np.where(hit, 2 + noise[:, j], 0.6 * noise[:, j])
    targets = np.zeros((4, 3), dtype=np.int8)
    targets[np.arange(1, 4), np.arange(3)] = 1
    heldout = rng.random(n) < 0.2
    return Dataset((X - X.mean(axis=0)) / X.std(axis=0), setting, targets[:settings], GRAPH, heldout=heldout)


def hidden(data: Dataset) -> Dataset:
    return Dataset(data.X, data.setting, None, data.graph, data.names, data.heldout)


# --- what it learns


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("intervention", ["perfect", "imperfect"])
def test_recovers_a_clear_graph(density: Density, intervention: Intervention) -> None:
    fit = DCDI(density, 0.02, intervention=intervention, **SMALL).fit(chain(intervention))
    np.testing.assert_array_equal(fit.graph, GRAPH)
    assert fit.heldout_nll is not None
    assert fit.heldout_nll < 0.8


@pytest.mark.slow
def test_recovers_it_with_the_schedule_of_the_paper() -> None:
    fit = DCDI("gaussian", 0.02, engine="cpu").fit(chain())
    np.testing.assert_array_equal(fit.graph, GRAPH)
    assert 20_000 < fit.info["iterations"] < 300_000


@pytest.mark.slow
def test_recovers_it_with_flows() -> None:
    fit = DCDI("dsf", 0.02, engine="cpu").fit(chain(n=4000))
    np.testing.assert_array_equal(fit.graph, GRAPH)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_learns_targets(seed: int) -> None:
    data = simulate("linear", 4, 1, "perfect", n=4000, seed=2)
    fit = DCDI(sparsity=0.1, targets="unknown", engine="cpu", seed=seed).fit(data.blind(hide_targets=True))
    assert data.graph is not None
    assert data.targets is not None
    np.testing.assert_array_equal(fit.graph, data.graph)
    # Variables are standardised within a setting, so an intervention on one without parents leaves no trace.
    visible = data.targets * data.graph.any(axis=0)
    assert fit.targets is not None
    assert visible.sum() == 3
    assert (fit.targets[visible == 1] > 0.5).all()
    assert ((fit.targets > 0.5).sum(axis=1) <= 1).all()


@every_mode
@pytest.mark.parametrize("settings", [1, 4])
def test_every_mode(density: Density, intervention: Intervention, targets: Targets, settings: int) -> None:
    data = chain(n=200, settings=settings)
    fit = DCDI(density, 0.1, intervention=intervention, targets=targets, **SMALL).fit(data)
    assert find_cycle(fit.graph) is None
    assert fit.heldout_nll is not None
    assert math.isfinite(fit.heldout_nll)
    assert fit.info["engine"] == "cpu"
    assert fit.info["h"] <= SHORT.threshold
    assert fit.info["first_stop"] < fit.info["second_stop"] < fit.info["iterations"]
    probabilities = np.array(fit.info["edge_probabilities"])
    np.testing.assert_array_equal(probabilities > 0.5, fit.graph)
    assert ((probabilities >= 0) & (probabilities <= 1)).all()
    assert ((probabilities > 0) & (probabilities < 1)).any()  # those of training, not of the frozen graph
    learns = intervention != "none" and targets == "unknown"
    assert (fit.targets is not None) == learns
    if fit.targets is not None:
        assert fit.targets.shape == (settings, 3)
        assert not fit.targets[0].any()
        assert ((fit.targets >= 0) & (fit.targets <= 1)).all()


def test_seed() -> None:
    first, again, other = (DCDI(sparsity=0.1, seed=seed, **SMALL).fit(chain(n=200)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.graph, again.graph)
    assert first.heldout_nll == again.heldout_nll
    assert first.info == again.info
    assert first.heldout_nll != other.heldout_nll


def test_one_variable() -> None:
    X = np.random.default_rng(0).normal(size=(100, 1))
    fit = DCDI(**SMALL).fit(Dataset(X, np.zeros(100), [[0]]))
    np.testing.assert_array_equal(fit.graph, [[0]])


def test_without_heldout_rows() -> None:
    """A fifth is drawn by the seed, because training has to know when it has converged."""
    data = chain(n=200)
    whole = Dataset(data.X, data.setting, data.targets)
    first, again, other = (DCDI(seed=seed, **SMALL).fit(whole) for seed in (1, 1, 2))
    assert first.heldout_nll == again.heldout_nll != other.heldout_nll
    assert first.heldout_nll is not None


def test_ignoring_interventions_ignores_targets() -> None:
    data = chain(n=200)
    shown, blind = (DCDI(intervention="none", **SMALL).fit(d) for d in (data, hidden(data)))
    np.testing.assert_array_equal(shown.graph, blind.graph)
    assert shown.heldout_nll == blind.heldout_nll


def test_targeted_terms_are_left_out() -> None:
    """Values of a variable where a perfect intervention sets it have no part in its own term."""
    data = chain(n=200)
    X = np.where(data.targeted, 0.0, data.X)
    only_own = DCDI(sparsity=100.0, **SMALL).fit(Dataset(X, data.setting, data.targets, heldout=data.heldout))
    as_given = DCDI(sparsity=100.0, **SMALL).fit(data)
    assert not as_given.graph.any()
    # Without edges, targeted values are seen by nothing else.
    assert only_own.heldout_nll == pytest.approx(as_given.heldout_nll, abs=2e-3)


# --- sweeps


@pytest.mark.parametrize("density", DENSITIES)
def test_whole_grid_stays_finite(density: Density) -> None:
    grid = [{"sparsity": 10.0**k} for k in range(-7, 3)]
    results = list(DCDI(density, **SMALL).sweep(chain(n=200), grid))
    edges = []
    for fit in results:
        assert isinstance(fit, Fit)
        assert fit.heldout_nll is not None
        assert math.isfinite(fit.heldout_nll)
        edges.append(int(fit.graph.sum()))
    assert edges[0] > edges[-1] == 0


@pytest.mark.slow
@pytest.mark.parametrize("density", DENSITIES)
def test_whole_grid_stays_finite_with_the_schedule_of_the_paper(density: Density) -> None:
    grid = [{"sparsity": 10.0**k} for k in range(-7, 3)]
    for fit in DCDI(density, **SMALL | {"schedule": Schedule()}).sweep(chain(n=100), grid):
        assert isinstance(fit, Fit)


def test_sweep_equals_fits() -> None:
    data, grid = chain(n=200), [{"sparsity": 0.01}, {"sparsity": 10.0}, {}]
    together = list(DCDI(sparsity=0.5, **SMALL).sweep(data, grid))
    alone = [DCDI(sparsity=sparsity, **SMALL).fit(data) for sparsity in (0.01, 10.0, 0.5)]
    for one, other in zip(together, alone, strict=True):
        assert isinstance(one, Fit)
        np.testing.assert_array_equal(one.graph, other.graph)
        assert one.heldout_nll == other.heldout_nll


def test_what_fails_leaves_the_others() -> None:
    model = DCDI(**SMALL | {"schedule": replace(SHORT, max_iterations=8000)})
    first, second = model.sweep(chain(n=200), [{"sparsity": 1e-7}, {"sparsity": 1e4}])
    assert isinstance(first, ConvergenceError)
    assert isinstance(second, Fit)


def test_method_groups_a_grid_of_several_architectures() -> None:
    """Combinations come back in the order of the grid, whatever they were grouped by."""
    from dcdi.methods import _common

    data = chain(n=100).blind(hide_targets=False)
    grid = [{"sparsity": s, "units": u} for s, u in ((0.1, 2), (50.0, 3), (50.0, 2), (0.1, 3))]
    options = {name: value for name, value in SMALL.items() if name != "units"}
    results = list(_common.sweep(data, seed=3, grid=grid, density="gaussian", **options))
    for combination, result in zip(grid, results, strict=True):
        alone = DCDI(**SMALL | combination, seed=3).fit(data)
        assert isinstance(result, Fit)
        assert result.heldout_nll == alone.heldout_nll


# --- refusals


def test_cap_is_an_error() -> None:
    model = DCDI(**SMALL | {"schedule": Schedule(max_iterations=300)})
    with pytest.raises(ConvergenceError, match=r"the cap on iterations was reached after 300 iterations \(h = "):
        model.fit(chain(n=100))


@pytest.mark.parametrize("density", DENSITIES)
def test_divergence_is_an_error(density: Density) -> None:
    data = chain(n=100)
    huge = Dataset(1e25 * data.X, data.setting, data.targets, heldout=data.heldout)
    with pytest.raises(ConvergenceError, match="training diverged after 0 iterations"):
        DCDI(density, **SMALL).fit(huge)


def test_targets_are_needed() -> None:
    with pytest.raises(ValueError, match='does not say its targets; use targets="unknown"'):
        DCDI(**SMALL).fit(hidden(chain()))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"density": "normal"}, "density is 'normal'; expected one of gaussian, dsf"),
        ({"intervention": "hard"}, "intervention is 'hard'; expected one of perfect, imperfect, none"),
        ({"targets": None}, "targets is None; expected one of known, unknown"),
        ({"engine": "gpu"}, "engine is 'gpu'; expected one of auto, cpu, torch"),
        ({"sparsity": -0.1}, "sparsity is -0.1; expected a number of at least 0"),
        ({"sparsity": math.nan}, "sparsity is nan; expected a number of at least 0"),
        ({"target_sparsity": math.inf}, "target_sparsity is inf; expected a number of at least 0"),
        ({"hidden_layers": -1}, "hidden_layers is -1; expected a whole number of at least 0"),
        ({"units": 0}, "units is 0; expected a whole number of at least 1"),
        ({"flow_units": 0}, "flow_units is 0; expected a whole number of at least 1"),
        ({"flow_layers": 1.5}, "flow_layers is 1.5; expected a whole number of at least 1"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        DCDI(**options)


def test_wrong_grid() -> None:
    with pytest.raises(ValueError, match="'lambda' is no penalty; expected sparsity, target_sparsity"):
        list(DCDI(**SMALL).sweep(chain(n=100), [{"lambda": 0.1}]))
    with pytest.raises(ValueError, match=r"sparsity is -1\.0"):
        list(DCDI(**SMALL).sweep(chain(n=100), [{"sparsity": -1}]))


def test_wrong_batch() -> None:
    with pytest.raises(ValueError, match="batch is 50; the cpu engine needs a multiple of 16"):
        DCDI(**SMALL | {"schedule": Schedule(batch=50)}).fit(chain(n=100))


# --- what is reported for selection


def test_the_last_heldout_likelihood_is_an_option_that_changes_nothing_else() -> None:
    data = simulate("linear", 3, 1, n=600, seed=1)
    best, last = (DCDI(heldout_nll=choice, **SMALL).fit(data) for choice in ("best", "last"))
    assert best.heldout_nll == best.info["best_heldout_nll"] == last.info["best_heldout_nll"]
    assert last.heldout_nll == last.info["last_heldout_nll"] == best.info["last_heldout_nll"]
    assert best.info["best_heldout_nll"] < best.info["last_heldout_nll"]  # patience has run out by then
    np.testing.assert_array_equal(best.graph, last.graph)


# --- history


def test_history() -> None:
    data = chain(n=200)
    with_history, without = (DCDI(history=history, **SMALL).fit(data) for history in (True, False))
    assert "history" not in without.info
    entries = with_history.info["history"]
    assert [entry["iteration"] for entry in entries] == list(range(0, with_history.info["iterations"] + 1, 100))
    assert set(entries[0]) == {
        "iteration", "train_nll", "heldout_nll", "augmented_lagrangian", "heldout_augmented_lagrangian", "h", "mu",
        "gamma", "edge_probabilities",
    }  # fmt: skip
    first, last = (np.array(entries[i]["edge_probabilities"]) for i in (0, -1))
    assert (first[~np.eye(3, dtype=bool)] > 0.99).all()
    np.testing.assert_allclose(last, with_history.graph, atol=1e-9)
    json.dumps(entries)
    np.testing.assert_array_equal(with_history.graph, without.graph)
    assert with_history.heldout_nll == without.heldout_nll


# --- densities


@cache
def a_fit(density: Density, intervention: Intervention = "perfect", targets: Targets = "known") -> FittedModel:
    model = DCDI(density, 0.02, intervention=intervention, targets=targets, **SMALL)
    model.fit(chain(intervention))
    assert model.fitted is not None
    return model.fitted


@pytest.mark.parametrize("density", DENSITIES)
@pytest.mark.parametrize("setting", [0, 2])
def test_densities_integrate_to_one(density: Density, setting: int) -> None:
    fitted = a_fit(density, "imperfect")
    grid = np.linspace(-80, 80, 16_001)
    for variable in range(3):
        X = np.tile([0.3, -0.8, 0.5], (len(grid), 1))
        X[:, variable] = grid
        values = np.exp(fitted.log_density(X, setting)[:, variable])
        assert np.trapezoid(values, grid) == pytest.approx(1, abs=2e-3)


def test_densities_depend_on_parents_alone() -> None:
    fitted = a_fit("gaussian")
    x = np.zeros((1, 3))
    parents = fitted.graph.astype(bool)
    for parent, child in np.argwhere(~np.eye(3, dtype=bool)):
        moved = x.copy()
        moved[0, parent] = 1.5
        changes = fitted.log_density(moved)[0, child] != fitted.log_density(x)[0, child]
        assert changes == parents[parent, child]


@every_mode
def test_densities_are_those_of_the_engine(density: Density, intervention: Intervention, targets: Targets) -> None:
    size = Size()
    engine = an_engine(a_model(density, intervention, targets, size), size)
    graph = np.triu(np.ones((4, 4), dtype=bool), k=1)
    engine.freeze(0, graph)
    learned = np.zeros((4, 4), dtype=np.int8)
    learned[1:, :2] = 1
    engine.parameters.target_logits[:] = np.where(learned, -100, 100)
    used = learned if engine.model.learns_targets else engine.model.known_targets
    fitted = FittedModel(engine.model, graph.astype(np.int8), used, engine.learned(0))
    X, setting, heldout = some_data(4)
    density_of = fitted.log_density(X[heldout], setting[heldout])
    if intervention == "perfect" and targets == "known":
        density_of = density_of * (1 - used[setting[heldout]])
    assert engine.heldout_nll(0) == pytest.approx(-density_of.mean(), rel=1e-5)


def test_rows_do_not_depend_on_each_other() -> None:
    fitted = a_fit("dsf")
    X = np.random.default_rng(0).normal(size=(5000, 3))
    setting = np.arange(5000) % 4
    whole = fitted.log_density(X, setting)
    np.testing.assert_allclose(whole[4321], fitted.log_density(X[4321], setting[4321])[0], rtol=1e-12)
    np.testing.assert_allclose(whole[-7:], fitted.log_density(X[-7:], setting[-7:]), rtol=1e-12)


def test_score_of_unseen_settings() -> None:
    fitted, data = a_fit("gaussian"), chain(n=120)
    both = np.array([[0, 0, 0], [1, 1, 0]])
    unseen = Dataset(data.X, np.arange(120) % 2, both)
    density = fitted.log_density(data.X)
    density[1::2, :2] = 0
    assert fitted.score(unseen) == pytest.approx(density.sum(axis=1).mean())
    with pytest.raises(DatasetError, match="targets"):
        fitted.score(hidden(data))


def test_densities_of_a_given_graph() -> None:
    data = chain(n=2000)
    given, lacking = (
        DCDI("dsf", **SMALL).fit_graph(data, graph) for graph in (GRAPH, np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]]))
    )
    np.testing.assert_array_equal(given.graph, GRAPH)
    assert given.score(data) > lacking.score(data) + 0.1
    assert given.score(data) == DCDI("dsf", **SMALL).fit_graph(data, GRAPH).score(data)
    without_parents = lacking.log_density(data.X)[:, 2]
    moved = data.X.copy()
    moved[:, 1] += 1
    np.testing.assert_array_equal(lacking.log_density(moved)[:, 2], without_parents)


@pytest.mark.parametrize(
    ("graph", "options", "message"),
    [
        (np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]]), {}, "expected a DAG of 3 nodes"),
        (np.zeros((2, 2)), {}, "expected a DAG of 3 nodes"),
        (GRAPH, {"targets": "unknown"}, "known"),
    ],
)
def test_a_graph_that_cannot_be_fitted(graph: npt.ArrayLike, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DCDI(**(SMALL | options)).fit_graph(chain(n=200), graph)


@every_mode
def test_save_and_load(density: Density, intervention: Intervention, targets: Targets, tmp_path: Path) -> None:
    size = Size()
    engine = an_engine(a_model(density, intervention, targets, size), size)
    graph = np.triu(np.ones((4, 4), dtype=np.int8), k=1)
    fitted = FittedModel(engine.model, graph, engine.model.known_targets, engine.learned(0))
    fitted.save(tmp_path / "model.npz")
    loaded = FittedModel.load(tmp_path / "model.npz")
    np.testing.assert_array_equal(loaded.graph, graph)
    np.testing.assert_array_equal(loaded.targets, fitted.targets)
    X, setting, _ = some_data(4)
    np.testing.assert_array_equal(loaded.log_density(X, setting), fitted.log_density(X, setting))


# --- the torch engine


def test_torch_members_are_independent() -> None:
    """A grid as one batch: each member has its own penalties, and one that has ended stays as it is."""
    import torch

    from dcdi.torch_engine import TorchEngine
    from dcdi.training import Member

    model = a_model("gaussian", "imperfect", "unknown", Size())
    engine = TorchEngine(model, *some_data(4), SHORT, 0, members=3, device="cpu")
    members = [Member(sparsity, 0.0, mu=0.0, gamma=0.0) for sparsity in (0.0, 1e3, 0.0)]
    members[2].phase = "done"
    before = {name: value.clone() for name, value in engine.parameters.items()}
    engine.freeze(0, np.zeros((4, 4), dtype=bool))
    engine.run(members, 5)
    assert math.isnan(members[2].train_nll)
    assert math.isfinite(members[0].train_nll)
    for name, value in engine.parameters.items():
        assert torch.equal(value[2], before[name][2])
        assert not torch.equal(value[1], before[name][1])
    assert (engine.edge_probabilities(0) < 1e-9).all()
    engine.restart_optimiser(1)
    assert not engine.squares["weights"][1].any()
    assert engine.squares["weights"][0].any()


@pytest.mark.slow
def test_engines_agree_on_easy_data() -> None:
    data, grid = chain(), [{"sparsity": 0.02}, {"sparsity": 0.05}, {"sparsity": 100.0}]
    fits = {engine: list(DCDI(**SMALL | {"engine": engine}).sweep(data, grid)) for engine in ("cpu", "torch")}
    for one, other, expected in zip(fits["cpu"], fits["torch"], (GRAPH, GRAPH, 0 * GRAPH), strict=True):
        assert isinstance(one, Fit)
        assert isinstance(other, Fit)
        assert other.info["engine"] == "torch"
        np.testing.assert_array_equal(one.graph, expected)
        np.testing.assert_array_equal(other.graph, expected)
        assert one.heldout_nll == pytest.approx(other.heldout_nll, abs=0.02)


@pytest.mark.slow
def test_examples_of_the_documentation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(
        r"```python\n(.*?)```", (ROOT / "docs" / "dcdi.md").read_text(encoding="utf-8"), flags=re.DOTALL
    )
    assert len(blocks) == 2
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert find_cycle(names["fit"].graph) is None
    assert names["model"].fitted.score(names["data"]) > -6
    assert (tmp_path / "model.npz").exists()


# --- methods


def test_methods() -> None:
    sparsities = 10.0 ** np.arange(-7, 3)
    for name, label in LABELS.items():
        method = load_method(name)
        assert method.label == label
        assert method.selection == "heldout"
        assert method.environment == "dcdi"
        grid = method.grid(seed=0)
        assert len(grid) == 10
        np.testing.assert_allclose([combination["sparsity"] for combination in grid], sparsities)
    assert [name for name in LABELS if load_method(name).data == "twin"] == ["dcd-no-interv"]


def test_methods_take_what_the_experimenter_knows() -> None:
    from dcdi.methods import _common

    data = chain()
    for kind, expected in (("perfect", "perfect"), ("imperfect-small", "imperfect"), ("none", "none")):
        named = Dataset(data.X, data.setting, data.targets, parameters={"intervention": kind})
        assert _common.known(named) == {"intervention": expected, "targets": "known"}
    assert _common.known(hidden(data)) == {"intervention": "perfect", "targets": "unknown"}


def test_loading_is_light() -> None:
    assert dcdi.DCDI is DCDI
    code = (
        "import json, sys, dcdi; from benchmark.methods import load_method; "
        f"[load_method(name) for name in {list(LABELS)!r}]; "
        "print(json.dumps([name for name in ('torch', 'numba', 'llvmlite') if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []
    with pytest.raises(AttributeError, match="module 'dcdi' has no attribute 'DCDi'"):
        dcdi.DCDi  # noqa: B018 - a misspelt name
