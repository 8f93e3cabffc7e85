"""Choose one combination of hyperparameters per data set and method.

selected
    What a user without the truth would choose: the lowest held-out negative log-likelihood, or the fixed values of
    a method without a score.
best_shd
    The combination with the lowest SHD to the true graph: the paper's starred rows. It looks at the truth, and
    every table that shows it says so.
grid
    Each combination on its own, for methods with fixed values (the paper's rows per alpha).
"""

import math
from typing import Any, Literal

from benchmark.records import Record, failed

Choice = Literal["selected", "best_shd", "grid"]
Selection = Literal["heldout"] | dict[str, Any]


def choose(
    records: list[Record], selection: Selection, distances: list[float | None] | None
) -> list[tuple[Choice, Record]]:
    """Return the records to report, each with the choice that it stands for.

    ``distances`` are the SHDs of the records to the true graph, None for a failed fit; or None where it is unknown.
    """
    chosen: list[tuple[Choice, Record]] = [("selected", select(records, selection))]
    if len(records) > 1 and distances is not None:
        chosen.append(("best_shd", best_shd(records, distances)))
    if len(records) > 1 and selection != "heldout":
        chosen += [("grid", record) for record in records]
    return chosen


def select(records: list[Record], selection: Selection) -> Record:
    """Return the record that held-out score or fixed values choose; the first of equals.

    Failed fits and scores that are no finite number do not take part. Where no fit succeeded, it is the first one
    that failed; where none can be chosen, it is a failure that says why.
    """
    if selection != "heldout":
        matching = [record for record in records if _matches(record["hyperparameters"], selection)]
        if matching:
            return matching[0]
        if all(record["status"] != "ok" for record in records):
            return records[0]
        return failed("error", f"no combination has the fixed values {selection}", {}, None, None)
    succeeded = [record for record in records if record["status"] == "ok"]
    scored = [record for record in succeeded if math.isfinite(_score(record))]
    if scored:
        return min(scored, key=_score)
    if len(records) > 1 and succeeded:
        reason = "the method is selected by held-out score, but none of its fits has a finite one"
        return failed("error", reason, {}, None, None)
    return records[0]


def best_shd(records: list[Record], distances: list[float | None]) -> Record:
    """Return the record with the lowest SHD to the truth; the first of equals, or of failures."""
    order = [math.inf if distance is None else distance for distance in distances]
    return records[order.index(min(order))]


def _score(record: Record) -> float:
    return math.nan if record["heldout_nll"] is None else record["heldout_nll"]


def _matches(hyperparameters: dict[str, Any], fixed: dict[str, Any]) -> bool:
    return all(hyperparameters.get(name) == value for name, value in fixed.items())
