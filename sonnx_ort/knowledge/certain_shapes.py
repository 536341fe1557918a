"""Propagates certain shapes and bounds through a graph, from its inputs and constants."""

import logging
from collections import Counter
from collections.abc import Container, Iterable, Sequence
from typing import cast

import onnx_ir as ir

from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.inspection import CHECKED_ELEMENTS, Inspection
from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.kernel.catalog import rule_of
from sonnx_ort.kernel.elements import HOLDING_SIZES, elements_of
from sonnx_ort.kernel.sizes import (
    PartialSizes,
    Rejected,
    Size,
    Sizes,
    Symbolic,
    both,
    common_shape,
    is_negative,
    kept_sizes,
)
from sonnx_ort.knowledge.constant_folding import ComputedConstants
from sonnx_ort.knowledge.declarations import (
    Iteration,
    State,
    constant_tensor,
    declared_axes,
    iteration_of,
    type_name,
)
from sonnx_ort.knowledge.fatal_shapes import AxisCount, refuse_fatal_shapes
from sonnx_ort.knowledge.graph_node import GraphNode, constant_sizes
from sonnx_ort.knowledge.misinference import Misinference
from sonnx_ort.knowledge.value_types import ValueTypes
from sonnx_ort.loading.traversal import defined_values, every_node, subgraphs_of
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.contract import NO_CONTRACT, Axis, Contract, SizeContract
from sonnx_ort.profile.layout import BROADCAST
from sonnx_ort.profile.operator import DOMAIN, STANDARD_DOMAIN

_logger = logging.getLogger("sonnx_ort")


def certain_shapes(
    model: ir.Model,
    types: ValueTypes,
    contract: Contract = NO_CONTRACT,
    constants: ComputedConstants | None = None,
) -> "CertainShapes":
    """Compute the certain shapes of a canonical model's values, if their rank is known.

    They follow from the declarations of graph inputs, from initializers and from operators with
    verified shapes, never from other declarations or from inference. An open size is a symbol: the
    name of the input's dimension, or a generated one such as `?7`. `types` gives the types of
    values. What a contract demands of inputs holds after the guards that enforce it. `constants`
    are those that were computed for the same model already.

    Raises:
        InvalidModel: A session of such a model ends the process, or takes all memory.
    """
    certain = CertainShapes(model, types, contract, constants)
    certain.derive(model.graph)
    refuse_fatal_shapes(model, certain.shapes, certain.contents)
    return certain


def _gives_shape(node: ir.Node, custom: CustomOperator | Inspection | None) -> bool:
    """Whether a kernel reads a tensor, and gives its shape as elements."""
    if not isinstance(custom, Inspection):
        return node.op_type == _CHECKED
    operator = custom.operator
    if operator.repeated_operand is not None:
        return False
    return operator.checked_operands[0] not in operator.by_shape


_KERNELS = {custom.name: custom for custom in CUSTOM_OPERATORS.values()}
"""The custom operators whose results have the shape of their first operand."""

_CHECKED = CHECKED_ELEMENTS[0].name
"""The custom operator whose result is the shape of its operand."""


_MOST_ELEMENTS = 1024
"""A vector of more elements is no shape; each of a chain of Concats doubles them."""

_MOST_VISITS = 64
"""How often a node is visited on average; once for each time that a loop around it is repeated."""


