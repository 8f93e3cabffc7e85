"""Data sets: what is stored comes back, and what cannot be used is refused with the file and the field."""

import gc
import json
import multiprocessing
import os
import signal
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.dataset import Dataset, DatasetError, Fit

Arrays = dict[str, Any]


def good_fields() -> Arrays:
    """A complete data set of 8 rows, 3 variables and 3 settings."""
    return {
        "X": np.arange(24, dtype=float).reshape(8, 3) / 7,
        "setting": np.array([0, 0, 0, 1, 1, 2, 2, 2]),
        "targets": np.array([[0, 0, 0], [1, 0, 0], [0, 1, 1]]),
        "graph": np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]]),
        "names": np.array(["a", "b", "c"]),
        "heldout": np.array([1, 0, 0, 0, 1, 0, 0, 0], dtype=bool),
        "parameters": np.array(json.dumps({"mechanism": "linear"})),
    }


def with_value(array: Any, index: Any, value: Any, dtype: Any = None) -> npt.NDArray[Any]:
    changed = np.array(array, dtype=dtype)
    changed[index] = value
    return changed


BAD_FIELDS: dict[str, tuple[str, Any]] = {
    # what is wrong: (the field, its value)
    "NaN": ("X", with_value(good_fields()["X"], (2, 1), np.nan)),
    "infinite": ("X", with_value(good_fields()["X"], (0, 0), -np.inf)),
    "X with one dimension": ("X", np.zeros(8)),
    "X with three dimensions": ("X", np.zeros((8, 3, 1))),
    "X without rows": ("X", np.zeros((0, 3))),
    "X without columns": ("X", np.zeros((8, 0))),
    "X of text": ("X", np.full((8, 3), "high")),
    "setting too short": ("setting", np.zeros(7, dtype=int)),
    "setting with two dimensions": ("setting", np.zeros((8, 1), dtype=int)),
    "setting not whole": ("setting", [0, 0, 0, 1, 1, 2, 2, 1.5]),
    "setting NaN": ("setting", [0, 0, 0, 1, 1, 2, 2, np.nan]),
    "setting infinite": ("setting", [0, 0, 0, 1, 1, 2, 2, np.inf]),
    "setting of text": ("setting", np.array(list("00011222"))),
    "setting negative": ("setting", [0, 0, 0, 1, 1, 2, 2, -1]),
    "setting beyond targets": ("setting", [0, 0, 0, 1, 1, 2, 2, 3]),
    "setting without rows": ("setting", [0, 0, 0, 2, 2, 2, 2, 2]),
    "no observational rows": ("setting", [1, 1, 1, 1, 2, 2, 2, 2]),
    "targets with too few columns": ("targets", np.zeros((3, 2), dtype=int)),
    "targets with one dimension": ("targets", np.zeros(3, dtype=int)),
    "targets with an entry of 2": ("targets", [[0, 0, 0], [2, 0, 0], [0, 1, 0]]),
    "targets with an entry of 0.5": ("targets", [[0, 0, 0], [0.5, 0, 0], [0, 1, 0]]),
    "targets of the observational setting": ("targets", [[0, 1, 0], [1, 0, 0], [0, 1, 0]]),
    "graph not square": ("graph", np.zeros((3, 2), dtype=int)),
    "graph too large": ("graph", np.zeros((4, 4), dtype=int)),
    "graph with an entry of -1": ("graph", [[0, -1, 0], [0, 0, 0], [0, 0, 0]]),
    "graph cyclic": ("graph", [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
    "graph with a loop": ("graph", [[0, 1, 0], [0, 1, 0], [0, 0, 0]]),
    "names repeated": ("names", ["a", "b", "a"]),
    "too few names": ("names", ["a", "b"]),
    "too many names": ("names", ["a", "b", "c", "d"]),
    "heldout of wrong length": ("heldout", np.array([True, False])),
    "heldout of everything": ("heldout", np.ones(8, dtype=bool)),
    "heldout of nothing": ("heldout", np.zeros(8, dtype=bool)),
    "heldout of other numbers": ("heldout", np.arange(8)),
}


@pytest.mark.parametrize("wrong", BAD_FIELDS)
def test_bad_field_is_refused_by_name(wrong: str, tmp_path: Path) -> None:
    name, value = BAD_FIELDS[wrong]
    fields = good_fields() | {name: value}
    path = tmp_path / "bad.npz"
    np.savez(path, **fields)
    with pytest.raises(DatasetError, match=f"field '{name}'") as from_file:
        Dataset.load(path)
    assert str(from_file.value).startswith(f"{path}: field '{name}'")
    fields.pop("parameters")
    with pytest.raises(DatasetError, match=f"^field '{name}'"):
        Dataset(**fields)


def test_good_fields_are_good(tmp_path: Path) -> None:
    """Otherwise the test above could pass for another reason."""
    np.savez(tmp_path / "good.npz", **good_fields())
    assert Dataset.load(tmp_path / "good.npz").names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("X", [[1.0, 2.0], [3.0]]),
        ("setting", [[0], [0, 1]]),
        ("targets", [[0, 0, 0], [1]]),
        ("graph", [[0, 1, 0], [0]]),
        ("heldout", [[True], [False, True]]),
    ],
)
def test_ragged_lists_are_refused_by_name(name: str, value: Any) -> None:
    fields = good_fields() | {name: value}
    fields.pop("parameters")
    with pytest.raises(DatasetError, match=f"field '{name}'"):
        Dataset(**fields)


