"""Fits that are kept as they end, and failed ones that run again."""

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.records import Record, failed, read_records, write_records
from benchmark.running.kept import Kept, partial_path
from benchmark.running.retry import main

ORIGIN = {"method": "m", "source": "s", "seed": 3, "data": "d", "commit": "c"}
GRID: list[dict[str, Any]] = [{"x": 1}, {"x": float("inf")}, {"x": 3}]


def record(x: Any, status: Any = "ok") -> Record:
    made = failed(status, "" if status == "ok" else "no", {"x": x}, 1.0, 1.0)
    return made if status != "ok" else made | {"edges": [["\x01a", "b" * 5000]], "kind": "dag"}


def kept(folder: Path, **changes: Any) -> Kept:
    return Kept(folder / "fits" / "row.json", ORIGIN | changes)


def test_records_are_taken_up_by_the_same_run(tmp_path: Path) -> None:
    first = kept(tmp_path)
    assert first.take_up(GRID) == {}
    first.add(record(3))
    first.add(record(float("inf"), "timeout"))
    again = kept(tmp_path, commit="other").take_up(GRID)
    assert {place: found["status"] for place, found in again.items()} == {2: "ok", 1: "timeout"}
    assert again[2]["edges"] == [["\x01a", "b" * 5000]]
    assert kept(tmp_path).take_up([{"x": 4}]) == {}


@pytest.mark.parametrize("change", [{"source": "t"}, {"seed": 4}, {"data": "e"}, {"method": "n"}])
def test_records_of_another_run_are_not_taken_up(change: dict[str, Any], tmp_path: Path) -> None:
    first = kept(tmp_path)
    first.take_up(GRID)
    first.add(record(1))
    assert kept(tmp_path, **change).take_up(GRID) == {}


@pytest.mark.parametrize("cut", range(1, 40, 7))
def test_a_line_that_was_cut_off_costs_that_record_alone(cut: int, tmp_path: Path) -> None:
    first = kept(tmp_path)
    first.take_up(GRID)
    first.add(record(1))
    first.add(record(3))
    path = partial_path(tmp_path / "fits" / "row.json")
    path.write_bytes(path.read_bytes()[:-cut])
    second = kept(tmp_path)
    assert set(second.take_up(GRID)) == {0}
    second.add(record(3))
    assert set(kept(tmp_path).take_up(GRID)) == {0, 2}
    second.remove()
    assert not path.exists()


@pytest.mark.parametrize("content", [b"", b"\n", b"\xff\xfe", b"[]\n[]\n", b"{}\n{}\n", b'{"method": "m"}\nnull\n'])
def test_a_file_that_is_something_else_is_not_taken_up(content: bytes, tmp_path: Path) -> None:
    path = partial_path(tmp_path / "fits" / "row.json")
    path.parent.mkdir()
    path.write_bytes(content)
    assert kept(tmp_path).take_up(GRID) == {}


def test_failures_are_forgotten_and_nothing_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fits = tmp_path / "fits"
    write_records(fits / "good.json", [record(1), record(3)], ORIGIN)
    write_records(fits / "row.json", [record(1), record(float("inf"), "timeout"), record(3, "error")], ORIGIN)
    write_records(fits / "old.json", [record(1), record(3, "memory")], {"method": "m"})
    (fits / "broken.json").write_text("{")
    main([str(tmp_path)])
    assert "4 failed fits will run again" in capsys.readouterr().out
    assert sorted(path.name for path in fits.iterdir()) == ["good.json", "row.partial.jsonl"]
    assert set(kept(tmp_path).take_up(GRID)) == {0}
    assert len(read_records(fits / "good.json")[0]) == 2
    lines = partial_path(fits / "row.json").read_text().splitlines()
    assert json.loads(lines[0]) == {name: ORIGIN[name] for name in ("method", "source", "seed", "data")}
    with pytest.raises(SystemExit):
        main([str(tmp_path / "absent")])
