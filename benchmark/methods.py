"""Methods are found by themselves: one Python file each in ``baselines/`` or ``dcdi/methods/``.

The file's name is the method's name with ``_`` for ``-``; names that begin with ``_`` are helpers. A method with parts
is a folder of that name, whose ``__init__.py`` is its file. The file defines

``LABEL``
    The name that tables and figures show (the paper's, where it is one of the paper's methods).
``SUPPORTS``
    The settings it can be run in, out of :data:`SETTINGS`.
``SPACE``
    Hyperparameter -> list of values; the grid is their product. A function ``space(rng)`` returning a list of
    combinations may stand in its place, for random searches.
``SELECTION``
    ``"heldout"`` to choose the combination with the lowest held-out negative log-likelihood, or a dict of fixed
    values such as ``{"alpha": 1e-3}`` where the method has no score.
``fit(dataset, *, seed, **hyperparameters) -> Fit``
    The method. Heavy packages are imported inside, so that a config can be checked without them.

and, where it helps,

``sweep(dataset, *, seed, grid) -> iterable of Fit``
    The whole grid in its order, sharing work; what it returns equals a loop of ``fit``. A combination that failed may
    be an exception instead of a Fit.
``check(**combination)``
    Raises a ValueError for hyperparameters that do not fit together; asked for each combination before any job starts.
``warm_up()``
    Imports and compilations that should not count as time of the first fit.
``DATA = "twin"``
    Run on the purely observational twin of each data set.
``ENVIRONMENT``
    The conda environment ``envs/<name>.yaml`` of its jobs; ``benchmark`` where not given.
``R_ENGINES``
    The values of its hyperparameter ``engine`` that are R packages: rows that name one run in ``envs/r.yaml``.
``IS_CONTROL = True``
    It learns nothing of causality and shows what that achieves.
``PACKAGES``
    The packages whose versions its records name.
"""

import ast
import difflib
import functools
import importlib
import importlib.util
import inspect
import itertools
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from benchmark.dataset import Dataset, Fit

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("baselines", "dcdi/methods")
SETTINGS = ("observational", "perfect", "imperfect", "unknown", "imperfect-unknown")

Grid = list[dict[str, Any]]


class MethodError(ValueError):
    """A method that does not exist or whose file is not as it should be."""


@dataclass(frozen=True)
class Method:
    """A method as its file describes it."""

    name: str
    label: str
    file: Path
    supports: frozenset[str]
    selection: Literal["heldout"] | dict[str, Any]
    fit: Callable[..., Fit] | None
    sweep: Callable[..., Iterable[Fit | Exception]] | None = None
    check: Callable[..., object] | None = None
    warm_up: Callable[[], object] = field(default=lambda: None)
    space: Callable[[np.random.Generator], Grid] = field(default=lambda rng: list[dict[str, Any]]([{}]))
    is_control: bool = False
    data: Literal["own", "twin"] = "own"
    environment: str = "benchmark"
    r_engines: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    problem: str = ""

    def grid(self, seed: int, overrides: dict[str, Any] | None = None) -> Grid:
        """Return the combinations of hyperparameters; ``seed`` serves random searches.

        Values in ``overrides`` take the place of the method's own.
        """
        own = self.space(np.random.default_rng(seed))
        kept: Grid = []
        for combination in own:
            rest = {name: value for name, value in combination.items() if name not in (overrides or {})}
            if rest not in kept:
                kept.append(rest)
        return [rest | chosen for rest in kept for chosen in product(overrides or {})]

    def hyperparameters(self) -> set[str]:
        """Names that ``fit`` takes beside the data set and the seed, or those in the space of an external program."""
        if self.fit is None:
            return {name for combination in self.space(np.random.default_rng(0)) for name in combination}
        base = inspect.unwrap(self.fit)
        fixed = base.keywords if isinstance(base, functools.partial) else {}
        parameters = inspect.signature(self.fit).parameters.values()
        return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY} - {"seed", *fixed}

    def choices(self) -> dict[str, tuple[Any, ...]]:
        """Return the values that options may have, such as ``engine``: those that ``fit`` annotates as a Literal.

        >>> load_method("gies").choices()["engine"]
        ('python', 'pcalg')
        """
        if self.fit is None:
            return {}
        base = inspect.unwrap(self.fit)
        try:
            hints = get_type_hints(base.func if isinstance(base, functools.partial) else base)
        except (NameError, TypeError):  # annotations that nothing resolves are no promise
            return {}
        return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}


def available() -> dict[str, Path]:
    """Return the file of every method: ``.py``, ``__init__.py`` of a folder, or ``.smk`` for an external program."""
    found = {}
    for path in (path for folder in FOLDERS for path in sorted((ROOT / folder).iterdir())):
        file = path / "__init__.py" if path.is_dir() else path
        if file.suffix in (".py", ".smk") and file.exists() and not path.stem.startswith("_") and path.stem != "bench":
            found[path.stem.replace("_", "-")] = file
    return found


