"""What each value of a graph depends on: which enforced nodes, and whether on any input at all.

Sets of nodes are the bits of an integer.
"""

from collections.abc import Mapping
from functools import reduce
from operator import or_

import onnx_ir as ir

from sonnx_ort.loading.bodies import bodies_of

VARYING = 1
"""The bit of what is not the same in every run."""


_OF_SHAPES = frozenset({"Shape", "Size"})
"""Operators that read no element: ONNX Runtime may know their results before the run."""


class Dependencies:
    """The nearest enforced nodes above each value, by whose elements it is computed."""

    def __init__(self, model: ir.Model, bits: Mapping[ir.Node, int]) -> None:
        """Walk through a model.

        Args:
            model: The model, whose nodes stand in topological order.
            bits: The bit of each enforced node.
        """
        self._bits = bits
        self._of: dict[ir.Value, int] = dict.fromkeys(model.graph.inputs, VARYING)
        self._walk(model.graph)

    def __getitem__(self, value: ir.Value) -> int:
        """The bits of a value; none for a constant.

        Args:
            value: A value of the model.
        """
        return self._of.get(value, 0)

    def _walk(self, graph: ir.Graph) -> None:
        for node in graph:
            read = reduce(or_, (self[v] for v in node.inputs if v is not None), 0)
            for body in bodies_of(node):
                for value in body.inputs:
                    self._of[value] = read | VARYING
                self._walk(body)
                read |= reduce(or_, (self[value] for value in body.outputs), 0)
            if node in self._bits:
                read = self._bits[node] | (read & VARYING)
            elif node.op_type in _OF_SHAPES:
                read &= VARYING
            elif not node.inputs and node.op_type.startswith("Random"):
                read |= VARYING
            for value in node.outputs:
                self._of[value] = read


def live_nodes(model: ir.Model) -> set[ir.Node]:
    """The nodes that an output of the model depends on; ONNX Runtime leaves out the others.

    Args:
        model: The model.
    """
    live: set[ir.Node] = set()
    pending: list[ir.Value | None] = list(model.graph.outputs)
    while pending:
        value = pending.pop()
        node = None if value is None else value.producer()
        if node is not None and node not in live:
            live.add(node)
            pending.extend(node.inputs)
            for body in bodies_of(node):
                pending.extend(body.outputs)
    return live
