"""What a configuration expands into, and what is refused before anything runs."""

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.config import ConfigError
from benchmark.methods import Grid, Method
from benchmark.paper.published import load_published
from benchmark.plan import Plan, data_path, figure_axes, fit_path
from tests.samples import PRESETS, configuration, experiment, method, own_configuration, put, row

Add = Callable[[Method], None]
DATA = "experiments.mine.data"


def refusal(config: dict[str, Any]) -> str:
    with pytest.raises(ConfigError) as caught:
        Plan(config)
    message = str(caught.value)
    assert len(message) < 300, message
    assert "\n" not in message
    return message


def refused(*changes: tuple[str, Any]) -> str:
    """Return the message for the configuration with one experiment, changed."""
    config = own_configuration()
    for key, value in changes:
        put(config, key, value)
    return refusal(config)


# --- what is refused


def test_a_run_must_name_an_experiment() -> None:
    assert refused(("run", ["mien"])) == "run: there is no experiment 'mien'. Did you mean 'mine'?"
    assert refused(("run", ["xyz"])) == "run: there is no experiment 'xyz'. There are: mine"


def test_a_method_that_does_not_exist() -> None:
    message = refused(("experiments.mine.methods", ["emty"]))
    assert message.startswith("experiments.mine.methods: there is no method 'emty'. Did you mean 'empty'? There are: ")


def test_a_row_whose_method_does_not_exist() -> None:
    message = refused(("methods.loose.method", "sortnregres"), ("experiments.mine.methods", ["loose"]))
    assert message.startswith("methods.loose.method: there is no method 'sortnregres'. Did you mean 'sortnregress'?")


def test_a_row_without_a_method_is_named_as_one() -> None:
    message = refused(("methods.loose.label", "Loose"), ("experiments.mine.methods", ["loose"]))
    assert message.startswith("experiments.mine.methods: there is no method 'loose'.")


@pytest.mark.parametrize(
    ("setting", "changes"),
    [
        ("imperfect", [(f"{DATA}.intervention", "imperfect-small")]),
        ("unknown", [("experiments.mine.targets", "unknown")]),
        ("imperfect-unknown", [(f"{DATA}.intervention", "imperfect"), ("experiments.mine.targets", "unknown")]),
        ("observational", [(f"{DATA}.settings", 0)]),
        ("observational", [(f"{DATA}.settings", 0), ("experiments.mine.targets", "unknown")]),
    ],
)
def test_a_method_that_does_not_support_a_setting(
    add_method: Add, setting: str, changes: list[tuple[str, Any]]
) -> None:
    add_method(method("narrow", supports=frozenset({"perfect"})))
    Plan(own_configuration(["narrow"]))
    message = refused(*changes, ("experiments.mine.methods", ["empty", "narrow"]))
    assert message.startswith(f"experiments.mine.methods: 'narrow' does not support the setting {setting!r}")
    assert message.endswith("it supports perfect")


def test_a_cell_that_no_experiment_has_is_refused() -> None:
    plan = Plan(own_configuration())
    (condition,) = plan.experiments["mine"].conditions
    name = plan.experiments["mine"].rows[0].name
    assert plan.row_of("known", condition.name, "00", name) is plan.rows[name]
    with pytest.raises(ConfigError) as caught:
        plan.row_of("unknown", condition.name, "00", name)
    assert str(caught.value) == (
        f"fits/unknown/{condition.name}/00/{name}.json: no experiment of this preset has the row {name!r} on condition "
        f"{condition.name!r} with unknown targets"
    )


def test_a_condition_that_an_experiment_lacks_is_refused() -> None:
    plan = Plan(own_configuration())
    experiment = plan.experiments["mine"]
    (condition,) = experiment.conditions
    assert plan.part("mine", None) is experiment
    assert plan.part("mine", condition.name) == experiment
    with pytest.raises(ConfigError) as caught:
        plan.part("mine", "sachs")
    assert str(caught.value) == f"experiment 'mine' has no condition 'sachs'; it has {condition.name}"


