"""Real runs of the workflow on tiny presets, in a copy of the project."""

import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest

from benchmark.dataset import Dataset
from benchmark.metrics import shd, sid
from benchmark.plan import Plan
from benchmark.records import read_records, to_graph
from tests.project import ROOT, Project
from tests.samples import configuration

FAILING = """
import numpy as np
from benchmark.dataset import Fit
LABEL = "Failing"
SUPPORTS = ("perfect",)
SPACE = {"x": [1, 2]}
SELECTION = {"x": 1}
def fit(dataset, *, seed, x):
    if x == 1:
        raise RuntimeError("no luck today")
    return Fit(np.zeros((dataset.d, dataset.d)))
"""

SLEEPY = """
import time
import numpy as np
from benchmark.dataset import Fit
LABEL = "Sleepy"
SUPPORTS = ("perfect",)
SPACE = {}
SELECTION = {}
def fit(dataset, *, seed):
    time.sleep(1.5)
    return Fit(np.zeros((dataset.d, dataset.d)))
"""

TELLS_CACHE = """
import os
import numpy as np
from benchmark.dataset import Fit
LABEL = "Tells"
SUPPORTS = ("perfect",)
SPACE = {}
SELECTION = {}
def fit(dataset, *, seed):
    folder = os.environ["NUMBA_CACHE_DIR"]
    open(folder + "/compiled", "w").close()
    return Fit(np.zeros((dataset.d, dataset.d)), info={"folder": folder})
"""


def value(metrics: pd.DataFrame, **where: str) -> float:
    for column, wanted in where.items():
        metrics = metrics[metrics[column] == wanted]
    assert len(metrics) == 1
    return float(metrics["value"].iloc[0])


def test_a_run_from_data_to_report(project: Project) -> None:
    preset = project.preset()
    before = project.files()
    assert re.search(r"Fits: all \d+ ended with a graph\.", project.run(preset))

    made = project.files() - before
    assert all(name.startswith("results/tiny/") for name in made), sorted(made)
    for name in ("report.html", "metrics.csv", "costs.csv", "reproduction.csv", "reproduction.md", "reproduction.tex"):
        assert project.results(name).stat().st_size > 0
    for kind in ("csv", "md", "tex"):
        assert project.results(f"tables/perfect-linear.{kind}").exists()
    for kind in ("pdf", "png"):
        assert project.results(f"figures/perfect-d5.{kind}").exists()

    # The table holds what the library computes.
    metrics = pd.read_csv(project.results("metrics.csv"), dtype={"dataset": str})
    condition = "linear-d5-e1-perfect-n300"
    dataset = Dataset.load(project.results(f"data/{condition}/01.npz"))
    assert dataset.graph is not None
    records, provenance = read_records(project.results(f"fits/known/{condition}/01/sortnregress.json"))
    best = min(records, key=lambda record: record["heldout_nll"] or 0.0)
    graph = to_graph(best["edges"] or [], dataset.names)
    where = {"dataset": "01", "row": "sortnregress", "choice": "selected"}
    assert value(metrics, metric="shd", **where) == shd(dataset.graph, graph)
    assert value(metrics, metric="sid", **where) == sid(dataset.graph, graph)
    assert value(metrics, metric="heldout_nll", **where) == pytest.approx(best["heldout_nll"])
    assert set(provenance) >= {"method", "seed", "python", "packages", "commit"}
    assert (metrics["convention"] == "released").all()

    page = project.results("report.html").read_text(encoding="utf-8")
    assert "Sort-and-regress" in page
    assert "data:image/webp;base64," in page
    assert "http://" not in page
    assert "https://" not in page

    assert "Nothing to be done" in project.run(preset)

    # All edges are in one table; drawings of a simulated data set are made on request.
    assert set(pd.read_csv(project.results("graphs/perfect.csv"), dtype=str)["dataset"]) == {"00", "01"}
    assert not project.results(f"graphs/perfect/{condition}").exists()
    project.run(preset, "--", f"graphs/perfect/{condition}/01")
    drawn = {path.name for path in project.results(f"graphs/perfect/{condition}/01").iterdir()}
    assert {"sortnregress.csv", "sortnregress.graphml", "sortnregress.png", "summary.csv"} <= drawn


