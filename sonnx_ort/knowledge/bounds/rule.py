"""Rules for the bounds of an operator's outputs, and the node information they use."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operand import Bounds

_MAX_ELEMENTS = 1 << 16
"""Constants with more elements are not read."""

BOOLEAN = Bounds(0, 1)


class Unbounded(Exception):  # noqa: N818 - names a condition
    """An input of a rule is unknown, so the outputs of the node have no bounds."""


@dataclass(frozen=True, slots=True)
class BoundedInputs:
    """A node and the intervals of its inputs, if narrower than their types.

    `element_type` returns the ONNX name of a value's type if it is certain.
    """

    node: ir.Node
    known: Mapping[ir.Value, Bounds]
    element_type: Callable[[ir.Value], str | None]

    @property
    def limits(self) -> Bounds:
        """The range of the first output's type.

        Raises:
            Unbounded: The type is unknown or not an integer.
        """
        return limits_of(self.element_type(self.node.outputs[0]))

    def given(self, index: int) -> bool:
        """Whether the input at this index is present."""
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def value(self, index: int) -> ir.Value:
        """The input at this index.

        Raises:
            Unbounded: It is omitted.
        """
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        if value is None:
            raise Unbounded
        return value

    def bounds(self, index: int) -> Bounds:
        """The interval of an input: its known interval, or the range of its type.

        The bytes of a bool are 0 or 1 only if an operator ensures it.

        Raises:
            Unbounded: The type is unknown or not an integer, or the input is a bool without known
                bounds.
        """
        value = self.value(index)
        found = self.known.get(value)
        return limits_of(self.element_type(value)) if found is None else found

    def all_bounds(self) -> Sequence[Bounds]:
        """The intervals of all inputs.

        Raises:
            Unbounded: An input is omitted or has no interval.
        """
        return [self.bounds(index) for index in range(len(self.node.inputs))]

    def attribute(self, name: str, default: Any) -> Any:
        """The value of an attribute, or the default if it is omitted."""
        attribute = self.node.attributes.get(name)
        return default if attribute is None else attribute.value


BoundsRule = Callable[[BoundedInputs], Sequence[Bounds | None]]
"""Gives an interval for each output, or None for an unknown one; may raise `Unbounded`.

Intervals are over mathematical integers: if one exceeds the type, elements may wrap, and nothing is
known.
"""


def hull(bounds: Iterable[Bounds]) -> Bounds:
    """The smallest interval that contains all given ones, at least one."""
    intervals = list(bounds)
    return Bounds(min(b.lower for b in intervals), max(b.upper for b in intervals))


def limits_of(element_type: str | None) -> Bounds:
    """The range of an integer type, given by its ONNX name.

    Raises:
        Unbounded: The type is unknown or not an integer.
    """
    known = ElementType.named(element_type)
    if known is None or known.family is not Family.INTEGER:
        raise Unbounded
    bits = 8 * known.dtype.itemsize
    if known.dtype.kind == "u":
        return Bounds(0, (1 << bits) - 1)
    return Bounds(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def constant_bounds(value: ir.Value) -> Bounds | None:
    """The interval of a constant; None if it is not a constant of integers, or empty or large."""
    tensor = constant_tensor(value)
    if tensor is None or not tensor.dtype.is_integer() or not 0 < tensor.size <= _MAX_ELEMENTS:
        return None
    elements = tensor.numpy()
    return Bounds(int(elements.min()), int(elements.max()))
