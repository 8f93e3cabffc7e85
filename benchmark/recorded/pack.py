"""Add the finished cells of a run to the record store: ``python -m benchmark.recorded.pack PRESET``, or ``make pack``.

A cell that the store has already stays as it is there. One that differs, the same fit with another graph, is reported
and left out. With ``--replace`` it takes the place of the recorded one, and so does a cell of another version of its
method: whole, as the held-out scores of two versions must not compete in one selection.
"""

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.config import ConfigError, load_config
from benchmark.dataset import Dataset, DatasetError
from benchmark.evaluation import measure
from benchmark.methods import ROOT
from benchmark.plan import Condition, Experiment, Plan, Row, data_path, fit_path
from benchmark.recorded.provenance import data_fingerprint
from benchmark.recorded.recall import data_origin
from benchmark.recorded.store import Cell, Key, RecordedFit, Store, StoreError, combination_text, key_of
from benchmark.records import Record, RecordError, read_records

REQUIRED = ("method", "seed", "source", "data", "commit")
OF_THE_KEY = ("method", "seed", "data")
PROBABILITY_DIGITS = 4
SIGNIFICANT_DIGITS = 6


@dataclass
class Outcome:
    """What packing did: cells by what became of them, and a line for each that needs a look."""

    counts: Counter[str] = field(default_factory=Counter)
    remarks: list[str] = field(default_factory=list)

    def leave_out(self, reason: str) -> None:
        """Count a cell that cannot be packed."""
        self.counts["left out"] += 1
        self.remarks.append(f"left out: {reason}")

    def text(self) -> str:
        """Return it as lines."""
        counted = ", ".join(f"{count:,} {what}" for what, count in sorted(self.counts.items()))
        return "\n".join([*self.remarks, f"cells: {counted or 'none is finished'}"])


def pack(plan: Plan, results: Path, store: Store, *, replace: bool = False) -> Outcome:
    """Add the finished cells of a plan to a store."""
    outcome = Outcome()
    with store.writing() as current:
        changed: dict[Key, Cell] = {}
        for experiment, condition, index, row in plan.cells():
            path = fit_path(experiment.targets_of(row), condition.name, index, row.name)
            if not (results / path).exists():
                continue
            try:
                cell = _read_cell(plan, results, experiment, condition, index, row, current, replace, outcome)
            except RecordError as error:
                outcome.leave_out(str(error))
                continue
            except DatasetError as error:
                outcome.leave_out(f"{path}: {error}; ask Snakemake for it, then pack again")
                continue
            if cell is not None:
                changed[key_of(cell)] = cell
        if changed:
            current.write(list(changed.values()))
    return outcome


def _read_cell(
    plan: Plan,
    results: Path,
    experiment: Experiment,
    condition: Condition,
    index: str,
    row: Row,
    store: Store,
    replace: bool,
    outcome: Outcome,
) -> Cell | None:
    """Return a cell to write, or None where the store has it."""
    path = fit_path(experiment.targets_of(row), condition.name, index, row.name)
    records, provenance = read_records(results / path)
    absent = [name for name in REQUIRED if name not in provenance]
    if absent:
        raise RecordError(f"{results / path}: field 'provenance': {', '.join(absent)} is missing")
    key = Key(
        experiment.targets_of(row),
        condition.name,
        row.name,
        index,
        str(provenance["method"]),
        int(provenance["seed"]),
        str(provenance["data"]),
    )
    entry = store.entries.get(key)
    known = None if entry is None else store.read(entry)
    new, better, differing = _compare(records, known)
    done = "added" if known is None else "extended"
    if replace and known is not None and (differing or _sources(known) != {provenance["source"]}):
        known, done = None, "replaced"
        new, better, differing = _compare(records, known)
    if differing:
        outcome.counts["that differ"] += 1
        shown = ", ".join(map(str, differing[:3])) + (", ..." if len(differing) > 3 else "")
        outcome.remarks.append(
            f"differs: {path}: {len(differing)} of {len(records)} fits have another graph than the records "
            f"({shown}); the records stay as they are"
        )
        return None
    wanted = [*new, *better]
    if not wanted:
        outcome.counts["unchanged"] += 1
        return None
    dataset = _dataset(results, condition, index, row)
    shown_data = dataset.blind(hide_targets=experiment.targets_of(row) == "unknown")
    if data_fingerprint(shown_data) != key.data:
        raise RecordError(f"{results / path}: the data set has changed since; run this cell again")
    truth = dataset if row.method.data == "own" else Dataset.load(results / data_path(condition.name, index))
    if str(provenance["commit"]).endswith("+"):
        outcome.counts["from sources that are not committed"] += 1
    outcome.counts[done] += 1
    if better:
        outcome.remarks.append(f"extended: {path}: {len(better)} fits succeeded that had failed in the records")
    failed = [str(record["reason"]) for record in records if record["status"] != "ok"]
    if failed:
        reasons = "; ".join(dict.fromkeys(failed))
        outcome.remarks.append(f"failed: {path}: {len(failed)} of {len(records)} fits ({reasons})")
    origin = data_origin(plan, condition, index, twin=row.method.data == "twin")
    run = {name: value for name, value in provenance.items() if name not in OF_THE_KEY}
    runs = list(known["runs"]) if known is not None else []
    if run not in runs:
        runs.append(run)
    hidden = experiment.setting(condition).endswith("unknown")
    fits: dict[str, RecordedFit] = {_text(fit): fit for fit in (known["fits"] if known is not None else [])}
    for record in records:
        if record["hyperparameters"] in wanted:
            fits[_text(record)] = _recorded(record, measure(record, truth, hidden=hidden), runs.index(run))
    return {
        "targets": key.targets,
        "condition": key.condition,
        "dataset": key.dataset,
        "row": key.row,
        "method": key.method,
        "seed": key.seed,
        "data": key.data,
        "origin": str(origin),
        "nodes": truth.d,
        "n": truth.n,
        "settings": truth.settings - 1,
        "names": list(truth.names),
        "runs": runs,
        "fits": [fits[text] for text in sorted(fits)],
    }


