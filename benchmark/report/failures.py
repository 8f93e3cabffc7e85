"""Failed fits, counted and listed: the last line of a run, and a section of the report."""

from pathlib import Path
from typing import Any

import pandas as pd

from benchmark.evaluation import read_table

SECTION = "Failed fits"
CELL = ["path", "dataset"]  # a shard of the records is one path for all of its data sets


def unique_fits(costs: pd.DataFrame) -> pd.DataFrame:
    """Return each fit once, also where several experiments share it."""
    return costs.drop_duplicates([*CELL, "hyperparameters"])


def count_failures(fits: pd.DataFrame) -> dict[str, int]:
    """Return the number of failed fits by their status, the most frequent first."""
    counts = fits.loc[fits["status"] != "ok", "status"].value_counts()
    return {str(status): int(count) for status, count in counts.items()}


def failure_line(results: Path) -> str:
    """Return one line on the fits of a run: how many failed, by status, and where to read about them."""
    fits = unique_fits(read_table(results / "costs.csv"))
    counts = count_failures(fits)
    if not counts:
        return f"Fits: all {len(fits):,} ended with a graph."
    listed = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    return (
        f"Fits: {sum(counts.values()):,} of {len(fits):,} failed ({listed}); section {SECTION!r} of "
        f"results/{results.name}/report.html says why; make retry PRESET={results.name} runs them again."
    )


def failure_rows(fits: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the failed fits; combinations of one cell that failed alike are one row."""
    failed = fits[fits["status"] != "ok"]
    totals = fits.groupby(CELL).size()
    return [
        {
            "path": path,
            "dataset": dataset,
            "log": f"logs/{path.removesuffix('.json')}.log" if path.startswith("fits/") else None,
            "status": status,
            "reason": reason,
            "hyperparameters": same["hyperparameters"].iloc[0],
            "count": len(same),
            "of": int(totals[path, dataset]),
        }
        for (path, dataset, status, reason), same in failed.groupby([*CELL, "status", "reason"], sort=False)
    ]
