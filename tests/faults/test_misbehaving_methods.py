"""One run of the workflow with every misbehaving method: a row for each, and nothing lost of the others."""

import json
import shutil
from typing import Any

import pandas as pd
import psutil
import pytest

from tests.faults.broken import BROKEN, CHEAT
from tests.faults.expected import DANGEROUS, EXPECTED, FOLDER, LARGE, SLOW
from tests.faults.zoo import SLEEP
from tests.project import Project

CONTROLS = ["empty", "random", "sortnregress"]
DATA = {"mechanism": "linear", "nodes": 4, "edges_per_node": 1, "n": 200}
LIMITS = {"hours": 120 / 3600, "memory_gb": 0.5, "start_minutes": 0.2}
SOON = {"limits": {"hours": 5 / 3600}}
# One of each kind; the tests of the runner have them all.
ANIMALS = (
    "raises",
    "raises_surrogates",
    "raises_a_novel",
    "exits_at_once",
    "kills_itself",
    "kills_parent",
    "segfaults",
    "leaves_a_daemon",
    "leaves_a_daemon_and_dies",
    "writes_to_descriptors",
    "writes_much",
    "changes_folder",
    "changes_data",
    "returns_nothing",
    "returns_a_cycle",
    "returns_small_targets",
    "returns_nan_targets",
    "returns_nan_score",
    "informs_unpicklably",
    "informs_of_itself",
    "informs_of_much",
    "sleeps",
    "eats_memory",
)


def experiment(title: str, methods: list[str]) -> dict[str, Any]:
    return {"title": title, "data": DATA, "methods": methods}


def rows_of(metrics: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    return metrics[metrics["row"].isin(names)].reset_index(drop=True)


@pytest.mark.slow
def test_every_misbehaving_method_is_a_row_and_no_other_row_changes(project: Project, namespaces: bool) -> None:
    quiet = project.preset(datasets=1, limits=LIMITS, experiments={"perfect": experiment("Quiet", CONTROLS)})
    project.run(quiet, "--", "metrics.csv")
    alone = pd.read_csv(project.results("metrics.csv"))
    shutil.rmtree(project.results(""))

    animals = {name: (EXPECTED | SLOW | LARGE)[name] for name in ANIMALS}
    if namespaces:
        animals |= DANGEROUS
    broken = {name: entry for name, entry in BROKEN.items() if entry[1] != "refused"}
    shutil.copy(FOLDER / "zoo.py", project.folder / "baselines" / "zoo.py")
    for name, (source, _, _) in broken.items():
        project.write(f"baselines/{name}.py", source)
    methods = {
        name: {"method": "zoo", "hyperparameters": {"animal": [name]}, "selection": {"animal": name}}
        for name in animals
    }
    methods["sleeps"] |= SOON
    files = [name.replace("_", "-") for name in broken]
    names = [CONTROLS[0], *animals, CONTROLS[1], *files, CONTROLS[2]]
    loud = project.preset(
        datasets=1,
        limits=LIMITS,
        methods=methods,
        experiments={"perfect": experiment(r"Costs 5 $ or ${x} \frac{ % & <b>", names)},
    )
    before = project.files()
    project.run(loud)

    made = project.files() - before
    assert all(name.startswith("results/tiny/") for name in made), sorted(made)
    assert [path.name for path in project.results("").parent.iterdir()] == ["tiny"]
    assert not [name for name in made if "/.scratch/" in name or name.endswith(".partial.jsonl")]
    metrics = pd.read_csv(project.results("metrics.csv"))
    costs = pd.read_csv(project.results("costs.csv"), keep_default_na=False)
    pd.testing.assert_frame_equal(rows_of(metrics, CONTROLS), rows_of(alone, CONTROLS))
    expected = animals | {name.replace("_", "-"): (status, reason) for name, (_, status, reason) in broken.items()}
    wrong = {}
    for name, (status, reason) in expected.items():
        chosen = metrics[(metrics["row"] == name) & (metrics["choice"] == "selected")]
        reasons = " | ".join(costs.loc[costs["row"] == name, "reason"])
        if set(chosen["status"]) != {status} or reason not in reasons:
            wrong[name] = (set(chosen["status"]), reasons[:300])
    assert not wrong
    assert len(expected) >= 40
    page = project.results("report.html").read_text(encoding="utf-8")
    assert "the matrix is singular" in page
    assert "<b>" not in page.split("Costs 5 $", 1)[1][:60]
    table = project.results("tables/perfect-linear.md").read_text(encoding="utf-8")
    assert table.count("(0/1)") >= 25
    assert not [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == ["sleep", SLEEP]]
    for log in project.results("logs").rglob("*.log"):
        assert log.stat().st_size < 2 * 2**20


@pytest.mark.slow
def test_a_method_cannot_find_the_truth(project: Project, namespaces: bool) -> None:
    if not namespaces:
        pytest.skip("this system permits no namespaces, so the files of a run cannot be hidden")
    project.write("baselines/cheat.py", CHEAT)
    project.run(
        project.preset(datasets=1, experiments={"perfect": experiment("Cheat", ["cheat"])}),
        "--",
        "fits/known/linear-d4-e1-perfect-n200/00/cheat.json",
    )
    (path,) = project.results("fits").rglob("cheat.json")
    (record,) = json.loads(path.read_text(encoding="utf-8"))["records"]
    assert record["status"] == "ok", record["reason"]
    assert record["info"]["found"] is None
    assert record["edges"] == []


@pytest.mark.slow
def test_after_raising_a_limit_exactly_the_failed_fits_run_again(project: Project) -> None:
    counting = """
import time
import numpy as np
from benchmark.dataset import Fit
LABEL, SUPPORTS, SPACE, SELECTION = "Slow", ("perfect",), {"seconds": [0, 4, 0.1]}, {"seconds": 0}
def fit(dataset, *, seed, seconds):
    time.sleep(seconds)
    return Fit(np.zeros((dataset.d, dataset.d), dtype=np.int8), info={"at": time.time()})
"""
    project.write("baselines/slow.py", counting)
    tiny = {"hours": 2 / 3600, "memory_gb": 1}
    wanted = {"perfect": experiment("Slow", ["empty", "slow"])}

    def times() -> dict[str, list[Any]]:
        found = sorted(project.results("fits").rglob("slow.json"))
        records = {path.parent.name: json.loads(path.read_text(encoding="utf-8"))["records"] for path in found}
        return {name: [record.get("info", {}).get("at") for record in of_file] for name, of_file in records.items()}

    project.run(project.preset(limits=tiny, experiments=wanted), "--", "metrics.csv")
    first = times()
    assert all(at[1] is None and at[0] and at[2] for at in first.values())
    empty = {path: path.stat().st_mtime_ns for path in project.results("fits").rglob("empty.json")}

    preset = project.preset(limits=tiny | {"hours": 1}, experiments=wanted)
    project.run(preset, "--", "metrics.csv")
    assert times() == first  # a limit alone runs nothing again
    assert "2 failed fits will run again" in project.python("-m", "benchmark.running.retry", "results/tiny")
    project.run(preset, "--", "metrics.csv")
    second = times()
    assert set(second) == set(first)
    for name, at in second.items():
        assert at[1]
        assert (at[0], at[2]) == (first[name][0], first[name][2])
    assert {path: path.stat().st_mtime_ns for path in empty} == empty
    assert set(pd.read_csv(project.results("costs.csv"))["status"]) == {"ok"}
