"""Which inputs of a model a value depends on, and what their declarations leave uncertain."""

from collections import Counter
from collections.abc import Iterable, Iterator

import onnx_ir as ir

from sonnx_ort.loading.traversal import every_node, subgraphs_of


class Provenance:
    """For each value, the graph inputs that affect its elements, its shape or its existence."""

    def __init__(self, model: ir.Model) -> None:
        """Trace the data flow of a canonical model, which is not modified."""
        self._inputs = tuple(model.graph.inputs)
        # One bit for each graph input.
        self._behind = {value: 1 << index for index, value in enumerate(self._inputs)}
        # Many values depend on the same inputs.
        self._of_bits: dict[int, tuple[ir.Value, ...]] = {}
        self._propagate(model.graph)

    def inputs_behind(self, values: Iterable[ir.Value]) -> tuple[ir.Value, ...]:
        """The graph inputs that any of these values depends on, in the model's order."""
        bits = self._union_behind(values)
        if bits not in self._of_bits:
            inputs = enumerate(self._inputs)
            self._of_bits[bits] = tuple(value for index, value in inputs if bits >> index & 1)
        return self._of_bits[bits]

    def _propagate(self, graph: ir.Graph) -> None:
        for node in graph:
            bits = self._union_behind(value for value in node.inputs if value is not None)
            subgraphs = subgraphs_of(node)
            if subgraphs:
                # An output of a subgraph can be its input in the next iteration.
                bits |= self._union_behind(
                    read for body in subgraphs for read in _values_read_in(body)
                )
                for body in subgraphs:
                    self._behind.update(dict.fromkeys(body.inputs, bits))
                    self._propagate(body)
            self._behind.update(dict.fromkeys(node.outputs, bits))

    def _union_behind(self, values: Iterable[ir.Value]) -> int:
        bits = 0
        for value in values:
            bits |= self._behind.get(value, 0)
        return bits


def _values_read_in(body: ir.Graph) -> Iterator[ir.Value]:
    """The values that the nodes of a subgraph read, at any depth, and its outputs."""
    for node in every_node(body):
        yield from (value for value in node.inputs if value is not None)
        for inner in subgraphs_of(node):
            yield from inner.outputs
    yield from body.outputs


_CONTROL_INPUTS = {"If": (0,), "Loop": (0, 1), "Dropout": (1, 2)}
"""The inputs of operators that are a condition, an iteration count or a ratio."""


def shared_symbols(inputs: Iterable[ir.Value]) -> frozenset[str]:
    """The symbols that declare more than one dimension of these graph inputs."""
    declared = Counter(
        dimension.value
        for value in inputs
        for dimension in value.shape or ()
        if isinstance(dimension, ir.SymbolicDim)
    )
    return frozenset(symbol for symbol, count in declared.items() if symbol and count > 1)


def has_scalars(inputs: Iterable[ir.Value]) -> bool:
    """Whether a graph input is declared as a scalar, and another rank would matter."""
    return any(
        value.shape is not None and len(value.shape) == 0 and not _is_control_only(value)
        for value in inputs
    )


def is_control_input(node: ir.Node, index: int) -> bool:
    """Whether a node accepts one element of any rank as the input at this index."""
    return index in _CONTROL_INPUTS.get(node.op_type, ())


def _is_control_only(value: ir.Value) -> bool:
    return all(is_control_input(use.node, use.idx) for use in value.uses())
