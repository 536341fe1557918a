"""The values that a Loop or Scan passes to its body and receives from it.

Sources: ONNX operators Loop, versions 1 to 25, and Scan, versions 9 to 25.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.kernel.catalog import operator_version
from sonnx_ort.loading.traversal import subgraphs_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_COUNTERS = 2
"""Number of leading inputs of a Loop's body: the iteration number and the condition."""

_LAST = 25
"""The last verified version of both operators."""

_FIRST_WITHOUT_BATCH = 9
"""In earlier versions a Scan had an additional batch axis."""


@dataclass(frozen=True, slots=True)
class State:
    """A loop-carried value: initial one, input and output of the body, output of the node."""

    initial: ir.Value
    taken: ir.Value
    given: ir.Value
    final: ir.Value


@dataclass(frozen=True, slots=True)
class Iteration:
    """A Loop or Scan.

    Attributes:
        counters: The body's inputs for the iteration number and the condition.
        states: The loop-carried values.
        elements: The inputs of a Scan's body that get a slice in each iteration, with the scanned
            tensor and axis.
        collected: The node's scan outputs, with the body's outputs that they concatenate.
    """

    body: ir.Graph
    counters: Sequence[ir.Value]
    states: Sequence[State]
    elements: Sequence[tuple[ir.Value, ir.Value, int]] = ()
    collected: Sequence[tuple[ir.Value, ir.Value]] = ()


def iteration_of(node: ir.Node, version: int) -> Iteration | None:
    """The values passed between a node and its body; None if it is not a verified Loop or Scan."""
    subgraphs = subgraphs_of(node)
    since = operator_version(node.op_type, version)
    if node.domain != STANDARD_DOMAIN or since > _LAST:
        return None
    if node.op_type == "Scan" and len(subgraphs) == 1 and since >= _FIRST_WITHOUT_BATCH:
        return _scan(node, subgraphs[0])
    return loop_of(node)


def loop_of(node: ir.Node) -> Iteration | None:
    """The values passed between a Loop and its body; None if the node is no Loop."""
    subgraphs = subgraphs_of(node)
    if (node.domain, node.op_type, len(subgraphs)) != (STANDARD_DOMAIN, "Loop", 1):
        return None
    (body,) = subgraphs
    count = max(len(node.inputs) - _COUNTERS, 0)
    taken, given = body.inputs[_COUNTERS:], body.outputs[1:]
    return Iteration(
        body,
        body.inputs[:_COUNTERS],
        _states(node.inputs[_COUNTERS:], taken, given, node),
        collected=list(zip(node.outputs[count:], given[count:], strict=False)),
    )


def _scan(node: ir.Node, body: ir.Graph) -> Iteration | None:
    scanned = node.attributes.get_int("num_scan_inputs", 0)
    count = len(node.inputs) - scanned
    if not 0 <= scanned <= len(node.inputs):
        return None
    axes = node.attributes.get_ints("scan_input_axes") or [0] * scanned
    if len(axes) != scanned:
        return None
    elements = zip(body.inputs[count:], node.inputs[count:], axes, strict=False)
    return Iteration(
        body,
        (),
        _states(node.inputs[:count], body.inputs[:count], body.outputs[:count], node),
        [(taken, tensor, axis) for taken, tensor, axis in elements if tensor is not None],
        list(zip(node.outputs[count:], body.outputs[count:], strict=False)),
    )


def _states(
    initial: Sequence[ir.Value | None],
    taken: Sequence[ir.Value],
    given: Sequence[ir.Value],
    node: ir.Node,
) -> list[State]:
    carried = zip(initial, taken, given, node.outputs, strict=False)
    return [State(first, *others) for first, *others in carried if first is not None]
