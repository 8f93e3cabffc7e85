"""The cluster's profile, run on a real SLURM of one node."""

import importlib.util
import json
import shutil
from pathlib import Path

import pytest
import yaml

from tests.faults.expected import FOLDER
from tests.faults.slurm import running, why_not
from tests.project import ROOT, Project

ROWS = ["empty", "random", "sortnregress"]


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
    reason = why_not()
    if reason or importlib.util.find_spec("snakemake_executor_plugin_slurm") is None:
        pytest.skip(reason or "Snakemake's plugin for SLURM is not installed: make env-slurm")
    shutil.copy(FOLDER / "zoo.py", project.folder / "baselines" / "zoo.py")
    slow = {"method": "zoo", "hyperparameters": {"animal": ["sleeps"]}, "selection": {"animal": "sleeps"}}
    large = {"method": "zoo", "hyperparameters": {"animal": ["eats_memory"]}, "selection": {"animal": "eats_memory"}}
    preset = project.preset(
        datasets=1,
        limits={"hours": 15 / 3600, "memory_gb": 0.5, "start_minutes": 5},
        methods={"slow": slow, "large": large},
        experiments={
            "perfect": {
                "data": {"mechanism": "linear", "nodes": 4, "edges_per_node": 1, "n": 200},
                "methods": [*ROWS, "slow", "large"],
            }
        },
    )

    def outcomes() -> dict[str, list[tuple[str, str]]]:
        files = project.results("fits").rglob("*.json")
        records = {path.stem: json.loads(path.read_text(encoding="utf-8"))["records"] for path in files}
        return {name: [(one["status"], one["reason"].split()[0:2][-1]) for one in of if one["status"] != "ok"]
                for name, of in records.items()}  # fmt: skip

    project.run(preset, "--", "metrics.csv")
    local, failed_locally = project.results("metrics.csv").read_bytes(), outcomes()
    shutil.rmtree(project.results(""))
    with running(tmp_path_factory.mktemp("slurm")):
        profile = ["--profile", str(Path("profiles", "slurm")), "--latency-wait", "20", "--jobs", "8"]
        project.run(preset, *profile, "--slurm-init-seconds-before-status-checks", "3", "--", "metrics.csv", cores=None)
    assert project.results("metrics.csv").read_bytes() == local
    assert outcomes() == failed_locally
    assert {status for of in failed_locally.values() for status, _ in of} == {"timeout", "memory"}
