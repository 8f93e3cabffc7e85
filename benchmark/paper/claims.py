"""Sentences of the paper that numbers can decide, each as a check on the published means and on ours."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import ge, le, lt
from typing import Any, Literal

import pandas as pd

from benchmark.paper.published import DEFAULT_ALPHA, tailored_test

PLACE = ["experiment", "setting", "mechanism", "nodes", "edges_per_node", "metric"]
DCDI = ("DCDI-G", "DCDI-DSF")

Means = dict[str, float]  # method -> mean, of one condition and metric
Check = Callable[[Means], bool | None]  # None: it takes a mean that is missing
Amount = Literal["every", "most"]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper and the check that it becomes.

    Parameters
    ----------
    place : str
        Where the sentence stands.
    quote : str
        Its words.
    check : str
        What is counted: in how many conditions and metrics it holds.
    where : dict
        Which published figures it speaks of: column -> values.
    holds : callable
        Means by method -> whether it holds there; None where those that are missing could change it.
    amount : "every" or "most"
        Whether the sentence speaks of all of them or of more than half.
    """

    place: str
    quote: str
    check: str
    where: dict[str, tuple[Any, ...]]
    holds: Check
    amount: Amount = "every"


def lower(left: tuple[str, ...], right: tuple[str, ...], every: bool = True) -> Check:
    """Return a check that each of some methods, or the best of them, has a lower mean than each of the others."""
    combined = _all if every else _any
    return lambda means: combined(_all(_compare(means, one, lt, other) for other in right) for one in left)


def lowest(method: str, others: tuple[str, ...]) -> Check:
    """Return a check that a method has the lowest mean, or shares it."""
    return lambda means: _all(_compare(means, method, le, other) for other in others)


def highest(method: str, others: tuple[str, ...]) -> Check:
    """Return a check that a method has the highest mean, or shares it."""
    return lambda means: _all(_compare(means, method, ge, other) for other in others)


def both(first: Check, second: Check) -> Check:
    """Return a check that two others hold."""
    return lambda means: _all((first(means), second(means)))


def _compare(means: Means, one: str, relation: Callable[[float, float], bool], other: str) -> bool | None:
    return relation(means[one], means[other]) if {one, other} <= set(means) else None


def _all(answers: Iterable[bool | None]) -> bool | None:
    """Return whether all hold; one that does not decides it, whatever the unknown ones are."""
    found = set(answers)
    return False if False in found else None if None in found else True


def _any(answers: Iterable[bool | None]) -> bool | None:
    """Return whether one holds; one that does decides it, whatever the unknown ones are."""
    found = set(answers)
    return True if True in found else None if None in found else False


_KNOWN = ("IGSP", "GIES", "CAM")
_SPARSE, _DENSE = ("1",), ("4",)
_NONLINEAR = ("anm", "nn")
_DISTANCES = ("shd", "sid")

