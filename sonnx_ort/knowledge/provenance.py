"""Which inputs of a model a value depends on, and what their declarations leave uncertain."""

from collections import Counter
from collections.abc import Iterable, Iterator

import onnx_ir as ir

from sonnx_ort.loading.traversal import every_node, subgraphs_of


class Provenance:
    """For each value, the graph inputs on which its elements, its shape or its existence depend."""

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
            values: Values of the model, in whatever subgraph.
        """
        bits = self._all_behind(values)
        if bits not in self._of_bits:
            inputs = enumerate(self._inputs)
            self._of_bits[bits] = tuple(value for index, value in inputs if bits >> index & 1)
        return self._of_bits[bits]

    def _follow(self, graph: ir.Graph) -> None:
        for node in graph:
            bits = self._all_behind(value for value in node.inputs if value is not None)
            subgraphs = subgraphs_of(node)
            if subgraphs:
                # What a subgraph gives can come back to it, in the next trip.
                bits |= self._all_behind(read for body in subgraphs for read in _read_within(body))
                for body in subgraphs:
                    self._behind.update(dict.fromkeys(body.inputs, bits))
                    self._follow(body)
            self._behind.update(dict.fromkeys(node.outputs, bits))

    def _all_behind(self, values: Iterable[ir.Value]) -> int:
        bits = 0
        for value in values:
            bits |= self._behind.get(value, 0)
        return bits


def _read_within(body: ir.Graph) -> Iterator[ir.Value]:
    """What the nodes of a subgraph and of those in it read, and what it gives."""
    for node in every_node(body):
        yield from (value for value in node.inputs if value is not None)
        for inner in subgraphs_of(node):
            yield from inner.outputs
    yield from body.outputs


_STEERING = {"If": (0,), "Loop": (0, 1), "Dropout": (1, 2)}
"""The inputs of operators that are a condition, a number of trips, or a ratio."""


def shared_symbols(inputs: Iterable[ir.Value]) -> frozenset[str]:
    """The symbols that more than one dimension of these inputs is declared with.

    Args:
        inputs: Inputs of a model.
    """
    declared = Counter(
        dimension.value
        for value in inputs
        for dimension in value.shape or ()
        if isinstance(dimension, ir.SymbolicDim)
    )
    return frozenset(symbol for symbol, count in declared.items() if symbol and count > 1)


def has_scalars(inputs: Iterable[ir.Value]) -> bool:
    """Whether one of these is declared as a scalar, and may have another rank to an effect.

    Args:
        inputs: Inputs of a model.
    """
    return any(
        value.shape is not None and len(value.shape) == 0 and not _steers_only(value)
        for value in inputs
    )


def steers(node: ir.Node, index: int) -> bool:
    """Whether a node takes one element of whatever rank for an input.

    Args:
        node: The node.
        index: The position of the input.
    """
    return index in _STEERING.get(node.op_type, ())


def _steers_only(value: ir.Value) -> bool:
    return all(steers(use.node, use.idx) for use in value.uses())
