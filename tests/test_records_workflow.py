"""Records in real runs: a new method beside recorded ones costs its own fits alone; a damaged store stops a run."""

import lzma
import subprocess
import sys

import pandas as pd
import pytest

from tests.project import TINY, Project


def pack(project: Project, preset: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "benchmark.recorded.pack", preset],
        cwd=project.folder,
        env=project.environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.slow
def test_a_new_method_beside_recorded_ones(project: Project) -> None:
    project.run(project.preset(), "--", "metrics.csv")
    assert "4 added" in pack(project, "tiny")
    assert "4 unchanged" in pack(project, "tiny")

    methods = {"methods": ["empty", "sortnregress", "random"]}
    experiments = {"perfect": TINY["experiments"]["perfect"] | methods}
    preset = project.preset(preset="beside", records="reuse", experiments=experiments)
    output = project.run(preset, "--", "metrics.csv")
    assert "Cells: 4 recorded, 0 done, 2 to be fitted (2 fits" in output
    results = project.folder / "results" / "beside"
    assert sorted(path.stem for path in results.glob("fits/**/*.json")) == ["random", "random"]
    fitted = pd.read_csv(project.results("metrics.csv"), dtype=str, keep_default_na=False)
    reused = pd.read_csv(results / "metrics.csv", dtype=str, keep_default_na=False)
    both = reused[reused["row"] != "random"].reset_index(drop=True)
    assert set(both["recorded"]) != {""}
    pd.testing.assert_frame_equal(fitted.drop(columns="recorded"), both.drop(columns="recorded"))

    # Another number in a shard, as good JSON: the run stops and names file and line.
    (shard,) = (project.folder / "records").glob("known/*/sortnregress-*.jsonl.xz")
    text = lzma.decompress(shard.read_bytes()).decode()
    shard.write_bytes(lzma.compress(text.replace('"shd":', '"shd":1', 1).encode()))
    refused = project.run(preset, "--forceall", "--", "metrics.csv", check=False)
    assert f"{shard}, line 1: it has changed since it was packed" in " ".join(refused.split())
    assert "Traceback" not in refused
