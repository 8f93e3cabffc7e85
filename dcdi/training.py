"""The augmented Lagrangian procedure (paper, Appendix B.3), once for all engines and any number of fits at a time."""

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Schedule:
    """Constants of the optimisation; the defaults are the paper's (Table of default hyperparameters)."""

    learning_rate: float = 1e-3
    batch: int = 64
    mu: float = 1e-8
    gamma: float = 0.0
    mu_factor: float = 2.0  # eta
    improvement: float = 0.9  # delta: h must fall below this share of the previous h, or mu grows
    threshold: float = 1e-8  # of h
    flatness: float = 1e-4  # slope of the held-out augmented Lagrangian below which a subproblem has converged
    check_every: int = 100
    patience: int = 5
    patience_every: int = 1000
    max_iterations: int = 1_000_000


@dataclass
class Member:
    """One fit: its penalties and how far it has come."""

    sparsity: float
    target_sparsity: float
    mu: float
    gamma: float
    phase: str = "constrained"  # then "settling", "frozen", "done" or "diverged"
    values: list[float] = field(default_factory=list)
    last_h: float = math.inf
    best: float = math.inf
    patience: int = 0
    first_stop: int | None = None
    second_stop: int | None = None
    edge_probabilities: Matrix | None = None  # when the graph was frozen
    iterations: int = 0
    h: float = 1.0
    train_nll: float = math.nan
    heldout_nll: float = math.nan
    history: list[dict[str, Any]] = field(default_factory=list)

    @property
    def active(self) -> bool:
        """Whether it is still training."""
        return self.phase in ("constrained", "settling", "frozen")


class Engine(Protocol):
    """What carries out iterations for several members at a time."""

    def run(self, members: list[Member], iterations: int) -> None:
        """Train the active members; set their ``train_nll``."""

    def heldout_nll(self, index: int) -> float:
        """Return the held-out negative log-likelihood of a member, masks being drawn."""

    def edge_probabilities(self, index: int) -> Matrix:
        """Return sigmoid(Lambda) with a diagonal of 0."""

    def target_probabilities(self, index: int) -> Matrix | None:
        """Return [settings x d], or None where targets are not learned."""

    def restart_optimiser(self, index: int) -> None:
        """Forget the running averages of RMSprop."""

    def freeze(self, index: int, graph: npt.NDArray[np.bool_]) -> None:
        """Replace the distribution over graphs by one graph."""


def train(
    engine: Engine,
    members: list[Member],
    schedule: Schedule,
    *,
    violation: Any,
    acyclic: Any,
    record: bool,
    report: Any,
) -> None:
    """Train all members to their end; each has then its phase "done", "diverged", or still another at the cap."""
    iteration = 0
    engine.run(members, 1)
    while True:
        for index, member in enumerate(members):
            if member.active:
                member.iterations = iteration
                _check(engine, index, member, iteration, schedule, violation, acyclic, record)
        report(iteration, members)
        if iteration >= schedule.max_iterations or not any(member.active for member in members):
            return
        engine.run(members, schedule.check_every)
        iteration += schedule.check_every


def _check(
    engine: Engine,
    index: int,
    member: Member,
    iteration: int,
    schedule: Schedule,
    violation: Any,
    acyclic: Any,
    record: bool,
) -> None:
    probabilities = engine.edge_probabilities(index)
    graph = probabilities > 0.5
    patient = iteration % schedule.patience_every == 0
    if member.phase != "frozen":
        member.h = violation(probabilities)
    # Also where nothing is decided: evaluating draws masks, and a recorded fit must draw the same ones.
    member.heldout_nll = engine.heldout_nll(index)
    if not all(math.isfinite(value) for value in (member.heldout_nll, member.train_nll, member.h)):
        member.phase = "diverged"
        return
    penalty = _penalty(member, probabilities)
    if record:
        member.history.append(_snapshot(member, iteration, penalty, probabilities))
    value = member.heldout_nll + penalty
    if member.phase == "frozen":
        if patient:
            _lose_patience(member, member.heldout_nll, schedule, "done")
        return
    member.values = [*member.values[-2:], value]
    feasible = member.h <= schedule.threshold and acyclic(graph)
    if not feasible:
        member.phase = "constrained"
        if len(member.values) == 3 and iteration % (2 * schedule.check_every) == 0 and _flat(member.values, schedule):
            _update_multipliers(engine, index, member, schedule, probabilities, penalty)
        return
    if member.first_stop is None:
        member.first_stop = iteration
        member.best, member.patience = math.inf, schedule.patience
    member.phase = "settling"
    if patient and _lose_patience(member, value, schedule, "frozen"):
        engine.freeze(index, graph)
        member.second_stop, member.edge_probabilities = iteration, probabilities
        member.best, member.patience = math.inf, schedule.patience


def _penalty(member: Member, probabilities: Matrix) -> float:
    """Sparsity and constraint terms of the augmented Lagrangian (the checks leave that of learned targets out)."""
    sparsity = member.sparsity * math.fsum(probabilities.flat) / probabilities.size
    return sparsity + member.gamma * member.h + 0.5 * member.mu * member.h * member.h


def _flat(values: list[float], schedule: Schedule) -> bool:
    """Whether the held-out augmented Lagrangian moved one way over two checks, and hardly or upwards."""
    first, middle, last = values
    slope = (last - first) / schedule.check_every
    return min(first, last) < middle < max(first, last) and (abs(slope) < schedule.flatness or slope > 0)


def _update_multipliers(
    engine: Engine, index: int, member: Member, schedule: Schedule, probabilities: Matrix, penalty: float
) -> None:
    member.gamma += member.mu * member.h
    if member.h > schedule.improvement * member.last_h:
        member.mu *= schedule.mu_factor
    member.last_h = member.h
    # The next values are compared with this one, so it moves with the penalty.
    member.values[-1] += _penalty(member, probabilities) - penalty
    engine.restart_optimiser(index)


def _lose_patience(member: Member, value: float, schedule: Schedule, then: str) -> bool:
    """Count checks without improvement; enter the next phase when patience is at its end."""
    if value < member.best:
        member.best, member.patience = value, schedule.patience
    else:
        member.patience -= 1
    if member.patience == 0:
        member.phase = then
    return member.patience == 0


def _snapshot(member: Member, iteration: int, penalty: float, probabilities: Matrix) -> dict[str, Any]:
    return {
        "iteration": iteration,
        "train_nll": member.train_nll,
        "heldout_nll": member.heldout_nll,
        "augmented_lagrangian": member.train_nll + penalty,
        "heldout_augmented_lagrangian": member.heldout_nll + penalty,
        "h": member.h,
        "mu": member.mu,
        "gamma": member.gamma,
        "edge_probabilities": probabilities.tolist(),
    }
