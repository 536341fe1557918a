"""Kinds of random nodes, and those that compute element by element, added to a scope."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from onnx import TensorProto

from support.soundness.arrays import FLOATS, INTEGERS, Array, random_array
from support.soundness.scope import Scope

Fits = Callable[[Array], bool]


class Kind(NamedTuple):
    """One kind of node.

    Attributes:
        weight: How often it is tried.
        add: Adds a node to a scope, on a value of it.
        fits: What that value has to be; None where `add` takes none, and chooses by itself.
    """

    weight: int
    add: Callable[..., object]
    fits: Fits | None = None

    def try_in(self, scope: Scope) -> None:
        """Add a node, if there is a value that fits."""
        if self.fits is None:
            self.add(scope)
        elif (name := scope.pick(self.fits)) is not None:
            self.add(scope, name)


def of(*types: str, least: int = 0, most: int = 9, filled: bool = False) -> Fits:
    """Gives whether a tensor is of one of some types, if any is named, and of a rank.

    Args:
        *types: Their names, or the letters of their kinds.
        least: The smallest rank.
        most: The largest rank.
        filled: Whether it has to have elements.
    """

    def fits(array: Array) -> bool:
        named = not types or array.dtype.name in types or array.dtype.kind in types
        return named and least <= array.ndim <= most and (array.size > 0 or not filled)

    return fits


anything, no_scalar, numeric = of(), of(least=1), of("i", "u", "f")


conditions = of("bool", least=1)
"""More than the one that an If asks."""


wide = of(*FLOATS, "int64", "int32")
"""Of a type that every arithmetic operator takes."""


_ELEMENT_TYPES = {
    "int64": TensorProto.INT64,
    "int32": TensorProto.INT32,
    "int8": TensorProto.INT8,
    "uint8": TensorProto.UINT8,
    "float32": TensorProto.FLOAT,
    "bool": TensorProto.BOOL,
}


_COMPARISONS = ("Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual")


_ACTIVATIONS = ("Exp", "LeakyRelu", "Sigmoid", "Sin", "Tanh")


_OF_ONE = ("Abs", "Acos", "Neg", "Reciprocal", "Relu", "Sqrt", "Log", *_ACTIVATIONS)


_SECOND_BOUNDED = ("Pow", "BitShift")


_ROUGH = ("Acos", "Log", "Pow", *_ACTIVATIONS)
"""Those whose floats differ in the last bit from one library to the other."""

assert set(INTEGERS) < set(_ELEMENT_TYPES)


def partner(scope: Scope, name: str, alike: float = 0.45) -> str:
    """Choose a second operand for a binary operator, by the first one.

    Args:
        scope: The scope.
        name: The first operand.
        alike: The probability that one of the same shape is taken, if there is one.
    """
    first = scope.values[name]
    same_type = [n for n, array in scope.values.items() if array.dtype == first.dtype]
    same_shape = [n for n in same_type if scope.values[n].shape == first.shape]
    die = scope.rng.random()
    if die < alike and len(same_shape) > 1:
        return scope.rng.choice(same_shape)
    if die < 0.75:
        return scope.rng.choice(same_type)
    shape = scope.rng.choice([first.shape, first.shape[1:], (), (1,) * first.ndim, (1,)])
    zeros = first.dtype.kind == "f" or scope.chance(0.15)
    return scope.constant(random_array(scope.rng, first.dtype.name, shape, zeros=zeros))


def elementwise(scope: Scope, name: str) -> None:
    """Add a node of another operator of the profile, on operands that are mostly of one shape."""
    operator = scope.rng.choice(_elementwise_operators(scope, name))
    compares = operator in _COMPARISONS
    result_type = np.dtype(np.bool_) if compares else scope.values[name].dtype
    outputs = scope.add(
        operator,
        _operands(scope, operator, name),
        hopeless=0.1,
        result_type=result_type,
        **_attributes(scope, operator, name),
    )
    if outputs and operator in _ROUGH and result_type.kind == "f":
        # Nobody reads what may differ in its last bit, but who runs the model.
        scope.values.pop(outputs[0], None)


def _operands(scope: Scope, operator: str, name: str) -> list[str]:
    """Choose the operands of an element-wise node, one of which is a given one."""
    if operator in _OF_ONE:
        return [name]
    if operator in _SECOND_BOUNDED:
        return [name, _bounded_partner(scope, name)]
    others = scope.rng.choice([0, 1, 1, 2]) if operator in ("Max", "Min") else 1
    operands = [name, *(partner(scope, name, alike=0.65) for _ in range(others))]
    scope.rng.shuffle(operands)
    return [_chosen_by(scope, name), *operands] if operator == "Where" else operands


def _attributes(scope: Scope, operator: str, name: str) -> dict[str, float | str]:
    """Choose the attributes of an element-wise node."""
    if operator == "Mod" and (scope.values[name].dtype.kind == "f" or scope.chance(0.3)):
        return {"fmod": 1}
    if operator == "BitShift":
        return {"direction": scope.rng.choice(["LEFT", "RIGHT"])}
    if operator == "LeakyRelu" and scope.chance(0.9):
        return {"alpha": 0.25}
    return {}


def _elementwise_operators(scope: Scope, name: str) -> list[str]:
    """The operators that take a value, and that ONNX Runtime has kernels of in its type."""
    array, opset = scope.values[name], scope.draft.opset
    if array.dtype == np.bool_:
        return ["And", "Or", "Xor", "Equal"]
    operators = [*_COMPARISONS, "Max", "Min", "Where", "Abs", "Mod", "Mod"]
    if opset >= 14 or wide(array):
        operators += ["Add", "Mul"]
    if array.dtype == np.float32:
        operators += ["Acos", "LeakyRelu", "Relu", *_ACTIVATIONS]
    if array.dtype == np.float32 or (opset == 17 and wide(array)):
        operators += ["PRelu"]
    if opset >= 18 and array.dtype.kind in "iu":
        operators += ["BitwiseAnd", "BitwiseOr", "BitwiseXor"] * 3
    if array.dtype.name in FLOATS:
        operators += ["Log", "Pow", "Reciprocal", "Sqrt"]
    elif wide(array):
        operators += ["Pow"]
    if array.dtype.kind != "u":
        operators += ["Neg"]
    else:
        operators += ["BitShift"] * 4
    return operators


def _bounded_partner(scope: Scope, name: str) -> str:
    """Choose an exponent, or by how much to shift: mostly a small one."""
    if scope.chance(0.25):
        return partner(scope, name)
    first = scope.values[name]
    shape = scope.rng.choice([first.shape, first.shape, first.shape, first.shape[1:], ()])
    numbers = [scope.rng.choice([0, 1, 1, 2, 3, 7]) for _ in range(math.prod(shape))]
    if numbers and scope.chance(0.15):
        numbers[0] = 8 if first.dtype.kind == "u" else -1
    return scope.constant(np.array(numbers, first.dtype).reshape(shape))


def _chosen_by(scope: Scope, name: str) -> str:
    """Choose the conditions of a Where, by what they are to choose from."""
    shape = scope.values[name].shape
    fitting = [n for n, array in scope.values.items() if conditions(array)]
    alike = [n for n in fitting if scope.values[n].shape == shape]
    if alike and scope.chance(0.7):
        return scope.rng.choice(alike)
    if fitting and scope.chance(0.3):
        return scope.rng.choice(fitting)
    return scope.constant(random_array(scope.rng, "bool", shape))


def divide_or_subtract(scope: Scope, name: str) -> None:
    """Add the node that all this is about."""
    other = partner(scope, name)
    operands = [name, other] if scope.chance(0.7) else [other, name]
    if scope.draft.opset < 14 and not wide(scope.values[name]):
        return
    scope.add(scope.rng.choice(["Div", "Div", "Sub"]), operands, hopeless=0.3)


def broadcast(scope: Scope) -> None:
    """Add the profile's Broadcast."""
    names = [scope.pick(wide) for _ in range(scope.rng.choice([1, 2, 2, 3]))]
    inputs = [name for name in names if name is not None]
    if inputs:
        scope.add("Broadcast", inputs, outputs=len(inputs), domain="sonnx", hopeless=0.2)


