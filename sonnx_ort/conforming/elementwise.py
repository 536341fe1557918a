"""Operators that compute each element by itself, written by operators of the set.

ONNX Runtime computes a chain of operators of float16 in float, and may round at its end alone. So
what is of several operators is exact for float and double only. Its Where may give 0 for -0.
"""

import math
from dataclasses import replace

import onnx_ir as ir

from sonnx_ort.conforming.bounds import SAME_NUMBERS, Bound, Inputs, Reference
from sonnx_ort.conforming.change import NoChangeError
from sonnx_ort.conforming.operators import Operators, Template
from sonnx_ort.facts.node import IEEE_FLOATS, INTEGERS

_NUMBERS = IEEE_FLOATS | INTEGERS
_WIDE = frozenset({"float", "double"})
_WHOLE_FROM = {ir.DataType.FLOAT: 2.0**23, ir.DataType.DOUBLE: 2.0**52}
"""From this number on, all numbers of a type are whole."""


def both(op: Operators, a: ir.Value, b: ir.Value) -> ir.Value:
    """And: both booleans, as numbers, have a sum of 2."""
    return op.Less(op.number(1, ir.DataType.INT32), _sum_of_booleans(op, a, b))


def either(op: Operators, a: ir.Value, b: ir.Value) -> ir.Value:
    """Or: both booleans, as numbers, have a sum of 1 at least."""
    return op.Less(op.number(0, ir.DataType.INT32), _sum_of_booleans(op, a, b))


def _sum_of_booleans(op: Operators, a: ir.Value, b: ir.Value) -> ir.Value:
    return op.Add(op.cast(a, ir.DataType.INT32), op.cast(b, ir.DataType.INT32))


def greater(op: Operators, a: ir.Value, b: ir.Value) -> ir.Value:
    """Greater: the other is less."""
    return op.Less(b, a)


def greater_or_equal(op: Operators, a: ir.Value, b: ir.Value) -> ir.Value:
    """GreaterOrEqual: neither of two operands that are NaN is."""
    return either(op, op.Less(b, a), op.Equal(a, b))


def less_or_equal(op: Operators, a: ir.Value, b: ir.Value) -> ir.Value:
    """LessOrEqual: neither of two operands that are NaN is."""
    return either(op, op.Less(a, b), op.Equal(a, b))


def reciprocal(op: Operators, x: ir.Value) -> ir.Value:
    """Reciprocal: 1 / x."""
    return op.Div(1.0, x)


def hard_sigmoid(op: Operators, x: ir.Value) -> ir.Value:
    """HardSigmoid: max(0, min(1, alpha * x + beta))."""
    line = op.Add(op.Mul(x, op.attribute("alpha")), op.attribute("beta"))
    return op.Clip(line, min=op.number(0.0), max=op.number(1.0))


def sign(op: Operators, x: ir.Value) -> ir.Value:
    """Sign: 1 above 0, -1 below it, and NaN of NaN."""
    above, below = op.Less(op.number(0), x), op.Less(x, op.number(0))
    found = op.Sub(op.cast(above, op.dtype), op.cast(below, op.dtype))
    return op.Where(op.Equal(x, x), found, x) if op.dtype.is_floating_point() else found


def rounded(op: Operators, x: ir.Value) -> ir.Value:
    """Round, Floor and Ceil.

    The sum of |x| and the least number from which on all are whole is rounded to a whole number, to
    an even one of two that are as near. From there on x is whole, infinite or NaN.
    """
    limit = _WHOLE_FROM.get(op.dtype)
    if limit is None:
        raise NoChangeError(f"sums of {op.dtype.name.lower()} may not be rounded")
    size = op.Sub(op.Add(op.Abs(x), limit), limit)
    nearest = op.Where(op.Less(x, 0.0), op.Neg(size), size)
    match op.edit.node.op_type:
        case "Floor":
            nearest = op.Sub(nearest, op.cast(op.Less(x, nearest), op.dtype))
        case "Ceil":
            nearest = op.Add(nearest, op.cast(op.Less(nearest, x), op.dtype))
    return op.Where(op.Less(op.Abs(x), limit), nearest, x)


def in_double(op: Operators, x: ir.Value) -> ir.Value:
    """Cos, Tan, Sinh, Cosh, Elu, Selu and Celu: computed in double, and rounded once."""
    wide = op if op.dtype is ir.DataType.DOUBLE else replace(op, dtype=ir.DataType.DOUBLE)
    operand = op.cast(x, ir.DataType.DOUBLE)
    match op.edit.node.op_type:
        case "Cos":
            result = _cosine(wide, operand)
        case "Tan":
            result = wide.Div(wide.Sin(operand), _cosine(wide, operand))
        case "Sinh":
            # Unlike a difference of powers, it is as near for small numbers.
            result = wide.Mul(wide.Tanh(operand), _hyperbolic_cosine(wide, operand))
        case "Cosh":
            result = _hyperbolic_cosine(wide, operand)
        case _:
            result = _exponential_linear(wide, operand)
    return op.cast(result, op.dtype)


