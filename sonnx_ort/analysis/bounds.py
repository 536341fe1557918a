"""Intervals that integer values stay in, where that is cheap to know.

Sound by construction: an operator that is not listed says nothing but its type, and a sum or a
product that could wrap says nothing either.
"""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain

import onnx_ir as ir
from onnx_ir.traversal import RecursiveGraphIterator

from sonnx_ort.analysis.constants import constant_tensor
from sonnx_ort.profile.domain import STANDARD_DOMAIN
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operand import Bounds

_LARGE = 1 << 16
"""Constants of more elements than this are not read."""

_PASSING = frozenset(
    [
        *("Identity", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Flatten", "Expand", "Tile"),
        *("Gather", "Slice", "GatherElements", "GatherND"),
    ]
)
"""Operators whose elements are elements of their first input."""

_JOINING = frozenset(["Concat"])
"""Operators whose elements are elements of any of their inputs."""

_SIZES = Bounds(0, 2**63 - 1)


def integer_bounds(
    model: ir.Model, element_type: Callable[[ir.Value], str | None]
) -> Mapping[ir.Value, Bounds]:
    """Find intervals for the integer values of a model.

    Args:
        model: A canonical model; not modified.
        element_type: Gives the ONNX name of a value's type where that follows from premises.

    Returns:
        An interval for each value of which more is known than its type says.
    """
    known: dict[ir.Value, Bounds] = {}
    graphs: dict[ir.Graph, None] = {model.graph: None}

    def enter(body: object) -> None:
        if isinstance(body, ir.Graph):
            graphs.setdefault(body)

    nodes = list(RecursiveGraphIterator(model.graph, enter_graph=enter))
    constants = chain(*(graph.initializers.values() for graph in graphs))
    for value in (v for v in constants if not v.is_graph_input()):
        _record(known, value, _constant_bounds(value))
    for node in nodes:
        if node.domain == STANDARD_DOMAIN and node.outputs:
            limits = _limits(element_type(node.outputs[0]))
            _record(known, node.outputs[0], _node_bounds(node, known, limits))
    return known


def _record(known: dict[ir.Value, Bounds], value: ir.Value, bounds: Bounds | None) -> None:
    if bounds is not None:
        known[value] = bounds


def _node_bounds(
    node: ir.Node, known: Mapping[ir.Value, Bounds], limits: Bounds | None
) -> Bounds | None:
    if node.op_type in ("Shape", "Size"):
        return _SIZES
    if node.op_type == "Constant":
        return _constant_bounds(node.outputs[0])
    inputs = [known.get(value) if value is not None else None for value in node.inputs]
    if node.op_type in _PASSING:
        return inputs[0]
    if node.op_type in _JOINING:
        return _hull(inputs)
    rule = _ARITHMETIC.get(node.op_type)
    return None if rule is None or not inputs else rule(inputs, limits)


def _hull(inputs: Iterable[Bounds | None]) -> Bounds | None:
    known = list(inputs)
    bounds = [b for b in known if b is not None]
    if len(bounds) < len(known) or not bounds:
        return None
    return Bounds(min(b.lower for b in bounds), max(b.upper for b in bounds))


def _maximum(inputs: list[Bounds | None], limits: Bounds | None) -> Bounds | None:
    """One input with a lower bound is enough."""
    lowers = [b.lower for b in inputs if b is not None]
    uppers = [b.upper if b is not None else None for b in inputs]
    if not lowers or limits is None:
        return None
    known = [upper for upper in uppers if upper is not None]
    return Bounds(max(lowers), max(known) if len(known) == len(uppers) else limits.upper)


def _minimum(inputs: list[Bounds | None], limits: Bounds | None) -> Bounds | None:
    """One input with an upper bound is enough."""
    uppers = [b.upper for b in inputs if b is not None]
    known = [b.lower for b in inputs if b is not None]
    if not uppers or limits is None:
        return None
    return Bounds(min(known) if len(known) == len(inputs) else limits.lower, min(uppers))


def _sum(inputs: list[Bounds | None], limits: Bounds | None) -> Bounds | None:
    bounds = [b for b in inputs if b is not None]
    if len(bounds) < len(inputs):
        return None
    total = Bounds(sum(b.lower for b in bounds), sum(b.upper for b in bounds))
    return _within(total, limits)


def _difference(inputs: list[Bounds | None], limits: Bounds | None) -> Bounds | None:
    match inputs:
        case [Bounds() as a, Bounds() as b]:
            return _within(Bounds(a.lower - b.upper, a.upper - b.lower), limits)
    return None


def _product(inputs: list[Bounds | None], limits: Bounds | None) -> Bounds | None:
    match inputs:
        case [Bounds() as a, Bounds() as b]:
            corners = [x * y for x in (a.lower, a.upper) for y in (b.lower, b.upper)]
            return _within(Bounds(min(corners), max(corners)), limits)
    return None


def _cast(inputs: list[Bounds | None], limits: Bounds | None) -> Bounds | None:
    return None if inputs[0] is None else _within(inputs[0], limits)


def _within(bounds: Bounds, limits: Bounds | None) -> Bounds | None:
    """The interval, if no element of it wraps."""
    if limits is None or bounds.lower < limits.lower or bounds.upper > limits.upper:
        return None
    return bounds


_ARITHMETIC: Mapping[str, Callable[[list[Bounds | None], Bounds | None], Bounds | None]] = {
    "Add": _sum,
    "Cast": _cast,
    "Max": _maximum,
    "Min": _minimum,
    "Mul": _product,
    "Sub": _difference,
}


def _limits(element_type: str | None) -> Bounds | None:
    """The limits of a type; None if it is unknown or no integer type of the profile."""
    known = ElementType.named(element_type)
    if known is None or known.family is not Family.INTEGER:
        return None
    bits = 8 * known.dtype.itemsize
    if known.dtype.kind == "u":
        return Bounds(0, (1 << bits) - 1)
    return Bounds(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _constant_bounds(value: ir.Value) -> Bounds | None:
    tensor = constant_tensor(value)
    if tensor is None or not tensor.dtype.is_integer() or not 0 < tensor.size <= _LARGE:
        return None
    elements = tensor.numpy()
    return Bounds(int(elements.min()), int(elements.max()))
