"""Leave one interventional setting of a data set out, to judge methods on an intervention that they never saw."""

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset, DatasetError

RANDOM = "random"


def leave_out(dataset: Dataset, which: str, seed: int) -> Dataset:
    """Return a data set without one setting; its number in the whole data set is then ``parameters["left_out"]``.

    ``which`` is ``"random"``, or the name of the variable that the setting alone targets.
    """
    setting = _find(dataset, which, seed)
    rest = dataset.setting != setting
    assert dataset.targets is not None
    numbers = dataset.setting[rest] - (dataset.setting[rest] > setting)
    parameters = dataset.parameters | {"left_out": setting}
    if "conditions" in parameters:
        parameters["conditions"] = [name for k, name in enumerate(dataset.conditions) if k != setting]
    return Dataset(
        dataset.X[rest],
        numbers,
        np.delete(dataset.targets, setting, axis=0),
        dataset.graph,
        dataset.names,
        None if dataset.heldout is None else dataset.heldout[rest],
        parameters,
    )


def unseen_rows(whole: Dataset, setting: int) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.bool_]]:
    """Return the rows of the setting that was left out, and which variables it targets."""
    assert whole.targets is not None
    return whole.X[whole.setting == setting], whole.targets[setting].astype(bool)


def _find(dataset: Dataset, which: str, seed: int) -> int:
    if dataset.targets is None:
        raise DatasetError("field 'targets': a setting can be left out only where targets are known")
    if dataset.settings < 2:
        raise DatasetError("field 'setting': there is no interventional setting to leave out")
    if which == RANDOM:
        return int(np.random.default_rng(seed).integers(1, dataset.settings))
    for setting in range(1, dataset.settings):
        if [dataset.names[j] for j in np.flatnonzero(dataset.targets[setting])] == [which]:
            return setting
    raise DatasetError(f"field 'targets': no setting targets {which!r} alone; the variables are {dataset.names}")
