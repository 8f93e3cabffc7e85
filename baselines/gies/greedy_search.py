"""Greedy interventional equivalence search (GIES; Hauser and Buehlmann 2012).

The search walks from class of DAGs to class of DAGs, each time by the best single edge: it inserts edges while that
improves the penalised likelihood, then deletes, then turns, and begins anew until nothing helps.

A step is the same for every penalty: all insertions cost one penalty, all deletions gain one and turns leave it
alone, so the penalty decides only whether the best step is taken. Steps are therefore remembered by the graph they
start from, and a whole grid of penalties shares them. What is known about a pair of nodes is remembered by the few
sets of nodes it depends on, so that after a step only the operators around the changed edges are evaluated again.
"""

import heapq
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from baselines.gies.essential_graphs import (
    EssentialGraph,
    elimination_order,
    essential_graph,
    maximal_cliques,
    members,
    orient,
)
from baselines.gies.interventional_score import InterventionalScore, index_of, subset

Values = npt.NDArray[np.float64]
Cliques = tuple[int, ...]
Key = tuple[str | int | Cliques, ...]
Phase = Literal["insert", "delete", "turn"]
# Edges that a step of each phase adds, hence penalties that it costs.
EDGES: dict[Phase, int] = {"insert": 1, "delete": -1, "turn": 0}
# Differences of scores below this are rounding: a relative error of log-determinants, times the number of rows.
ROUNDING = 1e-10
# An operator on v considers all subsets of a clique around it. Beyond this size (2^18 subsets) those of its first
# nodes have to do; only near-complete graphs have such cliques, and only where interventions tell few nodes apart.
LARGEST_CLIQUE = 18
# Longer lists of candidates are not remembered: near-complete graphs would fill the memory.
LONGEST_LIST = 4096


class Step(NamedTuple):
    """The best step of a phase: what it adds to the log-likelihood, and where it leads."""

    gain: float
    graph: EssentialGraph


class Candidates(NamedTuple):
    """Ways to join u to v, best first; each makes some neighbours C of v its parents."""

    gains: Values
    numbers: npt.NDArray[np.int64]
    cliques: list[tuple[int, int]]  # C is the first set of one of these pairs and a subset of its second

    def chosen(self, place: int) -> int:
        """Return C of the candidate at this place."""
        clique, number = divmod(int(self.numbers[place]), 1 << LARGEST_CLIQUE)
        fixed, optional = self.cliques[clique]
        return fixed | subset(number, optional)


Entry = tuple[float, int, int, int, Candidates]  # the negative gain, u, v and the place among their candidates


