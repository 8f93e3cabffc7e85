"""What scikit-learn's tools expect of an estimator: parameters that can be read, set and cloned, and data as arrays."""

import inspect
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset

if TYPE_CHECKING:
    import pandas


class Parameters:
    """An estimator whose parameters are the arguments of its constructor, kept under the same names.

    Examples
    --------
    >>> from dcdi import DCDI
    >>> DCDI(sparsity=0.5).set_params(units=8)
    DCDI(sparsity=0.5, units=8)
    """

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; ``deep`` is there for scikit-learn and changes nothing."""
        return {name: getattr(self, name) for name in _defaults(type(self))}

    def set_params(self, **changes: Any) -> Self:
        """Change parameters, checked as the constructor checks them."""
        known = _defaults(type(self))
        for name in changes:
            if name not in known:
                raise ValueError(f"there is no parameter {name!r}; there are {', '.join(known)}")
        checked = type(self)(**self.get_params() | changes)
        for name in changes:
            setattr(self, name, getattr(checked, name))
        return self

    def __repr__(self) -> str:
        """Return the parameters that differ from the defaults."""
        own = self.get_params()
        changed = [f"{name}={own[name]!r}" for name, value in _defaults(type(self)).items() if own[name] != value]
        return f"{type(self).__name__}({', '.join(changed)})"


def as_dataset(
    X: "Dataset | pandas.DataFrame | npt.ArrayLike", setting: npt.ArrayLike | None, targets: npt.ArrayLike | None
) -> Dataset:
    """Return a data set as it is, or one made of a matrix or DataFrame with settings and targets.

    Without settings, all rows are observational.
    """
    if isinstance(X, Dataset):
        if setting is not None or targets is not None:
            raise ValueError("a Dataset has its settings and targets; give them with an array or a DataFrame only")
        return X
    columns = getattr(X, "columns", None)
    names = None if columns is None else [str(name) for name in columns]
    matrix = np.asarray(X, dtype=np.float64)
    if setting is None:
        if targets is not None:
            raise ValueError("targets are given without the setting of each row")
        setting, targets = np.zeros(len(matrix), dtype=np.int64), np.zeros((1, matrix.shape[-1]), dtype=np.int8)
    return Dataset(matrix, setting, targets, names=names)


def _defaults(kind: type) -> dict[str, Any]:
    return {name: p.default for name, p in inspect.signature(kind).parameters.items()}
