"""How a data set reaches the process of a fit, and how a fit comes back: plain data, checked on arrival."""

import fcntl
import mmap
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset, Fit
from benchmark.running.plain import plain

_ARRAYS = ("X", "setting", "targets", "heldout")
_ALIGNED = 64
_F_ADD_SEALS, _SEAL_ALL = 1033, 0b1111  # linux/fcntl.h: no more seals, no shrinking, no growing, no writing


class DeliveryError(ValueError):
    """A fit that is not as it should be; the message says what is wrong with it."""


def share(dataset: Dataset) -> tuple[int, dict[str, Any]]:
    """Put a data set into memory that other processes can read and none can change.

    Returns a file descriptor and what is needed to read from it; :func:`receive` does.
    """
    descriptor = os.memfd_create("data", os.MFD_ALLOW_SEALING) if hasattr(os, "memfd_create") else _unnamed_file()
    arrays, offset = {}, 0
    for name in _ARRAYS:
        values = getattr(dataset, name)
        if values is not None:
            content = np.ascontiguousarray(values)
            _write_all(descriptor, content.tobytes(), offset)
            arrays[name] = {"dtype": content.dtype.str, "shape": content.shape, "offset": offset}
            offset += -(-content.nbytes // _ALIGNED) * _ALIGNED
    os.pwrite(descriptor, b"\0", offset)
    if hasattr(os, "memfd_create"):
        fcntl.fcntl(descriptor, _F_ADD_SEALS, _SEAL_ALL)
    return descriptor, {"arrays": arrays, "names": dataset.names, "parameters": plain(dataset.parameters)}


def receive(descriptor: int, description: dict[str, Any]) -> Dataset:
    """Return the data set that :func:`share` put there; its pages are read-only, whatever a method tries."""
    memory = mmap.mmap(descriptor, 0, mmap.MAP_SHARED, mmap.PROT_READ)
    dataset: Dataset = object.__new__(Dataset)
    for name in ("X", "setting", "targets", "graph", "heldout"):
        stored = description["arrays"].get(name)
        object.__setattr__(dataset, name, None if stored is None else _array(memory, stored))
    object.__setattr__(dataset, "names", tuple(description["names"]))
    object.__setattr__(dataset, "parameters", description["parameters"])
    return dataset


def pack(fit: Any, dataset: Dataset) -> dict[str, Any]:
    """Return a fit as plain data; in the process of the fit."""
    if not isinstance(fit, Fit):
        raise DeliveryError(f"the method returned {type(fit).__name__}; expected benchmark.dataset.Fit")
    if fit.graph.shape != (dataset.d, dataset.d):
        raise DeliveryError(f"the graph has shape {fit.graph.shape}; the data set has {dataset.d} variables")
    if not isinstance(fit.info, dict):
        raise DeliveryError(f"info is {type(fit.info).__name__}; expected a dict")
    if fit.targets is not None:
        _check_targets(np.asarray(fit.targets), (dataset.settings, dataset.d))
    cpdag = fit.info.get("cpdag")
    return {
        "graph": np.asarray(fit.graph).tolist(),
        "kind": fit.kind,
        "heldout_nll": None if fit.heldout_nll is None else plain(float(fit.heldout_nll)),
        "targets": None if fit.targets is None else np.asarray(fit.targets).tolist(),
        "cpdag": None if cpdag is None else np.asarray(cpdag).tolist(),
        "info": plain({key: value for key, value in fit.info.items() if key != "cpdag"}),
    }


def unpack(delivered: dict[str, Any], nodes: int, settings: int) -> Fit:
    """Return the fit that :func:`pack` described, checked; in the process that keeps the records."""
    try:
        info = dict(delivered["info"])
        if delivered["cpdag"] is not None:
            info["cpdag"] = np.array(delivered["cpdag"], dtype=np.int8)
        fit = Fit(np.array(delivered["graph"]), delivered["kind"], delivered["heldout_nll"], delivered["targets"], info)
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise DeliveryError(str(error)) from None
    if fit.graph.shape != (nodes, nodes):
        raise DeliveryError(f"the graph has shape {fit.graph.shape}; the data set has {nodes} variables")
    if fit.targets is not None:
        _check_targets(fit.targets, (settings, nodes))
    return fit


def _check_targets(targets: npt.NDArray[np.float64], shape: tuple[int, int]) -> None:
    if targets.shape != shape:
        raise DeliveryError(f"the learned targets have shape {targets.shape}; expected {shape} (settings x nodes)")
    if not ((targets >= 0) & (targets <= 1)).all():
        raise DeliveryError("the learned targets are not all between 0 and 1")


def _array(memory: mmap.mmap, stored: dict[str, Any]) -> npt.NDArray[Any]:
    dtype, shape = np.dtype(stored["dtype"]), tuple(stored["shape"])
    count = int(np.prod(shape))
    return np.frombuffer(memory, dtype, count, stored["offset"]).reshape(shape)


def _write_all(descriptor: int, content: bytes, offset: int) -> None:
    left = memoryview(content)
    while left:
        written = os.pwrite(descriptor, left, offset)
        left, offset = left[written:], offset + written


def _unnamed_file() -> int:
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
