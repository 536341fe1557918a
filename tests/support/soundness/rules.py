"""Which rules operands break, written down anew from the documents, apart from the product."""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from support.soundness import single_operands
from support.soundness.arrays import Array

Shape = tuple[int, ...]
Attributes = Mapping[str, int | float]

BROADCAST = "Broadcast"

OPERATORS = frozenset(
    {
        *("Div", "Sub", BROADCAST),
        *("Add", "Mul", "Max", "Min", "PRelu", "And", "Or", "Xor"),
        *("BitwiseAnd", "BitwiseOr", "BitwiseXor"),
        *("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Where"),
        *("Mod", "Pow", "BitShift", "Abs", "Neg", "Reciprocal", "Sqrt", "Log", "Acos", "Cast"),
        *single_operands.OPERATORS,
    }
)
"""The operators that rules speak of."""

DEFAULT_OPERATORS = frozenset({"Div", "Sub", BROADCAST})
"""Those that are enforced where nothing else is asked for."""

NEVER_BROKEN = frozenset({"Log", "Neg", "Reciprocal", "Sqrt"})
"""Those that no run breaks a rule of: they have one operand, of any elements."""

_OF_ANY_NUMBER = frozenset({"Max", "Min"})
"""Those that have a rule about shapes though there may be one operand."""

_FIRST_OF_ITS_TYPE = {"Where": 1}
"""The position of the operand whose type decides about the rules, where it is not the first."""

_OWN_SHAPE_RULES = {
    ("Div", "preliminary"): ("Div.R1", "Div.R4"),
    ("Sub", "preliminary"): ("Sub.R1",),
}
"""The rules about shapes of the editions that do not tell the families of types apart."""


def common_shape(shapes: list[Shape]) -> Shape | None:
    """The common shape by the document of Broadcast; None if E1 is broken.

    On each axis a size is the largest of the axis or 1: a 0 against a 1 breaks the rule.
    """
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    largest = tuple(max(sizes) for sizes in zip(*padded, strict=True))
    fits = all(
        size in (1, wanted) for sizes in padded for size, wanted in zip(sizes, largest, strict=True)
    )
    return largest if fits else None


def same_shape_rules(operator: str, operands: Sequence[Array], edition: str) -> tuple[str, ...]:
    """The ids of the rules that operands of two shapes break, in order of decision."""
    if operator in single_operands.OPERATORS:
        return ()
    if len(operands) == 1 and operator not in _OF_ANY_NUMBER:
        return ()
    own = _OWN_SHAPE_RULES.get((operator, edition))
    return own or (f"{operator}.{_family(operator, operands)}.R1",)


def _family(operator: str, operands: Sequence[Array]) -> str:
    """The section of the documents that speaks of operands."""
    kind = operands[_FIRST_OF_ITS_TYPE.get(operator, 0)].dtype.kind
    return {"b": "bool", "i": "int", "u": "int", "f": "float"}[kind]


def decided_rules(
    operator: str, operands: Sequence[Array], edition: str, attributes: Attributes
) -> dict[str, bool]:
    """Each rule that a run can break, in order of decision, and whether operands break it.

    Args:
        operator: One of `OPERATORS`, but for Broadcast and those of `single_operands`.
        operands: The operands; where shapes differ, rules about elements of several stand out.
        edition: "typed" or "preliminary".
        attributes: What attributes of the node say.
    """
    if operator == "Cast":
        held = _held_by_the_type(operands[0], attributes.get("to"))
        return {} if held is None else {"Cast.float.C1": not held}
    differ = len({operand.shape for operand in operands}) > 1
    decided = dict.fromkeys(same_shape_rules(operator, operands, edition), differ)
    for rule in _element_rules(operator, operands, edition):
        several, broken = ELEMENT_RULES[rule]
        if not (several and differ):
            decided[rule] = broken(operands)
    return decided


