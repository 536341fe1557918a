"""Loops and Scans of a known number of steps, written as the nodes of all steps.

The nodes compute the same as before, in the same order. What a step stacks on the results of the
others is joined by a Concat. Source: ONNX Loop since version 1, and Scan since version 9.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.conforming.change import NoChangeError, NodeEdit
from sonnx_ort.conforming.operators import Operators
from sonnx_ort.conforming.simplifying import detach_bodies
from sonnx_ort.kernel.catalog import operator_version
from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.loading.traversal import subgraphs_of

MOST_STEPS = 16
"""How many steps a Loop or Scan may have by default."""

_MOST_NODES = 4096
_SCAN_WITHOUT_BATCHES = 9

Given = Mapping[ir.Value, ir.Value]
"""The values that take the place of those of a body."""


def unroll(edit: NodeEdit) -> Sequence[ir.Value | None]:
    """Add the nodes of all steps in front of a Loop or Scan; give its outputs."""
    bodies = subgraphs_of(edit.node)
    if len(bodies) != 1:
        raise NoChangeError("it has no body")
    (body,) = bodies
    results = (_loop if edit.node.op_type == "Loop" else _scan)(edit, body)
    detach_bodies(edit.node)
    op = Operators(edit)
    return [v if v.producer() in edit.added else op.Identity(v) for v in results]


def _loop(edit: NodeEdit, body: ir.Graph) -> list[ir.Value]:
    trips, go_on = edit.input(0), edit.input(1)
    if trips is None:
        raise NoChangeError("how many steps it takes is known only in a run")
    count = int(edit.elements_of(trips).item())
    if go_on is not None and not edit.elements_of(go_on).item():
        count = 0
    _require_few(edit, count, body)
    _require_no_end(body)
    number, condition, *taken = body.inputs
    states = [edit.operand(index + 2) for index in range(len(taken))]
    stacked: list[list[ir.Value]] = []
    op = Operators(edit)
    for step in range(count):
        counter = np.full([1] * len(number.shape or ()), step, np.int64)
        given = {number: edit.constant(counter, "step")}
        if condition.uses():
            given[condition] = edit.constant(np.array(True), "goes_on")
        _, *found = _step(edit, body, given | dict(zip(taken, states, strict=True)))
        states, rows = found[: len(taken)], found[len(taken) :]
        stacked.append([op.Unsqueeze(row, axes=[0]) for row in rows])
    return [*states, *_joined(op, stacked, [0] * (len(body.outputs) - 1 - len(taken)))]


def _scan(edit: NodeEdit, body: ir.Graph) -> list[ir.Value]:
    if operator_version("Scan", edit.opset) < _SCAN_WITHOUT_BATCHES:
        raise NoChangeError("Scan of opset 8 has batches")
    scanned = edit.integer("num_scan_inputs")
    if any(any(edit.integers(f"scan_{kind}_directions") or ()) for kind in ("input", "output")):
        raise NoChangeError("it goes from the last element to the first")
    first = len(edit.node.inputs) - scanned
    operands = [edit.operand(index) for index in range(len(edit.node.inputs))]
    states, elements = operands[:first], operands[first:]
    axes = _axes(edit, "scan_input_axes", [len(edit.shape(value)) for value in elements])
    length = edit.shape(elements[0])[axes[0]] if elements else None
    if not isinstance(length, int):
        raise NoChangeError("how many steps it takes is known only in a run")
    _require_few(edit, length, body)
    op, stacked = Operators(edit), list[list[ir.Value]]()
    ranks = [len(edit.facts.shape(value) or ()) + 1 for value in body.outputs[first:]]
    results = _axes(edit, "scan_output_axes", ranks)
    for step in range(length):
        parts = [
            op.Squeeze(op.slice(value, axis, step, step + 1), axes=[axis])
            for value, axis in zip(elements, axes, strict=True)
        ]
        found = _step(edit, body, dict(zip(body.inputs, [*states, *parts], strict=True)))
        states, rows = found[:first], found[first:]
        pairs = zip(rows, results, strict=True)
        stacked.append([op.Unsqueeze(row, axes=[axis]) for row, axis in pairs])
    return [*states, *_joined(op, stacked, results)]


def _axes(edit: NodeEdit, name: str, ranks: Sequence[int]) -> list[int]:
    axes = edit.integers(name) or (0,) * len(ranks)
    pairs = list(zip(axes, ranks, strict=False))
    if len(axes) != len(ranks) or any(not -rank <= axis < rank for axis, rank in pairs):
        raise NoChangeError(f"its {name} are of no axes that are known")
    return [axis % rank for axis, rank in pairs]


def _require_few(edit: NodeEdit, count: int, body: ir.Graph) -> None:
    most = edit.most_steps
    if count > most:
        raise NoChangeError(f"it takes {count:,} steps; --unroll {count} writes them all")
    if count < 1:
        raise NoChangeError("it takes no step")
    if count * len(body) > _MOST_NODES:
        raise NoChangeError(f"its steps are {count * len(body):,} nodes")


def _require_no_end(body: ir.Graph) -> None:
    """Reject a Loop that its body may end."""
    condition: ir.Value | None = body.outputs[0]
    while condition is not None and condition is not body.inputs[1]:
        node = condition.producer()
        tensor = constant_tensor(condition)
        if tensor is not None and bool(tensor.numpy().all()):
            return
        if node is None or node.op_type != "Identity":
            raise NoChangeError("its body may end it")
        condition = node.inputs[0]


def _step(edit: NodeEdit, body: ir.Graph, given: Given) -> list[ir.Value]:
    """Add the nodes of one step; give what takes the place of the body's outputs."""
    known = dict(given)
    for value in body.initializers.values():
        known[value] = edit.constant(_elements(value), str(value.name))
    edit.added += [_copied_node(edit, node, known) for node in body]
    return [known.get(value, value) for value in body.outputs]


