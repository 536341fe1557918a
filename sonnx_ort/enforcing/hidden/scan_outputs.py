"""Keeps the declared rank of what the bodies of Scans return.

The bodies of Loop and Scan return what they do with the declared rank, and known as before. ONNX
Runtime does not run a Scan if its body leaves an output's shape open, and crashes if a state's rank
is not the declared one. But unproved declarations must be removed from values that the body reads.
So the value's shape is left open, and a copy with only the rank declared becomes the output. A
state starts with that rank.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import onnx_ir as ir

from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.enforcing.hidden.body_outputs import BodyOutput
from sonnx_ort.enforcing.metadata import Groups
from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.loading.traversal import subgraphs_of


@dataclass(frozen=True, slots=True)
class ScanOutput(BodyOutput):
    """An output of a Scan's body whose shape is declared.

    Attributes:
        scan: The Scan.
        rank: The declared rank.
    """

    scan: ir.Node
    rank: int


def scan_bodies(nodes: Iterable[ir.Node]) -> Iterator[tuple[ir.Node, ir.Graph]]:
    """The Scans among some nodes, with their bodies."""
    scans = (node for node in nodes if node.op_type == "Scan")
    return ((scan, body) for scan in scans for body in subgraphs_of(scan))


def declared_outputs(nodes: Iterable[ir.Node]) -> list[ScanOutput]:
    """The outputs of the bodies of Scans among some nodes that have a declared shape."""
    return [
        ScanOutput(body, index, scan, len(output.shape))
        for scan, body in scan_bodies(nodes)
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
