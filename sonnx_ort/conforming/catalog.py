"""All changes, in the order in which they are tried at a node.

What gives the operands their rank, shape and type comes before what reads these.
"""

from sonnx_ort.conforming import axes, broadcasts, convolutions, products, recurrent, slices, types
from sonnx_ort.conforming.change import Change

CHANGES: tuple[Change, ...] = (
    *slices.CHANGES,
    *axes.CHANGES,
    *convolutions.CHANGES,
    *recurrent.CHANGES,
    *types.CHANGES,
    *products.CHANGES,
    *broadcasts.CHANGES,
)
"""The changes. A new one needs one more line above."""
