"""What follows from a model: the types, shapes, elements and numbers of its values.

With a contract it holds in every run in which each value that it names keeps it: after the guard
that enforces it.
"""

from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import Any

import onnx
from onnx import NodeProto, TensorProto

from sonnx_ort.checker.graphs import (
    Definitions,
    Node,
    bodies_of,
    graphs_of,
    type_name,
    with_unique_names,
)
from sonnx_ort.checker.premises import Changing, States, demands_on_shapes, require_contract
from sonnx_ort.checker.reading import OWN_DOMAIN, strict
from sonnx_ort.kernel.bounds import bounds_of, bounds_of_elements
from sonnx_ort.kernel.catalog import rule_of
from sonnx_ort.kernel.elements import elements_of
from sonnx_ort.kernel.interval_layout import intervals_of
from sonnx_ort.kernel.intervals import hull, of_elements
from sonnx_ort.kernel.node import FLOATS
from sonnx_ort.kernel.ranges import Interval
from sonnx_ort.kernel.sizes import (
    Bounds,
    PartialSizes,
    Rejected,
    Size,
    Sizes,
    Symbolic,
    both,
    common_shape,
    is_negative,
    kept_sizes,
    require,
)
from sonnx_ort.kernel.types import Type, element_of, result_type, tensor_of
from sonnx_ort.profile.contract import NO_CONTRACT, Axis, Contract, SizeContract
from sonnx_ort.profile.element_type import ElementType


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


KINDS = ("type", "shape", "elements", "bounds", "interval")
"""What is established of a value, in an order in which it follows."""


