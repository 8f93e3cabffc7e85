"""Fit one data set from the command line, without Snakemake.

python -m benchmark.fit my.csv --setting condition --control control --target KO_TP53=TP53 --method dcdi-g

prints the edges with names and writes them, as :mod:`benchmark.graph_files` describes, into a folder beside the caller.
"""

import argparse
import math
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from tqdm import tqdm

from benchmark.dataset import Dataset, DatasetError, Fit
from benchmark.evaluation import describe
from benchmark.graph_files import Selected, write_folder
from benchmark.learned_graphs import edge_table
from benchmark.methods import Grid, Method, MethodError, available, load_method
from benchmark.own_data import TABLE_KEYS, load_file
from benchmark.records import Record, failed, succeeded
from benchmark.selection import select


class UsageError(ValueError):
    """An argument that cannot be used."""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return its exit status."""
    options = _parser().parse_args(arguments)
    try:
        dataset = _read(options)
        methods = [load_method(name) for name in options.method]
        setting = _setting(dataset)
        for method in methods:
            _check_support(method, setting)
        print(repr(dataset).strip("<>"), flush=True)
        grids = _grids(methods, options)
    except (DatasetError, MethodError, UsageError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    rows = []
    for method, grid in zip(methods, grids, strict=True):
        records = list(_records(method, dataset.blind(hide_targets=False), grid, options.seed))
        chosen = records[0] if len(records) == 1 else select(records, method.selection)
        rows.append(Selected(method.name, method.label, method.is_control, chosen))
        _show(rows[-1], dataset)
    folder = Path(options.out or f"{Path(options.data).stem}-graphs")
    write_folder(folder, dataset, rows, Path(options.data).stem)
    print(f"\nWritten to {folder}{os.sep}: the edges (.csv), the graph (.graphml) and a drawing (.png) of each method")
    return 0 if all(row.record["status"] == "ok" for row in rows) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmark.fit", description="Learn causal graphs from one table.")
    parser.add_argument("data", help="a table (.csv, .tsv, .parquet) with a column per variable, or a data set (.npz)")
    parser.add_argument(
        "--method",
        action="append",
        required=True,
        help=f"may be given several times; there are {', '.join(available())}",
    )
    parser.add_argument("--setting", metavar="COLUMN", help="the column that names the condition of each row")
    parser.add_argument("--control", metavar="CONDITION", help="the condition that is observational")
    parser.add_argument(
        "--target",
        action="append",
        default=[],
        metavar="CONDITION=VARIABLE,...",
        help="what a condition intervenes on, once per condition; none at all: targets are unknown and learned",
    )
    parser.add_argument("--intervention", choices=["perfect", "imperfect"], help="perfect where not given")
    parser.add_argument(
        "--standardise", action="store_true", help="give every variable mean 0 and standard deviation 1"
    )
    parser.add_argument("--ignore", metavar="COLUMN,...", help="columns that are no variables")
    parser.add_argument("--truth", metavar="FILE", help="a table of true edges with the columns from and to")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE,...",
        help="try these values of a hyperparameter in place of the method's own",
    )
    parser.add_argument("--heldout", type=float, default=0.2, help="share of the rows kept for selection (0.2)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", metavar="FOLDER", help="where to write; <data>-graphs where not given")
    return parser


def _read(options: argparse.Namespace) -> Dataset:
    from benchmark.frames import hold_out

    given = {name: getattr(options, name, None) for name in TABLE_KEYS}
    given["targets"] = dict(_pair("--target", text) for text in options.target) or None
    given["ignore"] = options.ignore.split(",") if options.ignore else None
    table = {name: value for name, value in given.items() if value not in (None, False)}
    file = Path(options.data)
    if file.suffix == ".npz" and table:
        raise UsageError(f"--{next(iter(table)).rstrip('s')}: a .npz file says this itself")
    if not 0 < options.heldout < 1:
        raise UsageError(f"--heldout is {options.heldout}; expected a share between 0 and 1")
    return hold_out(load_file(file, None if file.suffix == ".npz" else table), options.heldout, options.seed)


def _pair(option: str, text: str) -> tuple[str, list[str]]:
    name, equals, values = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{option} {text}: expected NAME=VALUE,...")
    return name.strip(), [value.strip() for value in values.split(",") if value.strip()]


def _setting(dataset: Dataset) -> str:
    if dataset.settings == 1:
        return "observational"
    kind = str(dataset.parameters.get("intervention", "perfect")).split("-")[0]
    if dataset.targets is not None:
        return kind
    return "unknown" if kind == "perfect" else f"{kind}-unknown"


def _check_support(method: Method, setting: str) -> None:
    if method.fit is None:
        raise UsageError(f"--method {method.name}: it is an external program, which only the workflow runs")
    if method.data == "twin":
        raise UsageError(f"--method {method.name}: it runs on observational twins, which need simulated data")
    if setting not in method.supports:
        named = {"unknown": "unknown targets", "imperfect-unknown": "imperfect interventions with unknown targets"}
        others = [name for name, file in available().items() if file.suffix == ".py"]
        able = [name for name in others if setting in load_method(name).supports and not load_method(name).is_control]
        raise UsageError(
            f"--method {method.name}: it does not support {named.get(setting, f'{setting} data')}; these do: "
            f"{', '.join(able)}{'' if 'unknown' not in setting else '; or name the targets (--target)'}"
        )


def _grids(methods: list[Method], options: argparse.Namespace) -> list[Grid]:
    """Return the combinations to try for each method; one that has no such hyperparameter keeps its own."""
    chosen: dict[str, list[Any]] = {}
    for name, values in (_pair("--set", text) for text in options.set):
        chosen[name] = [_value(value) for value in values]
        if not any(name in method.hyperparameters() for method in methods):
            known = sorted({own for method in methods for own in method.hyperparameters()})
            raise UsageError(f"--set {name}: there is no such hyperparameter; there are {', '.join(known) or 'none'}")
    grids = []
    for method in methods:
        own = {name: values for name, values in chosen.items() if name in method.hyperparameters()}
        grid = method.grid(options.seed, own)
        fixed = method.selection if isinstance(method.selection, dict) else {}
        if len(grid) > 1 and not any(fixed.items() <= combination.items() for combination in grid):
            raise UsageError(f"--set: {method.name} has no score to choose by; give one value of each hyperparameter")
        grids.append(grid)
    return grids


def _value(text: str) -> Any:
    try:
        return float(text) if "e" in text.lower() else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError):
        return text


def _records(method: Method, dataset: Dataset, grid: Grid, seed: int) -> Iterator[Record]:
    """Yield a record per combination, with a bar that shows how many are done and the time left."""
    with tqdm(total=len(grid), desc=f"{method.label}: preparing", unit="fit", file=sys.stderr) as bar:
        method.warm_up()
        bar.set_description(method.label)
        fits = _fits(method, dataset, grid, seed)
        for combination in grid:
            started = time.perf_counter()
            outcome = next(fits)
            seconds = time.perf_counter() - started
            bar.update()
            if isinstance(outcome, Exception):
                yield failed("error", f"{type(outcome).__name__}: {outcome}", combination, seconds, None)
            else:
                yield succeeded(outcome, combination, dataset.names, seconds, math.nan)


def _fits(method: Method, dataset: Dataset, grid: Grid, seed: int) -> Iterator[Fit | Exception]:
    """Yield a fit or what went wrong for each combination; a sweep that breaks off breaks off for all that is left."""
    assert method.fit is not None  # refused before
    if method.sweep is None:
        for combination in grid:
            try:
                yield method.fit(dataset, seed=seed, **combination)
            except Exception as error:
                yield error
        return
    done = 0
    try:
        for outcome in method.sweep(dataset, seed=seed, grid=grid):
            done += 1
            yield outcome
    except Exception as error:
        for _ in grid[done:]:
            yield error


def _show(one: Selected, dataset: Dataset) -> None:
    fit = one.fit(dataset.names)
    chosen = describe(one.record["hyperparameters"])
    print(f"\n{one.label}{f' ({chosen})' if chosen else ''}: ", end="")
    if fit is None:
        print(f"failed: {one.record['reason']}")
        return
    score = "" if fit.heldout_nll is None else f", held-out nll {fit.heldout_nll:.4f}"
    edges = edge_table(fit, dataset.graph)
    print(f"{len(edges)} edges{score}")
    width = max([len(name) for name in dataset.names])
    for edge in edges.to_dict("records"):
        mark = "--" if edge["undirected"] else "->"
        probability = "" if edge["probability"] is None else f"  {edge['probability']:.2f}"
        print(f"  {edge['from']:>{width}} {mark} {edge['to']:<{width}}{probability}  {edge['verdict']}".rstrip())
    if fit.targets is not None:
        print("learned targets:")
        for condition, row in list(zip(dataset.conditions, fit.targets, strict=True))[1:]:
            found = [f"{name} {value:.2f}" for name, value in zip(dataset.names, row, strict=True) if value > 0.5]
            print(f"  {condition}: {', '.join(found) or 'none'}")


if __name__ == "__main__":
    sys.exit(main())
