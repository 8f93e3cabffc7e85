"""IGSP and UT-IGSP as the paper's authors ran them: the library ``causaldag`` of June 2020, on the training rows.

That library differs in four ways from :mod:`baselines.igsp.search` and its tests:

- Where IGSP asks whether an intervention on i leaves j unchanged, the arguments are shifted: it tests j given the
  *variable* that has the setting's number, and in the *first* setting. (This error lasted from May 2019 to October
  2020.) The authors numbered the settings by their targets, those with equal targets being one.
- With partial correlations, the starting graph is thresholded by one-sided p-values: at twice the level.
- With kernels, a variable's own distribution always passes as unchanged in a setting of another size than the
  observational one: the width of the kernel over the two labels is then 0, and nothing compares with NaN.
- Covered arcs are visited in the order of a Python set. It depends on how Python hashes pairs of numbers, which
  changed in version 3.8; the authors had 3.7.

The authors drew with seed 1, whatever the data set, and gave UT-IGSP the true targets as known ones: it never turns an
arc round whose cause is a known target of a setting that leaves the effect, given its parents, unchanged. So the
published figures of UT-IGSP are not those of hidden targets.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from baselines._shared.ci_tests import Memo
from baselines._shared.variants import training_rows
from baselines.igsp.search import Arc, Dag, InterventionalArcs, Search, members, sparsest, target_sets, ut_igsp
from benchmark.dataset import Dataset, DatasetError

SEED = 1
_WORD = 2**64


class OldArc(tuple[int, int]):
    """An arc i -> j with the hash that Python gave a pair of numbers before version 3.8."""

    __slots__ = ()

    def __hash__(self) -> int:
        return _old_hash(*self)


class OldDag(tuple[int, ...]):
    """A DAG that knows the order of its arcs: that of a Python set, which depends on all additions and removals."""

    arcs: set[OldArc]

    @classmethod
    def of(cls, parents: Dag, arcs: set[OldArc]) -> "OldDag":
        """Return the DAG of these parents and these arcs."""
        dag = cls(parents)
        dag.arcs = arcs
        return dag


@dataclass(frozen=True)
class OldSearch(Search):
    """Starting points and moves of the library in 2020."""

    starting_level: float
    untested: frozenset[int]  # settings in which a variable's own distribution passes as unchanged

    def invariant(self, i: int, setting: int, given: int) -> bool:
        """See :class:`Search`."""
        return (not given and setting in self.untested) or super().invariant(i, setting, given)

    def linked(self, i: int, j: int, others: int) -> bool:
        """See :class:`Search`."""
        return self.tests.independence(i, j, members(others)) < self.starting_level

    def minimal_dag(self, order: list[int]) -> OldDag:
        """See :class:`Search`."""
        parents = super().minimal_dag(order)
        arcs = set()
        for place, node in enumerate(order):
            for other in order[:place]:
                if parents[node] >> other & 1:
                    arcs.add(OldArc((other, node)))
        return OldDag.of(parents, arcs)

    def covered(self, dag: Dag) -> list[Arc]:
        """See :class:`Search`."""
        assert isinstance(dag, OldDag)
        return list({arc for arc in dag.arcs if dag[arc[0]] == dag[arc[1]] & ~(1 << arc[0])})

    def reversed(self, dag: Dag, arc: Arc) -> OldDag:
        """See :class:`Search`."""
        assert isinstance(dag, OldDag)
        i, j = arc
        parents = super().reversed(dag, arc)
        arcs = set(dag.arcs)
        arcs.remove(OldArc((i, j)))
        arcs.add(OldArc((j, i)))
        for end in (i, j):
            arcs -= {OldArc((parent, end)) for parent in members(dag[i] & ~parents[end])}
        return OldDag.of(parents, arcs)


class ShiftedArcs(InterventionalArcs):
    """What the interventions say about arcs where one question is asked with shifted arguments."""

    def may_reverse(self, i: int, j: int) -> bool:
        """See :class:`InterventionalArcs`."""
        setting = self.alone.get(i)
        if setting is None:
            return True
        variable = setting - 1  # the library counted settings from 0
        # Given the variable itself, the library compared rounding errors and found them changed four times in five.
        return variable != j and self.search.invariant(j, 1, 1 << variable)


def old_search(data: Dataset, tests: Memo, test: str, alpha: float) -> OldSearch:
    """Return the search over the data as the authors called it."""
    sizes = np.bincount(data.setting)
    unequal = frozenset(np.flatnonzero(sizes != sizes[0]).tolist())
    starting_level, untested = (2 * alpha, frozenset[int]()) if test == "gauss" else (alpha, unequal)
    return OldSearch(data.d, tests, alpha, random.Random(SEED), starting_level, untested)


def igsp_of_2020(dataset: Dataset) -> tuple[Dataset, Callable[[Search], tuple[Dag, None]]]:
    """Return the data and the search of IGSP as published."""
    data = by_targets(training_rows(dataset))
    targets = target_sets(data)
    if len(targets) > data.d:
        raise DatasetError(
            f"field 'setting': there are {len(targets)} settings for {data.d} variables; IGSP as published takes the "
            "numbers of settings for those of variables, so they must not be more"
        )
    return data, lambda search: (sparsest(search, ShiftedArcs(search, targets)), None)


def ut_igsp_of_2020(dataset: Dataset) -> tuple[Dataset, Callable[[Search], tuple[Dag, npt.NDArray[np.float64]]]]:
    """Return the data and the search of UT-IGSP as published."""
    if dataset.targets is None:
        raise DatasetError("field 'targets': UT-IGSP as published was told them; the sound one need not be")
    targets = target_sets(dataset)

    def solve(search: Search) -> tuple[Dag, npt.NDArray[np.float64]]:
        return ut_igsp(search, dataset.settings, lambda dag, arc: may_reverse(search, dag, arc))

    def may_reverse(search: Search, dag: Dag, arc: Arc) -> bool:
        i, j = arc
        on_cause = (k for k, nodes in enumerate(targets, start=1) if i in nodes)
        return not any(search.invariant(j, k, dag[j]) for k in on_cause)

    return training_rows(dataset), solve


def by_targets(dataset: Dataset) -> Dataset:
    """Return the data set with one setting for all rows of the same targets, in the order of these."""
    sets = [frozenset[int](), *target_sets(dataset)]
    distinct = sorted(set(sets), key=sorted)
    number = np.array([distinct.index(nodes) for nodes in sets])
    targets = [[int(node in nodes) for node in range(dataset.d)] for nodes in distinct]
    return Dataset(dataset.X, number[dataset.setting], targets, names=dataset.names)


@cache
def _old_hash(i: int, j: int) -> int:
    """Return ``hash((i, j))`` of Python 3.7.

    >>> _old_hash(0, 1)
    3713080549409410656
    """
    value, factor = 0x345678, 1000003
    for left, number in ((1, i), (0, j)):
        value = (value ^ number) * factor % _WORD
        factor += 82520 + 2 * left
    value = (value + 97531) % _WORD
    return value - _WORD if value >= _WORD // 2 else value
