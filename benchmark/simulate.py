"""Synthetic data sets of the paper (Appendix B.1, C.2, C.3, C.5), of any size.

Two data conventions, because the published numbers do not come from the data that the text describes:

released
    What the published tables were computed on. Each variable is standardised as it is generated, within each
    setting, before its children are computed; and every noise scale is drawn anew for each setting.
as_written
    The paper's text. Noise scales are drawn once; data are generated on their own scale; then each column is
    standardised over all rows.
"""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset
from benchmark.mechanisms import MECHANISMS, Mechanism
from benchmark.portable import Values

Intervention = Literal["perfect", "perfect-uniform", "imperfect", "imperfect-small", "none"]
Convention = Literal["released", "as_written"]

NOISE_COEFFICIENT = 0.4


def simulate(
    mechanism: str,
    nodes: int,
    edges_per_node: float,
    intervention: Intervention = "perfect",
    n: int = 10_000,
    seed: int = 0,
    *,
    settings: int | None = None,
    targets_per_setting: tuple[int, int] | None = None,
    convention: Convention = "released",
    heldout: float = 0.2,
) -> Dataset:
    """Draw a causal model and sample observational and interventional data from it.

    The graph and the mechanisms depend on ``seed``, ``mechanism``, ``nodes`` and ``edges_per_node`` alone, so the
    purely observational twin of a data set is the same call with ``intervention="none"``.

    Parameters
    ----------
    mechanism : "linear", "anm", "nn", "x" or "dna"
        The paper's two-node X and DNA sets are ``simulate("x", 2, 0.5)`` and ``simulate("dna", 2, 0.5)``.
    nodes, edges_per_node
        Each possible edge of a random order is present with probability 2 e / (d - 1).
    intervention
        "perfect": targets become N(2, 1). "perfect-uniform": U[-1, 1]. "imperfect": their mechanism changes by a
        lot (targets without parents become N(2, 1)). "imperfect-small": by a little. "none": observational data.
    n
        Rows in all, divided evenly over the settings.
    settings
        Number of interventional settings; as many as nodes where not given.
    targets_per_setting
        Fewest and most targets of a setting; 1 and d // 10 (at least 1) where not given.
    convention : "released" or "as_written"
        See the module's text.
    heldout
        Share of the rows kept for selection, evenly over the settings; 0 for none.

    Examples
    --------
    >>> data = simulate("nn", nodes=10, edges_per_node=4, seed=1)
    >>> data.X.shape, data.settings, int(data.heldout.sum())
    ((10000, 10), 11, 2000)
    >>> twin = simulate("nn", nodes=10, edges_per_node=4, seed=1, intervention="none")
    >>> bool((twin.graph == data.graph).all()), twin.settings
    (True, 1)
    """
    _check(mechanism, nodes, edges_per_node, intervention, convention, heldout)
    interventional = 0 if intervention == "none" else nodes if settings is None else settings
    fewest, most = targets_per_setting or (1, max(1, nodes // 10))
    if interventional and not 1 <= fewest <= most <= nodes:
        raise ValueError(f"targets_per_setting is ({fewest}, {most}); expected 1 <= fewest <= most <= {nodes} nodes")
    if interventional < 0:
        raise ValueError(f"settings is {interventional}; expected 0 or more")
    if n <= interventional:
        raise ValueError(f"n is {n}; {interventional + 1} settings need at least one row each")

    model_seed, target_seed, row_seed, split_seed = np.random.SeedSequence(seed).spawn(4)
    model = _CausalModel.draw(np.random.default_rng(model_seed), mechanism, nodes, edges_per_node, intervention)
    targets = np.zeros((interventional + 1, nodes), dtype=np.int8)
    targets[1:] = _draw_targets(np.random.default_rng(target_seed), nodes, interventional, fewest, most)
    # As in the paper, settings differ by at most one row; the observational one is served last.
    rows = np.full(interventional + 1, n // (interventional + 1))
    rows[np.r_[1 : interventional + 1, 0][: n % (interventional + 1)]] += 1
    setting = np.repeat(np.arange(interventional + 1), rows)

    rng = np.random.default_rng(row_seed)
    X = np.empty((n, nodes))
    start = 0
    for row_count, is_target in zip(rows, targets.astype(bool), strict=True):
        model.sample(rng, X[start : start + row_count], is_target, convention)
        start += row_count
    if convention == "as_written":
        _standardise(X)
    parameters: dict[str, Any] = {
        "mechanism": mechanism,
        "nodes": nodes,
        "edges_per_node": edges_per_node,
        "intervention": intervention,
        "n": n,
        "seed": seed,
        "settings": interventional,
        "targets_per_setting": [fewest, most],
        "convention": convention,
    }
    split = split_rows(setting, heldout, np.random.default_rng(split_seed)) if heldout else None
    return Dataset(X, setting, targets, model.graph, None, split, parameters)


def split_rows(setting: npt.ArrayLike, share: float, rng: np.random.Generator) -> npt.NDArray[np.bool_]:
    """Mark ``share`` of the rows as held out, evenly over the settings.

    >>> split_rows([0, 0, 0, 0, 0, 1, 1, 1, 1, 1], 0.2, np.random.default_rng(0)).sum()
    np.int64(2)
    """
    numbers = np.asarray(setting)
    order = np.lexsort((rng.random(len(numbers)), numbers))
    counts = np.floor(np.arange(len(numbers) + 1) * share + 1e-9)
    heldout = np.zeros(len(numbers), dtype=bool)
    heldout[order] = np.diff(counts) > 0
    return heldout


@dataclass(frozen=True)
class _CausalModel:
    graph: npt.NDArray[np.int8]
    order: npt.NDArray[np.int64]
    mechanisms: list[Mechanism]
    changed: list[Mechanism]
    noise_sd: Values
    intervention: Intervention

    @classmethod
    def draw(
        cls, rng: np.random.Generator, mechanism: str, nodes: int, edges_per_node: float, intervention: Intervention
    ) -> "_CausalModel":
        order = rng.permutation(nodes)
        graph = np.zeros((nodes, nodes), dtype=np.int8)
        present = np.triu(rng.random((nodes, nodes)) < _edge_probability(nodes, edges_per_node), k=1)
        graph[np.ix_(order, order)] = present
        kind = MECHANISMS[mechanism]
        mechanisms = [kind.draw(rng, int(graph[:, j].sum())) if graph[:, j].any() else kind.draw(rng, 1) for j in order]
        noise_sd = _draw_scales(rng, nodes)
        # One changed mechanism per node: the same change each time that node is a target.
        change: Literal["large", "small"] = "small" if intervention == "imperfect-small" else "large"
        changed = [function.changed(rng, change) for function in mechanisms]
        rank = np.argsort(order)
        return cls(graph, order, [mechanisms[r] for r in rank], [changed[r] for r in rank], noise_sd, intervention)

    def sample(
        self, rng: np.random.Generator, X: Values, is_target: npt.NDArray[np.bool_], convention: Convention
    ) -> None:
        """Fill X [m x d] with samples of one setting."""
        rows = len(X)
        noise_sd = _draw_scales(rng, len(self.order)) if convention == "released" else self.noise_sd
        for j in self.order:
            parents = np.flatnonzero(self.graph[:, j])
            perfect = self.intervention.startswith("perfect") or len(parents) == 0
            if is_target[j] and perfect:
                uniform = self.intervention == "perfect-uniform"
                X[:, j] = rng.uniform(-1.0, 1.0, rows) if uniform else rng.normal(2.0, 1.0, rows)
            elif len(parents) == 0:
                X[:, j] = rng.normal(0.0, noise_sd[j], rows)
            else:
                function = self.changed[j] if is_target[j] else self.mechanisms[j]
                noise = NOISE_COEFFICIENT * rng.normal(0.0, noise_sd[j], rows)
                X[:, j] = function(X[:, parents], noise, rng)
            if convention == "released":
                _standardise(X[:, j : j + 1])


def _draw_scales(rng: np.random.Generator, nodes: int) -> Values:
    return np.sqrt(rng.uniform(1.0, 2.0, nodes))


def _draw_targets(rng: np.random.Generator, nodes: int, settings: int, fewest: int, most: int) -> npt.NDArray[np.int8]:
    """Draw targets [settings x nodes]; single targets are distinct nodes as long as there are any left."""
    targets = np.zeros((settings, nodes), dtype=np.int8)
    if most == 1:
        rounds = [rng.permutation(nodes) for _ in range(-(-settings // nodes))]
        targets[np.arange(settings), np.concatenate([*rounds, []]).astype(int)[:settings]] = 1
    else:
        for row in targets:
            row[rng.choice(nodes, rng.integers(fewest, most + 1), replace=False)] = 1
    return targets


def _standardise(X: Values) -> None:
    """Give each column mean 0 and standard deviation 1, in place (a constant column, as of one row, becomes 0)."""
    X -= X.mean(axis=0)
    scale = X.std(axis=0)
    X /= np.where(scale > 0, scale, 1.0)


def _edge_probability(nodes: int, edges_per_node: float) -> float:
    return 2 * edges_per_node / (nodes - 1) if nodes > 1 else 0.0


def _check(
    mechanism: str, nodes: int, edges_per_node: float, intervention: str, convention: str, heldout: float
) -> None:
    choices = {
        "mechanism": (mechanism, tuple(MECHANISMS)),
        "intervention": (intervention, get_args(Intervention)),
        "convention": (convention, get_args(Convention)),
    }
    for name, (value, allowed) in choices.items():
        if value not in allowed:
            raise ValueError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")
    if nodes < 1:
        raise ValueError(f"nodes is {nodes}; expected at least 1")
    if not 0 <= edges_per_node <= (nodes - 1) / 2:
        raise ValueError(
            f"edges_per_node is {edges_per_node}; a graph of {nodes} nodes has between 0 and {(nodes - 1) / 2} of them"
        )
    if not 0 <= heldout < 1:
        raise ValueError(f"heldout is {heldout}; expected a share from 0 to below 1")
