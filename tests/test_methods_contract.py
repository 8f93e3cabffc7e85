"""One contract for all methods: whatever file is dropped into ``baselines/`` or ``dcdi/methods/`` passes it.

Only the first and the last combination of a grid are fitted. Methods that take minutes on their own are marked slow
by name below; they pass the same tests under ``-m slow``.
"""

import inspect
import json
import math
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.dataset import Dataset, Fit
from benchmark.graphs import cpdag_of, find_cycle
from benchmark.methods import FOLDERS, ROOT, SETTINGS, Grid, Method, MethodError, available, load_method, product
from benchmark.recorded.provenance import provenance
from benchmark.simulate import Intervention, simulate

DCDI = frozenset({"dcdi-g", "dcdi-dsf", "dcd", "dcd-no-interv", "dcdi-linear"})
SLOW = DCDI
HEAVY = ("torch", "sklearn", "rpy2", "numba")
NAMES = sorted(name for name, file in available().items() if file.suffix == ".py")
INTERVENTIONS: dict[str, Intervention] = {
    "observational": "none",
    "perfect": "perfect",
    "imperfect": "imperfect",
    "unknown": "perfect",
    "imperfect-unknown": "imperfect",
}


def marked(name: str, *values: Any) -> Any:
    return pytest.param(name, *values, marks=[pytest.mark.slow] if name in SLOW else [])


every_method = pytest.mark.parametrize("name", NAMES)
every_fit = pytest.mark.parametrize("name", [marked(name) for name in NAMES])
every_setting = pytest.mark.parametrize(
    ("name", "setting"),
    [marked(name, setting) for name in NAMES for setting in SETTINGS if setting in load_method(name).supports],
)


