"""Scalars where the profile wants a scalar.

The kernels of Clip, QuantizeLinear, DequantizeLinear and Range read one element of a bound, a
scale, a zero point or a limit, whether it is a scalar or a vector of one element. Removing the axis
leaves them the same element.
"""

from collections.abc import Sequence
from functools import partial

import numpy as np
import onnx_ir as ir

from sonnx_ort.conforming.change import Change, NoChangeError, Site, filled


def remove_axis(site: Site, positions: Sequence[int]) -> bool:
    """Give scalars in place of vectors of one element: a constant, or by Squeeze.

    Args:
        site: The node.
        positions: The inputs that the profile wants to be scalars.
    """
    given = [(p, value) for p in positions if (value := site.input(p)) is not None]
    vectors = [(p, value) for p, value in given if site.facts.shape(value)]
    for _, value in vectors:
        shape = site.shape(value)
        if any(not isinstance(size, int) for size in shape):
            raise NoChangeError(f"how many elements '{value.name}' has is known only in a run")
        if shape != (1,):
            raise NoChangeError(f"'{value.name}' is not a vector of one element")
    for position, value in vectors:
        site.set_input(position, _scalar(site, value))
    return bool(vectors)


def _scalar(site: Site, value: ir.Value) -> ir.Value:
    elements = site.facts.constant(value)
    if elements is not None:
        return site.constant(elements.reshape(()), "scalar")
    return site.with_axes("Squeeze", value, [0], "scalar")


_SCALE, _ZERO_POINT = 1, 2


def remove_quantization_axis(site: Site) -> bool:
    """Give a scale and a zero point that are scalars in place of vectors of one element.

    The kernels take one scale for all elements then, whatever axis is named.
    """
    if site.integer("block_size") != 0:
        raise NoChangeError("it has one scale for each block of elements")
    return remove_axis(site, (_SCALE, _ZERO_POINT))


def name_default_axis(site: Site) -> bool:
    """Set the attribute `axis` to 1 where the scale is a scalar, which has no axis.

    ONNX says of the axis that it is used for scales of an axis alone.
    """
    if site.shape(site.operand(_SCALE)) != ():
        raise NoChangeError("the axis is that of its scales")
    site.set_attribute("axis", 1)
    return True


_OF_UINT8 = (0, ir.DataType.UINT8.value)


def give_zero_point(site: Site) -> bool:
    """Give a zero point of 0, which ONNX assumes, in uint8 and in the shape of the scale."""
    if site.integer("output_dtype") not in _OF_UINT8:
        raise NoChangeError("its results are not uint8, which the profile requires")
    shape = site.sizes(site.operand(_SCALE))
    site.set_input(_ZERO_POINT, site.constant(filled(shape, 0, np.uint8), "zero_point"))
    return True


CHANGES = (
    Change(
        "convert the bounds to scalars",
        frozenset({"Clip.C1"}),
        partial(remove_axis, positions=(1, 2)),
    ),
    Change(
        "convert start, limit and step to scalars",
        frozenset({"Range.scalars"}),
        partial(remove_axis, positions=(0, 1, 2)),
    ),
    Change(
        "convert scale and zero point to scalars",
        frozenset({"QuantizeLinear.signature", "DequantizeLinear.signature"}),
        remove_quantization_axis,
    ),
    Change(
        "set the axis to its default, because it is not used",
        frozenset({"QuantizeLinear.R1", "DequantizeLinear.R1"}),
        name_default_axis,
    ),
    Change("add a zero point of 0", frozenset({"QuantizeLinear.given"}), give_zero_point),
)
"""The changes of scalars."""
