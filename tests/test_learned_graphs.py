"""Learned graphs as tables, files and drawings."""

import json
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pandas as pd
import pytest

from benchmark.config import ConfigError
from benchmark.dataset import Dataset, Fit
from benchmark.drawing import VERDICTS, draw_consensus, draw_graph, save
from benchmark.graph_files import Selected, edges_of, selected, shown_one_by_one, write_folder
from benchmark.learned_graphs import consensus, edge_table, fit_of, missed_edges
from benchmark.plan import Plan, data_path, fit_path
from benchmark.records import failed, succeeded, write_records
from tests.samples import configuration, own_configuration

NAMES = ("TP53", "MDM2", "p44/42", "größe")
TRUTH = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]])
FOUND = np.array([[0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
PROBABILITIES = (FOUND * 0.9).tolist()
CLASS = {"cpdag": np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])}


def found(**info: Any) -> Fit:
    return Fit(FOUND, info=info, names=NAMES)


def undirected() -> Fit:
    graph = np.array([[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]], dtype=np.int8)
    return Fit(graph, "cpdag", info=dict(CLASS), names=NAMES)


def dataset(graph: Any = TRUTH) -> Dataset:
    X = np.random.default_rng(0).normal(size=(20, 4))
    return Dataset(X, [0] * 10 + [1] * 10, [[0, 0, 0, 0], [0, 0, 1, 0]], graph, NAMES)


def test_edges_with_names_probabilities_and_verdicts() -> None:
    table = edge_table(found(edge_probabilities=PROBABILITIES), TRUTH)
    assert table.to_dict("list") == {
        "from": ["TP53", "TP53", "p44/42"],
        "to": ["MDM2", "größe", "MDM2"],
        "probability": [0.9] * 3,
        "undirected": [0] * 3,
        "verdict": ["correct", "extra", "reversed"],
    }
    assert set(edge_table(found())["verdict"]) == {""}
    assert missed_edges(found().graph, TRUTH) == [(0, 2), (3, 2)]


def test_an_edge_whose_direction_is_open_is_true_either_way() -> None:
    table = edge_table(undirected(), TRUTH.T)
    assert table[["undirected", "verdict"]].to_numpy().tolist() == [[1, "correct"], [0, "correct"]]


def test_networkx() -> None:
    graph = found(edge_probabilities=PROBABILITIES).to_networkx()
    assert list(graph.nodes) == list(NAMES)
    assert graph.edges["TP53", "MDM2"] == {"undirected": False, "probability": 0.9}
    assert undirected().to_networkx().edges["TP53", "MDM2"] == {"undirected": True}


def test_repr() -> None:
    assert repr(undirected()) == "<Fit: cpdag of 4 variables, 2 edges: TP53 -- MDM2, p44/42 -> größe>"
    assert (
        repr(Fit(np.zeros((1, 1), dtype=np.int8), heldout_nll=1.23456))
        == "<Fit: dag of 1 variables, held-out nll 1.2346, 0 edges>"
    )
    full = Fit(np.triu(np.ones((6, 6)), k=1))
    assert repr(full).endswith("V2 -> V5, and 3 more>")


def test_a_fit_needs_as_many_names_as_variables() -> None:
    with pytest.raises(ValueError, match="it has 2 names"):
        Fit(FOUND, names=("a", "b"))


def test_a_record_becomes_the_fit_that_it_was() -> None:
    targets = np.full((2, 4), 0.25)
    for fit in (found(edge_probabilities=PROBABILITIES), undirected(), Fit(FOUND, targets=targets, names=NAMES)):
        again = fit_of(json.loads(json.dumps(succeeded(fit, {}, NAMES, 1.0, 1.0))), NAMES)
        np.testing.assert_array_equal(again.graph, fit.graph)
        np.testing.assert_array_equal(again.undirected, fit.undirected)
        assert repr(again) == repr(fit)
        assert again.info.get("edge_probabilities") == fit.info.get("edge_probabilities")
        assert (again.targets is None) == (fit.targets is None)


def test_consensus_counts_methods_and_directions() -> None:
    turned = Fit(np.where(FOUND.T * np.eye(4)[1][:, None], 1, 0), names=NAMES)  # MDM2 -> TP53, MDM2 -> p44/42
    table = consensus({"A": found(), "B": turned, "C": undirected()}, TRUTH).set_index(["from", "to"])
    # One has TP53 -> MDM2, one MDM2 -> TP53, one leaves it open.
    first = table.loc[("TP53", "MDM2")]
    assert first[["methods", "of", "forward", "backward", "undirected"]].tolist() == [3, 3, 1, 1, 1]
    assert (first["verdict"], first["found_by"]) == ("correct", "A; B; C")
    assert table.loc[("MDM2", "p44/42"), ["methods", "forward", "verdict"]].tolist() == [2, 1, "correct"]
    assert table.loc[("TP53", "größe"), ["methods", "verdict"]].tolist() == [1, "extra"]
    assert table["methods"].is_monotonic_decreasing
    assert consensus({}).empty


def colours(figure: Any) -> dict[str, int]:
    """Return how many lines of a drawing have each colour of a verdict."""
    from matplotlib.colors import to_hex
    from matplotlib.patches import FancyBboxPatch, PathPatch

    drawn = [patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    boxes = [patch for patch in figure.axes[0].patches if isinstance(patch, FancyBboxPatch)]
    assert len(boxes) == len(NAMES)
    names = {colour: name for name, (colour, _) in VERDICTS.items()}
    counted = [names[to_hex(patch.get_edgecolor())] for patch in drawn]
    return {name: counted.count(name) for name in sorted(set(counted))}


def test_a_drawing_tells_true_false_reversed_and_missed_edges_apart() -> None:
    assert colours(draw_graph(found(), truth=TRUTH)) == {"extra": 1, "missed": 2, "reversed": 1, "correct": 1}
    assert colours(draw_graph(found())) == {"": 3}
    shown = draw_graph(found(), truth=TRUTH)
    assert [text.get_text() for text in shown.legends[0].get_texts()] == [
        "1 correct",
        "1 extra",
        "1 reversed",
        "2 missed",
    ]


def test_probable_edges_are_thick() -> None:
    from matplotlib.patches import PathPatch

    probabilities = (FOUND * np.array([[0.6], [0], [1.0], [0]])).tolist()
    figure = draw_graph(found(edge_probabilities=probabilities))
    widths = [patch.get_linewidth() for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]
    assert widths == [pytest.approx(1.28), pytest.approx(1.28), pytest.approx(1.8)]


def test_the_consensus_shows_what_half_of_the_methods_have() -> None:
    table = consensus({"A": found(), "B": found(), "C": undirected()})
    labels = [text.get_text() for text in draw_consensus(NAMES, table).axes[0].texts]
    assert labels == ["2", "2", "3", *NAMES]


def test_a_drawing_has_the_same_bytes_each_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        save(draw_graph(found(), truth=TRUTH, title="A title"), tmp_path / f"{name}.png")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def rows() -> list[Selected]:
    learned = Fit(FOUND, heldout_nll=1.5, targets=np.array([[0, 0, 0, 0], [0, 0, 0.9, 0.1]]), names=NAMES)
    return [
        Selected("dcdi-g", "DCDI-G", False, succeeded(learned, {"sparsity": 0.1}, NAMES, 1.0, 1.0)),
        Selected("gies", "GIES", False, succeeded(undirected(), {"penalty": 2.0}, NAMES, 1.0, 1.0)),
        Selected("random", "Random", True, succeeded(Fit(TRUTH, names=NAMES), {}, NAMES, 1.0, 1.0)),
        Selected("cam", "CAM", False, failed("timeout", "too slow", {"cutoff": 0.1}, 1.0, None)),
    ]


def test_the_folder_of_a_data_set(tmp_path: Path) -> None:
    (tmp_path / "consensus.csv").write_text("of an older run")
    write_folder(tmp_path, dataset(), rows(), "genes")
    kinds = ("csv", "graphml", "png")
    expected = {f"{row}.{kind}" for row in ("dcdi-g", "gies", "random", "consensus") for kind in kinds}
    assert {path.name for path in tmp_path.iterdir()} == expected | {"summary.csv", "dcdi-g.targets.csv"}
    edges = pd.read_csv(tmp_path / "dcdi-g.csv")
    assert edges["from"].tolist() == ["TP53", "TP53", "p44/42"]
    graph = networkx.read_graphml(tmp_path / "gies.graphml")
    assert set(graph.nodes) == set(NAMES)
    assert graph.edges["TP53", "MDM2"] == {"undirected": True, "verdict": "correct"}
    targets = pd.read_csv(tmp_path / "dcdi-g.targets.csv").to_dict("records")
    assert targets == [{"condition": "setting 1", "TP53": 0, "MDM2": 0, "p44/42": 0.9, "größe": 0.1}]
    summary = pd.read_csv(tmp_path / "summary.csv", dtype=str, keep_default_na=False).set_index("row")
    assert summary.loc["cam", ["status", "reason", "edges"]].tolist() == ["timeout", "too slow", ""]
    assert summary.loc["dcdi-g", ["edges", "correct", "extra", "reversed", "missed"]].tolist() == [
        "3",
        "1",
        "1",
        "1",
        "2",
    ]
    agreed = pd.read_csv(tmp_path / "consensus.csv")
    assert set(agreed["of"]) == {2}  # neither the control nor the failed one counts


def test_the_folder_without_truth_and_with_one_method(tmp_path: Path) -> None:
    write_folder(tmp_path, dataset(None), rows()[:1], "genes")
    assert not list(tmp_path.glob("consensus.*"))
    assert pd.read_csv(tmp_path / "dcdi-g.csv")["verdict"].isna().all()
    assert pd.read_csv(tmp_path / "summary.csv")["missed"].isna().all()


def test_the_selected_graphs_of_an_experiment(tmp_path: Path) -> None:
    config = own_configuration(["empty", "sortnregress"], datasets=1)
    (experiment,) = Plan(config).experiments.values()
    (condition,) = experiment.conditions
    data = dataset()
    data.save(tmp_path / data_path(condition.name, "00"))
    worse, better = Fit(TRUTH, heldout_nll=2.0, names=NAMES), Fit(FOUND, heldout_nll=1.0, names=NAMES)
    for row, fits in {"empty": [Fit(np.zeros((4, 4), dtype=np.int8))], "sortnregress": [worse, better]}.items():
        records = [succeeded(fit, {"penalty": float(k)}, NAMES, 1.0, 1.0) for k, fit in enumerate(fits)]
        write_records(tmp_path / fit_path("known", condition.name, "00", row), records, {})
    chosen = selected(experiment, condition.name, "00", tmp_path)
    assert [(one.row, one.record["hyperparameters"]) for one in chosen][1] == ("sortnregress", {"penalty": 1.0})
    table = edges_of(experiment, tmp_path)
    assert table["row"].tolist() == ["sortnregress"] * 3
    assert table["verdict"].tolist() == ["correct", "extra", "reversed"]


def test_own_files_and_sachs_are_drawn_in_every_run() -> None:
    plan = Plan(configuration("quick"))
    shown = {name: shown_one_by_one(experiment) for name, experiment in plan.experiments.items()}
    assert [(condition.name, index) for condition, index in shown.pop("sachs")] == [("sachs", "00")]
    assert not any(shown.values())


@pytest.mark.parametrize("name", ["consensus", "summary"])
def test_no_row_takes_the_name_of_another_file(name: str) -> None:
    config = own_configuration([name], methods={name: {"method": "empty"}})
    with pytest.raises(ConfigError, match=rf"experiments\.mine\.methods: a row cannot be called '{name}'"):
        Plan(config)
