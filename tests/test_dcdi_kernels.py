"""The compiled arithmetic of the cpu engine against numpy, for sizes that are no multiple of a vector's length."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch

from dcdi import kernels
from dcdi.cpu import sigmoid
from dcdi.kernels import affine, affine_inputs, affine_weights, jit, rmsprop, sample_masks, uniform
from tests.dcdi_cases import Size, a_model, an_engine
from tests.project import ROOT

Singles = npt.NDArray[np.float32]
WIDTHS = (1, 2, 5, 7, 8, 9, 15, 16, 17, 33)
DECAY = np.float32(0.99)


@jit
def all_exp(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        y[i] = kernels.exp(x[i])


@jit
def all_log(x, y):  # type: ignore[no-untyped-def]
    for i in range(len(x)):
        y[i] = kernels.log(x[i])


@jit
def draw(state, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        for b in range(len(state)):
            out[i, b] = uniform(state, b)


def normal(*shape: int, seed: int = 0) -> Singles:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


# --- functions


def test_exp() -> None:
    x = np.linspace(-87, 88, 200_001, dtype=np.float32)
    y = np.empty_like(x)
    all_exp(x, y)
    np.testing.assert_allclose(y, np.exp(x.astype(np.float64)), rtol=5e-7)
    small = np.abs(x) < 10
    np.testing.assert_allclose(y[small], np.exp(x[small].astype(np.float64)), rtol=3e-7)


def test_exp_beyond_its_range() -> None:
    x = np.array([-1e30, -200, 200, 1e30, 0, np.nan, -np.inf, np.inf], dtype=np.float32)
    y = np.empty_like(x)
    all_exp(x, y)
    assert (y[[0, 1, 6]] < 1e-37).all()
    assert (y[[2, 3, 7]] > 1e38).all()
    assert np.isfinite(y[[2, 3]]).all()
    assert y[4] == 1
    assert np.isnan(y[5])  # a diverged fit must not look like a good one


def test_exp_double() -> None:
    x = np.linspace(-708, 709, 100_001)
    # The best that double precision allows is 1.1e-16; a whole fit compares h with 1e-8.
    np.testing.assert_allclose([kernels.exp_double(value) for value in x], np.exp(x), rtol=5e-16)
    assert kernels.exp_double(0.0) == 1
    assert np.isnan(kernels.exp_double(np.nan))


def test_sigmoids() -> None:
    x = np.linspace(-300, 300, 5001)
    np.testing.assert_allclose(sigmoid(x), 1 / (1 + np.exp(-x)), rtol=1e-15)
    np.testing.assert_array_equal(sigmoid(x[:6].reshape(2, 3)), sigmoid(x)[:6].reshape(2, 3))


def test_idle_decay() -> None:
    """RMSprop's squares after iterations without a gradient; from 4096 on nothing is left of them."""
    for n in (1, 2, 3, 10, 77, 1000, 4096):
        assert kernels.idle_decay(n) == pytest.approx(float(DECAY) ** n, rel=1e-6)
    assert kernels.idle_decay(10**6) == kernels.idle_decay(4096) < 2e-18


def test_log() -> None:
    x = np.concatenate([np.logspace(-37, 38, 100_001), np.linspace(0.5, 2, 100_001)]).astype(np.float32)
    y = np.empty_like(x)
    all_log(x, y)
    np.testing.assert_allclose(y, np.log(x.astype(np.float64)), rtol=3e-7, atol=1e-7)


def test_log_of_nan() -> None:
    y = np.zeros(1, dtype=np.float32)
    all_log(np.array([np.nan], dtype=np.float32), y)
    assert np.isnan(y[0])


# --- layers


