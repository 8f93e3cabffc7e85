"""Splines and additive models: against direct algebra on the rows, against mgcv, and p-values under the null."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from baselines._shared import r_bridge
from baselines.cam.additive import AdditiveModel, _downhill, boosted_choice
from baselines.cam.r_sample import r_sample
from baselines.cam.splines import Basis, Splines, _cubic_kernel, thin_plate
from benchmark.dataset import Dataset

MISSING = r_bridge.available("mgcv")
needs_mgcv = pytest.mark.skipif(MISSING is not None, reason=f"mgcv: {MISSING}")

Array = npt.NDArray[np.float64]

GAM = """
fitted_gam <- function(X) {
  data <- as.data.frame(X)
  names(data) <- paste0("V", seq_along(data))
  terms <- sprintf("s(V%d, k = 10)", seq_len(ncol(X) - 1))
  model <- mgcv::gam(reformulate(terms, paste0("V", ncol(X)), env = asNamespace("mgcv")), data = data)
  table <- summary(model)$s.table
  list(fitted = as.vector(fitted(model)), edf = table[, "edf"], p_values = table[, "p-value"])
}
"""


def observational(X: Array) -> Dataset:
    return Dataset(X, np.zeros(len(X)), np.zeros((1, X.shape[1])))


def additive(n: int = 600, seed: int = 0) -> Array:
    """Three causes, of which the third does nothing, and their effect in the last column."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, 3] = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + rng.normal(scale=0.7, size=n)
    return X


def splines_of(data: Dataset, size: int = 10) -> Splines:
    """Those of all other columns for the regressions of the last."""
    return Splines.of(data, data.d - 1, list(range(data.d - 1)), size)


def fitted_model(X: Array, size: int = 10) -> tuple[AdditiveModel, Splines]:
    """The model of the last column on all others."""
    splines = splines_of(observational(X), size)
    model = AdditiveModel(splines.moments(), splines.penalties)
    for i in range(X.shape[1] - 1):
        model.add(i)
    model.tune(50)
    return model, splines


def predictions(model: AdditiveModel, splines: Splines, X: Array) -> Array:
    """Fitted values in the units of the last column, from the functions over the rows instead of their moments."""
    Z = (X - splines.location) / splines.scale
    m = splines.penalties.shape[1]
    total = np.zeros(len(X))
    for place, i in enumerate(model.terms):
        basis = thin_plate(Z[:, i], m + 1)
        raw = basis(Z[:, i])
        raw = raw - raw.mean(axis=0)
        values, vectors = np.linalg.eigh(raw.T @ raw / len(X))
        whiten = vectors[:, 1:] / np.sqrt(values[1:])
        _, turn = np.linalg.eigh(whiten.T @ basis.penalty @ whiten)
        total += raw @ whiten @ turn @ model.coefficients[place * m : (place + 1) * m]
    fitted: Array = splines.location[-1] + splines.scale[-1] * total
    return fitted


# --- the knots


@pytest.mark.parametrize(
    ("n", "size", "first", "total"),
    [
        (7280, 2000, [1017, 4775, 2177, 5026, 1533], 7_357_996),
        (10, 10, [9, 4, 7, 1, 2], 55),
        (1_000_000, 2000, [548676, 452737, 124413, 436523, 856018], 986_745_962),
    ],
)
def test_sample_is_that_of_r(n: int, size: int, first: list[int], total: int) -> None:
    """What set.seed(1); sample.int(n, size) gives in R 4.2: the first numbers and the sum of all."""
    drawn = r_sample(n, size, seed=1) + 1
    assert drawn[:5].tolist() == first
    assert drawn.sum() == total
    assert len(np.unique(drawn)) == size


@given(
    st.lists(st.floats(-50, 50), min_size=3, max_size=40, unique=True),
    st.integers(0, 2**32 - 1),
)
def test_running_sums_are_the_product_with_the_matrix(values: list[float], seed: int) -> None:
    knots = np.sort(values)
    weights = np.random.default_rng(seed).normal(size=(len(knots), 2))
    direct = np.abs(knots[:, None] - knots) ** 3 / 12 @ weights
    np.testing.assert_allclose(_cubic_kernel(knots, weights), direct, atol=1e-8)


# --- the functions


def test_splines_interpolate_and_go_on_as_lines() -> None:
    knots = np.array([-1.0, 0.0, 0.5, 2.0])
    evaluate = Basis(knots, np.eye(4), np.zeros((4, 4)))
    np.testing.assert_allclose(evaluate(knots), np.eye(4), atol=1e-12)
    x = np.linspace(-5, 5, 41)
    np.testing.assert_allclose(evaluate(x).sum(axis=1), 1)  # constants
    np.testing.assert_allclose(evaluate(x) @ knots, x, atol=1e-12)  # straight lines, beyond the knots too
    beyond = evaluate(np.array([3.0, 4.0, 5.0])) @ np.array([1.0, -2.0, 0.3, 1.0])
    assert beyond[2] - beyond[1] == pytest.approx(beyond[1] - beyond[0])


