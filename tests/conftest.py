"""Fixtures: a copy of the project, the files that the README shows, and methods without a file."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark import plan
from benchmark.methods import Method, load_method
from tests.project import PARTS, ROOT, Project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for part in PARTS:
        source = ROOT / part
        if source.is_dir():
            shutil.copytree(source, tmp_path / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / part)
    return Project(tmp_path)


@pytest.fixture(scope="session")
def namespaces() -> bool:
    """Whether this system lets a process have views of its own of processes and folders."""
    user = [] if os.geteuid() == 0 else ["--map-current-user"]
    command = ["unshare", *user, "--mount", "--pid", "--fork", "--mount-proc", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.fixture(scope="session")
def readme_files() -> dict[str, str]:
    """Return the files that the README shows, by their path."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, flags=re.DOTALL))


@pytest.fixture
def add_method(monkeypatch: pytest.MonkeyPatch) -> Callable[[Method], None]:
    """Return a function that lets configurations name a method that has no file."""
    added: dict[str, Method] = {}

    def load(name: str) -> Method:
        return added[name] if name in added else load_method(name)

    def add(new: Method) -> None:
        added[new.name] = new

    monkeypatch.setattr(plan, "load_method", load)
    return add
