"""Leaving a setting out: what is left, and that nothing of the setting stays."""

import numpy as np
import pytest

from benchmark.dataset import Dataset, DatasetError
from benchmark.leave_out import leave_out, unseen_rows
from benchmark.simulate import simulate

WHOLE = simulate("linear", nodes=4, edges_per_node=1, intervention="perfect", n=500, seed=3)


def test_the_rest_has_all_other_rows_in_order() -> None:
    rest = leave_out(WHOLE, "random", seed=1)
    setting = rest.parameters["left_out"]
    assert 1 <= setting < WHOLE.settings
    kept = WHOLE.setting != setting
    np.testing.assert_array_equal(rest.X, WHOLE.X[kept])
    assert rest.settings == WHOLE.settings - 1
    assert rest.heldout is not None
    assert WHOLE.heldout is not None
    np.testing.assert_array_equal(rest.heldout, WHOLE.heldout[kept])
    np.testing.assert_array_equal(rest.targeted, WHOLE.targeted[kept])
    assert rest.graph is WHOLE.graph or (rest.graph == WHOLE.graph).all()  # type: ignore[union-attr]
    X, targeted = unseen_rows(WHOLE, setting)
    assert len(X) + rest.n == WHOLE.n
    np.testing.assert_array_equal(targeted, WHOLE.targeted[WHOLE.setting == setting][0])


def test_the_seed_chooses_and_every_setting_can_be_chosen() -> None:
    chosen = [leave_out(WHOLE, "random", seed).parameters["left_out"] for seed in range(40)]
    assert set(chosen) == {1, 2, 3, 4}
    assert chosen[0] == leave_out(WHOLE, "random", 0).parameters["left_out"]


def test_a_setting_is_named_by_the_variable_that_it_targets() -> None:
    for name in WHOLE.names:
        setting = leave_out(WHOLE, name, seed=0).parameters["left_out"]
        assert WHOLE.targets is not None
        assert [WHOLE.names[j] for j in np.flatnonzero(WHOLE.targets[setting])] == [name]
    with pytest.raises(DatasetError, match="no setting targets 'Akt' alone"):
        leave_out(WHOLE, "Akt", seed=0)


def test_names_of_conditions_stay_with_their_rows() -> None:
    named = Dataset(
        WHOLE.X, WHOLE.setting, WHOLE.targets, names=WHOLE.names, parameters={"conditions": ["control", *"abcd"]}
    )
    rest = leave_out(named, WHOLE.names[0], seed=0)
    assert len(rest.conditions) == rest.settings == 4
    assert rest.conditions == tuple(n for k, n in enumerate(named.conditions) if k != rest.parameters["left_out"])


def test_without_targets_or_interventions_nothing_can_be_left_out() -> None:
    with pytest.raises(DatasetError, match="targets are known"):
        leave_out(WHOLE.blind(hide_targets=True), "random", seed=0)
    observational = Dataset(WHOLE.X, np.zeros(WHOLE.n, dtype=int), np.zeros((1, WHOLE.d)))
    with pytest.raises(DatasetError, match="no interventional setting"):
        leave_out(observational, "random", seed=0)
