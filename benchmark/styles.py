"""One colour and hatch per method, the same in every figure of every preset."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import matplotlib.colors

from benchmark.plan import Plan, Row

# The colours of Okabe and Ito and of Paul Tol, which colour-blind readers can tell apart; in greyscale hatches do it.
METHODS = {
    "igsp": ("#E69F00", ""),
    "ut-igsp": ("#E69F00", "++++++"),
    "gies": ("#56B4E9", "\\\\\\\\\\\\"),
    "cam": ("#009E73", "....."),
    "jci-pc": ("#F0E442", "xxxxx"),
    "dcdi-g": ("#0072B2", ""),
    "dcdi-dsf": ("#CC79A7", "//////"),
    "dcdi-linear": ("#44AA99", "oooo"),
    "dcd": ("#D55E00", "------"),
    "dcd-no-interv": ("#999933", "||||||"),
}
CONTROLS = {"empty": "#F2F2F2", "random": "#D0D0D0", "sortnregress": "#A6A6A6", "r2-sortnregress": "#7C7C7C"}
OTHERS = ("#EE3377", "#332288", "#FFAABB", "#882255", "#BB5566")  # of methods that are not the paper's
HATCHES = ("****", "////", "\\\\\\\\", "----", "||||", "...", "xxx")
SHADES = (0.5, -0.35, 0.75, -0.6, 0.25)  # towards white, or towards black


@dataclass(frozen=True)
class Style:
    """How a row is drawn."""

    colour: str
    hatch: str


def styles(plan: Plan) -> dict[str, Style]:
    """Return the style of each row of a run."""
    return {row.name: style_of(row, plan.config["methods"]) for row in plan.rows.values()}


def style_of(row: Row, configured: Mapping[str, Any]) -> Style:
    """Return the style of a row: its method's, and a shade of it where the row has a name of its own.

    Shades go by the order of names in the configuration; a preset adds names after those of ``config.yaml``.
    """
    names = [entry.get("label") for entry in configured.values() if entry.get("method") == row.method.name]
    others = [name for name in dict.fromkeys(names) if name not in (None, row.method.label)]
    base = method_style(row.method.name, is_control=row.method.is_control)
    if row.label not in others:
        return base
    return Style(_shade(base.colour, SHADES[others.index(row.label) % len(SHADES)]), base.hatch)


def method_style(name: str, *, is_control: bool = False) -> Style:
    """Return the style of a method; of one that has no entry here, a style that follows from its name alone."""
    number = zlib.crc32(name.encode())
    if is_control:
        return Style(CONTROLS.get(name) or matplotlib.colors.to_hex((0.45 + number % 50 / 100,) * 3), "")
    if name in METHODS:
        return Style(*METHODS[name])
    return Style(OTHERS[number % len(OTHERS)], HATCHES[number // len(OTHERS) % len(HATCHES)])


def _shade(colour: str, amount: float) -> str:
    end = 1.0 if amount > 0 else 0.0
    red, green, blue = (part + abs(amount) * (end - part) for part in matplotlib.colors.to_rgb(colour))
    return matplotlib.colors.to_hex((red, green, blue)).upper()
