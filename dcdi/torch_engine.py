"""The torch engine: a whole grid of hyperparameters as one batch, by automatic differentiation, on any device."""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from dcdi.constraint import normalisation
from dcdi.cpu import FROZEN_LOGIT, sigmoid
from dcdi.model import FIRST_LOGIT, FIRST_TARGET_LOGIT, Model
from dcdi.reference import negative_log_likelihood, straight_through
from dcdi.training import Matrix, Member, Schedule

DECAY, EPSILON = 0.99, 1e-8
SMALLEST_UNIFORM = 1e-7
CHECK_ROWS = 2048


class TorchEngine:
    """Trains any number of members at once; see :class:`dcdi.training.Engine`."""

    def __init__(
        self,
        model: Model,
        X: npt.NDArray[np.float64],
        setting: npt.NDArray[np.int64],
        heldout: npt.NDArray[np.bool_],
        schedule: Schedule,
        seed: int,
        *,
        members: int,
        device: str,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.model, self.schedule, self.device = model, schedule, torch.device(device)
        self.generator = torch.Generator(device=self.device).manual_seed(seed)
        self.X = torch.tensor(X, dtype=dtype, device=self.device)
        self.setting = torch.tensor(setting, device=self.device)
        self.free = 1 - torch.tensor(model.known_targets, dtype=dtype, device=self.device)
        self.training = torch.tensor(np.flatnonzero(~heldout), device=self.device)
        self.heldout = torch.tensor(np.flatnonzero(heldout), device=self.device)
        d, settings = model.nodes, len(model.known_targets)
        first = torch.tensor(model.first_weights(np.random.default_rng(seed)), dtype=dtype, device=self.device)
        self.parameters: dict[str, Tensor] = {
            "weights": first.expand(members, -1, -1).clone(),
            "log_sd": torch.zeros(members, d, dtype=dtype, device=self.device),
            "logits": torch.full((members, d, d), FIRST_LOGIT, dtype=dtype, device=self.device),
            "target_logits": torch.full((members, settings, d), FIRST_TARGET_LOGIT, dtype=dtype, device=self.device),
        }
        self.squares = {name: torch.zeros_like(value) for name, value in self.parameters.items()}
        self.frozen = torch.zeros(members, dtype=torch.bool, device=self.device)
        self.off_diagonal = 1 - torch.eye(d, dtype=dtype, device=self.device)

    def _uniform(self, *shape: int) -> Tensor:
        value = torch.rand(*shape, generator=self.generator, dtype=self.X.dtype, device=self.device)
        return value.clamp(SMALLEST_UNIFORM, 1 - SMALLEST_UNIFORM)

    def loss(self, parameters: dict[str, Tensor], rows: Tensor, masks: Tensor, targets: Tensor) -> Tensor:
        """Return the mean negative log-likelihood of each member; ``masks`` and ``targets`` are uniform draws."""
        members, batch = len(parameters["logits"]), rows.shape[1]
        x, setting = self.X[rows], self.setting[rows]
        drawn = straight_through(parameters["logits"][:, None], masks) * self.off_diagonal
        free = self.free[setting]
        if self.model.learns_targets:
            logits = parameters["target_logits"].gather(1, setting[:, :, None].expand(-1, -1, self.model.nodes))
            observational = (setting == 0)[:, :, None]
            free = torch.where(observational, torch.ones_like(logits), straight_through(logits, targets))
        nll = negative_log_likelihood(self.model, parameters, x, setting, drawn, free)
        return nll.reshape(members, -1).sum(dim=1) / (batch * self.model.nodes)

    def penalty(self, parameters: dict[str, Tensor], members: list[Member]) -> Tensor:
        """Return all other terms of each member's augmented Lagrangian."""
        d = self.model.nodes
        values = [[m.sparsity, m.target_sparsity, m.gamma, m.mu] for m in members]
        columns = torch.tensor(values, dtype=torch.float64, device=self.device).unbind(dim=1)
        sparsity, target_sparsity, gamma, mu = columns
        p = torch.sigmoid(parameters["logits"].double()) * self.off_diagonal
        h = (torch.matrix_exp(p).diagonal(dim1=1, dim2=2).sum(dim=1) - d) / normalisation(d)
        total = sparsity * p.sum(dim=(1, 2)) / d**2 + gamma * h + 0.5 * mu * h**2
        if self.model.learns_targets:
            total = total + target_sparsity * torch.sigmoid(-parameters["target_logits"][:, 1:]).sum(dim=(1, 2))
        return total

    def run(self, members: list[Member], iterations: int) -> None:
        """Train the active members."""
        d, batch, count = self.model.nodes, self.schedule.batch, len(members)
        active = torch.tensor([member.active for member in members], device=self.device)
        nll = torch.zeros(count, dtype=self.X.dtype, device=self.device)
        for _ in range(iterations):
            drawn = torch.randint(len(self.training), (count, batch), generator=self.generator, device=self.device)
            leaves = {name: value.detach().requires_grad_() for name, value in self.parameters.items()}
            losses = self.loss(
                leaves, self.training[drawn], self._uniform(count, batch, d, d), self._uniform(count, batch, d)
            )
            total = (losses + self.penalty(leaves, members)).sum()
            gradients = torch.autograd.grad(total, list(leaves.values()), allow_unused=True)
            nll += losses.detach()
            with torch.no_grad():
                for name, gradient in zip(leaves, gradients, strict=True):
                    if gradient is not None:
                        self._step(name, gradient, active & ~self.frozen if name == "logits" else active)
        for member, value in zip(members, (nll / max(iterations, 1)).tolist(), strict=True):
            if member.active:
                member.train_nll = value

    def _step(self, name: str, gradient: Tensor, moving: Tensor) -> None:
        """RMSprop for the members that still move."""
        squares, value = self.squares[name], self.parameters[name]
        new = DECAY * squares + (1 - DECAY) * gradient**2
        change = self.schedule.learning_rate * gradient / (new.sqrt() + EPSILON)
        moves = moving.reshape(-1, *[1] * (value.dim() - 1))
        self.squares[name] = torch.where(moves, new, squares)
        self.parameters[name] = torch.where(moves, value - change, value)

    def heldout_nll(self, index: int) -> float:
        """Return the held-out negative log-likelihood of a member."""
        d, total = self.model.nodes, 0.0
        own = {name: value[index : index + 1] for name, value in self.parameters.items()}
        with torch.no_grad():
            for rows in self.heldout.split(CHECK_ROWS):
                uniform = self._uniform(1, len(rows), d, d), self._uniform(1, len(rows), d)
                total += float(self.loss(own, rows[None], *uniform)) * len(rows)
        return total / len(self.heldout)

    def edge_probabilities(self, index: int) -> Matrix:
        """Return sigmoid(Lambda)."""
        probabilities = sigmoid(self.parameters["logits"][index].double().cpu().numpy())
        np.fill_diagonal(probabilities, 0.0)
        return probabilities

    def target_probabilities(self, index: int) -> Matrix | None:
        """Return the learned targets."""
        if not self.model.learns_targets:
            return None
        probabilities = sigmoid(-self.parameters["target_logits"][index].double().cpu().numpy())
        probabilities[0] = 0.0
        return probabilities

    def restart_optimiser(self, index: int) -> None:
        """Forget the running squares."""
        for squares in self.squares.values():
            squares[index] = 0.0

    def freeze(self, index: int, graph: npt.NDArray[np.bool_]) -> None:
        """Keep one graph."""
        fixed = np.where(graph, FROZEN_LOGIT, -FROZEN_LOGIT)
        self.parameters["logits"][index] = torch.tensor(fixed, dtype=self.X.dtype, device=self.device)
        self.frozen[index] = True

    def learned(self, index: int) -> dict[str, npt.NDArray[np.float64]]:
        """Return the parameters by name."""
        return {name: value[index].double().cpu().numpy() for name, value in self.parameters.items()}
