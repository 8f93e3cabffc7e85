"""Data files that are not as they should be: one message that names file and field, and no other cell is lost."""

import contextlib
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.dataset import Dataset, DatasetError
from tests.faults.odd_files import ODD, as_saved, write_all
from tests.project import Project

CHANGES = st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 255)), min_size=1, max_size=8)


@pytest.mark.parametrize("name", ODD)
def test_a_file_is_read_or_refused_in_one_message(name: str, tmp_path: Path) -> None:
    write, message = ODD[name]
    path = tmp_path / f"{name}.npz"
    write(path)
    if message is None:
        assert Dataset.load(path).d == 3
    else:
        with pytest.raises(DatasetError) as refused:
            Dataset.load(path)
        assert str(refused.value).startswith(f"{path}: ")
        assert message in str(refused.value)
        assert len(str(refused.value)) < 1000


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DatasetError, match="this is no file"):
        Dataset.load(tmp_path)
    with pytest.raises(DatasetError, match="there is no such file"):
        Dataset.load(tmp_path / "absent.npz")


@settings(deadline=None, max_examples=150)
@given(changes=CHANGES, length=st.integers(0, 3200))
def test_damaged_bytes_never_end_in_another_error(
    changes: list[tuple[int, int]], length: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    as_saved(path)
    data = bytearray(path.read_bytes()[: max(length, 1)])
    for place, value in changes:
        data[place % len(data)] = value
    path.write_bytes(bytes(data))
    with contextlib.suppress(DatasetError):
        assert Dataset.load(path).n > 0


@pytest.mark.slow
def test_odd_files_are_rows_and_the_others_are_as_without_them(project: Project) -> None:
    paths = write_all(project.folder)
    good = [name for name, (_, message) in ODD.items() if message is None]

    def run(names: list[str], wanted: str) -> tuple[pd.DataFrame, pd.DataFrame, str]:
        own = {"title": "Own", "data": {"files": [paths[name].name for name in names]}, "methods": ["sortnregress"]}
        output = project.run(project.preset(run=["own"], experiments={"own": own}), "--", wanted)
        tables = (pd.read_csv(project.results(f"{kind}.csv"), keep_default_na=False) for kind in ("metrics", "costs"))
        return *tables, output

    alone, _, _ = run(good, "metrics.csv")
    metrics, costs, output = run(list(ODD), "metrics.csv")
    assert "Traceback" not in output
    kept = metrics["condition"].isin(set(alone["condition"]))
    pd.testing.assert_frame_equal(metrics[kept].reset_index(drop=True), alone)
    for name, (_, message) in ODD.items():
        mine = metrics["condition"] == f"file-{name}"
        reasons = " | ".join(costs.loc[costs["condition"] == f"file-{name}", "reason"])
        if message is not None:
            assert set(metrics.loc[mine, "status"]) == {"error"}, name
            assert message in reasons, name
        elif name == "enormous values":  # it is fitted, and no score is finite
            assert "none of its fits has a finite one" in reasons
        else:
            assert set(metrics.loc[mine, "status"]) == {"ok"}, (name, reasons)
    assert len(ODD) >= 30 + len(good)

    run(["good", "enormous values", "encrypted"], "report.html")
    assert "it cannot be read" in project.results("report.html").read_text(encoding="utf-8")