def _elements(value: ir.Value) -> npt.NDArray[Any]:
    if value.const_value is None:
        raise NoChangeError(f"the initializer '{value.name}' has no elements")
    return value.const_value.numpy()


def _copied_node(edit: NodeEdit, node: ir.Node, known: dict[ir.Value, ir.Value]) -> ir.Node:
    """A copy of a node that reads what takes the place of its inputs."""
    inputs = [None if value is None else known.get(value, value) for value in node.inputs]
    attributes = [
        ir.AttrGraph(each.name, _copied_graph(edit, each.as_graph(), known))
        if each.type == ir.AttributeType.GRAPH
        else each
        for each in node.attributes.values()
    ]
    outputs = [_copied(edit, value) for value in node.outputs]
    known.update(zip(node.outputs, outputs, strict=True))
    return ir.Node(
        node.domain,
        node.op_type,
        inputs,
        attributes,
        overload=node.overload,
        outputs=outputs,
        name=edit.names.fresh_for_node(str(node.name or node.outputs[0].name)),
    )


def _copied_graph(edit: NodeEdit, graph: ir.Graph, outer: Given) -> ir.Graph:
    """A copy of a body that reads what takes the place of outer values."""
    known = dict(outer)
    inputs = [_copied(edit, value) for value in graph.inputs]
    known.update(zip(graph.inputs, inputs, strict=True))
    stored = []
    for value in graph.initializers.values():
        known[value] = _copied(edit, value)
        known[value].const_value = ir.Tensor(_elements(value), name=known[value].name)
        stored.append(known[value])
    nodes = [_copied_node(edit, node, known) for node in graph]
    outputs = [known.get(value, value) for value in graph.outputs]
    return ir.Graph(inputs, outputs, nodes=nodes, initializers=stored, name=graph.name)


def _copied(edit: NodeEdit, value: ir.Value) -> ir.Value:
    name = edit.names.fresh(str(value.name)) if value.name else ""
    return ir.Value(name=name, type=value.type, shape=value.shape)


def _joined(
    op: Operators, stacked: Sequence[Sequence[ir.Value]], axes: Sequence[int]
) -> list[ir.Value]:
    """What the steps have stacked, along an axis of each result."""
    columns = zip(*stacked, strict=True)
    return [op.Concat(*parts, axis=axis) for parts, axis in zip(columns, axes, strict=True)]
