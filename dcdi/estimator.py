"""DCDI as one estimator: ``DCDI(density="gaussian", sparsity=0.1).fit(dataset) -> Fit``."""

import math
import os
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from benchmark.dataset import Dataset, Fit
from benchmark.graphs import find_cycle
from dcdi.constraint import violation
from dcdi.conventions import Parameters, as_dataset
from dcdi.cpu import CpuEngine
from dcdi.fitted import FittedModel
from dcdi.model import Density, Intervention, Model, Targets
from dcdi.training import Member, Schedule, train

if TYPE_CHECKING:
    import pandas

PROBABILITY_DIGITS = 6
HELDOUT_SHARE = 0.2
PROGRESS_SECONDS = 60.0
GPU_DEVICES = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")  # NVIDIA, AMD, and either under Windows


class ConvergenceError(RuntimeError):
    """Training diverged or reached the cap on iterations; there is no graph to return."""


class DCDI(Parameters):
    """Differentiable causal discovery from interventional data (Brouillard et al. 2020).

    Parameters
    ----------
    density : "gaussian" or "dsf"
        Conditional densities: normal with a learned mean (DCDI-G), or a deep sigmoidal flow (DCDI-DSF).
    sparsity : float
        lambda, the coefficient of the expected number of edges (divided by d**2).
    target_sparsity : float
        lambda_R, the coefficient of the expected number of targets, where they are learned.
    intervention : "perfect", "imperfect" or "none"
        What interventions do; "none" ignores them (DCD).
    targets : "known" or "unknown"
        Whether ``dataset.targets`` is used, or targets are learned from the settings alone.
    hidden_layers, units, flow_layers, flow_units : int
        Sizes of the networks; no hidden layer makes the means linear.
    engine : "auto", "cpu" or "torch"
        "auto" is torch where there is a GPU, else cpu.
    seed : int
        The same seed gives the same graph; with the cpu engine on every processor, bit for bit.
    history : bool
        Keep learning curves and edge probabilities, every 100 iterations, in ``info["history"]``.
    heldout_nll : "best" or "last"
        What the fit reports for selection: the best held-out likelihood of the last phase, or that of the final
        weights, after patience has run out, as in the authors' published experiments. ``info`` has both.
    schedule : Schedule, optional
        Constants of the optimisation.

    Attributes
    ----------
    graph_ : [d x d]
        The DAG of the last fit, ``graph_[i, j] = 1`` for i -> j.
    feature_names_in_ : [d]
        Names of its variables.
    fitted : FittedModel or None
        Its densities.

    Notes
    -----
    The data are used as they are: standardise them. Without held-out rows, 20 % are drawn by the seed, because training
    needs them to know when a subproblem has converged.
    """

    def __init__(
        self,
        density: Density = "gaussian",
        sparsity: float = 0.1,
        *,
        target_sparsity: float = 1e-3,
        intervention: Intervention = "perfect",
        targets: Targets = "known",
        hidden_layers: int = 2,
        units: int = 16,
        flow_layers: int = 2,
        flow_units: int = 16,
        engine: Literal["auto", "cpu", "torch"] = "auto",
        seed: int = 0,
        history: bool = False,
        heldout_nll: Literal["best", "last"] = "best",
        schedule: Schedule | None = None,
    ) -> None:
        choices: dict[str, tuple[str, tuple[str, ...]]] = {
            "density": (density, ("gaussian", "dsf")),
            "intervention": (intervention, ("perfect", "imperfect", "none")),
            "targets": (targets, ("known", "unknown")),
            "engine": (engine, ("auto", "cpu", "torch")),
            "heldout_nll": (heldout_nll, ("best", "last")),
        }
        for name, (value, allowed) in choices.items():
            if value not in allowed:
                raise ValueError(f"{name} is {value!r}; expected one of {', '.join(allowed)}")
        sizes = {"hidden_layers": (hidden_layers, 0), "units": (units, 1)}
        sizes |= {"flow_layers": (flow_layers, 1), "flow_units": (flow_units, 1)}
        for name, (size, least) in sizes.items():
            if size != int(size) or size < least:
                raise ValueError(f"{name} is {size!r}; expected a whole number of at least {least}")
        _penalties({"sparsity": sparsity, "target_sparsity": target_sparsity})
        self.density, self.intervention, self.targets = density, intervention, targets
        self.sparsity, self.target_sparsity = sparsity, target_sparsity
        self.hidden_layers, self.units = hidden_layers, units
        self.flow_layers, self.flow_units = flow_layers, flow_units
        self.engine, self.seed, self.history, self.heldout_nll = engine, seed, history, heldout_nll
        self.schedule = schedule
        self.fitted: FittedModel | None = None

    def fit(
        self,
        X: "Dataset | pandas.DataFrame | npt.ArrayLike",
        setting: npt.ArrayLike | None = None,
        targets: npt.ArrayLike | None = None,
    ) -> Fit:
        """Learn a DAG.

        Parameters
        ----------
        X
            A data set; or samples [n x d] as an array or a DataFrame, with ``setting`` and ``targets`` beside.
        setting : [n]
            The setting of each row, 0 for observational ones; None where all are.
        targets : [settings x d] 0/1
            What each setting intervenes on; None where it is unknown.
        """
        dataset = as_dataset(X, setting, targets)
        (fit,) = self.sweep(dataset, [{}])
        if isinstance(fit, ConvergenceError):
            raise fit
        self.graph_, self.feature_names_in_ = fit.graph, np.array(dataset.names, dtype=object)
        self.n_features_in_ = dataset.d
        return fit

    def sweep(self, dataset: Dataset, grid: list[dict[str, float]]) -> Iterator[Fit | ConvergenceError]:
        """Fit each combination of ``sparsity`` and ``target_sparsity``; on a GPU all at once.

        What does not converge is returned as the exception it is, so that it does not take the others with it.
        """
        model, schedule = self._model(dataset), self.schedule or Schedule()
        heldout = dataset.heldout if dataset.heldout is not None else _split(dataset, self.seed)
        own = {"sparsity": self.sparsity, "target_sparsity": self.target_sparsity}
        penalties = [_penalties(own | entry) for entry in grid]
        use_torch = self.engine == "torch" or (self.engine == "auto" and _has_gpu())
        groups = [penalties] if use_torch else [[pair] for pair in penalties]
        for group in groups:
            started = time.perf_counter()
            engine = self._engine(model, dataset, heldout, schedule, len(group), use_torch)
            members = [Member(*pair, mu=schedule.mu, gamma=schedule.gamma) for pair in group]
            train(
                engine,
                members,
                schedule,
                violation=violation,
                acyclic=lambda graph: find_cycle(graph) is None,
                record=self.history,
                report=_progress(started),
            )
            for index, member in enumerate(members):
                yield self._result(engine, index, member, model, dataset, "torch" if use_torch else "cpu")

    def fit_graph(self, dataset: Dataset, graph: npt.ArrayLike) -> FittedModel:
        """Train the densities of a given DAG, as after the second stop; they are then also in ``self.fitted``."""
        kept = np.asarray(graph).astype(bool)
        cycle = find_cycle(kept)
        if kept.shape != (dataset.d, dataset.d) or cycle is not None:
            raise ValueError(f"graph has shape {kept.shape} and the cycle {cycle}; expected a DAG of {dataset.d} nodes")
        model, schedule = self._model(dataset), self.schedule or Schedule()
        if model.learns_targets:
            raise ValueError('fit_graph needs targets="known": learning them would change what the graph means')
        heldout = dataset.heldout if dataset.heldout is not None else _split(dataset, self.seed)
        use_torch = self.engine == "torch" or (self.engine == "auto" and _has_gpu())
        engine = self._engine(model, dataset, heldout, schedule, 1, use_torch)
        engine.freeze(0, kept)
        member = Member(0.0, 0.0, mu=0.0, gamma=0.0, phase="frozen", patience=schedule.patience)
        train(
            engine,
            [member],
            schedule,
            violation=violation,
            acyclic=lambda graph: find_cycle(graph) is None,
            record=False,
            report=_progress(time.perf_counter()),
        )
        if member.phase != "done":
            raise ConvergenceError(f"the densities of the graph did not settle in {member.iterations} iterations")
        self.fitted = FittedModel(model, kept.astype(np.int8), model.known_targets, engine.learned(0))
        return self.fitted

    def _model(self, dataset: Dataset) -> Model:
        needs_targets = self.intervention != "none" and self.targets == "known"
        if needs_targets and dataset.targets is None:
            raise ValueError('the data set does not say its targets; use targets="unknown"')
        targets = dataset.targets if needs_targets else None
        if targets is None:
            targets = np.zeros((dataset.settings, dataset.d), dtype=np.int8)
        return Model(
            dataset.d,
            targets,
            self.density,
            self.intervention,
            self.targets,
            self.hidden_layers,
            self.units,
            self.flow_layers,
            self.flow_units,
        )

    def _engine(
        self,
        model: Model,
        dataset: Dataset,
        heldout: npt.NDArray[np.bool_],
        schedule: Schedule,
        members: int,
        use_torch: bool,
    ) -> Any:
        if not use_torch:
            return CpuEngine(model, dataset.X, dataset.setting, heldout, schedule, self.seed)
        import torch

        from dcdi.torch_engine import TorchEngine

        device = "cuda" if torch.cuda.is_available() else "cpu"
        return TorchEngine(
            model, dataset.X, dataset.setting, heldout, schedule, self.seed, members=members, device=device
        )

    def _result(
        self, engine: Any, index: int, member: Member, model: Model, dataset: Dataset, name: str
    ) -> Fit | ConvergenceError:
        if member.phase != "done":
            reason = "training diverged" if member.phase == "diverged" else "the cap on iterations was reached"
            return ConvergenceError(
                f"{reason} after {member.iterations} iterations (h = {member.h:.1e}, mu = {member.mu:.1e})"
            )
        assert member.edge_probabilities is not None  # a fit that is done was frozen before
        graph = (engine.edge_probabilities(index) > 0.5).astype(np.int8)
        learned = engine.target_probabilities(index)
        targets = model.known_targets if learned is None else (learned > 0.5).astype(np.int8)
        self.fitted = FittedModel(model, graph, targets, engine.learned(index))
        info = {
            "engine": name,
            "iterations": member.iterations,
            "first_stop": member.first_stop,
            "second_stop": member.second_stop,
            "h": member.h,
            "mu": member.mu,
            "gamma": member.gamma,
            "best_heldout_nll": member.best,
            "last_heldout_nll": member.heldout_nll,
            "edge_probabilities": member.edge_probabilities.round(PROBABILITY_DIGITS).tolist(),
        }
        if self.history:
            info["history"] = member.history
        score = member.best if self.heldout_nll == "best" else member.heldout_nll
        return Fit(graph, heldout_nll=score, targets=learned, info=info, names=dataset.names)


