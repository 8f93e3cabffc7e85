"""Data files as nobody should write them: name -> (what writes it, what the message says, or None where it is fine)."""

import io
import json
import os
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmark.dataset import Dataset

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
SETTING = np.repeat([0, 1, 2], 20)
TARGETS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0]])
GRAPH = np.triu(np.ones((3, 3), dtype=int), k=1)

Write = Callable[[Path], Any]


def fields(**changes: Any) -> Write:
    """Write the usual fields with changes; ``...`` leaves one out."""
    content = {"X": X, "setting": SETTING, "targets": TARGETS, "graph": GRAPH} | changes
    kept = {name: value for name, value in content.items() if value is not ...}
    return lambda path: np.savez(path, **kept)


def content(data: bytes) -> Write:
    return lambda path: path.write_bytes(data)


def member(name: str, data: bytes, **others: Any) -> Write:
    """Write an archive whose member ``name`` has these bytes."""

    def write(path: Path) -> None:
        fields(**({name: ...} | others))(path)
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr(f"{name}.npy", data)

    return write


def header(shape: tuple[int, ...], data: bytes = b"") -> bytes:
    """An array that claims a shape, whatever follows."""
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {"shape": shape, "fortran_order": False, "descr": "<f8"})
    return made.getvalue() + data


def pickled(path: Path) -> None:
    np.savez(path, X=np.array([[print, 1]], dtype=object), setting=[0])


def truncated(path: Path) -> None:
    fields()(path)
    path.write_bytes(path.read_bytes()[:-200])


def flipped(path: Path) -> None:
    fields()(path)
    data = bytearray(path.read_bytes())
    data[400] ^= 0xFF
    path.write_bytes(bytes(data))


def encrypted(path: Path) -> None:
    fields()(path)
    data = bytearray(path.read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = 0
        while (start := data.find(signature, start)) >= 0:
            flags = struct.unpack_from("<H", data, start + offset)[0]
            struct.pack_into("<H", data, start + offset, flags | 1)
            start += 4
    path.write_bytes(bytes(data))


def compressed(path: Path) -> None:
    np.savez_compressed(path, X=X, setting=SETTING, targets=TARGETS)


def as_saved(path: Path) -> None:
    Dataset(X, SETTING, TARGETS, GRAPH).save(path)


def with_nan(row: int = 7, column: int = 2, value: float = np.nan) -> Any:
    changed = X.copy()
    changed[row, column] = value
    return changed


def scaled(path: Path) -> None:
    np.savez(path, X=X * 1e300, setting=SETTING, targets=TARGETS)


ODD: dict[str, tuple[Write, str | None]] = {
    "good": (as_saved, None),
    "compressed": (compressed, None),
    "fortran": (fields(X=np.asfortranarray(X)), None),
    "whole numbers": (fields(X=RNG.integers(0, 9, (60, 3))), None),
    "single precision": (fields(X=X.astype("f4")), None),
    "big endian": (fields(X=X.astype(">f8")), None),
    "constant column": (fields(X=X * [1, 0, 1]), None),
    "enormous values": (scaled, None),
    "ünïcode und leer": (as_saved, None),
    "-dash": (as_saved, None),
    "percent%20s $HOME": (as_saved, None),
    "empty": (content(b""), "not a readable .npz file"),
    "text": (content(b"a,b\n1,2\n"), "not a readable .npz file"),
    "truncated": (truncated, "not a readable .npz file"),
    "flipped": (flipped, "field"),
    "encrypted": (encrypted, "field 'X': it cannot be read"),
    "no arrays": (lambda path: zipfile.ZipFile(path, "w").close(), "field 'X' is missing"),
    "pickled": (pickled, "field 'X': it cannot be read (it holds Python objects)"),
    "no X": (fields(X=...), "field 'X' is missing"),
    "no setting": (fields(setting=...), "field 'setting' is missing"),
    "complex": (fields(X=X + 1j), "field 'X': it is not a matrix of numbers (its type is complex128)"),
    "terabytes": (member("X", header((10**7, 10**6))), "field 'X': its header claims 80,000,000,000,000 bytes"),
    "negative size": (member("X", header((-1, 3))), "field 'X': "),
    "garbled header": (member("X", b"\x93NUMPY\x01\x00\xff\xff{"), "field 'X': it cannot be read"),
    "no header": (member("X", b"hello"), "field 'X': it cannot be read"),
    "dates": (fields(X=np.zeros((60, 3), dtype="M8[s]")), "field 'X': it is not a matrix of numbers"),
    "words": (fields(X=np.full((60, 3), "1.5")), "field 'X': it is not a matrix of numbers"),
    "records": (fields(X=np.zeros((60, 3), dtype=[("a", "f8")])), "field 'X': it is not a matrix of numbers"),
    "nan": (fields(X=with_nan()), "field 'X': 1 values are NaN or infinite, the first in row 7, column 'V2'"),
    "infinite": (fields(X=with_nan(value=np.inf)), "field 'X': 1 values are NaN or infinite"),
    "three dimensions": (fields(X=X[:, :, None]), "field 'X': it has shape (60, 3, 1)"),
    "one dimension": (fields(X=X[:, 0]), "field 'X': it has shape (60,)"),
    "no rows": (fields(X=X[:0], setting=SETTING[:0]), "field 'X': it has shape (0, 3)"),
    "short setting": (fields(setting=SETTING[:-1]), "field 'setting': it has shape (59,)"),
    "broken setting": (fields(setting=SETTING + 0.5), "field 'setting': its entries must be whole numbers"),
    "negative setting": (fields(setting=SETTING - 1), "field 'setting': it contains -1"),
    "enormous setting": (fields(setting=SETTING * 10**17, targets=...), "field 'setting': no row belongs to setting 1"),
    "gap in settings": (fields(setting=SETTING * 2, targets=...), "field 'setting': no row belongs to setting 1"),
    "wide targets": (fields(targets=np.zeros((3, 4))), "field 'targets': it has shape (3, 4)"),
    "half targets": (fields(targets=TARGETS * 0.5), "field 'targets': its entries must be whole numbers"),
    "targets of setting 0": (fields(targets=TARGETS | np.array([[1], [0], [0]])), "field 'targets': its row 0"),
    "cycle": (fields(graph=1 - np.eye(3)), "field 'graph': it must be acyclic"),
    "loop": (fields(graph=np.eye(3)), "field 'graph': it must be acyclic"),
    "few names": (fields(names=["a", "b"]), "field 'names': it has 2 names"),
    "same names": (fields(names=["a", "b", "a"]), "field 'names': 'a' stands more than once"),
    "all held out": (fields(heldout=np.ones(60)), "field 'heldout'"),
    "parameters no JSON": (fields(parameters="{"), "field 'parameters': it is not JSON"),
    "parameters no map": (fields(parameters=json.dumps([1])), "field 'parameters': it is list"),
    "parameters a tower": (fields(parameters="[" * 10**5), "field 'parameters': it is not JSON"),
}


def write_all(folder: Path) -> dict[str, Path]:
    """Write every odd file; return where they are."""
    paths = {name: folder / f"{name}.npz" for name in ODD}
    for name, (write, _) in ODD.items():
        write(paths[name])
    assert all(os.path.exists(path) for path in paths.values())
    return paths
