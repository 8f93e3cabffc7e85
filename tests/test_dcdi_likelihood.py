"""Log-likelihoods of the authors' own models, at random weights and masks, come out of both engines."""

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

from dcdi import steps
from dcdi.cpu import CpuEngine
from dcdi.model import Density, Intervention, Model
from dcdi.reference import negative_log_likelihood
from dcdi.training import Schedule
from tests.project import ROOT

BATCH = 48  # 40 rows, filled up to whole vectors
# The authors sum the flow in log space and clip it in single precision, so the flow is compared less closely.
DOUBLE = {"gaussian": 1e-6, "dsf": 1e-4}
SINGLE = {"gaussian": 1e-5, "dsf": 1e-4}  # relative, and absolute: a log-likelihood may be close to 0

every_model = pytest.mark.parametrize(
    ("density", "intervention"),
    [(density, intervention) for density in ("gaussian", "dsf") for intervention in ("perfect", "imperfect")],
)


@cache
def oracle() -> dict[str, npt.NDArray[Any]]:
    with np.load(ROOT / "tests" / "oracle" / "likelihood.npz") as file:
        return {name: file[name] for name in file.files}


def answers(density: Density, intervention: Intervention) -> dict[str, npt.NDArray[Any]]:
    prefix = f"{'gauss' if density == 'gaussian' else 'dsf'}_{intervention}_"
    return {name.removeprefix(prefix): value for name, value in oracle().items() if name.startswith(prefix)}


def a_model(density: Density, intervention: Intervention) -> Model:
    return Model(5, oracle()["targets"].astype(np.int8), density, intervention, "known", 2, 16, 2, 16)


def weights(model: Model, stored: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Bring W [variable, out, in(, setting)] into the order of this project: a row a network, W [in][out] and b."""

    def network(variable: int, setting: int) -> npt.NDArray[np.float64]:
        parts = []
        for layer in range(3):
            W, b = stored[f"W{layer}"][variable], stored[f"b{layer}"][variable]
            if model.has_own_networks:
                W, b = W[..., setting], b[..., setting]
            parts += [W.T.ravel(), b]
        return np.concatenate(parts)

    rows = np.empty((model.networks, model.network_size))
    for variable in range(model.nodes):
        rows[variable] = network(variable, 0)
    for setting, variable in np.argwhere(model.network >= 0):
        rows[model.network[setting, variable]] = network(variable, setting)
    return rows


def log_sd(stored: dict[str, npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    return stored.get("logstd", np.zeros(5))


@every_model
def test_torch(density: Density, intervention: Intervention) -> None:
    model, stored, data = a_model(density, intervention), answers(density, intervention), oracle()
    parameters = {
        "weights": torch.tensor(weights(model, stored))[None],
        "log_sd": torch.tensor(log_sd(stored))[None],
    }
    masks = torch.tensor(data["masks_bij"] * (1 - np.eye(5)))[None]
    setting = torch.tensor(data["setting"])[None]
    free = 1 - torch.tensor(data["targets"], dtype=torch.float64)[setting]
    if intervention == "perfect":
        free = torch.ones_like(free)  # the file has the terms of targeted variables too
    nll = negative_log_likelihood(model, parameters, torch.tensor(data["X"])[None], setting, masks, free)
    tolerance = DOUBLE[density]
    np.testing.assert_allclose(-nll[0].numpy(), stored["loglik"], rtol=tolerance, atol=tolerance)


@every_model
def test_cpu(density: Density, intervention: Intervention) -> None:
    model, stored, data = a_model(density, intervention), answers(density, intervention), oracle()
    n = len(data["X"])
    engine = CpuEngine(model, data["X"], data["setting"], np.arange(n) < 10, Schedule(batch=BATCH), 0)
    engine.parameters.weights[:] = weights(model, stored)
    engine.parameters.log_sd[:] = log_sd(stored)
    buffers = engine.buffers
    found = np.empty((n, model.nodes))
    ones, nll = np.ones(BATCH, dtype=np.float32), np.empty(BATCH, dtype=np.float32)
    for setting, variable in np.ndindex(*model.known_targets.shape):
        rows = np.flatnonzero(data["setting"] == setting)
        network = model.network[setting, variable]
        network = variable if network < 0 else network
        buffers.x[:] = buffers.masked[:] = 0
        buffers.x[:, : len(rows)] = data["X"][rows].T
        mask = data["masks_bij"][rows, :, variable].T * (np.arange(5) != variable)[:, None]
        buffers.masked[:, : len(rows)] = mask * data["X"][rows].T
        steps._network(
            engine.parameters.weights[network], engine.gradient.weights[network], engine.shape, buffers.x[variable],
            buffers.masked, engine.parameters.log_sd[variable], ones, np.float32(1), nll, buffers, False, BATCH,
        )  # fmt: skip
        found[rows, variable] = -nll[: len(rows)]
    tolerance = SINGLE[density]
    np.testing.assert_allclose(found, stored["loglik"], rtol=tolerance, atol=tolerance)