def test_a_row_may_be_told_what_its_experiment_hides(add_method: Add) -> None:
    add_method(method("narrow", supports=frozenset({"perfect"})))
    config = own_configuration(["empty", "told"])
    put(config, "experiments.mine.targets", "unknown")
    put(config, "methods.told", {"method": "narrow", "targets": "known"})
    shown = Plan(config).experiments["mine"]
    hidden, told = shown.rows
    assert (shown.targets_of(hidden), shown.targets_of(told)) == ("unknown", "known")
    assert {shown.setting(place) for place in shown.conditions} == {"unknown"}
    assert {shown.setting(place, told) for place in shown.conditions} == {"perfect"}


@pytest.mark.parametrize(
    ("method", "option", "value", "expected"),
    [
        ("gies", "engine", "pcalgg", "'pcalgg' does not exist; expected one of python, pcalg. Did you mean 'pcalg'?"),
        ("cam", "engine", ["python", "julia"], "'julia' does not exist; expected one of python, mgcv."),
        ("igsp", "test", "gaus", "'gaus' does not exist; expected one of gauss, kci, rcit. Did you mean 'gauss'?"),
        ("ut-igsp", "engine", "R", "'R' does not exist; expected one of python, causaldag."),
        ("dcdi-g", "engine", "cuda", "'cuda' does not exist; expected one of auto, cpu, torch."),
        ("igsp", "variant", "paper", "'paper' does not exist; expected one of sound, published."),
    ],
)
def test_an_engine_or_option_that_does_not_exist(method: str, option: str, value: object, expected: str) -> None:
    message = refused(("experiments.mine.methods", [method]), (f"methods.{method}.hyperparameters", {option: value}))
    assert message == f"methods.{method}.hyperparameters.{option}: {expected}"


def test_hyperparameters_that_do_not_fit_together() -> None:
    together = {"engine": ["python", "pcalg"], "variant": "published"}
    message = refused(("experiments.mine.methods", ["jci-pc"]), ("methods.jci-pc.hyperparameters", together))
    assert message.startswith("methods.jci-pc.hyperparameters: engine 'pcalg' compares p-values as numbers;")


def test_an_unknown_hyperparameter() -> None:
    rows = ("experiments.mine.methods", ["sortnregress"])
    message = refused(rows, ("methods.sortnregress.hyperparameters", {"penalti": 1}))
    assert message.startswith("methods.sortnregress.hyperparameters.penalti: sortnregress has no such hyperparameter")
    assert message.endswith("it has penalty")
    message = refused(("methods.empty.hyperparameters", {"alpha": 1}))
    assert message.endswith("empty has no such hyperparameter; it has none")


def test_a_hyperparameter_without_values() -> None:
    message = refused(("methods.sortnregress.hyperparameters", {"penalty": []}))
    assert message == "methods.sortnregress.hyperparameters.penalty: the list is empty; expected at least 1 value"


def test_a_number_that_yaml_reads_as_text() -> None:
    # YAML 1.1 takes 1e-3 for text, and every fit would fail on it.
    message = refused(("methods.sortnregress.hyperparameters", {"penalty": [0.1, "1e-3"]}))
    assert message.startswith("methods.sortnregress.hyperparameters.penalty: YAML reads 1e-3 as text")
    assert "0.001" in message
    message = refused(("methods.sortnregress.selection", {"penalty": "1e-3"}))
    assert message.startswith("methods.sortnregress.selection.penalty: YAML reads 1e-3 as text")


def test_a_fixed_selection_that_is_not_in_the_grid() -> None:
    message = refused(("methods.sortnregress.selection", {"penalty": 0.05}))
    assert message.startswith("methods.sortnregress.selection: no combination of its hyperparameters has penalty=0.05")
    message = refused(("methods.sortnregress.selection", {"alpha": 0.05}))
    assert message.startswith("methods.sortnregress.selection: no combination of its hyperparameters has alpha=0.05")


