"""A wrong configuration is one short message that names the key and what was expected."""

from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from benchmark.config import SCHEMA, ConfigError, check_schema, preset_of
from benchmark.paper.published import load_published
from benchmark.plan import Plan
from tests.samples import PRESETS, configuration, put

LONGEST = 300
# What jsonschema would say, and Python's way to show a map: neither is meant for a person.
RAW = (
    "is not valid under any",
    "is a required property",
    "dditional properties",
    "is not of type",
    "does not match",
    "is not one of",
    "was expected",
    "is less than",
    "is greater than",
    "non-unique",
    "non-empty",
    "is too",
    "{'",
    "OrderedDict",
    "None",
    "\n",
)


def refusal(config: Any) -> str:
    """Return the message with which a configuration is refused, which must read well."""
    with pytest.raises(ConfigError) as caught:
        Plan(config)
    message = str(caught.value)
    assert len(message) < LONGEST, message
    for text in RAW:
        assert text not in message
    return message


def refused(key: str, value: Any) -> str:
    config = configuration()
    put(config, key, value)
    return refusal(config)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_configurations_of_the_project_are_valid(preset: str) -> None:
    check_schema(configuration(preset))


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("dataset", "did you mean 'datasets'?"),
        ("nonsense", "the keys here are preset, seed, datasets"),
        ("limits.hour", "did you mean 'hours'?"),
        ("limits.gpus", "the keys here are hours, memory_gb"),
        ("methods.mine.hyperparameter", "did you mean 'hyperparameters'?"),
        ("methods.mine.limits.memory", "did you mean 'memory_gb'?"),
        ("experiments.perfect.target", "did you mean 'targets'?"),
        ("experiments.perfect.data.mechanisms", "did you mean 'mechanism'?"),
        ("experiments.perfect.data.edge_per_node", "did you mean 'edges_per_node'?"),
    ],
)
def test_an_unknown_key_at_any_level(key: str, hint: str) -> None:
    message = refused(key, 1)
    assert message.startswith(f"{key}: this key is not known; ")
    assert hint in message


def test_a_key_that_is_no_text() -> None:
    config: dict[Any, Any] = configuration()
    config |= {7: "seven", "seven": 7}
    assert refusal(config).startswith(("7: this key is not known", "seven: this key is not known"))
    config = dict(configuration())
    config["experiments"][3] = config["experiments"]["perfect"]
    assert refusal(config).startswith("experiments: the value 3 is not valid; expected text")


@pytest.mark.parametrize(
    "key",
    [
        "preset",
        "seed",
        "datasets",
        "heldout",
        "convention",
        "limits",
        "run",
        "methods",
        "experiments",
        "limits.hours",
        "limits.memory_gb",
        "experiments.perfect.title",
        "experiments.perfect.data",
        "experiments.perfect.methods",
    ],
)
def test_a_missing_key(key: str) -> None:
    assert refused(key, ...).startswith(f"{key}: this key is missing")


WHOLE, NUMBER, TEXT, LIST, MAP = "a whole number", "a number", "text", "a list", "a map"


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("preset", 3, TEXT),
        ("seed", "three", WHOLE),
        ("seed", 1.0, WHOLE),
        ("seed", True, WHOLE),
        ("datasets", 2.5, WHOLE),
        ("datasets", 3.0, WHOLE),  # range() refuses it
        ("datasets", None, WHOLE),
        ("heldout", "a fifth", NUMBER),
        ("heldout", float("nan"), NUMBER),
        ("limits", [12, 16], MAP),
        ("limits.hours", "12", NUMBER),
        ("limits.hours", float("inf"), NUMBER),
        ("limits.memory_gb", float("nan"), NUMBER),
        ("run", "perfect", LIST),
        ("run", {"perfect": True}, LIST),
        ("methods", ["empty"], MAP),
        ("methods.mine", "empty", MAP),
        ("methods.mine", None, MAP),
        ("methods.mine.method", 1, TEXT),
        ("methods.mine.label", ["a", "b"], TEXT),
        ("methods.mine.hyperparameters", [1, 2], MAP),
        ("methods.mine.selection", 0.001, f"{TEXT} or {MAP}"),
        ("methods.mine.limits.hours", "long", NUMBER),
        ("experiments", [], MAP),
        ("experiments.perfect", ["linear"] * 50, MAP),
        ("experiments.perfect.title", 1, TEXT),
        ("experiments.perfect.data", "linear", MAP),
        ("experiments.perfect.data", [{"mechanism": "linear", "nodes": [10] * 100}], MAP),
        ("experiments.perfect.data.mechanism", 1, f"{TEXT} or {LIST}"),
        ("experiments.perfect.data.nodes", "10", f"{WHOLE} or {LIST}"),
        ("experiments.perfect.data.nodes", 10.0, f"{WHOLE} or {LIST}"),
        ("experiments.perfect.data.edges_per_node", {"e": 1}, f"{NUMBER} or {LIST}"),
        ("experiments.perfect.data.edges_per_node", float("nan"), f"{NUMBER} or {LIST}"),
        ("experiments.perfect.data.n", "1e4", f"{WHOLE} or {LIST}"),
        ("experiments.perfect.data.settings", 2.5, f"{WHOLE} or {LIST}"),
        ("experiments.perfect.data.targets_per_setting", 1, LIST),
        ("experiments.perfect.data.files", "mine.npz", LIST),
        ("experiments.perfect.methods", "empty", LIST),
        ("experiments.perfect.datasets", "ten", WHOLE),
        ("experiments.perfect.paper", 1, "one of"),
    ],
)
def test_a_wrong_type(key: str, value: Any, expected: str) -> None:
    message = refused(key, value)
    assert message.startswith(f"{key}: the value ")
    assert f"; expected {expected}" in message