class CertainShapes:
    """What is certain of shapes, with symbols for open sizes: as far as graphs were followed.

    Attributes:
        shapes: The shapes of values.
        contents: The elements of vectors and scalars that hold sizes.
        misinference: What ONNX Runtime may infer beside them.
        constants: The elements of values that depend on no input.
        folded: The values whose elements follow from such a computation, and not by rules alone.
        shared: The symbols that several axes of inputs share, which may differ in value.
    """

    def __init__(
        self,
        model: ir.Model,
        types: ValueTypes,
        contract: Contract = NO_CONTRACT,
        constants: ComputedConstants | None = None,
    ) -> None:
        self.shapes: dict[ir.Value, Sizes] = {}
        self.contents: dict[ir.Value, PartialSizes] = {}
        self._version = model.opset_imports[STANDARD_DOMAIN]
        self._types = types
        self._axes = AxisCount()
        self.constants = constants or ComputedConstants(self._version, self.shapes.get)
        self.folded: set[ir.Value] = set()
        self._foldable: set[ir.Value] = set()
        self.misinference = Misinference(model, self.shapes, self.contents)
        self._open_sizes = 0
        self._visits = _MOST_VISITS * sum(1 for _ in every_node(model.graph))
        declared = declared_axes(model.graph)
        self.shared = _shared_names(declared) - contract.size_names
        for value, (name, axes) in zip(model.graph.inputs, declared, strict=True):
            demanded = contract.axes_of(name, axes) if contract.limits_sizes else None
            if demanded is not None:
                pairs = zip(demanded, axes or [None] * len(demanded), strict=True)
                self._record(value, [_demanded(axis, size) for axis, size in pairs])
            elif axes is not None:
                self._record(value, [_declared(axis) for axis in axes])

    def derive(self, graph: ir.Graph) -> None:
        """Traverse a graph, or a subgraph whose outer values are known, and its subgraphs."""
        for value in graph.initializers.values():
            self._take_initializer(value)
        self._visits -= len(graph)
        for node in graph:
            iteration = iteration_of(node, self._version)
            if iteration is not None:
                self._iterate(iteration)
            else:
                for body in subgraphs_of(node):
                    self.derive(body)
            first = self._open_sizes + 1
            self._take_results(node)
            generated = [f"?{number}" for number in range(first, self._open_sizes + 1)]
            self.misinference.derive(node, generated)
            self._axes.add(node, self.shapes)
            self._propagate_contents(node)

    def _take_results(self, node: ir.Node) -> None:
        for output, sizes in zip(node.outputs, self._results(node), strict=False):
            if sizes is not None:
                self._record(output, sizes)

    def _take_initializer(self, value: ir.Value) -> None:
        if value.is_graph_input() or value.const_value is None:
            return
        self._record(value, [int(size) for size in value.const_value.shape.numpy()])
        if value.const_value.dtype != ir.DataType.BOOL:
            self._foldable.add(value)
        contents = constant_sizes(value)
        if contents is not None:
            self.contents[value] = contents

    def _iterate(self, iteration: Iteration) -> None:
        """Traverse a loop body until its shapes no longer change.

        A loop-carried value keeps its initial sizes if the body returns the same sizes, given that
        all loop-carried values have theirs. Each level of nested loops doubles the visits of nodes;
        after too many, nothing is known of loop-carried values.
        """
        self._record_body_inputs(iteration)
        invariant: list[tuple[State, PartialSizes]] = [
            (state, self.shapes[state.initial])
            for state in iteration.states
            if state.initial in self.shapes and self._visits > 0
        ]
        while True:
            for state, sizes in invariant:
                self._record(state.taken, sizes)
            self.derive(iteration.body)
            kept = [
                (state, common)
                for state, sizes in invariant
                if (common := both(sizes, self.shapes.get(state.given))) is not None
            ]
            if kept == invariant:
                break
            self._forget(iteration.body, {state.taken for state, _ in invariant})
            invariant = kept if self._visits > 0 else []
        for state, sizes in invariant:
            self._record(state.final, sizes)
        self._record_scan_outputs(iteration)

    def _record_body_inputs(self, iteration: Iteration) -> None:
        """Record the counters of a Loop, with their declared rank, and the slices of a Scan."""
        for value in iteration.counters:
            if value.shape is not None and len(value.shape) <= 1:
                self._record(value, [1] * len(value.shape))
        for value, scanned, axis in iteration.elements:
            sizes = self.shapes.get(scanned)
            if sizes is not None and -len(sizes) <= axis < len(sizes):
                self._record(value, [s for i, s in enumerate(sizes) if i != axis % len(sizes)])

    def _record_scan_outputs(self, iteration: Iteration) -> None:
        """Record the scan outputs of a Scan; those of a Loop may have any declared shape."""
        for output, collected in iteration.collected if iteration.elements else ():
            sizes = self.shapes.get(collected)
            if sizes is not None:
                self._record(output, [None] * (len(sizes) + 1))

    def _forget(self, body: ir.Graph, taken: Container[ir.Value]) -> None:
        """Remove shapes that depend on loop-carried values whose sizes changed."""
        given = set(body.inputs)
        for value in defined_values(body):
            if value not in given or value in taken:
                self.shapes.pop(value, None)
                self.contents.pop(value, None)

    def _results(self, node: ir.Node) -> Sequence[PartialSizes | None]:
        if node.domain == DOMAIN:
            rule_of_domain = self._broadcast if node.op_type == BROADCAST.name else self._enforced
            return rule_of_domain(node)
        if node.domain != STANDARD_DOMAIN:
            return ()
        if node.op_type == "If":
            return self._branches(node)
        operator = OPERATORS.get(node.op_type)
        if (
            operator is not None
            and operator.elementwise
            and self._version < operator.broadcasting_since
        ):
            # Only the second operand is ever broadcast; enforcement ensures that.
            return [self._known_of(node).known_shape(0)]
        return self._by_rule(node)

    def _by_rule(self, node: ir.Node) -> Sequence[PartialSizes | None]:
        known = self._known_of(node)
        try:
            return rule_of(known).shapes(known)
        except Rejected:
            return ()
        except Exception:
            # A malformed node must not stop the analysis.
            _logger.debug("the shapes of %s are unknown", node.op_type, exc_info=True)
            return ()

    def _broadcast(self, node: ir.Node) -> Sequence[PartialSizes | None]:
        """All outputs have the common shape, in every run that continues."""
        shapes = [self.shapes.get(value) for value in node.inputs if value is not None]
        known = [shape for shape in shapes if shape is not None]
        if len(known) < len(shapes):
            return ()
        common = self._named(kept_sizes(common_shape(known)))
        return [common] * len(node.outputs)

    def _enforced(self, node: ir.Node) -> Sequence[PartialSizes | None]:
        """The result, and its shape as a vector, in every run that continues."""
        custom = _KERNELS.get(node.op_type)
        if _gives_shape(node, custom):
            checked = self.shapes.get(cast(ir.Value, node.inputs[0]))
            return () if checked is None else ((len(checked),), (1,))
        sizes = None if custom is None else self._shape_of_first(node, custom)
        return () if sizes is None else (sizes, (len(sizes),))

    def _shape_of_first(
        self, node: ir.Node, custom: CustomOperator | Inspection
    ) -> PartialSizes | None:
        """The shape of the first operand; kernels of variadic operators get shapes as vectors."""
        inputs = cast(Sequence[ir.Value], node.inputs)
        if custom.operator.repeated_operand is None:
            return self.shapes.get(inputs[0])
        # Elements come first, if the kernel reads them.
        *_, sizes, ranks = map(self.contents.get, inputs)
        if sizes is None or not ranks or not isinstance(ranks[0], int):
            return None
        return sizes[: ranks[0]]

    def _branches(self, node: ir.Node) -> Sequence[PartialSizes | None]:
        """The shapes in which both branches of an If agree."""
        match [body.outputs for body in subgraphs_of(node)]:
            case [one, other] if len(one) == len(other):
                pairs = zip(one, other, strict=True)
                return [both(self.shapes.get(a), self.shapes.get(b)) for a, b in pairs]
        # The checker accepts such a model, but ONNX Runtime does not start a session.
        return []

    def _propagate_contents(self, node: ir.Node) -> None:
        if not node.outputs:
            return
        self._note_foldable(node)
        if node.domain == DOMAIN:
            self._propagate_kernel_contents(node)
            return
        output = node.outputs[0]
        shape = self.shapes.get(output)
        if shape is None or len(shape) > 1:
            return
        contents = self._contents_of(node, output, shape)
        if contents is not None and len(contents) <= _MOST_ELEMENTS:
            self.contents[output] = contents
            if not self.folded.isdisjoint(node.inputs):
                self.folded.add(output)

    def _note_foldable(self, node: ir.Node) -> None:
        """Note a result that is computed from constants; a bool of a file may be any byte."""
        computed = self.constants.is_supported(node) and self._foldable.issuperset(node.inputs)
        tensor = constant_tensor(node.outputs[0])
        if computed and (tensor is None or tensor.dtype != ir.DataType.BOOL):
            self._foldable.update(node.outputs)

    def _propagate_kernel_contents(self, node: ir.Node) -> None:
        """A kernel also outputs the shape of its result; the result may be a shape itself."""
        custom = _KERNELS.get(node.op_type)
        known = custom is not None or node.op_type == _CHECKED
        if not known or node.outputs[0] not in self.shapes:
            return
        result, shape = node.outputs
        self.contents[shape] = self.shapes[result]
        if _gives_shape(node, custom):
            self.contents[result] = self.shapes[cast(ir.Value, node.inputs[0])]
            return
        given = self.contents.get(cast(ir.Value, node.inputs[0]))
        if isinstance(custom, Inspection) and given is not None:
            self.contents[result] = given

    def _contents_of(self, node: ir.Node, output: ir.Value, shape: Sizes) -> PartialSizes | None:
        if node.op_type == "Constant":
            return constant_sizes(output)
        dtype = self._types.element_type(output)
        if dtype is None or node.domain != STANDARD_DOMAIN or not self._is_reliable(node):
            return None
        try:
            return elements_of(self._known_of(node), type_name(dtype), shape)
        except Rejected:
            folded = output in self._foldable and type_name(dtype) in HOLDING_SIZES
            elements = self.constants.elements(output) if folded else None
            if elements is None:
                return None
            self.folded.add(output)
            return tuple(map(int, elements.ravel()))
        except Exception:
            # A malformed node must not stop the analysis.
            _logger.debug("the elements of %s are unknown", node.op_type, exc_info=True)
            return None

    def _is_reliable(self, node: ir.Node) -> bool:
        """Whether the operands are sizes that ONNX Runtime does not infer wrongly."""
        if node.op_type not in ("Shape", "Size"):
            return True
        return not any(map(self._may_be_mistaken, filter(None, node.inputs)))

    def _may_be_mistaken(self, value: ir.Value) -> bool:
        return self.misinference.may_be_wrong(value, self.shapes.get(value))

    def _known_of(self, node: ir.Node) -> GraphNode:
        return GraphNode(node, self._version, self.shapes, self.contents, self.shared)

    def _record(self, value: ir.Value, sizes: Sequence[Size | None]) -> None:
        """Record a shape, if it is one."""
        if not is_negative(sizes):
            self.shapes[value] = self._named(kept_sizes(sizes))

    def _named(self, sizes: Sequence[Size | None]) -> Sizes:
        return tuple(self._new_size() if size is None else size for size in sizes)

    def _new_size(self) -> Size:
        """An open size with a generated name, which no file can declare."""
        self._open_sizes += 1
        return Symbolic.named(f"?{self._open_sizes}")


def _declared(axis: int | str | None) -> Size | None:
    return Symbolic.named(axis) if isinstance(axis, str) else axis


def _demanded(axis: Axis, declared: int | str | None) -> Size | None:
    """The size of an axis within a contract; a declared number stays."""
    if isinstance(declared, int):
        return declared
    return axis.size if isinstance(axis, SizeContract) else _declared(axis)


def _shared_names(
    inputs: Iterable[tuple[str, Sequence[int | str | None] | None]],
) -> frozenset[str]:
    names = Counter(axis for _, axes in inputs for axis in axes or () if isinstance(axis, str))
    return frozenset(name for name, count in names.items() if count > 1)
