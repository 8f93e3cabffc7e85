"""Fit records: a round trip through JSON by names, and errors that name the file and the field."""

import json
import math
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.dataset import Fit
from benchmark.records import Record, RecordError, failed, read_records, succeeded, to_edges, to_graph, write_records

NAMES = ("p44/42", "a > b", "größe")
CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.int8)


def good(**changes: Any) -> Record:
    fit: dict[str, Any] = {"graph": CHAIN, "heldout_nll": 1.25, "info": {"engine": "numpy"}} | changes
    return succeeded(Fit(**fit), {"penalty": 0.1}, NAMES, seconds=2.5, peak_memory_mb=100.0)


def round_trip(records: list[Record], path: Path) -> list[Record]:
    write_records(path, records, {"method": "m"})
    return read_records(path)[0]


def test_round_trip(tmp_path: Path) -> None:
    cpdag = CHAIN + CHAIN.T
    records = [
        good(),
        good(kind="cpdag", info={"cpdag": cpdag, "rounds": 3}, targets=np.array([[0.0, 0.0, 0.0], [0.9, 0.1, 0.0]])),
        good(graph=np.zeros((3, 3)), heldout_nll=None),
        failed("timeout", "it ran for 9 s", {"penalty": 0.2}, 9.0, 50.0),
        failed("error", "ValueError: no", {"penalty": 0.3}, None, None),
    ]
    path = tmp_path / "deeper" / "records.json"
    write_records(path, records, {"method": "m", "seed": 3})
    read, provenance = read_records(path)
    assert read == records
    assert provenance == {"method": "m", "seed": 3}
    assert read[0]["edges"] == [["p44/42", "a > b"], ["a > b", "größe"]]
    assert read[1]["cpdag"] is not None
    np.testing.assert_array_equal(to_graph(read[1]["cpdag"], NAMES), cpdag)
    assert "cpdag" not in read[1]["info"]
    assert read[1]["targets"] == [[0, 0, 0], [0.9, 0.1, 0]]
    assert read[2]["edges"] == []  # an empty graph is a result
    assert read[3]["edges"] is None  # a failure is not
    assert [record["status"] for record in read] == ["ok", "ok", "ok", "timeout", "error"]


@settings(deadline=None, max_examples=60)
@given(
    d=st.integers(1, 6),
    seed=st.integers(0, 2**32 - 1),
    names=st.lists(st.text(max_size=6), min_size=6, max_size=6, unique=True),
)
def test_edges_by_names(d: int, seed: int, names: list[str]) -> None:
    graph = np.random.default_rng(seed).integers(0, 2, (d, d)).astype(np.int8)
    labels = tuple(names[:d])
    edges = to_edges(graph, labels)
    assert len(edges) == graph.sum()
    np.testing.assert_array_equal(to_graph(edges, labels), graph)
    swapped = labels[::-1]  # names, not places, say which variable is meant
    np.testing.assert_array_equal(to_graph(edges, swapped), graph[::-1, ::-1])


def test_unknown_names_are_refused() -> None:
    with pytest.raises(RecordError, match=r"field 'edges': 'a' -> 'z'"):
        to_graph([["a", "z"]], ("a", "b"))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan")])
def test_a_score_that_is_no_number_becomes_null(value: float, tmp_path: Path) -> None:
    (read,) = round_trip([good(heldout_nll=value)], tmp_path / "r.json")
    assert read["heldout_nll"] is None
    assert read["status"] == "ok"
    assert "NaN" not in (tmp_path / "r.json").read_text()


@pytest.mark.parametrize(
    "changes",
    [
        {"info": {"loss": math.nan}},
        {"info": {"losses": [1.0, math.inf]}},
        {"info": {"losses": np.array([1.0, math.nan])}},
        {"targets": np.array([[0.0, 0.0, 0.0], [math.nan, 0.0, 0.0]])},
    ],
)
def test_other_values_that_are_no_numbers_lose_no_records(changes: dict[str, Any], tmp_path: Path) -> None:
    """One diverged number in a diagnostic must not cost the whole file."""
    read = round_trip([good(), good(**changes)], tmp_path / "r.json")
    assert [record["status"] for record in read] == ["ok", "ok"]
    json.loads((tmp_path / "r.json").read_text(), parse_constant=lambda constant: pytest.fail(constant))


def test_numpy_values_become_plain(tmp_path: Path) -> None:
    record = succeeded(
        Fit(CHAIN, info={"steps": np.int64(3), "trace": np.arange(2), "flag": np.bool_(True), "path": Path("a")}),
        {"alpha": np.float64(0.5), "runs": np.int64(5)},
        NAMES,
        1.0,
        1.0,
    )
    (read,) = round_trip([record], tmp_path / "r.json")
    assert read["hyperparameters"] == {"alpha": 0.5, "runs": 5}
    assert read["info"] == {"steps": 3, "trace": [0, 1], "flag": True, "path": "a"}


def content(**changes: Any) -> dict[str, Any]:
    record = {"hyperparameters": {}, "status": "ok", "edges": [], "heldout_nll": None} | changes
    return {"records": [record | {"status": "ok"}, record]}


@pytest.mark.parametrize("name", ["hyperparameters", "status", "edges", "heldout_nll"])
def test_missing_field_is_named(name: str, tmp_path: Path) -> None:
    document = content()
    del document["records"][1][name]
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    with pytest.raises(RecordError, match=rf"field 'records\[1\]': {name} is missing") as refused:
        read_records(path)
    assert str(refused.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ({"records": []}, "records"),
        ({"records": {"a": 1}}, "records"),
        ({}, "records"),
        ([], "records"),
        (3, "records"),
        ({"records": [3]}, "records[0]"),
        ({"records": [None]}, "records[0]"),
        (content(edges=None), "records[0].edges"),
    ],
)
def test_wrong_content_is_named(document: Any, field: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_text(json.dumps(document))
    with pytest.raises(RecordError) as refused:
        read_records(path)
    assert str(refused.value).startswith(f"{path}: field '{field}'")


@pytest.mark.parametrize("text", [b"", b'{"records": [', b"not json", b"\x80\x81\x82"])
def test_what_is_not_json_is_named(text: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(text)
    with pytest.raises(RecordError) as refused:
        read_records(path)
    assert str(path) in str(refused.value)


def test_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises((RecordError, FileNotFoundError), match=r"absent\.json"):
        read_records(tmp_path / "absent.json")


@pytest.mark.parametrize("there_is_an_old_file", [True, False])
def test_write_is_whole_or_not_at_all(
    there_is_an_old_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "r.json"
    if there_is_an_old_file:
        write_records(path, [good()], {})

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write_records(path, [good(), good()], {})
    assert os.listdir(tmp_path) == (["r.json"] if there_is_an_old_file else [])
    if there_is_an_old_file:
        assert read_records(path)[0] == [good()]
