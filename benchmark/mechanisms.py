"""Causal mechanisms of the synthetic data sets (paper, Appendix B.1 and C.2).

A mechanism maps the values of the parents and the noise 0.4 N_j to the child. ``changed`` returns the
mechanism under an imperfect intervention, "large" (Appendix B.1) or "small" (Appendix C.5).
"""

from dataclasses import dataclass, replace
from typing import Literal, Protocol, Self

import numpy as np

from benchmark.portable import Values, product, sin, tanh

Change = Literal["large", "small"]

LEAKY_SLOPE = 0.25
SMALL_CHANGE_SD = 0.1


class Mechanism(Protocol):
    """What ``simulate`` needs of a mechanism."""

    @classmethod
    def draw(cls, rng: np.random.Generator, parents: int) -> Self:
        """Draw the parameters for a node with this many parents."""

    def changed(self, rng: np.random.Generator, change: Change) -> Self:
        """Draw the parameters under an imperfect intervention."""

    def __call__(self, parents: Values, noise: Values, rng: np.random.Generator) -> Values:
        """Evaluate the child for parents [m x p] and noise [m]; ``rng`` serves latent selectors."""


def _signed_uniform(rng: np.random.Generator, low: float, high: float, size: int) -> Values:
    values: Values = rng.uniform(low, high, size) * rng.choice([-1.0, 1.0], size)
    return values


def _away_from_zero(rng: np.random.Generator, weights: Values) -> Values:
    """Change weights without removing a dependency: their magnitude grows by U[0.5, 1]."""
    changed: Values = weights + np.where(weights > 0, 1.0, -1.0) * rng.uniform(0.5, 1.0, len(weights))
    return changed


@dataclass(frozen=True)
class Linear:
    """X_j = w^T X_pa + 0.4 N_j."""

    weights: Values

    @classmethod
    def draw(cls, rng: np.random.Generator, parents: int) -> Self:
        return cls(_signed_uniform(rng, 0.25, 1.0, parents))

    def changed(self, rng: np.random.Generator, change: Change) -> Self:
        if change == "small":
            return replace(self, weights=_away_from_zero(rng, self.weights))
        return replace(self, weights=self.weights + _signed_uniform(rng, 2.0, 5.0, len(self.weights)))

    def __call__(self, parents: Values, noise: Values, rng: np.random.Generator) -> Values:
        return product(parents, self.weights) + noise


@dataclass(frozen=True)
class _OneHiddenLayer:
    """A network of one hidden layer: N(0, 1) weights, biases uniform on +-1/sqrt(fan-in)."""

    weights1: Values
    bias1: Values
    weights2: Values
    bias2: float

    @classmethod
    def _draw(cls, rng: np.random.Generator, inputs: int, units: int) -> Self:
        return cls(
            rng.normal(size=(inputs, units)),
            rng.uniform(-1.0, 1.0, units) / np.sqrt(inputs),
            rng.normal(size=units),
            rng.uniform(-1.0, 1.0) / np.sqrt(units),
        )

    def changed(self, rng: np.random.Generator, change: Change) -> Self:
        if change == "small":
            weights1 = self.weights1 + rng.normal(0.0, SMALL_CHANGE_SD, self.weights1.shape)
            return replace(
                self, weights1=weights1, weights2=self.weights2 + rng.normal(0.0, SMALL_CHANGE_SD, len(self.weights2))
            )
        return replace(self, weights2=self.weights2 + rng.normal(size=len(self.weights2)))


@dataclass(frozen=True)
class AdditiveNoise(_OneHiddenLayer):
    """X_j = f_j(X_pa) + 0.4 N_j: 10 hidden units, leaky ReLU."""

    @classmethod
    def draw(cls, rng: np.random.Generator, parents: int) -> Self:
        return cls._draw(rng, parents, 10)

    def __call__(self, parents: Values, noise: Values, rng: np.random.Generator) -> Values:
        hidden = product(parents, self.weights1) + self.bias1
        np.maximum(hidden, LEAKY_SLOPE * hidden, out=hidden)
        return product(hidden, self.weights2) + self.bias2 + noise


@dataclass(frozen=True)
class Network(_OneHiddenLayer):
    """X_j = f_j(X_pa, 0.4 N_j): 20 hidden units, tanh; the noise is one more input."""

    @classmethod
    def draw(cls, rng: np.random.Generator, parents: int) -> Self:
        return cls._draw(rng, parents + 1, 20)

    def __call__(self, parents: Values, noise: Values, rng: np.random.Generator) -> Values:
        hidden = product(parents, self.weights1[:-1])
        hidden += np.outer(noise, self.weights1[-1])
        hidden += self.bias1
        return product(tanh(hidden), self.weights2) + self.bias2


@dataclass(frozen=True)
class Cross:
    """The X data set: +-w^T X_pa + 0.4 N_j, either sign with equal probability."""

    weights: Values

    @classmethod
    def draw(cls, rng: np.random.Generator, parents: int) -> Self:
        return cls(_signed_uniform(rng, 0.25, 1.0, parents))

    def changed(self, rng: np.random.Generator, change: Change) -> Self:
        return replace(self, weights=_away_from_zero(rng, self.weights))

    def __call__(self, parents: Values, noise: Values, rng: np.random.Generator) -> Values:
        return rng.choice([-1.0, 1.0], len(noise)) * product(parents, self.weights) + noise


@dataclass(frozen=True)
class Helix:
    """The DNA data set: +-a sin(p (x + pi / 2)) summed over parents, + 0.4 N_j."""

    amplitude: float
    frequency: float

    @classmethod
    def draw(cls, rng: np.random.Generator, parents: int) -> Self:
        return cls(rng.uniform(0.5, 1.5), rng.uniform(1.0, 2.0))

    def changed(self, rng: np.random.Generator, change: Change) -> Self:
        return replace(self, frequency=self.frequency + rng.uniform(1.0, 2.0))

    def __call__(self, parents: Values, noise: Values, rng: np.random.Generator) -> Values:
        wave = self.amplitude * sin(self.frequency * (parents + np.pi / 2)).sum(axis=1)
        effect: Values = rng.choice([-1.0, 1.0], len(noise)) * wave + noise
        return effect


MECHANISMS: dict[str, type[Mechanism]] = {
    "linear": Linear,
    "anm": AdditiveNoise,
    "nn": Network,
    "x": Cross,
    "dna": Helix,
}
