"""Learned graphs as tables with names: the edges of a fit, and how many methods have each edge."""

from collections.abc import Mapping
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmark.dataset import Fit
from benchmark.records import Record, to_graph

EDGE_COLUMNS = ["from", "to", "probability", "undirected", "verdict"]
CONSENSUS_COLUMNS = ["from", "to", "methods", "of", "forward", "backward", "undirected", "verdict", "found_by"]

Verdict = Literal["correct", "extra", "reversed", ""]


def fit_of(record: Record, names: tuple[str, ...]) -> Fit:
    """Return the fit that a record with status "ok" describes."""
    info = dict(record.get("info") or {})
    cpdag = record.get("cpdag")
    if cpdag is not None:
        info["cpdag"] = to_graph(cpdag, names)
    targets = record.get("targets")
    return Fit(
        to_graph(record["edges"] or [], names),
        record["kind"] or "dag",
        record["heldout_nll"],
        None if targets is None else np.asarray(targets),
        info,
        names,
    )


def edge_table(fit: Fit, truth: npt.ArrayLike | None = None) -> pd.DataFrame:
    """Return the edges of a fit, one a row.

    ``probability`` is empty where the method has none. ``undirected`` is 1 where the direction is one of two that the
    method cannot tell apart. ``verdict`` is correct, extra or reversed where the true graph is known, else empty;
    an undirected edge is correct where the true graph has it in either direction.

    >>> edge_table(Fit([[0, 1], [0, 0]], names=("TP53", "MDM2")), truth=[[0, 0], [1, 0]]).to_dict("records")
    [{'from': 'TP53', 'to': 'MDM2', 'probability': None, 'undirected': 0, 'verdict': 'reversed'}]
    """
    probabilities, undirected = fit.info.get("edge_probabilities"), fit.undirected
    rows = [
        {
            "from": fit.names[i],
            "to": fit.names[j],
            "probability": None if probabilities is None else float(probabilities[i][j]),
            "undirected": int(undirected[i, j]),
            "verdict": verdict(int(i), int(j), truth, directed=not undirected[i, j]),
        }
        for i, j in zip(*np.nonzero(fit.graph), strict=True)
    ]
    return pd.DataFrame(rows, columns=EDGE_COLUMNS)


def verdict(i: int, j: int, truth: npt.ArrayLike | None, *, directed: bool = True) -> Verdict:
    """Return what an edge i -> j is, given the true graph."""
    if truth is None:
        return ""
    graph = np.asarray(truth)
    if graph[i, j] or (graph[j, i] and not directed):
        return "correct"
    return "reversed" if graph[j, i] else "extra"


def missed_edges(graph: npt.NDArray[np.int8], truth: npt.ArrayLike) -> list[tuple[int, int]]:
    """Return the true edges that a graph has in neither direction."""
    missed = np.asarray(truth).astype(bool) & ~(graph | graph.T).astype(bool)
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(missed), strict=True)]


def consensus(fits: Mapping[str, Fit], truth: npt.ArrayLike | None = None) -> pd.DataFrame:
    """Return how many methods connect two variables, one row per pair that any of them connects.

    ``methods`` of ``of`` methods connect the pair: ``forward`` of them as from -> to, which is the direction that most
    have, ``backward`` the other way round, ``undirected`` without a direction. ``found_by`` lists them.

    >>> one, two = Fit([[0, 1], [0, 0]]), Fit([[0, 0], [1, 0]])
    >>> consensus({"A": one, "B": two, "C": one})[["from", "to", "methods", "forward", "backward"]].to_dict("records")
    [{'from': 'V0', 'to': 'V1', 'methods': 3, 'forward': 2, 'backward': 1}]
    """
    rows = []
    names = next(iter(fits.values())).names if fits else ()
    for first, second in combinations(range(len(names)), 2):
        found = {label: fit for label, fit in fits.items() if fit.graph[first, second] or fit.graph[second, first]}
        if not found:
            continue
        undirected = sum(bool(fit.undirected[first, second]) for fit in found.values())
        onward = sum(bool(fit.graph[first, second] and not fit.undirected[first, second]) for fit in found.values())
        back = len(found) - undirected - onward
        i, j, forward, backward = (first, second, onward, back) if onward >= back else (second, first, back, onward)
        rows.append(
            {
                "from": names[i],
                "to": names[j],
                "methods": len(found),
                "of": len(fits),
                "forward": forward,
                "backward": backward,
                "undirected": undirected,
                "verdict": verdict(i, j, truth, directed=forward > backward),
                "found_by": "; ".join(found),
            }
        )
    table = pd.DataFrame(rows, columns=CONSENSUS_COLUMNS)
    return table.sort_values(["methods", "forward"], ascending=False, kind="stable", ignore_index=True)