def unary(scope: Scope, name: str) -> None:
    """Add an element-wise operator of one operand."""
    scope.add(scope.rng.choice(["Identity", "Neg", "Abs", "Identity"]), [name])


def cast(scope: Scope, name: str) -> None:
    """Add a Cast; from floats mostly of numbers that every type holds."""
    wanted = scope.rng.choice(["int64", "int32", "float32", "int8", "uint8", "bool"])
    scope.add("Cast", [name], hopeless=0.2, result_type=np.dtype(wanted), to=_ELEMENT_TYPES[wanted])


def arithmetic(scope: Scope, name: str) -> None:
    """Add an operator of two operands."""
    scope.add(scope.rng.choice(["Add", "Mul", "Add"]), [name, partner(scope, name)])


def bounded(scope: Scope, name: str) -> None:
    """Add what keeps an integer from being zero, or only looks like it."""
    number = scope.rng.choice([1, 1, 2, 0, -1, int(np.iinfo(scope.values[name].dtype).max)])
    constant = scope.constant(np.array(number, scope.values[name].dtype))
    scope.add(scope.rng.choice(["Max", "Max", "Add", "Mul", "Min", "Sub"]), [name, constant])


def where(scope: Scope, name: str) -> None:
    """Add a comparison and a Where."""
    compared = scope.add("Less", [name, partner(scope, name)])
    if compared is not None:
        scope.add("Where", [*compared, name, partner(scope, name)])
