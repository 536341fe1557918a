"""Whether a change moves where ONNX Runtime rounds 16-bit floats.

ONNX Runtime has few kernels for 16-bit floats. Other nodes it computes in float, and of two such
nodes the second reads what the first has computed before that is rounded, also without
optimizations. A node with a kernel for 16-bit floats cuts such a chain, because it reads rounded
elements:

    Cast -> Mul              Mul reads floats
    Cast -> Expand -> Mul    Mul reads floats that were rounded to 16 bits

So the Expand changes bits, although it computes nothing. A node with such a kernel is computed in
float all the same if its neighbours are, so that a reader that is removed changes bits, too.

A value is settled if each of its elements is a 16-bit float in every run: an input, a constant, or
what nodes with such kernels make of these. A change whose new nodes read settled values alone, and
that removes no reader of others, rounds nothing elsewhere.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.conforming.bounds import Bound, Reference
from sonnx_ort.conforming.change import Change, NodeEdit
from sonnx_ort.facts.catalog import operator_version
from sonnx_ort.loading.traversal import defined_values, every_node, subgraphs_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN

SIXTEEN_BIT_FLOATS = frozenset({"float16", "bfloat16"})
"""The ONNX names of the types."""

WITH_KERNEL: Mapping[str, int] = {
    **dict.fromkeys(("Constant", "Flatten", "Gather", "Identity", "Reshape", "Shape", "Slice"), 1),
    **dict.fromkeys(("Squeeze", "Transpose", "Unsqueeze"), 1),
    "Split": 2,
    "Concat": 4,
    "Expand": 8,
    **dict.fromkeys(("Compress", "ConstantOfShape", "Sign"), 9),
    "ReverseSequence": 10,
    **dict.fromkeys(("GatherElements", "GatherND", "Round", "ScatterElements", "ScatterND"), 11),
    **dict.fromkeys(("Clip", "Max", "Min"), 12),
    "DequantizeLinear": 19,
}
"""The operators with a kernel for float16, each with the first version that has one.

They are those that all supported versions of ONNX Runtime have. Cast is not among them: what it
converts to 16 bits may be read before.
"""

IN_FLOAT = frozenset(
    [
        *("Abs", "Add", "AveragePool", "BatchNormalization", "Ceil", "Conv", "ConvTranspose"),
        *("Cos", "CumSum", "Div", "Einsum", "Erf", "Exp", "Floor", "Gemm", "GlobalAveragePool"),
        *("GlobalMaxPool", "InstanceNormalization", "Log", "LpNormalization", "MatMul", "MaxPool"),
        *("Mean", "Mul", "Neg", "Pad", "Pow", "Reciprocal", "ReduceMax", "ReduceMean", "ReduceMin"),
        *("ReduceProd", "ReduceSum", "Resize", "Sigmoid", "Sin", "Sqrt", "Sub", "Sum", "Tan"),
        *("Tanh", "Tile", "Where"),
    ]
)
"""The operators that are computed in float whatever reads their results.