def test_a_single_cell_by_its_path(project: Project) -> None:
    cell = "fits/known/linear-d5-e1-perfect-n300/01/empty.json"
    assert "1 of 1 jobs of fits done, all fits are done" in project.run(project.preset(), "--", cell)
    made = set(project.results("fits").rglob("*.json"))
    assert made == {project.results(cell)}


def test_a_single_condition_of_an_experiment(project: Project) -> None:
    data = {"mechanism": "linear", "nodes": 5, "edges_per_node": [1, 2], "n": 300}
    preset = project.preset(experiments={"perfect": {"data": data, "methods": ["empty"]}})
    sparse, dense = (f"linear-d5-e{e}-perfect-n300" for e in (1, 2))
    project.run(preset, "--", f"metrics/perfect/{sparse}.csv")
    assert {path.parent.parent.name for path in project.results("fits").rglob("*.json")} == {sparse}
    project.run(preset, "--", "metrics/perfect.csv")
    alone, whole = (pd.read_csv(project.results(f"metrics/{name}.csv")) for name in (f"perfect/{sparse}", "perfect"))
    assert set(whole["condition"]) == {sparse, dense}
    pd.testing.assert_frame_equal(alone, whole[whole["condition"] == sparse].reset_index(drop=True))


def test_the_readme_method_appears_everywhere(project: Project, readme_files: dict[str, str]) -> None:
    files = readme_files
    assert set(files) == {"baselines/correlation.py", "presets/mine.yaml", "presets/beside.yaml"}
    assert len(files["baselines/correlation.py"].splitlines()) < 40
    for name, content in files.items():
        project.write(name, content)
    project.run("presets/mine.yaml")
    results = project.folder / "results" / "mine"
    table = (results / "tables" / "perfect-linear.md").read_text(encoding="utf-8")
    assert "| Correlation | " in table
    assert "| Correlation (threshold=0.4) | " in table
    assert r"| Correlation\* | " in table
    assert "Correlation" in (results / "tables" / "perfect-linear.tex").read_text(encoding="utf-8")
    assert '<th scope="row">Correlation' in (results / "report.html").read_text(encoding="utf-8")
    assert "correlation" in set(pd.read_csv(results / "metrics.csv")["row"])


def test_a_failed_fit_is_a_row_and_editing_a_method_runs_it_again(project: Project) -> None:
    experiment = {"data": {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "n": 300}}
    preset = project.preset(experiments={"perfect": experiment | {"methods": ["empty", "failing"]}})
    project.write("baselines/failing.py", FAILING)
    told = project.run(preset)
    assert "Fits: 2 of 6 failed (2 error); section 'Failed fits' of results/tiny/report.html says why" in told
    table = project.results("tables/perfect-linear.md").read_text(encoding="utf-8")
    assert "| Failing | – (0/2) | – (0/2) |" in table
    page = project.results("report.html").read_text(encoding="utf-8")
    assert "no luck today" in page

    other = project.results("fits/known/linear-d5-e1-perfect-n300/00/empty.json")
    untouched = other.stat().st_mtime_ns
    project.write("baselines/failing.py", "# a comment alone changes nothing\n" + FAILING)
    assert "Nothing to be done" in project.run(preset)
    project.write("baselines/failing.py", FAILING.replace("x == 1", "x == 3"))
    project.run(preset)
    assert "(0/2)" not in project.results("tables/perfect-linear.md").read_text(encoding="utf-8")
    assert other.stat().st_mtime_ns == untouched


