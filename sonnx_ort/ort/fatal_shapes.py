"""Refuses models of which ONNX Runtime cannot infer the shapes without ending the process.

When a session starts, it ends the process at a Slice of a tensor with a negative size, such as the
result of a Conv whose kernel is larger than its operand, and at a LayerNormalization with several
results and an axis before the first one. It lists each axis of each result: a Gather of a value by
itself doubles them, and a ConstantOfShape has as many as its operand has elements.
"""

from collections import ChainMap
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, trunc

import onnx_ir as ir

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.errors import InvalidModel
from sonnx_ort.facts.catalog import SHAPE_RULES
from sonnx_ort.facts.node import Shapes
from sonnx_ort.facts.products import window_moves
from sonnx_ort.facts.sizes import PartialSizes, Rejected, Size, Sizes, is_within
from sonnx_ort.loading.traversal import every_node, in_words
from sonnx_ort.profile.operator import STANDARD_DOMAIN

MOST_AXES = 1 << 19
"""Maximum number of axes of all results; large models have some hundred thousand."""


class AxisCount:
    """Counts the axes of the results of a model's nodes, each result once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._counted: set[ir.Value] = set()
        self._total = 0

    def add(self, node: ir.Node, shapes: Mapping[ir.Value, Sizes]) -> None:
        """Count the axes of a node's results.

        Raises:
            InvalidModel: There are too many.
        """
        for value in node.outputs:
            if value in shapes and value not in self._counted:
                self._counted.add(value)
                self._total += len(shapes[value])
        if self._total > MOST_AXES:
            raise InvalidModel(
                f"{in_words(node)}: the results of the nodes up to this one can have more than "
                f"{MOST_AXES} axes in all, which shape inference lists; compute with fewer axes"
            )


def refuse_fatal_shapes(
    model: ir.Model,
    shapes: Mapping[ir.Value, Sizes],
    contents: Mapping[ir.Value, PartialSizes],
) -> None:
    """Check that no node has an operand of a shape at which a session ends the process.

    Args:
        model: The model.
        shapes: The certain shapes; not modified.
        contents: The certain elements of sizes.

    Raises:
        InvalidModel: A node has.
    """
    version = model.opset_imports[STANDARD_DOMAIN]
    extreme: dict[ir.Value, Sizes] = {
        value: tuple(size if isinstance(size, int) else 0 for size in value.shape)
        for value in model.graph.inputs
        if value.shape is not None and not is_within(value.shape)
    }
    certain = ChainMap(extreme, {**shapes})
    nodes = every_node(model.graph)
    used = {node.op_type for node in nodes}
    changing = (_SHRINKING if "Slice" in used else set()) | (
        _GROWING if used & _OF_ELEMENTS else set()
    )
    for node in nodes:
        if node.domain != STANDARD_DOMAIN or not node.inputs:
            continue
        decisive = node.inputs[-1 if node.op_type in _OF_ELEMENTS else 0]
        danger = _DANGERS.get(node.op_type)
        sizes = None if decisive is None else extreme.get(decisive, shapes.get(decisive))
        if danger is not None and sizes is not None and (reason := danger(node, sizes)):
            raise InvalidModel(
                f"{in_words(node)}: {reason}, at which shape inference and ONNX Runtime can end "
                "the process; correct the node, or the nodes that compute its operand"
            )
        if node.op_type in changing or not extreme.keys().isdisjoint(node.inputs):
            known = GraphNode(node, version, Held(certain, contents))
            extreme.update(_extreme_results(known, certain))


def _extreme_results(
    node: GraphNode, shapes: Mapping[ir.Value, Sizes]
) -> Iterator[tuple[ir.Value, Sizes]]:
    """The results of a node with sizes as they are inferred, which are not certain.

    Attributes may have any values: some versions infer even of those that others refuse.
    """
    outputs = node.node.outputs
    if node.op_type not in _WINDOWS and all(
        value in shapes and all(isinstance(size, int) for size in shapes[value])
        for value in outputs
    ):
        return
    try:
        if node.op_type in _WINDOWS:
            results: Shapes = (_inferred_windows(node),) * len(outputs)
        else:
            results = SHAPE_RULES[node.op_type].shapes(node)
    except (Rejected, ArithmeticError, LookupError, TypeError, ValueError):
        return  # a malformed node
    for value, sizes in zip(outputs, results, strict=False):
        if sizes is not None and any(_is_extreme(size) for size in sizes):
            yield value, tuple(0 if size is None else size for size in sizes)


def _is_extreme(size: object) -> bool:
    return isinstance(size, int) and (size < 0 or not is_within([size]))


def _inferred_windows(node: GraphNode) -> PartialSizes:
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


def _negative_size(node: ir.Node, sizes: PartialSizes) -> str:
    found = next((size for size in sizes if isinstance(size, int) and size < 0), None)
    return "" if found is None else f"its operand '{_operand(node)}' has a size of {found}"


def _axis_outside(node: ir.Node, sizes: PartialSizes) -> str:
    """With one result ONNX Runtime rejects the axis at startup."""
    axis, rank = node.attributes.get_int("axis", -1), len(sizes)
    if len(node.outputs) == 1 or -rank <= axis < rank:
        return ""
    return f"its axis is {axis}, and its operand has {rank} axes"


def _too_many_axes(node: ir.Node, sizes: PartialSizes) -> str:
    count = sizes[0] if len(sizes) == 1 else 0
    if not isinstance(count, int) or count <= MOST_AXES:
        return ""
    return f"its operand '{_operand(node)}' has {count} elements, one for each axis"


def _operand(node: ir.Node) -> str:
    value = node.inputs[-1 if node.op_type in _OF_ELEMENTS else 0]
    return "" if value is None else str(value.name)


_OF_ELEMENTS = frozenset(["ConstantOfShape", "Expand", "Reshape", "Unsqueeze"])
"""Operators whose result has axes for elements of the last operand."""

_DANGERS: Mapping[str, Callable[[ir.Node, PartialSizes], str]] = {
    "Slice": _negative_size,
    "LayerNormalization": _axis_outside,
    "DFT": lambda node, sizes: (
        "" if len(sizes) > 1 else f"its operand '{_operand(node)}' has fewer than two axes"
    ),
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