def test_message_about_a_nan_says_where() -> None:
    fields = good_fields() | {"X": with_value(good_fields()["X"], (2, 1), np.nan)}
    fields.pop("parameters")
    with pytest.raises(DatasetError, match="1 values are NaN or infinite, the first in row 2, column 'b'"):
        Dataset(**fields)


def test_message_about_a_cycle_shows_it() -> None:
    fields = good_fields() | {"graph": [[0, 1, 0], [0, 0, 1], [1, 0, 0]]}
    fields.pop("parameters")
    with pytest.raises(DatasetError, match="a -> b -> c -> a"):
        Dataset(**fields)


def test_message_about_missing_settings_stays_short() -> None:
    """One wrong number in 'setting' must not list a million settings."""
    with pytest.raises(DatasetError, match="field 'setting'") as refused:
        Dataset(np.zeros((2, 2)), [0, 1_000_000], targets=None)
    assert len(str(refused.value)) < 1000


@pytest.mark.parametrize("name", ["X", "setting"])
def test_missing_field_is_named(name: str, tmp_path: Path) -> None:
    fields = good_fields()
    fields.pop(name)
    path = tmp_path / "incomplete.npz"
    np.savez(path, **fields)
    with pytest.raises(DatasetError, match=f"field '{name}' is missing") as refused:
        Dataset.load(path)
    assert str(refused.value).startswith(f"{path}: ")


def test_optional_fields_may_be_missing(tmp_path: Path) -> None:
    np.savez(tmp_path / "short.npz", X=np.eye(2), setting=[0, 1])
    data = Dataset.load(tmp_path / "short.npz")
    assert (data.targets, data.graph, data.heldout, data.parameters) == (None, None, None, {})
    assert data.names == ("V0", "V1")
    assert data.training.all()
    with pytest.raises(DatasetError, match="field 'targets'"):
        _ = data.targeted


def test_unreadable_parameters_are_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.npz"
    np.savez(path, **good_fields() | {"parameters": np.array("{mechanism: linear")})
    with pytest.raises(DatasetError, match="field 'parameters'") as refused:
        Dataset.load(path)
    assert str(path) in str(refused.value)


def unreadable_files(folder: Path) -> dict[str, Path]:
    whole = folder / "whole.npz"
    np.savez(whole, **good_fields())
    content = whole.read_bytes()
    packed = folder / "packed.npz"
    np.savez_compressed(packed, **good_fields() | {"X": np.random.default_rng(0).normal(size=(8, 3))})
    damaged = bytearray(packed.read_bytes())
    with zipfile.ZipFile(packed) as archive:
        member = archive.getinfo("X.npy")
    start = member.header_offset + 30 + len(member.filename) + 20  # past the local header and its extra field
    damaged[start : start + 40] = bytes(255 - byte for byte in damaged[start : start + 40])
    contents = {
        "empty": b"",
        "text": b"X,setting\n1.0,0\n",
        "truncated": content[: len(content) // 2],
        "last byte lost": content[:-1],
        "damaged inside": content[:200] + bytes(255 - byte for byte in content[200:300]) + content[300:],
        "damaged inside, compressed": bytes(damaged),
    }
    files = {}
    for kind, data in contents.items():
        files[kind] = folder / f"{kind}.npz"
        files[kind].write_bytes(data)
    files["one array"] = folder / "array.npy"
    np.save(files["one array"], np.eye(3))
    files["pickled"] = folder / "pickled.npz"
    np.savez(files["pickled"], **good_fields() | {"X": np.array([{"a": 1}], dtype=object)})
    files["folder"] = folder
    files["absent"] = folder / "absent.npz"
    return files


@pytest.mark.parametrize(
    "kind",
    [
        "empty",
        "text",
        "truncated",
        "last byte lost",
        "damaged inside",
        "damaged inside, compressed",
        "one array",
        "pickled",
        "folder",
        "absent",
    ],
)
def test_unreadable_file_is_named(kind: str, tmp_path: Path) -> None:
    path = unreadable_files(tmp_path)[kind]
    with pytest.raises(DatasetError) as refused:
        Dataset.load(path)
    assert str(path) in str(refused.value)
    assert path not in [Path(file.path) for file in psutil.Process().open_files()]  # numpy may leave it open
    del refused
    gc.collect()  # a file left open warns here and not in some later test


def test_absent_file_is_called_absent(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="there is no such file"):
        Dataset.load(tmp_path / "absent.npz")


# numpy's own text arrays cannot end in a NUL character, and no data set needs one.
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    d = draw(st.integers(1, 5))
    count = draw(st.integers(1, 4))
    n = draw(st.integers(count + 1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    order = rng.permutation(d)
    graph = np.zeros((d, d))
    graph[np.ix_(order, order)] = np.triu(rng.random((d, d)) < 0.5, k=1)
    targets = rng.integers(0, 2, (count, d))
    targets[0] = 0
    heldout = rng.permutation(n) < draw(st.integers(1, n - 1))
    X = draw(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=n * d, max_size=n * d))
    return Dataset(
        np.reshape(X, (n, d)),
        rng.permutation(np.r_[np.arange(count), rng.integers(0, count, n - count)]),
        targets if draw(st.booleans()) else None,
        graph if draw(st.booleans()) else None,
        draw(st.none() | st.lists(NAMES, min_size=d, max_size=d, unique=True)),
        heldout if draw(st.booleans()) else None,
        draw(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5) | st.none(), max_size=3)),
    )


