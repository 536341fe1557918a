"""What follows of the values of a canonical graph, by the engine of facts.

Beside what the engine derives, the analysis follows our own kernels, which enforced models have,
operators before they broadcast both ways, and constants that ONNX Runtime folds.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.values.constant_folding import ComputedConstants
from sonnx_ort.analysis.values.declarations import constant_tensor, declared_axes
from sonnx_ort.analysis.values.graph_node import GraphNode, Held, graph_of, small_constant
from sonnx_ort.errors import InvalidModel
from sonnx_ort.facts.bounds import MOST_CONSTANTS
from sonnx_ort.facts.deriving import Engine, all_derived
from sonnx_ort.facts.elements import HOLDING_SIZES
from sonnx_ort.facts.established import KINDS, NUMBERS
from sonnx_ort.facts.fatal_shapes import MOST_AXES, AxisCount, InferredGraph, fatal_node
from sonnx_ort.facts.iterations import Changing
from sonnx_ort.facts.node import Graph, Node
from sonnx_ort.facts.ranges import Range
from sonnx_ort.facts.sizes import PartialSizes, Rejected, Size, Sizes, Symbolic, require
from sonnx_ort.facts.types import Types
from sonnx_ort.loading.traversal import GraphIndex, in_words, index_of
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.contract import NO_CONTRACT, Axis, Contract, SizeContract
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import DOMAIN


def derived(  # noqa: PLR0913 - what is known of a model
    model: ir.Model,
    types: Types,
    contract: Contract = NO_CONTRACT,
    *,
    index: GraphIndex | None = None,
    constants: ComputedConstants | None = None,
    reads_weights: bool = False,
) -> "Derived":
    """Derive what follows of the values of a canonical model.

    It follows from the declarations of graph inputs, from constants and from verified operators,
    never from other declarations or from inference. An open size is a symbol: the name of the
    input's dimension, or a generated one such as `?7`.

    Args:
        model: The model.
        types: The types of its values.
        contract: What inputs and other values may be, after the guards that enforce it.
        index: That of the model, if it is there already.
        constants: The constants that were computed for the same model already.
        reads_weights: Whether constants of any size are read, for the numbers of values.

    Raises:
        InvalidModel: A session of such a model ends the process, or takes all memory.
    """
    walked = index or index_of(model.graph)

    def make(changing: Changing) -> Derived:
        return Derived(
            model,
            types,
            contract,
            changing,
            index=walked,
            constants=constants,
            reads_weights=reads_weights,
        )

    made = all_derived(make)
    _refuse_fatal_shapes(model, walked, made)
    return made


def _refuse_fatal_shapes(model: ir.Model, index: GraphIndex, made: "Derived") -> None:
    """Check that no node has an operand of a shape at which a session ends the process.

    Raises:
        InvalidModel: A node has.
    """
    shapes, contents = made.established("shape"), made.established("elements")

    def seen(node: Node, inferred: Mapping[Any, Sizes]) -> GraphNode:
        return GraphNode(cast(GraphNode, node).node, made.version, Held(inferred, contents))

    nodes = [GraphNode(node, made.version, made) for node in index.nodes]
    inputs = {
        value: tuple(size if isinstance(size, int) else None for size in value.shape)
        for value in model.graph.inputs
        if value.shape is not None
    }
    found = fatal_node(InferredGraph(nodes, inputs, shapes, seen, made.name_of))
    if found is not None:
        node, reason = found
        raise InvalidModel(
            f"{in_words(cast(GraphNode, node).node)}: {reason}, at which shape inference and ONNX "
            "Runtime can end the process; correct the node, or the nodes that compute its operand"
        )


class Derived(Engine):
    """What follows of the values of a canonical model.

    Attributes:
        inputs: The name and the declared sizes of each input.
        stored_values: The tensors of initializers and of Constants.
        constants: The elements of values that depend on no input.
        folded: The values whose elements follow from such a computation, and not by rules alone.
        shared: The symbols that several axes of inputs share, which may differ in value.
        reads_weights: Whether constants of any size are read, for the numbers of values.
    """

    inputs: Mapping[ir.Value, tuple[str, Sequence[int | str | None] | None]]
    stored_values: Mapping[ir.Value, ir.TensorProtocol]

    def __init__(  # noqa: PLR0913 - what is known of a model
        self,
        model: ir.Model,
        types: Types,
        contract: Contract = NO_CONTRACT,
        changing: Changing = MappingProxyType({}),
        *,
        index: GraphIndex | None = None,
        constants: ComputedConstants | None = None,
        reads_weights: bool = False,
    ) -> None:
        """Nothing is established; of states of Loops that may change, nothing is assumed."""
        super().__init__(model.opset_imports, changing)
        shapes = self.established("shape")
        self.constants = constants or ComputedConstants(self.version, shapes.get)
        self.folded: set[ir.Value] = set()
        self.reads_weights = reads_weights
        self._model, self.types, self._contract = model, types, contract
        self._limits_sizes = contract.limits_sizes
        self._axes = AxisCount()
        index = index or index_of(model.graph)
        axes = declared_axes(model.graph)
        self.shared = _shared_names(axes) - contract.size_names
        self.inputs = dict(zip(model.graph.inputs, axes, strict=True))
        initializers = {
            value: value.const_value
            for graph in index.graphs
            for value in graph.initializers.values()
            if value.const_value is not None and not value.is_graph_input()
        }
        self._foldable = {v for v, held in initializers.items() if held.dtype != ir.DataType.BOOL}
        self.stored_values = initializers | _results_of_constants(index.nodes)
        if contract.values:
            named = (value for value in index.values if contract.of(str(value.name)) is not None)
            self.limited = frozenset(named)
        self._main = graph_of(model.graph, self.version, self)
        self._enter(self._main)

    def under(self, contract: Contract, *, reads_weights: bool = True) -> "Derived":
        """The numbers that values can be under another contract, of these shapes."""
        made = Derived(self._model, self.types, contract, reads_weights=reads_weights)
        for kind in KINDS:
            if kind not in NUMBERS:
                made._known[kind] = self._known[kind]
                made._of_numbers[kind] = self._of_numbers[kind]
        made._kinds = frozenset(NUMBERS)
        made.derive_all(made.main)
        return made

    @property
    def main(self) -> Graph:
        """The main graph."""
        return self._main

    def range(self, value: ir.Value) -> Range | None:
        """The numbers that a float value can be."""
        found = self._known["interval"].get(value)
        return None if found is None else found.whole

    def name_of(self, value: ir.Value) -> str:
        """The name of a value."""
        return str(value.name)

    def is_declared(self, value: ir.Value) -> bool:
        """Whether the file says anything of the shape of a value."""
        return value.shape is not None

    def declared_rank(self, value: ir.Value) -> int | None:
        """The declared rank of an input of a body."""
        return None if value.shape is None else len(value.shape)

    def array(self, value: ir.Value) -> npt.NDArray[Any]:
        """The elements of a constant, if they are read.

        Raises:
            Rejected: They are not.
        """
        tensor = constant_tensor(value)
        if tensor is None or tensor.dtype == ir.DataType.STRING:
            raise Rejected("it has no elements that are read")
        floats = tensor.dtype.is_floating_point() and tensor.dtype.itemsize >= 2
        few = tensor.size <= MOST_CONSTANTS
        require(few or (self.reads_weights and floats), "it has too many elements")
        try:
            return tensor.numpy()
        except (OSError, ValueError) as error:
            # Loading says what is wrong with a file of external data.
            raise Rejected("its elements cannot be read") from error

    def small_array(self, value: ir.Value) -> npt.NDArray[Any] | None:
        """The elements of a small constant; None for another value."""
        return small_constant(value)

    def _stored_shape(self, value: ir.Value) -> Sizes:
        return tuple(int(size) for size in self.stored_values[value].shape.numpy())

    def _declared_sizes(self, value: ir.Value) -> PartialSizes:
        """What is declared of an input: of a scalar too, for which any rank is taken."""
        name, axes = self.inputs[value]
        demanded = self._contract.axes_of(name, axes) if self._limits_sizes else None
        if demanded is not None:
            pairs = zip(demanded, axes or [None] * len(demanded), strict=True)
            return tuple(_demanded(axis, size) for axis, size in pairs)
        if axes is None:
            raise Rejected("its rank is not declared")
        return tuple(map(_size_of_axis, axes))

    def _narrowed(self, value: ir.Value, before: Any) -> Any:
        return self._contract.narrowed(
            str(value.name), self.known("type", value), before, self.known_or_none("shape", value)
        )

    def derive_results(self, node: Node) -> None:
        """Derive what follows of the results of one node, and count their axes.

        Raises:
            InvalidModel: There are too many.
        """
        own = cast(GraphNode, node).node
        self._note_foldable(own)
        super().derive_results(node)
        if not self._axes.add(own.outputs, self.established("shape")):
            raise InvalidModel(
                f"{in_words(own)}: the results of the nodes up to this one can have more than "
                f"{MOST_AXES} axes in all, which shape inference lists; compute with fewer axes"
            )

    def _note_foldable(self, node: ir.Node) -> None:
        """Note a result that is computed from constants; a bool of a file may be any byte."""
        computed = self._foldable.issuperset(node.inputs) and self.constants.is_supported(node)
        tensor = constant_tensor(node.outputs[0]) if computed else None
        if computed and (tensor is None or tensor.dtype != ir.DataType.BOOL):
            self._foldable.update(node.outputs)

    def _is_own(self, node: Node) -> bool:
        return node.domain == DOMAIN

    def _shapes_of(self, node: Node) -> Sequence[PartialSizes | None]:
        if node.domain == DOMAIN:
            if node.op_type == BROADCAST.name:
                return self._broadcast(node)
            # No proof about a model that is not enforced rests on our kernels.
            from sonnx_ort.analysis.values.own_kernels import shapes_of_kernel

            return shapes_of_kernel(node)
        operator = OPERATORS.get(node.op_type)
        if (
            operator is not None
            and operator.elementwise
            and self.version < operator.broadcasting_since
        ):
            # Only the second operand is ever broadcast; enforcement ensures that.
            return [node.known_shape(0)]
        return super()._shapes_of(node)

    def _elements(self, value: ir.Value) -> PartialSizes:
        node, place = self._producers.get(value, (None, 0))
        if node is None or value in self.stored_values:
            return super()._elements(value)
        if node.domain == DOMAIN:
            from sonnx_ort.analysis.values.own_kernels import elements_of_kernel

            return elements_of_kernel(node, place)
        try:
            elements = super()._elements(value)
        except Rejected:
            elements = self._elements_by_folding(node, value)
            self.folded.add(value)
        if not self.folded.isdisjoint(node.read):
            self.folded.add(value)
        return elements

    def _elements_by_folding(self, node: Node, value: ir.Value) -> PartialSizes:
        """The elements that ONNX Runtime's kernels compute of constants alone."""
        may = node.op_type not in ("Shape", "Size") and self.known("type", value) in HOLDING_SIZES
        found = self.constants.elements(value) if may and value in self._foldable else None
        if found is None:
            raise Rejected("it is not folded")
        return tuple(map(int, found.ravel()))


def _results_of_constants(nodes: Iterable[ir.Node]) -> dict[ir.Value, ir.TensorProtocol]:
    """The tensors that Constants hold, by their results."""
    results = (node.outputs[0] for node in nodes if node.op_type == "Constant")
    found = ((value, constant_tensor(value)) for value in results)
    return {value: tensor for value, tensor in found if tensor is not None}


def _size_of_axis(axis: int | str | None) -> Size | None:
    return Symbolic.named(axis) if isinstance(axis, str) else axis


def _demanded(axis: Axis, declared: int | str | None) -> Size | None:
    """The size of an axis within a contract; a declared number stays."""
    if isinstance(declared, int):
        return declared
    return axis.size if isinstance(axis, SizeContract) else _size_of_axis(axis)


def _shared_names(
    inputs: Iterable[tuple[str, Sequence[int | str | None] | None]],
) -> frozenset[str]:
    names = Counter(axis for _, axes in inputs for axis in axes or () if isinstance(axis, str))
    return frozenset(name for name, count in names.items() if count > 1)
