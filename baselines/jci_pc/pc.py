"""The PC algorithm with context variables: skeleton, orientation, and a DAG of the result.

Context variables (Mooij, Magliacane and Claassen 2020, "Joint causal inference") say in which setting a row was
measured. They are exogenous: no system variable causes them, and how they relate to each other is not asked.

In a partially directed graph, ``pdag[i, j]`` alone means i -> j, and both entries mean i - j.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import combinations, islice
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Flags = npt.NDArray[np.bool_]
Values = npt.NDArray[np.float64]
Sets = tuple[tuple[int, ...], ...]
Rule = Callable[[float, Values], Flags]  # whether abs(z) passes as independent at a level

_BATCH = 256  # conditioning sets tested at once: enough for numpy to be fast, little lost when the first ones separate
_KEPT_BATCHES = 1024  # at 40 variables, less than 100 MB
_DETERMINED = 1e-10  # share of a variable's variance below which others determine it
_STRONGEST = 1 - 1e-7  # a correlation of 1 has no finite Fisher z


class PartialCorrelations:
    """Fisher's z of partial correlations; those already computed are kept for the next significance level.

    Parameters
    ----------
    data : [n x p]
        Columns that never vary are taken as uncorrelated with everything.
    """

    def __init__(self, data: npt.ArrayLike) -> None:
        self.correlation = _correlation(np.asarray(data, dtype=np.float64))
        self.n = len(np.asarray(data))
        self.p = len(self.correlation)
        self.strengths = lru_cache(maxsize=_KEPT_BATCHES)(self._strengths)

    def _strengths(self, x: int, others: tuple[int, ...], sets: Sets) -> Values:
        """Return abs(z) of x with each of the others given each set [sets x others]; infinite where it is in the set.

        Variables are partialled out one after the other, for all sets at once. One that the earlier ones determine adds
        nothing and is skipped, so that duplicated columns need no inverse.
        """
        size = len(sets[0])
        given = np.array(sets, dtype=np.int64).reshape(len(sets), size)
        rows = np.column_stack([given, np.full(len(sets), x)])
        columns = np.column_stack([rows, np.tile(others, (len(sets), 1))])
        covariance = self.correlation[rows[:, :, None], columns[:, None, :]]
        variance = np.ones((len(sets), len(others)))
        for k in range(size):
            pivot = covariance[:, k, k]
            share = np.divide(1.0, pivot, out=np.zeros_like(pivot), where=pivot > _DETERMINED)[:, None]
            row = covariance[:, k]
            variance -= row[:, size + 1 :] ** 2 * share
            covariance[:, k + 1 :] -= (covariance[:, k + 1 :, k] * share)[:, :, None] * row[:, None, :]
        own = covariance[:, size, size, None]
        # What a conditioning set determines is independent of all else given that set.
        varies = (own > _DETERMINED) & (variance > _DETERMINED)
        scale = np.sqrt(np.where(varies, own * variance, 1.0))
        r = np.where(varies, covariance[:, size, size + 1 :], 0.0) / scale
        freedom = max(self.n - size - 3, 0)  # with too few rows independence cannot be rejected
        z: Values = np.sqrt(freedom) * np.abs(np.arctanh(np.clip(r, -_STRONGEST, _STRONGEST)))
        z[(given[:, :, None] == np.array(others)).any(axis=1)] = np.inf
        z.flags.writeable = False  # it is handed out again
        return z


def independent(alpha: float, strengths: Values) -> Flags:
    """Return whether a p-value is not below the level; strengths are abs(z)."""
    passes: Flags = strengths <= -NormalDist().inv_cdf(alpha / 2)
    return passes


def skeleton(tests: PartialCorrelations, context: Flags, alpha: float, rule: Rule = independent) -> tuple[Flags, Flags]:
    """Return which variables are adjacent [p x p], and which k separate i from j [p x p x p].

    The neighbours to condition on are those at the beginning of a level (Colombo and Maathuis 2014, "stable"), so the
    adjacencies do not depend on the order of the columns. Context variables are not tested against each other.
    """
    adjacent = ~np.eye(tests.p, dtype=bool) & ~np.outer(context, context)
    decide = partial(rule, alpha)
    separates = np.zeros((tests.p,) * 3, dtype=bool)
    size = 0
    while np.any(adjacent.sum(axis=0) > size):
        before = adjacent.copy()
        for x in range(tests.p):
            others = tuple(np.flatnonzero(before[x]).tolist())
            for y, given in _separated(tests, x, others, adjacent[x, list(others)], size, decide):
                adjacent[x, y] = adjacent[y, x] = False
                separates[x, y, given] = separates[y, x, given] = True
        size += 1
    return adjacent, separates


def _separated(
    tests: PartialCorrelations,
    x: int,
    others: tuple[int, ...],
    wanted: Flags,
    size: int,
    decide: Callable[[Values], Flags],
) -> Iterator[tuple[int, list[int]]]:
    """Yield the wanted others that a set of this size, out of the others, separates from x; and the first such set."""
    wanted = wanted.copy()
    sets = combinations(others, size)
    while wanted.any() and (batch := tuple(islice(sets, _BATCH))):
        passes = decide(tests.strengths(x, others, batch))
        for place in np.flatnonzero(passes.any(axis=0) & wanted):
            wanted[place] = False
            yield others[place], list(batch[int(passes[:, place].argmax())])


def orient(adjacent: Flags, separates: Flags, context: Flags) -> Flags:
    """Return the partially directed graph of a skeleton.

    All context variables are adjacent and stay undirected among themselves; none has a system variable as its cause, so
    none is a collider. Where two colliders want the same edge, the later column wins.
    """
    near = (adjacent | np.outer(context, context)) & ~np.eye(len(adjacent), dtype=bool)
    pdag = near & ~np.outer(~context, context)
    for y in np.flatnonzero(~context):
        for x, z in combinations(np.flatnonzero(near[y]), 2):
            if not near[x, z] and not separates[x, z, y]:
                pdag[[x, z], y] = True
                pdag[y, [x, z]] = False
    return meek(pdag)


def meek(pdag: Flags) -> Flags:
    """Return the graph with the edges directed that Meek's rules 1 to 3 compel.

    Finite samples can compel both directions of an edge. Then the order of the edges decides, and it is pcalg's: one
    rule over all edges after the other, edges by their second node.
    """
    pdag = pdag.copy()
    while True:
        before = pdag.copy()
        adjacent = pdag | pdag.T
        for b, a in np.argwhere((pdag & ~pdag.T).T):  # a -> b - c: b is no collider
            onwards = pdag[b] & pdag[:, b] & ~adjacent[a]
            onwards[a] = False
            pdag[onwards, b] = False
        for b, a in np.argwhere((pdag & pdag.T).T):  # a -> c -> b: no cycle
            if np.any(pdag[a] & ~pdag[:, a] & pdag[:, b] & ~pdag[b]):
                pdag[a, b], pdag[b, a] = True, False
        for b, a in np.argwhere((pdag & pdag.T).T):  # a - c -> b for two c: b -> a would make a collider or a cycle
            through = np.flatnonzero(pdag[a] & pdag[:, a] & pdag[:, b] & ~pdag[b])
            if any(not adjacent[c, e] for c, e in combinations(through, 2)):
                pdag[a, b], pdag[b, a] = True, False
        if np.array_equal(pdag, before):
            return pdag


def extend(pdag: Flags) -> Flags | None:
    """Return a DAG with the same skeleton, directed edges and colliders (Dor and Tarsi 1992), or None without one.

    >>> extend(np.array([[False, True], [True, False]])).astype(int).tolist()
    [[0, 0], [1, 0]]
    """
    rest, dag = pdag.copy(), pdag.copy()
    left = np.ones(len(pdag), dtype=bool)
    while left.any():
        sink = next((x for x in np.flatnonzero(left).tolist() if _can_be_last(rest, x)), None)
        if sink is None:
            return None
        dag[sink, rest[sink]] = False
        rest[sink] = rest[:, sink] = False
        left[sink] = False
    return dag


def _can_be_last(pdag: Flags, x: int) -> bool:
    """Whether all edges of x can point to it without a new collider."""
    if np.any(pdag[x] & ~pdag[:, x]):
        return False
    adjacent = pdag | pdag.T
    undirected = np.flatnonzero(pdag[x])
    reached = adjacent[undirected]
    reached[np.arange(len(undirected)), undirected] = True
    return bool(np.all(reached | ~adjacent[x]))


def _correlation(data: Values) -> Values:
    """Return the correlation matrix, 0 for columns that never vary."""
    centred = data - data.mean(axis=0)
    centred[:, np.ptp(data, axis=0) == 0] = 0.0
    largest = np.abs(centred).max(axis=0)
    centred /= np.where(largest > 0, largest, 1.0)  # squares of very large values would overflow
    length = np.sqrt(np.sum(centred**2, axis=0))
    centred /= np.where(length > 0, length, 1.0)
    correlation: Values = centred.T @ centred
    np.fill_diagonal(correlation, 1.0)
    return correlation