@pytest.mark.parametrize(
    ("key", "value", "allowed"),
    [
        ("convention", "relased", "published, released, as_written"),
        ("methods.mine.selection", "held-out", "heldout"),
        ("experiments.perfect.data.mechanism", "lin", "linear, anm, nn, x, dna"),
        ("experiments.perfect.data.intervention", "hard", "perfect, perfect-uniform, imperfect, imperfect-small"),
        ("experiments.perfect.data.intervention", ["perfect"], "perfect, perfect-uniform, imperfect, imperfect-small"),
        ("experiments.perfect.targets", "hidden", "known, unknown"),
        ("experiments.perfect.paper", "mian", "main, uniform_intervention, small_change, sachs"),
    ],
)
def test_a_value_that_is_none_of_the_choices(key: str, value: Any, allowed: str) -> None:
    message = refused(key, value)
    assert message.startswith(f"{key}: the value {value!r} is not valid; expected one of {allowed}")


def test_one_wrong_entry_of_a_list_is_named_by_its_place() -> None:
    message = refused("experiments.perfect.data.mechanism", ["linear", "lin"])
    assert message.startswith("experiments.perfect.data.mechanism[1]: the value 'lin' is not valid; expected one of")
    message = refused("experiments.perfect.data.nodes", [10, 0])
    assert message.startswith("experiments.perfect.data.nodes[1]: the value 0 is not valid; expected at least 1")
    message = refused("experiments.perfect.methods", ["empty", 2])
    assert message.startswith("experiments.perfect.methods[1]: the value 2 is not valid; expected text")


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        ("seed", -1, "at least 0"),
        ("datasets", 0, "at least 1"),
        ("datasets", -3, "at least 1"),
        ("heldout", 0, "more than 0"),
        ("heldout", -0.2, "more than 0"),
        ("heldout", 1, "less than 1"),
        ("limits.hours", 0, "more than 0"),
        ("limits.memory_gb", -4, "more than 0"),
        ("methods.mine.limits.hours", 0, "more than 0"),
        ("experiments.perfect.datasets", 0, "at least 1"),
        ("experiments.perfect.data.nodes", 0, "at least 1"),
        ("experiments.perfect.data.edges_per_node", -1, "at least 0"),
        ("experiments.perfect.data.n", 0, "at least 1"),
        ("experiments.perfect.data.settings", -1, "at least 0"),
    ],
)
def test_a_number_out_of_range(key: str, value: float, expected: str) -> None:
    assert refused(key, value).startswith(f"{key}: the value {value} is not valid; expected {expected}")


