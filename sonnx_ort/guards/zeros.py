"""The signs of zeros that drafts decide and kernels of ONNX Runtime lose, set after the node.

Max orders 0 above -0, and Min -0 below 0; the kernels give the zero of either operand. Of the
reciprocals of zeros one is infinite and one negative:

    any Greater(Div(1, operand), 0), and the result is a zero -> Where(., 0, result)
    any Less(Div(1, operand), 0), and the result is a zero -> Where(not ., result, -0)

Where loses a -0 of X. The smallest normal number divided by X tells it from small numbers below 0:

    Less(Div(smallest, X), limit), where the condition is true -> Mul(result, Where(., -1, 1))

No step is one that optimizers take for nothing, such as the addition of a constant 0. The kernel of
Where loses a -0 of its own X: so none of the results that are kept may be one there.
"""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sonnx_ort.guards.guard import GuardNodes, Operands, Value
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.terms.operand import Operand

_QUOTIENTS = {ElementType.FLOAT: (2.0**-126, 2.0**23), ElementType.DOUBLE: (2.0**-1022, 2.0**52)}
"""The smallest normal number of a type, and its quotient by the smallest number of all."""

_X = 1
"""The operand of Where that may lose signs."""

Signed = Callable[[GuardNodes, Value, Operands, ElementType], Value]
"""Gives a result the signs of its zeros.

Takes the builder of new nodes, the result, the operands of its node and the type of both.
"""


def _largest(nodes: GuardNodes, result: Value, operands: Operands, kind: ElementType) -> Value:
    zero = nodes.constant(0, "zero", kind)
    is_wrong = _is_zero_beside(nodes, "Greater", result, operands, kind)
    return nodes.add("Where", [is_wrong, zero, result], "signed")


def _smallest(nodes: GuardNodes, result: Value, operands: Operands, kind: ElementType) -> Value:
    minus_zero = nodes.constant(-0.0, "minus_zero", kind)
    is_right = nodes.negated(_is_zero_beside(nodes, "Less", result, operands, kind), "is_right")
    return nodes.add("Where", [is_right, result, minus_zero], "signed")


def _is_zero_beside(
    nodes: GuardNodes, compare: str, result: Value, operands: Operands, kind: ElementType
) -> Value:
    """Where the result is a zero, and a zero with the sign that it shall have is an operand."""
    one, zero = nodes.constant(1, "one", kind), nodes.constant(0, "zero", kind)
    flags = []
    for operand in operands:
        reciprocal = nodes.add("Div", [one, operand], "reciprocal")
        flags.append(nodes.add(compare, [reciprocal, zero], "has_the_sign"))
    has_the_sign = nodes.together("Or", flags, "any_has_the_sign")
    is_zero = nodes.negated(nodes.cast(result, ElementType.BOOL, "nonzero"), "is_zero")
    return nodes.add("And", [has_the_sign, is_zero], "is_signed_zero")


def _selected(nodes: GuardNodes, result: Value, operands: Operands, kind: ElementType) -> Value:
    condition, x, _ = operands
    normal, farthest = _QUOTIENTS[kind]
    smallest = nodes.constant(normal, "smallest_normal", kind)
    limit = nodes.constant(-2 * farthest, "limit", kind)
    quotient = nodes.add("Div", [smallest, x], "quotient")
    is_minus_zero = nodes.add("Less", [quotient, limit], "is_minus_zero")
    is_lost = nodes.add("And", [condition, is_minus_zero], "is_lost")
    signs = [nodes.constant(number, "sign", kind) for number in (-1, 1)]
    return nodes.add("Mul", [result, nodes.add("Where", [is_lost, *signs], "sign")], "signed")


SIGNED: Mapping[str, Signed] = {"Max": _largest, "Min": _smallest, "Where": _selected}
"""What sets the signs, by operator."""


def loses_signs(operator: str, operands: Sequence[Operand], kind: ElementType) -> bool:
    """Whether a kernel may give a zero of the wrong sign, for operands of which this is known."""
    if operator not in SIGNED or kind.family is not Family.FLOAT:
        return False
    if operator == "Where":
        return _may_hold_zero(operands[_X], minus=True)
    return sum(_may_hold_zero(operand) for operand in operands) > 1


def _may_hold_zero(operand: Operand, *, minus: bool = False) -> bool:
    """Whether a zero may be among the elements, or -0 alone."""
    elements = operand.constant
    if elements is None:
        return True
    return bool(((elements == 0) & (np.signbit(elements) | (not minus))).any())