def test_a_grid_that_leaves_out_the_fixed_value_of_the_method(add_method: Add) -> None:
    add_method(method("fixed", {"alpha": [0.1, 0.2]}, {"alpha": 0.1}, fit=lambda dataset, *, seed, alpha: None))
    config = own_configuration(["fixed"], methods={"fixed": {"hyperparameters": {"alpha": [0.3]}}})
    assert refusal(config).startswith("methods.fixed.selection: no combination of its hyperparameters has alpha=0.1")
    put(config, "methods.fixed.selection", {"alpha": 0.3})
    Plan(config)


@pytest.mark.parametrize("extra", [{"sachs": True}, {"files": ["a.npz"]}])
def test_data_are_of_one_kind(extra: dict[str, Any]) -> None:
    (key,) = extra
    message = refused((f"{DATA}.{key}", extra[key]))
    assert message == f"{DATA}: expected exactly one of mechanism (simulated data), sachs and files"


@pytest.mark.parametrize("data", [{}, {"nodes": 10}, {"sachs": True, "files": ["a.npz"]}])
def test_data_of_no_kind_or_of_two(data: dict[str, Any]) -> None:
    assert refused((DATA, data)).startswith(f"{DATA}: expected exactly one of mechanism")


@pytest.mark.parametrize("key", ["nodes", "edges_per_node", "intervention"])
def test_simulated_data_need_their_keys(key: str) -> None:
    assert refused((f"{DATA}.{key}", ...)) == f"{DATA}.{key}: simulated data need this key"


@pytest.mark.parametrize("kind", [{"sachs": True}, {"files": ["a.npz"]}])
@pytest.mark.parametrize("key", ["nodes", "edges_per_node", "n", "settings"])
def test_keys_that_go_with_simulated_data_only(kind: dict[str, Any], key: str) -> None:
    assert refused((DATA, kind | {key: 10})) == f"{DATA}.{key}: this key goes with simulated data only"


def test_two_files_of_the_same_name() -> None:
    message = refused((DATA, {"files": ["a/mine.npz", "b/mine.npz"]}))
    assert message == f"{DATA}.files: two files have the same name; results are named after it"


