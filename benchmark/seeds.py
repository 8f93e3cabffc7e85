"""One root seed for everything: each cell draws from a stream named by its keys, whatever else runs."""

import hashlib

import numpy as np


def stream(root: int, *keys: str | int) -> np.random.SeedSequence:
    """Return the seed sequence of a cell, such as ``stream(0, "data", "linear-d10-e1-perfect", 3)``.

    Keys are hashed, so adding or reordering cells leaves every other cell's stream as it was.
    """
    text = "\x1f".join(str(key) for key in keys)
    digest = hashlib.sha256(text.encode()).digest()
    words = tuple(int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4))
    return np.random.SeedSequence(root, spawn_key=words)


def seed(root: int, *keys: str | int) -> int:
    """Return a 32-bit seed drawn from the cell's stream."""
    return int(stream(root, *keys).generate_state(1)[0])