They have no kernel for float16 in any version, on x86-64. Nor does ONNX define them by a function,
as which ONNX Runtime computes what has no kernel: Relu of opset 18 becomes Max, which has one.
"""

WHY_IT_ROUNDS = "it moves where 16-bit floats are rounded"
"""Why a change rounds that keeps the bits of other types, as a clause."""

MOVED_ROUNDING = Bound(1, Reference.OPERAND, remark=WHY_IT_ROUNDS)
"""How far a change moves results that keeps the bits of other types."""


@dataclass(frozen=True, slots=True)
class SixteenBitFloats:
    """The 16-bit floats of a graph.

    Attributes:
        facts: What is certain of the values of the graph.
        opset: The version of the standard operators.
        present: Whether there is any.
    """

    facts: Facts
    opset: int
    present: bool

    @classmethod
    def of(cls, model: ir.Model, facts: Facts) -> "SixteenBitFloats":
        """Those of a model."""
        found = any(
            facts.element_type(v) in SIXTEEN_BIT_FLOATS for v in defined_values(model.graph)
        )
        return cls(facts, model.opset_imports[STANDARD_DOMAIN], found)

    def moved_by(self, change: Change, edit: NodeEdit) -> bool:
        """Whether a change that is to be made at a node may round 16-bit floats elsewhere.

        Raises:
            NoChangeError: As the change does.
        """
        node = edit.node
        if not self.present:
            return False
        if subgraphs_of(node):
            return any(map(self._may_be_one, (*_around_and_inside(node), *node.outputs)))
        trial = edit.dry_run()
        if not change.make(trial):
            return False
        return (
            not self.all_settled(self._read_anew(node, trial))
            or bool(self.cutting(_unread_without(node, trial)))
            or self._gives_others(node, trial)
        )

    def _read_anew(self, node: ir.Node, trial: NodeEdit) -> list[ir.Value | None]:
        """What new nodes read of the others, and what the node itself reads no more.

        Whether a node with a kernel is computed in float depends on all that it reads.
        """
        added = set(trial.added)
        read = (value for operator, value in trial.read if not self._asks_size(operator, value))
        own = [value for value in read if value.producer() not in added]
        if self._has_kernel(node) and any(map(self._may_be_one, own)):
            return [*own, *node.inputs]
        return [*own, *(node.inputs[k] for k in trial.given if k < len(node.inputs))]

    def _gives_others(self, node: ir.Node, trial: NodeEdit) -> bool:
        """Whether the results that readers get are those of other nodes, computed in float."""
        read_on = any(value.uses() and self._may_be_one(value) for value in node.outputs)
        if not trial.replacements or not read_on:
            return False
        return not all(map(self._has_kernel, (node, *trial.added)))

    def all_settled(self, values: Iterable[ir.Value | None]) -> bool:
        """Whether all elements of values are rounded in every run, as far as they have 16 bits."""
        waiting = [value for value in values if value is not None]
        seen = set[ir.Value]()
        while waiting:
            value = waiting.pop()
            if value in seen or not self._may_be_one(value):
                continue
            seen.add(value)
            node = value.producer()
            if node is None:
                continue
            if not self._has_kernel(node):
                return False
            waiting += [each for each in node.inputs if each is not None]
        return True

    def cutting(self, nodes: Iterable[ir.Node]) -> frozenset[ir.Node]:
        """Of nodes that are to be removed, those without which 16-bit floats may be rounded less.

        They read a value that is not settled, of a node that is computed in 16 bits or in float as
        its readers are.
        """
        if not self.present:
            return frozenset()
        return frozenset(
            node
            for node in nodes
            for producer in [value.producer() for value in _around_and_inside(node)]
            if producer is not None and self.depends_on_readers(producer)
        )

    def depends_on_readers(self, node: ir.Node) -> bool:
        """Whether a node may be computed in 16 bits or in float as its readers are."""
        if not self.present or self._is_in_float(node):
            return False
        if self._has_kernel(node) and self.all_settled(node.inputs):
            return False
        return any(map(self._may_be_one, node.outputs))

    def _asks_size(self, operator: str, value: ir.Value) -> bool:
        """Whether a new node asks for the shape of what is computed in float.

        That is converted for this reader then, and stays as it is for others.
        """
        node = value.producer()
        return operator == "Shape" and node is not None and self._is_in_float(node)

    def _may_be_one(self, value: ir.Value) -> bool:
        kind = self.facts.element_type(value)
        return kind is None or kind in SIXTEEN_BIT_FLOATS

    def _is_in_float(self, node: ir.Node) -> bool:
        return not node.domain and node.op_type in IN_FLOAT

    def _has_kernel(self, node: ir.Node) -> bool:
        since = None if node.domain else WITH_KERNEL.get(node.op_type)
        return since is not None and operator_version(node.op_type, self.opset) >= since


def _around_and_inside(node: ir.Node) -> Iterable[ir.Value]:
    """The values that a node and the nodes in its graphs read, and what these graphs give."""
    bodies = subgraphs_of(node)
    nodes = [node, *(inner for body in bodies for inner in every_node(body))]
    for each in nodes:
        yield from (value for value in each.inputs if value is not None)
    for body in bodies:
        yield from body.outputs


def _unread_without(node: ir.Node, trial: NodeEdit) -> set[ir.Node]:
    """The nodes that nothing reads any more once a change is made at a node."""
    given = {position for position in trial.given if position < len(node.inputs)}
    gone = {node} if trial.replacements else set[ir.Node]()
    positions = range(len(node.inputs)) if gone else given
    waiting = [node.inputs[position] for position in positions]
    while waiting:
        value = waiting.pop()
        producer = None if value is None else value.producer()
        if value is None or producer is None or producer in gone:
            continue
        uses = {use for output in producer.outputs for use in output.uses()}
        left = {use for use in uses if use.node not in gone}
        left -= {use for use in left if use.node is node and use.idx in given}
        if left or any(output.is_graph_output() for output in producer.outputs):
            continue
        gone.add(producer)
        waiting += producer.inputs
    return gone
