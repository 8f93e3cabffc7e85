"""A fitted model: densities of new rows, saved and loaded."""

import dataclasses
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset
from benchmark.files import written_whole
from dcdi.model import Model

ROWS_AT_ONCE = 512


@dataclass(frozen=True)
class FittedModel:
    """Conditional densities of a fitted graph.

    Parameters
    ----------
    model : Model
        Which networks there are.
    graph : [d x d]
        The DAG, ``graph[i, j] = 1`` for i -> j.
    targets : [settings x d]
        The targets, known or learned.
    parameters : dict
        Weights of all networks and log standard deviations.
    """

    model: Model
    graph: npt.NDArray[np.int8]
    targets: npt.NDArray[np.int8]
    parameters: dict[str, npt.NDArray[np.float64]]

    def log_density(self, X: npt.ArrayLike, setting: npt.ArrayLike | int = 0) -> npt.NDArray[np.float64]:
        """Return log f(x_j | parents) [n x d] in given settings.

        Where a perfect, known intervention leaves a target without a model, its entry is that of the observational one.
        """
        import torch

        from dcdi.reference import negative_log_likelihood

        x = torch.tensor(np.atleast_2d(np.asarray(X, dtype=np.float64)))
        numbers = torch.tensor(np.broadcast_to(np.asarray(setting, dtype=np.int64), len(x)).copy())
        graph, targets = (torch.tensor(matrix, dtype=torch.float64) for matrix in (self.graph, self.targets))
        tensors = {name: torch.tensor(value)[None] for name, value in self.parameters.items()}
        parts = []
        # The weights are copied for each row: a whole data set at once would take gigabytes.
        for rows, of in zip(torch.split(x, ROWS_AT_ONCE), torch.split(numbers, ROWS_AT_ONCE), strict=True):
            free = 1 - targets[of] if self.model.has_own_networks else torch.ones_like(rows)
            masks = graph.expand(1, len(rows), -1, -1)
            with torch.no_grad():
                parts.append(negative_log_likelihood(self.model, tensors, rows[None], of[None], masks, free[None])[0])
        return -torch.cat(parts).numpy()

    def score(self, dataset: Dataset) -> float:
        """Return the mean log-likelihood per row of a data set of unseen settings, its targets' terms left out."""
        density = self.log_density(dataset.X, 0)
        return float((density * ~dataset.targeted).sum(axis=1).mean())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one ``.npz`` file, whole or not at all."""
        description = dataclasses.asdict(self.model) | {"known_targets": self.model.known_targets.tolist()}
        arrays: dict[str, Any] = {f"parameter_{name}": value for name, value in self.parameters.items()}
        arrays |= {"model": np.array(json.dumps(description)), "graph": self.graph, "targets": self.targets}
        with written_whole(path) as file:
            np.savez(file, **arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a file written by :meth:`save`."""
        with np.load(Path(path), allow_pickle=False) as file:
            description = json.loads(str(file["model"]))
            description["known_targets"] = np.array(description["known_targets"], dtype=np.int8)
            names = [name for name in file.files if name.startswith("parameter_")]
            parameters = {name.removeprefix("parameter_"): file[name] for name in names}
            return cls(Model(**description), file["graph"], file["targets"], parameters)
