"""Fixtures: a copy of the project, and the files that the README shows."""

import re
import shutil
from pathlib import Path

import pytest

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
def readme_files() -> dict[str, str]:
    """Return the files that the README shows, by their path."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return dict(re.findall(r"<!-- file: (\S+) -->\n```\w+\n(.*?)```", text, flags=re.DOTALL))
