"""Small models of every kind for the tests of DCDI, and the random draws of the cpu engine made again in numpy."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dcdi.cpu import CpuEngine
from dcdi.model import Density, Intervention, Model, Targets
from dcdi.training import Member, Schedule

DENSITIES: tuple[Density, ...] = ("gaussian", "dsf")
MODES: tuple[tuple[Intervention, Targets], ...] = (
    ("perfect", "known"),
    ("imperfect", "known"),
    ("perfect", "unknown"),
    ("imperfect", "unknown"),
    ("none", "known"),
)
# Longer steps, steeper penalties and less patience than the paper's: 20,000 iterations a fit instead of 80,000.
SHORT = Schedule(
    learning_rate=1e-2,
    mu=0.1,
    mu_factor=10,
    threshold=1e-6,
    patience=3,
    patience_every=200,
    max_iterations=300_000,
)
SETTINGS = 4
ROWS = 90

Integers = npt.NDArray[np.int64]
Reals = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Size:
    """Of a model and its minibatch."""

    nodes: int = 4
    hidden_layers: int = 2
    units: int = 5
    batch: int = 64
    flow_layers: int = 2
    flow_units: int = 3


def a_model(density: Density, intervention: Intervention, targets: Targets, size: Size) -> Model:
    known = np.zeros((SETTINGS, size.nodes), dtype=np.int8)
    if intervention != "none" and targets == "known":
        known[1, 0] = known[2, 1] = known[2, size.nodes - 1] = known[3, 2 % size.nodes] = 1
    return Model(
        size.nodes,
        known,
        density,
        intervention,
        targets,
        size.hidden_layers,
        size.units,
        size.flow_layers,
        size.flow_units,
    )


def some_data(nodes: int) -> tuple[Reals, Integers, npt.NDArray[np.bool_]]:
    """Rows in no order, representable in single precision; setting 3 is rare, so that its networks are often idle."""
    rng = np.random.default_rng(nodes)
    X = rng.normal(size=(ROWS, nodes)).astype(np.float32).astype(np.float64)
    setting = rng.choice(SETTINGS, ROWS, p=[0.4, 0.3, 0.27, 0.03])
    setting[:SETTINGS] = range(SETTINGS)
    heldout = np.zeros(ROWS, dtype=bool)
    heldout[rng.choice(np.arange(SETTINGS, ROWS), 20, replace=False)] = True
    return X, setting, heldout


def an_engine(model: Model, size: Size, seed: int = 0, learning_rate: float = 1e-3) -> CpuEngine:
    """An engine at random parameters, far from the regular ones it starts with."""
    X, setting, heldout = some_data(size.nodes)
    engine = CpuEngine(model, X, setting, heldout, Schedule(batch=size.batch, learning_rate=learning_rate), seed)
    rng = np.random.default_rng(seed + 1)
    for array, scale in zip(engine.parameters, (0.5, 0.3, 1.5, 1.5), strict=True):
        array[...] = scale * rng.normal(size=array.shape)
    return engine


def a_member() -> Member:
    """With penalties that matter in the gradient."""
    return Member(sparsity=0.7, target_sparsity=0.05, mu=3.0, gamma=0.4)


class Draws:
    """The draws that the next iterations of a cpu engine will make, from copies of its generators.

    Each sample of a minibatch has a generator of its own. A variable takes one number per parent from it, then,
    where targets are learned and the sample's setting is interventional, one for its target.
    """

    def __init__(self, engine: CpuEngine) -> None:
        self.engine = engine
        self.state = engine.state.copy()
        self.row_state = int(engine.row_state[0])
        _, setting, heldout = some_data(engine.model.nodes)
        rows = np.flatnonzero(~heldout)
        self.rows: Integers = rows[np.argsort(setting[rows], kind="stable")]
        self.setting = setting

    def iteration(self) -> tuple[Integers, Reals, Reals]:
        """Return rows [batch], uniform draws of masks [batch, parent, child] and of targets [batch, child]."""
        rows = self._rows()
        d, batch = self.engine.model.nodes, len(self.state)
        masks, targets = np.full((batch, d, d), 0.5), np.full((batch, d), 0.5)
        every = np.ones(batch, dtype=bool)
        for child in range(d):
            if not self.engine.frozen:
                for parent in range(d):
                    masks[:, parent, child] = self._uniform(every)
            if self.engine.model.learns_targets:
                interventional = self.setting[rows] > 0
                targets[interventional, child] = self._uniform(interventional)
        return rows, masks, targets

    def _rows(self) -> Integers:
        drawn = []
        for _ in range(len(self.state)):
            r = self.row_state
            r ^= (r << 13) % 2**64
            r ^= r >> 7
            r ^= (r << 17) % 2**64
            self.row_state = r
            drawn.append(r % len(self.rows))
        rows: Integers = self.rows[np.array(drawn)]
        return rows[np.argsort(self.setting[rows], kind="stable")]

    def _uniform(self, lanes: npt.NDArray[np.bool_]) -> Reals:
        r = self.state[lanes]
        r ^= r << np.uint32(13)
        r ^= r >> np.uint32(17)
        r ^= r << np.uint32(5)
        self.state[lanes] = r
        return (r >> np.uint32(9)).astype(np.float64) * 2.0**-23 + 2.0**-24


def arrays(engine: CpuEngine) -> dict[str, Any]:
    """Copies of an engine's parameters in double precision, by name."""
    return {name: array.astype(np.float64) for name, array in engine.parameters._asdict().items()}
