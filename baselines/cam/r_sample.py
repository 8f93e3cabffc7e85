"""R's ``sample``, number for number: mgcv draws the knots of a spline with it, and CAM's graphs depend on them."""

from functools import lru_cache

import numpy as np
import numpy.typing as npt


@lru_cache(maxsize=16)  # the nodes of a data set have nearly all as many rows
def r_sample(n: int, size: int, seed: int) -> npt.NDArray[np.int64]:
    """Return what R gives for ``set.seed(seed); sample.int(n, size) - 1``.

    Both are Mersenne Twisters; R fills its state by a congruential generator. An index is drawn from as many bits as n
    has, 16 of a number at a time, and drawn again where it is n or more (``sample.kind = "Rejection"``, since R 3.6).
    """
    words = np.empty(675, dtype=np.uint32)
    word = seed
    for place in range(len(words)):
        word = (69069 * word + 1) % 2**32
        words[place] = word
    generator = np.random.MT19937()
    # 50 rounds of scrambling, and one word for the position, which is set instead.
    generator.state = {"bit_generator": "MT19937", "state": {"key": words[51:], "pos": 624}}

    def index(limit: int) -> int:
        bits = (limit - 1).bit_length()
        while True:
            value = 0
            for _ in range(bits // 16 + 1):
                value = 65536 * value + (generator.random_raw() >> 16)
            value &= (1 << bits) - 1
            if value < limit:
                return value

    moved: dict[int, int] = {}  # the last of those left takes the place of one that was drawn
    drawn = np.empty(size, dtype=np.int64)
    for place in range(size):
        last = n - 1 - place
        chosen = index(last + 1)
        drawn[place] = moved.get(chosen, chosen)
        moved[chosen] = moved.get(last, last)
    drawn.flags.writeable = False
    return drawn