class GreedySearch:
    """GIES over one data set; :meth:`run` it for as many penalties as needed."""

    def __init__(self, score: InterventionalScore) -> None:
        self._score = score
        self._tolerance = ROUNDING * score.rows
        self._steps: dict[tuple[Phase, EssentialGraph], Step | None] = {}
        self._candidates: dict[Key, Candidates] = {}
        self._last_insertions: dict[int, tuple[object, list[Entry]]] = {}
        self._find: dict[Phase, Callable[[EssentialGraph], Step | None]] = {
            "insert": self._best_insertion,
            "delete": self._best_deletion,
            "turn": self._best_turn,
        }

    def run(self, penalty: float) -> EssentialGraph:
        """Return the class at which no insertion, deletion or turn improves the score any more."""
        graph = EssentialGraph((0,) * self._score.nodes, (0,) * self._score.nodes)
        # Rounding could lead in circles where variables are exact functions of others: no round starts twice.
        rounds: set[EssentialGraph] = set()
        while graph not in rounds:
            rounds.add(graph)
            for phase in EDGES:
                graph = self._climb(graph, phase, penalty)
        return graph

    def best_step(self, graph: EssentialGraph, phase: Phase) -> Step | None:
        """Return the step of this phase that adds most to the likelihood (or, of turns, None where none does)."""
        if (phase, graph) not in self._steps:
            self._steps[phase, graph] = self._find[phase](graph)
        return self._steps[phase, graph]

    def _climb(self, graph: EssentialGraph, phase: Phase, penalty: float) -> EssentialGraph:
        passed: set[EssentialGraph] = set()
        while graph not in passed:
            passed.add(graph)
            step = self.best_step(graph, phase)
            if step is None or step.gain - penalty * EDGES[phase] <= self._tolerance:
                break
            graph = step.graph
        return graph

    # --- the best step of each phase

    def _best_insertion(self, graph: EssentialGraph) -> Step | None:
        """Insert u -> v (Chickering 2002, Theorem 15): no path from v to u may avoid C."""
        reachable: dict[tuple[int, int], int] = {}
        queue = [entry for v in range(self._score.nodes) for entry in self._insertions(graph, v)]
        for gain, u, v, chosen in _best_first(queue):
            if (v, chosen) not in reachable:
                reachable[v, chosen] = graph.reachable(1 << v, avoiding=chosen)
            if not reachable[v, chosen] >> u & 1:
                dag = orient(graph, elimination_order(graph.neighbours, [*members(chosen), v]))
                dag[v] |= 1 << u
                return Step(gain, essential_graph(dag, self._score.cut))
        return None

    def _insertions(self, graph: EssentialGraph, v: int) -> list[Entry]:
        """Return the best candidate for each u -> v; most steps leave those of most nodes as they were."""
        near = graph.neighbours[v]
        cliques = maximal_cliques(graph.neighbours, near)
        common = tuple(nodes & near for nodes in graph.adjacent) if near else ()
        state = (graph.parents[v], graph.adjacent[v], cliques, common)
        known, entries = self._last_insertions.get(v, (None, []))
        if known != state:
            absent = [u for u in range(self._score.nodes) if u != v and not graph.adjacent[v] >> u & 1]
            entries = [entry for u in absent for entry in _entry(u, v, self._joining(graph, u, v, cliques))]
            self._last_insertions[v] = (state, entries)
        return entries

    def _best_deletion(self, graph: EssentialGraph) -> Step | None:
        """Delete u -> v or u - v; every clique C of common neighbours gives a member to delete it from."""
        best = (-np.inf, 0, 0, 0)
        for v in range(self._score.nodes):
            around = maximal_cliques(graph.neighbours, graph.neighbours[v])
            for u in members(graph.parents[v] | graph.neighbours[v]):
                if graph.parents[v] >> u & 1:
                    candidates = self._deleting(u, v, graph.parents[v] & ~(1 << u), around)
                elif u < v:  # deleting u - v is deleting v - u
                    common = maximal_cliques(graph.neighbours, graph.neighbours[v] & graph.neighbours[u])
                    candidates = self._deleting(u, v, graph.parents[v], common)
                else:
                    continue
                if candidates.gains[0] > best[0]:
                    best = (float(candidates.gains[0]), u, v, candidates.chosen(0))
        gain, u, v, chosen = best
        if gain == -np.inf:
            return None
        first = [*members(chosen), u, v] if graph.neighbours[v] >> u & 1 else [*members(chosen), v]
        dag = orient(graph, elimination_order(graph.neighbours, first))
        dag[v] &= ~(1 << u)
        return Step(gain, essential_graph(dag, self._score.cut))

    def _best_turn(self, graph: EssentialGraph) -> Step | None:
        """Turn v -> u into u -> v (Hauser and Buehlmann 2012, Propositions 31 and 34)."""
        queue: list[Entry] = []
        for v in range(self._score.nodes):
            cliques = maximal_cliques(graph.neighbours, graph.neighbours[v])
            for u in members(graph.children[v]):
                lost = self._score.gains(v, u, graph.parents[u] & ~(1 << v), 0)[0]
                joining = self._joining(graph, u, v, cliques)
                queue += _entry(u, v, joining._replace(gains=joining.gains - lost))
            for u in members(graph.neighbours[v]):
                if graph.neighbours[v] & ~graph.neighbours[u] & ~(1 << u):
                    queue += _entry(u, v, self._turning(graph, u, v, cliques))
        for gain, u, v, chosen in _best_first(queue):
            if gain <= self._tolerance:
                break
            if self._may_turn(graph, u, v, chosen):
                # Of equals, u comes first, so that no other common neighbour of u and v becomes a parent of u.
                last = [int(node != u) for node in range(self._score.nodes)]
                turned = [u] if graph.children[v] >> u & 1 else []
                dag = orient(graph, elimination_order(graph.neighbours, [*turned, *members(chosen), v], last))
                dag[u] &= ~(1 << v)
                dag[v] |= 1 << u
                return Step(gain, essential_graph(dag, self._score.cut))
        return None

    def _may_turn(self, graph: EssentialGraph, u: int, v: int, chosen: int) -> bool:
        if graph.children[v] >> u & 1:
            closed = chosen | graph.neighbours[u] | 1 << v
            start = (graph.children[v] & ~(1 << u) | graph.neighbours[v]) & ~closed
            return not graph.reachable(start, avoiding=closed) >> u & 1
        common = graph.neighbours[v] & graph.neighbours[u]
        outside = ~(graph.neighbours[v] & ~(1 << u))
        return not graph.reachable(chosen & ~common, avoiding=outside | chosen & common) & common & ~chosen

    # --- what is known about a pair of nodes

    def _joining(self, graph: EssentialGraph, u: int, v: int, cliques: Cliques) -> Candidates:
        """Cliques C around v that hold all neighbours of v adjacent to u, and what u -> v adds beside them."""
        parents = graph.parents[v]
        common = graph.neighbours[v] & graph.adjacent[u]

        def evaluate() -> Candidates:
            choices = [(common, _limited(clique & ~common)) for clique in cliques if not common & ~clique]
            return _ranked([self._score.gains(u, v, parents | common, rest) for _, rest in choices], choices)

        return self._remembered(("join", u, v, parents, common, cliques), evaluate)

    def _deleting(self, u: int, v: int, parents: int, cliques: Cliques) -> Candidates:
        """Return the subset C of the cliques beside which u, as a parent of v, adds least."""

        def evaluate() -> Candidates:
            choices = [(0, _limited(clique)) for clique in cliques]
            ranked = _ranked([-self._score.gains(u, v, parents, rest) for _, rest in choices], choices)
            return ranked._replace(gains=ranked.gains[:1], numbers=ranked.numbers[:1])

        return self._remembered(("delete", u, v, parents, cliques), evaluate)

    def _turning(self, graph: EssentialGraph, u: int, v: int, cliques: Cliques) -> Candidates:
        """Cliques C around v, not all adjacent to u: v -> u, which has the common neighbours of C as parents, turns."""
        parents, common = graph.parents[v], graph.neighbours[v] & graph.neighbours[u]

        def evaluate() -> Candidates:
            choices = [(0, _limited(clique & ~(1 << u))) for clique in cliques if clique & ~common & ~(1 << u)]
            differences = []
            for _, rest in choices:
                gains = self._score.gains(u, v, parents, rest)
                differences.append(gains - gains[np.arange(len(gains)) & index_of(common & rest, rest)])
            return _ranked(differences, choices, above=self._tolerance)

        return self._remembered(("turn", u, v, parents, common, cliques), evaluate)

    def _remembered(self, key: Key, evaluate: Callable[[], Candidates]) -> Candidates:
        known = self._candidates.get(key)
        if known is None:
            known = evaluate()
            if len(known.gains) <= LONGEST_LIST:
                self._candidates[key] = known
        return known


