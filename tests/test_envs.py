"""Pinned environments agree with one another, and nothing in the repository points to this machine."""

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmark.methods import available, load_method
from tests.project import ROOT

# Programs that do not share the project's environment: their versions need not agree with its own.
PROGRAMS = ("sdcd",)
ENVS = [path for path in sorted((ROOT / "envs").glob("*.yaml")) if path.stem not in PROGRAMS]
REQUIREMENTS = [
    path
    for path in sorted((ROOT / "envs").glob("requirements*.txt"))
    if path.stem.removeprefix("requirements-") not in PROGRAMS
]
PIN = re.compile(r"[A-Za-z0-9][\w.-]*==\d[\w.]*")
CONDA_NAMES = {"matplotlib-base": "matplotlib", "pytorch": "torch"}
# What conda needs beside the pins: the interpreter, and pip for what has no conda package.
NOT_FROM_PIP = {"python", "pip"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(path: Path) -> dict[str, str]:
    """Return the pins of a requirements file; every line that is no comment is one."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    found: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith("#"):
            assert PIN.fullmatch(line), f"{path.name}: {line!r} is no exact pin"
            name, version = line.split("==")
            assert normal(name) not in found, f"{path.name}: {name} stands twice"
            found[normal(name)] = version
    return found


CONSTRAINTS = pins(ROOT / "envs" / "constraints.txt")
# Installed without dependencies, so it is no part of the constraints.
WITHOUT_DEPENDENCIES = pins(ROOT / "envs" / "requirements-nodeps.txt")
OPTIONAL = pins(ROOT / "envs" / "requirements-r.txt") | pins(ROOT / "envs" / "requirements-slurm.txt")
EVERY_PIN = CONSTRAINTS | WITHOUT_DEPENDENCIES | OPTIONAL


def environment(path: Path) -> tuple[dict[str, str], dict[str, str], dict[str, Any]]:
    """Return the conda pins, the pip pins and the whole of an environment."""
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    conda, pip = {}, {}
    for entry in content["dependencies"]:
        if isinstance(entry, str):
            assert re.fullmatch(r"[a-z0-9][a-z0-9_.-]*=\d[\w.]*", entry), f"{path.name}: {entry!r}"
            name, version = entry.split("=")
            conda[CONDA_NAMES.get(name, name)] = version
        else:
            assert list(entry) == ["pip"]
            for line in entry["pip"]:
                assert PIN.fullmatch(line), f"{path.name}: {line!r}"
                name, version = line.split("==")
                pip[normal(name)] = version
    return conda, pip, content


@pytest.mark.parametrize("path", ENVS, ids=lambda path: path.stem)
def test_a_conda_environment_has_exact_pins_that_agree_with_the_constraints(path: Path) -> None:
    conda, pip, content = environment(path)
    assert set(content) == {"channels", "dependencies"}
    others = ["bioconda"] if path.stem == "r" else []  # the only channel that has r-pcalg
    assert content["channels"] == ["conda-forge", *others, "nodefaults"]
    assert conda["python"] == "3.11"
    for name, version in (conda | pip).items():
        if name not in NOT_FROM_PIP and not name.startswith("r-"):
            assert EVERY_PIN[normal(name)] == version, name
    assert ("pip" in conda) == bool(pip)


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_environments_of_a_program_have_the_same_pins(name: str) -> None:
    conda, pip, _ = environment(ROOT / "envs" / f"{name}.yaml")
    without_conda = pins(ROOT / "envs" / f"requirements-{name}.txt")
    assert {normal(key): value for key, value in (conda | pip).items() if key not in NOT_FROM_PIP} == without_conda
    assert f"env-{name}: .venv-{name}/.done" in (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("path", REQUIREMENTS, ids=lambda path: path.stem)
def test_requirements_are_exact_pins_that_agree_with_the_constraints(path: Path) -> None:
    found = pins(path)
    assert found
    for name, version in found.items():
        assert EVERY_PIN[name] == version, name


def test_constraints_are_sorted_and_pin_more_than_is_asked_for() -> None:
    text = (ROOT / "envs" / "constraints.txt").read_text(encoding="utf-8")
    names = [line.split("==")[0].lower() for line in text.splitlines() if not line.startswith("#")]
    assert names == sorted(names)
    assert len(CONSTRAINTS) > sum(len(pins(path)) for path in REQUIREMENTS)


def test_the_python_of_the_project_is_that_of_the_environments() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["project"]["requires-python"] == ">=3.11,<3.12"
    assert project["tool"]["mypy"]["python_version"] == "3.11"
    assert project["tool"]["ruff"]["target-version"] == "py311"
    assert "sys.version_info[:2] != (3, 11)" in (ROOT / "Makefile").read_text(encoding="utf-8")


def test_snakemake_is_the_version_that_the_workflow_asks_for() -> None:
    asked = re.search(r'min_version\("([\d.]+)"\)', (ROOT / "Snakefile").read_text(encoding="utf-8"))
    assert asked
    assert CONSTRAINTS["snakemake"].startswith(asked[1])


def test_the_environment_of_every_rule_and_method_exists() -> None:
    rules = [*(ROOT / "workflow" / "rules").glob("*.smk"), *(ROOT / "baselines").glob("*.smk")]
    named = {name for path in rules for name in re.findall(r'envs/([\w-]+)\.yaml"', path.read_text(encoding="utf-8"))}
    named |= {load_method(name).environment for name, file in available().items() if file.suffix == ".py"}
    assert named | {"r"} == {path.stem for path in ENVS} | set(
        PROGRAMS
    )  # r: for the engines in R, which a user asks for


def tracked() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("this is no checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


# Written in parts, so that this file does not name them itself.
HOSTS = ["py" + "pi.", "python" + "hosted", "ana" + "conda.", "conda" + ".io", "index" + "-url", "artifact" + "ory"]
FOLDERS = ["t" + "mp", "wo" + "rk", "ro" + "ot", "ho" + "me", "us" + "r", "mn" + "t", "op" + "t"]


def test_no_file_names_a_package_registry_or_a_folder_of_this_machine() -> None:
    # A path such as "resources/paper" or "/path/to/python3.11" is fine, an absolute one from here is not.
    machine = re.compile(rf"(?<![\w.}}*])/({'|'.join(FOLDERS)})(?![\w-])")
    found = []
    for path in tracked():
        content = path.read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8").splitlines(), start=1):
            if number == 1 and line.startswith("#!"):
                continue
            if machine.search(line) or any(host in line.lower() for host in HOSTS):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}")
    assert not found
