"""A node, what is known of its operands, and how ONNX names things."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from onnx import AttributeProto, NodeProto, TensorProto, helper

from sonnx_ort.checker.reading import elements_of as stored_elements
from sonnx_ort.kernel import node as kernel
from sonnx_ort.kernel.catalog import operator_version
from sonnx_ort.kernel.sizes import Bounds, Interval, Sizes, is_within, require

if TYPE_CHECKING:
    from sonnx_ort.checker.model import Model


@dataclass(frozen=True)
class Node(kernel.Node):
    """A node, and what is known of its operands."""

    proto: NodeProto
    model: "Model"
    shared: frozenset[str] = frozenset()

    @property
    def op_type(self) -> str:
        """The operator."""
        return str(self.proto.op_type)

    @property
    def version(self) -> int:
        """The version of the operator."""
        return operator_version(self.proto.op_type, self.model.version)

    @property
    def operands(self) -> int:
        """How many operands it has."""
        return len(self.proto.input)

    @property
    def results(self) -> int:
        """How many results it has."""
        return len(self.proto.output)

    def attributes(self) -> Iterator[tuple[str, Any]]:
        """The names and values of its attributes."""
        for each in self.proto.attribute:
            yield each.name, kernel.REFERENCE if each.ref_attr_name else _value(each)

    def attribute(self, name: str, default: Any = None) -> Any:
        """The value of an attribute, or its default."""
        found = [each for each in self.proto.attribute if each.name == name]
        return _value(found[0]) if found else default

    def name(self, index: int) -> str:
        """The name of an operand; empty for one that is omitted."""
        return self.proto.input[index] if index < len(self.proto.input) else ""

    def names(self, places: Sequence[int] = ()) -> list[str]:
        """The operands at places that are not omitted; of all places if none is named."""
        return [name for k in places or range(len(self.proto.input)) if (name := self.name(k))]

    def given(self, index: int) -> bool:
        """Whether an operand is there and not left out."""
        return bool(self.name(index))

    def type(self, index: int = 0) -> str:
        """The type of an operand."""
        return str(self.model.known("type", self.name(index)))

    def result_type(self, index: int) -> str:
        """The type of a result."""
        return str(self.model.known("type", self.proto.output[index]))

    def known_bounds(self, index: int) -> Bounds | None:
        """The interval of an operand's integers; None if no step gives it."""
        bounds: Bounds | None = self._known("bounds", index)
        return bounds

    def known_interval(self, index: int) -> Interval | None:
        """The interval of an operand's floats; None if no step gives it."""
        interval: Interval | None = self._known("interval", index)
        return interval

    def weights(self, index: int) -> Any:
        """The elements of an operand that is a constant in the file; None for another."""
        return self.model.stored(self.name(index))

    def identity(self, index: int) -> object | None:
        """The name of an operand."""
        return self.name(index) or None

    def source(self, index: int) -> "Node | None":
        """The node of a standard operator whose first result is an operand."""
        proto = self.model.producer(self.name(index))
        return None if proto is None else replace(self, proto=proto)

    def tensor(self, name: str) -> Any:
        """The elements of an attribute that is a tensor; None if it is none or left out."""
        value = self.attribute(name)
        return stored_elements(value) if isinstance(value, TensorProto) else None

    def known_shape(self, index: int) -> Sizes | None:
        """The shape of an operand; None if no step gives it."""
        shape: Sizes | None = self._known("shape", index)
        return shape

    def shape(self, index: int = 0) -> Sizes:
        """The shape of an operand."""
        shape: Sizes = self.model.known("shape", self.name(index))
        return shape

    def undisputed_shape(self, index: int = 0) -> Sizes:
        """The shape of an operand on whose way the file claims nothing else."""
        return self.model.undisputed_shape(self.name(index))

    def known_elements(self, index: int) -> Sizes | None:
        """The elements of an operand of sizes; None if no step gives them."""
        elements: Sizes | None = self._known("elements", index)
        return elements

    def certain_elements(self, index: int) -> Sizes:
        """The elements of an operand of sizes, which a step gives."""
        elements: Sizes = self.model.known("elements", self.name(index))
        return elements

    def _known(self, kind: str, index: int) -> Any:
        name = self.name(index)
        return self.model.known(kind, name) if self.model.knows(kind, name) else None

    def constant(self, index: int) -> Any:
        """The elements of an operand that is a small constant."""
        return self.model.small_array(self.name(index))

    def is_free(self, index: int) -> bool:
        """Whether an operand is an input of the model or a small constant."""
        return self.model.is_input(self.name(index)) or self.constant(index) is not None

    def held_shape(self) -> Sizes | None:
        """The shape of the tensor that a Constant holds; such tensors are known before."""
        return None

    def every_integer(self, index: int) -> list[int]:
        """The elements of an operand, which a step gives as numbers."""
        elements = self.certain_elements(index)
        found = [each for each in elements if isinstance(each, int)]
        require(len(found) == len(elements), f"'{self.name(index)}' is open")
        return found

    def listed(self, name: str, index: int, default: Sequence[int] = ()) -> list[int]:
        """Integers that are an attribute in some versions and an operand in others."""
        given = self.attribute(name)
        if given is not None or not self.name(index):
            found = list(default if given is None else given)
            require(is_within(found), "a number is beyond int32")
            return found
        return self.integers(index)


def _value(attribute: AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.STRINGS:
        return [each.decode() for each in value]
    return value.decode() if attribute.type == AttributeProto.STRING else value


def type_name(data_type: int) -> str:
    """The name of a type of elements."""
    return str(TensorProto.DataType.Name(data_type)).lower()
