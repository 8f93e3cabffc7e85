"""Data sets from tables as people have them: variables as columns, and one column that names each row's condition.

:meth:`benchmark.dataset.Dataset.from_frame` is the door for a DataFrame, :func:`load_table` that for a file (.csv, .tsv
or .parquet). An error names the file, the column and the row. Rows of a .csv or .tsv file are counted as a spreadsheet
counts them: the header is row 1.
"""

import csv
import difflib
import importlib.util
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmark.dataset import Dataset, DatasetError
from benchmark.graphs import find_cycle

SEPARATORS = {".csv": ",", ".tsv": "\t"}
SUFFIXES = (*SEPARATORS, ".parquet")

Intervention = Literal["perfect", "imperfect"]
Targets = Mapping[str, str | Sequence[str]]
Truth: TypeAlias = pd.DataFrame | Sequence[Sequence[str]]


def from_frame(
    frame: pd.DataFrame,
    *,
    setting: str | None,
    control: str | None,
    targets: Targets | None,
    truth: Truth | None,
    intervention: Intervention,
    standardise: bool,
    ignore: Sequence[str],
) -> Dataset:
    """Return the data set of a table; :meth:`Dataset.from_frame` describes the parameters."""
    if intervention not in ("perfect", "imperfect"):
        raise DatasetError(f"intervention is {intervention!r}; expected 'perfect' or 'imperfect'")
    table = _with_distinct_columns(frame)
    for name in ([] if setting is None else [setting]) + list(ignore):
        _require(name, list(table.columns), "column", "the table has no such column")
    variables = [name for name in table.columns if name != setting and name not in ignore]
    if not variables:
        raise DatasetError("there is no column left for the variables")
    conditions, numbers = _settings(table, setting, control)
    matrix = None if targets is None else _target_matrix(targets, conditions, variables)
    if targets is None and len(conditions) == 1:
        matrix = np.zeros((1, len(variables)), dtype=np.int8)
    X = np.column_stack([_numbers(table[name]) for name in variables])
    return Dataset(
        _standardised(X, variables) if standardise else X,
        numbers,
        matrix,
        None if truth is None else _graph(truth, variables),
        variables,
        parameters={"conditions": conditions, "intervention": intervention},
    )


def load_table(
    path: str | os.PathLike[str], *, setting: str | None = None, truth: str | os.PathLike[str] | None = None, **how: Any
) -> Dataset:
    """Read a data set from a .csv, .tsv or .parquet file; ``truth`` is a file, too: columns ``from`` and ``to``."""
    edges = None if truth is None else read_frame(truth, text=["from", "to"])
    try:
        return Dataset.from_frame(
            read_frame(path, text=[] if setting is None else [setting]), setting=setting, truth=edges, **how
        )
    except DatasetError as error:
        # What is wrong with the truth is wrong in its own file.
        place = truth if str(error).startswith("truth: ") else path
        raise DatasetError(f"{place}: {error}") from None


def read_frame(path: str | os.PathLike[str], *, text: Sequence[str] = ()) -> pd.DataFrame:
    """Read a table; the index of a .csv or .tsv file is the row of a spreadsheet. Columns in ``text`` stay text."""
    file = Path(path)
    if file.suffix not in SUFFIXES:
        raise DatasetError(f"{path}: the name ends in {file.suffix!r}; expected one of {', '.join(SUFFIXES)}")
    if not file.is_file():
        raise DatasetError(f"{path}: there is no such file")
    if file.suffix == ".parquet":
        return _read_parquet(file)
    separator = SEPARATORS[file.suffix]
    try:
        with open(file, encoding="utf-8-sig", newline="") as lines:
            header = next(csv.reader(lines, delimiter=separator), [])
        _check_header(header, separator)
        # Blank lines are kept until the rows have their numbers.
        frame = pd.read_csv(
            file,
            sep=separator,
            encoding="utf-8-sig",
            skip_blank_lines=False,
            dtype=dict.fromkeys(text, str),
            index_col=False,
            low_memory=False,
        )
    except UnicodeDecodeError:
        raise DatasetError(f"{path}: it is not UTF-8 text; save it again, in Excel as 'CSV UTF-8'") from None
    except DatasetError as error:
        raise DatasetError(f"{path}: {error}") from None
    except (ValueError, csv.Error) as error:
        raise DatasetError(f"{path}: it cannot be read ({error})") from None
    frame.index = pd.RangeIndex(2, len(frame) + 2)
    frame = frame.dropna(how="all")
    if frame.empty:
        raise DatasetError(f"{path}: it has no rows below its header")
    return frame


def hold_out(dataset: Dataset, share: float, seed: int) -> Dataset:
    """Return the data set with rows held out, evenly over the settings, unless it says itself which."""
    from benchmark.simulate import split_rows

    if dataset.heldout is not None:
        return dataset
    split = split_rows(dataset.setting, share, np.random.default_rng(seed))
    return Dataset(dataset.X, dataset.setting, dataset.targets, dataset.graph, dataset.names, split, dataset.parameters)


def _read_parquet(file: Path) -> pd.DataFrame:
    if importlib.util.find_spec("pyarrow") is None:
        raise DatasetError(f"{file}: Parquet files need the package pyarrow: pip install pyarrow (or use a .csv file)")
    try:
        frame = pd.read_parquet(file)
    except (ValueError, OSError) as error:
        raise DatasetError(f"{file}: it cannot be read ({error})") from None
    frame.index = pd.RangeIndex(1, len(frame) + 1)
    return frame


