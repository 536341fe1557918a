"""Removes what computes nothing that is read, and merges nodes that changes have added.

What the file claims falsely is corrected. No result depends on either: an output of the graph reads
no dead node, a Dropout in the mode of inference gives back its operand, and ONNX Runtime computes
the same whatever shape a file claims of a value that a node computes: where it finds another one it
warns, and keeps its own.

Added layout nodes are merged so that ONNX Runtime can fuse around them. Each change adds its nodes
for itself. Next to each other they remove an axis that is inserted again later, and they part what
ONNX Runtime computes as one: a convolution from its Relu, a product from the quantization of its
operands and its result. So, of the added nodes,

- one is taken for all that put the same values into the same form;
- one that lays elements out otherwise changes places with a neighbour that computes each element
  by itself, if nothing else reads what is between them;
- an Unsqueeze after a Squeeze of the same axes is omitted.

What computes gets the same elements in the same order in memory, so that no bit changes.
"""

from collections.abc import Callable, Container, Hashable, Iterator, Sequence

import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import constant_tensor, declared_shape, declared_type
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming.change import AXES_AS_INPUT
from sonnx_ort.loading.declarations import forget_elsewhere
from sonnx_ort.loading.traversal import ValueNames, defined_values, every_node, subgraphs_of
from sonnx_ort.loading.written import carry
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.terms.operand import Shape, contradict


def correct_false_claims(model: ir.Model, facts: Facts) -> None:
    """Replace declared types and shapes that are not what is certain, in place.

    Of the outputs of the model only sizes that no run gives are replaced; they are told by the
    interface to whoever runs the model. ONNX Runtime loads no model with an output of a false type.
    """
    outputs = frozenset(model.graph.outputs)
    for value in defined_values(model.graph):
        forget_elsewhere(value)
        if value.is_graph_input():
            continue
        actual, stated = facts.element_type(value), declared_type(value)
        if value not in outputs and None not in (actual, stated) and actual != stated:
            value.type = ir.TensorType(ir.DataType[str(actual).upper()])
        shape, claimed = facts.shape(value), declared_shape(value)
        if shape is not None and contradict(claimed, shape):
            value.shape = ir.Shape(_corrected(shape, claimed, is_output=value in outputs))


def _corrected(shape: Shape, claimed: Shape | None, *, is_output: bool) -> list[int | str | None]:
    """The certain sizes, and names of the others if the rank is right; of an output numbers, too.

    ONNX Runtime believes nothing of a claim that contradicts what it infers, and all of one that
    does not: nodes after it may contradict another number of the claim.
    """
    kept = claimed if claimed is not None and len(claimed) == len(shape) else (None,) * len(shape)
    names = [own if is_output or not isinstance(own, int) else None for own in kept]
    return [size if isinstance(size, int) else own for size, own in zip(shape, names, strict=True)]


_LAYING_OUT = frozenset({"Flatten", "Reshape", "Squeeze", "Unsqueeze"})
"""The operators whose results are the elements of their first operands in the same order."""

_MERGED = _LAYING_OUT | {"Concat", "Shape", "Slice"}
"""The operators of which one node may be taken for all that compute the same.

Not Expand: a large tensor that is written and read at once takes less time than one that is kept.
"""

_COMPUTED_WITH = frozenset({"Clip", "LeakyRelu", "QuantizeLinear", "Relu", "Sigmoid", "Tanh"})
"""What ONNX Runtime computes with the product or the convolution in front, by element."""

_FEW = 64
"""Constants of at most that many elements are compared."""


def simplify(model: ir.Model, original: Container[ir.Node], names: ValueNames) -> None:
    """Simplify what changes have added to a graph and to its subgraphs, in place.

    Nodes that nothing reads any more stay.

    The original nodes are merged with no other.
    """
    opset = model.opset_imports[STANDARD_DOMAIN]
    bodies = (body for node in every_node(model.graph) for body in subgraphs_of(node))
    for graph in (model.graph, *bodies):
        _Simplified(graph, opset, original, names).simplify()