def _compare(records: list[Record], known: Cell | None) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the combinations that the store does not have, those that failed there, and those that differ."""
    stored = {_text(fit): fit for fit in (known["fits"] if known is not None else [])}
    new, better, differing = [], [], []
    for record in records:
        other = stored.get(_text(record))
        if other is None:
            new.append(record["hyperparameters"])
        elif other["status"] != "ok" and record["status"] == "ok":
            better.append(record["hyperparameters"])
        elif record["status"] == "ok" and _graph(record) != _graph(other):
            differing.append(record["hyperparameters"])
    return new, better, differing


def _sources(known: Cell) -> set[str]:
    """Return the versions of the method that the fits of a recorded cell come from."""
    return {str(known["runs"][fit["run"]]["source"]) for fit in known["fits"]}


def _graph(record: Record) -> tuple[Any, Any]:
    return sorted(record["edges"] or []), sorted(record.get("cpdag") or [])


def _text(record: Record) -> str:
    return combination_text(record["hyperparameters"])


def _dataset(results: Path, condition: Condition, index: str, row: Row) -> Dataset:
    return Dataset.load(results / data_path(condition.name, index, row.method.data))


def _recorded(record: Record, metrics: dict[str, float | None], run: int) -> RecordedFit:
    """Return what is kept of a fit: costs and diagnostics rounded, the score as it is."""
    kept: Any = {name: value for name, value in record.items() if value is not None or name == "heldout_nll"}
    for name in ("seconds", "cpu_seconds", "peak_memory_mb"):
        if name in kept:
            kept[name] = float(f"{kept[name]:.4g}")
    if "targets" in kept:
        kept["targets"] = _rounded(kept["targets"], lambda value: round(value, PROBABILITY_DIGITS))
    if "info" in kept:
        kept["info"] = _rounded(kept["info"], lambda value: float(f"{value:.{SIGNIFICANT_DIGITS}g}"))
    kept |= {"edges": record["edges"], "run": run}
    kept["metrics"] = {name: value for name, value in metrics.items() if name != "heldout_nll"}
    recorded: RecordedFit = kept
    return recorded


def _rounded(value: Any, shorten: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(entry, shorten) for name, entry in value.items()}
    if isinstance(value, list):
        return [_rounded(entry, shorten) for entry in value]
    return shorten(value) if isinstance(value, float) else value


def main(arguments: list[str] | None = None) -> int:
    """Pack a preset's results."""
    parser = argparse.ArgumentParser(prog="python -m benchmark.recorded.pack", description=__doc__.splitlines()[0])
    parser.add_argument("preset", help="the preset whose results/<preset>/ is packed")
    parser.add_argument(
        "--replace",
        action="store_true",
        help="put cells that differ, or whose method changed, in the place of the recorded ones",
    )
    options = parser.parse_args(arguments)
    try:
        plan = Plan(load_config(options.preset))
        outcome = pack(plan, ROOT / "results" / plan.config["preset"], Store(), replace=options.replace)
    except (ConfigError, StoreError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(outcome.text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
