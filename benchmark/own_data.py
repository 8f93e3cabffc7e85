"""Files of the user's own in a configuration: ``data: {files: [...], ...}``, checked before any job starts.

A ``.npz`` file written by :meth:`Dataset.save` says everything itself. A table (.csv, .tsv, .parquet) comes with the
keys in :data:`TABLE_KEYS`, which are the arguments of :meth:`Dataset.from_frame`.
"""

from pathlib import Path
from typing import Any

from benchmark.config import ConfigError
from benchmark.dataset import Dataset, DatasetError

TABLE_KEYS = ("setting", "control", "targets", "truth", "intervention", "standardise", "ignore")
TABLE_SUFFIXES = (".csv", ".tsv", ".parquet")


def load_file(file: Path, table: dict[str, Any] | None) -> Dataset:
    """Read a data set: a table in the way that its keys say, or a .npz file where there are none."""
    if table is None:
        return Dataset.load(file)
    from benchmark.frames import load_table  # pandas, which plans without tables do not need

    return load_table(file, **table)


def check_files(key: str, data: dict[str, Any], root: Path) -> list[tuple[Path, dict[str, Any] | None]]:
    """Return each file with how to read it, or raise ConfigError for what cannot be read.

    Parameters
    ----------
    key
        Where ``data`` stands in the configuration.
    data
        ``files`` and the keys beside it.
    root
        The folder that paths are relative to.
    """
    table = {name: data[name] for name in TABLE_KEYS if name in data}
    if "truth" in table:
        table["truth"] = str(root / table["truth"])
    found: list[tuple[Path, dict[str, Any] | None]] = []
    for number, name in enumerate(data["files"]):
        file, here = root / name, f"{key}.files[{number}]"
        if file.suffix not in (".npz", *TABLE_SUFFIXES):
            raise ConfigError(f"{here}: {name}; expected a file of type .npz, {', '.join(TABLE_SUFFIXES)}")
        if not file.is_file():
            raise ConfigError(f"{here}: there is no file {name}; paths are relative to the project's folder, {root}")
        if file.suffix == ".npz":
            if table:
                raise ConfigError(f"{key}.{next(iter(table))}: a .npz file says this itself; the key goes with tables")
            found.append((file, None))
            continue
        try:
            load_file(file, table)
        except DatasetError as error:
            raise ConfigError(f"{here}: {error}") from None
        found.append((file, table))
    return found