def _penalties(values: dict[str, float]) -> tuple[float, float]:
    for name, value in values.items():
        if name not in ("sparsity", "target_sparsity"):
            raise ValueError(f"{name!r} is no penalty; expected sparsity, target_sparsity")
        if not 0 <= value < math.inf:
            raise ValueError(f"{name} is {float(value)}; expected a number of at least 0")
    return float(values["sparsity"]), float(values["target_sparsity"])


def _split(dataset: Dataset, seed: int) -> npt.NDArray[np.bool_]:
    heldout = np.zeros(dataset.n, dtype=bool)
    count = max(1, round(HELDOUT_SHARE * dataset.n))
    heldout[np.random.default_rng(seed).choice(dataset.n, count, replace=False)] = True
    return heldout


def _has_gpu() -> bool:
    if not any(os.path.exists(device) for device in GPU_DEVICES):
        return False  # without torch, whose import takes as long as a small fit
    import torch

    return torch.cuda.is_available()


def _progress(started: float) -> Callable[[int, list[Member]], None]:
    """Return a function that prints a line a minute."""
    last = [started]

    def report(iteration: int, members: list[Member]) -> None:
        now = time.perf_counter()
        if now - last[0] > PROGRESS_SECONDS:
            last[0] = now
            active = sum(member.active for member in members)
            member = next((m for m in members if m.active), members[0])
            print(
                f"iteration {iteration}: {member.phase}, held-out nll {member.heldout_nll:.4f}, h {member.h:.1e}, "
                f"mu {member.mu:.1e}, {active} of {len(members)} training, {now - started:.0f} s",
                file=sys.stderr,
                flush=True,
            )

    return report