def _cosine(op: Operators, x: ir.Value) -> ir.Value:
    """1 - 2 sin(x / 2)^2."""
    sine = op.Sin(op.Mul(x, 0.5))
    return op.Sub(1.0, op.Mul(op.Mul(sine, sine), 2.0))


def _hyperbolic_cosine(op: Operators, x: ir.Value) -> ir.Value:
    return op.Mul(op.Add(op.Exp(x), op.Exp(op.Neg(x))), 0.5)


def _exponential_linear(op: Operators, x: ir.Value) -> ir.Value:
    """x, and below 0 alpha * (e^x - 1), which is tanh(x / 2) * (e^x + 1); see ONNX for the rest."""
    alpha, gamma = op.attribute("alpha"), op.attribute("gamma")
    exponent = op.Div(x, alpha) if op.edit.node.op_type == "Celu" else x
    power_less_one = op.Mul(op.Tanh(op.Mul(exponent, 0.5)), op.Add(op.Exp(exponent), 1.0))
    found = op.Where(op.Less(x, 0.0), op.Mul(power_less_one, alpha), x)
    return found if gamma is None else op.Mul(found, gamma)


def thresholded(op: Operators, x: ir.Value) -> ir.Value:
    """ThresholdedRelu: x above alpha, otherwise 0."""
    alpha = op.number(op.attribute("alpha"))
    return op.Where(op.Less(alpha, x), x, 0.0)


def parametric(op: Operators, x: ir.Value, slope: ir.Value) -> ir.Value:
    """PRelu: x, and below 0 slope * x."""
    return op.Where(op.Less(x, op.number(0)), op.Mul(slope, x), x)


def softsign(op: Operators, x: ir.Value) -> ir.Value:
    """Softsign: x / (1 + |x|)."""
    return op.Div(x, op.Add(op.Abs(x), 1.0))


def gelu(op: Operators, x: ir.Value) -> ir.Value:
    """Gelu: x times the normal distribution up to x, which "tanh" approximates."""
    if op.attribute("approximate") == "tanh":
        cube = op.Mul(op.Mul(op.Mul(x, x), x), 0.044715)
        part = op.Tanh(op.Mul(op.Add(x, cube), math.sqrt(2 / math.pi)))
    else:
        part = op.Erf(op.Div(x, math.sqrt(2)))
    return op.Mul(op.Mul(x, 0.5), op.Add(part, 1.0))


def sum_of_all(op: Operators, *operands: ir.Value) -> ir.Value:
    """Sum and Mean: the sum from the left, and its share of each operand."""
    first, *others = operands
    total = first
    for operand in others:
        total = op.Add(total, operand)
    if op.edit.node.op_type == "Mean":
        return op.Div(total, float(len(operands)))
    return total if others else op.Identity(first)


_LAST_PLACES = Bound(2)
_NEAR_ONE = Bound(4, Reference.ONE)
"""What the kernels compute in float by a difference of numbers around 1."""

TEMPLATES = (
    Template("And", both, frozenset({"bool"})),
    Template("Or", either, frozenset({"bool"})),
    Template("Xor", lambda op, a, b: op.Not(op.Equal(a, b)), frozenset({"bool"})),
    Template("Greater", greater, _NUMBERS),
    Template("GreaterOrEqual", greater_or_equal, _NUMBERS),
    Template("LessOrEqual", less_or_equal, _NUMBERS),
    Template("Reciprocal", reciprocal, IEEE_FLOATS),
    Template("HardSigmoid", hard_sigmoid, _WIDE, IEEE_FLOATS, Bound(1, Reference.ONE)),
    Template("Sign", sign, _WIDE | INTEGERS, IEEE_FLOATS, Bound(0, inputs=Inputs.NUMBERS)),
    *(
        Template(each, rounded, near=_WIDE, bound=SAME_NUMBERS)
        for each in ("Round", "Floor", "Ceil")
    ),
    *(
        Template(each, in_double, near=IEEE_FLOATS, bound=_LAST_PLACES)
        for each in ("Tan", "Sinh", "Cosh")
    ),
    *(
        Template(each, in_double, near=IEEE_FLOATS, bound=_NEAR_ONE)
        for each in ("Elu", "Selu", "Celu")
    ),
    Template("ThresholdedRelu", thresholded, near=IEEE_FLOATS, bound=SAME_NUMBERS),
    Template("PRelu", parametric, near=IEEE_FLOATS, bound=SAME_NUMBERS),
    Template("Cos", in_double, near=IEEE_FLOATS, bound=Bound(16, Reference.ONE)),
    Template("Softsign", softsign, near=IEEE_FLOATS, bound=Bound(4)),
    Template(
        "Gelu", gelu, near=IEEE_FLOATS, bound=Bound(4, Reference.OPERAND, computed_in="float")
    ),
    Template("Sum", sum_of_all, IEEE_FLOATS),
    Template("Mean", sum_of_all, near=IEEE_FLOATS, bound=_LAST_PLACES),
)
"""The templates of operators that compute each element by itself."""
