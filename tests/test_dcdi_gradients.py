"""The hand-derived gradients of the cpu engine equal torch's automatic ones, at the same draws, in every mode."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from dcdi.model import Density, Intervention, Targets
from dcdi.torch_engine import TorchEngine
from tests.dcdi_cases import DENSITIES, MODES, Draws, Size, a_member, a_model, an_engine, arrays, some_data

# Every number of hidden layers, of units and of flow parameters, none of them multiples of a vector's length alone.
SIZES = (
    Size(3, 0, 1, 16, 1, 3),
    Size(4, 1, 5, 64, 2, 3),
    Size(5, 2, 16, 64, 2, 16),
    Size(6, 3, 5, 16, 1, 16),
    Size(3, 1, 1, 64, 2, 16),
    Size(6, 2, 16, 16, 1, 3),
    Size(5, 0, 16, 64, 2, 3),
    Size(4, 3, 16, 64, 1, 16),
)
RELATIVE, ABSOLUTE = 1e-3, 1e-6  # single against double precision

every_mode = pytest.mark.parametrize(
    ("density", "intervention", "targets"), [(density, *mode) for density, mode in itertools.product(DENSITIES, MODES)]
)


def reference(engine: Any) -> TorchEngine:
    """The same model in double precision."""
    X, setting, heldout = some_data(engine.model.nodes)
    return TorchEngine(
        engine.model,
        X,
        setting,
        heldout,
        engine.schedule,
        0,
        members=1,
        device="cpu",
        dtype=torch.float64,
    )


def autograd(torch_engine: TorchEngine, parameters: dict[str, Any], draws: tuple[Any, ...]) -> tuple[float, Any]:
    """Return the negative log-likelihood and the gradient of the augmented Lagrangian, by name."""
    leaves = {name: torch.tensor(value)[None].requires_grad_() for name, value in parameters.items()}
    rows, masks, targets = (torch.tensor(draw)[None] for draw in draws)
    loss = torch_engine.loss(leaves, rows, masks, targets)
    total = (loss + torch_engine.penalty(leaves, [a_member()])).sum()
    gradients = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
    zeros = (torch.zeros_like(leaf) for leaf in leaves.values())
    filled = (zero if gradient is None else gradient for gradient, zero in zip(gradients, zeros, strict=True))
    return loss.item(), {name: value[0].numpy() for name, value in zip(leaves, filled, strict=True)}


def gradient_of_one_step(before: dict[str, Any], engine: Any) -> dict[str, npt.NDArray[np.float64]]:
    """Read gradients off the first step of RMSprop: running squares are 0.01 g**2, and the step goes against g."""
    after = arrays(engine)
    return {
        name: np.sign(before[name] - after[name]) * np.sqrt(getattr(engine.squares, name).astype(np.float64) / 0.01)
        for name in before
    }


def compare(density: Density, intervention: Intervention, targets: Targets, size: Size, *, frozen: bool) -> None:
    engine = an_engine(a_model(density, intervention, targets, size), size)
    if frozen:
        engine.freeze(0, np.triu(np.ones((size.nodes, size.nodes), dtype=bool), k=1))
    before, draws, member = arrays(engine), Draws(engine), a_member()
    engine.run([member], 1)
    nll, expected = autograd(reference(engine), before, draws.iteration())
    assert member.train_nll == pytest.approx(nll, rel=1e-5)
    found = gradient_of_one_step(before, engine)
    names = {"weights"}
    if density == "gaussian":
        names.add("log_sd")
    if engine.model.learns_targets:
        names.add("target_logits")
    if not frozen:
        names.add("logits")
    for name in names:
        np.testing.assert_allclose(found[name], expected[name], RELATIVE, ABSOLUTE, err_msg=name)
        assert np.abs(expected[name]).max() > 100 * ABSOLUTE  # there was something to compare
    for name in set(found) - names:
        np.testing.assert_array_equal(found[name], 0)
    np.testing.assert_array_equal(draws.state, engine.state)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: "-".join(map(str, vars(size).values())))
@every_mode
def test_gradient(density: Density, intervention: Intervention, targets: Targets, size: Size) -> None:
    compare(density, intervention, targets, size, frozen=False)


@every_mode
def test_gradient_of_a_frozen_graph(density: Density, intervention: Intervention, targets: Targets) -> None:
    compare(density, intervention, targets, Size(), frozen=True)


@every_mode
def test_running_rmsprop(density: Density, intervention: Intervention, targets: Targets) -> None:
    """Many iterations equal torch's optimiser, also for networks that no row of a minibatch uses for a while."""
    size, iterations = Size(batch=16), 12
    engine = an_engine(a_model(density, intervention, targets, size), size)
    parameters, draws, member = arrays(engine), Draws(engine), a_member()
    torch_engine = reference(engine)
    values = {name: torch.tensor(value) for name, value in parameters.items()}
    optimiser = torch.optim.RMSprop(list(values.values()), lr=1e-3, alpha=0.99, eps=1e-8)
    idle = False
    for _ in range(iterations):
        current = {name: value.numpy() for name, value in values.items()}
        _, gradients = autograd(torch_engine, current, draws.iteration())
        for name, value in values.items():
            value.grad = torch.tensor(gradients[name])
        optimiser.step()
        engine.run([member], 1)
        idle |= bool((engine.last[size.nodes :] < engine.clock[0]).any())
    assert idle == engine.model.has_own_networks
    learned = arrays(engine)
    for name, value in values.items():
        np.testing.assert_allclose(learned[name], value.numpy(), rtol=1e-4, atol=2e-4, err_msg=name)
    # Squares of idle networks catch up when they are used again.
    late = 0.99 ** (engine.clock[0] - engine.last)
    late[: size.nodes] = 1
    squares = engine.squares.weights * late[:, None]
    np.testing.assert_allclose(squares, optimiser.state[values["weights"]]["square_avg"], rtol=1e-2, atol=1e-8)


def test_restart_forgets_the_running_squares() -> None:
    size = Size(batch=16)
    engine = an_engine(a_model("gaussian", "imperfect", "known", size), size)
    engine.run([a_member()], 7)
    engine.restart_optimiser(0)
    before, draws = arrays(engine), Draws(engine)
    engine.run([a_member()], 1)
    _, expected = autograd(reference(engine), before, draws.iteration())
    found = gradient_of_one_step(before, engine)
    for name in ("weights", "log_sd", "logits"):
        np.testing.assert_allclose(found[name], expected[name], RELATIVE, ABSOLUTE, err_msg=name)
