"""The record store: packing adds, never changes silently, is whole or not at all, and damage is refused."""

import csv
import json
import lzma
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmark.dataset import Fit
from benchmark.plan import data_path, fit_path
from benchmark.recorded.pack import pack
from benchmark.recorded.provenance import source_fingerprint
from benchmark.recorded.store import INVENTORY, Store, StoreError
from benchmark.simulate import simulate
from tests.project import ROOT
from tests.runs import CELL, change, finish, finish_cell, small_plan


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("finished")
    finish(small_plan(), folder)
    return folder


@pytest.fixture
def results(finished: Path, tmp_path: Path) -> Path:
    """Return a copy of a finished run that a test may change."""
    subprocess.run(["cp", "-r", str(finished), str(tmp_path / "results")], check=True)
    return tmp_path / "results"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "records")


def content(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def test_a_cell_is_recorded_with_all_that_is_known_of_it(results: Path, store: Store) -> None:
    plan = small_plan()
    assert pack(plan, results, store).counts == {"added": 4}
    packed = Store(store.folder)
    assert packed.check() == 4
    (entry,) = packed.at("known", "linear-d5-e1-perfect-n300", "00", "sortnregress")
    assert (entry.fits, entry.ok, entry.cpu_seconds) == (6, 6, 1.5)
    assert entry.source == source_fingerprint(plan.rows["sortnregress"].method.file)
    cell = packed.read(entry)
    assert (cell["nodes"], cell["n"], cell["settings"]) == (5, 300, 5)
    assert set(cell["runs"][0]) >= {"commit", "source", "python", "packages", "cpu", "machine"}
    for fit in cell["fits"]:
        assert {"shd", "sid", "tp", "fn", "fp", "rev", "f1", "shd_cpdag", "edges"} <= set(fit["metrics"])
        assert fit["metrics"]["edges"] == len(fit["edges"] or [])
        assert fit["cpu_seconds"] == 0.25


def test_packing_twice_changes_nothing(results: Path, store: Store) -> None:
    pack(small_plan(), results, store)
    before = content(store.folder)
    assert pack(small_plan(), results, Store(store.folder)).counts == {"unchanged": 4}
    assert content(store.folder) == before


def test_the_same_run_packs_to_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    stores = [Store(tmp_path / name) for name in ("one", "two")]
    for store in stores:
        pack(small_plan(), finished, store)
    assert content(stores[0].folder) == content(stores[1].folder)


def test_cells_in_any_order_pack_to_the_same_bytes(finished: Path, tmp_path: Path) -> None:
    """Packing as cells finish gives the store that packing at the end gives."""
    at_once, in_parts = Store(tmp_path / "one"), Store(tmp_path / "two")
    pack(small_plan(), finished, at_once)
    for rows in (("sortnregress",), ("empty", "sortnregress")):
        for datasets in (1, 2):
            pack(small_plan(rows=rows, datasets=datasets), finished, Store(in_parts.folder))
    assert content(at_once.folder) == content(in_parts.folder)


def test_another_graph_is_reported_and_not_written(results: Path, store: Store) -> None:
    pack(small_plan(), results, store)
    before = content(store.folder)
    change(results / CELL, 1, [["V0", "V4"]])
    outcome = pack(small_plan(), results, Store(store.folder))
    assert outcome.counts == {"that differ": 1, "unchanged": 3}
    assert CELL in outcome.text()
    assert "1 of 6 fits have another graph" in outcome.text()
    assert content(store.folder) == before
    assert pack(small_plan(), results, Store(store.folder), replace=True).counts == {"replaced": 1, "unchanged": 3}
    (entry,) = Store(store.folder).at("known", "linear-d5-e1-perfect-n300", "00", "sortnregress")
    assert [["V0", "V4"]] in [fit["edges"] for fit in Store(store.folder).read(entry)["fits"]]


def test_a_replaced_cell_has_fits_of_one_source(results: Path, store: Store) -> None:
    """Held-out scores of two versions of a method must not compete in one selection."""
    pack(small_plan(), results, store)
    change(results / CELL, 1, [["V0", "V4"]])
    for name in (CELL, CELL.replace("/00/", "/01/")):  # of the second only the source changed, perhaps its scores
        path = results / name
        written = json.loads(path.read_text(encoding="utf-8"))
        written["provenance"]["source"] = "another"
        path.write_text(json.dumps(written), encoding="utf-8")
    for counts in ({"replaced": 2, "unchanged": 2}, {"unchanged": 4}):
        assert pack(small_plan(), results, Store(store.folder), replace=True).counts == counts
        for dataset in ("00", "01"):
            (entry,) = Store(store.folder).at("known", "linear-d5-e1-perfect-n300", dataset, "sortnregress")
            cell = Store(store.folder).read(entry)
            assert [run["source"] for run in cell["runs"]] == ["another"]
            assert {fit["run"] for fit in cell["fits"]} == {0}


def test_a_fit_that_failed_before_gives_way_to_one_that_succeeds(results: Path, finished: Path, store: Store) -> None:
    change(results / CELL, 2, None)
    assert f"failed: {CELL}: 1 of 6 fits (too slow)" in pack(small_plan(), results, store).text()
    (entry,) = Store(store.folder).at("known", "linear-d5-e1-perfect-n300", "00", "sortnregress")
    assert (entry.fits, entry.ok) == (6, 5)
    outcome = pack(small_plan(), finished, Store(store.folder))
    assert "1 fits succeeded that had failed" in outcome.text()
    (entry,) = Store(store.folder).at("known", "linear-d5-e1-perfect-n300", "00", "sortnregress")
    assert (entry.fits, entry.ok) == (6, 6)
    # The other way round it is no news.
    assert pack(small_plan(), results, Store(store.folder)).counts == {"unchanged": 4}


def test_another_seed_lies_beside(results: Path, store: Store) -> None:
    pack(small_plan(), results, store)
    finish(small_plan(seed=5), results)
    assert pack(small_plan(seed=5), results, Store(store.folder)).counts == {"added": 4}
    assert len(Store(store.folder).at("known", "linear-d5-e1-perfect-n300", "00", "empty")) == 2


def test_a_cell_whose_data_have_changed_is_left_out(results: Path, store: Store) -> None:
    finish(small_plan(seed=5), results / "other")
    data = "data/linear-d5-e1-perfect-n300/01.npz"
    (results / data).write_bytes((results / "other" / data).read_bytes())
    outcome = pack(small_plan(), results, store)
    assert outcome.counts == {"added": 2, "left out": 2}
    assert "the data set has changed since" in outcome.text()


def test_a_cell_of_observational_twins_needs_the_data_set_with_the_truth(
    tmp_path: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = small_plan(rows=("dcd-no-interv",), datasets=1)
    ((name, condition),) = plan.conditions.items()
    nothing = Fit(np.zeros((5, 5), np.int8))
    monkeypatch.setattr("tests.runs.run_grid", lambda method, data, seed, grid: [nothing] * len(grid))
    twin = simulate(**(condition.simulation | {"intervention": "none"}), seed=1)
    twin.save(tmp_path / data_path(name, "00", "twin"))
    cell = ("known", name, "00")
    finish_cell(plan, tmp_path, twin, "dcd-no-interv", cell, plan.grid("dcd-no-interv", *cell))
    outcome = pack(plan, tmp_path, store)
    assert outcome.counts == {"left out": 1}
    assert (
        f"{fit_path(*cell, 'dcd-no-interv')}: {tmp_path / data_path(name, '00')}: there is no such file"
        in outcome.text()
    )
    assert "ask Snakemake for it" in outcome.text()


def test_records_without_provenance_are_left_out(results: Path, store: Store) -> None:
    text = (results / CELL).read_text(encoding="utf-8")
    (results / CELL).write_text(text.replace('"source"', '"former_source"'), encoding="utf-8")
    outcome = pack(small_plan(), results, store)
    assert outcome.counts == {"added": 3, "left out": 1}
    assert f"{CELL}: field 'provenance': source is missing" in outcome.text()


# --- damage


def packed(results: Path, store: Store) -> tuple[Store, Path]:
    pack(small_plan(), results, store)
    (shard,) = store.folder.glob("known/*/sortnregress-*.jsonl.xz")
    return Store(store.folder), shard


def edit_shard(shard: Path, old: str, new: str) -> None:
    text = lzma.decompress(shard.read_bytes()).decode()
    lines = text.splitlines()
    assert old in lines[1]
    lines[1] = lines[1].replace(old, new, 1)
    shard.write_bytes(lzma.compress("".join(f"{line}\n" for line in lines).encode()))


@pytest.mark.parametrize(("old", "new"), [('"shd":', '"shd":1'), ('"dataset":"01"', '"dataset":"02"'), ("{", "")])
def test_an_edited_shard_is_refused_by_name_and_line(old: str, new: str, results: Path, store: Store) -> None:
    now, shard = packed(results, store)
    edit_shard(shard, old, new)
    with pytest.raises(StoreError, match="has changed since it was packed") as refused:
        now.check()
    assert str(refused.value).startswith(f"{shard}, line 2: ")


def test_a_line_taken_out_of_a_shard_is_refused(results: Path, store: Store) -> None:
    now, shard = packed(results, store)
    first = lzma.decompress(shard.read_bytes()).decode().splitlines(keepends=True)[0]
    shard.write_bytes(lzma.compress(first.encode()))
    with pytest.raises(StoreError, match="line 2: it has changed since"):
        now.check()


@pytest.mark.parametrize("damage", [lambda bytes_: bytes_[:-20], lambda bytes_: b"\0" * 50, lambda bytes_: b""])
def test_a_damaged_shard_is_refused_by_name(damage: Any, results: Path, store: Store) -> None:
    now, shard = packed(results, store)
    shard.write_bytes(damage(shard.read_bytes()))
    with pytest.raises(StoreError) as refused:
        now.check()
    assert str(shard) in str(refused.value)
    shard.unlink()
    with pytest.raises(StoreError, match="is missing"):
        now.check()


def test_every_edit_of_the_inventory_is_refused_by_line(results: Path, store: Store) -> None:
    packed(results, store)
    path = store.folder / INVENTORY
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    for column, name in enumerate(rows[0]):
        changed = [list(row) for row in rows]
        value = changed[3][column]
        changed[3][column] = str(int(value) + 1) if value.isdecimal() and name != "dataset" else f"{value}1"
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(changed)
        with pytest.raises(StoreError) as refused:
            Store(store.folder).check()
        assert f"{path}, line 4" in str(refused.value) or name == "shard", name


def test_a_line_taken_out_of_the_inventory_is_refused(results: Path, store: Store) -> None:
    packed(results, store)
    path = store.folder / INVENTORY
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:2] + lines[3:]), encoding="utf-8")
    with pytest.raises(StoreError, match="it lacks line 2 of known/linear-d5-e1-perfect-n300/empty-"):
        Store(store.folder).check()
    path.write_text("".join(lines)[:-5], encoding="utf-8")
    with pytest.raises(StoreError, match="line 5: the file ends within a line"):
        Store(store.folder)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (lambda lines: [*lines[:2], lines[1], *lines[2:]], "line 3: the lines are not sorted, or a cell stands twice"),
        (lambda lines: [lines[0], lines[1] + ",more", *lines[2:]], "line 2: it has 17 fields; expected 16"),
        (lambda lines: [lines[0], *(line.replace(",1.5,", ",one,") for line in lines[1:])], "could not convert"),
        (lambda lines: ["a,b", *lines[1:]], "line 1: expected the columns"),
        (lambda lines: ["<<<<<<< HEAD", *lines], "line 1: expected the columns"),
    ],
)
def test_a_broken_inventory_is_refused(line: Any, message: str, results: Path, store: Store) -> None:
    packed(results, store)
    path = store.folder / INVENTORY
    path.write_text("\n".join(line(path.read_text(encoding="utf-8").splitlines())) + "\n", encoding="utf-8")
    with pytest.raises(StoreError, match=message):
        Store(store.folder)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.floats(0, 1, exclude_max=True), byte=st.integers(0, 255), in_shard=st.booleans())
