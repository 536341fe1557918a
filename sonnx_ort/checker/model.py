"""What follows from a model: the types, shapes, elements and numbers of its values."""

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import onnx
from onnx import TensorProto

from sonnx_ort.checker.graphs import Definitions, Node, type_name, with_unique_names
from sonnx_ort.checker.strict_reading import OWN_DOMAIN, strict
from sonnx_ort.facts import node as facts
from sonnx_ort.facts.deriving import Watch, all_derived
from sonnx_ort.facts.iterations import Changing
from sonnx_ort.facts.sizes import PartialSizes, Rejected, Size, Symbolic, require
from sonnx_ort.facts.types import Type, element_of, result_type, tensor_of
from sonnx_ort.profile.graph import FINITE, finite_elements
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.terms.operand import Operand

if TYPE_CHECKING:
    from sonnx_ort.profile.contract import Contract
    from sonnx_ort.profile.contract_rules import OnSizes


def type_of(node: Node, index: int) -> str:
    """The type of the elements of a result.

    Raises:
        Rejected: It does not follow, or the result is no tensor.
    """
    if node.op_type == "Broadcast":
        return node.type(index)
    found = element_of(result_type(_Typed(node), index), "tensor")
    if found is None:
        raise Rejected(f"there is no rule for the type of a {node.op_type}")
    return found


class _Typed:
    """A node whose operands are tensors, if their types are known."""

    def __init__(self, node: Node) -> None:
        self.operator = ("", node.op_type, node.model.version)
        self.inputs, self.outputs = node.operands, node.results
        self._node = node

    def input_type(self, index: int) -> Type:
        return tensor_of(self._node.type(index)) if self._node.given(index) else ""

    def named_type(self, attribute: str) -> Type:
        value = self._node.attribute(attribute)
        return tensor_of(type_name(value)) if isinstance(value, int) else None

    def attribute_type(self, attribute: str) -> Type:
        value = self._node.attribute(attribute)
        return tensor_of(type_name(value.data_type)) if isinstance(value, TensorProto) else None


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
        self._symbols: dict[str, tuple[str, int]] = {}
        for given in self.proto.graph.input:
            for axis, size in enumerate(given.type.tensor_type.shape.dim):
                self._symbols.setdefault(size.dim_param, (given.name, axis))

    def _is_own(self, node: facts.Node) -> bool:
        """Whether a node is a Broadcast, which is no operator of ONNX."""
        return (node.domain, node.op_type) == (OWN_DOMAIN, "Broadcast")

    def _type(self, value: str) -> str:
        if self.is_input(value):
            return type_name(self._inputs[value].type.tensor_type.elem_type)
        if self.is_stored(value):
            return self.stored_type(value)
        if value in self._takers:
            return self._type_of_state(*self._takers[value])
        node, place = self._node(value)
        bodies = node.bodies
        if not bodies:
            return type_of(self.node(value), place)
        # A Loop's body gives its condition first. ONNX Runtime holds types to be the same.
        place += node.op_type == "Loop"
        types = {self.known("type", body.outputs[place]) for body in bodies}
        require(len(types) == 1, "its branches differ")
        return str(types.pop())

    def _type_of_state(self, node: facts.Node, place: int) -> str:
        """The type of an input of a body, which has that of the operand in every iteration."""
        if node.op_type == "Loop" and place < 2:
            return ("int64", "bool")[place]
        # The operands of a Scan of version 8 begin with the lengths of sequences.
        same_types = node.op_type == "Loop" or (node.op_type == "Scan" and node.version > 8)
        known = same_types and not node.domain and place < node.operands
        require(known, f"the inputs of the body of a {node.op_type} are open")
        return str(self.known("type", node.operand(place)))

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
        dims = self._inputs[value].type.tensor_type.shape.dim
        return tuple(self._declared(value, axis, size) for axis, size in enumerate(dims))

    def _declared(self, value: str, axis: int, dimension: Any) -> Size | None:
        """A declared size. ONNX Runtime does not hold axes to be alike that share a name."""
        if dimension.HasField("dim_value"):
            return int(dimension.dim_value) if dimension.dim_value >= 0 else None
        name = str(dimension.dim_param)
        own = name.isidentifier() and self._symbols[name] == (value, axis)
        return Symbolic.named(name) if own else None

    def _is_limited(self, value: str) -> bool:
        del value
        return False

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
        node, _ = self._node(output)
        return cast(Node, node)


def established(
    proto: onnx.ModelProto, contract: "Contract | None" = None, watch: Watch = iter
) -> Model:
    """A model of which all is established that follows.

    Args:
        proto: The model.
        contract: What its values may be; None if nothing is said of them.
        watch: Is given the nodes of the main graph.

    Raises:
        Rejected: The file can be read in two ways, or the contract is of other values.
    """
    if not contract:
        return all_derived(lambda changing: Model(proto, changing), watch)
    # A certificate without a contract rests on nothing that reads contracts.
    from sonnx_ort.checker.contracts import Limited  # noqa: PLC0415

    return all_derived(lambda changing: Limited(proto, contract, changing), watch)
