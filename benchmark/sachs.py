"""The flow cytometry data of Sachs et al. (2005) as used in the paper (Appendix C.1)."""

import importlib.util
from pathlib import Path

import numpy as np

from benchmark.dataset import Dataset
from benchmark.simulate import split_rows

# Rows of the file in its order: observational first, then one intervention each.
ROWS = {None: 1755, "pakts473": 911, "PKC": 723, "PIP2": 810, "pmek": 799, "PIP3": 848}

CONSENSUS = {
    "praf": ["pmek"],
    "pmek": ["p44/42"],
    "plcg": ["PIP2", "PIP3"],
    "PIP3": ["PIP2"],
    "p44/42": ["pakts473"],
    "PKA": ["praf", "pmek", "p44/42", "pakts473", "P38", "pjnk"],
    "PKC": ["praf", "pmek", "PKA", "P38", "pjnk"],
}


def load_sachs(*, heldout: float = 0.2, seed: int = 0) -> Dataset:
    """Return 5,846 log measurements of 11 proteins in 6 settings, with the 17-edge consensus graph.

    The measurements come with the package ``cdt``; only its file is read, the package is not imported.

    >>> data = load_sachs()
    >>> data.X.shape, data.settings, int(data.graph.sum())
    ((5846, 11), 6, 17)
    """
    path = _measurements()
    with open(path, encoding="utf-8") as file:
        names = file.readline().strip().split(",")
        total = sum(ROWS.values())
        X = np.log(np.loadtxt(file, delimiter=",", max_rows=total))
    setting = np.repeat(np.arange(len(ROWS)), list(ROWS.values()))
    targets = np.zeros((len(ROWS), len(names)), dtype=np.int8)
    for k, protein in enumerate(ROWS):
        if protein is not None:
            targets[k, names.index(protein)] = 1
    graph = np.zeros((len(names), len(names)), dtype=np.int8)
    for cause, effects in CONSENSUS.items():
        for effect in effects:
            graph[names.index(cause), names.index(effect)] = 1
    split = split_rows(setting, heldout, np.random.default_rng(seed)) if heldout else None
    return Dataset(X, setting, targets, graph, names, split, {"mechanism": "sachs", "seed": seed})


def _measurements() -> Path:
    spec = importlib.util.find_spec("cdt")
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(
            "the Sachs data come with the package cdt; install it: pip install --no-deps cdt==0.6.0"
        )
    return Path(next(iter(spec.submodule_search_locations))) / "data" / "resources" / "cyto_full_data.csv"
