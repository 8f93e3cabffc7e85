"""Where a fit comes from: the source of its method, its data set, its packages, its commit and its processor."""

import ast
import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmark.dataset import Dataset
from benchmark.methods import ROOT, Grid, Method

SOURCES = ("Snakefile", "baselines", "benchmark", "dcdi", "workflow")
# What all methods share: its effect on a fit is the data set, which has a fingerprint of its own.
SHARED = "benchmark"
_DIGITS = 16


def provenance(method: Method, seed: int, shown: Dataset, grid: Grid) -> dict[str, Any]:
    """Return what is needed to run the same fits again, and to see whether they would be the same.

    Parameters
    ----------
    method, seed, grid
        As they will be run.
    shown
        The data set as the method sees it (:meth:`benchmark.dataset.Dataset.blind`).
    """
    packages = {name: _version(name) for name in ("numpy", *method.packages)}
    r_engines = sorted({str(combination.get("engine")) for combination in grid} & set(method.r_engines))
    if r_engines:
        packages |= _r_versions(tuple(r_engines))
    return {
        "method": method.name,
        "seed": seed,
        "source": source_fingerprint(method.file),
        "data": data_fingerprint(shown),
        "commit": commit(),
        "python": platform.python_version(),
        "packages": packages,
        "machine": platform.machine(),
        "cpu": cpu_model(),
    }


def source_fingerprint(file: Path) -> str:
    """Return a hash of what a method does: of its file, and of all that this imports of the project.

    Comments, formatting and docstrings do not count; files in other languages do, with all they say. Nor does
    ``benchmark/`` count, which is the same for all methods.
    """
    parts = sorted(_meaning(path) for path in source_files(file))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:_DIGITS]


def fingerprint(*paths: Path) -> str:
    """Return a hash of what files, or the Python files of folders, say; their imports are not followed."""
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return hashlib.sha256("\n".join(map(_meaning, files)).encode()).hexdigest()[:_DIGITS]


def source_files(file: Path) -> set[Path]:
    """Return the files of a method: its own, what they import from the project, and the other files they name.

    A method with a folder of its own has all that lies there and is not Python, too, but for ``.md`` files.
    """
    found: set[Path] = set()
    waiting = [file]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        found.add(path)
        if path.suffix == ".py":
            module = _read(path.read_bytes())
            waiting += [*_packages(path), *_imported(module, path)]
            found |= {file for file in path.parent.iterdir() if file.name in module.texts and file.is_file()}
    if file.suffix == ".smk":  # an external program lies in a folder of the same name
        found |= {path for path in file.with_suffix("").rglob("*") if path.is_file() and path.suffix != ".pyc"}
    if file.name == "__init__.py":
        others = (path for path in file.parent.rglob("*") if path.suffix not in (".py", ".pyc", ".md"))
        found |= {path for path in others if path.is_file() and not path.name.startswith(".")}
    return found


def data_fingerprint(shown: Dataset) -> str:
    """Return a hash of all that a method sees of a data set; how it is stored does not count."""
    digest = hashlib.sha256()
    fields = {
        "X": (shown.X, "<f8"),
        "setting": (shown.setting, "<i8"),
        "targets": (shown.targets, "<i1"),
        "heldout": (shown.heldout, "<i1"),
    }
    for name, (values, kind) in fields.items():
        digest.update(f"{name} {None if values is None else values.shape}\n".encode())
        if values is not None:
            digest.update(np.ascontiguousarray(values, dtype=kind).tobytes())
    digest.update(json.dumps([shown.names, shown.parameters], sort_keys=True).encode())
    return digest.hexdigest()[:_DIGITS]


def commit() -> str | None:
    """Return the project's commit, with "+" where sources have changed since or are new, or None outside a checkout."""
    described = _git("describe", "--always", "--abbrev=12", "--match=")
    changed = _git("status", "--porcelain", "--untracked-files=all", "--", *SOURCES)
    return None if described is None or changed is None else described + ("+" if changed else "")


@cache
def cpu_model() -> str:
    """Return the processor's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


class _Module(NamedTuple):
    """What counts of a Python file."""

    meaning: str
    imports: tuple[tuple[int, str], ...]  # the number of dots before the name, and the name
    texts: frozenset[str]


@cache
def _read(source: bytes) -> _Module:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return _Module(hashlib.sha256(source).hexdigest(), (), frozenset())  # what it means, nobody can say
    imports: list[tuple[int, str]] = []
    texts: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_text(statement)]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
        elif isinstance(node, ast.Import):
            imports += [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            names = [module, *(f"{module}.{alias.name}".lstrip(".") for alias in node.names)]
            imports += [(node.level, name) for name in names if name]
    # A module may be imported by its name, as text: importlib.import_module("dcdi.torch_engine").
    imports += [(0, text) for text in sorted(texts) if re.fullmatch(r"[a-z_]\w*(\.\w+)+", text)]
    meaning = hashlib.sha256(ast.dump(tree).encode()).hexdigest()
    return _Module(meaning, tuple(imports), frozenset(texts))


def _meaning(path: Path) -> str:
    content = path.read_bytes()
    return _read(content).meaning if path.suffix == ".py" else hashlib.sha256(content).hexdigest()


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _packages(path: Path) -> list[Path]:
    """Return the ``__init__.py`` files that Python runs before a module."""
    folders = (folder for folder in path.parents if folder != ROOT and folder.is_relative_to(ROOT))
    return [init for folder in folders if (init := folder / "__init__.py").exists()]


def _imported(module: _Module, path: Path) -> list[Path]:
    files = []
    for dots, name in module.imports:
        start = path.parents[dots - 1] if dots else ROOT
        place = start.joinpath(*name.split("."))
        if not place.is_relative_to(ROOT / SHARED):
            files += [file for file in (place.with_suffix(".py"), place / "__init__.py") if file.is_file()]
    return files


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@cache
def _r_versions(packages: tuple[str, ...]) -> dict[str, str]:
    """Return the versions of R and of R packages, or nothing where there is no R."""
    say = 'cat("R", paste(R.version$major, R.version$minor, sep = "."), "\\n")'
    for name in packages:
        say += f'; if (requireNamespace("{name}", quietly = TRUE)) '
        say += f'cat("{name}", format(packageVersion("{name}")), "\\n")'
    try:
        done = subprocess.run(["Rscript", "--vanilla", "-e", say], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return {}
    return dict(line.split()[:2] for line in done.stdout.splitlines() if len(line.split()) >= 2)


def _git(*arguments: str) -> str | None:
    environment = os.environ | {"GIT_OPTIONAL_LOCKS": "0"}
    try:
        done = subprocess.run(
            ["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, check=True, env=environment
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()
