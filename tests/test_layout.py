"""Layered drawings: causes above effects, boxes that do not overlap, lines that avoid what they pass."""

import numpy as np
import pytest

from benchmark.layout import Edge, layered
from benchmark.simulate import simulate


def edges_of(nodes: int, per_node: float, seed: int) -> list[Edge]:
    graph = simulate("linear", nodes, per_node, n=nodes + 1, seed=seed, heldout=0).graph
    assert graph is not None
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(graph), strict=True)]


@pytest.mark.parametrize(("nodes", "per_node"), [(2, 0.5), (11, 1), (11, 4), (30, 1), (50, 2)])
def test_causes_stand_above_effects_and_boxes_apart(nodes: int, per_node: float) -> None:
    widths = [0.4 + 0.1 * (node % 5) for node in range(nodes)]
    edges = edges_of(nodes, per_node, seed=nodes)
    layout = layered(widths, edges, gap=0.2, height=1.0)
    assert layout.centres.shape == (nodes, 2)
    for i, j in edges:
        assert layout.centres[i, 1] > layout.centres[j, 1]
    for i in range(nodes):
        for j in range(i):
            if layout.centres[i, 1] == layout.centres[j, 1]:
                distance = abs(layout.centres[i, 0] - layout.centres[j, 0])
                assert distance >= (widths[i] + widths[j]) / 2 + 0.2 - 1e-9


def test_routes_bend_in_every_layer_and_beside_the_boxes() -> None:
    edges = edges_of(15, 2, seed=3)
    widths = [0.8] * 15
    layout = layered(widths, edges, gap=0.2, height=1.0)
    for (i, j), route in layout.routes.items():
        assert route[0] == pytest.approx(tuple(layout.centres[i]))
        assert route[-1] == pytest.approx(tuple(layout.centres[j]))
        assert np.allclose(np.diff([y for _, y in route]), -1.0)
        for x, y in route[1:-1]:
            boxes = [node for node in range(15) if layout.centres[node, 1] == y]
            assert all(abs(x - layout.centres[node, 0]) > widths[node] / 2 for node in boxes)


def test_an_edge_against_the_others_points_upwards() -> None:
    layout = layered([1.0] * 3, [(0, 1), (1, 2), (2, 0), (1, 0)])
    y = layout.centres[:, 1]
    assert y[0] > y[1] > y[2]
    assert layout.routes[2, 0][0] == pytest.approx(tuple(layout.centres[2]))
    assert layout.routes[2, 0][-1] == pytest.approx(tuple(layout.centres[0]))
    assert layout.routes[1, 0] == layout.routes[0, 1][::-1]


def test_a_tree_has_no_crossings() -> None:
    edges = [(0, 1), (0, 2), (1, 6), (1, 5), (2, 4), (2, 3)]
    layout = layered([0.5] * 7, edges)
    places = sorted((layout.centres[child, 0], parent) for parent, child in edges if parent in (1, 2))
    assert [parent for _, parent in places] in ([1, 1, 2, 2], [2, 2, 1, 1])


@pytest.mark.parametrize("nodes", [1, 3, 40])
def test_nodes_without_edges_stand_in_lines(nodes: int) -> None:
    layout = layered([0.5] * nodes, [])
    assert len({tuple(centre) for centre in layout.centres.tolist()}) == nodes
    assert np.ptp(layout.centres[:, 0]) < 5


def test_the_same_graph_is_drawn_in_the_same_way() -> None:
    edges = edges_of(20, 2, seed=1)
    one, two = layered([0.5] * 20, edges), layered([0.5] * 20, edges)
    np.testing.assert_array_equal(one.centres, two.centres)
    assert one.routes == two.routes