@pytest.mark.parametrize("inputs", WIDTHS)
@pytest.mark.parametrize("outputs", WIDTHS)
@pytest.mark.parametrize("batch", [16, 48])
def test_affine(inputs: int, outputs: int, batch: int) -> None:
    start, guard = 3, np.float32(77)  # weights of a layer begin anywhere; nothing beside them may be touched
    weights = normal(start + (inputs + 1) * outputs + 5)
    W = weights[start : start + inputs * outputs].reshape(inputs, outputs)
    b = weights[start + inputs * outputs :][:outputs]
    x, dy = normal(inputs, batch, seed=1), normal(outputs, batch, seed=2)
    y = np.full((outputs + 1, batch), guard)
    affine(weights, start, inputs, outputs, x, y, batch)
    np.testing.assert_allclose(y[:outputs], W.T @ x + b[:, None], rtol=1e-4, atol=1e-5)
    assert (y[outputs] == guard).all()
    dx = np.full((inputs + 1, batch), guard)
    affine_inputs(weights, start, inputs, outputs, dx, dy, batch)
    np.testing.assert_allclose(dx[:inputs], W @ dy, rtol=1e-4, atol=1e-5)
    assert (dx[inputs] == guard).all()
    gradient = np.full_like(weights, guard)
    affine_weights(gradient, start, inputs, outputs, x, dy, np.ones((1, batch), dtype=np.float32), batch)
    expected = np.concatenate([(x @ dy.T).ravel(), dy.sum(axis=1)])
    end = start + (inputs + 1) * outputs
    np.testing.assert_allclose(gradient[start:end] - guard, expected, rtol=1e-3, atol=1e-4)
    assert (gradient[:start] == guard).all()
    assert (gradient[end:] == guard).all()


def test_part_of_a_minibatch() -> None:
    """Networks of an intervention are evaluated on the first columns alone."""
    weights, x, y = normal(6 * 4), normal(5, 64), np.full((4, 64), np.float32(7))
    affine(weights, 0, 5, 4, x, y, 32)
    expected = weights[:20].reshape(5, 4).T @ x[:, :32] + weights[20:, None]
    np.testing.assert_allclose(y[:, :32], expected, rtol=1e-5, atol=1e-6)
    assert (y[:, 32:] == 7).all()


# --- RMSprop


def torch_step(parameters: Singles, squares: Singles, gradient: Singles) -> tuple[Singles, Singles]:
    value = torch.tensor(parameters)
    value.grad = torch.tensor(gradient)
    optimiser = torch.optim.RMSprop([value], lr=1e-3, alpha=0.99, eps=1e-8)
    optimiser.state[value] = {"step": torch.tensor(0.0), "square_avg": torch.tensor(squares)}
    optimiser.step()
    return value.numpy(), optimiser.state[value]["square_avg"].numpy()


@pytest.mark.parametrize("count", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("size", [0.0, 1e-42, 1e-30, 1e-20, 1e-12, 1e-8, 1e-3, 1.0, 1e6, 1e15, 1e18, 1e25, 3e38])
@pytest.mark.parametrize("running", [0.0, 1e-42, 1e-12, 1.0])
def test_rmsprop(count: int, size: float, running: float) -> None:
    gradient = (size * np.sign(normal(count))).astype(np.float32)
    parameters, squares = normal(count, seed=1), np.full(count, running, dtype=np.float32)
    expected, expected_squares = torch_step(parameters, squares, gradient)
    found, found_squares = parameters.copy(), squares.copy()
    rmsprop(found, found_squares, gradient, np.float32(1e-3), DECAY)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=2e-7)
    # A gradient of 0 counts as 1e-15 in the squares.
    np.testing.assert_allclose(found_squares, expected_squares, rtol=1e-5, atol=1.01e-32)
    assert np.isfinite(found).all()


@pytest.mark.parametrize("count", [3, 16])
def test_rmsprop_shows_nan(count: int) -> None:
    parameters, squares = np.zeros(count, dtype=np.float32), np.zeros(count, dtype=np.float32)
    rmsprop(parameters, squares, np.full(count, np.nan, dtype=np.float32), np.float32(1e-3), DECAY)
    assert np.isnan(parameters).all()


# --- masks


def states(count: int) -> npt.NDArray[np.uint32]:
    return np.random.default_rng(5).integers(1, 2**32, count, dtype=np.uint32)


def test_uniform_stays_inside() -> None:
    """A shift of the generator that keeps more than 32 bits would leave the interval, and keep every edge."""
    out = np.empty((16_384, 64), dtype=np.float32)
    draw(states(64), out)
    assert out.min() > 0
    assert out.max() < 1
    counts = np.histogram(out, bins=64, range=(0, 1))[0]
    expected = out.size / 64
    assert ((counts - expected) ** 2 / expected).sum() < 63 + 5 * np.sqrt(2 * 63)
    assert abs(np.corrcoef(out[:-1].ravel(), out[1:].ravel())[0, 1]) < 5e-3
    assert abs(np.corrcoef(out[:, :-1].ravel(), out[:, 1:].ravel())[0, 1]) < 5e-3


