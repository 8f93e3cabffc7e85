"""The model of the paper: which networks there are, how large they are, and how they start."""

import itertools
import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Density = Literal["gaussian", "dsf"]
Intervention = Literal["perfect", "imperfect", "none"]
Targets = Literal["known", "unknown"]

LEAKY_SLOPE = 0.01
FIRST_LOGIT = 5.0  # of an edge: sigmoid(5) = 0.993
FIRST_TARGET_LOGIT = 3.0  # of "not targeted"


@dataclass(frozen=True)
class Model:
    """Conditional densities of d variables under K settings (paper, Equation 5 and Section 3.3).

    Network j < d is the base network of variable j. Where an intervention has networks of its own, each pair of setting
    and variable that can be a target has one more: known targets need only those.

    ``known_targets`` [K x d] are zeros where targets are learned or interventions ignored.
    """

    nodes: int
    known_targets: npt.NDArray[np.int8]
    density: Density
    intervention: Intervention
    targets: Targets
    hidden_layers: int
    units: int
    flow_layers: int
    flow_units: int

    def __post_init__(self) -> None:
        if (self.learns_targets or self.intervention == "none") and self.known_targets.any():
            raise ValueError("known_targets: the model learns or ignores them; expected zeros")

    @property
    def learns_targets(self) -> bool:
        """Whether targets are learned."""
        return self.intervention != "none" and self.targets == "unknown"

    @property
    def has_own_networks(self) -> bool:
        """Whether targeted variables have networks of their own."""
        return self.intervention == "imperfect" or self.learns_targets

    @property
    def outputs(self) -> int:
        """Number of outputs of a network: the mean, or the parameters of the flow."""
        return 1 if self.density == "gaussian" else 3 * self.flow_units * self.flow_layers

    @property
    def layer_sizes(self) -> list[tuple[int, int]]:
        """Inputs and outputs of each layer."""
        widths = [self.nodes, *[self.units] * self.hidden_layers, self.outputs]
        return list(itertools.pairwise(widths))

    @property
    def network_size(self) -> int:
        """Number of weights and biases of one network."""
        return sum((inputs + 1) * outputs for inputs, outputs in self.layer_sizes)

    @property
    def network(self) -> npt.NDArray[np.int64]:
        """[K x d]: the network of a variable where a setting targets it; -1 where there is none."""
        index = np.full(self.known_targets.shape, -1, dtype=np.int64)
        if self.has_own_networks:
            possible = np.ones_like(self.known_targets) if self.learns_targets else self.known_targets.copy()
            possible[0] = 0
            index[possible == 1] = self.nodes + np.arange(int(possible.sum()))
        return index

    @property
    def networks(self) -> int:
        """Number of networks."""
        return self.nodes + int((self.network >= 0).sum())

    def first_weights(self, rng: np.random.Generator) -> npt.NDArray[np.float64]:
        """Draw [networks x network_size]: per layer W [inputs][outputs], Xavier uniform, and biases of 0.

        With networks per setting the fans count all settings, as they do in the published experiments. Not by
        ``rng.uniform``, which is compiled to a fused multiply-add on some processors.
        """
        gain = math.sqrt(2 / (1 + LEAKY_SLOPE * LEAKY_SLOPE))
        copies = len(self.known_targets) if self.has_own_networks else 1
        parts = []
        for inputs, outputs in self.layer_sizes:
            bound = gain * math.sqrt(6 / ((inputs + outputs) * copies))
            parts += [
                bound * (2 * rng.random((self.networks, inputs * outputs)) - 1),
                np.zeros((self.networks, outputs)),
            ]
        return np.concatenate(parts, axis=1)
