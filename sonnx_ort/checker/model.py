"""What follows from a model: the types, shapes, elements and numbers of its values."""

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import onnx

from sonnx_ort.checker.graphs import Definitions, Node, with_unique_names
from sonnx_ort.checker.strict_reading import OWN_DOMAIN, strict
from sonnx_ort.facts import node as facts
from sonnx_ort.facts.iterations import Changing
from sonnx_ort.facts.sizes import PartialSizes, Rejected, Size, Symbolic, require
from sonnx_ort.facts.types import (
    Type,
    TypedNode,
    Types,
    tensor_of,
    type_of_proto,
    types_of_operands,
)
from sonnx_ort.profile.graph import FINITE, finite_elements
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.terms.operand import Operand

if TYPE_CHECKING:
    from sonnx_ort.profile.contract_rules import OnSizes


class Model(Definitions):
    """A model, and what is established of it."""

    def __init__(self, model: onnx.ModelProto, changing: Changing = MappingProxyType({})) -> None:
        """Nothing is established; of states of Loops that may change, nothing is assumed.

        Raises:
            Rejected: The file can be read in two ways.
        """
        self.proto, self.names = with_unique_names(strict(model))
        versions = {entry.domain: entry.version for entry in self.proto.opset_import}
        super().__init__(self.proto.graph, versions, changing)
        self.types = Types(self.main, versions, self._known_type, {OWN_DOMAIN: _types_of_own})
        self._symbols: dict[str, tuple[str, int]] = {}
        for given in self.proto.graph.input:
            for axis, size in enumerate(given.type.tensor_type.shape.dim):
                self._symbols.setdefault(size.dim_param, (given.name, axis))

    def _is_own(self, node: facts.Node) -> bool:
        """Whether a node is a Broadcast, which is no operator of ONNX."""
        return (node.domain, node.op_type) == (OWN_DOMAIN, "Broadcast")

    def _known_type(self, value: str) -> Type:
        """The type of an input, or of a stored value."""
        if value in self.inputs:
            return type_of_proto(self.inputs[value].type)
        return tensor_of(self.stored_type(value))

    def _shapes_of(self, node: facts.Node) -> Sequence[PartialSizes | None]:
        return self._broadcast(node) if node.domain else super()._shapes_of(node)

    def _declared_sizes(self, value: str) -> PartialSizes:
        """What is declared of the shape of an input."""
        declared = self._declared_axes(value)
        # ONNX Runtime accepts every shape for an input that is declared as a scalar.
        require(declared, "its rank is not declared, or it is declared as a scalar")
        return declared

    def _declared_axes(self, value: str) -> PartialSizes:
        """The declared sizes of an input; none if it is of any rank."""
        dims = self.inputs[value].type.tensor_type.shape.dim
        return tuple(self._declared(value, axis, size) for axis, size in enumerate(dims))

    def _declared(self, value: str, axis: int, dimension: Any) -> Size | None:
        """A declared size. ONNX Runtime does not hold axes to be alike that share a name."""
        if dimension.HasField("dim_value"):
            return int(dimension.dim_value) if dimension.dim_value >= 0 else None
        name = str(dimension.dim_param)
        own = name.isidentifier() and self._symbols[name] == (value, axis)
        return Symbolic.named(name) if own else None

    def _narrowed(self, value: str, before: Any) -> Any:
        del before
        raise Rejected(f"no contract limits '{value}'")

    def obligations_of_contract(self) -> Iterator[list[str]]:
        """The obligations that a contract makes: each a value, and the id of a rule."""
        return iter(())

    def demanded(self, value: str, rule: str) -> "tuple[OnElements | OnSizes, list[str]]":
        """What a rule demands of a value, and the values that decide it.

        Raises:
            Rejected: The rule does not bind the value.
        """
        require(rule == FINITE.id, "the rule does not bind the value")
        return finite_elements(value), [value]

    def in_front(self, value: str, requirement: "OnElements | OnSizes") -> Operand:
        """What is known of a value without its own guard, as far as a requirement asks for it.

        Raises:
            Rejected: Nothing is.
        """
        del requirement
        raise Rejected(f"no contract limits '{value}'")

    def node(self, output: str) -> Node:
        """The node that has this output."""
        node, _ = self._producer_of(output)
        return cast(Node, node)


def _types_of_own(node: TypedNode) -> Sequence[Type]:
    """The types of the results of a node of our domain, of which a Broadcast has a rule."""
    return types_of_operands(node) if node.operator[1] == "Broadcast" else ()
