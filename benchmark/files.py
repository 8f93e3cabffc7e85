"""Files that are whole or not there."""

import glob
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def written_whole(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open a file for writing that takes its name, and the place of an older one, when all is written."""
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_remains(target)
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        with open(partial, "wb") as file:
            yield file
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)


def _remove_remains(target: Path) -> None:
    """Remove what processes that were killed while they wrote the same file have left."""
    for remains in target.parent.glob(f".{glob.escape(target.name)}.*"):
        writer = remains.suffix[1:]
        if writer.isdigit() and not _is_alive(int(writer)):
            remains.unlink(missing_ok=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