@pytest.mark.parametrize("n", [30, 300, 3000])  # all eigenvectors, the leading ones, those of some values
def test_penalty_is_the_integral_of_the_squared_second_derivative(n: int) -> None:
    x = np.random.default_rng(0).normal(size=n)
    basis = thin_plate(x, 10)
    weights = np.random.default_rng(1).normal(size=10)
    places = np.linspace(x.min() - 1, x.max() + 1, 30_001)
    second = np.diff(basis(places) @ weights, 2) / (places[1] - places[0]) ** 2
    assert weights @ basis.penalty @ weights == pytest.approx(np.sum(second**2) * (places[1] - places[0]), rel=1e-2)
    np.testing.assert_allclose(basis(places)[:, :2], np.column_stack([np.ones_like(places), places]), atol=1e-9)
    assert (basis.penalty[:2] == 0).all()


def test_basis_loses_least_of_all_smooth_functions() -> None:
    """With as many functions as values it is the smoothing spline itself; with ten, close to it."""
    from scipy.interpolate import make_smoothing_spline

    rng = np.random.default_rng(0)
    x = np.sort(rng.normal(size=60))
    y = np.sin(2 * x) + rng.normal(scale=0.3, size=60)
    best = make_smoothing_spline(x, y, lam=0.3)(x)
    for size, most in ((60, 1e-5), (10, 0.02)):
        basis = thin_plate(x, size)
        values = basis(x)
        found = values @ np.linalg.solve(values.T @ values + 0.3 * basis.penalty, values.T @ y)
        assert np.abs(found - best).max() < most


def test_bases_of_few_values() -> None:
    assert thin_plate(np.array([2.0, 0.0, 2.0, 1.0]), 10).size == 3
    line = thin_plate(np.array([2.0, 0.0, 2.0]), 10)
    np.testing.assert_allclose(line(np.array([0.0, 5.0])), [[1, 0], [1, 5]])
    np.testing.assert_array_equal(thin_plate(np.full(5, 3.0), 10)(np.array([3.0, 4.0])), [[1], [1]])


def test_functions_are_orthonormal_with_a_free_straight_line() -> None:
    X = additive()
    splines = splines_of(observational(X))
    moments = splines.moments()
    block = moments.gram[:9, :9] / moments.rows
    np.testing.assert_allclose(block, np.eye(9), atol=1e-8)
    assert (splines.penalties[:, 0] == 0).all()
    assert (np.diff(splines.penalties, axis=1) > 0).all()
    assert moments.total == pytest.approx(len(X))
    line = np.corrcoef(X[:, 3], X[:, 0])[0, 1]
    assert abs(moments.cross[0]) / len(X) == pytest.approx(abs(line), abs=1e-6)


def test_moments_leave_out_the_settings_that_target_a_variable() -> None:
    X = additive(400)
    setting = np.repeat([0, 1], 200)
    data = Dataset(X, setting, [[0, 0, 0, 0], [0, 0, 0, 1]])
    changed = X.copy()
    changed[200:, 3] = np.random.default_rng(5).normal(7, 3, 200)
    before_splines, after_splines = splines_of(data), splines_of(Dataset(changed, setting, data.targets))
    before, after = before_splines.moments(), after_splines.moments()
    assert before.rows == after.rows == 200
    np.testing.assert_allclose(before.gram, after.gram, atol=1e-7)
    np.testing.assert_allclose(before.cross, after.cross, atol=1e-7)
    assert before.total == pytest.approx(after.total)


# --- the models


def test_model_is_the_penalised_least_squares_fit() -> None:
    X = additive()
    model, splines = fitted_model(X)
    columns, weights = model.columns, (model._smoothing[:, None] * splines.penalties[model.terms]).ravel()
    gram = model.moments.gram[np.ix_(columns, columns)]
    direct = np.linalg.solve(gram + np.diag(weights), model.moments.cross[columns])
    np.testing.assert_allclose(model.coefficients, direct, atol=1e-6)
    residuals = (X[:, 3] - predictions(model, splines, X)) / splines.scale[3]
    assert model.rss == pytest.approx(float(residuals @ residuals), rel=1e-6)
    assert model.edf == pytest.approx(1 + np.trace(np.linalg.solve(gram + np.diag(weights), gram)), rel=1e-6)


