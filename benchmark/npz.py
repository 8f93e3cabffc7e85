"""Read arrays of an .npz file that anyone may have written: nothing is unpickled, nothing larger than memory."""

import math
import os
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from benchmark.checks import DatasetError


def read_arrays(path: str | os.PathLike[str], fields: Iterable[str]) -> tuple[dict[str, npt.NDArray[Any]], list[str]]:
    """Return those of some fields that a file has, and the names of all that it has.

    A DatasetError names the file and, where it is one field that cannot be read, that.
    """
    if Path(path).exists() and not Path(path).is_file():
        raise DatasetError(f"{path}: this is no file")
    try:
        with open(path, "rb") as handle, zipfile.ZipFile(handle) as archive:
            members = {entry.filename.removesuffix(".npy"): entry for entry in archive.infolist()}
            found = {name: _read(archive, members[name], name) for name in fields if name in members}
    except FileNotFoundError:
        raise DatasetError(f"{path}: there is no such file") from None
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from None
    except Exception as error:  # zip files can be broken in many ways
        raise DatasetError(f"{path}: this is not a readable .npz file ({error or type(error).__name__})") from None
    return found, sorted(members)


def _read(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, name: str) -> npt.NDArray[Any]:
    try:
        with archive.open(entry) as file:
            shape, dtype = _header(file)
            _check_size(name, math.prod(shape) * dtype.itemsize, entry.file_size - file.tell())
        with archive.open(entry) as file:
            array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    except DatasetError:
        raise
    except Exception as error:
        raise DatasetError(f"field '{name}': it cannot be read ({error or type(error).__name__})") from None
    return array


def _header(file: BinaryIO | Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    if dtype.hasobject:
        raise ValueError("it holds Python objects")
    return shape, dtype


def _check_size(name: str, claimed: int, stored: int) -> None:
    """Refuse an array before memory is asked for, where it is not in the file or cannot be held."""
    import psutil  # only files need it

    if claimed != stored:
        raise DatasetError(f"field '{name}': its header claims {claimed:,} bytes; the file holds {stored:,}")
    available = psutil.virtual_memory().available
    if claimed > available:
        raise DatasetError(f"field '{name}': it needs {claimed:,} bytes of memory; this machine has {available:,} free")