class Model(Definitions):
    """A model, and what is established of it.

    Attributes:
        contract: What its values may be.
        demands: What the contract demands of the shapes of inputs, by their names.
    """

    def __init__(
        self,
        model: onnx.ModelProto,
        contract: Contract = NO_CONTRACT,
        changing: Changing = MappingProxyType({}),
    ) -> None:
        """Nothing is established; of states of Loops that may change, nothing is assumed.

        Raises:
            Rejected: The file can be read in two ways, or the contract is of other values.
        """
        self.proto, self.names = with_unique_names(strict(model))
        versions = {entry.domain: entry.version for entry in self.proto.opset_import}
        super().__init__(self.proto.graph, versions[""], KINDS)
        self._open = 0
        self._unguarded: dict[str, dict[str, Any]] = {kind: {} for kind in KINDS}
        self.states = States(changing)
        for graph in graphs_of(self.proto.graph):
            for node in graph.node:
                self.states.add(node)
        self._symbols: dict[str, tuple[str, int]] = {}
        for given in self.proto.graph.input:
            for axis, size in enumerate(given.type.tensor_type.shape.dim):
                self._symbols.setdefault(size.dim_param, (given.name, axis))
        self.contract = contract
        require_contract(self.proto.graph, contract)
        self.demands = demands_on_shapes(self.proto.graph, contract)

    def derive(self, value: str, kind: str) -> None:
        """Establish something of a value, from what is established before.

        A fact is made once: to derive it again changes nothing.

        Args:
            value: The value.
            kind: One of `KINDS`.

        Raises:
            Rejected: Nothing follows.
        """
        if self.knows(kind, value):
            return
        rules: dict[str, Callable[[str], Any]] = {
            "type": self._type,
            "shape": self._shape,
            "elements": self._elements,
            "bounds": lambda name: self._within_contract(name, kind, self._computed_bounds),
            "interval": self._interval,
        }
        try:
            with self.reading_apart():
                found = rules[kind](value)
                computed = kind == "interval" and not self._is_given(value)
                of_numbers = self.rests_on_numbers or computed
        except Rejected as reason:
            raise Rejected(f"the {kind} of '{value}' does not follow: {reason}") from reason
        except Exception as error:
            raise Rejected(f"the {kind} of '{value}' cannot be followed: {error!r}") from error
        self.establish(kind, value, found, of_numbers=of_numbers)

    def _is_given(self, value: str) -> bool:
        """Whether no kernel computes a value."""
        return self.is_constant(value) or self.is_input(value)

    def broken_assumptions(self) -> Changing:
        """The states of Loops that do not keep the shape that is assumed of them."""
        return self.states.broken(lambda value: self.known_or_none("shape", value))

    def require_kept_assumptions(self) -> None:
        """Reject what assumes of a state of a Loop what its body does not keep."""
        for state in self.broken_assumptions():
            raise Rejected(f"the shape of the state '{state}' changes")

    def unguarded(self, kind: str, value: str) -> Any:
        """What is established of a value without the guard of its own contract."""
        known = self.known(kind, value)
        return self._unguarded[kind].get(value, known)

    def _node(self, value: str) -> tuple[Node, int]:
        require(value in self._producers, "no node computes it")
        proto = self._producers[value]
        own = (proto.domain, proto.op_type) == (OWN_DOMAIN, "Broadcast")
        require(own or not proto.domain, f"the domain {proto.domain} is not known")
        return Node(proto, self), list(proto.output).index(value)

    def _type(self, value: str) -> str:
        if value in self._inputs:
            return type_name(self._inputs[value].type.tensor_type.elem_type)
        if value in self._constants:
            return type_name(self._constants[value].data_type)
        if value in self._taken:
            return self._type_of_state(*self._taken[value])
        node, place = self._node(value)
        bodies = bodies_of(node.proto)
        if not bodies:
            return type_of(node, place)
        # A Loop's body gives its condition first. ONNX Runtime holds types to be the same.
        place += node.proto.op_type == "Loop"
        types = {self.known("type", body.output[place].name) for body in bodies}
        require(len(types) == 1, "its branches differ")
        return str(types.pop())

    def _type_of_state(self, node: NodeProto, place: int) -> str:
        """The type of an input of a body, which has that of the operand in every iteration."""
        if node.op_type == "Loop" and place < 2:
            return ("int64", "bool")[place]
        # The operands of a Scan of version 8 begin with the lengths of sequences.
        same_types = node.op_type == "Loop" or (node.op_type == "Scan" and self.version > 8)
        known = same_types and not node.domain and place < len(node.input)
        require(known, f"the inputs of the body of a {node.op_type} are open")
        return str(self.known("type", node.input[place]))

    def _shape(self, value: str) -> Sizes:
        sizes: PartialSizes | None
        if value in self._inputs:
            sizes = self._declared_sizes(value)
        elif value in self._constants:
            sizes = tuple(self._constants[value].dims)
        elif self.states.is_taken(value):
            sizes = self.states.taken(value, self.known)
        elif self.states.is_final(value):
            sizes = self.states.final(value, self.known)
        else:
            node, place = self._node(value)
            found = self._shapes_of(node)
            require(place < len(found), f"result {place} has no rule")
            sizes = found[place]
        if sizes is None:
            raise Rejected("its rank is not known")
        require(not is_negative(sizes), "a size is negative")
        return self._named(kept_sizes(sizes))

    def _named(self, sizes: PartialSizes) -> Sizes:
        return tuple(self._opened() if size is None else size for size in sizes)

    def _shapes_of(self, node: Node) -> Sequence[PartialSizes | None]:
        if node.proto.domain == OWN_DOMAIN:
            return [common_shape(node.operand_shapes())] * node.results
        if node.op_type == "If":
            branches = [[each.name for each in body.output] for body in bodies_of(node.proto)]
            names = zip(*branches, strict=True)
            return [both(*(self.known("shape", name) for name in pair)) for pair in names]
        return rule_of(node).shapes(node)

    def _declared_sizes(self, value: str) -> PartialSizes:
        """What is declared of the shape of an input, or what a contract demands of it."""
        dims = self._inputs[value].type.tensor_type.shape.dim
        declared = tuple(self._declared(value, axis, size) for axis, size in enumerate(dims))
        demand = self.demands.get(value)
        if demand is not None:
            # Without its guard a size that is not declared is open, and so is a rank.
            self._keep_unguarded("shape", value, self._named(declared) if declared else None)
            own = declared or (None,) * len(demand.axes)
            pairs = zip(demand.axes, own, strict=True)
            return tuple(self._demanded(axis, size) for axis, size in pairs)
        # ONNX Runtime accepts every shape for an input that is declared as a scalar.
        require(dims, "its rank is not declared, or it is declared as a scalar")
        return declared

    def _demanded(self, axis: Axis, declared: Size | None) -> Size | None:
        """The size of an axis after the guard of a contract; a declared number stays."""
        if isinstance(declared, int):
            return declared
        if isinstance(axis, SizeContract):
            return axis.size
        # A name of the contract is the size of the axes alone that the contract gives it.
        named = isinstance(declared, Symbolic) and declared.names & self.contract.size_names
        return axis if isinstance(axis, int) else None if named else declared

    def _declared(self, value: str, axis: int, dimension: Any) -> Size | None:
        """A declared size. ONNX Runtime does not hold axes to be alike that share a name."""
        if dimension.HasField("dim_value"):
            return int(dimension.dim_value) if dimension.dim_value >= 0 else None
        name = str(dimension.dim_param)
        own = name.isidentifier() and self._symbols[name] == (value, axis)
        return Symbolic.named(name) if own else None

    def _opened(self) -> Size:
        """A new open size, with a name that no file can declare."""
        self._open += 1
        return Symbolic.named(f"?{self._open}")

    def _elements(self, value: str) -> Sizes:
        """The elements of a vector or a scalar of sizes."""
        require(len(self.known("shape", value)) < 2, "it is no vector and no scalar")
        if value in self._constants:
            array = self.array(value)
            # No other integers become sizes as they are.
            require(array.dtype.name in ("int32", "int64"), f"'{value}' has no sizes")
            return tuple(array.ravel().tolist())
        node, place = self._node(value)
        require(place == 0 and not node.proto.domain, "there is no rule for its elements")
        if node.op_type in ("Shape", "Size"):
            self.require_true_claims(node.name(0))
        elements = elements_of(node, self.known("type", value), self.known("shape", value))
        certain = tuple(each for each in elements if each is not None)
        require(len(certain) == len(elements), "an element is not known")
        return certain

    def _computed_bounds(self, value: str) -> Bounds | None:
        """The interval of integers, or of bools as bytes."""
        if value in self._constants:
            return bounds_of_elements(self.array(value))
        node, place = self._node(value)
        require(not node.proto.domain, "there is no rule for its bounds")
        answers = bounds_of(node)
        return answers[place] if place < len(answers) else None

    def _interval(self, value: str) -> Interval:
        """The numbers that floats can be."""
        require(self.known("type", value) in FLOATS, "it has no floats")
        found: Interval = self._within_contract(value, "interval", self._computed_interval)
        return found

    def _computed_interval(self, value: str) -> Interval | None:
        if value in self._constants:
            return of_elements(self.array(value))
        node, place = self._node(value)
        require(not node.proto.domain, "there is no rule for its interval")
        bodies = bodies_of(node.proto)
        if node.op_type == "If" and bodies:
            return hull(
                [self.known("interval", each.output[place].name).uniform for each in bodies]
            )
        answers = intervals_of(node)
        return answers[place] if place < len(answers) else None

    def _within_contract(
        self, value: str, kind: str, compute: Callable[[str], Bounds | Interval | None]
    ) -> Any:
        """What follows of the numbers of a value, and from its contract."""
        entry, before = self.contract.of(value), None
        try:
            before = compute(value)
        except Rejected:
            if entry is None:
                raise
        if entry is not None:
            element_type = ElementType.named(self.known("type", value))
            if element_type is None:
                raise Rejected("its type has no range")
            shape = self.known_or_none("shape", value)
            after = entry.intersected(element_type, before, shape)
            self._keep_unguarded(kind, value, before)
            before = after
        if before is None:
            raise Rejected("they are not known")
        return before

    def _keep_unguarded(self, kind: str, value: str, found: Any) -> None:
        """Keep what is known without the guard of a contract; it is never changed either."""
        require(value not in self._unguarded[kind], "it is established already")
        self._unguarded[kind][value] = found

    def node(self, output: str) -> Node:
        """The node that has this output."""
        return self._node(output)[0]