@pytest.fixture(autouse=True)
def short_training(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """DCDI keeps the contract whatever its schedule; its own tests use the paper's."""
    name = request.node.callspec.params.get("name") if hasattr(request.node, "callspec") else None
    if name in DCDI and request.node.get_closest_marker("slow"):
        import dcdi.estimator  # noqa: F401 - which names the class, not what takes its place
        from tests.dcdi_cases import SHORT

        monkeypatch.setattr("dcdi.training.Schedule", lambda: SHORT)


@cache
def shown(name: str, setting: str, nodes: int = 5, heldout: float = 0.2) -> Dataset:
    """A small data set as the runner would show it to this method in this setting."""
    intervention = "none" if load_method(name).data == "twin" else INTERVENTIONS[setting]
    data = simulate("linear", nodes, min(1, (nodes - 1) / 2), intervention, n=400, seed=11, heldout=heldout)
    return data.blind(hide_targets=setting.endswith("unknown"))


def first_and_last(method: Method) -> Grid:
    grid = method.grid(seed=0)
    return grid[:1] if len(grid) == 1 else [grid[0], grid[-1]]


def a_setting(method: Method) -> str:
    """The most informative setting that the method supports."""
    return next(name for name in ("perfect", "imperfect", *SETTINGS) if name in method.supports)


def fit(name: str, dataset: Dataset, combination: dict[str, Any], seed: int = 3) -> Fit:
    run = load_method(name).fit
    assert run is not None
    return run(dataset, seed=seed, **combination)


def assert_valid(result: Any, dataset: Dataset) -> None:
    assert isinstance(result, Fit)
    assert result.graph.shape == (dataset.d, dataset.d)
    assert result.graph.dtype == np.int8
    assert set(np.unique(result.graph)) <= {0, 1}
    assert find_cycle(result.graph) is None
    assert result.kind in ("dag", "cpdag")
    if result.kind == "cpdag":
        cpdag = np.asarray(result.info["cpdag"]).astype(np.int8)
        np.testing.assert_array_equal(cpdag | cpdag.T, result.graph | result.graph.T)
        assert not np.any((result.graph == 1) & (cpdag == 0))  # directed edges of the class are those of its member
        # Interventions may compel more edges than the Markov class does, never fewer.
        assert not np.any((cpdag == 1) & (cpdag_of(result.graph) == 0))
    assert result.heldout_nll is None or math.isfinite(result.heldout_nll)
    if result.targets is not None:
        assert result.targets.shape == (dataset.settings, dataset.d)


def assert_equal(one: Fit, other: Fit) -> None:
    np.testing.assert_array_equal(one.graph, other.graph)
    assert one.kind == other.kind
    if one.heldout_nll is None or other.heldout_nll is None:
        assert one.heldout_nll is other.heldout_nll
    else:
        assert one.heldout_nll == pytest.approx(other.heldout_nll, rel=1e-6, abs=1e-9)
    if one.kind == "cpdag":
        np.testing.assert_array_equal(one.info["cpdag"], other.info["cpdag"])
    assert (one.targets is None) == (other.targets is None)
    if one.targets is not None and other.targets is not None:
        np.testing.assert_allclose(one.targets, other.targets, rtol=1e-6, atol=1e-9)


# --- what a file says about itself


def test_every_file_is_a_method() -> None:
    assert {"empty", "random", "sortnregress"} <= set(NAMES)
    paths = [path for folder in FOLDERS for path in (ROOT / folder).glob("*") if not path.name.startswith("_")]
    paths.remove(ROOT / "baselines" / "bench.py")  # a program
    paths = [path for path in paths if path.suffix or (path / "__init__.py").exists()]  # other folders are programs'
    assert sorted(NAMES) == sorted(path.stem.replace("_", "-") for path in paths if path.suffix != ".smk")


@every_method
def test_import_is_light(name: str) -> None:
    """A config can be checked, and a job list made, without the heavy packages."""
    code = (
        "import json, sys; from benchmark.methods import load_method; "
        f"load_method({name!r}); print(json.dumps([name for name in {HEAVY!r} if name in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == []


@every_method
def test_description(name: str) -> None:
    method = load_method(name)
    assert isinstance(method.label, str)
    assert method.label.strip() == method.label != ""
    assert method.supports
    assert method.supports <= set(SETTINGS)
    assert method.data in ("own", "twin")
    assert method.fit is not None
    assert method.fit.__doc__
    labels = [load_method(other).label for other in NAMES]
    assert labels.count(method.label) == 1  # tables tell methods apart by their labels


@every_method
def test_grid(name: str) -> None:
    method = load_method(name)
    grid = method.grid(seed=0)
    assert grid
    assert grid == method.grid(seed=0)
    assert method.fit is not None
    signature = inspect.signature(method.fit)
    for combination in grid:
        signature.bind(None, seed=0, **combination)
        assert set(combination) <= method.hyperparameters()
    assert len({json.dumps(combination, sort_keys=True) for combination in grid}) == len(grid)
    assert "seed" in signature.parameters


@every_method
def test_fixed_values_are_in_the_grid(name: str) -> None:
    method = load_method(name)
    if method.selection != "heldout":
        fixed = method.selection.items()
        chosen = [combination for combination in method.grid(seed=0) if fixed <= combination.items()]
        assert len(chosen) == 1, f"{dict(fixed)} must choose one combination, it chooses {len(chosen)}"


@every_fit
def test_versions_are_known(name: str) -> None:
    method = load_method(name)
    packages = provenance(method, 0, shown(name, sorted(method.supports)[0]), [{}])["packages"]
    assert set(packages) == {"numpy", *method.packages}
    assert all(packages.values()), "it names a package that is not installed"


# --- what it does


@every_setting
def test_fit(name: str, setting: str) -> None:
    method = load_method(name)
    data = shown(name, setting)
    before = {field: np.copy(value) for field, value in vars(data).items() if isinstance(value, np.ndarray)}
    parameters, columns = dict(data.parameters), data.names
    for number, combination in enumerate(first_and_last(method)):
        given = dict(combination)
        result = fit(name, data, combination)
        assert_valid(result, data)
        if method.selection == "heldout":
            assert result.heldout_nll is not None
        assert combination == given
        if number == 0:
            assert_equal(result, fit(name, data, combination))
    for field, value in before.items():
        np.testing.assert_array_equal(getattr(data, field), value, err_msg=f"{name} changed {field}")
    assert (data.parameters, data.names) == (parameters, columns)


@every_setting
def test_sweep_equals_a_loop_of_fits(name: str, setting: str) -> None:
    method = load_method(name)
    if method.sweep is None:
        return  # the runner loops over fit
    data, grid = shown(name, setting), first_and_last(method)
    results = list(method.sweep(data, seed=3, grid=grid))
    assert len(results) == len(grid)
    for combination, result in zip(grid, results, strict=True):
        assert isinstance(result, Fit)
        assert_valid(result, data)
        assert_equal(result, fit(name, data, combination))


@every_fit
def test_global_random_state_does_not_matter(name: str) -> None:
    method = load_method(name)
    data, combination = shown(name, a_setting(method)), method.grid(seed=0)[0]
    results = []
    for state in (1, 2):
        np.random.seed(state)  # noqa: NPY002 - the state that libraries may use behind a method's back
        results.append(fit(name, data, combination))
    assert_equal(*results)


@every_fit
def test_fit_without_heldout_rows(name: str) -> None:
    """All rows are fitted on; there is no score, unless the method draws a split of its own (as DCDI does)."""
    method = load_method(name)
    data = shown(name, a_setting(method), heldout=0)
    assert data.heldout is None
    result = fit(name, data, method.grid(seed=0)[0])
    assert_valid(result, data)
    if name not in DCDI:
        assert result.heldout_nll is None


@every_fit
def test_two_nodes(name: str) -> None:
    method = load_method(name)
    data = shown(name, a_setting(method), nodes=2)
    for combination in first_and_last(method):
        assert_valid(fit(name, data, combination), data)


@every_fit
def test_names_do_not_matter(name: str) -> None:
    method = load_method(name)
    data = shown(name, a_setting(method))
    odd = ["p44/42", "a b", "größe", "1", "if"]
    renamed = Dataset(data.X, data.setting, data.targets, None, odd, data.heldout, data.parameters)
    combination = method.grid(seed=0)[0]
    result = fit(name, renamed, combination)
    assert_valid(result, renamed)
    assert_equal(result, fit(name, data, combination))


# --- odd data: a valid graph or a clear error, never NaN


def odd(name: str, kind: str) -> Dataset:
    """A data set of 5 variables and 3 settings with something wrong; a fifth of its rows is held out."""
    rng = np.random.default_rng(5)
    n = {"fewer rows than variables": 4}.get(kind, 120)
    X = rng.normal(size=(n, 5))
    X[:, 1] += X[:, 0]
    setting = np.sort(np.arange(n) % 3)
    targets = np.array([[0, 0, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 1, 1, 0]])
    if kind == "constant column":
        X[:, 2] = 0.1
    elif kind == "duplicated columns":
        X[:, 2] = X[:, 0]
    elif kind == "setting of 3 rows":
        setting = np.repeat([0, 1, 2], [n // 2, n // 2 - 3, 3])
    elif kind == "single setting" or load_method(name).data == "twin":
        setting, targets = np.zeros(n, dtype=np.int64), targets[:1]
    heldout = np.arange(n) % 5 == 1
    hidden = a_setting(load_method(name)).endswith("unknown")
    return Dataset(X, setting, None if hidden else targets, heldout=heldout)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        marked(name, kind)
        for name in NAMES
        for kind in (
            "constant column",
            "duplicated columns",
            "fewer rows than variables",
            "setting of 3 rows",
            "single setting",
        )
    ],
)
@pytest.mark.filterwarnings("error")
def test_odd_data(name: str, kind: str) -> None:
    data = odd(name, kind)
    for combination in first_and_last(load_method(name)):
        try:
            result = fit(name, data, combination)
        except (ValueError, RuntimeError) as error:
            assert len(str(error)) > 20, error  # noqa: PT017 - either outcome is right
        else:
            assert_valid(result, data)
            assert result.targets is None or np.isfinite(result.targets).all()


# --- the loader itself


def test_unknown_method_gets_a_hint() -> None:
    with pytest.raises(MethodError, match=r"there is no method 'emty'\. Did you mean 'empty'"):
        load_method("emty")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import a_package_that_is_not_there", "it cannot be imported .*a_package_that_is_not_there"),
        ("def fit(:", "it cannot be imported .*SyntaxError"),
        ("LABEL = 'L'", "it does not define SUPPORTS, SELECTION, fit, SPACE"),
        ("LABEL = 'L'; SUPPORTS = ['perfekt']; SELECTION = {}; SPACE = {}; fit = print", "SUPPORTS has 'perfekt'"),
        ("LABEL = 'L'; SUPPORTS = []; SELECTION = 'best'; SPACE = {}; fit = print", "SELECTION is 'best'"),
    ],
)
def test_wrong_file_is_named(text: str, message: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "baselines_to_test"
    folder.mkdir()
    (folder / "wrong_method.py").write_text(text)
    monkeypatch.setattr("benchmark.methods.ROOT", tmp_path)
    monkeypatch.setattr("benchmark.methods.FOLDERS", (folder.name,))
    monkeypatch.syspath_prepend(tmp_path)
    try:
        with pytest.raises(MethodError, match=message) as refused:
            load_method("wrong-method")
        assert str(folder / "wrong_method.py") in str(refused.value)
    finally:
        for module in [key for key in sys.modules if key.startswith(folder.name)]:
            del sys.modules[module]


def test_a_folder_is_a_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its ``__init__.py`` is the method's file; folders without one, and names with ``_`` before them, are not."""
    folder = tmp_path / "folders_to_test"
    for name in ("with_parts", "_shared", "data"):
        (folder / name).mkdir(parents=True)
    (folder / "with_parts" / "part.py").write_text("LABEL = 'With parts'")
    lines = ["from folders_to_test.with_parts.part import LABEL", "SUPPORTS = SPACE = SELECTION = {}", "fit = print"]
    (folder / "with_parts" / "__init__.py").write_text("\n".join(lines))
    (folder / "_shared" / "__init__.py").write_text("")
    (folder / "program.smk").write_text("")
    monkeypatch.setattr("benchmark.methods.ROOT", tmp_path)
    monkeypatch.setattr("benchmark.methods.FOLDERS", (folder.name,))
    monkeypatch.syspath_prepend(tmp_path)
    files = {"program": folder / "program.smk", "with-parts": folder / "with_parts" / "__init__.py"}
    assert available() == files
    try:
        method = load_method("with-parts")
        assert (method.name, method.label, method.file) == ("with-parts", "With parts", files["with-parts"])
    finally:
        for module in [key for key in sys.modules if key.startswith(folder.name)]:
            del sys.modules[module]


def test_product() -> None:
    assert product({}) == [{}]
    assert product({"a": [1, 2], "b": "text"}) == [{"a": 1, "b": "text"}, {"a": 2, "b": "text"}]
    assert product({"a": []}) == []
