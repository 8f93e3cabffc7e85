"""Where to draw the nodes and edges of a graph: layers from causes (top) to effects (bottom), few crossings.

The method of Sugiyama, Tagawa and Toda (1981): nodes get layers, an edge over several layers gets a bend in each, the
order within layers is improved by sweeps, and then every node moves towards its neighbours as far as there is room.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

SWEEPS = 24
LEAST_WIDTH = 4.0  # of lines of nodes without edges
BEND_WIDTH = 0.15  # of a line that passes between nodes

Edge = tuple[int, int]
Point = tuple[float, float]


@dataclass(frozen=True)
class Layout:
    """Centres of the nodes [d x 2], and the points of each edge from its first node to its second."""

    centres: npt.NDArray[np.float64]
    routes: dict[Edge, list[Point]]


def layered(widths: Sequence[float], edges: Sequence[Edge], *, gap: float = 0.3, height: float = 1.0) -> Layout:
    """Lay out a graph of ``len(widths)`` nodes.

    Parameters
    ----------
    widths
        Of the nodes' boxes.
    edges
        Pairs (from, to), the important ones first: an edge that would close a cycle points upwards.
    gap, height
        Least distance of boxes within a layer; distance of layers.
    """
    downwards = _acyclic(len(widths), edges)
    linked = sorted({node for edge in downwards for node in edge})
    layer = _layers(len(widths), downwards)
    sizes = list(widths)
    chains = {edge: _chain(edge, layer, sizes) for edge in downwards}
    layer += [0] * (len(sizes) - len(layer))
    for chain in chains.values():
        for step, node in enumerate(chain):
            layer[node] = layer[chain[0]] + step
    segments = [pair for chain in chains.values() for pair in pairwise(chain)]
    bends = range(len(widths), len(sizes))
    rows = _ordered([*linked, *bends], layer, segments)
    x = _abscissae(rows, segments, sizes, gap)
    alone = [node for node in range(len(widths)) if node not in linked]
    depth, middle = len(rows), _middle(x)
    for row in _in_lines(alone, sizes, gap, max(_extent(x, sizes), LEAST_WIDTH)):
        total = sum(sizes[node] for node in row) + gap * (len(row) - 1)
        start = middle - total / 2
        for node in row:
            x[node], layer[node] = start + sizes[node] / 2, depth
            start += sizes[node] + gap
        depth += 1
    centres = np.array([(x[node], -height * layer[node]) for node in range(len(widths))], dtype=np.float64)
    routes = {}
    for edge in edges:
        chain = chains.get(edge) or chains[edge[::-1]][::-1]
        routes[edge] = [(x[node], -height * layer[node]) for node in chain]
    return Layout(centres.reshape(-1, 2), routes)


def _acyclic(d: int, edges: Sequence[Edge]) -> list[Edge]:
    """Return the edges, those turned round that would close a cycle with the ones before them."""
    reach = np.eye(d, dtype=bool)
    kept: dict[Edge, None] = {}
    for i, j in edges:
        first, last = (j, i) if reach[j, i] else (i, j)
        kept[first, last] = None
        reach |= np.outer(reach[:, first], reach[last])
    return list(kept)


def _layers(d: int, edges: list[Edge]) -> list[int]:
    """Return the length of the longest path to each node; sources stand just above their first effect."""
    layer = [0] * d
    for _ in range(d):
        for i, j in edges:
            layer[j] = max(layer[j], layer[i] + 1)
    targets = {j for _, j in edges}
    for i in range(d):
        below = [layer[j] for source, j in edges if source == i]
        if i not in targets and below:
            layer[i] = min(below) - 1
    return layer


def _chain(edge: Edge, layer: list[int], sizes: list[float]) -> list[int]:
    """Return the nodes of an edge with a bend for each layer that it passes; the bends are added to ``sizes``."""
    i, j = edge
    bends = list(range(len(sizes), len(sizes) + layer[j] - layer[i] - 1))
    sizes += [BEND_WIDTH] * len(bends)
    return [i, *bends, j]


def _ordered(nodes: list[int], layer: list[int], segments: list[Edge]) -> list[list[int]]:
    """Return the nodes of each layer from left to right, as a sweep with the fewest crossings found them."""
    depth = max((layer[node] for node in nodes), default=-1) + 1
    rows: list[list[int]] = [[node for node in nodes if layer[node] == level] for level in range(depth)]
    above: dict[int, list[int]] = {node: [] for node in nodes}
    below: dict[int, list[int]] = {node: [] for node in nodes}
    for i, j in segments:
        above[j].append(i)
        below[i].append(j)
    best, fewest = [list(row) for row in rows], _crossings(rows, below)
    for sweep in range(SWEEPS):
        down = sweep % 2 == 0
        levels = range(1, depth) if down else range(depth - 2, -1, -1)
        neighbours = above if down else below
        for level in levels:
            place = {node: k for k, node in enumerate(rows[level - 1 if down else level + 1])}

            def middle(node: int, place: dict[int, int] = place, old: list[int] = rows[level]) -> float:
                near = [place[other] for other in neighbours[node] if other in place]  # noqa: B023
                return float(np.mean(near)) if near else float(old.index(node))

            rows[level] = sorted(rows[level], key=middle)
        count = _crossings(rows, below)
        if count < fewest:
            best, fewest = [list(row) for row in rows], count
    return best


def _crossings(rows: list[list[int]], below: dict[int, list[int]]) -> int:
    total = 0
    for upper, lower in pairwise(rows):
        place = {node: k for k, node in enumerate(lower)}
        ends = [end for node in upper for end in sorted(place[other] for other in below[node])]
        total += sum(first > second for k, first in enumerate(ends) for second in ends[k + 1 :])
    return total


def _abscissae(rows: list[list[int]], segments: list[Edge], sizes: list[float], gap: float) -> dict[int, float]:
    """Return the x of each node: as near to the mean of its neighbours as order and room allow."""
    x: dict[int, float] = {}
    for row in rows:
        x |= dict(zip(row, _spaced(np.zeros(len(row)), row, sizes, gap), strict=True))
    near: dict[int, list[int]] = {node: [] for node in x}
    for i, j in segments:
        near[i].append(j)
        near[j].append(i)
    for sweep in range(SWEEPS):
        for row in rows if sweep % 2 == 0 else rows[::-1]:
            wanted = np.array([np.mean([x[other] for other in near[node]]) if near[node] else x[node] for node in row])
            x |= dict(zip(row, _spaced(wanted, row, sizes, gap), strict=True))
    return x


def _spaced(wanted: npt.NDArray[np.float64], row: list[int], sizes: list[float], gap: float) -> list[float]:
    """Return the places nearest to the wanted ones, in least squares, at which the boxes of a row do not overlap."""
    steps = [(sizes[left] + sizes[right]) / 2 + gap for left, right in pairwise(row)]
    offset = np.concatenate([[0.0], np.cumsum(steps)])
    blocks: list[tuple[float, int]] = []  # mean and size: neighbours that push each other move as one
    for value in wanted - offset:
        mean, size = float(value), 1
        while blocks and blocks[-1][0] > mean:
            other, count = blocks.pop()
            mean, size = (mean * size + other * count) / (size + count), size + count
        blocks.append((mean, size))
    moved = np.repeat([mean for mean, _ in blocks], [size for _, size in blocks])
    return [float(value) for value in moved + offset]


def _in_lines(nodes: list[int], sizes: list[float], gap: float, width: float) -> list[list[int]]:
    """Break the nodes without edges into lines."""
    lines: list[list[int]] = []
    room = 0.0
    for node in nodes:
        room -= sizes[node] + gap
        if not lines or room < 0:
            lines.append([])
            room = width - sizes[node] - gap
        lines[-1].append(node)
    return lines


def _middle(x: dict[int, float]) -> float:
    return (min(x.values()) + max(x.values())) / 2 if x else 0.0


def _extent(x: dict[int, float], sizes: list[float]) -> float:
    if not x:
        return 0.0
    return max(x[node] + sizes[node] / 2 for node in x) - min(x[node] - sizes[node] / 2 for node in x)
