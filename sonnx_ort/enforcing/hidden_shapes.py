"""Keeps ONNX Runtime from computing a Shape from wrong static shapes.

If ONNX Runtime knows all sizes of a value statically, it computes the Shape from them. These sizes
can be wrong: its kernels contradict them for a PRelu that broadcasts both ways and for a reduction
of an empty tensor. It also accepts tensors of any rank for an input declared as a scalar. A Loop's
state has no static shape, so a Loop without iterations passes a value on and hides its shape until
the run.

If ONNX Runtime knows all sizes of a value, it also removes what nothing but a Shape of it reads:
the node, all in front of it, and their checks. So where nothing but Shapes reads what a checked
node computes, they read a value whose shape is hidden.

The bodies of Loop and Scan return what they do with the declared rank, and known as before. ONNX
Runtime does not run a Scan if its body leaves an output's shape open, and crashes if a state's rank
is not the declared one. But unproved declarations must be removed from values that the body reads.
So the value's shape is left open, and a copy with only the rank declared becomes the output. A
state starts with that rank.

If a Loop makes no iteration, ONNX Runtime gives its output the shape that it has inferred of the
body's output when the session started; an open size is 0. Enforcement hides shapes, and declares
others. So such an output is declared with what was known of it before; and where more is known now,
the value is returned through a Loop without iterations, whose output has no shape of its own.
"""

import functools
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import onnx.defs
import onnx_ir as ir

from sonnx_ort.analysis.checked_values import CheckedValue
from sonnx_ort.analysis.examination import Examination
from sonnx_ort.analysis.examined_node import ExaminedNode
from sonnx_ort.analysis.values.declarations import declared_type
from sonnx_ort.analysis.values.graph_node import collected_by_loops
from sonnx_ort.analysis.values.provenance import has_scalars, is_control_input
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.analysis.values.value_types import ValueTypes, allowed_types
from sonnx_ort.enforcing.metadata import Groups
from sonnx_ort.enforcing.nodes import StandardNodes, uses_of
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.traversal import (
    every_graph,
    every_node,
    nodes_behind,
    producers,
    subgraphs_of,
)
from sonnx_ort.ort.inference import inferred_beside_declarations, merged, says_more
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import STANDARD_DOMAIN
from sonnx_ort.profile.rule import Status
from sonnx_ort.terms.operand import Shape

_LOOP = 1
"""The first opset with Loop."""

LOOP_OF_BFLOAT16 = 16
"""The first opset in which a Loop's state can be bfloat16."""


@functools.cache
def oldest_opset_to_pass_on(element_type: str, *, hidden: bool) -> int:
    """The oldest opset in which Reshape, and a Loop if it hides shapes, take tensors of a type.

    Raises:
        SonnxError: There is none.
    """
    operators = ("Shape", "Reshape", *(("Loop",) if hidden else ()))
    for version in range(1, onnx.defs.onnx_opset_version() + 1):
        if all(f"tensor({element_type})" in _tensors_of(each, version) for each in operators):
            return version
    raise SonnxError(f"no {operators[-1]} takes tensors of type {element_type}")


def _tensors_of(operator: str, version: int) -> frozenset[str]:
    """The types that a version of an operator takes as what it passes on."""
    types = allowed_types(operator, version, STANDARD_DOMAIN)
    # That of a Loop is the type of its states, the last one.
    return types[-1 if operator == "Loop" else 0]


def hide_misinferred_shapes(
    nodes: StandardNodes, values: Sequence[ir.Value], examined: ExaminedNode
) -> tuple[ir.Value, ...]:
    """Hide the shapes of those operands that ONNX Runtime may infer wrongly."""
    return tuple(
        hide_shape(nodes, value) if may_be_misinferred else value
        for value, may_be_misinferred in zip(values, examined.may_be_misinferred, strict=True)
    )


def hide_shape(nodes: StandardNodes, value: ir.Value) -> ir.Value:
    """Pass a value through a Loop, so that its shape is known only in a run."""
    trips = nodes.constant(0, "no_iteration")
    condition = nodes.constant(True, "condition", ElementType.BOOL)
    body = {"body": _body(nodes, value)}
    return nodes.add("Loop", [trips, condition, value], f"{value.name}_of_any_rank", body)


def oldest_opset_with_hidden_shapes(examined: ExaminedNode) -> int:
    """The oldest opset in which the operands of a node can be hidden."""
    types = {operand.element_type for operand in examined.operands}
    hidden = examined.operands[0].scalar_inputs or any(examined.may_be_misinferred)
    return LOOP_OF_BFLOAT16 if hidden and ElementType.BFLOAT16 in types else _LOOP


