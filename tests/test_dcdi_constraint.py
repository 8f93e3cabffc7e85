"""h is 0 for DAGs, 1 for the full graph, grows with every probability, and its gradient is exp(P) transposed."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import scipy.linalg
import torch
from hypothesis import given
from hypothesis import strategies as st

from dcdi import steps
from dcdi.constraint import exponential, normalisation, scratch, trace_violation, violation

# The polynomial of degree 12 errs by 1 / 13! at norm 1, and up to seven squarings double that each time.
RELATIVE = 1e-8
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 20, 31, 32, 40, 100]


def probabilities(d: int, low: float, high: float, seed: int = 0) -> npt.NDArray[np.float64]:
    p = np.random.default_rng(seed).uniform(low, high, (d, d))
    np.fill_diagonal(p, 0)
    return p


def a_dag(d: int, density: float, seed: int) -> npt.NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    graph = np.triu(rng.random((d, d)) < density, k=1).astype(np.float64)
    return graph[np.ix_(order, order)]


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize(("low", "high"), [(0, 1e-6), (0, 1e-3), (0, 0.1), (0, 1), (0.99, 1), (1, 1)])
def test_exponential(d: int, low: float, high: float) -> None:
    p = probabilities(d, low, high)
    matrices = scratch(d)
    matrices[0, :d, :d] = p
    exponential(matrices[0], matrices[1:5], matrices[5])
    np.testing.assert_allclose(matrices[5, :d, :d], scipy.linalg.expm(p), rtol=RELATIVE, atol=1e-15)


@pytest.mark.parametrize("d", SIZES)
@pytest.mark.parametrize(("low", "high"), [(0, 1e-3), (0, 0.1), (0, 1), (0.99, 1)])
def test_gradient(d: int, low: float, high: float) -> None:
    p = probabilities(d, low, high, seed=1)
    matrices = scratch(d)
    matrices[0, :d, :d] = p
    value = trace_violation(matrices[0], matrices[1:5], matrices[5])
    leaf = torch.tensor(p, requires_grad=True)
    expected = torch.matrix_exp(leaf).trace() - d
    expected.backward()  # type: ignore[no-untyped-call]
    assert value == pytest.approx(expected.item(), rel=RELATIVE, abs=1e-11)  # torch errs by 1e-12
    assert leaf.grad is not None
    np.testing.assert_allclose(matrices[5, :d, :d].T, leaf.grad.numpy(), rtol=RELATIVE, atol=1e-14)


@pytest.mark.parametrize("d", [2, 5, 10, 40])
@pytest.mark.parametrize("scale", [0.1, 3.0, 30.0])
def test_gradient_by_logits(d: int, scale: float) -> None:
    """What the compiled iterations add to the gradient of Lambda, sparsity included, as torch would."""
    logits = (scale * np.random.default_rng(d).normal(size=(d, d))).astype(np.float32)
    zeros = np.zeros((1, 1), dtype=np.float32)
    parameters = steps.Parameters(zeros, zeros[0], logits, zeros)
    gradient = steps.Parameters(zeros, zeros[0], np.zeros_like(logits), zeros)
    penalties = steps.Penalties(0.3, 0.0, 0.2, 50.0, normalisation(d))
    h = steps._penalty_gradient(parameters, gradient, penalties, scratch(d))
    leaf = torch.tensor(logits, dtype=torch.float64, requires_grad=True)
    p = torch.sigmoid(leaf) * (1 - torch.eye(d, dtype=torch.float64))
    expected = (torch.matrix_exp(p).trace() - d) / normalisation(d)
    (0.3 * p.sum() / d**2 + 0.2 * expected + 25 * expected**2).backward()  # type: ignore[no-untyped-call]
    assert h == pytest.approx(expected.item(), rel=RELATIVE, abs=1e-15)
    assert leaf.grad is not None
    np.testing.assert_allclose(gradient.logits, leaf.grad.numpy(), rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("d", SIZES)
def test_normalisation(d: int) -> None:
    full = np.ones((d, d)) - np.eye(d)
    expected = np.trace(scipy.linalg.expm(full)) - d if d > 1 else 1.0
    assert normalisation(d) == pytest.approx(expected, rel=1e-9)
    assert violation(full) == pytest.approx(1.0 if d > 1 else 0.0, rel=RELATIVE)


def test_too_many_variables() -> None:
    with pytest.raises(ValueError, match="701 variables"):
        normalisation(701)


sizes = st.integers(1, 12)
seeds = st.integers(0, 2**32 - 1)


@given(sizes, st.floats(0, 1), seeds)
def test_dags_satisfy_it_exactly(d: int, density: float, seed: int) -> None:
    """Not only almost: near its end training compares h with 1e-8."""
    assert violation(a_dag(d, density, seed)) == 0


@given(st.integers(2, 12), seeds)
def test_cycles_do_not(d: int, seed: int) -> None:
    graph = a_dag(d, 0.5, seed)
    first, second = np.random.default_rng(seed).choice(d, 2, replace=False)
    graph[first, second] = graph[second, first] = 1
    assert violation(graph) > 1e-8


@given(st.integers(2, 12), seeds, st.floats(0, 1), st.data())
def test_monotone(d: int, seed: int, increase: float, data: Any) -> None:
    p = probabilities(d, 0, 1, seed)
    more = p.copy()
    i, j = data.draw(st.permutations(range(d)))[:2]
    more[i, j] += increase * (1 - more[i, j])
    h = violation(p)
    assert 0 <= h <= 1 + RELATIVE
    assert violation(more) >= h * (1 - 1e-13)


def test_not_finite_stays_so() -> None:
    p = probabilities(4, 0, 1)
    p[1, 2] = np.nan
    assert np.isnan(violation(p))