class _Simplified:
    """A graph while it is simplified."""

    def __init__(
        self, graph: ir.Graph, opset: int, original: Container[ir.Node], names: ValueNames
    ) -> None:
        self._graph = graph
        self._opset = opset
        self._original = original
        self._names = names

    def simplify(self) -> None:
        """Simplify until nothing is left to do."""
        steps: tuple[Callable[[ir.Node], bool], ...] = (
            *(self._look_through, self._cancel, self._lift, self._sink),
        )
        self._merge()
        while any(step(node) for step in steps for node in self._added()):
            self._merge()

    def _added(self) -> Iterator[ir.Node]:
        """The added nodes that are read."""
        return (
            node
            for node in list(self._graph)
            if node.op_type in _MERGED
            and node.domain == STANDARD_DOMAIN
            and node not in self._original
            and node.outputs[0].uses()
            and not node.outputs[0].is_graph_output()
        )

    def _merge(self) -> None:
        """Let the readers of a node read the first one that computes the same."""
        first: dict[Hashable, ir.Value] = {}
        for node in self._added():
            computed = (node.op_type, _attributes(node), *map(_identity, node.inputs))
            result = first.setdefault(computed, node.outputs[0])
            if result is not node.outputs[0]:
                ir.convenience.replace_all_uses_with(node.outputs[0], result)

    def _look_through(self, node: ir.Node) -> bool:
        """Read the shape of what a DequantizeLinear reads, which has the same one."""
        before = _producer(node)
        if node.op_type != "Shape" or before is None or before.op_type != "DequantizeLinear":
            return False
        node.replace_input_with(0, before.inputs[0])
        return True

    def _cancel(self, node: ir.Node) -> bool:
        """Leave an Unsqueeze out that inserts the axes that a Squeeze in front removes."""
        before = _producer(node)
        if before is None or (before.op_type, node.op_type) != ("Squeeze", "Unsqueeze"):
            return False
        axes, operand = self._axes(node), before.inputs[0]
        if before in self._original or axes is None or axes != self._axes(before):
            return False
        if operand is None:
            return False
        ir.convenience.replace_all_uses_with(node.outputs[0], operand)
        return True

    def _lift(self, node: ir.Node) -> bool:
        """Lay elements out in front of the DequantizeLinear that nothing else reads."""
        before = _producer(node)
        if before is None or node.op_type not in {"Flatten", "Unsqueeze"}:
            return False
        if before.op_type != "DequantizeLinear" or not _has_one_reader(before):
            return False
        if not (_is_by_element(before) or self._keeps_axis(node, before)):
            return False
        laid_out = self._made(node, before.inputs[0])
        made = self._made(before, laid_out.outputs[0])
        self._put(node, [laid_out, made])
        return True

    def _sink(self, node: ir.Node) -> bool:
        """Lay elements out after the only node that reads them, if it computes each by itself."""
        if node.op_type not in _LAYING_OUT - {"Flatten"} or not _has_one_reader(node):
            return False
        (use,) = node.outputs[0].uses()
        reader = use.node
        if reader.domain != STANDARD_DOMAIN or reader.op_type not in _COMPUTED_WITH:
            return False
        if reader.graph is not self._graph or use.idx != 0 or not _is_by_element(reader):
            return False
        made = self._made(reader, node.inputs[0])
        self._put(reader, [made, self._made(node, made.outputs[0])])
        return True

    def _keeps_axis(self, node: ir.Node, dequantize: ir.Node) -> bool:
        """Whether the axis that scales belong to is the same one after an Unsqueeze."""
        axes = self._axes(node) if node.op_type == "Unsqueeze" else None
        axis = dequantize.attributes.get_int("axis", 1)
        blocks = dequantize.attributes.get_int("block_size", 0)
        return axes is not None and not blocks and 0 <= axis < min(axes)

    def _axes(self, node: ir.Node) -> tuple[int, ...] | None:
        """The axes of a Squeeze or Unsqueeze, counted from the front, if they are known."""
        found: Sequence[int] | None
        if self._opset < AXES_AS_INPUT:
            found = node.attributes.get_ints("axes")
        else:
            axes = node.inputs[1] if len(node.inputs) > 1 else None
            tensor = None if axes is None else constant_tensor(axes)
            found = None if tensor is None else tensor.numpy().tolist()
        return tuple(sorted(found)) if found and min(found) >= 0 else None

    def _made(self, node: ir.Node, operand: ir.Value | None) -> ir.Node:
        """A node like another one and of its name, of another operand."""
        output = ir.Value(name=self._names.fresh(f"{node.outputs[0].name}_laid_out"))
        inputs = [operand, *node.inputs[1:]]
        made = ir.node(
            node.op_type, inputs, dict(node.attributes), outputs=[output], name=node.name
        )
        carry(node.metadata_props, made)
        return made

    def _put(self, node: ir.Node, made: Sequence[ir.Node]) -> None:
        """Put two nodes in the place of one; the second gives its result."""
        ir.convenience.replace_nodes_and_values(
            self._graph, node, [node], made, node.outputs, made[-1].outputs
        )


def _producer(node: ir.Node) -> ir.Node | None:
    """The standard node that computes the first operand, in the same graph."""
    operand = node.inputs[0]
    before = None if operand is None else operand.producer()
    if before is None or before.graph is not node.graph or before.domain != STANDARD_DOMAIN:
        return None
    return before


def _has_one_reader(node: ir.Node) -> bool:
    return len(node.outputs[0].uses()) == 1 and not node.outputs[0].is_graph_output()


def _is_by_element(node: ir.Node) -> bool:
    """Whether all elements are computed with the same scales and limits, which are scalars."""
    tensors = [constant_tensor(value) for value in node.inputs[1:] if value is not None]
    return all(tensor is not None and not tensor.shape.rank() for tensor in tensors)


def _identity(value: ir.Value | None) -> Hashable:
    """What a value is: the same for small constants of the same type, shape and bits."""
    tensor = None if value is None else constant_tensor(value)
    if tensor is None or tensor.size > _FEW or tensor.dtype == ir.DataType.STRING:
        return value
    return tensor.dtype, tuple(tensor.shape), tensor.tobytes()


def _attributes(node: ir.Node) -> Hashable:
    """The attributes of a node, which are numbers and lists of numbers."""
    values = {name: attribute.value for name, attribute in node.attributes.items()}
    return frozenset((n, tuple(v) if isinstance(v, list) else v) for n, v in values.items())
