"""Gives out what a Scan's body computes in the rank that is declared, or not at all.

ONNX Runtime runs no Scan whose body leaves the shape of an output open, and ends the process where
a state is of another rank than the body declares. What only the file says must not be said of a
value that the body reads. So that value stays open, and another one is given out, of which nothing
but the rank is said; and a state starts in that rank.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np
import onnx_ir as ir

from sonnx_ort.enforcing.nodes import StandardNodes
from sonnx_ort.knowledge.facts import Facts
from sonnx_ort.loading.traversal import every_node, subgraphs_of


@dataclass(frozen=True, slots=True)
class BodyOutput:
    """An output of a Scan's body whose shape the file declares.

    Attributes:
        scan: The Scan.
        body: Its body.
        index: The number of the output.
        rank: The declared rank.
    """

    scan: ir.Node
    body: ir.Graph
    index: int
    rank: int

    @property
    def value(self) -> ir.Value:
        """The output."""
        return self.body.outputs[self.index]


Passed = tuple[StandardNodes, ir.Value, ir.Value]
"""Nodes, what they read, and what they make of it."""


def scan_bodies(graph: ir.Graph) -> Iterator[tuple[ir.Node, ir.Graph]]:
    """All Scans, with their bodies.

    Args:
        graph: The main graph.
    """
    scans = (node for node in every_node(graph) if node.op_type == "Scan")
    return ((scan, body) for scan in scans for body in subgraphs_of(scan))


def declared_outputs(graph: ir.Graph) -> list[BodyOutput]:
    """What the bodies of Scans give in a rank that is declared.

    Args:
        graph: The main graph.
    """
    return [
        BodyOutput(scan, body, index, len(output.shape))
        for scan, body in scan_bodies(graph)
        for index, output in enumerate(body.outputs)
        if output.shape is not None
    ]


def keep_rank(
    output: BodyOutput, facts: Facts, start: Callable[[str], StandardNodes]
) -> Iterator[Passed]:
    """Let a body give an output without a shape in its declared rank.

    Args:
        output: The output.
        facts: What is known of the model's values.
        start: Starts nodes, with what the names of their values start with.

    Yields:
        What was put between, in the body and in front of the Scan.
    """
    initial = _initial(output)
    if initial is not None:
        # Before version 9 an initial state has an axis more, for a batch.
        position, value = initial
        rank = output.rank + _further_inputs(output)
        known = None if facts.rests_on_scalars(value) else facts.shape(value)
        if known is None or len(known) != rank:
            nodes = start(str(value.name))
            given = _of_rank(nodes, value, rank)
            cast(ir.Graph, output.scan.graph).insert_before(output.scan, nodes.nodes)
            output.scan.replace_input_with(position, given)
            yield nodes, value, given
    value, nodes = output.value, start(str(output.value.name))
    given = _of_rank(nodes, value, output.rank)
    output.body.extend(nodes.nodes)
    output.body.outputs[output.index] = given
    yield nodes, value, given


def _further_inputs(output: BodyOutput) -> int:
    """How many inputs a Scan has in front of those of its body: before version 9 one."""
    return len(output.scan.inputs) - len(output.body.inputs)


def _initial(output: BodyOutput) -> tuple[int, ir.Value] | None:
    """What the state that an output gives starts with; None if the output is collected."""
    states = len(output.body.inputs) - output.scan.attributes.get_int("num_scan_inputs", 0)
    position = output.index + _further_inputs(output)
    # A Scan of too few inputs is refused when a session starts.
    given = output.index < states and position in range(len(output.scan.inputs))
    value = output.scan.inputs[position] if given else None
    return None if value is None else (position, value)


def _of_rank(nodes: StandardNodes, value: ir.Value, rank: int) -> ir.Value:
    """The same tensor; an error where it is of another rank.

    With an axis more, for no Reshape refuses to make a vector without an element.
    """
    one = _vector(nodes, (1,), "one")
    sizes = nodes.add("Concat", [nodes.shape(value), one], "sizes_and_one", {"axis": 0})
    count = _vector(nodes, (rank + 1,), "rank_and_one")
    name = f"'{value.name}' has to be of rank {rank}, as a Scan declares its state or output"
    checked = nodes.add("Reshape", [sizes, count], "sizes_of_rank", name=name)
    longer = nodes.add("Reshape", [value, checked], "of_a_rank_more")
    # A size of 0 stands for the size that is there.
    given = nodes.add("Reshape", [longer, _vector(nodes, (0,) * rank, "nothing")], "of_its_rank")
    given.type, given.shape = value.type, ir.Shape([None] * rank)
    return given


def _vector(nodes: StandardNodes, elements: tuple[int, ...], purpose: str) -> ir.Value:
    """The integers of a vector, as the shape of a tensor: before version 9 no Constant has any."""
    tensor = ir.Tensor(np.zeros(elements, np.float32))
    value = nodes.add("Constant", [], purpose, {"value": tensor})
    tensor.name = value.name
    return nodes.shape(value)
