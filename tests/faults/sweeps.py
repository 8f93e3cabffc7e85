"""A method with a sweep that goes wrong after some of its fits, in a way that its hyperparameters name."""

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmark.dataset import Dataset, Fit

LABEL = "Sweeps"
SUPPORTS = ("perfect",)
SPACE = {"number": [0, 1, 2], "then": "ends", "count": 3}
SELECTION = "heldout"


def fit(dataset: Dataset, *, seed: int, number: int, then: str, count: int) -> Fit:
    return Fit(np.eye(dataset.d, k=1, dtype=np.int8), heldout_nll=float(number))


def sweep(dataset: Dataset, *, seed: int, grid: list[dict[str, Any]]) -> Iterator[Any]:
    then, count = grid[0]["then"], grid[0]["count"]
    if then == "shares first":
        time.sleep(0.8)
    for combination in grid[:count]:
        yield fit(dataset, seed=seed, **combination)
    if then == "raises":
        raise ValueError("the matrix is singular")
    if then == "exits":
        os._exit(4)
    if then == "kills itself":
        os.kill(os.getpid(), signal.SIGKILL)
    if then == "sleeps":
        time.sleep(60)
    if then == "yields errors":
        for _ in grid[count:]:
            yield ArithmeticError("this one alone")
    if then == "yields a matrix":
        yield np.eye(dataset.d, k=1)
    if then == "yields too many":
        yield fit(dataset, seed=seed, **grid[0])
