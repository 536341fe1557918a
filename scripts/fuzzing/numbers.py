"""Integers at which arithmetic, indices and allocations go wrong, and small ones."""

import random

EXTREME = (
    *(-(2**63), -(2**31) - 1, -(2**31), -100, -5, -3, -2, -1, 0, 1, 2, 3, 4, 5, 7, 100),
    *(2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1),
)
SMALL = (-3, -2, -1, 0, 1, 2, 3, 4, 5)


def any_integer(rng: random.Random, smallest: int = -(2**63), largest: int = 2**63 - 1) -> int:
    """Choose an integer, mostly a small one.

    Args:
        rng: Chooses.
        smallest: The smallest that can be stored.
        largest: The largest that can be stored.
    """
    chosen = rng.choice(EXTREME if rng.random() < 1 / 3 else SMALL)
    return max(smallest, min(largest, chosen))
