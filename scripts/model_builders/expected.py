"""Expected results, from the exact oracle: rationals, rounded once."""

from collections.abc import Mapping
from typing import Any

import numpy.typing as npt

from sonnx_ort import oracle
from sonnx_ort.models import Outputs, RunViolation
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]
Outcome = Outputs | RunViolation

NODE_NAMES = {
    "Div": "divide",
    "Sub": "subtract",
    "Broadcast": "spread",
    "Add": "add",
    "Mul": "multiply",
    "Max": "take_largest",
    "Min": "take_smallest",
    "PRelu": "scale_below_zero",
    "And": "require_both",
    "Or": "require_any",
    "Xor": "require_one",
    "BitwiseAnd": "mask_bits",
    "BitwiseOr": "set_bits",
    "BitwiseXor": "flip_bits",
    **dict.fromkeys(("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"), "compare"),
    "Where": "choose",
    "Mod": "take_remainder",
    "Pow": "raise",
    "BitShift": "shift_bits",
    "Abs": "take_magnitude",
    "Neg": "negate",
    "Reciprocal": "invert",
    "Sqrt": "take_root",
    "Log": "take_logarithm",
    "Acos": "take_angle",
    "Cast": "convert",
    "MatMul": "multiply_matrices",
    "BatchNormalization": "normalize",
    "Clip": "clip",
    "Slice": "cut_out",
    "ArgMax": "find_largest",
}
"""What the nodes are called, unless a model has several of one operator."""


def element_type_of(array: Array) -> ElementType:
    """The element type of an array."""
    return next(t for t in ElementType if t.dtype == array.dtype)


def outcome(
    operator: str, a: Array, b: Array, edition: Edition = Edition.TYPED, node: str = ""
) -> Outcome:
    """What comes of a node: its output C, or the first rule that the operands break.

    Args:
        operator: "Div" or "Sub".
        a: The first operand.
        b: The second operand.
        edition: The edition of the profile.
        node: The name of the node; that of `NODE_NAMES` unless given.
    """
    found = oracle.outcome(operator, (a, b), element_type_of(a), edition)
    if isinstance(found, oracle.Violation):
        return _violation(found, operator, node or NODE_NAMES[operator], a, b)
    return Outputs({"C": found})


def elementwise_outcome(operator: str, *operands: Array) -> Outcome:
    """What comes of a node of any element-wise operator in the typed edition.

    Args:
        operator: Its name.
        *operands: Its operands, the last of them of the type that is not its own.
    """
    found = oracle.outcome(operator, operands, element_type_of(operands[-1]), Edition.TYPED)
    if isinstance(found, oracle.Violation):
        return _violation(found, operator, NODE_NAMES[operator], *operands)
    return Outputs({OPERATORS[operator].result: found})


def node_outcome(
    operator: str, inputs: Mapping[str, Array], attributes: Mapping[str, int | float] | None = None
) -> Outcome:
    """What comes of a node of any operator, as the oracle's exact results say.

    Args:
        operator: Its name.
        inputs: Its operands by the names that the profile gives them.
        attributes: The attributes of the node.
    """
    profiled = OPERATORS[operator]
    operands = [inputs.get(name) for name in profiled.operands]
    kind = element_type_of(inputs[profiled.operands[0]])
    found = oracle.outcome(operator, operands, kind, Edition.TYPED, attributes or {})
    if isinstance(found, oracle.Violation):
        looked_at = [inputs[name] for name in profiled.looked_at if name in inputs]
        return _violation(found, operator, NODE_NAMES[operator], *looked_at)
    return Outputs({profiled.result: found})


def explicit_outcome(
    operator: str, a: Array, b: Array, edition: Edition = Edition.TYPED
) -> Outcome:
    """What comes of a node in front of which a Broadcast is inserted."""
    repeated = oracle.broadcast(a, b)
    if isinstance(repeated, oracle.Violation):
        return _violation(repeated, "Broadcast", NODE_NAMES[operator], a, b)
    return outcome(operator, repeated[0], repeated[1], edition)


def broadcast_outcome(*tensors: Array) -> Outcome:
    """What comes of a model's own Broadcast: its outputs Z0, Z1, ..., or the rule it breaks."""
    found = oracle.broadcast(*tensors)
    if isinstance(found, oracle.Violation):
        return _violation(found, "Broadcast", NODE_NAMES["Broadcast"], *tensors)
    return Outputs({f"Z{index}": array for index, array in enumerate(found)})


def quotients(a: Array, b: Array) -> Array:
    """Divide in the typed edition, after an explicit Broadcast."""
    return _output(explicit_outcome("Div", a, b))


def differences(a: Array, b: Array) -> Array:
    """Subtract after an explicit Broadcast."""
    return _output(explicit_outcome("Sub", a, b))


def _output(found: Outcome) -> Array:
    if isinstance(found, Outputs):
        return found.values["C"]
    raise ValueError(f"the operands break {found.rule}")


def _violation(
    violation: oracle.Violation, operator: str, node: str, *operands: Array
) -> RunViolation:
    shapes = tuple(operand.shape for operand in operands)
    return RunViolation(violation.rule, operator, node, shapes, violation.index, violation.values)
