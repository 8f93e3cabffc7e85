"""Expand a configuration into data conditions, rows and cells: everything that will be run, checked beforehand."""

import difflib
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from benchmark.config import ConfigError, check_schema
from benchmark.methods import ROOT, Grid, Method, MethodError, available, broken_method, load_method, product
from benchmark.own_data import TABLE_KEYS, check_files
from benchmark.running.inspection import SECONDS as INSPECTION_SECONDS
from benchmark.running.inspection import problems
from benchmark.seeds import seed
from benchmark.selection import Selection

STANDARD_N = 10_000
SECONDS_PER_HOUR = 3600
MB_PER_GB = 1024
RESERVED = ("consensus", "summary")  # files beside those of the rows, see benchmark.graph_files
START_MINUTES = 10
FIGURE_AXES = ("edges_per_node", "settings", "n", "nodes")

Targets = Literal["known", "unknown"]


@dataclass(frozen=True)
class Condition:
    """Data sets drawn alike: simulated ones, the paper's own, the Sachs data, or one file."""

    name: str
    source: Literal["simulated", "published", "sachs", "file", "part"]
    datasets: int
    simulation: dict[str, Any]
    file: Path | None = None
    table: dict[str, Any] | None = None  # how to read the file, where it is a table
    base: "Condition | None" = None  # of a part: the whole data sets
    leave_out: str | None = None  # of a part: the setting that it lacks

    @property
    def setting(self) -> str:
        """Kind of intervention in the words of :data:`benchmark.methods.SETTINGS`."""
        if self.simulation.get("settings") == 0 or (self.table is not None and "setting" not in self.table):
            return "observational"
        return str((self.simulation | (self.table or {})).get("intervention", "perfect")).split("-")[0]

    @property
    def indices(self) -> list[str]:
        """Numbers of the data sets, as in their paths."""
        return [f"{index:02d}" for index in range(self.datasets)]


@dataclass(frozen=True)
class Row:
    """A method with the hyperparameters, selection and limits of one row of the tables."""

    name: str
    label: str
    method: Method
    hyperparameters: dict[str, Any]
    selection: Selection
    seconds: float
    memory_mb: float
    targets: Targets | None = None  # what it is told in place of what the experiment says
    start_seconds: float = 600.0

    @property
    def environment(self) -> str:
        """The conda environment of its jobs; that of R has what the Python engines need, too."""
        engines = {combination.get("engine") for combination in product(self.hyperparameters)}
        return "r" if engines & set(self.method.r_engines) else self.method.environment

    def grid(self, root_seed: int, *keys: str) -> Grid:
        """Return the combinations to run for one data set."""
        return self.method.grid(seed(root_seed, "grid", *keys, self.name), self.hyperparameters)


@dataclass(frozen=True)
class Experiment:
    """One comparison: conditions x rows, with a table per mechanism and a figure per number of nodes."""

    name: str
    title: str
    conditions: tuple[Condition, ...]
    rows: tuple[Row, ...]
    targets: Targets
    paper: str | None

    def targets_of(self, row: Row) -> Targets:
        """Say whether a row is told the targets."""
        return row.targets or self.targets

    def setting(self, condition: Condition, row: Row | None = None) -> str:
        """Return the setting that a method, or one row, must support to be run on a condition of this experiment."""
        targets = self.targets if row is None else self.targets_of(row)
        if targets == "known" or condition.setting == "observational":
            return condition.setting
        return "unknown" if condition.setting == "perfect" else f"{condition.setting}-unknown"


