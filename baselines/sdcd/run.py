"""SDCD (Nazaret, Hong, Azizi and Blei, ICML 2024) on one data set; runs in the environment ``envs/sdcd.yaml``.

    python run.py data.npz job.json fit.json

Nothing of the project is imported here: the package pins older versions than the project's.
"""

import json
import sys

import numpy as np


def main(data_file: str, job_file: str, fit_file: str) -> None:
    """Fit as the authors' experiments do, with the rows held out here in place of a random fifth."""
    try:
        import torch
        from sdcd.models import SDCD
    except ImportError as error:
        sys.exit(f"the package sdcd cannot be imported ({error}): make env-sdcd, or run Snakemake with --use-conda")
    with open(job_file, encoding="utf-8") as file:
        options = json.load(file)["hyperparameters"]
    with np.load(data_file, allow_pickle=False) as data:
        X, setting, targets, heldout = (data[name] for name in ("X", "setting", "targets", "heldout"))
        names = [str(name) for name in data["names"]]
    torch.set_num_threads(1)
    # Known targets: the likelihood leaves out each variable where it is intervened on.
    untouched = torch.as_tensor(1 - targets[setting], dtype=torch.long)
    rows = torch.utils.data.TensorDataset(
        torch.as_tensor(X, dtype=torch.float32), untouched, untouched.shape[1] - untouched.sum(dim=1)
    )
    training, validation = (
        torch.utils.data.TensorDataset(*rows[np.flatnonzero(chosen)]) for chosen in (~heldout, heldout)
    )
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
