"""Powers: exponents of the type of their base, and products in their place.

In ONNX Runtime, Pow of two types computes as C++ does: in double, unless both are float; that of
two integers in double too. So an exponent that is converted to the type of the base gives the same
bits if the base is double, whatever the exponent is, and if it is an integer, provided that the
exponent is the same number in its type. An exponent of float16 it converts to float itself. Of a
base of float the power would be computed in float, and rounded otherwise, but for an exponent of
one element for whole rows, 2 or 3: it multiplies then, whatever the type of the exponent is.

Rows of one element it takes for a tensor of the shape of the exponent, and computes powers. Where
a run tells the length of the rows, both are computed, and Where takes the one that the kernel would
have computed: of squares, for no square is -0, which Where may make 0.
"""

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.bounds import Bound
from sonnx_ort.conforming.change import SLICED_BY_INPUTS, Change, NoChangeError, NodeEdit
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.verified_operators import verified_of
from sonnx_ort.facts.node import IEEE_FLOATS
from sonnx_ort.terms.operand import Dimension

Array = npt.NDArray[Any]

_X, _Y = 0, 1
_WITH_TYPES = 12
"""The first version of Pow whose exponents may be of another type."""

_SQUARE = 2
_INTEGERS = frozenset({"int32", "int64"})
_TYPES = _INTEGERS | IEEE_FLOATS
"""The types of which ONNX Runtime has kernels of Pow."""


def convert_exponent(edit: NodeEdit, *, exact: bool) -> bool:
    """Convert the exponent of a Pow to the type of the base: a constant, or by Cast.

    `exact` admits only what keeps the bits.
    """
    base, given = _operand_types(edit)
    if base == given:
        return False
    constant = _converted(edit, base)
    if exact and not _keeps_bits(edit, base, given):
        raise NoChangeError("a power of floats may be rounded differently")
    if constant is not None:
        edit.set_input(_Y, edit.constant(constant, "exponent"))
    else:
        converted = Operators(edit).cast(edit.operand(_Y), ir.DataType[base.upper()])
        edit.set_input(_Y, converted)
    return True


def _operand_types(edit: NodeEdit) -> tuple[str, str]:
    base, given = (edit.facts.element_type(edit.operand(p)) for p in (_X, _Y))
    if base is None or given is None:
        raise NoChangeError("the types of its operands are not known")
    if edit.opset < _WITH_TYPES or base not in _TYPES or given not in _TYPES:
        raise NoChangeError(f"it has no kernel for {base} and {given}")
    return base, given


def _converted(edit: NodeEdit, base: str) -> Array | None:
    """The exponents of a constant in the type of the base; None if only a run knows them."""
    elements = edit.facts.constant(edit.operand(_Y))
    if elements is None:
        if base in _INTEGERS and (base, edit.facts.element_type(edit.operand(_Y))) != (
            "int64",
            "int32",
        ):
            raise NoChangeError(f"an exponent may not be a number of {base}")
        return None
    with np.errstate(all="ignore"):
        converted = np.asarray(elements).astype(ir.DataType[base.upper()].numpy())
        same = bool(np.all(converted.astype(np.float64) == elements.astype(np.float64)))
    if base in _INTEGERS and not same:
        raise NoChangeError(f"an exponent is not a number of {base}")
    if not same and bool(np.any(_is_whole(converted) & ~_is_whole(np.asarray(elements)))):
        # Of a negative base such a power is a number, and the original one is NaN.
        raise NoChangeError(f"an exponent that is not whole is so as a number of {base}")
    return converted


def _is_whole(elements: Array) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isfinite(elements) & (elements == np.round(elements)))


def _keeps_bits(edit: NodeEdit, base: str, given: str) -> bool:
    if base in _INTEGERS or base == "double":
        return True
    return base == "float" and (given == "float16" or _multiplies(edit))


def _multiplies(edit: NodeEdit) -> bool:
    """Whether Pow multiplies in every run: its only exponent is 2 or 3, for rows of X."""
    row = _row(edit)
    # One row of one element it takes for two tensors of one shape, and computes a power.
    return isinstance(row, int) and row > 1


def _row(edit: NodeEdit) -> Dimension:
    """The length of the rows of X for which an exponent of 2 or 3 is alone; 0 if it is not."""
    elements = edit.facts.constant(edit.operand(_Y))
    shape = edit.facts.shape(edit.operand(_X))
    if elements is None or elements.size != 1 or elements.item() not in (_SQUARE, 3):
        return 0
    if not shape or edit.facts.depends_on_scalar_inputs(edit.operand(_X)):
        return 0
    return shape[-1] if elements.ndim <= len(shape) else 0


def multiply_instead(edit: NodeEdit) -> bool:
    """Make products of the powers of which Pow makes products itself.

    Where one exponent of 2 or 3 is for whole rows of X, the kernel multiplies: x * x, or x * x * x
    from the left. A Mul of x by itself rounds the same products, and has operands of one shape. Of
    float16 the kernel rounds once after the products, and Mul after each.
    """
    if not _multiplies(edit) or edit.facts.element_type(edit.operand(_X)) == "float16":
        return False
    x = edit.operand(_X)
    exponent = int(edit.elements(_Y).item())
    square = edit.node.name if exponent == _SQUARE else None
    op = Operators(edit)
    product = op.Mul(x, x, name=square)
    if exponent != _SQUARE:
        product = op.Mul(product, x, name=edit.node.name)
    edit.replace_by(product)
    return True


def multiply_longer_rows(edit: NodeEdit) -> bool:
    """Make squares by Mul of rows of several elements, and by Pow of rows of one, as Pow does.

    An exponent of two axes or more is alone for more than the rows, so that others decide.
    """
    x, y = edit.operand(_X), edit.operand(_Y)
    row, exponent, base = _row(edit), edit.facts.constant(y), edit.facts.element_type(x)
    if isinstance(row, int) or exponent is None or exponent.item() != _SQUARE or exponent.ndim > 1:
        return False
    if edit.opset < SLICED_BY_INPUTS or base == "float16" or edit.facts.element_type(y) != base:
        return False
    op = Operators(edit)
    length = op.size(x, len(edit.shape(x)) - 1)
    shape = op.Shape(x)
    alone = op.Expand(op.Equal(length, [1]), shape)
    power = op.Pow(x, op.Expand(y, shape), name=edit.node.name)
    edit.replace_by(op.Where(alone, power, op.Mul(x, x)))
    return True


_EQUAL_SHAPES = frozenset({"Pow.float.R1", "Pow.int.R1"})
_POW = verified_of("Pow")
_POW_TYPES = frozenset({"Pow.float.R2", "Pow.int.R2", "GR3"})

CHANGES = (
    Change("replace a power of 2 or 3 by a product", _EQUAL_SHAPES, multiply_instead, _POW),
    Change(
        "replace a square of rows of several elements by a product",
        _EQUAL_SHAPES,
        multiply_longer_rows,
        _POW,
    ),
    Change(
        "convert the exponent to the type of the base",
        _POW_TYPES,
        partial(convert_exponent, exact=True),
        _POW,
    ),
    Change(
        "convert the exponent, and compute in the type of the base",
        _POW_TYPES,
        partial(convert_exponent, exact=False),
        _POW,
        Bound(64, remark="of a negative base, exponents have to be numbers of its type"),
    ),
)
"""The changes of powers."""