def load_method(name: str) -> Method:
    """Return a method by its name.

    >>> load_method("empty").label
    'Empty graph'
    """
    files = available()
    if name not in files:
        close = difflib.get_close_matches(name, files, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        raise MethodError(f"there is no method {name!r}.{hint} There are: {', '.join(sorted(files))}")
    return load_method_file(name, files[name])


def load_method_file(name: str, file: Path) -> Method:
    """Return the method that a file describes, also one outside the project."""
    if file.suffix == ".smk":
        return _external(name, file)
    module = _import(file)
    _check_module(module, file)
    return Method(
        name=name,
        label=module.LABEL,
        file=file,
        supports=frozenset(module.SUPPORTS),
        selection=module.SELECTION,
        fit=_named(module.fit),
        sweep=getattr(module, "sweep", None),
        check=getattr(module, "check", None),
        warm_up=getattr(module, "warm_up", lambda: None),
        space=module.space if hasattr(module, "space") else lambda rng: product(module.SPACE),
        is_control=getattr(module, "IS_CONTROL", False),
        data=getattr(module, "DATA", "own"),
        environment=getattr(module, "ENVIRONMENT", "benchmark"),
        r_engines=tuple(getattr(module, "R_ENGINES", ())),
        packages=tuple(getattr(module, "PACKAGES", ())),
    )


def broken_method(name: str, file: Path, problem: str) -> Method:
    """Return a method that cannot be used: it has one combination, whose fits fail with the problem as reason."""

    def fit(dataset: Dataset, *, seed: int, **_: Any) -> Fit:
        raise MethodError(problem)

    return Method(name, name, file, frozenset(SETTINGS), {}, fit, problem=problem)


def _external(name: str, file: Path) -> Method:
    """Return an external program as its rule file describes it: by the names above its first rule, all optional."""
    head = re.split(r"^rule\b", file.read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE)[0]
    described: dict[str, Any] = {}
    try:
        for statement in ast.parse(head).body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                variable = statement.targets[0].id
                if variable in ("LABEL", "SUPPORTS", "SPACE", "SELECTION", "IS_CONTROL"):
                    described[variable] = ast.literal_eval(statement.value)
    except (SyntaxError, ValueError) as error:
        raise MethodError(f"{file}: what stands above its first rule cannot be read ({error})") from None
    supports = described.get("SUPPORTS", SETTINGS)
    if unknown := sorted(set(supports) - set(SETTINGS)):
        raise MethodError(f"{file}: SUPPORTS has {unknown[0]!r}; expected settings out of {', '.join(SETTINGS)}")
    return Method(
        name=name,
        label=described.get("LABEL", name),
        file=file,
        supports=frozenset(supports),
        selection=described.get("SELECTION", "heldout"),
        fit=None,
        space=lambda rng: product(described.get("SPACE", {})),
        is_control=described.get("IS_CONTROL", False),
    )


def product(space: dict[str, Any]) -> Grid:
    """Return all combinations of a space; a single value stands for a list of one.

    >>> product({"alpha": [0.1, 0.2], "test": "gauss"})
    [{'alpha': 0.1, 'test': 'gauss'}, {'alpha': 0.2, 'test': 'gauss'}]
    """
    values = [value if isinstance(value, list | tuple) else [value] for value in space.values()]
    return [dict(zip(space, combination, strict=True)) for combination in itertools.product(*values)]


def run_grid(method: Method, dataset: Dataset, seed: int, grid: Grid) -> Iterable[Fit | Exception]:
    """Yield one fit per combination, through ``sweep`` where the method has it."""
    if method.fit is None:
        raise MethodError(f"method {method.name!r} is an external program; only its rule in {method.file} runs it")
    if method.sweep is not None:
        yield from method.sweep(dataset, seed=seed, grid=grid)
    else:
        for combination in grid:
            yield method.fit(dataset, seed=seed, **combination)


def _named(fit: Callable[..., Fit]) -> Callable[..., Fit]:
    """Return the method with the names of the variables in what it returns."""

    @functools.wraps(fit, assigned=("__doc__",), updated=())
    def named(dataset: Dataset, **arguments: Any) -> Fit:
        made = fit(dataset, **arguments)
        # What is no fit of this data set, the runner refuses and says why.
        suits = isinstance(made, Fit) and made.graph.shape == (dataset.d, dataset.d)
        return made.with_names(dataset.names) if suits else made

    return named


def _import(file: Path) -> ModuleType:
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    path = file.parent if file.name == "__init__.py" else file.with_suffix("")
    try:
        if not file.is_relative_to(ROOT):
            return _import_outside(file)
        return importlib.import_module(".".join(path.relative_to(ROOT).parts))
    except Exception as error:
        raise MethodError(f"{file}: it cannot be imported ({type(error).__name__}: {error})") from error


def _import_outside(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    if spec is None or spec.loader is None:
        raise ImportError("it is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _check_module(module: ModuleType, file: Path) -> None:
    missing = [name for name in ("LABEL", "SUPPORTS", "SELECTION", "fit") if not hasattr(module, name)]
    if not hasattr(module, "SPACE") and not hasattr(module, "space"):
        missing.append("SPACE")
    if missing:
        raise MethodError(f"{file}: it does not define {', '.join(missing)}; see docs/adding-a-method.md")
    if not isinstance(module.LABEL, str):
        raise MethodError(f"{file}: LABEL is {module.LABEL!r}; expected text")
    unknown = sorted(set(map(str, module.SUPPORTS)) - set(SETTINGS))
    if unknown:
        raise MethodError(f"{file}: SUPPORTS has {unknown[0]!r}; expected settings out of {', '.join(SETTINGS)}")
    if module.SELECTION != "heldout" and not isinstance(module.SELECTION, dict):
        raise MethodError(f"{file}: SELECTION is {module.SELECTION!r}; expected 'heldout' or a dict of fixed values")