def test_any_changed_byte_is_refused_or_changes_nothing(
    place: float, byte: int, in_shard: bool, finished: Path, tmp_path: Path
) -> None:
    now, shard = packed(finished, Store(tmp_path / "records"))
    file = shard if in_shard else now.folder / INVENTORY
    cells = [now.read(entry) for entry in now.entries.values()]
    good = file.read_bytes()
    bad = bytearray(good)
    bad[int(place * len(bad))] = byte
    file.write_bytes(bytes(bad))
    try:
        read = Store(now.folder)
        assert [read.read(entry) for entry in read.entries.values()] == cells
    except StoreError as error:
        assert str(file) in str(error) or str(now.folder) in str(error)  # noqa: PT017
    finally:
        file.write_bytes(good)


# --- kills


def test_what_a_kill_has_left_is_removed_by_a_packing_that_adds_nothing(finished: Path, store: Store) -> None:
    pack(small_plan(), finished, store)
    (shard, *_) = {entry.shard for entry in Store(store.folder).entries.values()}
    for left in ("sortnregress-0123456789abcdef.jsonl.xz", ".sortnregress-0123456789abcdef.jsonl.xz.99"):
        (store.folder / shard).with_name(left).write_bytes(b"")
    before = (store.folder / "inventory.csv").read_bytes()
    pack(small_plan(), finished, store)
    assert (store.folder / "inventory.csv").read_bytes() == before
    kept = {entry.shard for entry in Store(store.folder).entries.values()}
    files = {str(path.relative_to(store.folder)) for path in store.folder.rglob("*") if path.is_file()}
    assert files == kept | {"inventory.csv"}


