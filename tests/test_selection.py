"""What is reported of a grid: chosen without the truth, except where the choice says so."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.metrics import shd
from benchmark.records import Record, failed, to_edges, to_graph
from benchmark.selection import Selection, best_shd, choose, select

NAMES = ("a", "b", "c")
CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
EMPTY = np.zeros((3, 3), dtype=int)


def record(score: float | None = None, graph: Any = EMPTY, **hyperparameters: Any) -> Record:
    return {
        "hyperparameters": hyperparameters,
        "status": "ok",
        "reason": "",
        "edges": to_edges(graph, NAMES),
        "kind": "dag",
        "heldout_nll": score,
        "seconds": 0.1,
        "peak_memory_mb": 1.0,
    }


def failure(**hyperparameters: Any) -> Record:
    return failed("timeout", "too slow", hyperparameters, 1.0, 1.0)


def test_the_lowest_heldout_score_is_selected() -> None:
    records = [record(2.0, x=1), record(-1.0, x=2), record(0.0, x=3)]
    assert select(records, "heldout") is records[1]


def test_the_first_of_equals_is_selected() -> None:
    records = [record(2.0, x=1), record(1.0, x=2), record(1.0, x=3)]
    assert select(records, "heldout") is records[1]


def test_zero_is_a_score() -> None:
    records = [record(0.5, x=1), record(0.0, x=2)]
    assert select(records, "heldout") is records[1]


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), float("-inf"), None])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_score_that_is_no_number_is_left_out(bad: float | None, place: int) -> None:
    records = [record(2.0, x=1), record(1.0, x=2)]
    records.insert(place, record(bad, x=3))
    assert select(records, "heldout")["hyperparameters"] == {"x": 2}


def test_a_failed_fit_is_left_out_even_with_a_score() -> None:
    # An external program may write the score of a fit that it stopped.
    stopped = failure(x=1) | {"heldout_nll": -9.0}
    records: list[Any] = [stopped, record(1.0, x=2), failure(x=3)]
    assert select(records, "heldout") is records[1]


def test_where_every_fit_failed_the_first_failure_is_reported() -> None:
    records = [failure(x=1), failure(x=2)]
    assert select(records, "heldout") is records[0]


def test_a_single_combination_needs_no_score() -> None:
    records = [record(None)]
    assert select(records, "heldout") is records[0]


@pytest.mark.parametrize("score", [None, float("nan")])
def test_several_combinations_without_a_score_cannot_be_selected(score: float | None) -> None:
    records = [record(score, x=1), failure(x=2), record(score, x=3)]
    chosen = select(records, "heldout")
    assert chosen["status"] == "error"
    assert "selected by held-out score, but none of its fits has a finite one" in chosen["reason"]


def test_fixed_values_are_selected_whatever_the_score() -> None:
    records = [record(0.0, alpha=0.1, test="gauss"), record(9.0, alpha=0.001, test="gauss")]
    assert select(records, {"alpha": 1e-3}) is records[1]
    assert select(records, {"alpha": 1e-3, "test": "gauss"}) is records[1]
    assert select(records, {}) is records[0]


def test_a_failed_fit_with_the_fixed_values_is_reported_as_failed() -> None:
    records = [failure(alpha=0.1), record(1.0, alpha=0.2)]
    assert select(records, {"alpha": 0.1}) is records[0]


def test_fixed_values_that_nobody_ran_are_an_error() -> None:
    chosen = select([record(alpha=0.1)], {"alpha": 0.3})
    assert chosen["status"] == "error"
    assert chosen["reason"] == "no combination has the fixed values {'alpha': 0.3}"
    only_failures = [failure(alpha=0.1)]
    assert select(only_failures, {"alpha": 0.3}) is only_failures[0]


def distances(records: list[Record], truth: Any = CHAIN) -> list[float | None]:
    return [None if one["edges"] is None else shd(truth, to_graph(one["edges"], NAMES)) for one in records]


def test_best_shd_looks_at_the_truth_and_says_so() -> None:
    records = [record(1.0, EMPTY, x=1), record(2.0, CHAIN, x=2), failure(x=3)]
    assert best_shd(records, distances(records)) is records[1]
    chosen = choose(records, "heldout", distances(records))
    assert [(choice, one["hyperparameters"]["x"]) for choice, one in chosen] == [("selected", 1), ("best_shd", 2)]


def test_best_shd_takes_the_first_of_equals_and_failures_last() -> None:
    records = [failure(x=1), record(2.0, EMPTY, x=2), record(1.0, EMPTY, x=3)]
    assert best_shd(records, distances(records)) is records[1]
    assert best_shd([failure(x=1), failure(x=2)], [None, None])["hyperparameters"] == {"x": 1}


def test_without_a_truth_there_is_no_best() -> None:
    records = [record(1.0, x=1), record(2.0, x=2)]
    assert [choice for choice, _ in choose(records, "heldout", None)] == ["selected"]


@pytest.mark.parametrize("selection", ["heldout", {}])
def test_a_single_combination_is_reported_once(selection: Selection) -> None:
    assert [choice for choice, _ in choose([record(1.0)], selection, [0])] == ["selected"]


def test_the_rows_of_a_grid_stand_for_fixed_values_only() -> None:
    records = [record(1.0, alpha=0.1), failure(alpha=0.2)]
    chosen = choose(records, {"alpha": 0.2}, distances(records))
    assert [(choice, one["hyperparameters"]["alpha"]) for choice, one in chosen] == [
        ("selected", 0.2),
        ("best_shd", 0.1),
        ("grid", 0.1),
        ("grid", 0.2),
    ]
    assert "grid" not in [choice for choice, _ in choose(records, "heldout", distances(records))]


def dags() -> st.SearchStrategy[Any]:
    """Random DAGs of three nodes, in a random order."""
    upper = st.lists(st.integers(0, 1), min_size=3, max_size=3)
    return st.builds(_dag, upper, st.permutations(range(3)))


def _dag(entries: list[int], order: list[int]) -> Any:
    graph = np.zeros((3, 3), dtype=int)
    graph[np.triu_indices(3, 1)] = entries
    return graph[np.ix_(order, order)]


@given(
    fits=st.lists(
        st.tuples(st.one_of(st.none(), st.floats(-5, 5)), dags(), st.booleans()), min_size=1, max_size=6
    ).filter(lambda fits: any(score is not None and works for score, _, works in fits)),
    truths=st.tuples(dags(), dags()),
    fixed=st.booleans(),
)
def test_the_truth_never_changes_what_is_selected(
    fits: list[tuple[float | None, Any, bool]], truths: tuple[Any, Any], fixed: bool
) -> None:
    records = [
        record(score, graph, x=number) if works else failure(x=number)
        for number, (score, graph, works) in enumerate(fits)
    ]
    selection: Any = {"x": len(fits) - 1} if fixed else "heldout"
    every = [*(distances(records, truth) for truth in truths), None]
    chosen = [dict(choose(records, selection, one))["selected"] for one in every]
    assert chosen[0] is chosen[1] is chosen[2]
