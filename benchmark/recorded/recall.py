"""Which cells of a plan come from the record store, and which are to be fitted.

A cell is recorded where method, hyperparameters, seed and data agree. The data need not be at hand for that: what
they are made from is compared, a simulation with its seed and source, or the hashes of files.
"""

import hashlib
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from benchmark.dataset import Dataset
from benchmark.methods import ROOT, Grid
from benchmark.plan import Condition, Experiment, Plan
from benchmark.recorded.provenance import data_fingerprint, fingerprint, source_fingerprint
from benchmark.recorded.store import Cell, Entry, Store, StoreError, combination_text, grid_fingerprint

if TYPE_CHECKING:
    from benchmark.paper.data import PublishedFiles

SIMULATED_BY = ("simulate.py", "mechanisms.py", "portable.py")  # files of benchmark/ that decide simulated data
STALE = "source changed since"
OTHER_DATA = "data differ from those here"


class Recalled(NamedTuple):
    """What the store has of a cell, and what is still to be fitted."""

    entry: Entry | None
    rest: Grid


class Recall:
    """The store as a plan uses it.

    Parameters
    ----------
    plan : Plan
        Its key ``records`` says how: ``off`` uses nothing, ``reuse`` all that agrees, ``exact`` only fits of the
        present source, and ``only`` fits nothing: what is not recorded stays empty.
    store : Store, optional
        That of the project where not given.
    """

    def __init__(self, plan: Plan, store: Store | None = None) -> None:
        self.plan = plan
        self.mode: str = plan.config["records"]
        self.store = None if self.mode == "off" else store or Store()
        self._found: dict[tuple[str, str, str, str], Recalled] = {}

    def recalled(self, targets: str, condition: str, dataset: str, row: str) -> Recalled:
        """Return what is recorded of a cell, and the combinations of its grid that are to be fitted."""
        name = (targets, condition, dataset, row)
        if name not in self._found:
            self._found[name] = self._search(targets, condition, dataset, row)
        return self._found[name]

    def to_fit(self, targets: str, condition: str, dataset: str, row: str) -> Grid:
        """Return the combinations of a cell that are to be fitted."""
        return self.recalled(targets, condition, dataset, row).rest

    def fingerprint(self, experiments: list[Experiment]) -> str:
        """Return a hash of the recorded cells of some experiments and of what is noted of them."""
        notes = [
            f"{entry.sha256} {self.note(entry, None)}"
            for experiment in experiments
            for condition in experiment.conditions
            for index in condition.indices
            for row in experiment.rows
            if (entry := self.recalled(experiment.targets_of(row), condition.name, index, row.name).entry) is not None
        ]
        return hashlib.sha256("\n".join(notes).encode()).hexdigest()[:16]

    def read(self, entry: Entry) -> Cell:
        """Return a recorded cell."""
        assert self.store is not None  # an entry came from it
        return self.store.read(entry)

    def note(self, entry: Entry, dataset: Dataset | None) -> str:
        """Return the commit of a recorded cell and what has changed since, also the data where they are at hand."""
        notes = [entry.commit]
        if entry.source != self._source(entry.row):
            notes.append(STALE)
        if dataset is not None:
            here = data_fingerprint(dataset.blind(hide_targets=entry.targets == "unknown"))
            if here != entry.data and self.mode == "exact":
                raise StoreError(
                    f"the data set {entry.condition}/{entry.dataset} that was made here ({here}) is not the one of the "
                    f"records ({entry.data}), although made alike; use `records: reuse` or `records: off`"
                )
            if here != entry.data:
                notes.append(OTHER_DATA)
        return "; ".join(notes)

    def _search(self, targets: str, condition: str, dataset: str, row: str) -> Recalled:
        grid = self.plan.grid(row, targets, condition, dataset)
        if self.store is None:
            return Recalled(None, grid)
        method = self.plan.rows[row].method
        entries = self.store.at(targets, condition, dataset, row)
        if entries:
            agreeing = (
                method.name,
                self.plan.fit_seed(row, targets, condition, dataset),
                data_origin(self.plan, self.plan.conditions[condition], dataset, twin=method.data == "twin"),
            )
            entries = [entry for entry in entries if (entry.method, entry.seed, entry.origin) == agreeing]
        for entry in entries:
            if self.mode == "exact" and entry.source != self._source(row):
                continue
            if entry.grid == grid_fingerprint(grid):
                return Recalled(entry, [])
            have = {combination_text(fit["hyperparameters"]) for fit in self.store.read(entry)["fits"]}
            rest = [combination for combination in grid if combination_text(combination) not in have]
            if not rest or (len(rest) < len(grid) and self.mode != "only"):
                return Recalled(entry, rest)
        return Recalled(None, [] if self.mode == "only" else grid)

    def _source(self, row: str) -> str:
        return _source_of(self.plan.rows[row].method.file)


