"""Configurations as nobody should write them: a plan, or one message that names the key."""

import copy
import time
from typing import Any

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchmark.config import ConfigError
from benchmark.plan import Plan
from tests.samples import own_configuration

BOMB = """
a: &a [x, x, x, x, x, x, x, x, x, x]
b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]
c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]
d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]
e: &e [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]
f: &f [*e, *e, *e, *e, *e, *e, *e, *e, *e, *e]
g: &g [*f, *f, *f, *f, *f, *f, *f, *f, *f, *f]
h: [*g, *g, *g, *g, *g, *g, *g, *g, *g, *g]
"""
ENDLESS = "a: &a [*a]\n"
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
KEYS = [
    "preset",
    "seed",
    "datasets",
    "heldout",
    "convention",
    "limits",
    "run",
    "methods",
    "experiments",
    "experiments.mine",
    "experiments.mine.data",
    "experiments.mine.data.mechanism",
    "experiments.mine.data.nodes",
    "experiments.mine.data.edges_per_node",
    "experiments.mine.data.intervention",
    "experiments.mine.data.n",
    "experiments.mine.data.files",
    "experiments.mine.methods",
    "experiments.mine.targets",
    "experiments.mine.title",
    "limits.hours",
    "methods.empty",
    "unknown",
]


def changed(key: str, value: Any) -> dict[str, Any]:
    config: Any = copy.deepcopy(own_configuration())
    place = config
    *folders, last = key.split(".")
    for folder in folders:
        place = place.setdefault(folder, {})
    place[last] = value
    assert isinstance(config, dict)
    return config


@pytest.mark.parametrize("text", [BOMB, ENDLESS])
@pytest.mark.parametrize("key", ["methods", "experiments", "unknown"])
def test_aliases_without_end_are_refused_at_once(text: str, key: str) -> None:
    started = time.monotonic()
    with pytest.raises(ConfigError, match=r"more than 100,000 entries.*aliases"):
        Plan(changed(key, yaml.safe_load(text)))
    assert time.monotonic() - started < 5


@settings(deadline=None, max_examples=150)
@given(key=st.sampled_from(KEYS), value=ANYTHING)
@example(key="limits", value={"\n": None})
def test_any_value_is_a_plan_or_one_message(key: str, value: Any) -> None:
    try:
        plan = Plan(changed(key, value))
    except ConfigError as error:
        message = str(error)
        assert "\n" not in message.strip() or "\n" in repr(value)
        assert len(message) < 2000
    else:
        assert plan.experiments
