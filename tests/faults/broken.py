"""Methods whose files break before a fit begins, or around it: name -> (source, status, part of the reason)."""

HEAD = """
import os, sys, time
import numpy as np
from benchmark.dataset import Fit
LABEL, SUPPORTS, SPACE, SELECTION = "Broken", ("perfect",), {"x": [1, 2]}, "heldout"
def fit(dataset, *, seed, x=1):
    return Fit(np.zeros((dataset.d, dataset.d), dtype=np.int8), heldout_nll=1.0)
"""

BROKEN = {
    "hangs_at_import": ("import time\ntime.sleep(600)\n", "error", "did not end within"),
    "exits_at_import": ("import sys\nsys.exit(3)\n", "error", "SystemExit"),
    "dies_at_import": ("import os\nos._exit(3)\n", "error", "exit code 3"),
    "crashes_at_import": ("import ctypes\nctypes.string_at(0)\n", "error", "exit code -11"),
    "raises_at_import": ("import no_such_package\n", "error", "no_such_package"),
    "is_no_python": ("def fit(:\n", "error", "SyntaxError"),
    "defines_nothing": ("x = 1\n", "error", "it does not define LABEL"),
    "has_a_wrong_label": (HEAD + "LABEL = 3\n", "error", "LABEL is 3"),
    "hangs_in_space": (HEAD + "def space(rng): time.sleep(600)\n", "error", "did not end within"),
    "dies_in_space": (HEAD + "def space(rng): os._exit(4)\n", "error", "exit code 4"),
    "has_an_empty_space": (HEAD + "def space(rng): return []\n", "error", "no combination"),
    "has_no_values": (HEAD + 'SPACE = {"x": []}\n', "error", "no combination"),
    "has_a_wrong_space": (HEAD + "def space(rng): return 7\n", "error", "expected a list of dicts"),
    "hangs_in_warm_up": (HEAD + "def warm_up(): time.sleep(600)\n", "timeout", "before the first fit"),
    "dies_in_warm_up": (HEAD + "def warm_up(): os._exit(5)\n", "error", "exit code 5"),
    "needs_an_absent_package": (HEAD + 'PACKAGES = ("no-such-package",)\n', "ok", ""),
    "kills_its_group": (HEAD + "def warm_up(): os.killpg(0, 9)\n", "memory", "killed"),
    "has_broken_mathtext": (HEAD + "LABEL = 'saves 5 $ or $\\\\frac{'\n", "ok", ""),
    "never_has_a_score": (
        HEAD.replace("heldout_nll=1.0", "heldout_nll=float('nan')"),
        "error",
        "none of its fits has a finite one",
    ),
    "chooses_what_it_lacks": (HEAD + 'SELECTION = {"x": 9}\n', "refused", "no combination of its hyperparameters"),
}

CHEAT = """
import glob, os
import numpy as np
from benchmark.dataset import Dataset, Fit
LABEL, SUPPORTS, SPACE, SELECTION = "Cheat", ("perfect",), {}, {}


def places():
    yield from glob.glob("/proc/[0-9]*/fd/*")
    yield from glob.glob("/proc/[0-9]*/cwd/**/*.npz", recursive=True)
    yield from glob.glob(os.environ["PYTHONPATH"].split(":")[0] + "/**/*.npz", recursive=True)
    yield from glob.glob(os.path.dirname(os.environ["NUMBA_CACHE_DIR"]) + "/../**/*.npz", recursive=True)


def fit(dataset, *, seed):
    for place in places():
        try:
            known = Dataset.load(place)
        except Exception:
            continue
        if known.graph is not None and known.graph.shape == (dataset.d, dataset.d) and known.graph.any():
            return Fit(known.graph, info={"found": place})
    return Fit(np.zeros((dataset.d, dataset.d), dtype=np.int8), info={"found": None})
"""