@pytest.fixture
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files that exist; what is in a .npz file is checked by its job."""
    for name in ("a.npz", "a/mine.npz", "b/mine.npz", "data/one.npz", "two.npz"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.setattr("benchmark.plan.ROOT", tmp_path)


@pytest.mark.usefixtures("own_files")
def test_two_files_of_the_same_name_in_two_experiments() -> None:
    config = own_configuration(run=["mine", "other"])
    put(config, DATA, {"files": ["a/mine.npz"]})
    put(config, "experiments.other", config["experiments"]["mine"] | {"data": {"files": ["b/mine.npz"]}})
    assert refusal(config).startswith("experiments.other.data.files: another experiment has a file of the same name")
    put(config, "experiments.other.data.files", ["a/mine.npz"])
    Plan(config)


def test_too_many_edges_per_node() -> None:
    assert refused((f"{DATA}.edges_per_node", 2.1)) == f"{DATA}.edges_per_node: 2.1; 5 nodes have at most 2"
    Plan(own_configuration(experiments={"mine": {"data": {"edges_per_node": 2}}}))


@pytest.mark.parametrize(("pair", "counts"), [([2, 1], [2, 1]), ([1, 6], [1, 6]), ([0.9, 0.2], [4, 1])])
def test_targets_per_setting_out_of_range(pair: list[float], counts: list[int]) -> None:
    message = refused((f"{DATA}.targets_per_setting", pair))
    assert message == f"{DATA}.targets_per_setting: {counts} for 5 nodes; expected fewest <= most <= nodes"


def test_targets_per_setting_are_whole_numbers_or_shares() -> None:
    message = refused((f"{DATA}.targets_per_setting", [1.5, 2]))
    assert message.startswith(f"{DATA}.targets_per_setting: 1.5; expected a whole number or a share below 1")


@pytest.mark.parametrize(("n", "settings"), [(5, None), (3, None), (10, 10), (1, 1)])
def test_fewer_rows_than_settings(n: int, settings: int | None) -> None:
    changes = [(f"{DATA}.n", n)] + ([] if settings is None else [(f"{DATA}.settings", settings)])
    assert refused(*changes) == f"{DATA}.n: {n} rows are fewer than the settings they are divided over"


@pytest.mark.usefixtures("own_files")
@pytest.mark.parametrize("data", [{"sachs": True}, {"files": ["a.npz"]}])
def test_a_method_that_runs_on_twins_needs_simulated_data(add_method: Add, data: dict[str, Any]) -> None:
    add_method(method("observer", data="twin"))
    Plan(own_configuration(["observer"]))
    message = refused((DATA, data), ("experiments.mine.methods", ["observer"]))
    assert message == "experiments.mine.methods: 'observer' runs on observational twins, which need simulated data"


# --- what is planned


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_are_valid_and_named_after_their_file(preset: str) -> None:
    plan = Plan(configuration(preset))
    assert plan.config["preset"] == preset
    assert list(plan.experiments) == plan.config["run"]
    controls = {"empty", "random", "sortnregress"}
    assert controls < set(plan.rows) or preset == "figures"  # which has what the paper printed
    assert {"DCDI-G", "CAM", "JCI-PC"} <= {row.label for row in plan.rows.values()}


@pytest.mark.parametrize(
    ("data", "convention", "name"),
    [
        ({}, "released", "linear-d5-e1-perfect"),
        ({"edges_per_node": 0.5, "intervention": "imperfect-small"}, "released", "linear-d5-e0.5-imperfect-small"),
        ({"n": 300}, "released", "linear-d5-e1-perfect-n300"),
        ({"n": 10_000}, "released", "linear-d5-e1-perfect"),
        ({"settings": 0}, "released", "linear-d5-e1-perfect-k0"),
        ({"targets_per_setting": [0.1, 0.5]}, "released", "linear-d5-e1-perfect-t1-2"),
        ({"n": 99, "settings": 3, "targets_per_setting": [2, 2]}, "as_written", "n99-k3-t2-2-as_written"),
    ],
)
def test_the_name_of_a_condition_says_all_that_is_not_standard(
    data: dict[str, Any], convention: str, name: str
) -> None:
    plan = Plan(own_configuration(convention=convention, experiments={"mine": {"data": data}}))
    (condition,) = plan.experiments["mine"].conditions
    assert condition.name.endswith(name)
    assert condition.simulation["convention"] == convention
    assert list(plan.conditions) == [condition.name]


def published(**data: Any) -> dict[str, Any]:
    """Return a configuration on the paper's own data, with one condition that they have."""
    condition = {"mechanism": "nn", "nodes": 10, "edges_per_node": 4} | data
    return own_configuration(convention="published", experiments={"mine": {"data": condition}})


def test_the_papers_own_data_serve_where_they_exist() -> None:
    (own,) = Plan(published()).conditions.values()
    assert (own.name, own.source, own.simulation["convention"]) == (
        "nn-d10-e4-perfect-published",
        "published",
        "published",
    )


@pytest.mark.parametrize(
    "data",
    [{"nodes": 11}, {"edges_per_node": 2}, {"intervention": "perfect-uniform"}, {"n": 500}, {"settings": 10}],
)
def test_what_was_never_published_is_simulated_as_released(data: dict[str, Any]) -> None:
    (simulated,) = Plan(published(**data)).conditions.values()
    assert (simulated.source, simulated.simulation["convention"]) == ("simulated", "released")
    (released,) = Plan(published(**data) | {"convention": "released"}).conditions.values()
    assert simulated == released


