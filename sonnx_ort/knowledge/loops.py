"""What a Loop or Scan hands to its body, and what it takes back.

Sources: ONNX operators Loop, versions 1 to 25, and Scan, versions 9 to 25.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir

from sonnx_ort.loading.opset import operator_version
from sonnx_ort.loading.traversal import subgraphs_of
from sonnx_ort.profile.operator import STANDARD_DOMAIN

_COUNTERS = 2
"""The body of a Loop takes the number of the iteration and the condition first."""

_LAST = 25
"""The last version of both operators that was verified."""

_FIRST_WITHOUT_BATCH = 9
"""Before this version a Scan had an axis more, for a batch."""


@dataclass(frozen=True, slots=True)
class State:
    """A value that goes around.

    Attributes:
        initial: What the first iteration gets.
        taken: The input of the body.
        given: The output of the body, which the next iteration gets.
        final: What the node gives in the end.
    """

    initial: ir.Value
    taken: ir.Value
    given: ir.Value
    final: ir.Value


@dataclass(frozen=True, slots=True)
class Iteration:
    """A Loop or Scan.

    Attributes:
        body: Its body.
        counters: The inputs of the body that count and tell whether to go on.
        states: The values that go around.
        elements: The inputs of a Scan's body that get a part of a tensor in each iteration, with
            the tensor and the axis that is gone through.
        collected: The outputs that are put together of what all iterations give, with the outputs
            of the body.
    """

    body: ir.Graph
    counters: Sequence[ir.Value]
    states: Sequence[State]
    elements: Sequence[tuple[ir.Value, ir.Value, int]] = ()
    collected: Sequence[tuple[ir.Value, ir.Value]] = ()


def iteration_of(node: ir.Node, version: int) -> Iteration | None:
    """What a node hands to its body and back; None if it is no Loop or Scan that was verified.

    Args:
        node: The node.
        version: The version of the standard operators that the model imports.
    """
    subgraphs = subgraphs_of(node)
    since = operator_version(node.op_type, version)
    if node.domain != STANDARD_DOMAIN or since > _LAST:
        return None
    if node.op_type == "Scan" and len(subgraphs) == 1 and since >= _FIRST_WITHOUT_BATCH:
        return _scan(node, subgraphs[0])
    return loop_of(node)


def loop_of(node: ir.Node) -> Iteration | None:
    """What a Loop hands to its body and back; None if the node is no Loop.

    Args:
        node: The node.
    """
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
    axes = node.attributes.get_ints("scan_input_axes") or [0] * scanned
    if count < 0 or len(axes) != scanned:
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
    rows = zip(initial, taken, given, node.outputs, strict=False)
    return [State(first, *others) for first, *others in rows if first is not None]
