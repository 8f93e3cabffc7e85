"""The bridge to R: what goes in and comes out, and what it says when something is missing."""

import importlib.util
import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from baselines._shared import r_bridge

MISSING = r_bridge.available()
needs_r = pytest.mark.skipif(MISSING is not None, reason=f"R: {MISSING}")

SCRIPT = """
echo <- function(matrix, vector, number, text) {
  list(matrix = matrix * 2, corner = matrix[2, 1], vector = as.vector(vector), number = number, text = toupper(text),
       flag = number > 1, nothing = numeric(0))
}
fail <- function(rows) stop("there are ", rows, " rows")
careful <- function() { warning("take care"); list(done = 1) }
unnamed <- function() list(1, 2)
no_list <- function() 3
leak <- function() { assign("left_behind", 1); list(seen = exists("echo", envir = globalenv())) }
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "script.R").write_text(SCRIPT)
    monkeypatch.setattr(r_bridge, "_FOLDER", tmp_path)
    return "script.R"


@needs_r
def test_values_go_there_and_back(script: str) -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    result = r_bridge.call(script, "echo", matrix=matrix, vector=np.array([3, 1, 2]), number=2.5, text="size")
    np.testing.assert_array_equal(result["matrix"], matrix * 2)
    assert result["corner"].tolist() == [3.0]  # row 2, column 1 in R's counting: the axes are not swapped
    assert result["vector"].tolist() == [3, 1, 2]
    assert result["number"].tolist() == [2.5]
    assert result["text"].tolist() == ["SIZE"]
    assert result["flag"].tolist() == [1]
    assert result["nothing"].shape == (0,)


@needs_r
def test_slices_and_other_orders_of_memory(script: str) -> None:
    base = np.arange(24.0).reshape(4, 6)
    for matrix in (base[::2, 1::2], np.asfortranarray(base), base.T):
        result = r_bridge.call(script, "echo", matrix=matrix, vector=matrix[:, 0], number=1, text="")
        np.testing.assert_array_equal(result["matrix"], matrix * 2)
        np.testing.assert_array_equal(result["vector"], matrix[:, 0])


@needs_r
def test_the_message_of_r_is_passed_on(script: str) -> None:
    with pytest.raises(r_bridge.RError, match=r"fail of script\.R failed in R: .*there are 7 rows"):
        r_bridge.call(script, "fail", rows=7)
    assert r_bridge.call(script, "careful")["done"].tolist() == [1.0]  # an error does not disturb the next call


@needs_r
def test_scripts_do_not_meet(script: str) -> None:
    assert r_bridge.call(script, "leak")["seen"].tolist() == [0]


@needs_r
@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("script.R", "unnamed", "must return a list with names"),
        ("script.R", "no_list", "must return a list with names"),
        ("script.R", "absent", "defines no function absent"),
        ("absent.R", "echo", r"absent\.R.* is not an existing file"),
    ],
)
def test_wrong_scripts(script: str, name: str, function: str, message: str) -> None:
    with pytest.raises(r_bridge.RError, match=message):
        r_bridge.call(name, function)


@needs_r
def test_missing_r_package(script: str) -> None:
    with pytest.raises(r_bridge.RError, match=r'package thereIsNone is missing: install\.packages\("thereIsNone"\)'):
        r_bridge.call(script, "careful", packages=["thereIsNone"])
    assert r_bridge.available("stats") is None


def hide_rpy2(patch: pytest.MonkeyPatch) -> None:
    find_spec = importlib.util.find_spec
    patch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "rpy2" else find_spec(name, *rest))


def hide_r(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(importlib.util, "find_spec", lambda *_: object())
    patch.setattr(shutil, "which", lambda *_, **__: None)
    patch.setattr(os, "environ", {key: value for key, value in os.environ.items() if key != "R_HOME"})


def break_rpy2(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(importlib.util, "find_spec", lambda *_: object())
    patch.setattr(shutil, "which", lambda *_, **__: "R")

    def fail() -> Any:
        raise OSError("libR.so: undefined symbol")

    patch.setattr(r_bridge, "_robjects", fail)


@pytest.mark.parametrize(
    ("hide", "message"),
    [
        (hide_rpy2, r"rpy2 is not installed: pip install -r envs/requirements-r\.txt"),
        (hide_r, r"R is not installed or not on the PATH: .*r-base-core"),
        (break_rpy2, r"cannot start R \(OSError: libR\.so: undefined symbol\)"),
    ],
)
def test_what_is_missing_is_said(hide: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        hide(patch)
        found = r_bridge.available("mgcv")
        with pytest.raises(r_bridge.RError, match=message) as refused:
            r_bridge.call("cam.R", "anything")
    assert found is not None
    assert found in str(refused.value)
    assert "envs/r.yaml" in found
