"""Where numba keeps compiled code: a folder of its own for each state of this package.

numba compares only the file that defines a function; code inlined from another file would stay as it was compiled.
"""

import hashlib
import os
from pathlib import Path

import numba

PACKAGE = Path(__file__).resolve().parent


def use_own_cache() -> None:
    """Point numba to NUMBA_CACHE_DIR, or to the user's cache folder, by the hash of the package's files."""
    digest = hashlib.sha256(b"".join(path.read_bytes() for path in sorted(PACKAGE.glob("*.py"))))
    base = os.environ.get("NUMBA_CACHE_DIR") or Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "dcdi")
    setattr(numba.config, "CACHE_DIR", str(Path(base, digest.hexdigest()[:16])))  # noqa: B010 - has no stub