def hide_scalars_after(
    graph: ir.Graph,
    groups: Groups,
    nodes: Iterable[ExaminedNode],
    facts: Facts,
    checked: Iterable[CheckedValue] = (),
) -> None:
    """Hide the shapes of inputs declared as scalars on which operands or these values depend.

    A Scan needs the shape; its body gets a state of unknown shape in any case. ONNX Runtime's
    optimizer replaces a Dropout by its ratio if the ratio is computed.
    """
    read = [*(node.ruled.inputs for node in nodes), *((each.value,) for each in checked)]
    inputs = dict.fromkeys(v for values in read for v in facts.inputs_affecting(values))
    uses = {
        value: [u for u in each if u[0].op_type != "Scan" and not is_control_input(*u)]
        for value, each in uses_of(v for v in inputs if has_scalars([v])).items()
    }
    if uses:
        hiding = groups.nodes("inputs")
        after = {value: hide_shape(hiding, value) for value in uses}
        groups.read_after_inputs(graph, hiding, after, uses)


def _body(nodes: StandardNodes, value: ir.Value) -> ir.Graph:
    boolean = ir.TensorType(ir.DataType.BOOL)
    iteration = nodes.value("iteration")
    iteration.type, iteration.shape = ir.TensorType(ir.DataType.INT64), ir.Shape([])
    go_on, still = nodes.value("go_on"), nodes.value("still")
    for flag in (go_on, still):
        flag.type, flag.shape = boolean, ir.Shape([])
    state, following = nodes.value("state"), nodes.value("next_state")
    state.type = following.type = value.type
    return ir.Graph(
        [iteration, go_on, state],
        [still, following],
        nodes=[ir.node("Identity", [go_on], outputs=[still]), _next_state(state, following)],
        name="nothing",
    )


def _next_state(state: ir.Value, following: ir.Value) -> ir.Node:
    """A node whose output has the state's type; a Loop without iterations never computes it."""
    if isinstance(state.type, ir.SequenceType) and isinstance(state.type.elem_type, ir.TensorType):
        # Identity takes sequences since opset 14.
        return ir.node(
            "SequenceEmpty", [], {"dtype": state.type.elem_type.dtype.value}, outputs=[following]
        )
    return ir.node("Identity", [state], outputs=[following])


def values_read_for_shapes(model: ir.Model, examination: Examination) -> tuple[ir.Value, ...]:
    """The values that only Shapes read, after nodes that a run has to check, sorted by name."""
    checked = {
        examined.ruled.node
        for examined in examination.nodes
        if any(o.rule.in_run and o.status is Status.RUNTIME for o in examined.obligations)
    }
    checked.update(value.node for value in examination.checked_values if value.node is not None)
    nodes = every_node(model.graph)
    if not any(_reads_shape(node, 0) for node in nodes):
        return ()
    owners = {body: node for node in nodes for body in subgraphs_of(node)}
    unneeded = checked - _needed(model.graph, nodes, owners)
    return tuple(sorted(_read_after(unneeded, owners), key=lambda value: str(value.name)))


def oldest_opset_to_hide(values: Iterable[ir.Value], facts: Facts) -> int:
    """The oldest opset in which the shapes of values can be hidden."""
    types = {facts.element_type(value) or declared_type(value) for value in values}
    return LOOP_OF_BFLOAT16 if ElementType.BFLOAT16 in types else 1


def hide_from_shapes(values: Iterable[ir.Value], groups: Groups) -> None:
    """Let Shapes read values whose shapes are known only in a run."""
    for value in values:
        nodes, readers = groups.nodes(str(value.name)), tuple(value.uses())
        given = hide_shape(nodes, value)
        given.type = value.type
        producer = cast(ir.Node, value.producer())
        cast(ir.Graph, producer.graph).insert_after(producer, nodes.nodes)
        for node, index in readers:
            if _reads_shape(node, index):
                node.replace_input_with(index, given)
        groups.record_after(nodes, {value: given})


def _needed(
    graph: ir.Graph, nodes: Iterable[ir.Node], owners: dict[ir.Graph, ir.Node]
) -> set[ir.Node]:
    """The nodes whose elements a run needs, or which nothing reads: ONNX Runtime keeps both."""

    def before(node: ir.Node) -> Iterator[ir.Node]:
        read = [v for i, v in enumerate(node.inputs) if not _reads_shape(node, i)]
        yield from producers([*read, *(v for body in subgraphs_of(node) for v in body.outputs)])
        if (owner := owners.get(cast(ir.Graph, node.graph))) is not None:
            yield owner

    return nodes_behind([*producers(graph.outputs), *filter(_is_unread, nodes)], before)