def _element_rules(operator: str, operands: Sequence[Array], edition: str) -> tuple[str, ...]:
    """The ids of the rules about elements, in order of decision."""
    integers = _family(operator, operands) == "int"
    match operator, edition:
        case "Div", "typed":
            return ("Div.int.C1", "Div.int.C2") if integers else ()
        case "Div", _:
            return ("Div.R5", "Div.int.C2") if integers else ("Div.R5",)
        case "Mod", _:
            return ("Mod.int.C1", "Mod.int.C2") if integers else ()
        case "Acos", _:
            return ("Acos.float.C1",)
        case (("Max" | "Min" | "Pow" | "BitShift" | "Abs"), _):
            return (f"{operator}.int.C1",) if integers else ()
    return ()


def _beyond_int32(operands: Sequence[Array]) -> bool:
    """Whether ONNX Runtime may compare int64 wrongly."""
    wide = (operand for operand in operands if operand.dtype == np.int64)
    return any(bool((operand != operand.astype(np.int32)).any()) for operand in wide)


def _held_by_the_type(x: Array, to: float | None) -> bool | None:
    """Whether an integer type holds all floats without their fraction; None if there is none."""
    names = {6: "int32", 7: "int64", 3: "int8", 2: "uint8"}
    if x.dtype.kind != "f" or to not in names:
        return None
    limits = np.iinfo(names[int(to)])
    numbers = x.ravel().tolist()
    return all(math.isfinite(n) and limits.min <= math.trunc(n) <= limits.max for n in numbers)


def _no_cosine(operands: Sequence[Array]) -> bool:
    return bool((abs(operands[0]) > 1).any())


def _negative_exponent(operands: Sequence[Array]) -> bool:
    return bool((operands[1] < 0).any())


def _shift_beyond_the_bits(operands: Sequence[Array]) -> bool:
    by = operands[1]
    return bool(((by < 0) | (by >= 8 * by.dtype.itemsize)).any())


def _smallest_magnitude(operands: Sequence[Array]) -> bool:
    (operand,) = operands
    signed = operand.dtype.kind == "i"
    return signed and bool((operand == np.iinfo(operand.dtype).min).any())


def _zero_divisor(operands: Sequence[Array]) -> bool:
    """Whether an integer is divided by zero, which has no result; of floats it has one."""
    divisor = operands[1]
    return divisor.dtype.kind in "iu" and bool((divisor == 0).any())


def _unrepresentable_quotient(operands: Sequence[Array]) -> bool:
    """Whether the smallest integer is divided by -1."""
    a, b = operands
    if a.dtype.kind == "u":
        return False
    return bool(((a == np.iinfo(a.dtype).min) & (b == -1)).any())


ELEMENT_RULES: Mapping[str, tuple[bool, Callable[[Sequence[Array]], bool]]] = {
    "Div.int.C1": (False, _zero_divisor),
    "Div.int.C2": (True, _unrepresentable_quotient),
    "Div.R5": (False, _zero_divisor),
    "Mod.int.C1": (False, _zero_divisor),
    "Mod.int.C2": (True, _unrepresentable_quotient),
    "Max.int.C1": (False, _beyond_int32),
    "Min.int.C1": (False, _beyond_int32),
    "Pow.int.C1": (False, _negative_exponent),
    "BitShift.int.C1": (False, _shift_beyond_the_bits),
    "Abs.int.C1": (False, _smallest_magnitude),
    "Acos.float.C1": (False, _no_cosine),
}
"""The rules about elements: whether one speaks of several operands, and what breaks it."""


def divide_or_subtract(operator: str, a: Array, b: Array, edition: str) -> Array:
    """The result of Div or Sub on operands of one shape that break no rule.

    Args:
        operator: "Div" or "Sub".
        a: The first operand.
        b: The second operand.
        edition: "typed" or "preliminary".
    """
    with np.errstate(all="ignore"):
        if operator == "Sub":
            return np.asarray(np.subtract(a, b))
        if a.dtype.kind in "iu":
            return _truncated(a, b)
        quotient = np.divide(a, b)
        if edition == "preliminary":
            quotient = np.where(b == 0, a.dtype.type(np.inf), quotient)
        return np.asarray(quotient)


def _truncated(a: Array, b: Array) -> Array:
    """Python's integers know no overflow, and `//` of magnitudes truncates."""
    quotients = [
        abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
        for x, y in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    ]
    return np.array(quotients, object).astype(a.dtype).reshape(a.shape)