@pytest.mark.parametrize(("key", "value"), [("datasets", 11), ("heldout", 0.3)])
def test_the_papers_own_data_are_as_many_and_split_as_they_are(key: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{key}: {value}; "):
        Plan(published() | {key: value})


def test_the_paper_runs_on_its_own_data_and_quick_on_simulated_ones() -> None:
    sources = {preset: {c.source for c in Plan(configuration(preset)).conditions.values()} for preset in PRESETS}
    assert sources["paper"] == {"published", "simulated", "sachs", "part"}
    assert sources["quick"] == {"simulated", "sachs"}
    plan = Plan(configuration())
    assert sum(c.datasets for c in plan.conditions.values() if c.source == "published") == 240


def test_conditions_are_the_product_of_the_lists() -> None:
    data: dict[str, list[Any]] = {"mechanism": ["linear", "nn"], "nodes": [10, 20], "edges_per_node": [1, 4]}
    plan = Plan(own_configuration(experiments={"mine": {"data": data}}))
    expected = {
        f"{mechanism}-d{nodes}-e{edges}-perfect" for mechanism, nodes, edges in itertools.product(*data.values())
    }
    assert set(plan.conditions) == expected
    assert len(plan.experiments["mine"].conditions) == 8


@pytest.mark.usefixtures("own_files")
def test_files_and_sachs_are_one_data_set_each() -> None:
    config = own_configuration()
    put(config, DATA, {"sachs": True})
    assert [(c.name, c.indices) for c in Plan(config).conditions.values()] == [("sachs", ["00"])]
    put(config, DATA, {"files": ["data/one.npz", "two.npz"]})
    conditions = Plan(config).conditions
    assert list(conditions) == ["file-one", "file-two"]
    assert all(condition.datasets == 1 and condition.file is not None for condition in conditions.values())


@pytest.mark.parametrize("preset", ["quick", "small", "paper"])
def test_unknown_uses_the_data_sets_of_perfect(preset: str) -> None:
    experiments = Plan(configuration(preset)).experiments
    assert [c for c in experiments["perfect"].conditions if c in experiments["unknown"].conditions] == list(
        experiments["unknown"].conditions
    )
    assert experiments["unknown"].targets == "unknown"
    assert {experiments["unknown"].setting(c) for c in experiments["unknown"].conditions} == {"unknown"}


def test_an_experiment_may_have_its_own_number_of_data_sets_and_the_larger_number_is_made() -> None:
    config = own_configuration(datasets=4, run=["mine", "more"])
    config["experiments"]["more"] = config["experiments"]["mine"] | {"datasets": 6}
    plan = Plan(config)
    assert plan.conditions["linear-d5-e1-perfect"].indices == ["00", "01", "02", "03", "04", "05"]
    assert plan.experiments["mine"].conditions[0].datasets == 4


def test_every_published_figure_has_its_condition() -> None:
    plan = Plan(configuration())
    planned = {
        (
            experiment.paper,
            experiment.setting(condition),
            condition.simulation.get("mechanism", condition.name),
            condition.simulation.get("nodes", 11),
            f"{condition.simulation['edges_per_node']:g}" if condition.simulation else "",
        )
        for experiment in plan.experiments.values()
        for condition in experiment.conditions
    }
    figures = load_published().copy()
    assert len(figures) == 2087
    # These two come from other methods on the data of perfect, imperfect and unknown.
    elsewhere = figures["experiment"].isin(["ablation", "linear_model"])
    figures["experiment"] = figures["experiment"].mask(elsewhere, "main")
    wanted = set(
        figures[["experiment", "setting", "mechanism", "nodes", "edges_per_node"]].itertuples(index=False, name=None)
    )
    assert wanted <= planned


def test_the_published_conditions_are_the_standard_ones() -> None:
    for shown in Plan(configuration()).experiments.values():
        if shown.paper in set(load_published()["experiment"]) - {"sachs"}:
            assert all(set(c.simulation) & {"settings", "targets_per_setting"} == set() for c in shown.conditions)
            assert all(c.simulation["n"] == 10_000 and c.datasets == 10 for c in shown.conditions)


# --- rows and hyperparameters


@pytest.mark.parametrize("preset", ["paper", "measured", "small", "figures", "quick"])
def test_no_cell_can_ask_a_cluster_for_more_than_a_week(preset: str) -> None:
    plan = Plan(configuration(preset))
    days = {name: row.seconds * len(row.grid(plan.seed)) / 86_400 for name, row in plan.rows.items()}
    assert max(days.values()) < 7, days
    assert max(days.values()) > 0


def test_a_row_overrides_what_its_method_says() -> None:
    entry = {
        "method": "sortnregress",
        "label": "Loose",
        "hyperparameters": {"penalty": [0.1, 0.5]},
        "selection": {"penalty": 0.5},
        "limits": {"hours": 0.5},
    }
    plan = Plan(own_configuration(["sortnregress", "loose"], methods={"loose": entry}))
    loose, plain = plan.rows["loose"], plan.rows["sortnregress"]
    assert (loose.label, loose.selection, loose.seconds) == ("Loose", {"penalty": 0.5}, 1800)
    assert (plain.label, plain.selection, plain.seconds) == ("Sort-and-regress", "heldout", 360)
    assert loose.memory_mb == plain.memory_mb == 2 * 1024
    assert plan.grid("loose", "known", "c", "00") == [{"penalty": 0.1}, {"penalty": 0.5}]
    assert len(plan.grid("sortnregress", "known", "c", "00")) == 6


def test_a_single_value_stands_for_a_list_of_one() -> None:
    plan = Plan(own_configuration(methods={"sortnregress": {"hyperparameters": {"penalty": 0.2}}}))
    assert plan.grid("sortnregress", "known", "c", "00") == [{"penalty": 0.2}]


def search(rng: np.random.Generator) -> Grid:
    return [{"alpha": float(rng.random()), "beta": int(rng.integers(100))} for _ in range(4)]


def two(dataset: Any, *, seed: int, alpha: float, beta: int) -> Any: ...


def test_a_random_search_is_drawn_for_each_data_set_and_repeats(add_method: Add) -> None:
    add_method(method("search", search, fit=two))
    plan = Plan(own_configuration(["search"]))
    cells = [("known", "c", "00"), ("known", "c", "01"), ("unknown", "c", "00"), ("known", "d", "00")]
    grids = [plan.grid("search", *cell) for cell in cells]
    assert all(first != second for first, second in itertools.combinations(grids, 2))
    assert grids == [Plan(own_configuration(["empty", "search"])).grid("search", *cell) for cell in cells]
    assert grids[0] != Plan(own_configuration(["search"], seed=1)).grid("search", *cells[0])


def test_an_override_of_a_random_search_keeps_the_rest_as_drawn(add_method: Add) -> None:
    add_method(method("search", search, fit=two))
    cell = ("known", "c", "00")
    drawn = Plan(own_configuration(["search"])).grid("search", *cell)
    entry: dict[str, Any] = {"hyperparameters": {"beta": [1, 2]}}
    overridden = Plan(own_configuration(["search"], methods={"search": entry})).grid("search", *cell)
    assert overridden == [{"alpha": one["alpha"], "beta": beta} for one in drawn for beta in (1, 2)]
    entry = {"hyperparameters": {"alpha": 0.5, "beta": 3}}
    assert Plan(own_configuration(["search"], methods={"search": entry})).grid("search", *cell) == [
        {"alpha": 0.5, "beta": 3}
    ]


# --- seeds


def test_seeds_of_cells_depend_on_nothing_else() -> None:
    paper, quick = Plan(configuration()), Plan(configuration("quick"))
    turned = configuration()
    turned["run"].reverse()
    turned["experiments"]["perfect"]["methods"].reverse()
    other = Plan(turned)
    shared = [(name, "02") for name in quick.conditions]
    assert len(shared) == len(quick.conditions) >= 4
    for cell in shared:
        assert paper.data_seed(*cell) == quick.data_seed(*cell) == other.data_seed(*cell)
        for name in quick.rows:
            seeds = {plan.fit_seed(name, "known", *cell) for plan in (paper, quick, other)}
            assert len(seeds) == 1


def test_every_cell_has_a_seed_of_its_own_and_the_root_changes_all() -> None:
    plan, other = Plan(configuration("small")), Plan(configuration("small", seed=1))

    def seeds(of: Plan) -> list[int]:
        cells = [(name, index) for name, condition in of.conditions.items() for index in condition.indices]
        fits = itertools.product(of.rows, ("known", "unknown"), cells)
        return [of.data_seed(*cell) for cell in cells] + [of.fit_seed(name, to, *cell) for name, to, cell in fits]

    drawn = seeds(plan)
    assert len(set(drawn)) == len(drawn)
    assert not set(drawn) & set(seeds(other))


def test_a_data_set_is_the_same_whether_its_targets_are_shown() -> None:
    plan = Plan(configuration("quick"))
    assert plan.fit_seed("random", "known", "c", "00") != plan.fit_seed("random", "unknown", "c", "00")
    assert data_path("c", "00") == "data/c/00.npz"
    assert data_path("c", "00", "twin") == "data/c/00-twin.npz"
    assert fit_path("unknown", "c", "00", "random") == "fits/unknown/c/00/random.json"


# --- figures


def test_the_figures_of_the_paper() -> None:
    figures = {
        name: axes for shown in Plan(configuration()).experiments.values() for name, axes in figure_axes(shown).items()
    }
    both: tuple[str, ...] = ("perfect", "imperfect", "unknown", "uniform_intervention", "small_change")
    both = (*both, "ablation_perfect", "ablation_imperfect", "ablation_unknown")
    assert figures == {f"{name}-d{nodes}": ("edges_per_node", nodes) for name in both for nodes in (10, 20)} | {
        "linear_model-d20": ("edges_per_node", 20),
        "two_node_perfect-d2": ("edges_per_node", 2),
        "two_node_imperfect-d2": ("edges_per_node", 2),
        "number_of_interventions-d20": ("settings", 20),
        "number_of_examples-d10": ("n", 10),
        "number_of_variables": ("nodes", None),
        "learning_dynamic-d10": ("edges_per_node", 10),
        "learning_targets-d10": ("edges_per_node", 10),
        "nn_unseen-d10": ("edges_per_node", 10),
    }


def test_a_part_lacks_a_setting_of_data_sets_that_the_plan_has_too() -> None:
    plan = Plan(configuration(run=["nn_unseen", "sachs_unseen"], convention="released"))
    assert {name: (c.source, c.leave_out) for name, c in plan.conditions.items()} == {
        "nn-d10-e4-perfect-without-random": ("part", "random"),
        "nn-d10-e4-perfect": ("simulated", None),
        "sachs-without-pakts473": ("part", "pakts473"),
        "sachs": ("sachs", None),
    }
    (part,) = plan.experiments["nn_unseen"].conditions
    assert part.base == plan.conditions["nn-d10-e4-perfect"]
    assert (part.setting, part.datasets) == ("perfect", 10)


def test_data_that_are_not_simulated_have_no_figure() -> None:
    plan = Plan(configuration())
    assert figure_axes(plan.experiments["sachs"]) == {}
    assert figure_axes(experiment(list(plan.experiments["sachs"].conditions), [row("x")])) == {}


@pytest.mark.parametrize(
    ("method", "hyperparameters", "environment"),
    [
        ("gies", {}, "benchmark"),
        ("gies", {"engine": "python"}, "benchmark"),
        ("gies", {"engine": "pcalg"}, "r"),
        ("jci-pc", {"engine": "pcalg"}, "r"),
        ("cam", {"engine": ["python", "mgcv"]}, "r"),
        ("igsp", {"engine": "causaldag"}, "igsp"),
    ],
)
def test_rows_of_engines_in_r_have_their_environment(
    method: str, hyperparameters: dict[str, Any], environment: str
) -> None:
    config = own_configuration()
    put(config, "methods.mine", {"method": method, "hyperparameters": hyperparameters})
    put(config, "experiments.mine.methods", ["mine"])
    assert Plan(config).rows["mine"].environment == environment


def test_braces_in_the_name_of_a_file_are_refused() -> None:
    message = refused((DATA, {"files": ["data/{braces}.npz"]}))
    assert message == f"{DATA}.files: 'data/{{braces}}.npz' has braces, which Snakemake takes for wildcards; rename it"
