"""The cpu engine: one core per fit, compiled iterations with hand-derived gradients in single precision."""

import numpy as np
import numpy.typing as npt

from dcdi import steps
from dcdi.constraint import normalisation, scratch
from dcdi.kernels import sigmoids
from dcdi.model import FIRST_LOGIT, FIRST_TARGET_LOGIT, Model
from dcdi.simd import LANES
from dcdi.training import Matrix, Member, Schedule

CACHE_LINE = 64
FROZEN_LOGIT = 100.0


class CpuEngine:
    """Trains one member; see :class:`dcdi.training.Engine`."""

    def __init__(
        self,
        model: Model,
        X: npt.NDArray[np.float64],
        setting: npt.NDArray[np.int64],
        heldout: npt.NDArray[np.bool_],
        schedule: Schedule,
        seed: int,
    ) -> None:
        if schedule.batch % LANES:
            raise ValueError(f"batch is {schedule.batch}; the cpu engine needs a multiple of {LANES}")
        self.model, self.schedule = model, schedule
        rng = np.random.default_rng(seed)
        self.shape = steps.Shape(
            mode(model),
            model.hidden_layers,
            model.units,
            model.outputs,
            0 if model.density == "gaussian" else model.flow_layers,
            model.flow_units,
        )
        self.training = self._rows(X, setting, np.flatnonzero(~heldout))
        self.heldout = self._rows(X, setting, np.flatnonzero(heldout))
        self.parameters = self._arrays()
        self.parameters.weights[:] = model.first_weights(rng)
        self.parameters.logits[:] = FIRST_LOGIT
        self.parameters.target_logits[:] = FIRST_TARGET_LOGIT
        self.gradient, self.squares = self._arrays(), self._arrays()
        self.buffers = _buffers(self.shape, model, schedule.batch)
        self.state = rng.integers(1, 2**32, schedule.batch, dtype=np.uint32)
        self.check_state = rng.integers(1, 2**32, schedule.batch, dtype=np.uint32)
        self.row_state = rng.integers(1, 2**63, 1, dtype=np.uint64)
        self.clock = np.zeros(1, dtype=np.int64)
        self.last = np.zeros(model.networks, dtype=np.int64)
        self.frozen = False

    def _rows(
        self, X: npt.NDArray[np.float64], setting: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]
    ) -> steps.Rows:
        rows = rows[np.argsort(setting[rows], kind="stable")]
        return steps.Rows(
            np.ascontiguousarray(X[rows], dtype=np.float32),
            setting[rows],
            self.model.known_targets,
            self.model.network,
        )

    def _arrays(self) -> steps.Parameters:
        d = self.model.nodes
        return steps.Parameters(
            aligned(self.model.networks, self.model.network_size),
            aligned(d),
            aligned(d, d),
            aligned(len(self.model.known_targets), d),
        )

    def run(self, members: list[Member], iterations: int) -> None:
        """Train the member."""
        (member,) = members
        penalties = steps.Penalties(
            float(member.sparsity),
            float(member.target_sparsity),
            float(member.gamma),
            float(member.mu),
            normalisation(self.model.nodes),
        )
        member.train_nll, _ = steps.iterate(
            iterations, self.training, self.parameters, self.gradient, self.squares, self.last, self.clock, self.shape,
            penalties, self.frozen, np.float32(self.schedule.learning_rate), self.state, self.row_state, self.buffers,
        )  # fmt: skip

    def heldout_nll(self, index: int) -> float:
        """Return the held-out negative log-likelihood."""
        return float(
            steps.mean_nll(
                self.heldout, self.parameters, self.gradient, self.shape, self.frozen, self.check_state, self.buffers
            )
        )

    def edge_probabilities(self, index: int) -> Matrix:
        """Return sigmoid(Lambda)."""
        probabilities = sigmoid(self.parameters.logits.astype(np.float64))
        np.fill_diagonal(probabilities, 0.0)
        return probabilities

    def target_probabilities(self, index: int) -> Matrix | None:
        """Return the learned targets."""
        if not self.model.learns_targets:
            return None
        probabilities = sigmoid(-self.parameters.target_logits.astype(np.float64))
        probabilities[0] = 0.0
        return probabilities

    def restart_optimiser(self, index: int) -> None:
        """Forget the running squares."""
        for squares in self.squares:
            squares[...] = 0.0
        self.last[:] = self.clock[0]

    def freeze(self, index: int, graph: npt.NDArray[np.bool_]) -> None:
        """Keep one graph."""
        self.parameters.logits[:] = np.where(graph, FROZEN_LOGIT, -FROZEN_LOGIT)
        self.frozen = True

    def learned(self, index: int) -> dict[str, npt.NDArray[np.float64]]:
        """Return the parameters by name."""
        return {name: array.astype(np.float64) for name, array in self.parameters._asdict().items()}


def mode(model: Model) -> int:
    """Return how targeted variables are modelled."""
    if not model.has_own_networks:
        return steps.LEFT_OUT
    if not model.learns_targets:
        return steps.OWN_NETWORK
    return steps.LEARNED_PERFECT if model.intervention == "perfect" else steps.LEARNED_IMPERFECT


def sigmoid(x: Matrix) -> Matrix:
    """Return 1 / (1 + exp(-x)), the same on every processor."""
    values = np.empty(x.size)
    sigmoids(x.ravel(), values)
    return values.reshape(x.shape)


def aligned(*shape: int) -> npt.NDArray[np.float32]:
    """Return zeros that begin on a cache line: a vector load across two lines costs twice."""
    size = int(np.prod(shape))
    memory = np.zeros(size + CACHE_LINE // 4, dtype=np.float32)
    skip = -memory.ctypes.data % CACHE_LINE // 4
    return memory[skip : skip + size].reshape(shape)


def _buffers(shape: steps.Shape, model: Model, batch: int) -> steps.Buffers:
    d = model.nodes
    flow_layers, flow_units = max(shape.flow_layers, 1), shape.flow_units
    return steps.Buffers(
        x=aligned(d, batch),
        masked=aligned(d, batch),
        slope=aligned(d, batch),
        free=aligned(d, batch),
        other_inputs=aligned(d, batch),
        gradient_inputs=aligned(d, batch),
        hidden=aligned(max(shape.layers, 1), max(shape.units, 1), batch),
        work=aligned(2, max(shape.units, 1), batch),
        outputs=aligned(shape.outputs, batch),
        gradient_outputs=aligned(shape.outputs, batch),
        single=aligned(6, batch),
        ones=aligned(1, batch) + np.float32(1),
        flow_work=aligned(flow_layers, 5, flow_units, batch),
        flow_points=aligned(flow_layers + 1, batch),
        flow_sums=aligned(flow_layers, 5, batch),
        flow_gradients=aligned(4, batch),
        odds=aligned(d, d),
        setting=np.zeros(batch, dtype=np.int64),
        columns=np.zeros(batch, dtype=np.int64),
        indices=np.zeros(batch, dtype=np.int64),
        counts=np.zeros(len(model.known_targets), dtype=np.int64),
        touched=np.zeros(model.networks, dtype=np.bool_),
        matrices=scratch(d),
    )
