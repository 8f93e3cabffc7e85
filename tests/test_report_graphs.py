"""Learned graphs in the report: pictures of data sets that are shown one by one, with links to their files."""

from pathlib import Path

import pytest

from benchmark.graph_files import folder_path, write_folder
from benchmark.plan import Plan
from benchmark.report.graphs import shown_graphs
from tests.samples import own_configuration
from tests.test_learned_graphs import dataset, rows


@pytest.fixture
def plan() -> Plan:
    config = own_configuration(["dcdi-g", "gies", "random", "cam"])
    config["experiments"]["mine"]["data"] = {"sachs": True}
    return Plan(config)


def test_every_drawing_stands_with_its_files(plan: Plan, tmp_path: Path) -> None:
    experiment = plan.experiments["mine"]
    folder = folder_path("mine", "sachs", "00")
    write_folder(tmp_path / folder, dataset(None), rows(), "sachs")
    (shown,) = shown_graphs(experiment, tmp_path)
    assert shown.consensus is not None
    assert [graph.label for graph in shown.graphs] == ["DCDI-G", "GIES", "Random graph"]  # CAM failed
    names = [path.removeprefix(f"{folder}/") for _, path in shown.graphs[0].files]
    assert names == ["dcdi-g.csv", "dcdi-g.graphml", "dcdi-g.png", "dcdi-g.targets.csv"]
    assert all((tmp_path / path).exists() for graph in shown.graphs for _, path in graph.files)
    assert shown.graphs[0].image.uri.startswith("data:image/webp;base64,")


def test_what_was_not_drawn_is_not_shown(plan: Plan, tmp_path: Path) -> None:
    assert shown_graphs(plan.experiments["mine"], tmp_path) == []
