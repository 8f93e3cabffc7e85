"""The augmented Lagrangian loop, step by step, with an engine that follows a script (paper, Appendix B.3)."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from dcdi.training import Matrix, Member, Schedule, train

MANY = 10**9


class Script:
    """An engine whose held-out values and probabilities are functions of the iteration; it writes down what happens."""

    def __init__(
        self,
        nll: Callable[[int], float] | list[Callable[[int], float]],
        h: Callable[[int], float] | list[Callable[[int], float]],
    ) -> None:
        self.nll = nll if isinstance(nll, list) else [nll]
        self.h = h if isinstance(h, list) else [h]
        self.iteration = -1  # a first iteration comes before the first check
        self.train_nll = 1.0
        self.calls: list[tuple[str, int, int]] = []

    def run(self, members: list[Member], iterations: int) -> None:
        self.iteration += iterations
        for member in members:
            if member.active:
                member.train_nll = self.train_nll

    def heldout_nll(self, index: int) -> float:
        return self.nll[index](self.iteration)

    def edge_probabilities(self, index: int) -> Matrix:
        """Two nodes; the probability of an edge carries the h of the script."""
        return np.array([[0.0, 0.25], [self.h[index](self.iteration), 0.0]])

    def target_probabilities(self, index: int) -> Matrix | None:
        return None

    def restart_optimiser(self, index: int) -> None:
        self.calls.append(("restart", index, self.iteration))

    def freeze(self, index: int, graph: npt.NDArray[np.bool_]) -> None:
        self.calls.append(("freeze", index, self.iteration))


def a_member(**changes: Any) -> Member:
    return Member(**({"sparsity": 0.0, "target_sparsity": 0.0, "mu": 1e-8, "gamma": 0.0} | changes))


def run(
    engine: Script, *members: Member, cap: int, record: bool = False, acyclic: bool = True, **schedule: Any
) -> list[Member]:
    each = list(members or [a_member()])
    train(
        engine,
        each,
        Schedule(max_iterations=cap, **schedule),
        violation=lambda p: float(p[1, 0]),
        acyclic=lambda graph: acyclic,
        record=record,
        report=lambda iteration, members: None,
    )
    return each


def constant(value: float) -> Callable[[int], float]:
    return lambda iteration: value


def by_iteration(values: dict[int, float], otherwise: float) -> Callable[[int], float]:
    return lambda iteration: values.get(iteration, otherwise)


# --- subproblems


@pytest.mark.parametrize(
    ("values", "converged"),
    [
        ((1.0, 0.999, 0.998), True),  # falls by 2e-5 an iteration: flat
        ((1.0, 0.996, 0.991), True),  # just below 1e-4
        ((1.0, 0.995, 0.989), False),  # 1.1e-4: still falling
        ((1.0, 1.5, 2.0), True),  # rises, however fast
        ((1.0, 1.001, 1.002), True),
        ((1.0, 1.0, 1.0), False),  # th must lie strictly between
        ((1.0, 1.0, 0.999), False),
        ((1.0, 0.999, 0.999), False),
        ((1.0, 0.998, 0.999), False),  # neither fell nor rose
        ((1.0, 1.1, 1.05), False),
        ((1.0, 0.9, 1.1), False),
    ],
)
def test_when_a_subproblem_has_converged(values: tuple[float, float, float], converged: bool) -> None:
    engine = Script(by_iteration(dict(zip((0, 100, 200), values, strict=True)), math.nan), constant(0.5))
    (member,) = run(engine, cap=200)
    assert (member.gamma > 0) == converged
    assert engine.calls == ([("restart", 0, 200)] if converged else [])


def test_it_is_decided_every_200_iterations() -> None:
    """On values that always rise, h falling fast enough for mu to stay."""
    engine = Script(lambda iteration: 1 + iteration, lambda iteration: 0.5 * 0.8 ** (iteration // 200))
    (member,) = run(engine, cap=1000)
    assert [iteration for _, _, iteration in engine.calls] == [200, 400, 600, 800, 1000]
    hs = [0.5 * 0.8**k for k in range(1, 6)]
    assert member.gamma == pytest.approx(1e-8 * sum(hs))
    assert member.mu == 1e-8


def test_gamma_uses_the_mu_of_its_subproblem_and_mu_doubles_unless_h_falls() -> None:
    hs = {200: 0.5, 400: 0.46, 600: 0.4139, 800: 0.4}
    engine = Script(lambda iteration: 1 + iteration, by_iteration(hs, 0.7))
    member = a_member(mu=1e-3, gamma=0.25)
    expected_gamma, expected_mu, last = 0.25, 1e-3, math.inf
    for cap in (200, 400, 600, 800):
        engine.iteration = -1
        again = a_member(mu=1e-3, gamma=0.25)
        run(engine, again, cap=cap)
        expected_gamma += expected_mu * hs[cap]
        if hs[cap] > 0.9 * last:
            expected_mu *= 2
        last = hs[cap]
        assert again.gamma == pytest.approx(expected_gamma, rel=1e-12)
        assert again.mu == pytest.approx(expected_mu, rel=1e-12)
        member = again
    # 0.46 > 0.9 x 0.5 doubles, 0.4139 < 0.9 x 0.46 does not, 0.4 > 0.9 x 0.4139 does; the first has none before it.
    assert member.mu == pytest.approx(4e-3)


def test_last_value_moves_with_the_penalty() -> None:
    """Values before and after an update would differ by the penalty alone, and look like a jump."""
    mu, h, rise = 100.0, 0.5, 1e-3
    engine = Script(lambda iteration: 1 + rise * iteration / 100, constant(h))
    (member,) = run(engine, a_member(mu=mu, sparsity=0.3), cap=200)
    sparsity = 0.3 * 0.75 / 4

    def value(iteration: int, gamma: float, mu: float) -> float:
        return 1 + rise * iteration / 100 + sparsity + gamma * h + 0.5 * mu * h**2

    assert (member.gamma, member.mu) == (mu * h, mu)  # the first update has no h to compare with
    expected = [value(0, 0, mu), value(100, 0, mu), value(200, mu * h, mu)]
    assert member.values == pytest.approx(expected, rel=1e-12)
    # The values of iterations 200, 300 and 400 are then of one objective, rise, and mu doubles.
    engine.iteration = -1
    (member,) = run(engine, a_member(mu=mu, sparsity=0.3), cap=400)
    assert member.gamma == pytest.approx(2 * mu * h)
    assert member.mu == 2 * mu


def test_sparsity_is_part_of_the_value() -> None:
    """Held-out likelihood alone rises; with the penalty of growing probabilities it would too, hence a fall here."""
    engine = Script(lambda iteration: 1 + iteration * 1e-6, lambda iteration: 0.5 - iteration * 1e-3)
    (member,) = run(engine, a_member(sparsity=8.0), cap=200)
    assert member.gamma == 0  # the sum falls by 2e-3 an iteration


def test_cyclic_graph_is_not_feasible() -> None:
    engine = Script(lambda iteration: 1 + iteration, constant(1e-9))
    (member,) = run(engine, cap=3000, acyclic=False)
    assert member.phase == "constrained"
    assert member.first_stop is None
    assert member.gamma > 0


# --- the end


def test_phases() -> None:
    """h is met at 700; values improve to 3,000, then no more: five checks later frozen, and so again."""
    engine = Script(
        lambda iteration: {True: max(0.5, 2 - iteration / 3000), False: max(0.2, 2 - iteration / 10_000)}[
            iteration <= 8000
        ],
        lambda iteration: 0.3 if iteration < 700 else 1e-9,
    )
    (member,) = run(engine, cap=MANY)
    assert member.phase == "done"
    assert member.first_stop == 700
    # Values: 5/3 at 1000, 4/3 at 2000, ..., 0.5 from 4500 on: 5000 is the last that improves.
    assert member.second_stop == 10_000
    # Frozen: 0.9 at 11,000, 0.2 from 18,000 on.
    assert member.iterations == 23_000
    assert member.best == 0.2
    assert engine.calls == [("freeze", 0, 10_000)]


def test_first_check_of_a_phase_always_improves() -> None:
    engine = Script(constant(1.0), constant(0.0))
    (member,) = run(engine, cap=MANY)
    assert (member.first_stop, member.second_stop, member.iterations) == (0, 5000, 11_000)


def test_equal_is_not_better_and_improvement_restores_patience() -> None:
    improving = {1000: 0.9, 5000: 0.8, 10_000: 0.7}  # four failures, then four failures, then five
    engine = Script(by_iteration(improving, 1.0), constant(0.0))
    (member,) = run(engine, cap=MANY)
    assert member.second_stop == 15_000


def test_settling_goes_by_the_augmented_lagrangian_and_the_frozen_graph_by_likelihood() -> None:
    """The likelihood worsens while the penalty shrinks more: that is an improvement until the graph is frozen."""
    engine = Script(lambda iteration: 1 + min(iteration, 20_000) * 1e-6, lambda iteration: 1e-9)
    engine.edge_probabilities = lambda index: np.array(  # type: ignore[method-assign]
        [[0.0, max(0.0, 1 - engine.iteration / 10_000)], [0.0, 0.0]]
    )
    (member,) = run(engine, a_member(sparsity=40.0), cap=MANY)
    assert member.second_stop == 15_000
    assert member.iterations == 21_000  # from 16,000 on the likelihood only worsens
    assert member.best == pytest.approx(1.016)


def test_leaving_feasibility_goes_back_to_subproblems() -> None:
    """Its held-out value is then a fresh one, and multipliers move on."""
    engine = Script(lambda iteration: 1 + iteration, lambda iteration: 1e-9 if iteration < 1500 else 0.5)
    (member,) = run(engine, cap=2000)
    assert member.phase == "constrained"
    assert member.first_stop == 0
    assert [call[2] for call in engine.calls] == [1600, 1800, 2000]
    assert member.values[-1] == pytest.approx(2001, abs=1e-3)


@pytest.mark.parametrize("iteration", [0, 300, 1000, 5500, 7000])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_divergence(iteration: int, bad: float) -> None:
    engine = Script(lambda now: bad if now >= iteration else 1.0, constant(0.0))
    (member,) = run(engine, cap=MANY)
    assert member.phase == "diverged"
    assert member.iterations == iteration


def test_divergence_of_training_or_constraint() -> None:
    engine = Script(constant(1.0), constant(0.5))
    engine.train_nll = math.nan
    assert run(engine, cap=MANY)[0].phase == "diverged"
    engine = Script(constant(1.0), lambda iteration: math.nan if iteration > 500 else 0.5)
    (member,) = run(engine, cap=2000)
    assert member.phase == "diverged"
    assert member.iterations == 600


@pytest.mark.parametrize(("h", "phase"), [(0.5, "constrained"), (0.0, "settling")])
def test_cap(h: float, phase: str) -> None:
    engine = Script(lambda iteration: 1 / (1 + iteration), constant(h))
    (member,) = run(engine, cap=2000)
    assert member.phase == phase
    assert member.active
    assert member.iterations == 2000 == engine.iteration


def test_members_end_independently() -> None:
    engine = Script(
        [constant(1.0), lambda i: math.nan if i >= 2000 else 1.0, lambda i: 1 + i * 1e-3, constant(1.0)],
        [constant(0.0), constant(0.0), constant(0.5), lambda i: 0.5 if i < 3000 else 0.0],
    )
    members = run(engine, *(a_member() for _ in range(4)), cap=20_000)
    assert [member.phase for member in members] == ["done", "diverged", "constrained", "done"]
    assert [member.iterations for member in members] == [11_000, 2000, 20_000, 14_000]
    assert [call for call in engine.calls if call[0] == "freeze"] == [("freeze", 0, 5000), ("freeze", 3, 8000)]
    assert {call[1] for call in engine.calls if call[0] == "restart"} == {2}


# --- history


def test_history() -> None:
    engine = Script(lambda iteration: 1 + iteration * 1e-3, lambda iteration: 0.5 if iteration < 400 else 0.0)
    (member,) = run(engine, a_member(sparsity=0.4), cap=MANY, record=True)
    assert [entry["iteration"] for entry in member.history] == list(range(0, member.iterations + 100, 100))
    keys = {
        "iteration", "train_nll", "heldout_nll", "augmented_lagrangian", "heldout_augmented_lagrangian", "h", "mu",
        "gamma", "edge_probabilities",
    }  # fmt: skip
    assert all(set(entry) == keys for entry in member.history)
    first = member.history[0]
    penalty = 0.4 * 0.75 / 4 + 0.5 * 1e-8 * 0.25
    assert first["heldout_augmented_lagrangian"] == pytest.approx(1 + penalty)
    assert first["augmented_lagrangian"] == pytest.approx(1 + penalty)
    assert first["edge_probabilities"] == [[0.0, 0.25], [0.5, 0.0]]


def test_history_changes_nothing() -> None:
    """A held-out evaluation draws masks, so recording must not add any."""

    def ends(record: bool) -> tuple[Any, ...]:
        rng = np.random.default_rng(0)
        engine = Script(lambda iteration: 1 + rng.normal(), lambda iteration: 0.5 if iteration < 2000 else 0.0)
        (member,) = run(engine, cap=MANY, record=record)
        return member.first_stop, member.second_stop, member.iterations, member.best

    assert ends(record=True) == ends(record=False)