def _limited(clique: int) -> int:
    """Return the clique, or its first nodes where it has too many subsets."""
    while clique.bit_count() > LARGEST_CLIQUE:
        clique &= ~(1 << clique.bit_length() - 1)
    return clique


def _ranked(gains: list[Values], cliques: list[tuple[int, int]], above: float = -np.inf) -> Candidates:
    """Sort the candidates of several cliques; equals keep their order."""
    if not gains:
        return Candidates(np.empty(0), np.empty(0, dtype=np.int64), cliques)
    numbers = [np.arange(len(part)) + (clique << LARGEST_CLIQUE) for clique, part in enumerate(gains)]
    every, number = np.concatenate(gains), np.concatenate(numbers)
    kept = every > above
    every, number = every[kept], number[kept]
    order = np.argsort(-every, kind="stable")
    return Candidates(every[order], number[order], cliques)


def _entry(u: int, v: int, candidates: Candidates) -> list[Entry]:
    """Return the best candidate as it is queued, or nothing where there is none."""
    return [(-float(candidates.gains[0]), u, v, 0, candidates)] if len(candidates.gains) else []


def _best_first(queue: list[Entry]) -> Iterator[tuple[float, int, int, int]]:
    """Yield gain, u, v and C in descending order of gain; of equals, the one with the lowest u and v is first."""
    heapq.heapify(queue)
    while queue:
        negative, u, v, place, candidates = heapq.heappop(queue)
        yield -negative, u, v, candidates.chosen(place)
        if place + 1 < len(candidates.gains):
            heapq.heappush(queue, (-float(candidates.gains[place + 1]), u, v, place + 1, candidates))
