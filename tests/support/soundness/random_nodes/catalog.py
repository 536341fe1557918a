"""All kinds of random nodes without subgraphs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from support.soundness.arrays import FLOATS, Array
from support.soundness.random_nodes.elementwise import (
    arithmetic,
    bounded,
    broadcast,
    cast,
    divide_or_subtract,
    elementwise,
    unary,
    where,
)
from support.soundness.random_nodes.fitting import (
    anything,
    conditions,
    no_scalar,
    numeric,
    shape_like,
    wide,
)
from support.soundness.random_nodes.shapes import (
    computed_sizes,
    concat,
    constant_of_shape,
    expand,
    flatten,
    gather,
    matmul,
    nonzero,
    reduce_sum,
    reshape,
    shape_or_size,
    slice_,
    split,
    squeeze,
    tile,
    transpose,
    unsqueeze,
)
from support.soundness.random_nodes.single_operands import (
    arg_max,
    batch_normalization,
    clip,
    matrix,
    matrix_product,
    of_channels,
    slice_of_all_axes,
)
from support.soundness.scope import Scope


class Kind(NamedTuple):
    """One kind of node.

    Attributes:
        weight: How often it is tried.
        add: Adds a node to a scope, on a value of it.
        fits: What that value has to be; None where `add` takes none, and chooses by itself.
    """

    weight: int
    add: Callable[..., None]
    fits: Callable[[Array], bool] | None = None

    def try_in(self, scope: Scope) -> None:
        """Add a node, if there is a value that fits."""
        if self.fits is None:
            self.add(scope)
        elif (name := scope.pick(self.fits)) is not None:
            self.add(scope, name)


KINDS: Sequence[Kind] = (
    Kind(14, divide_or_subtract, numeric),
    Kind(12, elementwise, numeric),
    Kind(3, elementwise, conditions),
    Kind(2, arithmetic, wide),
    Kind(3, bounded, lambda array: array.dtype.name in ("int64", "int32")),
    Kind(4, shape_or_size, anything),
    Kind(4, computed_sizes),
    Kind(3, gather, lambda array: array.ndim > 0 and array.shape[0] > 0),
    Kind(3, reshape, anything),
    Kind(3, expand, wide),
    Kind(3, concat, no_scalar),
    Kind(1, slice_, no_scalar),
    Kind(2, broadcast),
    Kind(2, unary, wide),
    Kind(2, cast, lambda array: array.dtype.kind in "iub"),
    Kind(2, cast, lambda array: array.dtype.name in FLOATS),
    Kind(2, squeeze, no_scalar),
    Kind(2, unsqueeze, lambda array: array.ndim < 4),
    Kind(2, transpose, lambda array: array.ndim > 1),
    Kind(2, reduce_sum, lambda array: array.dtype.name in FLOATS),
    Kind(1, where, lambda array: array.dtype.name in ("float32", "int64")),
    Kind(1, constant_of_shape, shape_like),
    Kind(1, flatten, lambda array: array.ndim > 0 and array.size > 0),
    Kind(1, matmul, lambda array: array.dtype == np.float32 and array.ndim > 0),
    Kind(2, clip, lambda array: array.dtype.name in (*FLOATS, "int32", "int64")),
    Kind(2, arg_max, lambda array: array.dtype.name in (*FLOATS, "int32") and array.ndim > 0),
    Kind(2, batch_normalization, of_channels),
    Kind(2, slice_of_all_axes, lambda array: 0 < array.ndim < 4),
    Kind(1, matrix_product, matrix),
    Kind(1, split, lambda array: array.ndim > 0 and array.shape[0] > 1),
    Kind(1, tile, lambda array: array.dtype.name in (*FLOATS, "int64")),
    Kind(1, nonzero, lambda array: array.dtype.name in ("int64", "bool") and array.ndim > 0),
)
"""The kinds of nodes without subgraphs."""
