"""Which inputs of a model a value depends on."""

from collections.abc import Iterable, Iterator

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.loading.bodies import bodies_of


class Provenance:
    """For each value, the graph inputs that its elements, its shape or its very being depend on."""

    def __init__(self, model: ir.Model) -> None:
        """Follow the flow of data through a model.

        Args:
            model: A canonical model; not modified.
        """
        self._inputs = tuple(model.graph.inputs)
        # One bit for each graph input.
        self._behind = {value: 1 << index for index, value in enumerate(self._inputs)}
        # Many values depend on the same inputs.
        self._of_bits: dict[int, tuple[ir.Value, ...]] = {}
        self._follow(model.graph)

    def inputs_behind(self, values: Iterable[ir.Value]) -> tuple[ir.Value, ...]:
        """The graph inputs that any of these values depends on, in the model's order.

        Args:
            values: Values of the model, in whatever body.
        """
        bits = self._all_behind(values)
        if bits not in self._of_bits:
            inputs = enumerate(self._inputs)
            self._of_bits[bits] = tuple(value for index, value in inputs if bits >> index & 1)
        return self._of_bits[bits]

    def _follow(self, graph: ir.Graph) -> None:
        for node in graph:
            bits = self._all_behind(value for value in node.inputs if value is not None)
            bodies = bodies_of(node)
            if bodies:
                # What a body gives can come back to it, in the next trip.
                bits |= self._all_behind(read for body in bodies for read in _read_within(body))
                for body in bodies:
                    self._behind.update(dict.fromkeys(body.inputs, bits))
                    self._follow(body)
            self._behind.update(dict.fromkeys(node.outputs, bits))

    def _all_behind(self, values: Iterable[ir.Value]) -> int:
        bits = 0
        for value in values:
            bits |= self._behind.get(value, 0)
        return bits


def _read_within(body: ir.Graph) -> Iterator[ir.Value]:
    """What the nodes of a body and of the bodies in it read, and what it gives."""
    for node in RecursiveGraphIterator(body):
        yield from (value for value in node.inputs if value is not None)
        for inner in bodies_of(node):
            yield from inner.outputs
    yield from body.outputs