def _check_header(header: list[str], separator: str) -> None:
    if not header:
        raise DatasetError("it is empty")
    if len(header) == 1 and separator == "," and any(mark in header[0] for mark in ";\t"):
        raise DatasetError(
            f"its header {header[0]!r} has no commas; separate columns by commas, or by tabs in a .tsv file"
        )
    for number, name in enumerate(header, start=1):
        if not name.strip():
            raise DatasetError(
                f"column {number} has no name; write the file without row names (pandas: index=False, R: "
                "row.names = FALSE), or name the column"
            )
        if name in header[: number - 1]:
            raise DatasetError(f"column {name!r} stands more than once")


def _with_distinct_columns(frame: pd.DataFrame) -> pd.DataFrame:
    table = frame.set_axis([str(name).strip() for name in frame.columns], axis=1)
    repeated = table.columns[table.columns.duplicated()]
    if len(repeated):
        raise DatasetError(f"column {repeated[0]!r} stands more than once")
    if table.empty:
        raise DatasetError("the table has no rows")
    return table


def _settings(table: pd.DataFrame, setting: str | None, control: str | None) -> tuple[list[str], npt.NDArray[np.int64]]:
    """Return the conditions, the control first and the others as they appear, and the number of each row's."""
    if setting is None:
        if control is not None:
            raise DatasetError("control: name the column of the conditions, too (setting)")
        return ["observational"], np.zeros(len(table), dtype=np.int64)
    column = table[setting]
    if column.isna().any():
        raise DatasetError(f"column {setting!r}, row {column.index[column.isna()][0]}: no condition is named")
    labels = [str(value).strip() for value in column]
    present = list(dict.fromkeys(labels))
    if control is None:
        raise DatasetError(
            f"control: say which condition of column {setting!r} is the control; there are {_listed(present)}"
        )
    _require(str(control), present, "control", f"no row of column {setting!r} has this condition")
    conditions = [str(control), *(name for name in present if name != str(control))]
    number = {name: k for k, name in enumerate(conditions)}
    return conditions, np.array([number[label] for label in labels], dtype=np.int64)


def _target_matrix(targets: Targets, conditions: list[str], variables: list[str]) -> npt.NDArray[np.int8]:
    named = {str(condition): [of] if isinstance(of, str) else list(of) for condition, of in targets.items()}
    matrix = np.zeros((len(conditions), len(variables)), dtype=np.int8)
    for condition, of in named.items():
        _require(condition, conditions, "targets", "no row has this condition")
        for variable in of:
            _require(str(variable), variables, f"targets of {condition!r}", "the table has no such variable")
            matrix[conditions.index(condition), variables.index(str(variable))] = 1
    if matrix[0].any():
        raise DatasetError(f"targets: {conditions[0]!r} is the control and cannot have targets")
    for condition in conditions[1:]:
        if condition not in named:
            raise DatasetError(
                f"targets: condition {condition!r} is not among them; name the variables that it targets, or give no "
                "targets at all where they are unknown"
            )
    return matrix


def _numbers(column: pd.Series) -> npt.NDArray[np.float64]:
    values = pd.to_numeric(column, errors="coerce")
    wrong = column.index[values.isna() & column.notna()]
    if len(wrong):
        raise DatasetError(
            f"column {column.name!r}, row {wrong[0]}: {str(column[wrong[0]])!r} is not a number; correct it, or leave "
            "the column out (ignore)"
        )
    numbers: npt.NDArray[np.float64] = values.to_numpy(dtype=np.float64, na_value=np.nan)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        more = f", and {len(bad) - 1} more of this column" if len(bad) > 1 else ""
        raise DatasetError(
            f"column {column.name!r}, row {column.index[bad[0]]}: the value is missing or infinite{more}; remove "
            "such rows or impute them"
        )
    return numbers


def _standardised(X: npt.NDArray[np.float64], variables: list[str]) -> npt.NDArray[np.float64]:
    deviation = X.std(axis=0)
    if not deviation.all():
        name = variables[int(np.argmin(deviation))]
        raise DatasetError(
            f"column {name!r}: all its values are equal, so it cannot be standardised; leave it out (ignore)"
        )
    standardised: npt.NDArray[np.float64] = (X - X.mean(axis=0)) / deviation
    return standardised


def _graph(truth: Truth, variables: list[str]) -> npt.NDArray[np.int8]:
    """Return the matrix of an edge list, pairs (from, to) or a table with these columns."""
    if isinstance(truth, pd.DataFrame):
        for name in ("from", "to"):
            _require(name, [str(column) for column in truth.columns], "truth", "the edge list has no such column")
        edges: Sequence[Sequence[str]] = truth[["from", "to"]].to_numpy().tolist()
    else:
        edges = truth
    graph = np.zeros((len(variables), len(variables)), dtype=np.int8)
    for edge in edges:
        if len(edge) != 2 or isinstance(edge, str):
            raise DatasetError(f"truth: {edge!r} is no edge; expected pairs of names (from, to)")
        cause, effect = (str(name).strip() for name in edge)
        for name in (cause, effect):
            _require(name, variables, f"truth: edge {cause} -> {effect}", "the table has no such variable")
        graph[variables.index(cause), variables.index(effect)] = 1
    cycle = find_cycle(graph)
    if cycle:
        raise DatasetError(f"truth: it has the cycle {' -> '.join(variables[node] for node in cycle)}")
    return graph


def _require(name: str, known: list[str], what: str, problem: str) -> None:
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {_listed(known)}"
        raise DatasetError(f"{what}: {name!r}: {problem}; {hint}")


def _listed(names: Sequence[str], most: int = 12) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
