"""The likelihood of linear Gaussian models over the rows in which a variable is no target.

The local score of node j with parents pa is -n_j / 2 (1 + log sigma2_j) - penalty (1 + |pa|), over the n_j rows in
which j is no target, with one intercept for all of them (Hauser and Buehlmann 2012; pcalg's GaussL0penIntScore).
It depends on the rows only through their covariance, and what a search compares are differences of it: by how much
a parent u of v improves the likelihood given other parents. Those come from log-determinants of small matrices.
"""

import math
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from baselines.gies.essential_graphs import cut_edges, members
from benchmark.dataset import Dataset

Values = npt.NDArray[np.float64]

# Added to the diagonal of every correlation matrix, so that exact relations (a duplicated column, fewer rows than
# variables) have a large likelihood instead of an infinite one, and no matrix is singular.
RIDGE = 1e-12
# Below this ratio of its spread to its size, a column is constant up to rounding.
CONSTANT = 1e-12


class InterventionalScore:
    """Local scores and their differences; nothing here depends on the penalty."""

    def __init__(self, dataset: Dataset) -> None:
        if dataset.targets is None:
            raise ValueError("GIES needs to know the targets of each setting, and those of this data set are unknown")
        X = dataset.X[dataset.training]
        present = np.unique(dataset.setting[dataset.training])
        targeted = dataset.targeted[dataset.training]
        self.cut = cut_edges(dataset.targets[present])
        # Nodes that are targets of the same settings share their rows, hence one covariance matrix.
        columns, self._group = np.unique(dataset.targets[present], axis=1, return_inverse=True)
        representatives = [int(np.flatnonzero(self._group == group)[0]) for group in range(columns.shape[1])]
        covariances = [_correlation(X[~targeted[:, j]]) for j in representatives]
        self._correlations = [correlation for correlation, _ in covariances]
        self._scales = [scale for _, scale in covariances]
        self._rows = [int((~targeted[:, j]).sum()) for j in representatives]
        self.nodes, self.rows = dataset.d, len(X)
        # A table of log-determinants has 2^20 entries at most (see gains): 32 of them are 256 MB.
        self._large_table = lru_cache(maxsize=32)(self._log_determinants)
        self._small_table = lru_cache(maxsize=100_000)(self._log_determinants)

    def local(self, node: int, parents: int, penalty: float) -> float:
        """Return the penalised local score of a node with these parents."""
        group = int(self._group[node])
        variance = self._conditional(group, parents, [node])[0, 0] * self._scales[group][node] ** 2
        likelihood = -0.5 * self._rows[group] * (1 + math.log(max(variance, np.finfo(float).tiny)))
        return likelihood - penalty * (1 + parents.bit_count())

    def gains(self, u: int, v: int, given: int, optional: int) -> Values:
        """Return how much u as a parent of v adds to the log-likelihood beside the parents ``given`` and C.

        C runs over all subsets of the set ``optional``: entry c belongs to the one that :func:`subset` names.
        """
        nodes = optional | 1 << u | 1 << v
        group = int(self._group[v])
        table = (self._small_table if nodes.bit_count() <= 8 else self._large_table)(group, given, nodes)
        axes = list(members(nodes))

        def part(with_u: int, with_v: int) -> Values:
            chosen = {u: with_u, v: with_v}
            picked: Values = table[tuple(chosen.get(node, slice(None)) for node in axes)]
            return picked

        information = part(1, 0) + part(0, 1) - part(0, 0) - part(1, 1)
        return np.ravel(0.5 * self._rows[group] * information)

    def _log_determinants(self, group: int, given: int, nodes: int) -> Values:
        """Return the log-determinant of the conditional covariance of each subset of the nodes: one axis per node.

        Nodes are eliminated one after the other, in all subsets at once: each matrix of the batch splits into the
        one of the subsets without the node and the one (a Schur complement) of those with it.
        """
        axes = list(members(nodes))
        batch = self._conditional(group, given, axes)[None]
        total = np.zeros(1)
        for _ in axes:
            pivot, row, rest = batch[:, 0, 0], batch[:, 0, 1:], batch[:, 1:, 1:]
            complement = rest - row[:, :, None] * (row / pivot[:, None])[:, None, :]
            batch = np.stack([rest, complement], axis=1).reshape(2 * len(batch), *rest.shape[1:])
            total = np.stack([total, total + np.log(pivot)], axis=1).reshape(-1)
        return total.reshape((2,) * len(axes))

    def _conditional(self, group: int, given: int, nodes: list[int]) -> Values:
        """Return the covariance of some nodes conditional on others."""
        correlation = self._correlations[group]
        block: Values = correlation[nodes][:, nodes]
        if given:
            known = list(members(given))
            across = correlation[known][:, nodes]
            block = block - across.T @ np.linalg.solve(correlation[known][:, known], across)
        return block


def subset(number: int, optional: int) -> int:
    """Return the subset of a set that an index of :meth:`InterventionalScore.gains` stands for.

    >>> [bin(subset(number, 0b1010)) for number in range(4)]
    ['0b0', '0b1000', '0b10', '0b1010']
    """
    chosen, position = 0, optional.bit_count()
    for node in members(optional):
        position -= 1
        chosen |= (number >> position & 1) << node
    return chosen


def index_of(chosen: int, optional: int) -> int:
    """Return the index of a subset, the inverse of :func:`subset`."""
    number = 0
    for node in members(optional):
        number = number << 1 | chosen >> node & 1
    return number


def _correlation(X: Values) -> tuple[Values, Values]:
    """Return the correlation matrix, regularised, and the standard deviations; constant columns correlate with none."""
    d = X.shape[1]
    if len(X) == 0:
        return np.eye(d), np.ones(d)
    centred = X - X.mean(axis=0)
    scale = np.sqrt(np.mean(centred**2, axis=0))
    constant = scale <= CONSTANT * np.abs(X).max(axis=0)
    standard = np.where(constant, 0.0, centred / np.where(constant, 1.0, scale))
    correlation: Values = standard.T @ standard / len(X)
    np.fill_diagonal(correlation, 1.0 + RIDGE)
    return correlation, scale
