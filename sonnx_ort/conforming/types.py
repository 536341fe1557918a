"""Operands of one type, and scalars where the profile wants a scalar.

In ONNX Runtime, Pow of two types computes as C++ does: in double, unless both are float; that of
two integers in double too. So an exponent that is converted to the type of the base gives the same
bits if the base is double, whatever the exponent is, and if it is an integer, provided that the
exponent is the same number in its type. An exponent of float16 it converts to float itself. Of a
base of float the power would be computed in float, and rounded otherwise, but for an exponent of
one element for whole rows, 2 or 3: it multiplies then, whatever the type of the exponent is.

The kernels of Clip, QuantizeLinear, DequantizeLinear and Range read one element of a bound, a
scale, a zero point or a limit, whether it is a scalar or a vector of one element. Removing the axis
leaves them the same element.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.change import Change, NoChangeError, Safety, Site

Array = npt.NDArray[Any]

_X, _Y = 0, 1
_WITH_TYPES = 12
"""The first version of Pow whose exponents may be of another type."""

_MULTIPLIED = (2, 3)
_INTEGERS = frozenset({"int32", "int64"})
_TYPES = _INTEGERS | {"float16", "float", "double"}
"""The types of which ONNX Runtime has kernels of Pow."""

_OTHERWISE = "of floats the power may be rounded otherwise"


def convert_exponent(site: Site, *, exact: bool) -> bool:
    """Convert the exponent of a Pow to the type of the base: a constant, or by Cast.

    Args:
        site: The node.
        exact: Whether only what keeps the bits is admitted.
    """
    base, given = _types(site)
    if base == given:
        return False
    constant = _converted(site, base)
    if exact and not _keeps_bits(site, base, given):
        raise NoChangeError(_OTHERWISE)
    if constant is not None:
        site.set_input(_Y, site.constant(constant, "exponent"))
    else:
        to = ir.DataType[base.upper()].value
        site.set_input(_Y, site.add("Cast", [site.operand(_Y)], "exponent", {"to": to}))
    return True


def _types(site: Site) -> tuple[str, str]:
    base, given = (site.facts.element_type(site.operand(p)) for p in (_X, _Y))
    if base is None or given is None:
        raise NoChangeError("the types of its operands are not known")
    if site.opset < _WITH_TYPES or base not in _TYPES or given not in _TYPES:
        raise NoChangeError(f"it has no kernel for {base} and {given}")
    return base, given


def _converted(site: Site, base: str) -> Array | None:
    """The exponents of a constant in the type of the base; None if only a run knows them.

    Raises:
        NoChangeError: An exponent is no number of that type, or might be none.
    """
    elements = site.facts.constant(site.operand(_Y))
    if elements is None:
        if base in _INTEGERS and (base, site.facts.element_type(site.operand(_Y))) != (
            "int64",
            "int32",
        ):
            raise NoChangeError(f"an exponent may be no number of {base}")
        return None
    with np.errstate(all="ignore"):
        converted = np.asarray(elements).astype(ir.DataType[base.upper()].numpy())
        same = bool(np.all(converted.astype(np.float64) == elements.astype(np.float64)))
    if base in _INTEGERS and not same:
        raise NoChangeError(f"an exponent is no number of {base}")
    return converted


def _keeps_bits(site: Site, base: str, given: str) -> bool:
    if base in _INTEGERS or base == "double":
        return True
    return base == "float" and (given == "float16" or _multiplies(site))


def _multiplies(site: Site) -> bool:
    """Whether Pow multiplies in every run: its only exponent is 2 or 3, for rows of X."""
    elements = site.facts.constant(site.operand(_Y))
    shape = site.facts.shape(site.operand(_X))
    if elements is None or elements.size != 1 or elements.item() not in _MULTIPLIED:
        return False
    if not shape or site.facts.depends_on_scalar_inputs(site.operand(_X)):
        return False
    # One row of one element it takes for two tensors of one shape, and computes a power.
    row = shape[-1]
    return elements.ndim <= len(shape) and isinstance(row, int) and row > 1


def multiply_instead(site: Site) -> bool:
    """Make products of the powers of which Pow makes products itself.

    Where one exponent of 2 or 3 is for whole rows of X, the kernel multiplies: x * x, or x * x * x
    from the left. A Mul of x by itself rounds the same products, and has operands of one shape. Of
    float16 the kernel rounds once behind the products, and Mul behind each.
    """
    if not _multiplies(site) or site.facts.element_type(site.operand(_X)) == "float16":
        return False
    x = site.operand(_X)
    exponent = int(site.elements(_Y).item())
    square = site.node.name if exponent == _MULTIPLIED[0] else None
    product = site.add("Mul", [x, x], "square", name=square)
    if exponent != _MULTIPLIED[0]:
        product = site.add("Mul", [product, x], "cube", name=site.node.name)
    site.replace_by(product)
    return True


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
            raise NoChangeError(f"'{value.name}' is no vector of one element")
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
    if site.integer("block_size", 0) != 0:
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
    if site.integer("output_dtype", 0) not in _OF_UINT8:
        raise NoChangeError("its results are not uint8, which the profile wants them to be")
    shape = site.sizes(site.operand(_SCALE))
    site.set_input(_ZERO_POINT, site.constant(np.zeros(shape, np.uint8), "zero_point"))
    return True


_POW_TYPES = frozenset({"Pow.float.R2", "Pow.int.R2", "GR3"})

CHANGES = (
    Change(
        "multiply in place of a power of 2 or 3",
        frozenset({"Pow.float.R1", "Pow.int.R1"}),
        multiply_instead,
    ),
    Change(
        "convert the exponent to the type of the base",
        _POW_TYPES,
        partial(convert_exponent, exact=True),
    ),
    Change(
        "convert the exponent, and compute in the type of the base",
        _POW_TYPES,
        partial(convert_exponent, exact=False),
        Safety.UNSAFE,
    ),
    Change(
        "make scalars of bounds",
        frozenset({"Clip.C1"}),
        partial(remove_axis, positions=(1, 2)),
    ),
    Change(
        "make scalars of start, limit and step",
        frozenset({"Range.scalars"}),
        partial(remove_axis, positions=(0, 1, 2)),
    ),
    Change(
        "make scalars of scale and zero point",
        frozenset({"QuantizeLinear.signature", "DequantizeLinear.signature"}),
        remove_quantization_axis,
    ),
    Change(
        "set the axis to its default, which is not read",
        frozenset({"QuantizeLinear.R1", "DequantizeLinear.R1"}),
        name_default_axis,
    ),
    Change("give a zero point of 0", frozenset({"QuantizeLinear.given"}), give_zero_point),
)
"""The changes of types and scalars."""