CLAIMS = (
    Claim(
        "Section 4.1, perfect interventions",
        "For graphs with a higher number of average edges, DCDI-G and DCDI-DSF outperform all methods",
        "both below IGSP, GIES and CAM, e = 4",
        {"experiment": ("main",), "setting": ("perfect",), "edges_per_node": _DENSE, "metric": _DISTANCES},
        lower(DCDI, _KNOWN),
    ),
    Claim(
        "Section 4.1, perfect interventions",
        "GIES often shows the best performance for the linear data set",
        "GIES the lowest of all methods, linear data",
        {"experiment": ("main",), "setting": ("perfect",), "mechanism": ("linear",), "metric": _DISTANCES},
        lowest("GIES", ("IGSP", "CAM", *DCDI)),
        "most",
    ),
    Claim(
        "Section 4.1, imperfect interventions",
        "DCDI-G and DCDI-DSF show competitive results and outperform other methods for graphs with a higher "
        "connectivity",
        "both below IGSP, GIES and CAM, e = 4",
        {"experiment": ("main",), "setting": ("imperfect",), "edges_per_node": _DENSE, "metric": _DISTANCES},
        lower(DCDI, _KNOWN),
    ),
    Claim(
        "Section 4.1, perfect unknown interventions",
        "Except for linear data sets with sparse graphs, DCDI-G and DCDI-DSF show an overall better performance than "
        "UT-IGSP",
        "both below UT-IGSP, all data but the named exception",
        {"experiment": ("main",), "setting": ("unknown",), "metric": _DISTANCES, "not": (("linear", "1"),)},
        lower(DCDI, ("UT-IGSP",)),
        "most",
    ),
    Claim(
        "Section 4.1, summary",
        "For all intervention settings, DCDI has overall the best performance",
        "the better of DCDI-G and DCDI-DSF below all others, known targets",
        {"experiment": ("main",), "setting": ("perfect", "imperfect"), "metric": _DISTANCES},
        lower(DCDI, _KNOWN, every=False),
        "most",
    ),
    Claim(
        "Section 4.1, summary",
        "For all intervention settings, DCDI has overall the best performance",
        "the better of DCDI-G and DCDI-DSF below UT-IGSP and JCI-PC, unknown targets",
        {"experiment": ("main",), "setting": ("unknown",), "metric": _DISTANCES},
        lower(DCDI, ("UT-IGSP", "JCI-PC"), every=False),
        "most",
    ),
    Claim(
        "Appendix C.1",
        "The modified version of CAM has overall the best performance: the highest F1 score and a low SID",
        "CAM's F1 score the highest",
        {"experiment": ("sachs",), "metric": ("f1",)},
        highest("CAM", ("IGSP", "GIES", *DCDI)),
    ),
    Claim(
        "Appendix C.1",
        "IGSP has a low SHD",
        "IGSP's SHD the lowest",
        {"experiment": ("sachs",), "metric": ("shd",)},
        lowest("IGSP", ("GIES", "CAM", *DCDI)),
    ),
    Claim(
        "Appendix C.1",
        "but a high SID",
        "IGSP's SID the highest",
        {"experiment": ("sachs",), "metric": ("sid",)},
        highest("IGSP", ("GIES", "CAM", *DCDI)),
    ),
    Claim(
        "Appendix C.1",
        "In terms of SID, they outperform IGSP, but not GIES and CAM",
        "GIES and CAM below DCDI-G and DCDI-DSF, and these below IGSP",
        {"experiment": ("sachs",), "metric": ("sid",)},
        both(lower(DCDI, ("IGSP",)), lower(("GIES", "CAM"), DCDI)),
    ),
    Claim(
        "Appendix C.4, relevance of the score",
        "For SHD, the advantage of DCDI over DCD and DCD-no-interv is clear over all conditions",
        "the better of DCDI-G and DCDI-DSF below DCD and DCD-no-interv in SHD",
        {"experiment": ("ablation",), "metric": ("shd",)},
        lower(DCDI, ("DCD", "DCD-no-interv"), every=False),
    ),
    Claim(
        "Appendix C.4, relevance of the score",
        "For SID, DCDI has no advantage for sparse graphs, but is usually better for graphs with higher connectivity",
        "the better of DCDI-G and DCDI-DSF below DCD and DCD-no-interv in SID, e = 4",
        {"experiment": ("ablation",), "edges_per_node": _DENSE, "metric": ("sid",)},
        lower(DCDI, ("DCD", "DCD-no-interv"), every=False),
        "most",
    ),
    Claim(
        "Appendix C.4, relevance of neural networks",
        "poorer results on nonlinear data sets, showing the interest of using high capacity models",
        "DCDI-G and DCDI-DSF below DCDI-linear, ANM and NN data",
        {"experiment": ("linear_model",), "mechanism": _NONLINEAR, "metric": _DISTANCES},
        lower(DCDI, ("DCDI-linear",)),
    ),
    Claim(
        "Appendix C.5, perfect interventions",
        "DCDI-G still outperforms IGSP",
        "DCDI-G below IGSP, interventions without a mean shift",
        {"experiment": ("uniform_intervention",), "metric": _DISTANCES},
        lower(("DCDI-G",), ("IGSP",)),
    ),
    Claim(
        "Appendix C.5, perfect interventions",
        "the proposed loss is still beneficial for this kind of interventions",
        "DCDI-G below DCD, interventions without a mean shift",
        {"experiment": ("uniform_intervention",), "metric": _DISTANCES},
        lower(("DCDI-G",), ("DCD",)),
    ),
    Claim(
        "Appendix C.5, perfect interventions",
        "it outperforms them on the other data sets",
        "DCDI-G below GIES and CAM, ANM and NN data",
        {"experiment": ("uniform_intervention",), "mechanism": _NONLINEAR, "metric": _DISTANCES},
        lower(("DCDI-G",), ("GIES", "CAM")),
    ),
    Claim(
        "Appendix C.5, imperfect interventions",
        "For graphs with higher connectivity, DCDI often has a better performance than IGSP",
        "the better of DCDI-G and DCDI-DSF below IGSP, small changes, e = 4",
        {"experiment": ("small_change",), "edges_per_node": _DENSE, "metric": _DISTANCES},
        lower(DCDI, ("IGSP",), every=False),
        "most",
    ),
)


@dataclass(frozen=True)
class Answer:
    """In how many conditions and metrics a claim holds, of those that can be decided, of all."""

    holds: int
    decided: int
    cells: int
    amount: Amount

    @property
    def text(self) -> str:
        """Yes or no, where what is missing cannot change it; else open."""
        open_cells = self.cells - self.decided
        if self.amount == "every":
            yes, no = self.holds == self.cells, self.holds < self.decided
        else:
            yes, no = 2 * self.holds > self.cells, 2 * (self.holds + open_cells) <= self.cells
        answer = "yes" if yes else "no" if no else "open"
        counted = f"{self.holds} of {self.decided}" if self.decided else "none decided"
        more = f", {open_cells} open" if open_cells and self.decided else ""
        return f"{answer} ({counted}{more})"


def answer(claim: Claim, figures: pd.DataFrame) -> Answer:
    """Decide a claim by means: a column ``mean`` beside what names a figure; NaN where there is none."""
    chosen = figures
    for column, values in claim.where.items():
        if column == "not":
            pairs = chosen[["mechanism", "edges_per_node"]].apply(tuple, axis=1)
            chosen = chosen[~pairs.isin(list(values))]
        else:
            chosen = chosen[chosen[column].isin(values)]
    results = []
    for _, cell in default_rows(chosen).groupby(PLACE, sort=False):
        known = cell[cell["mean"].notna()]
        results.append(claim.holds(dict(zip(known["method"], known["mean"], strict=True))))
    return Answer(results.count(True), len(results) - results.count(None), len(results), claim.amount)


def default_rows(figures: pd.DataFrame) -> pd.DataFrame:
    """Return the figures that stand in the paper's main text: the cutoff 1e-3, and the test tailored to the data."""
    tailored = figures["mechanism"].map(tailored_test)
    # JCI-PC is published with partial correlations alone, on all data.
    fits = (figures["test"] == "") | (figures["test"] == tailored) | (figures["method"] == "JCI-PC")
    return figures[figures["alpha"].isin(["", DEFAULT_ALPHA]) & fits]
