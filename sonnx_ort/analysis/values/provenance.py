"""Which graph inputs a value depends on, and what their declarations leave open.

A set of inputs is an integer: bit i stands for the i-th input of the graph. A model may have
thousands of inputs and of nodes, and most questions are answered without a list of the inputs.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

import onnx_ir as ir

from sonnx_ort.analysis.values.declarations import constant_tensor
from sonnx_ort.loading.traversal import every_node, subgraphs_of


class Provenance:
    """For each value, the graph inputs that affect its elements, its shape or its existence."""

    def __init__(self, model: ir.Model, symbols: frozenset[str] = frozenset()) -> None:
        """Trace the data flow of a canonical model, which is not modified.

        Args:
            model: The model.
            symbols: Those of more than one dimension of the inputs that runs need not keep equal.
        """
        self._inputs = tuple(model.graph.inputs)
        self._affecting = {value: 1 << index for index, value in enumerate(self._inputs)}
        # Many values depend on the same inputs.
        self._of_bits: dict[int, tuple[ir.Value, ...]] = {}
        self._scalars = self._affecting_any(scalars_in(self._inputs))
        # Of each symbol the inputs that declare it, and those that declare several dimensions so.
        self._declaring = dict.fromkeys(symbols, (0, 0))
        for value in self._inputs:
            self._add_declarations(value)
        self._propagate(model.graph)

    def inputs_affecting(self, values: Iterable[ir.Value]) -> tuple[ir.Value, ...]:
        """The graph inputs that any of these values depends on, in the model's order."""
        bits = self._affecting_any(values)
        if bits not in self._of_bits:
            self._of_bits[bits] = tuple(self._inputs[index] for index in _places(bits))
        return self._of_bits[bits]

    def shared_symbols(self, values: Iterable[ir.Value]) -> frozenset[str]:
        """The symbols of more than one dimension of the inputs that these values depend on."""
        bits = self._affecting_any(values)
        return frozenset(
            symbol
            for symbol, (once, several) in self._declaring.items()
            if bits & several or (bits & once).bit_count() > 1
        )

    def first_declaring(
        self, symbol: str, values: Iterable[ir.Value]
    ) -> tuple[ir.Value | None, int]:
        """The first input that declares a symbol among those that values depend on.

        Returns:
            The input, and how many dimensions have the symbol: at least 2 of several.
        """
        once, several = self._declaring[symbol]
        bits = self._affecting_any(values)
        declaring = bits & once
        first = next((self._inputs[index] for index in _places(declaring)), None)
        return first, declaring.bit_count() + (bits & several).bit_count()

    def depends_on_inputs(self, values: Iterable[ir.Value]) -> bool:
        """Whether any of these values depends on a graph input."""
        return self._affecting_any(values) != 0

    def depends_on_scalars(self, values: Iterable[ir.Value]) -> bool:
        """Whether any of these values depends on an input of those that `scalars_in` gives."""
        return self._affecting_any(values) & self._scalars != 0

    def scalars_affecting_any(self, groups: Iterable[Iterable[ir.Value]]) -> list[ir.Value]:
        """The inputs that `scalars_in` gives and that groups of values depend on.

        Those of the first group come first; of one group they are in the model's order.
        """
        left, found = self._scalars, list[ir.Value]()
        for values in groups:
            fresh = self._affecting_any(values) & left
            found += [self._inputs[index] for index in _places(fresh)]
            left &= ~fresh
        return found

    def depends_on_symbols(self, values: Iterable[ir.Value]) -> bool:
        """Whether any of these values depends on an input that declares one of the symbols."""
        bits = self._affecting_any(values)
        return any(bits & once for once, _ in self._declaring.values())

    def _add_declarations(self, value: ir.Value) -> None:
        bit = self._affecting[value]
        for symbol, count in _declared_symbols([value]).items():
            if symbol in self._declaring:
                once, several = self._declaring[symbol]
                self._declaring[symbol] = once | bit, several | (bit if count > 1 else 0)

    def _propagate(self, graph: ir.Graph) -> None:
        for node in graph:
            bits = self._affecting_any(value for value in node.inputs if value is not None)
            subgraphs = subgraphs_of(node)
            if subgraphs:
                # An output of a subgraph can be its input in the next iteration.
                bits |= self._affecting_any(
                    read for body in subgraphs for read in _values_read_in(body)
                )
                for body in subgraphs:
                    self._affecting.update(dict.fromkeys(body.inputs, bits))
                    self._propagate(body)
            self._affecting.update(dict.fromkeys(node.outputs, bits))

    def _affecting_any(self, values: Iterable[ir.Value]) -> int:
        bits = 0
        for value in values:
            bits |= self._affecting.get(value, 0)
        return bits


def _places(bits: int) -> Iterator[int]:
    """The places of the bits of a set, in order."""
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest


def _values_read_in(body: ir.Graph) -> Iterator[ir.Value]:
    """The values that the nodes of a subgraph read, at any depth, and its outputs."""
    for node in every_node(body):
        yield from (value for value in node.inputs if value is not None)
        for inner in subgraphs_of(node):
            yield from inner.outputs
    yield from body.outputs


_CONTROL_INPUTS = {"If": (0,), "Loop": (0, 1), "Dropout": (1, 2)}
"""The inputs of operators that are a condition, an iteration count or a ratio."""

_MOST_AXES = 8
"""A Reshape to more axes is not looked at."""


def shared_symbols(inputs: Iterable[ir.Value]) -> frozenset[str]:
    """The symbols that declare more than one dimension of these graph inputs."""
    declared = _declared_symbols(inputs)
    return frozenset(symbol for symbol, count in declared.items() if count > 1)


def _declared_symbols(inputs: Iterable[ir.Value]) -> Counter[str]:
    """How many dimensions of graph inputs each symbol declares."""
    return Counter(
        dimension.value
        for value in inputs
        for dimension in value.shape or ()
        if isinstance(dimension, ir.SymbolicDim) and dimension.value
    )


def is_declared_scalar(value: ir.Value) -> bool:
    """Whether a graph input is declared as a scalar: ONNX Runtime takes any rank for it."""
    return value.is_graph_input() and value.shape is not None and len(value.shape) == 0


def scalars_in(inputs: Iterable[ir.Value]) -> tuple[ir.Value, ...]:
    """The graph inputs that are declared as scalars, and of which another rank would matter."""
    return tuple(v for v in inputs if is_declared_scalar(v) and not _is_control_only(v))


def is_control_input(node: ir.Node, index: int) -> bool:
    """Whether a node accepts one element of any rank as the input at this index."""
    if node.op_type == "Reshape" and index == 0:
        target = constant_tensor(node.inputs[1]) if node.inputs[1:] and node.inputs[1] else None
        return target is not None and target.size < _MOST_AXES and set(target.numpy().flat) <= {1}
    return index in _CONTROL_INPUTS.get(node.op_type, ())


def _is_control_only(value: ir.Value) -> bool:
    return all(is_control_input(use.node, use.idx) for use in value.uses())
