"""Which numbers the values of a model can be: intervals of integers and of floats.

They follow from constants, from what a contract demands of inputs and other values, and from
verified operators. What a contract demands holds behind the guard that enforces it.
"""

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import onnx_ir as ir

from sonnx_ort.kernel.bounds import LIMITS, MOST_CONSTANTS, bounds_of, bounds_of_elements
from sonnx_ort.kernel.interval_layers import intervals_of
from sonnx_ort.kernel.intervals import hull, of_elements, within
from sonnx_ort.kernel.node import FLOATS, Node
from sonnx_ort.kernel.sizes import Bounds, Interval, Range, Rejected, Sizes
from sonnx_ort.knowledge.declarations import constant_tensor
from sonnx_ort.knowledge.graph_node import GraphNode
from sonnx_ort.loading.traversal import every_graph, subgraphs_of
from sonnx_ort.profile.contract import NO_CONTRACT, Contract
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import STANDARD_DOMAIN

Found = TypeVar("Found", Bounds, Interval)

_logger = logging.getLogger("sonnx_ort")


@dataclass(slots=True)
class NumberRanges:
    """The intervals of a model's values.

    Attributes:
        bounds: Those of integers that are narrower than their types, and those of constants.
        intervals: Those of floats that exclude a number or NaN.
        unguarded: What is known of a value with a contract without it.
    """

    bounds: dict[ir.Value, Bounds] = field(default_factory=dict)
    intervals: dict[ir.Value, Interval] = field(default_factory=dict)
    unguarded: dict[ir.Value, Bounds | Range | None] = field(default_factory=dict)

    def range(self, value: ir.Value) -> Range | None:
        """The numbers that a float value can be."""
        found = self.intervals.get(value)
        return None if found is None else found.whole


def number_ranges(
    model: ir.Model,
    element_type: Callable[[ir.Value], str | None],
    shapes: Mapping[ir.Value, Sizes],
    contract: Contract = NO_CONTRACT,
    *,
    reads_weights: bool = False,
) -> NumberRanges:
    """Compute the intervals of the values of a canonical model.

    Args:
        model: The model.
        element_type: Gives the ONNX name of a value's type if it is certain.
        shapes: The certain shapes of values.
        contract: What holds behind the guards of the model.
        reads_weights: Whether constants of any size are read.
    """
    return _Analysis(model, element_type, shapes, contract, reads_weights).found


class _Analysis:
    """Walks a model once, subgraphs before the nodes that contain them."""

    def __init__(
        self,
        model: ir.Model,
        element_type: Callable[[ir.Value], str | None],
        shapes: Mapping[ir.Value, Sizes],
        contract: Contract,
        reads_weights: bool,
    ) -> None:
        self.found = NumberRanges()
        self._element_type = element_type
        self._shapes = shapes
        self._contract = contract
        self._reads_weights = reads_weights
        self._main = model.graph
        self._opset = model.opset_imports[STANDARD_DOMAIN]
        for graph in every_graph(model.graph):
            for value in graph.initializers.values():
                self._read_constant(value)
        for value in model.graph.inputs:
            self._apply_contract(value)
        self._visit(model.graph)

    def _read_constant(self, value: ir.Value) -> None:
        tensor = constant_tensor(value)
        if tensor is None or tensor.size == 0:
            return
        if tensor.size > MOST_CONSTANTS and not (self._reads_weights and _is_float(tensor)):
            return
        if tensor.dtype == ir.DataType.STRING:
            return
        try:
            elements = tensor.numpy()
        except (OSError, ValueError):
            # Loading says what is wrong with a file of external data.
            return
        bounds, interval = bounds_of_elements(elements), of_elements(elements)
        if bounds is not None:
            self.found.bounds[value] = bounds
        if interval is not None:
            self.found.intervals[value] = interval

    def _visit(self, graph: ir.Graph) -> None:
        for node in graph:
            bodies = list(subgraphs_of(node))
            for body in bodies:
                self._visit(body)
            if node.domain == STANDARD_DOMAIN:
                if node.op_type == "If" and bodies:
                    self._join_branches(node, bodies)
                elif node.op_type == "Constant":
                    self._read_constant(node.outputs[0])
                else:
                    self._derive(node)
            if graph is self._main and self._contract:
                for output in node.outputs:
                    self._apply_contract(output)

    def _derive(self, node: ir.Node) -> None:
        known = GraphNode(
            node,
            self._opset,
            shapes=self._shapes,
            element_type=self._element_type,
            bounds=self.found.bounds,
            intervals=self.found.intervals,
            reads_weights=self._reads_weights,
        )
        self.found.bounds.update(_results(node, bounds_of, known))
        self.found.intervals.update(_results(node, intervals_of, known))

    def _join_branches(self, node: ir.Node, bodies: list[ir.Graph]) -> None:
        for index, output in enumerate(node.outputs):
            results = [body.outputs[index] for body in bodies if index < len(body.outputs)]
            intervals = [self.found.intervals.get(result) for result in results]
            known = [each for each in intervals if each is not None]
            kinds = {self._element_type(result) for result in (*results, output)}
            if len(known) == len(bodies) and len(kinds) == 1:
                self.found.intervals[output] = hull([each.uniform for each in known])

    def _apply_contract(self, value: ir.Value) -> None:
        entry = self._contract.of(str(value.name))
        kind = self._element_type(value)
        element_type = ElementType.named(kind)
        if entry is None or kind is None or element_type is None:
            return
        limits = entry.limits(element_type.dtype)
        if kind in FLOATS:
            self.found.unguarded[value] = self.found.range(value)
            before = self.found.intervals.get(value)
            self.found.intervals[value] = _narrowed(before, within(*limits, kind))
        elif kind in LIMITS:
            self.found.unguarded[value] = self.found.bounds.get(value)
            self.found.bounds[value] = _narrowed_bounds(
                self.found.bounds.get(value, LIMITS[kind]), limits
            )


def _results(
    node: ir.Node, rule: Callable[[Node], Sequence[Found | None]], known: GraphNode
) -> Iterator[tuple[ir.Value, Found]]:
    """What a rule finds for the outputs of a node."""
    try:
        found = rule(known)
    except Rejected:
        return
    except Exception:
        # A malformed node must not stop the analysis.
        _logger.debug("the numbers of %s are unknown", node.op_type, exc_info=True)
        return
    for output, each in zip(node.outputs, found, strict=False):
        if each is not None:
            yield output, each


def _is_float(tensor: ir.TensorProtocol) -> bool:
    return tensor.dtype.is_floating_point() and tensor.dtype.itemsize >= 2


def _narrowed(before: Interval | None, demanded: Interval) -> Interval:
    """What a computed interval and a demanded one have in common; the demanded one if nothing."""
    if before is None:
        return demanded
    lower = before.lower.clip(demanded.lower, demanded.upper)
    upper = before.upper.clip(demanded.lower, demanded.upper)
    return Interval(lower, upper, nan=False)


def _narrowed_bounds(before: Bounds, limits: tuple[float, float]) -> Bounds:
    lower, upper = limits
    return Bounds(
        before.lower if lower == -math.inf else max(before.lower, int(lower)),
        before.upper if upper == math.inf else min(before.upper, int(upper)),
    )
