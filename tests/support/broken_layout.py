"""What breaks the rules of layout operators that may be waived."""

from collections.abc import Iterator, Sequence
from typing import Any

Broken = tuple[str, str, Sequence[tuple[str, Any]]]
"""The ids of rules, a node's expression, and the type and elements of each operand."""

_TYPES = ("float16", "bfloat16", "float", "double", "int8", "int32", "int64", "uint8", "uint64")
_LINE, _EMPTY = [[[1], [0], [1]]], [[], []]


def broken_layout() -> Iterator[Broken]:
    """Give every case, in the types of tensors."""
    for kind in _TYPES:
        line = (kind, _LINE)
        for axis in (-1, -3):
            yield "Concat.R1", f"Concat <axis = {axis}> (a_, b_)", [line, line]
        for allowzero, sizes in ((2, [3, 1]), (-1, [0, 3]), (2**40, [-1]), (7, [0, 0, 0])):
            reshape = f"Reshape <allowzero = {allowzero}> (a_, b_)"
            yield "Reshape.allowzero.C1", reshape, [line, ("int64", sizes)]
        for allowzero, sizes in ((0, [-1, 2]), (0, [-1]), (0, [0, -1]), (1, [0, -1]), (1, [-1, 0])):
            reshape = f"Reshape <allowzero = {allowzero}> (a_, b_)"
            yield "Reshape.allowzero.C3", reshape, [(kind, _EMPTY), ("int64", sizes)]
        for axes in ([0, 0], [0, -3], [2, 0, -1], [-1, -1]):
            yield "Squeeze.A.C2", "Squeeze(a_, b_)", [line, ("int64", axes)]
        yield "Squeeze.A", "Squeeze(a_)", [line]
        yield "Squeeze.A", "Squeeze(a_)", [(kind, _EMPTY)]
        yield "Squeeze.A.names", "Squeeze(a_, b_)", [line, ("int64", [])]
        yield "Squeeze.axes", "Squeeze(a_)", [line]
        yield "Squeeze.axes.names", "Squeeze <axes: ints = []> (a_)", [line]
        for axes in (0, -1):
            yield "Unsqueeze.A.rank", "Unsqueeze(a_, b_)", [line, ("int64", axes)]
    for kind in ("float", "double", "int16", "int32", "int64"):
        for start, limit, step in (([0], 9, 2), (0, [9], 2), (0, 9, [2]), ([0], [9], [2])):
            operands = [(kind, start), (kind, limit), (kind, step)]
            yield "Range.scalars", "Range(a_, b_, c_)", operands
    for said in (
        "value_float = 1.5",
        "value_ints = [1, 2]",
        "value_floats = [1.5]",
        "value_int = 3",
    ):
        yield "Constant.R1", f"Constant <{said}> ()", []
