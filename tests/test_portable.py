"""Simulated data have the same bits whatever instructions and linear algebra kernels the libraries use."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from benchmark.mechanisms import MECHANISMS
from benchmark.methods import ROOT
from benchmark.portable import Values, product, sin, tanh

CHILD = """
import hashlib, json
import numpy as np
from benchmark.mechanisms import MECHANISMS
from benchmark.simulate import simulate

x = np.random.default_rng(0).normal(size=1000)
digests = {"tanh of NumPy": hashlib.sha256(np.tanh(x).tobytes()).hexdigest()}
for name in MECHANISMS:
    nodes, edges = (2, 0.5) if name in ("x", "dna") else (8, 3)
    data = simulate(name, nodes, edges, "imperfect", n=500, seed=2)
    digests[name] = hashlib.sha256(data.X.tobytes()).hexdigest()
print(json.dumps(digests))
"""


def digests(**environment: str) -> dict[str, str]:
    done = subprocess.run(
        [sys.executable, "-c", CHILD],
        env=os.environ | environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def test_same_data_with_other_instructions_and_kernels() -> None:
    here = digests()
    other = digests(NPY_DISABLE_CPU_FEATURES="X86_V3 X86_V4", OPENBLAS_CORETYPE="Prescott", OPENBLAS_NUM_THREADS="2")
    if here.pop("tanh of NumPy") == other.pop("tanh of NumPy"):
        pytest.skip("this NumPy does not choose its instructions by NPY_DISABLE_CPU_FEATURES")
    assert set(here) == set(MECHANISMS)
    assert here == other


@given(hnp.arrays(float, 50, elements=st.floats(-1e3, 1e3)))
def test_functions(x: Values) -> None:
    np.testing.assert_allclose(tanh(x), np.tanh(x), rtol=0, atol=4e-16)
    np.testing.assert_allclose(sin(x), np.sin(x), rtol=0, atol=4e-16)


@given(hnp.arrays(float, (3, 4), elements=st.floats(-9, 9)), hnp.arrays(float, (4, 2), elements=st.floats(-9, 9)))
def test_product(left: Values, right: Values) -> None:
    np.testing.assert_allclose(product(left, right), left @ right, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(product(left, right[:, 0]), product(left, right)[:, 0])