def data_origin(plan: Plan, condition: Condition, dataset: str, *, twin: bool = False) -> str | None:
    """Return a hash of what a data set is made from, or None where that is not at hand."""
    seed, heldout = plan.data_seed(condition.name, dataset), plan.config["heldout"]
    made_from: dict[str, Any]
    if condition.source == "simulated":
        source = _source_of_data(*SIMULATED_BY)
        made_from = {"simulation": condition.simulation, "seed": seed, "source": source}
    elif condition.source == "published":
        from benchmark.paper import data as paper  # the suite works without the paper

        files = _published_files()[paper.authors_folder(condition.simulation), int(dataset) + 1]
        made_from = {"files": files.blobs, "split": [paper.SPLIT_SEED, paper.HELDOUT]}
    elif condition.source == "sachs":
        made_from = {"source": _source_of_data("sachs.py"), "seed": seed, "heldout": heldout}
    else:
        assert condition.file is not None
        if not condition.file.is_file():
            return None
        content = hashlib.sha256(condition.file.read_bytes()).hexdigest()
        made_from = {"file": content, "table": condition.table, "seed": seed, "heldout": heldout}
    return hashlib.sha256(json.dumps(made_from | {"twin": twin}, sort_keys=True).encode()).hexdigest()[:16]


def describe_recorded(metrics: pd.DataFrame) -> str:
    """Say in one sentence which methods of a table were not fitted in this run; nothing where all were.

    >>> metrics = pd.DataFrame({"method": ["CAM", "GIES"], "recorded": ["0a1b2c3d4e5f; source changed since", ""]})
    >>> describe_recorded(metrics)
    'From the records, not fitted in this run: CAM (commit 0a1b2c3, source changed since).'
    """
    methods: dict[str, list[str]] = {}
    for method, notes in metrics[metrics["recorded"] != ""].groupby("method", sort=False)["recorded"]:
        parts = [note.split("; ") for note in dict.fromkeys(notes)]
        commits = dict.fromkeys(commit for made_by, *_ in parts for commit in made_by.split())
        changes = dict.fromkeys(change for _, *changes in parts for change in changes)
        methods.setdefault(", ".join([_named(commits), *changes]), []).append(str(method))
    listed = "; ".join(f"{', '.join(names)} ({note})" for note, names in methods.items())
    return f"From the records, not fitted in this run: {listed}." if listed else ""


def brief_recorded(metrics: pd.DataFrame) -> str:
    """Say the same for the title of a figure: commits of all methods together, and what has changed since.

    >>> notes = ["0a1b2c3d4e5f; source changed since", "0a1b2c3d4e5f", ""]
    >>> brief_recorded(pd.DataFrame({"method": ["CAM", "GIES", "IGSP"], "recorded": notes}))
    'Recorded: CAM, GIES (commit 0a1b2c3); source changed since: CAM.'
    """
    recorded = metrics.loc[metrics["recorded"] != "", ["method", "recorded"]].drop_duplicates()
    if recorded.empty:
        return ""
    commits: dict[str, None] = {}
    changed: dict[str, dict[str, None]] = {}
    for method, note in recorded.itertuples(index=False):
        made_by, *changes = note.split("; ")
        commits |= dict.fromkeys(made_by.split())
        for change in changes:
            changed.setdefault(change, {})[method] = None
    is_all = set(recorded["method"]) == set(metrics["method"])
    who = "all" if is_all and metrics["method"].nunique() > 1 else ", ".join(dict.fromkeys(recorded["method"]))
    parts = [f"Recorded: {who} ({_named(commits)})"]
    parts += [f"{change}: {', '.join(methods)}" for change, methods in changed.items()]
    return "; ".join(parts) + "."


def _named(commits: Iterable[str]) -> str:
    """Name commits by their first digits, each once."""
    short = dict.fromkeys(commit[:7] + ("+" if commit.endswith("+") else "") for commit in commits)
    return f"commit{'s' if len(short) > 1 else ''} {', '.join(short)}"


@cache
def _published_files() -> "dict[tuple[str, int], PublishedFiles]":
    from benchmark.paper import data as paper

    return paper.read_manifest()


@cache
def _source_of(file: Path) -> str:
    return source_fingerprint(file)


@cache
def _source_of_data(*names: str) -> str:
    return fingerprint(*(ROOT / "benchmark" / name for name in names))