def _read_after(nodes: Collection[ir.Node], owners: dict[ir.Graph, ir.Node]) -> Iterator[ir.Value]:
    """The operands of all Shapes that nodes lead to, each once."""
    found, seen, given = list(nodes), set(nodes), set[ir.Value]()
    while found:
        node = found.pop()
        following = [use.node for output in node.outputs for use in output.uses()]
        if any(output.is_graph_output() for output in node.outputs):
            following += filter(None, [owners.get(cast(ir.Graph, node.graph))])
        for output in node.outputs:
            if output not in given and any(_reads_shape(*use) for use in output.uses()):
                given.add(output)
                yield output
        found += [each for each in dict.fromkeys(following) if each not in seen]
        seen.update(following)


def _is_unread(node: ir.Node) -> bool:
    """Whether nothing reads a node; ONNX Runtime keeps it, unless it is a Shape."""
    read = any(output.uses() or output.is_graph_output() for output in node.outputs)
    return not read and not _reads_shape(node, 0)


def _reads_shape(node: ir.Node, index: int) -> bool:
    return node.op_type == "Shape" and node.domain == STANDARD_DOMAIN and index == 0


@dataclass(frozen=True, slots=True)
class BodyOutput:
    """An output of a body.

    Attributes:
        body: The body.
        index: The index of the output.
    """

    body: ir.Graph
    index: int

    @property
    def value(self) -> ir.Value:
        """The output, which enforcement may replace."""
        return self.body.outputs[self.index]

    def return_instead(self, given: ir.Value, nodes: StandardNodes, groups: Groups) -> None:
        """Let the body return another value, which new nodes compute from the output."""
        groups.record_after(nodes, {self.value: given})
        self.body.extend(nodes.nodes)
        self.body.outputs[self.index] = given


@dataclass(frozen=True, slots=True)
class ScanOutput(BodyOutput):
    """An output of a Scan's body whose shape is declared.

    Attributes:
        scan: The Scan.
        rank: The declared rank.
    """

    scan: ir.Node
    rank: int


def scan_bodies(graph: ir.Graph) -> Iterator[tuple[ir.Node, ir.Graph]]:
    """All Scans, with their bodies."""
    scans = (node for node in every_node(graph) if node.op_type == "Scan")
    return ((scan, body) for scan in scans for body in subgraphs_of(scan))


def declared_outputs(graph: ir.Graph) -> list[ScanOutput]:
    """The outputs of the bodies of Scans that have a declared shape."""
    return [
        ScanOutput(body, index, scan, len(output.shape))
        for scan, body in scan_bodies(graph)
        for index, output in enumerate(body.outputs)
        if output.shape is not None
    ]


def keep_rank(output: ScanOutput, facts: Facts, groups: Groups) -> None:
    """Let a body return an output without a shape in its declared rank.

    Nodes are inserted in the body, and in front of the Scan.
    """
    initial = _initial(output)
    if initial is not None:
        # Before opset 9 an initial state has a batch axis in front.
        position, value = initial
        rank = output.rank + _inputs_in_front(output)
        known = None if facts.depends_on_scalar_inputs(value) else facts.shape(value)
        if known is None or len(known) != rank:
            nodes = groups.nodes(str(value.name))
            given = _with_rank(nodes, value, rank)
            cast(ir.Graph, output.scan.graph).insert_before(output.scan, nodes.nodes)
            output.scan.replace_input_with(position, given)
            groups.record_after(nodes, {value: given})
    value, nodes = output.value, groups.nodes(str(output.value.name))
    output.return_instead(_with_rank(nodes, value, output.rank), nodes, groups)


def _inputs_in_front(output: ScanOutput) -> int:
    """How many inputs a Scan has in front of those of its body: one before opset 9."""
    return len(output.scan.inputs) - len(output.body.inputs)


def _initial(output: ScanOutput) -> tuple[int, ir.Value] | None:
    """The index and value of the output's initial state; None if the output is collected."""
    states = len(output.body.inputs) - output.scan.attributes.get_int("num_scan_inputs", 0)
    position = output.index + _inputs_in_front(output)
    # A session rejects a Scan with too few inputs.
    given = output.index < states and position in range(len(output.scan.inputs))
    value = output.scan.inputs[position] if given else None
    return None if value is None else (position, value)


