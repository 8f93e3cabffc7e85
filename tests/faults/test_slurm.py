"""The cluster's profiles, run on a real SLURM of one node."""

import importlib.util
import json
import shutil
import threading
import time
from math import ceil
from typing import Any

import pytest
import yaml

from tests.faults import slurm
from tests.faults.expected import FOLDER
from tests.project import ROOT, Project

CHEAP = ["empty", "sortnregress", "gies"]
SLOW_SECONDS, SECONDS, START_MINUTES = 3, 60, 2
MEMORY_MB, RUNNER_MB = 512, 1000
# So that a test does not wait for the times that suit a real site.
HURRY = ["--latency-wait", "20", "--slurm-init-seconds-before-status-checks", "2"]


def quick_preset(project: Project) -> str:
    """Write the cheap rows of the quick preset, and two that exceed their limits."""
    shutil.copy(FOLDER / "zoo.py", project.folder / "baselines" / "zoo.py")
    quick = yaml.safe_load((ROOT / "presets" / "quick.yaml").read_text(encoding="utf-8"))
    methods = {row: quick["methods"].get(row, {}) | limited(SECONDS) for row in CHEAP}
    for row, animal, seconds in (("slow", "sleeps", SLOW_SECONDS), ("large", "eats_memory", SECONDS)):
        alone = {"hyperparameters": {"animal": [animal]}, "selection": {"animal": animal}}
        methods[row] = {"method": "zoo"} | alone | limited(seconds)
    data = quick["experiments"]["perfect"]["data"] | {"edges_per_node": 1}
    perfect = {"data": data, "methods": list(methods)}
    limits = {"hours": 1, "memory_gb": MEMORY_MB / 1024, "start_minutes": START_MINUTES}
    return project.preset(datasets=1, limits=limits, methods=methods, experiments={"perfect": perfect})


def limited(seconds: float) -> dict[str, dict[str, float]]:
    return {"limits": {"hours": seconds / 3600}}


def records_of(project: Project) -> dict[str, list[dict[str, Any]]]:
    files = project.results("fits").rglob("*.json")
    return {path.stem: json.loads(path.read_text(encoding="utf-8"))["records"] for path in files}


def failures(project: Project) -> dict[str, list[tuple[str, str]]]:
    """Return status and kind of reason of all that failed, by row."""
    return {
        row: [(one["status"], one["reason"].split("; ")[-1]) for one in of_row if one["status"] != "ok"]
        for row, of_row in records_of(project).items()
    }


def minutes_of_all_cells(project: Project) -> int:
    """Return what cells that run in turn can take: each its start, its fits, and a little for the runner."""
    seconds = {row: SLOW_SECONDS if row == "slow" else SECONDS for row in records_of(project)}
    return sum(START_MINUTES + ceil(len(of_row) * seconds[row] / 60) + 5 for row, of_row in records_of(project).items())


def skip_without_slurm(*, accounting: bool = False) -> None:
    if reason := slurm.why_not(accounting=accounting):
        pytest.skip(reason)
    if importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip("Snakemake's plugin for SLURM is not installed: make env-slurm")


def lose_the_node_in_the_first_fits() -> None:
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        if any(job.rule == "short_fit" and job.state == "RUNNING" for job in slurm.jobs()):
            slurm.lose_the_node()
            return
        time.sleep(0.5)


@pytest.mark.parametrize("name", ["slurm", "slurm-accounting"])
def test_profiles_differ_in_accounting_alone(name: str) -> None:
    profile = yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))
    assert profile["executor"] == "slurm"
    assert profile["retries"] >= 1
    other = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text(encoding="utf-8"))
    accounting = {"slurm-no-account", "slurm-status-command"}
    assert {key: value for key, value in profile.items() if key not in accounting} == {
        key: value for key, value in other.items() if key not in accounting
    }


@pytest.mark.slow
def test_a_cluster_gives_the_same_metrics_and_the_same_failures(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    skip_without_slurm()
    preset = quick_preset(project)
    project.run(preset, "--", "metrics.csv")
    local, failed_locally = project.results("metrics.csv").read_bytes(), failures(project)
    assert {status for of_row in failed_locally.values() for status, _ in of_row} == {"timeout", "memory"}
    shutil.rmtree(project.results(""))

    with slurm.running(tmp_path_factory.mktemp("slurm")):
        losing = threading.Thread(target=lose_the_node_in_the_first_fits)
        losing.start()
        output = project.run(preset, "--profile", "profiles/slurm", *HURRY, "--", "metrics.csv", cores=None)
        losing.join()
        jobs = slurm.jobs()

    assert project.results("metrics.csv").read_bytes() == local
    assert failures(project) == failed_locally
    # All cells share a job, and it is tried again, with more of everything, for the node's failure alone.
    assert [(job.rule, job.state) for job in jobs] == [
        ("data_simulate", "COMPLETED"),
        ("short_fit", "NODE_FAIL"),
        ("short_fit", "COMPLETED"),
        ("evaluate", "COMPLETED"),
    ], output
    lost, again = (job for job in jobs if job.rule == "short_fit")
    minutes = minutes_of_all_cells(project)
    assert (lost.cores, lost.minutes, lost.memory_mb) == (1, minutes, MEMORY_MB + RUNNER_MB)
    assert (again.cores, again.minutes, again.memory_mb) == (1, 2 * minutes, MEMORY_MB + 2 * RUNNER_MB)


@pytest.mark.slow
def test_a_cluster_with_accounting(project: Project, tmp_path_factory: pytest.TempPathFactory) -> None:
    skip_without_slurm(accounting=True)
    preset = quick_preset(project)
    fit = "fits/known/nn-d10-e1-perfect/00/empty.json"
    with slurm.running(tmp_path_factory.mktemp("slurm"), accounting=True):
        project.run(preset, "--profile", "profiles/slurm-accounting", *HURRY, "--", fit, cores=None)
        jobs, accounted = slurm.jobs(), slurm.accounted()
    assert accounted == ["root|COMPLETED"] * 2
    assert [(job.rule, job.state) for job in jobs] == [("data_simulate", "COMPLETED"), ("short_fit", "COMPLETED")]
    assert failures(project) == {"empty": []}
