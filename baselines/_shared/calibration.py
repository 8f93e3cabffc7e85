"""How often each test rejects a hypothesis that is true: ``python -m baselines._shared.calibration``.

A data set has two variables x and y that depend on common parents, and on them alone, under one mechanism in both
settings; the setting moves the parents. So x and y are independent, and x invariant, given the parents. A calibrated
test has p-values below 0.01 in 1 % of such data sets. Prints the table of docs/ci-tests.md.
"""

import argparse

import numpy as np
import numpy.typing as npt

from baselines._shared.ci_tests import make_tests
from benchmark.dataset import Dataset

LEVELS = (0.001, 0.01, 0.05, 0.1, 0.2)
TESTS = ("gauss", "kci", "rcit")
PARENTS = (1, 3, 8)
ROWS = 909  # of a setting on 10 nodes, as in the paper

Array = npt.NDArray[np.float64]


def effect(mechanism: str, parents: Array, noise: Array, rng: np.random.Generator) -> Array:
    """Return a variable: linear, a sum of functions of one parent, a network plus noise, or a network of both."""
    count = parents.shape[1]
    if mechanism == "linear":
        return parents @ rng.uniform(0.3, 1, count) + noise
    if mechanism == "additive":
        speed, phase = rng.uniform(0.5, 2, count), rng.uniform(0, np.pi, count)
        waves: Array = np.sin(parents * speed + phase).sum(axis=1)
        return waves + 0.5 * noise
    inside = mechanism == "noise inside"
    inputs = np.column_stack([parents, noise]) if inside else parents
    output: Array = np.tanh(inputs @ rng.standard_normal((inputs.shape[1], 10))) @ rng.standard_normal(10)
    return output if inside else output / output.std() + 0.5 * noise


def draw(mechanism: str, parents: int, seed: int) -> Dataset:
    """Draw a data set of columns x, y, parents with one setting more."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(parents) + 0.3 * rng.standard_normal((parents, parents))
    Z = rng.standard_normal((2 * ROWS + 1, parents)) @ mixing
    Z[ROWS:] = 0.8 * Z[ROWS:] + 0.5
    tested = [effect(mechanism, Z, rng.standard_normal(len(Z)), rng) for _ in range(2)]
    return Dataset(np.column_stack([*tested, Z]), np.repeat([0, 1], [ROWS, ROWS + 1]), None)


def p_values(mechanism: str, parents: int, repeats: int) -> Array:
    """Return p-values of independence and invariance [tests x 2 x repeats]."""
    given = tuple(range(2, 2 + parents))
    found = np.empty((len(TESTS), 2, repeats))
    for seed in range(repeats):
        data = draw(mechanism, parents, seed)
        for number, name in enumerate(TESTS):
            tests = make_tests(data, name, seed)
            found[number, :, seed] = tests.independence(0, 1, given), tests.invariance(0, 1, given)
    return found


def main() -> None:
    """Print the share of p-values below each level."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--repeats", type=int, default=400, help="data sets a row (400: five minutes on one core)")
    repeats = parser.parse_args().repeats
    print("| Mechanism | Parents | Test | Independence: p below " + ", ".join(f"{level:g}" for level in LEVELS), end="")
    print(" | Invariance: p below the same |\n|---|---|---|---|---|")
    for mechanism in ("linear", "additive", "noise outside", "noise inside"):
        for parents in PARENTS:
            for name, p in zip(TESTS, p_values(mechanism, parents, repeats), strict=True):
                shares = [", ".join(f"{np.mean(row < level):.3f}" for level in LEVELS) for row in p]
                print(f"| {mechanism} | {parents} | {name} | {shares[0]} | {shares[1]} |", flush=True)


if __name__ == "__main__":
    main()
