"""Shapes at which ONNX Runtime ends the process when a session starts.

It infers shapes then, and ends the process at a Slice of a tensor with a negative size, such as the
result of a Conv whose kernel is larger than its operand, and at a LayerNormalization with several
results and an axis before the first one. It lists each axis of each result: a Gather of a value by
itself doubles them, and a ConstantOfShape has as many as its operand has elements.

An example, of `float[1, 1, 2] x` and `float[1, 1, 5] w`:

    y = Conv(x, w)          what is certain: no run gives it; what is inferred: [1, 1, -2]
    z = Slice(y, 0, 1, 2)   the end of the process

So the sizes that are inferred are followed here beside those that are certain, where the two may
differ: they are called extreme.
"""

from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, trunc

from .catalog import SHAPE_RULES
from .node import Node, Shapes, Value
from .products import window_moves
from .sizes import PartialSizes, Rejected, Size, Sizes, is_within

MOST_AXES = 1 << 19
"""Maximum number of axes of all results; large models have some hundred thousand."""


class AxisCount:
    """Counts the axes of the results of a model's nodes, each result once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._counted: set[Value] = set()
        self._total = 0

    def add(self, results: Iterable[Value], shapes: Mapping[Value, Sizes]) -> bool:
        """Count the axes of a node's results, and tell whether they still are not too many."""
        for value in results:
            if value in shapes and value not in self._counted:
                self._counted.add(value)
                self._total += len(shapes[value])
        return self._total <= MOST_AXES


@dataclass(frozen=True, slots=True)
class InferredGraph:
    """What is read of a model to find a fatal shape.

    Attributes:
        nodes: Its nodes and those in bodies, each before the nodes inside it.
        inputs: The declared sizes of its inputs, None for one that is open.
        shapes: The certain shapes.
        seen: Gives a node with these shapes in place of the certain ones.
        name_of: Gives the name of a value.
    """

    nodes: Sequence[Node]
    inputs: Mapping[Value, PartialSizes]
    shapes: Mapping[Value, Sizes]
    seen: Callable[[Node, Mapping[Value, Sizes]], Node]
    name_of: Callable[[Value], str]


def fatal_node(graph: InferredGraph) -> tuple[Node, str] | None:
    """The first node with an operand of a shape at which the process ends, and this shape in words.

    None if there is no such node.
    """
    extreme: dict[Value, Sizes] = {
        value: tuple(0 if size is None else size for size in sizes)
        for value, sizes in graph.inputs.items()
        if not is_within(sizes)
    }
    certain = ChainMap(extreme, {**graph.shapes})
    used = {node.op_type for node in graph.nodes}
    changing = (_SHRINKING if "Slice" in used else set()) | (
        _GROWING if used & _OF_ELEMENTS else set()
    )
    for node in graph.nodes:
        if node.domain or not node.inputs:
            continue
        decisive = node.operand(node.operands - 1 if node.op_type in _OF_ELEMENTS else 0)
        danger = _DANGERS.get(node.op_type)
        sizes = None if decisive is None else certain.get(decisive)
        if danger is not None and sizes is not None:
            reason = danger(node, sizes)
            if reason:
                return node, reason.format(operand=f"its operand '{graph.name_of(decisive)}'")
        if node.op_type in changing or not extreme.keys().isdisjoint(node.inputs):
            extreme.update(_extreme_results(graph.seen(node, certain), certain))
    return None


def _extreme_results(node: Node, shapes: Mapping[Value, Sizes]) -> Iterator[tuple[Value, Sizes]]:
    """The results of a node with sizes as they are inferred, which are not certain.

    Attributes may have any values: some versions infer even of those that others refuse.
    """
    if node.op_type not in _WINDOWS and all(
        value in shapes and all(isinstance(size, int) for size in shapes[value])
        for value in node.outputs
    ):
        return
    try:
        if node.op_type in _WINDOWS:
            results: Shapes = (_inferred_windows(node),) * node.results
        else:
            results = SHAPE_RULES[node.op_type].shapes(node)
    except (Rejected, ArithmeticError, LookupError, TypeError, ValueError):
        return  # a malformed node
    for value, sizes in zip(node.outputs, results, strict=False):
        if sizes is not None and any(_is_extreme(size) for size in sizes):
            yield value, tuple(0 if size is None else size for size in sizes)


def _is_extreme(size: object) -> bool:
    return isinstance(size, int) and (size < 0 or not is_within([size]))


def _inferred_windows(node: Node) -> PartialSizes:
    """The result of a node with windows as it is inferred: negative where one does not fit.

    With padding to the same size a window fits, unless its operand has a negative size.
    """
    batch, channels, *spatial = node.shape(0)
    filters: Sequence[Size] = ()
    if _WINDOWS[node.op_type]:
        channels, _, *filters = node.shape(_WINDOWS[node.op_type])
    if node.attribute("auto_pad") in ("SAME_UPPER", "SAME_LOWER") and not node.attribute("pads"):
        return (batch, channels, *spatial)
    rounded = ceil if node.attribute("ceil_mode") else trunc
    counts = (
        rounded(Fraction(room, stride)) + 1 if isinstance(room, int) else None
        for room, stride in window_moves(node, spatial, filters) or ()
    )
    return (batch, channels, *counts)


def _negative_size(_: Node, sizes: PartialSizes) -> str:
    found = next((size for size in sizes if isinstance(size, int) and size < 0), None)
    return "" if found is None else f"{{operand}} has a size of {found}"


def _axis_outside(node: Node, sizes: PartialSizes) -> str:
    """With one result ONNX Runtime rejects the axis at startup."""
    axis, rank = node.attribute("axis", -1), len(sizes)
    if node.results == 1 or -rank <= axis < rank:
        return ""
    return f"its axis is {axis}, and its operand has {rank} axes"


def _too_few_axes(_: Node, sizes: PartialSizes) -> str:
    return "" if len(sizes) > 1 else "{operand} has fewer than two axes"


def _too_many_axes(_: Node, sizes: PartialSizes) -> str:
    count = sizes[0] if len(sizes) == 1 else 0
    if not isinstance(count, int) or count <= MOST_AXES:
        return ""
    return f"{{operand}} has {count} elements, one for each axis"


_OF_ELEMENTS = frozenset(["ConstantOfShape", "Expand", "Reshape", "Unsqueeze"])
"""Operators whose result has axes for elements of the last operand."""

_DANGERS: Mapping[str, Callable[[Node, PartialSizes], str]] = {
    "Slice": _negative_size,
    "LayerNormalization": _axis_outside,
    "DFT": _too_few_axes,
    **dict.fromkeys(_OF_ELEMENTS, _too_many_axes),
}
"""Operators that can end the process, with a function that gives why, or an empty text."""

_WINDOWS = dict.fromkeys(["AveragePool", "LpPool", "MaxPool"], 0) | {
    "Conv": 1,
    "ConvInteger": 1,
    "QLinearConv": 3,
}
"""Operators with windows, and which operand the filters are; 0 for those without."""

_SHRINKING = _WINDOWS.keys() | {"ConvTranspose", "Pad"}
"""Operators for which a negative size can be inferred of operands without one."""

_GROWING = frozenset(["Concat", "ConstantOfShape", "Expand", "Tile"])
"""Operators for which a size beyond those that rules hold for can be inferred."""
