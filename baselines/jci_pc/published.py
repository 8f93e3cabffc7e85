"""JCI-PC as the paper's authors ran it: on the training rows, with p-values compared as text.

Their script hands the significance level to R as text, and R then compares p-values with it as text too, character by
character. A p-value below 1e-4 is written as "3e-20", which sorts after "0.001": a strong dependence reads as
independence and its edge is lost. It is kept where p is not above the level and at least 1e-4, or so small that it is
written as "0". Where the class has no DAG, R's package pcalg orients the skeleton along an order that it draws; the
script sets R's seed to 42 before.
"""

from statistics import NormalDist

import numpy as np
import numpy.typing as npt

from baselines.jci_pc.pc import Flags, Values

SMALLEST_LEVEL = 1e-4  # R writes p-values from here on as "0.0001...", smaller ones with an exponent
ZERO_FROM = 37.5193  # R's normal tail probability is 0 from this value on
R_SEED = 42
_WORDS = 624  # of the Mersenne Twister's state


def independent_as_text(alpha: float, strengths: Values) -> Flags:
    """Return whether a p-value, written out, does not sort before the level; strengths are abs(z)."""
    if alpha < SMALLEST_LEVEL:
        raise ValueError(f"alpha is {alpha}; p-values are compared as text with levels of at least {SMALLEST_LEVEL}")
    above_level = strengths <= -NormalDist().inv_cdf(alpha / 2)
    with_exponent = (strengths > -NormalDist().inv_cdf(SMALLEST_LEVEL / 2)) & (strengths < ZERO_FROM)
    independent: Flags = above_level | with_exponent
    return independent


def place_in_random_order(size: int) -> npt.NDArray[np.int64]:
    """Return the place of each variable in the order ``set.seed(42); sample.int(size)`` of R 3.6 and later.

    >>> (1 + np.argsort(place_in_random_order(20))).tolist()
    [17, 5, 1, 10, 4, 2, 20, 18, 8, 7, 16, 9, 19, 6, 14, 15, 12, 3, 13, 11]
    """
    generator = _mersenne_twister_of_r(R_SEED)
    remaining = list(range(size))
    order = []
    while remaining:
        chosen = _index_below(len(remaining), generator)
        order.append(remaining[chosen])
        last = remaining.pop()
        if chosen < len(remaining):
            remaining[chosen] = last
    return np.argsort(order)


def _mersenne_twister_of_r(seed: int) -> np.random.MT19937:
    """Return the generator with the state that R's ``set.seed`` gives it: a congruential sequence."""
    state = []
    for step in range(50 + 1 + _WORDS):
        seed = (69069 * seed + 1) % 2**32
        if step > 50:  # 50 are skipped, and where the next would be R keeps its position
            state.append(seed)
    generator = np.random.MT19937()
    key = np.array(state, dtype=np.uint32)
    generator.state = {"bit_generator": "MT19937", "state": {"key": key, "pos": _WORDS}}
    return generator


def _index_below(bound: int, generator: np.random.MT19937) -> int:
    """Return R's uniform index below a bound: as many bits as it needs, drawn again while they are too large."""
    bits = (bound - 1).bit_length()
    while True:
        value = 0
        for _ in range(bits // 16 + 1):
            value = value << 16 | int(generator.random_raw()) >> 16
        value &= (1 << bits) - 1
        if value < bound:
            return value
