"""The bridge to R: the only module that knows rpy2.

R runs inside the Python process, one process per job and no threads: R is not made for them. Nothing of it is
loaded before the first call, so that without R everything else works. R functions live in the method's folder::

    values = r_bridge.call("cam/cam.R", "cam_p_values", packages=["mgcv"], X=X, node=1, parents=parents, size=10)
"""

import importlib
import importlib.util
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

_FOLDER = Path(__file__).resolve().parent.parent
_ALL_AT_ONCE = "the conda environment envs/r.yaml has R, rpy2 and all R packages"
_HOW_TO_GET = {
    "mgcv": 'Debian\'s r-cran-mgcv, or install.packages("mgcv") in R',
    # BiocManager, because pcalg needs two packages that are not on CRAN.
    "pcalg": 'install.packages("BiocManager"); BiocManager::install("pcalg") in R',
}


class RError(RuntimeError):
    """R, rpy2 or an R package is missing, or R itself failed; the message says what to do or what R said."""


def available(*packages: str) -> str | None:
    """Return what is missing to use R with these packages and how to get it, or None when all is there."""
    if importlib.util.find_spec("rpy2") is None:
        return f"rpy2 is not installed: pip install -r envs/requirements-r.txt (it needs R); {_ALL_AT_ONCE}"
    if shutil.which("R") is None and "R_HOME" not in os.environ:
        return f"R is not installed or not on the PATH: install it (Debian's r-base-core); {_ALL_AT_ONCE}"
    try:
        robjects = _robjects()
    except Exception as error:  # rpy2 fails in many ways on an R that it was not built for
        return (
            f"rpy2 cannot start R ({type(error).__name__}: {error}): install it again beside this R, "
            f"pip install --force-reinstall -r envs/requirements-r.txt; {_ALL_AT_ONCE}"
        )
    is_installed = robjects.r("function(name) requireNamespace(name, quietly = TRUE)")
    for package in packages:
        if not is_installed(package)[0]:
            hint = _HOW_TO_GET.get(package, f'install.packages("{package}") in R')
            return f"the R package {package} is missing: {hint}; {_ALL_AT_ONCE}"
    return None


def call(script: str, function: str, *, packages: Sequence[str] = (), **arguments: Any) -> dict[str, npt.NDArray[Any]]:
    """Call an R function and return the elements of the named list that it returns.

    Parameters
    ----------
    script
        An R file, its path below ``baselines/``; it is sourced into an environment of its own.
    function
        The function in it. Random draws must come from a seed among its arguments (``set.seed``).
    packages
        The R packages that it uses.
    arguments
        NumPy arrays (a matrix becomes a matrix, a vector a one-dimensional array), numbers, flags and strings.

    Returns
    -------
    dict
        Each element as an array; a single value is an array of length 1, and logical values are 0 and 1.
    """
    missing = available(*packages)
    if missing is not None:
        raise RError(f"{script} cannot be run: {missing}")
    robjects = _robjects()
    conversion = importlib.import_module("rpy2.robjects.conversion")
    numpy2ri = importlib.import_module("rpy2.robjects.numpy2ri")
    errors = importlib.import_module("rpy2.rinterface_lib.embedded")
    converter = robjects.default_converter + numpy2ri.converter
    try:
        with conversion.localconverter(robjects.default_converter):
            scope = robjects.r("new.env(parent = globalenv())")
            robjects.r("sys.source")(str(_FOLDER / script), envir=scope)
            with conversion.localconverter(converter):
                given = {name: converter.py2rpy(value) for name, value in arguments.items()}
            result = scope[function](**given)
    except errors.RRuntimeError as error:
        raise RError(f"{function} of {script} failed in R: {str(error).strip()}") from None
    except KeyError:
        raise RError(f"{script} defines no function {function}") from None
    if not isinstance(result, robjects.vectors.ListVector) or not isinstance(result.names, robjects.StrVector):
        raise RError(f"{function} of {script} must return a list with names")
    with conversion.localconverter(converter):
        return {
            str(name): np.asarray(converter.rpy2py(element)) for name, element in zip(result.names, result, strict=True)
        }


def _robjects() -> ModuleType:
    # Through importlib, so that type checking gives the same answer with and without rpy2.
    return importlib.import_module("rpy2.robjects")
