"""Kill a run at random moments, in every way; what comes out at last is what an undisturbed run makes.

BENCHMARK_KILLS=30 gives the number of kills at least; each way once or more where it is not set.
"""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import psutil
import pytest

from tests.project import Project

KILLS = int(os.environ.get("BENCHMARK_KILLS", "8"))
# A run goes on after the first two, and ends with the third.
WAYS = (("fit", "runner", "group"), ("runner", "fit", "snakemake"), ("fit", "runner", "terminate"))
SLOW = """
import time
import numpy as np
from benchmark.dataset import Fit
LABEL, SUPPORTS, SPACE, SELECTION = "Slow", ("perfect",), {"part": list(range(1, 11))}, {"part": 2}
def fit(dataset, *, seed, part):
    time.sleep(0.4)
    return Fit(np.triu(np.ones((dataset.d, dataset.d), dtype=np.int8), k=part))
"""
SIGNAL = """
from snakemake.scheduling.job_scheduler import JobScheduler
finish_jobs = JobScheduler._finish_jobs
def finish_with_a_signal(scheduler):
    assert scheduler._lock.locked()
    if scheduler.running and not scheduler._user_kill:
        os.kill(os.getpid(), signal.SIGTERM)
    finish_jobs(scheduler)
JobScheduler._finish_jobs = finish_with_a_signal
"""
EXPERIMENT = {"data": {"mechanism": "linear", "nodes": 4, "edges_per_node": 1, "n": 200}, "methods": ["slow"]}


def slow_preset(project: Project) -> str:
    project.write("baselines/slow.py", SLOW)
    return project.preset(datasets=2, experiments={"perfect": EXPERIMENT})


def processes_of(folder: Path) -> list[psutil.Process]:
    """Return the processes that work in a folder."""
    found = []
    for process in psutil.process_iter(["cwd", "cmdline", "status"]):
        places = [process.info["cwd"] or "", *(process.info["cmdline"] or [])]
        if any(str(folder) in place for place in places) and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def working(project: Project, mark: str) -> list[psutil.Process]:
    """Return the processes of a project whose command has a mark."""
    found = []
    for process in processes_of(project.folder):
        with contextlib.suppress(psutil.Error):
            if any(mark in part for part in process.cmdline()):
                found.append(process)
    return found


def is_fitting(project: Project) -> bool:
    """Whether fits are under way, and being written."""
    return bool(working(project, "benchmark.running.worker")) and any(project.results("fits").rglob("*.partial.jsonl"))


def kill(way: str, running: subprocess.Popen[bytes], project: Project) -> bool:
    """Kill in one way; return whether there was anyone to kill."""
    if way == "group":
        os.killpg(running.pid, signal.SIGKILL)
    elif way == "snakemake":
        running.kill()
    elif way == "terminate":
        running.terminate()
    else:
        victims = working(project, {"runner": "fit.py", "fit": "benchmark.running.worker"}[way])
        if not victims:
            return False
        with contextlib.suppress(psutil.NoSuchProcess):
            random.choice(victims).kill()
    return True


def go_on(project: Project, preset: str) -> None:
    """Finish a run with the documented commands, and no other step."""
    if any(project.results(".snakemake/locks").glob("*")):
        project.run(preset, "--unlock")
    project.run(preset, "--", "metrics.csv")
    if ": 0 failed fits" not in project.python("-m", "benchmark.running.retry", "results/tiny"):
        project.run(preset, "--", "metrics.csv")


@pytest.mark.slow
def test_a_sigterm_while_snakemake_holds_its_lock_ends_it(project: Project) -> None:
    snakefile = (project.folder / "Snakefile").read_text(encoding="utf-8")
    project.write("Snakefile", snakefile + SIGNAL)
    command = project.command(slow_preset(project), "--", "metrics.csv")
    folder, environment = project.folder, project.environment()
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300, check=False
    )
    assert "Will exit after finishing currently running jobs" in done.stderr
    assert done.returncode != 0


@pytest.mark.slow
def test_after_any_kills_the_metrics_are_the_same(project: Project) -> None:
    preset = slow_preset(project)
    project.run(preset, "--", "metrics.csv")
    undisturbed = project.results("metrics.csv").read_bytes()
    shutil.rmtree(project.results(""))
    kills = while_fitting = number = 0
    while kills < KILLS:
        running = subprocess.Popen(
            project.command(preset, "--", "metrics.csv"),
            cwd=project.folder,
            env=project.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            for way in WAYS[number % len(WAYS)]:
                deadline = time.monotonic() + 120
                while not is_fitting(project) and running.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.1)
                time.sleep(random.uniform(0, 1.5))
                during_a_fit = is_fitting(project)
                if running.poll() is None and kill(way, running, project):
                    kills += 1
                    while_fitting += during_a_fit
            running.wait(300)
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
        number += 1
        print(f"{kills} kills, {while_fitting} of them while fits were being written", flush=True)
        deadline = time.monotonic() + 5
        while processes_of(project.folder) and time.monotonic() < deadline:
            time.sleep(0.1)
        left = processes_of(project.folder)
        assert not left, (way, [one.cmdline() for one in left])
        if project.results("metrics.csv").exists() or kills >= KILLS:
            go_on(project, preset)
            assert project.results("metrics.csv").read_bytes() == undisturbed, way
            assert not list(project.results("fits").rglob("*.partial.jsonl"))
            shutil.rmtree(project.results(""))
        elif any(project.results(".snakemake/locks").glob("*")):
            project.run(preset, "--unlock")
    assert while_fitting >= KILLS // 3


@pytest.mark.slow
def test_a_full_disk_costs_nothing_that_was_finished(project: Project) -> None:
    if os.geteuid() != 0:
        pytest.skip("to mount a small disk needs root")
    preset = slow_preset(project)
    project.run(preset, "--", "metrics.csv")
    undisturbed = project.results("metrics.csv").read_bytes()
    shutil.rmtree(project.results(""))
    disk = project.folder / "results"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", disk], capture_output=True, check=False)
    if mounted.returncode != 0:
        pytest.skip("this system does not let a test mount a small disk")
    try:
        filler = disk / "filler"
        filler.write_bytes(b"x" * (3 * 2**20 - 100_000))
        project.run(preset, "--", "metrics.csv", check=False)
        finished = {path: path.stat().st_mtime_ns for path in project.results("fits").rglob("*.json")}
        filler.unlink()
        go_on(project, preset)
        assert project.results("metrics.csv").read_bytes() == undisturbed
        assert all(path.stat().st_mtime_ns == changed for path, changed in finished.items() if path.stat().st_size)
    finally:
        subprocess.run(["umount", disk], check=True)
