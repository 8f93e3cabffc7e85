"""Installing, citing and contributing: what the files of the project say is so."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest
import yaml

from tests.project import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def run(command: list[str], folder: Path, **environment: str) -> str:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=clean | environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.slow
def test_the_wheel_works_in_another_folder(tmp_path: Path) -> None:
    source = tmp_path / "source"
    for part in ("benchmark", "baselines", "dcdi"):
        shutil.copytree(ROOT / part, source / part, ignore=shutil.ignore_patterns("__pycache__"))
    for part in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / part, source / part)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    build = ["wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", "--wheel-dir"]
    run([*pip, *build, str(tmp_path), str(source)], tmp_path)
    (wheel,) = tmp_path.glob("*.whl")
    site, elsewhere = tmp_path / "site", tmp_path / "elsewhere"
    run([*pip, "install", "--quiet", "--no-index", "--no-deps", "--target", str(site), str(wheel)], tmp_path)
    installed = {
        path.relative_to(site) for part in ("benchmark", "baselines", "dcdi") for path in site.glob(f"{part}/**/*")
    }
    files = {
        path.relative_to(ROOT) for part in ("benchmark", "baselines", "dcdi") for path in (ROOT / part).glob("**/*")
    }
    wanted = {path for path in files if path.suffix in (".py", ".R", ".smk")}
    assert wanted <= installed

    elsewhere.mkdir()
    code = "import benchmark.methods as m; print(m.ROOT); print(*sorted(m.available())); m.load_method('dcdi-g')"
    place, methods = run([sys.executable, "-c", code], elsewhere, PYTHONPATH=str(site)).splitlines()
    assert place == str(site)
    assert {"cam", "dcdi-g", "gies", "igsp", "jci-pc"} <= set(methods.split())
    table = pd.DataFrame({"a": range(40), "b": [value % 7 for value in range(40)]})
    table.to_csv(elsewhere / "table.csv", index=False)
    fit = [sys.executable, "-m", "benchmark.fit", "table.csv", "--method", "gies", "--set", "penalty=2"]
    assert "GIES (penalty=2): " in run(fit, elsewhere, PYTHONPATH=str(site))
    assert (elsewhere / "table-graphs" / "gies.png").exists()


def test_every_package_that_is_imported_is_a_dependency() -> None:
    """The modules of the wheel import nothing that pip would not bring, but for what is optional."""
    asked = {re.split(r"[><=]", name)[0] for name in PROJECT["project"]["dependencies"]}
    names = {"scikit-learn": "sklearn", "pyyaml": "yaml"}
    known = {names.get(name, name) for name in asked} | {"benchmark", "baselines", "dcdi", *sys.stdlib_module_names}
    optional = {"rpy2", "cdt", "conditional_independence", "graphical_model_learning", "graphical_models", "causaldag"}
    optional |= {"llvmlite", "PIL"}  # come with numba and matplotlib
    programs = [ROOT / "baselines" / "sdcd" / "run.py"]  # run in environments of their own
    for part in ("benchmark", "baselines", "dcdi"):
        for path in sorted({*(ROOT / part).rglob("*.py")} - set(programs)):
            tree = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
            found = [name.name for node in tree if isinstance(node, ast.Import) for name in node.names]
            found += [str(node.module) for node in tree if isinstance(node, ast.ImportFrom) and not node.level]
            assert {name.split(".")[0] for name in found} <= known | optional, path


def test_the_dependencies_are_those_of_the_environment() -> None:
    pins = dict(
        line.split("==") for line in (ROOT / "envs" / "requirements.txt").read_text().splitlines() if "==" in line
    )
    for dependency in PROJECT["project"]["dependencies"]:
        name, least = dependency.split(">=")
        assert pins[name].startswith(f"{least}."), dependency


def test_the_version_is_the_same_everywhere() -> None:
    version = PROJECT["project"]["version"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version
    assert citation["license"] == PROJECT["project"]["license"] == "MIT"
    assert f"## {version}\n" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert (
        (ROOT / "LICENSE")
        .read_text(encoding="utf-8")
        .startswith("MIT License\n\nCopyright (c) 2026 the contributors\n")
    )


def test_the_image_and_the_workflow_of_github_do_what_the_project_does() -> None:
    targets = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    image = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    assert set(re.findall(r"^RUN make ([\w-]+)", image, flags=re.MULTILINE)) == {"env"} <= targets
    for source in re.findall(r"^COPY (\S+)", image, flags=re.MULTILINE):
        assert (ROOT / source).exists()
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    steps = [step.get("run") for job in jobs.values() for step in job["steps"]]
    assert steps[-1] == ".ci/run"
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_catalogue_of_workflows_is_told_what_it_asks_for() -> None:
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))["usage"]
    assert usage == {"software-stack-deployment": {"conda": True}, "report": False}
