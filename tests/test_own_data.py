"""Tables of one's own in a configuration: planned as they are, or refused before any job."""

from pathlib import Path
from typing import Any

import pytest

from benchmark.config import ConfigError
from benchmark.dataset import Dataset
from benchmark.own_data import load_file
from benchmark.plan import Plan
from tests.samples import own_configuration, put
from tests.test_frames import frame

DATA = "experiments.mine.data"
TABLE: dict[str, Any] = {
    "files": ["genes.csv"],
    "setting": "condition",
    "control": "wt",
    "targets": {"KO_b": "b", "double": ["a", "c"]},
}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    frame().to_csv(tmp_path / "genes.csv", index=False)
    Dataset.from_frame(frame(), setting="condition", control="wt").save(tmp_path / "saved.npz")
    (tmp_path / "truth.csv").write_text("from,to\na,b\n")
    monkeypatch.setattr("benchmark.plan.ROOT", tmp_path)
    return tmp_path


def plan(data: dict[str, Any], **changes: Any) -> Plan:
    config = own_configuration()
    put(config, DATA, data)
    config["experiments"]["mine"].update(changes)
    return Plan(config)


def test_a_table_is_a_condition_with_its_keys(folder: Path) -> None:
    planned = plan(TABLE | {"truth": "truth.csv", "intervention": "imperfect", "standardise": True})
    condition = planned.conditions["file-genes"]
    assert condition.setting == "imperfect"
    assert condition.file == folder / "genes.csv"
    assert condition.table is not None
    data = load_file(condition.file, condition.table)
    assert data.graph is not None
    assert data.parameters["intervention"] == "imperfect"


def test_unknown_targets_are_said() -> None:
    blank = {key: value for key, value in TABLE.items() if key != "targets"}
    with pytest.raises(ConfigError, match=rf"^{DATA}\.targets: this key is missing; .*targets: unknown\)"):
        plan(blank)
    planned = plan(blank, targets="unknown")
    assert planned.experiments["mine"].setting(planned.conditions["file-genes"]) == "unknown"


def test_a_table_without_conditions_is_observational() -> None:
    planned = plan({"files": ["genes.csv"], "ignore": ["condition"]})
    assert planned.conditions["file-genes"].setting == "observational"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"files": ["gene.csv"]},
            r"files\[0\]: there is no file gene\.csv; paths are relative to the project's folder",
        ),
        ({"files": ["genes.csv", "genes.xlsx"]}, "files: two files have the same name"),
        ({"files": ["genes.xlsx"]}, r"files\[0\]: genes\.xlsx; expected a file of type \.npz, \.csv"),
        ({"files": ["genes.csv", "saved.npz"]}, r"setting: a \.npz file says this itself"),
        ({"setting": "batch"}, r"files\[0\]: .*genes\.csv: column: 'batch': the table has no such column"),
        ({"control": "control"}, r"files\[0\]: .*genes\.csv: control: 'control': no row of column 'condition'"),
        ({"targets": {"KO_b": ["b"], "double": ["z"]}}, r"files\[0\]: .*targets of 'double': 'z'"),
        ({"truth": "edges.csv"}, r"files\[0\]: .*edges\.csv: there is no such file"),
        ({"intervention": "perfect-uniform"}, r"files\[0\]: .*expected 'perfect' or 'imperfect'"),
        ({"standardise": "yes"}, "standardise: the value 'yes' is not valid; expected true or false"),
        ({"targets": ["b"]}, "targets: the value .* is not valid; expected a map"),
        ({"ignore": "a"}, "ignore: the value 'a' is not valid; expected a list"),
        ({"n": 10}, "n: this key goes with simulated data only"),
    ],
)
def test_what_is_wrong_is_refused_with_its_key(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=rf"^{DATA}\.{message}"):
        plan(TABLE | changes)


def test_keys_of_tables_do_not_go_with_simulated_data() -> None:
    simulated = {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "intervention": "perfect"}
    with pytest.raises(ConfigError, match=rf"^{DATA}\.control: this key goes with files only"):
        plan(simulated | {"control": "wt"})


def test_one_file_read_in_two_ways_needs_two_names() -> None:
    config = own_configuration(run=["mine", "other"])
    put(config, DATA, TABLE)
    put(config, "experiments.other", config["experiments"]["mine"] | {"data": TABLE | {"standardise": True}})
    with pytest.raises(ConfigError, match=r"experiments\.other\.data\.files: .*reads it in another way"):
        Plan(config)
