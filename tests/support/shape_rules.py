"""Nodes of whose inputs something is certain, and what the rules of shapes say of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.catalog import ELEMENT_RULES, SHAPE_RULES
from sonnx_ort.facts.elements import HOLDING_SIZES
from sonnx_ort.facts.sizes import PartialSizes, Rejected, Size, Sizes, Symbolic

Declared = tuple[int | str, ...]
"""A shape: numbers, and the names of open sizes."""

Dimensions = tuple[int | str | None, ...]
"""Sizes as texts, where they are open; None for one of which nothing is certain."""


@dataclass(frozen=True, slots=True)
class Holding:
    """A vector of sizes.

    Attributes:
        elements: The sizes.
    """

    elements: Dimensions


Operand = Declared | npt.NDArray[Any] | Holding | EllipsisType | None
"""A shape, a constant, a vector of sizes, `...` for what is unknown, None for what is left out."""


def integers(*elements: int) -> npt.NDArray[np.int64]:
    """A constant vector."""
    return np.array(elements, np.int64)


def known_inputs(
    operator: str,
    *operands: Operand,
    version: int | None = None,
    outputs: int = 1,
    shared: Sequence[str] = (),
    of_type: str | None = None,
    **attributes: object,
) -> GraphNode:
    """A node and what is certain of its inputs.

    Args:
        operator: The name of a standard operator.
        operands: What is certain of each input.
        version: The version of the operator, by default the last one that was verified.
        outputs: How many outputs the node has.
        shared: The names of open sizes that more than one axis is declared with.
        of_type: The type of the elements of all values; None if it is not known.
        attributes: The attributes of the node.
    """
    inputs = [_value(operand) for operand in operands]
    shapes: dict[ir.Value, Sizes] = {}
    contents: dict[ir.Value, PartialSizes] = {}
    for value, operand in zip(inputs, operands, strict=True):
        match operand:
            case tuple() if value is not None:
                shapes[value] = tuple(_size(dimension) for dimension in operand)
            case Holding(elements) if value is not None:
                shapes[value] = (len(elements),)
                contents[value] = tuple(None if e is None else _size(e) for e in elements)
            case np.ndarray() if value is not None:
                shapes[value] = operand.shape
                if operand.dtype in HOLDING_SIZES and operand.ndim < 2:
                    contents[value] = tuple(operand.ravel().tolist())
    results = [ir.val(None) for _ in range(outputs)]
    return GraphNode(
        ir.node(operator, inputs, attributes, outputs=results),
        SHAPE_RULES[operator].since[1] if version is None else version,
        Held(shapes, contents, frozenset(shared), lambda _: of_type),
    )


def shapes_of(operator: str, *operands: Operand, **rest: Any) -> list[Dimensions | None] | None:
    """What is certain of the outputs' shapes; None if the rule says nothing."""
    try:
        shapes = SHAPE_RULES[operator].shapes(known_inputs(operator, *operands, **rest))
    except Rejected:
        return None
    return [None if sizes is None else _dimensions(sizes) for sizes in shapes]


def contents_of(operator: str, *operands: Operand, **rest: Any) -> Dimensions | None:
    """What is certain of the output's elements, in int64; None if that is nothing."""
    node = known_inputs(operator, *operands, of_type="int64", **rest)
    try:
        return _dimensions(ELEMENT_RULES[operator](node))
    except Rejected:
        return None


def _value(operand: Operand) -> ir.Value | None:
    if operand is None:
        return None
    return ir.val(None, const_value=ir.tensor(operand) if isinstance(operand, np.ndarray) else None)


def _size(dimension: int | str) -> Size:
    return Symbolic.named(dimension) if isinstance(dimension, str) else dimension


def _dimensions(sizes: PartialSizes) -> Dimensions:
    return tuple(size if isinstance(size, int | None) else str(size) for size in sizes)
