"""Tables of one's own: what they become, and what is said about those that cannot be used."""

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.dataset import Dataset, DatasetError
from benchmark.frames import hold_out, load_table, read_frame

HOW: dict[str, Any] = {"setting": "condition", "control": "wt", "targets": {"KO_b": ["b"], "double": ["a", "c"]}}


def frame() -> pd.DataFrame:
    """Nine rows of three genes; the control is not the first condition to appear."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(9, 3)), columns=["a", "b", "c"])
    table.insert(1, "condition", ["KO_b"] * 3 + ["wt"] * 4 + ["double"] * 2)
    return table


def test_a_frame_becomes_a_data_set() -> None:
    table = frame()
    data = Dataset.from_frame(table, **HOW)
    assert data.names == ("a", "b", "c")
    assert data.conditions == ("wt", "KO_b", "double")
    assert data.setting.tolist() == [1] * 3 + [0] * 4 + [2] * 2
    assert data.targets is not None
    assert data.targets.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 1]]
    np.testing.assert_array_equal(data.X, table[["a", "b", "c"]])
    assert data.graph is None
    assert data.heldout is None
    assert data.blind(hide_targets=True).parameters == {"intervention": "perfect"}  # names of conditions tell targets


def test_other_ways_to_say_the_same() -> None:
    table = frame().replace({"condition": {"wt": 0, "KO_b": 1, "double": 2}}).infer_objects()
    table["condition"] = table["condition"].astype(int)
    data = Dataset.from_frame(table, setting="condition", control=0, targets={1: "b", 2: ["a", "c"]})  # type: ignore[arg-type, dict-item]
    assert data.conditions == ("0", "1", "2")
    assert data.targets is not None
    assert data.targets.tolist() == [[0, 0, 0], [0, 1, 0], [1, 0, 1]]
    categorical = frame().astype({"condition": "category"})
    assert Dataset.from_frame(categorical, **HOW).conditions == ("wt", "KO_b", "double")


def test_unknown_targets_and_observational_data() -> None:
    assert Dataset.from_frame(frame(), setting="condition", control="wt").targets is None
    data = Dataset.from_frame(frame().drop(columns="condition"))
    assert data.targets is not None
    assert (data.settings, data.targets.tolist()) == (1, [[0, 0, 0]])


def test_options() -> None:
    table = frame().assign(sample=list("stuvwxyzä"))
    truth = [("a", "b"), ("b", "c")]
    how = HOW | {"ignore": ["sample"], "standardise": True, "intervention": "imperfect", "truth": truth}
    data = Dataset.from_frame(table, **how)
    assert data.graph is not None
    assert data.graph.tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    np.testing.assert_allclose(data.X.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(data.X.std(axis=0), 1)
    assert data.blind(hide_targets=False).parameters["intervention"] == "imperfect"
    edges = pd.DataFrame(truth, columns=["from", "to"]).assign(weight=1.0)
    again = Dataset.from_frame(table, **how | {"truth": edges})
    np.testing.assert_array_equal(again.graph, data.graph)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet"])
def test_files_give_what_the_frame_gives(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"genes.{suffix}"
    if suffix == "parquet":
        if importlib.util.find_spec("pyarrow") is None:
            path.touch()
            with pytest.raises(DatasetError, match=r"genes\.parquet: .*pip install pyarrow"):
                load_table(path, **HOW)
            return
        frame().to_parquet(path)
    else:
        frame().to_csv(path, index=False, sep={"csv": ",", "tsv": "\t"}[suffix], encoding="utf-8-sig")
    data, expected = load_table(path, **HOW), Dataset.from_frame(frame(), **HOW)
    np.testing.assert_array_equal(data.X, expected.X)
    np.testing.assert_array_equal(data.setting, expected.setting)
    assert data.names == expected.names


def test_a_file_with_a_truth_and_numbered_conditions(tmp_path: Path) -> None:
    table = frame().replace({"condition": {"wt": "0", "KO_b": "1", "double": "2"}})
    table.to_csv(tmp_path / "genes.csv", index=False)
    (tmp_path / "truth.csv").write_text("from,to\na,b\n")
    data = load_table(
        tmp_path / "genes.csv", setting="condition", control=0, targets={1: ["b"], 2: []}, truth=tmp_path / "truth.csv"
    )
    assert data.graph is not None
    assert data.graph.sum() == 1
    assert data.conditions == ("0", "1", "2")


def changed(row: int, column: str, value: Any) -> pd.DataFrame:
    table = frame().astype(object)
    table.loc[row, column] = value
    return table


@pytest.mark.parametrize(
    ("table", "how", "message"),
    [
        (changed(2, "b", None), {}, "column 'b', row 2: the value is missing or infinite; remove"),
        (changed(2, "b", np.inf), {}, "column 'b', row 2: the value is missing or infinite"),
        (
            frame().assign(b=[None] * 2 + [1.0] * 7),
            {},
            "row 0: the value is missing or infinite, and 1 more of this col",
        ),
        (changed(5, "c", "1,5"), {}, "column 'c', row 5: '1,5' is not a number"),
        (frame().assign(id="x"), {}, r"column 'id', row 0: 'x' is not a number; correct it, or .*\(ignore\)"),
        (changed(5, "condition", None), {}, "column 'condition', row 5: no condition is named"),
        (frame().iloc[:0], {}, "the table has no rows"),
        (frame()[["condition"]], {"targets": None}, "there is no column left for the variables"),
        (frame().set_axis(["a", "condition", "b", "b"], axis=1), {}, "column 'b' stands more than once"),
        (frame(), {"setting": "conditoin"}, "column: 'conditoin': .* did you mean 'condition'"),
        (frame(), {"ignore": ["sample"]}, "column: 'sample': the table has no such column; there are a, cond"),
        (frame(), {"control": None}, "control: say which condition of column 'condition' .* there are KO_b, wt"),
        (frame(), {"control": "wild"}, "control: 'wild': no row of column 'condition' has this condition"),
        (frame(), {"setting": None}, "control: name the column of the conditions"),
        (frame(), {"targets": {"KO_b": ["b"]}}, "targets: condition 'double' is not among them"),
        (frame(), {"targets": HOW["targets"] | {"KO_x": ["a"]}}, "targets: 'KO_x': no row has this condition"),
        (frame(), {"targets": HOW["targets"] | {"KO_b": ["B"]}}, "targets of 'KO_b': 'B': the table has no such var"),
        (frame(), {"targets": HOW["targets"] | {"wt": ["a"]}}, "targets: 'wt' is the control and cannot have targets"),
        (frame(), {"truth": [("a", "z")]}, "truth: edge a -> z: 'z': the table has no such variable"),
        (frame(), {"truth": [("a", "b"), ("b", "a")]}, "truth: it has the cycle a -> b -> a"),
        (frame(), {"truth": ["ab"]}, "truth: 'ab' is no edge"),
        (frame(), {"truth": pd.DataFrame({"cause": ["a"]})}, "truth: 'from': the edge list has no such column"),
        (frame(), {"intervention": "soft"}, "intervention is 'soft'; expected 'perfect' or 'imperfect'"),
        (frame().assign(a=1.0), {"standardise": True}, "column 'a': all its values are equal"),
    ],
)
def test_what_is_wrong_is_said(table: pd.DataFrame, how: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match=message):
        Dataset.from_frame(table, **HOW | how)


def test_rows_of_a_file_are_those_of_a_spreadsheet(tmp_path: Path) -> None:
    path = tmp_path / "genes.csv"
    path.write_text("a,condition,b\n1,wt,2\n\n3,wt,\n4,KO_b,x\n\n")
    with pytest.raises(DatasetError) as refused:
        load_table(path, setting="condition", control="wt")
    assert str(refused.value).startswith(f"{path}: column 'b', row 5: 'x' is not a number")
    path.write_text("a,condition,b\n1,wt,2\n\n3,wt,\n4,KO_b,5\n\n")
    with pytest.raises(DatasetError, match=r"genes\.csv: column 'b', row 4: the value is missing"):
        load_table(path, setting="condition", control="wt")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("genes.csv", "a;b;condition\n1;2;wt\n", "its header 'a;b;condition' has no commas"),
        ("genes.csv", ",a,b\n0,1,2\n", r"column 1 has no name; .*index=False"),
        ("genes.csv", "a,b,a\n1,2,3\n", "column 'a' stands more than once"),
        ("genes.csv", "a,b\n", "it has no rows"),
        ("genes.csv", "", "it is empty"),
        ("genes.csv", "a,b\n1,2\n1,2,3,4\n", "it cannot be read"),
        ("genes.xlsx", "", r"the name ends in '\.xlsx'; expected one of \.csv, \.tsv, \.parquet"),
        ("genes.csv", None, "there is no such file"),
    ],
)
def test_a_file_that_is_no_table(name: str, content: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / name
    if content is not None:
        path.write_text(content)
    with pytest.raises(DatasetError, match=message) as refused:
        read_frame(path)
    assert str(refused.value).startswith(f"{path}: ")


def test_a_file_in_another_encoding(tmp_path: Path) -> None:
    (tmp_path / "genes.csv").write_bytes("größe,b\n1,2\n".encode("cp1252"))
    with pytest.raises(DatasetError, match="it is not UTF-8 text"):
        read_frame(tmp_path / "genes.csv")


def test_an_error_in_the_truth_names_its_file(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "genes.csv", index=False)
    (tmp_path / "truth.csv").write_text("from,to\na,z\n")
    with pytest.raises(DatasetError, match=r"truth\.csv: truth: edge a -> z"):
        load_table(tmp_path / "genes.csv", **HOW, truth=tmp_path / "truth.csv")


def test_rows_are_held_out_evenly_and_nothing_is_lost() -> None:
    data = Dataset.from_frame(pd.concat([frame()] * 10), **HOW, truth=[("a", "b")])
    split = hold_out(data, 0.2, seed=1)
    assert split.heldout is not None
    assert np.bincount(split.setting[split.heldout]).tolist() == [8, 6, 4]
    assert split.conditions == data.conditions
    np.testing.assert_array_equal(split.graph, data.graph)
    assert hold_out(split, 0.5, seed=2) is split


def test_repr() -> None:
    shown = repr(hold_out(Dataset.from_frame(frame(), **HOW), 0.4, seed=0))
    assert shown == (
        "<Dataset: 9 rows (wt 4, KO_b 3, double 2), 3 variables (a, b, c), targets known, true graph unknown, "
        "3 rows held out>"
    )
    wide = Dataset(np.zeros((2, 50)), [0, 1], None)
    assert "V11, and 38 more" in repr(wide)