def _with_rank(nodes: StandardNodes, value: ir.Value, rank: int) -> ir.Value:
    """The same tensor; an error if it has another rank.

    An axis of size 1 is appended first: for rank 0, a Reshape of the sizes to [0] would never fail.
    """
    one = _vector(nodes, (1,), "one")
    sizes = nodes.add("Concat", [nodes.shape(value), one], "sizes_and_one", {"axis": 0})
    count = _vector(nodes, (rank + 1,), "rank_and_one")
    name = f"'{value.name}' has to be of rank {rank}, as a Scan declares its state or output"
    checked = nodes.add("Reshape", [sizes, count], "sizes_of_rank", name=name)
    longer = nodes.add("Reshape", [value, checked], "of_a_rank_more")
    # A size of 0 keeps the current size.
    given = nodes.add("Reshape", [longer, _vector(nodes, (0,) * rank, "nothing")], "of_its_rank")
    if value.type is not None:  # a shape without a type is not written
        given.type, given.shape = value.type, ir.Shape([None] * rank)
    return given


def _vector(nodes: StandardNodes, elements: tuple[int, ...], purpose: str) -> ir.Value:
    """A vector of integers, made as a tensor's shape: before opset 9 Constant has no integers."""
    tensor = ir.Tensor(np.zeros(elements, np.float32))
    value = nodes.add("Constant", [], purpose, {"value": tensor})
    tensor.name = value.name
    return nodes.shape(value)


@dataclass(frozen=True, slots=True)
class LoopOutput(BodyOutput):
    """An output of a Loop's body whose values the Loop collects.

    Attributes:
        declared: What the file declares of its shape.
        known: What ONNX Runtime knew of its shape before enforcement; None if not even the rank.
    """

    declared: ir.Shape | None
    known: ir.Shape | None


def declare_outputs(graph: ir.Graph, facts: Facts) -> Sequence[LoopOutput]:
    """Declare outputs as ONNX Runtime knows them, in place.

    A run may contradict it. `Inference` models what is inferred from it, so no proof rests on it.

    Args:
        graph: The graph of the model.
        facts: What is known of its values.
    """
    known = facts.collected()
    collected = dict.fromkeys(collected_by_loops(graph))
    declared: dict[ir.Value, ir.Shape | None] = {}
    for value in collected:
        inferred = known.get(value, ir.TypeAndShape(value.type, None))
        shape = _unless_false(value.shape, inferred.shape, facts.shape(value))
        declared[value], value.shape = value.shape, shape
        value.type = value.type or inferred.type
    return [
        LoopOutput(body, index, declared[value], value.shape)
        for body in every_graph(graph)
        for index, value in enumerate(body.outputs)
        if value in collected
    ]


def hide_further_knowledge(
    model: ir.Model, outputs: Sequence[LoopOutput], groups: Groups, *, sparing: bool
) -> None:
    """Return those outputs through a Loop of which more is known than before.

    If `sparing`, nothing is declared anew of what follows without: a certificate has to establish
    it.
    """
    if not outputs:
        return
    for output in outputs:
        output.value.shape = output.known
    values = [output.value for output in outputs]
    inferred = inferred_beside_declarations(model, values, ValueTypes(model))
    for output in outputs:
        value, nodes = output.value, groups.nodes(str(output.value.name))
        further = says_more(inferred.get(value), output.known)
        if not further or not _can_be_hidden(value.type, nodes):
            if sparing and not says_more(
                output.known, merged(output.declared, inferred.get(value))
            ):
                value.shape = output.declared
            continue
        value.shape = None
        given = hide_shape(nodes, value)
        given.type, given.shape = value.type, output.known
        output.return_instead(given, nodes, groups)


def _unless_false(
    declared: ir.Shape | None, known: ir.Shape | None, certain: Shape | None
) -> ir.Shape | None:
    """The inferred shape, with wrong sizes corrected unless the file declares them.

    Wrong sizes follow from other declarations, which are not written again.
    """
    if known is None or certain is None:
        return known
    if len(known) != len(certain):
        return declared
    own = declared if declared is not None and len(declared) == len(known) else [None] * len(known)
    return ir.Shape(list(map(_size_unless_false, own, known, certain)))


def _size_unless_false(
    declared: int | ir.SymbolicDim | None, known: int | ir.SymbolicDim, certain: object
) -> int | ir.SymbolicDim:
    inferred = isinstance(known, int) and not isinstance(declared, int)
    return certain if inferred and isinstance(certain, int) else known


def _can_be_hidden(kind: ir.TypeProtocol | None, nodes: StandardNodes) -> bool:
    data_type = None if kind is None else kind.dtype
    return data_type is not ir.DataType.BFLOAT16 or nodes.opset >= LOOP_OF_BFLOAT16