@pytest.mark.parametrize("has_cache", [True, False])
def test_compiled_code_is_shared_where_the_user_has_a_cache(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_cache: bool
) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    if not has_cache:
        (cache / "dcdi").write_text("no folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    project.write("baselines/tells.py", TELLS_CACHE)
    data = {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "n": 300}
    cell = "fits/known/linear-d5-e1-perfect-n300/00/tells.json"
    project.run(project.preset(experiments={"perfect": {"data": data, "methods": ["tells"]}}), "--", cell)
    (record,), _ = read_records(project.results(cell))
    expected = cache / "dcdi" if has_cache else project.results(".cache/compiled")
    assert record["info"]["folder"] == str(expected)
    assert (expected / "compiled").exists()


def test_the_external_program_of_the_docs(project: Project) -> None:
    text = (ROOT / "docs" / "adding-a-method.md").read_text(encoding="utf-8")
    files = dict(re.findall(r"<!-- file: (\S+) -->\n```\w*\n(.*?)```", text, flags=re.DOTALL))
    assert set(files) == {"baselines/my_program.smk", "baselines/my_program/run.py"}
    for name, content in files.items():
        project.write(name, content)
    experiment = {"data": {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "n": 300}}
    failing = {"method": "my-program", "label": "Failing", "hyperparameters": {"threshold": ["no number"]}}
    preset = project.preset(
        methods={"failing-program": failing | {"selection": {}}},
        experiments={"perfect": experiment | {"methods": ["empty", "my-program", "failing-program"]}},
    )
    told = project.run(preset)
    assert "Fits: 2 of 8 failed (2 error)" in told
    metrics = pd.read_csv(project.results("metrics.csv"), dtype={"dataset": str})
    found = value(metrics, row="my-program", dataset="00", metric="edges", choice="selected")
    dataset = Dataset.load(project.results("data/linear-d5-e1-perfect-n300/00.npz"))
    strength = np.abs(np.corrcoef(dataset.X[dataset.setting == 0], rowvar=False))
    assert found == np.triu(strength > 0.2, k=1).sum()
    table = project.results("tables/perfect-linear.md").read_text(encoding="utf-8")
    assert "| My program (threshold=0.4) | " in table
    assert "| Failing | – (0/2) | – (0/2) |" in table
    page = project.results("report.html").read_text(encoding="utf-8")
    assert "the program failed with exit code 1" in page
    assert "<td>external</td>" in page

    project.write(
        "baselines/my_program/run.py", files["baselines/my_program/run.py"].replace("edges = [", "edges = 0 * [")
    )
    project.run(preset)
    metrics = pd.read_csv(project.results("metrics.csv"), dtype={"dataset": str})
    assert value(metrics, row="my-program", dataset="00", metric="edges", choice="selected") == 0


def test_a_bad_file_is_one_error_and_nothing_else_is_lost(project: Project) -> None:
    X = np.random.default_rng(0).normal(size=(60, 3))
    setting = np.repeat([0, 1], 30)
    targets = [[0, 0, 0], [0, 1, 0]]
    Dataset(X, setting, targets).save(project.folder / "good.npz")
    X[7, 2] = np.nan
    np.savez(project.folder / "bad.npz", X=X, setting=setting, targets=targets)
    own = {"title": "Own data", "data": {"files": ["good.npz", "bad.npz"]}, "methods": ["sortnregress"]}
    preset = project.preset(run=["own"], experiments={"own": own})
    assert "Traceback" not in project.run(preset)
    reasons = pd.read_csv(project.results("costs.csv"), keep_default_na=False).groupby("condition")["reason"].first()
    assert "bad.npz: field 'X': 1 values are NaN or infinite, the first in row 7, column 'V2'" in reasons["file-bad"]
    assert reasons["file-good"] == ""
    assert "bad.npz: field &#39;X&#39;" in project.results("report.html").read_text(encoding="utf-8")
    fits = project.results("fits/known/file-good/00/sortnregress.json")
    assert json.loads(fits.read_text(encoding="utf-8"))["records"][0]["status"] == "ok"

    finished = fits.stat().st_mtime_ns
    Dataset(np.nan_to_num(X), setting, targets).save(project.folder / "bad.npz")
    project.run(preset)
    assert fits.stat().st_mtime_ns == finished
    assert "held-out NLL" in project.results("tables/own.md").read_text(encoding="utf-8")


def test_a_bad_configuration_is_one_message_before_any_job(project: Project) -> None:
    experiment = {"data": {"mechanism": "linear", "nodes": 5, "edges_per_node": 1}, "methods": ["emty"]}
    output = project.run(project.preset(experiments={"perfect": experiment}), check=False)
    assert "experiments.perfect.methods: there is no method 'emty'. Did you mean 'empty'?" in output
    assert "Traceback" not in output
    assert not project.results("data").exists()


def test_cores_that_stay_idle_for_lack_of_memory_are_said_before_any_job(project: Project) -> None:
    preset = project.preset(limits={"memory_gb": psutil.virtual_memory().total / 2**30})
    assert "1 fit at a time, not 2" in project.run(preset, "-n")
    assert "at a time" not in project.run(preset, "-n", cores=1)


@pytest.mark.slow
def test_the_whole_paper_is_planned_with_one_fit_per_data_set_and_method(project: Project) -> None:
    output = project.run("config.yaml", "-n", "--quiet", "rules")
    kinds = ("fit ", "simulate ", "published ")
    counts = dict(line.split() for line in output.splitlines() if line.startswith(kinds))
    plan = Plan(configuration())
    cells = {
        (shown.targets_of(row), place.name, index, row.name)
        for shown in plan.experiments.values()
        for place in shown.conditions
        for index in place.indices
        for row in shown.rows
    }
    assert int(counts["fit"]) == len(cells) > 6000
    # The paper's own 240 data sets and their twins; what was never published is simulated.
    assert int(counts["published"]) == 240 + 240
    simulated = [condition for condition in plan.conditions.values() if condition.source == "simulated"]
    assert int(counts["simulate"]) == sum(condition.datasets for condition in simulated)


@pytest.mark.slow
def test_any_number_of_cores_and_any_order_give_the_same_bytes(project: Project) -> None:
    preset = project.preset(datasets=3)
    project.run(preset, cores=1)
    first = project.results("metrics.csv").read_bytes()
    project.results("metrics.csv").parent.rename(project.folder / "first")
    # The other order: the last cell first, then the rest on four cores.
    project.run(preset, "--", "fits/known/linear-d5-e1-perfect-n300/02/sortnregress.json")
    project.run(preset, "--scheduler", "greedy", cores=4)
    assert project.results("metrics.csv").read_bytes() == first
    for name in ("figures/perfect-d5.pdf", "figures/perfect-d5.png", "tables/perfect-linear.tex"):
        assert project.results(name).read_bytes() == (project.folder / "first" / name).read_bytes()


@pytest.mark.slow
def test_threads_of_snakemake_do_not_grow_with_the_jobs(project: Project) -> None:
    project.write("baselines/sleepy.py", SLEEPY)
    experiment = {"data": {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "n": 300}}
    preset = project.preset(datasets=6, experiments={"perfect": experiment | {"methods": ["sleepy"]}})
    running = subprocess.Popen(
        project.command(preset), cwd=project.folder, env=project.environment(), stderr=subprocess.DEVNULL
    )
    threads = [0]
    while running.poll() is None:
        with contextlib.suppress(psutil.Error):
            threads.append(psutil.Process(running.pid).num_threads())
        time.sleep(0.2)
    assert running.returncode == 0
    assert len(list(project.results("fits").rglob("*.json"))) == 6
    assert max(threads) <= 8


@pytest.mark.slow
def test_after_kill_9_nothing_finished_is_done_again(project: Project) -> None:
    project.write("baselines/sleepy.py", SLEEPY)
    experiment = {"data": {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "n": 300}}
    preset = project.preset(datasets=6, experiments={"perfect": experiment | {"methods": ["sleepy"]}})
    fits = project.results("fits")
    running = subprocess.Popen(
        project.command(preset),
        cwd=project.folder,
        env=project.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def completed() -> dict[Path, int]:
        """Fits that Snakemake has taken note of."""
        notes = project.results(".snakemake/metadata")
        named = {path: str(path.relative_to(fits.parent)) for path in fits.rglob("*.json")}
        return {
            path: path.stat().st_mtime_ns
            for path, name in named.items()
            if (notes / base64.urlsafe_b64encode(name.encode()).decode()).exists()
        }

    def under_way() -> list[Path]:
        """Return Snakemake's marks of jobs that have begun and not ended."""
        return [path for path in project.results(".snakemake/incomplete").rglob("*") if path.is_file()]

    deadline = time.monotonic() + 120
    while (len(completed()) < 2 or not under_way()) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()
    time.sleep(0.5)
    assert not [process for process in psutil.process_iter(["cwd"]) if process.info["cwd"] == str(fits.parent)]
    finished = completed()
    assert 2 <= len(finished) < 6
    assert under_way()  # what an interrupted job had written must not be believed

    assert "lock" in project.run(preset, check=False).lower()
    project.run(preset, "--unlock")
    project.run(preset)
    metrics = pd.read_csv(project.results("metrics.csv"))
    assert metrics["dataset"].nunique() == 6
    assert {path: path.stat().st_mtime_ns for path in finished} == finished
    assert not list(fits.rglob(".*"))
