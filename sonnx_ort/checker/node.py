"""A node, what is known of its operands, and how ONNX names things."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from onnx import AttributeProto, NodeProto, TensorProto, helper

from sonnx_ort.checker.reading import elements_of as stored_elements
from sonnx_ort.kernel import node as kernel
from sonnx_ort.kernel.catalog import operator_version
from sonnx_ort.kernel.sizes import Sizes, require

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

    def operand(self, index: int) -> str | None:
        """The name of an operand; None if it is omitted."""
        return self.name(index) or None

    def result(self, index: int) -> str:
        """The name of a result."""
        return str(self.proto.output[index])

    def fact(self, kind: str, value: str) -> Any:
        """What a step says of a value; None if none does."""
        return self.model.known(kind, value) if self.model.knows(kind, value) else None

    def type(self, index: int = 0) -> str:
        """The type of an operand."""
        return str(self.model.known("type", self.name(index)))

    def result_type(self, index: int) -> str:
        """The type of a result."""
        return str(self.model.known("type", self.proto.output[index]))

    def weights(self, index: int) -> Any:
        """The elements of an operand that is a constant in the file; None for another."""
        return self.model.stored(self.name(index))

    def source(self, index: int) -> "Node | None":
        """The node of a standard operator whose first result is an operand."""
        proto = self.model.producer(self.name(index))
        return None if proto is None else replace(self, proto=proto)

    def tensor(self, name: str) -> Any:
        """The elements of an attribute that is a tensor; None if it is none or left out."""
        value = self.attribute(name)
        return stored_elements(value) if isinstance(value, TensorProto) else None

    def shape(self, index: int = 0) -> Sizes:
        """The shape of an operand."""
        shape: Sizes = self.model.known("shape", self.name(index))
        return shape

    def undisputed_shape(self, index: int = 0) -> Sizes:
        """The shape of an operand on whose way the file claims nothing else."""
        return self.model.undisputed_shape(self.name(index))

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
        elements: Sizes = self.model.known("elements", self.name(index))
        found = [each for each in elements if isinstance(each, int)]
        require(len(found) == len(elements), f"'{self.name(index)}' is open")
        return found


def _value(attribute: AttributeProto) -> Any:
    value = helper.get_attribute_value(attribute)
    if attribute.type == AttributeProto.STRINGS:
        return [each.decode() for each in value]
    return value.decode() if attribute.type == AttributeProto.STRING else value


def type_name(data_type: int) -> str:
    """The name of a type of elements."""
    return str(TensorProto.DataType.Name(data_type)).lower()
