"""Which values a node can be added on."""

import numpy as np

from support.soundness.arrays import FLOATS, Array


def anything(_: Array) -> bool:
    """Whether it is a tensor."""
    return True


def no_scalar(array: Array) -> bool:
    """Whether it has an axis."""
    return array.ndim > 0


def numeric(array: Array) -> bool:
    """Whether it is of a type that Div takes."""
    return array.dtype.kind in "iuf"


def conditions(array: Array) -> bool:
    """Whether it is of conditions, more than the one that an If asks."""
    return array.dtype == np.bool_ and array.ndim > 0


def wide(array: Array) -> bool:
    """Whether it is of a type that every arithmetic operator takes."""
    return array.dtype.name in (*FLOATS, "int64", "int32")


def shape_like(array: Array) -> bool:
    """Whether it can stand for a shape."""
    return array.dtype == np.int64 and array.ndim == 1 and 0 < array.size <= 4