def test_tuning_finds_the_minimum_of_gcv() -> None:
    model, splines = fitted_model(additive())
    columns, rows = model.columns, model.moments.rows
    gram, cross = model.moments.gram[np.ix_(columns, columns)], model.moments.cross[columns]

    def gcv(smoothing: Array) -> float:
        inverse = np.linalg.inv(gram + np.diag((smoothing[:, None] * splines.penalties[model.terms]).ravel()))
        b = inverse @ cross
        rss = model.moments.total - 2 * b @ cross + b @ gram @ b
        return float(rows * rss / (rows - 1 - np.trace(inverse @ gram)) ** 2)

    best = gcv(model._smoothing)
    for place in range(3):
        for factor in (0.5, 0.9, 1.1, 2.0):
            smoothing = model._smoothing.copy()
            smoothing[place] *= factor
            assert gcv(smoothing) >= best * (1 - 1e-6)


def test_of_several_minima_the_one_downhill_from_the_start_is_taken() -> None:
    grid = np.arange(29.0)
    near = np.abs(grid - 15)
    two = np.minimum(near, np.abs(grid - 3) - 2)  # deeper, but beyond a hill
    downwards = np.stack([near, two, grid, -grid, np.zeros(29)])
    assert _downhill(downwards).tolist() == [15, 15, 0, 28, 12]


def test_gains_are_what_adding_brings() -> None:
    X = additive()
    splines = splines_of(observational(X))
    model = AdditiveModel(splines.moments(), splines.penalties)
    for added in (1, 0, 2):
        gains = model.gains([0, 1, 2])
        before = model.log_variance
        model.add(added)
        assert before - model.log_variance == pytest.approx(gains[added], abs=1e-9)


@needs_mgcv
def test_fit_is_that_of_mgcv(tmp_path: object, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(r_bridge, "_FOLDER", tmp_path)
    with open(f"{tmp_path}/gam.R", "w", encoding="utf-8") as file:
        file.write(GAM)
    X = additive(800, seed=3)
    X[:, 3] += 0.06 * X[:, 2] ** 2
    model, splines = fitted_model(X)
    fitted, p_values = predictions(model, splines, X), model.p_values()
    same = r_bridge.call("gam.R", "fitted_gam", packages=["mgcv"], X=X)
    np.testing.assert_allclose(fitted, same["fitted"], atol=0.01)
    assert model.edf == pytest.approx(1 + same["edf"].sum(), abs=0.1)
    assert p_values[:2].max() < 1e-20
    assert same["p_values"][:2].max() < 1e-8  # mgcv does not resolve smaller ones
    assert np.log10(p_values[2]) == pytest.approx(np.log10(same["p_values"][2]), abs=0.1)


# --- the test of a term


def test_p_values_are_uniform_under_the_null() -> None:
    """The smoothing is estimated, so small p-values are a little too frequent (Wood 2013); not more than a little."""
    found = np.array([fitted_model(additive(200, seed))[0].p_values()[2] for seed in range(120)])
    assert 0.35 < np.mean(found) < 0.6
    assert 0.02 < np.mean(found < 0.05) < 0.13
    assert np.mean(found < 0.001) < 0.02
    assert 0.02 < np.mean(found > 0.9) < 0.2


def test_p_values_of_strong_effects_are_tiny() -> None:
    p_values = fitted_model(additive(1000))[0].p_values()
    assert p_values[0] < 1e-50
    assert p_values[1] < 1e-50
    assert p_values[2] > 1e-3


def test_p_values_of_a_line_are_those_of_linear_regression() -> None:
    """With two knots a term is a straight line and the test an F test."""
    X = additive(200)
    model, _ = fitted_model(X, size=2)
    design = np.column_stack([np.ones(200), X[:, :3]])
    coefficients, rss, _, _ = np.linalg.lstsq(design, X[:, 3], rcond=None)
    variances = rss[0] / 196 * np.diag(np.linalg.inv(design.T @ design))
    from scipy.stats import f

    np.testing.assert_allclose(model.p_values(), f.sf(coefficients[1:] ** 2 / variances[1:], 1, 196), rtol=1e-4)


def test_boosting_prefers_what_explains() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 12))
    X[:, 11] = np.cos(2 * X[:, 7]) + X[:, 2] + rng.normal(scale=0.3, size=500)
    splines = splines_of(observational(X))
    chosen = boosted_choice(splines.moments(), splines.penalties)
    assert set(chosen[:2]) == {2, 7}
    alone = Splines.of(observational(X), 11, [3], 10)
    assert boosted_choice(alone.moments(), alone.penalties) == [0]
