"""What an entry of the list says of an operator, and what it may ask of a node."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir

from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operand import Bounds

_LARGE = 1 << 16
"""Constants of more elements than this are not read."""

BOOLEAN = Bounds(0, 1)


class Unbounded(Exception):  # noqa: N818 - reads as what happened
    """What a rule asks for is not known, so that it says nothing of the node."""


@dataclass(frozen=True, slots=True)
class BoundedInputs:
    """A node, and the intervals that its inputs stay in.

    Attributes:
        node: The node.
        known: The intervals that are narrower than their types.
        element_type: Gives the ONNX name of a value's type where that follows from premises.
    """

    node: ir.Node
    known: Mapping[ir.Value, Bounds]
    element_type: Callable[[ir.Value], str | None]

    @property
    def limits(self) -> Bounds:
        """What the type of the first output can hold.

        Raises:
            Unbounded: The type is unknown or no integer.
        """
        return limits_of(self.element_type(self.node.outputs[0]))

    def given(self, index: int) -> bool:
        """Whether the node has an input.

        Args:
            index: Its position.
        """
        return index < len(self.node.inputs) and self.node.inputs[index] is not None

    def value(self, index: int) -> ir.Value:
        """An input.

        Args:
            index: Its position.

        Raises:
            Unbounded: It is left out.
        """
        value = self.node.inputs[index] if index < len(self.node.inputs) else None
        if value is None:
            raise Unbounded
        return value

    def bounds(self, index: int) -> Bounds:
        """The interval of an input: at least what its type can hold.

        The bytes of a bool are not held to 0 and 1 by anything but the operator that gives it.

        Args:
            index: Its position.

        Raises:
            Unbounded: The type is unknown, or no integer, or nothing is known of a bool.
        """
        value = self.value(index)
        found = self.known.get(value)
        return limits_of(self.element_type(value)) if found is None else found

    def all_bounds(self) -> Sequence[Bounds]:
        """The intervals of all inputs.

        Raises:
            Unbounded: One is left out or has none.
        """
        return [self.bounds(index) for index in range(len(self.node.inputs))]

    def attribute(self, name: str, default: Any) -> Any:
        """The value of an attribute.

        Args:
            name: Its name.
            default: What it is where the node leaves it out.
        """
        attribute = self.node.attributes.get(name)
        return default if attribute is None else attribute.value


BoundsRule = Callable[[BoundedInputs], Sequence[Bounds | None]]
"""Gives an interval for each output, None for one of which nothing is known, or raises `Unbounded`.

Every interval is one of mathematical integers: where it leaves the type, the elements may wrap, and
nothing is known.
"""


def hull(bounds: Iterable[Bounds]) -> Bounds:
    """The smallest interval around others.

    Args:
        bounds: The others, at least one.
    """
    intervals = list(bounds)
    return Bounds(min(b.lower for b in intervals), max(b.upper for b in intervals))


def limits_of(element_type: str | None) -> Bounds:
    """What an integer type can hold.

    Args:
        element_type: The ONNX name of the type.

    Raises:
        Unbounded: It is unknown or no integer type.
    """
    known = ElementType.named(element_type)
    if known is None or known.family is not Family.INTEGER:
        raise Unbounded
    bits = 8 * known.dtype.itemsize
    if known.dtype.kind == "u":
        return Bounds(0, (1 << bits) - 1)
    return Bounds(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def constant_bounds(value: ir.Value) -> Bounds | None:
    """The interval of a constant.

    Args:
        value: The value.

    Returns:
        The interval; None if the value is no constant of integers, empty, or large.
    """
    tensor = constant_tensor(value)
    if tensor is None or not tensor.dtype.is_integer() or not 0 < tensor.size <= _LARGE:
        return None
    elements = tensor.numpy()
    return Bounds(int(elements.min()), int(elements.max()))
