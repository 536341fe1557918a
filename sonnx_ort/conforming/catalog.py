"""All changes, in the order in which they are tried at a node.

What gives the operands their rank, shape and type comes before what reads these.
"""

from sonnx_ort.conforming import (
    axes,
    broadcasts,
    constants,
    convolutions,
    gemm,
    powers,
    products,
    recurrent,
    slices,
    types,
)
from sonnx_ort.conforming.change import Change

CHANGES: tuple[Change, ...] = (
    *constants.CHANGES,
    *slices.CHANGES,
    *axes.CHANGES,
    *convolutions.CHANGES,
    *recurrent.CHANGES,
    *powers.CHANGES,
    *types.CHANGES,
    *products.CHANGES,
    *gemm.CHANGES,
    *broadcasts.CHANGES,
)
"""The changes. A new one needs one more line above."""