@pytest.mark.parametrize("state", [1, 2**31, 2**32 - 1])
def test_uniform_from_extreme_states(state: int) -> None:
    out = np.empty((1000, 1), dtype=np.float32)
    draw(np.array([state], dtype=np.uint32), out)
    assert 0 < out.min() < out.max() < 1


@pytest.mark.parametrize("logit", [-60.0, -8.0, -3.0, -1.0, 0.0, 0.5, 2.0, 5.0, 60.0])
def test_frequency_of_masks(logit: float) -> None:
    batch, d, rounds = 64, 3, 300
    odds = np.full((d, d), np.exp(logit), dtype=np.float32)
    x = np.ones((d, batch), dtype=np.float32)
    masked, slope = np.empty_like(x), np.empty_like(x)
    state, total = states(batch), np.zeros(d)
    for _ in range(rounds):
        sample_masks(state, odds, 1, x, masked, slope, batch)
        assert set(np.unique(masked)) <= {0, 1}
        total += masked.sum(axis=1)
    p = 1 / (1 + np.exp(-logit))
    n = rounds * batch
    assert total[1] == 0  # a variable is no parent of itself
    for parent in (0, 2):
        assert abs(total[parent] - n * p) <= 5 * np.sqrt(n * p * (1 - p)) + 1e-9


def test_straight_through_slopes() -> None:
    batch, d, child = 32, 4, 2
    logits, x = 2 * normal(d, d), normal(d, batch, seed=1)
    state = states(batch)
    draws = np.empty((d, batch), dtype=np.float32)
    draw(state.copy(), draws)
    masked, slope = np.empty_like(x), np.empty_like(x)
    sample_masks(state, np.exp(logits), child, x, masked, slope, batch)
    for parent in range(d):
        if parent == child:
            assert not masked[parent].any()
            assert not slope[parent].any()
            continue
        u = draws[parent].astype(np.float64)
        soft = 1 / (1 + np.exp(-(logits[parent, child] + np.log(u) - np.log1p(-u))))
        np.testing.assert_array_equal(masked[parent], np.where(soft > 0.5, x[parent], 0))
        np.testing.assert_allclose(slope[parent], soft * (1 - soft) * x[parent], rtol=1e-4, atol=1e-7)


# --- a network that has diverged shows it


@pytest.mark.parametrize("density", ["gaussian", "dsf"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_divergence_is_seen(density: str, bad: float) -> None:
    size = Size()
    engine = an_engine(a_model(density, "perfect", "known", size), size)  # type: ignore[arg-type]
    assert np.isfinite(engine.heldout_nll(0))
    engine.parameters.weights[0, -1] = bad  # the bias of an output
    assert not np.isfinite(engine.heldout_nll(0))


# --- the cache on disk


def test_cache_follows_edits_of_called_functions(tmp_path: Path) -> None:
    """Numba keeps compiled code by the file of a function; what it calls lives in other files."""
    folder = tmp_path / "dcdi"
    shutil.copytree(ROOT / "dcdi", folder, ignore=shutil.ignore_patterns("__pycache__", "methods"))
    code = (
        "import numpy as np; from dcdi.densities import _logit; one = np.full(1, 0.5, dtype=np.float32); "
        "above = np.zeros(1, dtype=np.float32); "
        "_logit(one, one.copy() / 2, one.copy(), above, one.copy(), 1); print(float(above[0]))"
    )
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": str(tmp_path)}

    def run() -> float:
        done = subprocess.run(
            [sys.executable, "-c", code], env=environment, cwd=tmp_path, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return float(done.stdout)

    before = run()
    assert before == pytest.approx(np.log(2), rel=1e-4)
    file = folder / "kernels.py"
    text = file.read_text(encoding="utf-8")
    value = "value = fma(exponent, LN2, s * fma(q, series, TWO))"
    assert value in text
    file.write_text(text.replace(value, value.replace("exponent,", "TWO * exponent,")), encoding="utf-8")
    assert run() == pytest.approx(2 * before, rel=1e-4)