KILLED = """
import sys
from pathlib import Path
from benchmark.recorded.pack import pack
from benchmark.recorded.store import Store
from tests.runs import small_plan
print("ready", flush=True)
for _ in range(1000):
    for name in ("one", "two"):
        pack(small_plan(), Path(sys.argv[1]) / name, Store(Path(sys.argv[1]) / "records"), replace=True)
        print("packed", flush=True)
"""


@pytest.mark.slow
def test_a_kill_leaves_the_old_store_or_the_new_one(finished: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        subprocess.run(["cp", "-r", str(finished), str(tmp_path / name)], check=True)
    change(tmp_path / "two" / CELL, 1, [["V0", "V4"]])
    edges = []
    for attempt in range(12):
        process = subprocess.Popen(
            [sys.executable, "-c", KILLED, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        if attempt >= 4:  # the others are killed in their first packing, as a rule
            assert process.stdout.readline() == "packed\n"
        time.sleep(0.023 * attempt)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        now = Store(tmp_path / "records")
        assert now.check() in (0, 4)
        for entry in now.at("known", "linear-d5-e1-perfect-n300", "00", "sortnregress"):
            edges.append([["V0", "V4"]] in [fit["edges"] for fit in now.read(entry)["fits"]])
    assert len(edges) >= 8
    pack(small_plan(), tmp_path / "one", Store(tmp_path / "records"), replace=True)
    left = [path for path in (tmp_path / "records").rglob("*") if path.is_file()]
    assert len(left) == 3  # the inventory and the shards of two rows


def test_a_writer_that_is_stopped_at_any_step_leaves_the_old_store(
    results: Path, finished: Path, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(results / CELL, 1, [["V0", "V4"]])
    pack(small_plan(), finished, store)
    before = [Store(store.folder).read(entry) for entry in Store(store.folder).entries.values()]
    replace = os.replace
    for steps in range(2):
        done: list[int] = []

        def stop(source: Any, target: Any, steps: int = steps, done: list[int] = done) -> None:
            if len(done) == steps:
                raise KeyboardInterrupt
            done.append(1)
            replace(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(os, "replace", stop)
            with pytest.raises(KeyboardInterrupt):
                pack(small_plan(), results, Store(store.folder), replace=True)
        now = Store(store.folder)
        assert [now.read(entry) for entry in now.entries.values()] == before


def test_the_records_of_the_project_are_as_packed() -> None:
    records = Store()
    assert records.check() == len(records.entries)