@pytest.mark.parametrize(
    "key",
    [
        "run",
        "experiments.perfect.methods",
        "experiments.perfect.data.mechanism",
        "experiments.perfect.data.nodes",
        "experiments.perfect.data.edges_per_node",
        "experiments.perfect.data.n",
        "experiments.perfect.data.settings",
        "experiments.perfect.data.files",
    ],
)
def test_an_empty_list(key: str) -> None:
    assert refused(key, []).startswith(f"{key}: the value [] is not valid; expected at least 1 entry")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("run", ["perfect", "perfect"]),
        ("experiments.perfect.methods", ["empty", "random", "empty"]),
        ("experiments.perfect.data.mechanism", ["nn", "nn"]),
        ("experiments.perfect.data.nodes", [10, 20, 10]),
        ("experiments.perfect.data.edges_per_node", [1, 1.0]),
        ("experiments.perfect.data.n", [100, 100]),
        ("experiments.perfect.data.settings", [5, 5]),
    ],
)
def test_an_entry_that_stands_twice(key: str, value: list[Any]) -> None:
    message = refused(key, value)
    assert message.startswith(f"{key}: the value ")
    assert "; expected entries that differ" in message


@pytest.mark.parametrize("pair", [[1], [1, 2, 3], [0, 1], [-1, 1]])
def test_targets_per_setting_are_two_positive_numbers(pair: list[int]) -> None:
    message = refused("experiments.perfect.data.targets_per_setting", pair)
    assert message.startswith("experiments.perfect.data.targets_per_setting")
    assert any(text in message for text in ("expected at least 2 entries", "at most 2 entries", "more than 0"))


@pytest.mark.parametrize("name", ["a b", "a/b", "", ".", "..", ".hidden", "-x", "quick\n"])
def test_a_preset_is_the_name_of_a_folder_within_results(name: str) -> None:
    config = configuration()
    config["preset"] = name
    with pytest.raises(ConfigError, match=r"^preset: the value .* is not valid; expected a name of letters, digits"):
        Plan(config)


@pytest.mark.parametrize("name", ["my row", "a/b", "..", "igsp+kci"])
def test_the_name_of_a_row_is_part_of_a_path(name: str) -> None:
    config = configuration()
    config["methods"][name] = {"method": "empty"}
    assert refusal(config).startswith(f"methods: the value {name!r} is not valid; expected a name of letters, digits")


@pytest.mark.parametrize("name", ["my experiment", "a-b", "a.b", "a/b"])
def test_the_name_of_an_experiment_is_part_of_names_of_tables(name: str) -> None:
    config = configuration()
    config["experiments"][name] = config["experiments"]["perfect"]
    message = refusal(config)
    assert message.startswith(f"experiments: the value {name!r} is not valid; expected a name of letters, digits and _")


def test_sachs_is_asked_for_with_true() -> None:
    assert refused("experiments.sachs.data.sachs", False).startswith(
        "experiments.sachs.data.sachs: the value False is not valid; expected true"
    )


def test_a_long_value_is_not_shown() -> None:
    assert refused("preset", "x" * 1000 + "/").startswith("preset: the value 'xxx")
    assert "the value (a list) is not valid" in refused("experiments.perfect.data", list(range(1000)))


def test_no_map_at_all() -> None:
    assert refusal(["preset"]).startswith("the top level: the value ['preset'] is not valid; expected a map")


def test_the_first_of_several_errors_does_not_depend_on_their_order() -> None:
    config = configuration()
    config["datasets"], config["seed"], config["limits"]["hours"] = 0, -1, 0
    messages = {refusal(dict(reversed(config.items()))), refusal(config)}
    assert len(messages) == 1


def test_the_schema_is_a_schema_that_describes_every_key() -> None:
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    for part in (schema, *schema["$defs"].values(), schema["$defs"]["experiment"]["properties"]["data"]):
        for key, entry in part.get("properties", {}).items():
            target = entry.get("$ref", "").removeprefix("#/$defs/")
            assert "description" in entry or "description" in schema["$defs"].get(target, {}), key


def test_the_schema_names_the_experiments_of_the_paper() -> None:
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    named = schema["$defs"]["experiment"]["properties"]["paper"]["enum"]
    figures = {"nbinterv", "data_scale_examples", "data_scale_variables", "learning_dynamic", "learning_targets"}
    figures |= {"densities", "nn_unseen", "sachs_unseen"}
    assert set(named) == set(load_published()["experiment"]) | figures
    assert {entry.get("paper") for entry in configuration()["experiments"].values()} - {None} == set(named)


def test_a_preset_has_the_name_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("preset: other\n")
    with pytest.raises(ConfigError, match=r"^preset: 'other' in mine\.yaml; a preset has the name of its file, 'mine'"):
        preset_of(tmp_path / "mine.yaml")
    for content in ("preset: mine\n", "seed: 1\n"):
        (tmp_path / "mine.yaml").write_text(content)
        assert preset_of(tmp_path / "mine.yaml") == "mine"