def assert_same(one: Dataset, other: Dataset) -> None:
    for name in ("X", "setting", "targets", "graph", "heldout"):
        left, right = getattr(one, name), getattr(other, name)
        assert (left is None) == (right is None), name
        if left is not None:
            assert left.dtype == right.dtype, name
            np.testing.assert_array_equal(left, right, err_msg=name)
    assert one.names == other.names
    assert one.parameters == other.parameters


@settings(deadline=None, max_examples=60)
@given(data=datasets())
def test_save_then_load_is_the_same(data: Dataset, tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.getbasetemp() / "round-trip" / "data.npz"
    data.save(path)
    assert_same(data, Dataset.load(path))
    data.save(str(path))  # over the old one, by a path of text
    assert_same(data, Dataset.load(str(path)))
    assert [file.name for file in path.parent.iterdir()] == ["data.npz"]


@settings(deadline=None, max_examples=30)
@given(data=datasets())
def test_derived_properties(data: Dataset) -> None:
    assert data.X.shape == (data.n, data.d)
    assert set(data.setting.tolist()) == set(range(data.settings))
    heldout = np.zeros(data.n, dtype=bool) if data.heldout is None else data.heldout
    np.testing.assert_array_equal(data.training, ~heldout)
    if data.targets is not None:
        for row in range(data.n):
            np.testing.assert_array_equal(data.targeted[row], data.targets[data.setting[row]] == 1)


def make() -> Dataset:
    fields = good_fields()
    parameters = {"mechanism": "linear", "edges_per_node": 1.5, "seed": 3}
    return Dataset(**fields | {"parameters": parameters})


@pytest.mark.parametrize("name", ["X", "setting", "targets", "graph", "heldout"])
def test_arrays_are_read_only(name: str) -> None:
    for data in (make(), make().blind(hide_targets=False)):
        array = getattr(data, name)
        if array is not None:
            with pytest.raises(ValueError, match="read-only"):
                array[0] = 1
        with pytest.raises(AttributeError):
            setattr(data, name, None)


def test_input_stays_as_it_was() -> None:
    fields = good_fields()
    fields["graph"] = fields["graph"].astype(np.int8)  # the types that need no conversion
    fields["targets"] = fields["targets"].astype(np.int8)
    fields["parameters"] = {"seed": 1}
    data = Dataset(**fields)
    for name in ("X", "setting", "targets", "graph", "heldout"):
        assert fields[name].flags.writeable, name
        fields[name][...] = 0
    assert data.X[0, 1] == pytest.approx(1 / 7)
    assert data.setting.max() == 2
    assert data.graph is not None
    assert data.graph.sum() == 3


@pytest.mark.parametrize("hide", [True, False])
def test_blind_shows_what_a_method_may_see(hide: bool) -> None:
    data = make()
    shown = data.blind(hide_targets=hide)
    assert shown.graph is None
    assert shown.parameters == {"edges_per_node": 1.5}
    assert (shown.targets is None) == hide
    np.testing.assert_array_equal(shown.X, data.X)
    np.testing.assert_array_equal(shown.setting, data.setting)
    assert shown.heldout is data.heldout
    assert shown.names == data.names
    assert shown.settings == data.settings
    assert not any(value is data.graph for value in vars(shown).values())
    # the original keeps everything, whatever a method does with its own copy
    shown.parameters["edges_per_node"] = 9.0
    assert data.parameters == {"mechanism": "linear", "edges_per_node": 1.5, "seed": 3}
    assert data.graph is not None
    assert data.targets is not None


def test_blind_without_a_prior_shows_no_parameters() -> None:
    assert Dataset(np.eye(2), [0, 0], None, parameters={"seed": 1}).blind(hide_targets=True).parameters == {}


def half_savez(file: Any, **arrays: Any) -> None:
    file.write(b"PK\x03\x04 half a file")
    file.flush()
    raise KeyboardInterrupt


@pytest.mark.parametrize("there_is_an_old_file", [True, False])
def test_interrupted_save_leaves_no_trace(
    there_is_an_old_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "data.npz"
    old = make()
    if there_is_an_old_file:
        old.save(path)
    monkeypatch.setattr(np, "savez", half_savez)
    with pytest.raises(KeyboardInterrupt):
        Dataset(np.eye(2), [0, 0], None).save(path)
    assert [file.name for file in tmp_path.iterdir()] == (["data.npz"] if there_is_an_old_file else [])
    if there_is_an_old_file:
        assert_same(old, Dataset.load(path))


def _save_and_be_killed(path: Path) -> None:
    def die(file: Any, **arrays: Any) -> None:
        file.write(b"PK\x03\x04 half a file")
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(np, "savez", die)  # noqa: B010 - in the child only, and mypy knows the type of np.savez
    Dataset(np.eye(2), [0, 0], None).save(path)


def test_killed_save_keeps_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    make().save(path)
    child = multiprocessing.get_context("fork").Process(target=_save_and_be_killed, args=(path,))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert_same(make(), Dataset.load(path))
    # what is left of the attempt is hidden from patterns such as *.npz
    assert [file.name for file in tmp_path.iterdir() if not file.name.startswith(".")] == ["data.npz"]


def test_parameters_that_cannot_be_stored_leave_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "data.npz"
    make().save(path)
    with pytest.raises(TypeError):
        Dataset(np.eye(2), [0, 0], None, parameters={"rng": object()}).save(path)
    assert_same(make(), Dataset.load(path))
    assert [file.name for file in tmp_path.iterdir()] == ["data.npz"]


def test_fit_normalises_types() -> None:
    fit = Fit(np.array([[0.0, 1.0], [0.0, 0.0]]), heldout_nll=np.float32(1.5), targets=np.array([[0, 0], [1, 0]]))  # type: ignore[arg-type]
    assert fit.graph.dtype == np.int8
    assert type(fit.heldout_nll) is float
    assert fit.targets is not None
    assert fit.targets.dtype == np.float64
    assert fit.kind == "dag"


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ([[0, 1], [1, 0]], "field 'graph': it must be acyclic.*V0 -> V1 -> V0"),
        ([[1, 0], [0, 0]], "acyclic"),
        ([[0, 1, 0], [0, 0, 1]], "field 'graph'.*shape"),
        ([0, 1], "field 'graph'.*shape"),
        (1, "field 'graph'.*shape"),
        ([[0, 0.3], [0, 0]], "field 'graph'"),
        ([[0, 2], [0, 0]], "field 'graph'.*0 or 1"),
        ([[0, np.nan], [0, 0]], "field 'graph'"),
    ],
)
def test_fit_refuses_what_is_no_dag(graph: Any, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        Fit(np.array(graph))


def test_fit_refuses_other_kinds() -> None:
    with pytest.raises(ValueError, match="kind is 'pag'"):
        Fit(np.zeros((2, 2)), kind="pag")  # type: ignore[arg-type]


CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


@pytest.mark.parametrize(
    "cpdag",
    [
        None,
        np.zeros((3, 3)),  # edges are missing
        CHAIN.T,  # the edges point the other way
        np.ones((3, 3)) - np.eye(3),  # an edge too many
        np.zeros((2, 2)),
        [[0, 1, 0], [1, 0, 0], [0, 1, 0]],  # 0 - 1 <- 2
    ],
)
def test_fit_refuses_a_class_without_its_graph(cpdag: Any) -> None:
    with pytest.raises(ValueError, match="cpdag"):
        Fit(CHAIN.astype(np.int8), kind="cpdag", info={} if cpdag is None else {"cpdag": cpdag})


@pytest.mark.parametrize("cpdag", [CHAIN, CHAIN + CHAIN.T, [[0, 1, 0], [1, 0, 1], [0, 0, 0]]])
def test_fit_accepts_a_class_with_its_graph(cpdag: Any) -> None:
    assert Fit(CHAIN.astype(np.int8), kind="cpdag", info={"cpdag": cpdag}).kind == "cpdag"


def test_with_info_adds() -> None:
    fit = Fit(CHAIN.astype(np.int8), heldout_nll=1.0, info={"engine": "numpy"})
    more = fit.with_info(iterations=3)
    assert more.info == {"engine": "numpy", "iterations": 3}
    assert fit.info == {"engine": "numpy"}
    assert more.heldout_nll == 1.0
