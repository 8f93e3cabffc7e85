"""A copy of the project in an empty folder, so that real workflow runs touch nothing of the checkout."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
PARTS = (
    "Snakefile",
    "config.yaml",
    "presets",
    "profiles",
    "workflow",
    "benchmark",
    "baselines",
    "dcdi",
    "envs",
    "resources",
)
TINY: dict[str, Any] = {
    "preset": "tiny",
    "datasets": 2,
    "convention": "released",
    "run": ["perfect"],
    "experiments": {
        "perfect": {
            "data": {"mechanism": "linear", "nodes": 5, "edges_per_node": 1, "n": 300},
            "methods": ["empty", "sortnregress"],
        }
    },
}


@dataclass
class Project:
    """A copy of the project and a way to run its workflow."""

    folder: Path

    def write(self, name: str, content: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    def preset(self, **changes: Any) -> str:
        """Write a preset, the tiny one with changes; return its path."""
        config = TINY | changes
        name = f"presets/{config['preset']}.yaml"
        self.write(name, yaml.safe_dump(config, sort_keys=False))
        return name

    def command(self, preset: str, *arguments: str, cores: int | None = 2) -> list[str]:
        here = [] if cores is None else ["--cores", str(cores)]
        return [sys.executable, "-m", "snakemake", *here, "--configfile", preset, *arguments]

    def environment(self) -> dict[str, str]:
        return {name: value for name, value in os.environ.items() if not name.startswith(("SNAKEMAKE", "PYTHONPATH"))}

    def run(self, preset: str, *arguments: str, cores: int | None = 2, check: bool = True) -> str:
        """Run the workflow; return what it printed. With check, it must succeed; without, it must fail."""
        done = subprocess.run(
            self.command(preset, *arguments, cores=cores),
            cwd=self.folder,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        output = done.stdout + done.stderr
        assert (done.returncode == 0) == check, output
        return output

    def python(self, *arguments: str) -> str:
        """Run Python in the project's folder; return what it printed."""
        command = [sys.executable, *arguments]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment(), capture_output=True, text=True, check=True
        )
        return done.stdout

    def results(self, name: str) -> Path:
        return self.folder / "results" / "tiny" / name

    def files(self) -> set[str]:
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}
