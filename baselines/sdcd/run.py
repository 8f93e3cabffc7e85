"""SDCD (Nazaret, Hong, Azizi and Blei, ICML 2024) on one data set; runs in the environment ``envs/sdcd.yaml``.

    python run.py data.npz job.json fit.json

Nothing of the project is imported here: the package pins older versions than the project's.
"""

import functools
import json
import sys
from typing import Any

import numpy as np


def main(data_file: str, job_file: str, fit_file: str) -> None:
    """Fit as the authors' experiments do, with the rows held out here in place of a random fifth."""
    try:
        import torch
        from sdcd.models import SDCD, _sdcd
    except ImportError as error:
        sys.exit(f"the package sdcd cannot be imported ({error}): make env-sdcd, or run Snakemake with --use-conda")
    with open(job_file, encoding="utf-8") as file:
        options = json.load(file)["hyperparameters"]
    with np.load(data_file, allow_pickle=False) as data:
        X, setting, targets, heldout = (data[name] for name in ("X", "setting", "targets", "heldout"))
        names = [str(name) for name in data["names"]]
    torch.set_num_threads(1)

    # The package's loader takes the rows of a batch one by one and stacks them: a third of the time of a fit. Here it
    # takes them together. The batches are the same, and so is the fit.
    class Rows(torch.utils.data.TensorDataset):
        def __getitems__(self, indices: list[int]) -> Any:
            return self[np.array(indices)]

    _sdcd.DataLoader = functools.partial(torch.utils.data.DataLoader, collate_fn=tuple)
    # Known targets: the likelihood leaves out each variable where it is intervened on.
    untouched = torch.as_tensor(1 - targets[setting], dtype=torch.long)
    rows = Rows(torch.as_tensor(X, dtype=torch.float32), untouched, untouched.shape[1] - untouched.sum(dim=1))
    training, validation = (Rows(*rows[np.flatnonzero(chosen)]) for chosen in (~heldout, heldout))
    model = SDCD()
    stages = {
        f"stage{stage}_kwargs": {
            "n_epochs": options["epochs"],
            "alpha": options[f"stage{stage}_alpha"],
            "beta": options[f"stage{stage}_beta"],
        }
        for stage in (1, 2)
    }
    stages["stage2_kwargs"]["threshold"] = options["threshold"]
    model.train(training, validation, **stages)
    graph = model.get_adjacency_matrix(threshold=True)
    fit = {
        "edges": [[names[i], names[j]] for i, j in np.argwhere(graph)],
        "info": {"engine": "sdcd", "torch": torch.__version__},
    }
    with open(fit_file, "w", encoding="utf-8") as file:
        json.dump(fit, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
