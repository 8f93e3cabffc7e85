"""DCDI as scikit-learn's tools know estimators."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from benchmark.simulate import simulate
from dcdi import DCDI
from tests.dcdi_cases import SHORT


def test_parameters_are_read_set_and_cloned() -> None:
    model = DCDI("dsf", 0.5, units=8)
    assert model.get_params()["density"] == "dsf"
    assert list(model.get_params())[:2] == ["density", "sparsity"]
    assert model.set_params(sparsity=2.0, engine="cpu") is model
    assert (model.sparsity, model.engine, model.units) == (2.0, "cpu", 8)
    copy = clone(model)
    assert copy is not model
    assert copy.get_params() == model.get_params()
    assert repr(copy) == "DCDI(density='dsf', sparsity=2.0, units=8, engine='cpu')"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"lambda_": 1.0}, "there is no parameter 'lambda_'; there are density, sparsity"),
        ({"density": "normal"}, "density is 'normal'; expected one of gaussian, dsf"),
        ({"sparsity": -1.0}, "expected a number of at least 0"),
    ],
)
def test_wrong_parameters_change_nothing(changes: dict[str, Any], message: str) -> None:
    model = DCDI(units=4)
    with pytest.raises(ValueError, match=message):
        model.set_params(**changes)
    assert model.get_params() == DCDI(units=4).get_params()


def test_arrays_and_frames_give_what_the_data_set_gives() -> None:
    data = simulate("linear", 3, 1, n=200, seed=1, heldout=0)
    model = DCDI(units=4, hidden_layers=1, engine="cpu", schedule=SHORT)
    expected = model.fit(data)
    frame = pd.DataFrame(data.X, columns=["a", "b", "c"])
    from_array, from_frame = model.fit(data.X, data.setting, data.targets), clone(model)
    fit = from_frame.fit(frame, setting=data.setting, targets=data.targets)
    for other in (from_array, fit):
        np.testing.assert_array_equal(other.graph, expected.graph)
        assert other.heldout_nll == expected.heldout_nll
    assert fit.names == ("a", "b", "c")
    assert from_frame.feature_names_in_.tolist() == ["a", "b", "c"]
    assert from_frame.n_features_in_ == 3
    np.testing.assert_array_equal(from_frame.graph_, fit.graph)


def test_rows_without_settings_are_observational() -> None:
    data = simulate("linear", 3, 1, n=200, seed=1, heldout=0)
    fit = DCDI(units=4, hidden_layers=1, engine="cpu", schedule=SHORT).fit(data.X)
    assert fit.graph.shape == (3, 3)


def test_settings_are_said_once() -> None:
    data = simulate("linear", 3, 1, n=200, seed=1)
    with pytest.raises(ValueError, match="a Dataset has its settings and targets"):
        DCDI().fit(data, data.setting)
    with pytest.raises(ValueError, match="targets are given without the setting"):
        DCDI().fit(data.X, targets=data.targets)
    with pytest.raises(ValueError, match="does not say its targets"):
        DCDI().fit(data.X, data.setting)