class Plan:
    """All that a configuration asks for.

    Parameters
    ----------
    config : dict
        As in ``config.yaml``; checked against the schema, the methods and the simulator before anything runs.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        if isinstance(config, dict) and config.get("records") is False:
            config["records"] = "off"  # which YAML takes for false
        check_schema(config)
        self.config = config
        self.seed: int = config["seed"]
        for name in config["run"]:
            if name not in config["experiments"]:
                raise ConfigError(f"run: there is no experiment {name!r}.{_hint(name, config['experiments'])}")
        self._problems = self._inspect_methods()
        self.experiments = {name: self._experiment(name) for name in config["run"]}
        self.conditions: dict[str, Condition] = {}
        for experiment in self.experiments.values():
            bases = [condition.base for condition in experiment.conditions if condition.base is not None]
            for condition in (*experiment.conditions, *bases):
                known = self.conditions.setdefault(condition.name, condition)
                if (known.file, known.table) != (condition.file, condition.table):
                    raise ConfigError(
                        f"experiments.{experiment.name}.data.files: another experiment has a file of the same name, "
                        f"{condition.name.removeprefix('file-')!r}, or reads it in another way; results are named "
                        "after it"
                    )
                if known.datasets < condition.datasets:
                    self.conditions[condition.name] = condition
        self.rows = {row.name: row for experiment in self.experiments.values() for row in experiment.rows}
        self._planned = {
            (experiment.targets_of(row), condition.name, row.name)
            for experiment in self.experiments.values()
            for condition in experiment.conditions
            for row in experiment.rows
        }

    def _inspect_methods(self) -> dict[str, str]:
        """Return what is wrong with methods that this configuration names, found out in a process of its own."""
        rows = {row for name in self.config["run"] for row in self.config["experiments"][name]["methods"]}
        named = {self.config["methods"].get(row, {}).get("method", row) for row in rows}
        seconds = min(INSPECTION_SECONDS, self._limits({})["start_minutes"] * 60)
        return problems({name: file for name, file in available().items() if name in named}, seconds)

    def _limits(self, entry: dict[str, Any]) -> dict[str, Any]:
        limits: dict[str, Any] = {"start_minutes": START_MINUTES} | self.config["limits"] | entry.get("limits", {})
        return limits

    def _experiment(self, name: str) -> Experiment:
        entry = self.config["experiments"][name]
        experiment = Experiment(
            name=name,
            title=entry["title"],
            conditions=tuple(self._conditions(name, entry)),
            rows=tuple(self._row(row, f"experiments.{name}.methods") for row in entry["methods"]),
            targets=entry.get("targets", "known"),
            paper=entry.get("paper"),
        )
        for row, condition in itertools.product(experiment.rows, experiment.conditions):
            if row.method.data == "twin" and condition.source not in ("simulated", "published"):
                raise ConfigError(
                    f"experiments.{name}.methods: {row.name!r} runs on observational twins, which need simulated data"
                )
            setting = experiment.setting(condition, row)
            if setting not in row.method.supports:
                raise ConfigError(
                    f"experiments.{name}.methods: {row.name!r} does not support the setting {setting!r} of condition "
                    f"{condition.name!r}; it supports {', '.join(sorted(row.method.supports))}"
                )
        return experiment

    def _conditions(self, name: str, entry: dict[str, Any]) -> list[Condition]:
        which = entry["data"].get("leave_out")
        data = {name: value for name, value in entry["data"].items() if name != "leave_out"}
        whole = self._whole_conditions(name, entry | {"data": data})
        if which is None:
            return whole
        return [replace(c, name=f"{c.name}-without-{which}", source="part", base=c, leave_out=which) for c in whole]

    def _whole_conditions(self, name: str, entry: dict[str, Any]) -> list[Condition]:
        data = entry["data"]
        key = f"experiments.{name}.data"
        kinds = [kind for kind in ("mechanism", "sachs", "files") if kind in data]
        if len(kinds) != 1:
            raise ConfigError(f"{key}: expected exactly one of mechanism (simulated data), sachs and files")
        of_files = {*TABLE_KEYS} - {"intervention"}
        belonging = {"mechanism": set(data) - of_files, "sachs": {"sachs"}, "files": {"files", *TABLE_KEYS}}
        extra = sorted(set(data) - belonging[kinds[0]])
        if extra:
            kind = "files" if extra[0] in of_files else "simulated data"
            raise ConfigError(f"{key}.{extra[0]}: this key goes with {kind} only")
        if kinds == ["sachs"]:
            return [Condition("sachs", "sachs", 1, {})]
        if kinds == ["files"]:
            if len({Path(file).stem for file in data["files"]}) < len(data["files"]):
                raise ConfigError(f"{key}.files: two files have the same name; results are named after it")
            for file in data["files"]:
                if "{" in str(file) or "}" in str(file):
                    raise ConfigError(
                        f"{key}.files: {file!r} has braces, which Snakemake takes for wildcards; rename it"
                    )
            found = [
                Condition(f"file-{file.stem}", "file", 1, {}, file, how) for file, how in check_files(key, data, ROOT)
            ]
            hidden = [how for how in found if how.table is not None and how.setting != "observational"]
            if hidden and "targets" not in data and entry.get("targets") != "unknown":
                raise ConfigError(
                    f"{key}.targets: this key is missing; name the variables that each condition targets, or say "
                    f"that they are unknown (experiments.{name}.targets: unknown)"
                )
            return found
        for required in ("nodes", "edges_per_node", "intervention"):
            if required not in data:
                raise ConfigError(f"{key}.{required}: simulated data need this key")
        datasets = entry.get("datasets", self.config["datasets"])
        sweep = ("mechanism", "nodes", "edges_per_node", "n", "settings")
        axes = {axis: data[axis] for axis in sweep if axis in data}
        fixed = {other: [data[other]] for other in ("intervention", "targets_per_setting") if other in data}
        return [self._simulated(key, combination, datasets) for combination in product(axes | fixed)]

    def _simulated(self, key: str, data: dict[str, Any], datasets: int) -> Condition:
        nodes, edges_per_node = data["nodes"], data["edges_per_node"]
        simulation = {"n": STANDARD_N, "heldout": self.config["heldout"]} | data
        convention = self.config["convention"]
        if convention == "published":
            convention = self._published_or_released(key, data, datasets)
        simulation["convention"] = convention
        parts = [data["mechanism"], f"d{nodes}", f"e{edges_per_node:g}", data["intervention"]]
        if simulation["n"] != STANDARD_N:
            parts.append(f"n{simulation['n']}")
        if "settings" in data:
            parts.append(f"k{data['settings']}")
        if "targets_per_setting" in data:
            for count in data["targets_per_setting"]:
                if count > 1 and count != int(count):
                    raise ConfigError(f"{key}.targets_per_setting: {count}; expected a whole number or a share below 1")
            counts = [
                max(1, round(count * nodes)) if count < 1 else int(count) for count in data["targets_per_setting"]
            ]
            simulation["targets_per_setting"] = counts
            parts.append("t{}-{}".format(*counts))
            if counts[0] > counts[1] or counts[1] > nodes:
                raise ConfigError(
                    f"{key}.targets_per_setting: {counts} for {nodes} nodes; expected fewest <= most <= nodes"
                )
        if convention != "released":
            parts.append(convention)
        if edges_per_node > (nodes - 1) / 2:
            raise ConfigError(
                f"{key}.edges_per_node: {edges_per_node:g}; {nodes} nodes have at most {(nodes - 1) / 2:g}"
            )
        if simulation["n"] <= simulation.get("settings", nodes):
            raise ConfigError(f"{key}.n: {simulation['n']} rows are fewer than the settings they are divided over")
        source: Literal["published", "simulated"] = "published" if convention == "published" else "simulated"
        return Condition("-".join(parts), source, datasets, simulation)

    def _published_or_released(self, key: str, data: dict[str, Any], datasets: int) -> str:
        """Return the convention of a condition: what the authors did not publish is drawn as they released it."""
        from benchmark.paper import data as paper  # a suite without the paper has the other conventions

        if not paper.is_published(data):
            return "released"
        if datasets > paper.DATASETS:
            raise ConfigError(
                f"{key.removesuffix('.data')}.datasets: {datasets}; the paper has {paper.DATASETS} data sets a "
                "condition; expected at most as many, or `convention: released` to simulate more"
            )
        if self.config["heldout"] != paper.HELDOUT:
            raise ConfigError(
                f"heldout: {self.config['heldout']}; with `convention: published` rows are held out as the authors "
                f"did; expected {paper.HELDOUT}"
            )
        return "published"

    def _row(self, name: str, key: str) -> Row:
        if name in RESERVED:
            raise ConfigError(f"{key}: a row cannot be called {name!r}, because a file of each data set is")
        entry = self.config["methods"].get(name, {})
        wanted = entry.get("method", name)
        if wanted in self._problems:
            return self._broken_row(name, broken_method(wanted, available()[wanted], self._problems[wanted]))
        try:
            method = load_method(wanted)
        except MethodError as error:
            where = f"methods.{name}.method" if "method" in entry else key
            raise ConfigError(f"{where}: {error}") from None
        overrides = entry.get("hyperparameters", {})
        known, choices = method.hyperparameters(), method.choices()
        for hyperparameter, values in overrides.items():
            where = f"methods.{name}.hyperparameters.{hyperparameter}"
            if (known or method.fit is not None) and hyperparameter not in known:
                listed = ", ".join(sorted(known)) or "none"
                raise ConfigError(f"{where}: {method.name} has no such hyperparameter; it has {listed}")
            _check_values(where, values)
            _check_choice(where, values, choices.get(hyperparameter))
        limits = self._limits(entry)
        row = Row(
            name=name,
            label=entry.get("label", method.label),
            method=method,
            hyperparameters=overrides,
            selection=entry.get("selection", method.selection),
            seconds=limits["hours"] * SECONDS_PER_HOUR,
            memory_mb=limits["memory_gb"] * MB_PER_GB,
            targets=entry.get("targets"),
            start_seconds=limits["start_minutes"] * 60,
        )
        if method.check is not None:
            try:
                for combination in row.grid(self.seed):
                    method.check(**combination)
            except ValueError as error:
                raise ConfigError(f"methods.{name}.hyperparameters: {error}") from None
        if isinstance(row.selection, dict) and method.fit is not None:
            self._check_fixed(row)
        return row

    def _broken_row(self, name: str, method: Method) -> Row:
        entry = self.config["methods"].get(name, {})
        limits = self._limits(entry)
        seconds, memory_mb = limits["hours"] * SECONDS_PER_HOUR, limits["memory_gb"] * MB_PER_GB
        return Row(name, entry.get("label", name), method, {}, {}, seconds, memory_mb, entry.get("targets"))

    def _check_fixed(self, row: Row) -> None:
        fixed = dict(row.selection) if isinstance(row.selection, dict) else {}
        key = f"methods.{row.name}.selection"
        for name, value in fixed.items():
            _check_values(f"{key}.{name}", value)
        if not any(fixed.items() <= combination.items() for combination in row.grid(self.seed)):
            values = ", ".join(f"{name}={value}" for name, value in fixed.items())
            raise ConfigError(f"{key}: no combination of its hyperparameters has {values}")

    def cells(self) -> Iterator[tuple[Experiment, Condition, str, Row]]:
        """Yield each cell once, though experiments share some."""
        seen = set()
        for experiment in self.experiments.values():
            for condition in experiment.conditions:
                for index in condition.indices:
                    for row in experiment.rows:
                        cell = (experiment.targets_of(row), condition.name, index, row.name)
                        if cell not in seen:
                            seen.add(cell)
                            yield experiment, condition, index, row

    def part(self, experiment: str, condition: str | None) -> Experiment:
        """Return an experiment, or as much of it as one condition has."""
        whole = self.experiments[experiment]
        if condition is None:
            return whole
        conditions = tuple(each for each in whole.conditions if each.name == condition)
        if not conditions:
            there_are = ", ".join(each.name for each in whole.conditions)
            raise ConfigError(f"experiment {experiment!r} has no condition {condition!r}; it has {there_are}")
        return replace(whole, conditions=conditions)

    def row_of(self, targets: str, condition: str, index: str, row: str) -> Row:
        """Return the row of a cell that was asked for by its path; what no experiment has, nothing has checked."""
        if (targets, condition, row) not in self._planned:
            raise ConfigError(
                f"{fit_path(targets, condition, index, row)}: no experiment of this preset has the row {row!r} on "
                f"condition {condition!r} with {targets} targets"
            )
        return self.rows[row]

    def grid(self, row: str, targets: str, condition: str, index: str) -> Grid:
        """Return the combinations of one cell."""
        return self.rows[row].grid(self.seed, targets, condition, index)

    def fit_seed(self, row: str, targets: str, condition: str, index: str) -> int:
        """Return the seed of the fits of one cell."""
        return seed(self.seed, "fit", targets, condition, index, row)

    def data_seed(self, condition: str, index: str) -> int:
        """Return the seed of one data set, which its observational twin shares."""
        return seed(self.seed, "data", condition, index)


def data_path(condition: str, index: str, data: str = "own") -> str:
    """Return where a data set, or its observational twin, lies within the results."""
    return f"data/{condition}/{index}{'-twin' if data == 'twin' else ''}.npz"


def fit_path(targets: str, condition: str, index: str, row: str) -> str:
    """Return where the records of a cell lie within the results."""
    return f"fits/{targets}/{condition}/{index}/{row}.json"


def figure_axes(experiment: Experiment) -> dict[str, tuple[str, int | None]]:
    """Return the figures of an experiment: name -> (what varies along x, number of nodes or None for all).

    Simulated data alone have figures: one data set has no distribution to show.
    """
    simulations = [condition.simulation for condition in experiment.conditions if condition.simulation]
    if not simulations:
        return {}
    varying = [axis for axis in FIGURE_AXES if len({simulation.get(axis, "default") for simulation in simulations}) > 1]
    if varying == ["nodes"]:
        return {experiment.name: ("nodes", None)}
    along = next((axis for axis in varying if axis != "nodes"), "edges_per_node")
    nodes = dict.fromkeys(simulation["nodes"] for simulation in simulations)
    return {f"{experiment.name}-d{count}": (along, count) for count in nodes}


def _check_values(key: str, values: Any) -> None:
    """Refuse no values, and 1e-3, which YAML takes for text because it lacks a point: each fit would fail on it."""
    if values == []:
        raise ConfigError(f"{key}: the list is empty; expected at least 1 value")
    for value in values if isinstance(values, list) else [values]:
        if isinstance(value, str) and re.fullmatch(r"[-+]?\d+e[-+]?\d+", value):
            raise ConfigError(f"{key}: YAML reads {value} as text; expected a number such as {float(value)!r}")


def _check_choice(key: str, values: Any, choices: tuple[Any, ...] | None) -> None:
    """Refuse an engine, a test or another option that the method does not have."""
    for value in values if isinstance(values, list) else [values]:
        if choices is not None and value not in choices:
            close = difflib.get_close_matches(str(value), map(str, choices), n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ConfigError(f"{key}: {value!r} does not exist; expected one of {', '.join(map(str, choices))}.{hint}")


def _hint(name: str, known: Any) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" Did you mean {close[0]!r}?" if close else f" There are: {', '.join(sorted(known))}"
