"""Contracts of every type at their ends: entries, numbers around them, and what is right of these.

What is right is computed by itself: an end is the number of the type next to it, and none but an
infinite end lets infinity pass.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import ml_dtypes
import numpy as np
import onnx
import onnx.helper as oh
import onnxruntime as ort

from sonnx_ort import ValueContract
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType

INF = math.inf


@dataclass(frozen=True)
class Door:
    """An entry for an input of a type.

    Attributes:
        number: Distinguishes it from others of the type.
    """

    kind: ElementType
    number: int
    entry: ValueContract

    @property
    def name(self) -> str:
        """The name of the input."""
        return f"{self.kind}_{self.number}"

    @property
    def contract(self) -> ValueContract:
        """The entry, for the input."""
        found = self.entry
        return ValueContract(self.name, found.range, axis=found.axis, whole=found.whole)

    def admits(self, number: Any) -> bool:
        """Whether a number of the type is as the entry says."""
        value: Any = int(number) if self.kind.dtype.kind in "iu" else float(number)
        if math.isnan(value):
            return False
        if self.entry.whole and (math.isinf(value) or value != math.floor(value)):
            return False
        if not self.entry.ranges:
            return not math.isinf(value)
        ((lower, upper),) = self.entry.ranges
        if self.kind.dtype.kind in "iu":
            return bool(lower <= value <= upper)
        beyond = math.isinf(value) and value not in {lower, upper}
        return not beyond and self._nearest(lower) <= value <= self._nearest(upper)

    def _nearest(self, end: float) -> float:
        with np.errstate(over="ignore"):
            return float(self.kind.dtype.type(float(end)))

    @cached_property
    def numbers(self) -> list[Any]:
        """Numbers of the type at the ends of the entry and of the type, and beside them."""
        dtype: Any = self.kind.dtype
        ends = [end for ends in self.entry.ranges for end in ends]
        if dtype.kind in "iu":
            own = np.iinfo(dtype)
            near = {own.min, own.min + 1, -1, 0, 1, own.max - 1, own.max}
            for end in (end for end in ends if abs(end) < 1e25):
                near |= {math.floor(end) - 1, math.floor(end), math.ceil(end), math.ceil(end) + 1}
            return [dtype.type(each) for each in sorted(near) if own.min <= each <= own.max]
        most = ml_dtypes.finfo(dtype)
        near = [math.nan, 0.0, 0.5, float(most.max), float(most.smallest_subnormal), INF, 3.0]
        made = [dtype.type(sign * each) for each in near for sign in (1, -1)]
        at_ends = [dtype.type(self._nearest(end)) for end in ends]
        with np.errstate(over="ignore", under="ignore"):
            around = [
                np.nextafter(each, dtype.type(way)) for each in at_ends for way in (INF, -INF)
            ]
        return made + at_ends + around

    @property
    def inside(self) -> Any:
        """A number that the entry admits."""
        return next(each for each in self.numbers if self.admits(each))


def doors(kind: ElementType) -> Iterator[Door]:
    """The entries of a type that admit a number."""
    for number, entry in enumerate(_entries(kind)):
        door = Door(kind, number, entry)
        if any(map(door.admits, door.numbers)):
            yield door


def _entries(kind: ElementType) -> Iterator[ValueContract]:
    dtype: Any = kind.dtype
    ranges: list[tuple[float, float]]
    if dtype.kind in "iu":
        own = np.iinfo(dtype)
        # Native guards compare no numbers of uint64 beyond int64.
        most = min(int(own.max), (1 << 63) - 1)
        ranges = [(0, most), (0.5, 9.5), (-INF, 7), (-1e30, 5), (most - 1, most), (-(10**200), 90)]
        if own.min < 0:
            ranges += [(int(own.min), -1), (-INF, int(own.min) + 1), (3, INF), (5, 1e30)]
        if own.bits == 64:
            ranges += [(2**53 + 1, 2**53 + 3), (2.0**53, 2**60 + 1)]
        yield from (ValueContract("x", each) for each in ranges)
        return
    most = float(ml_dtypes.finfo(dtype).max)
    tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    ranges = [(0, 1), (0.1, 0.3), (-INF, 5), (-3, INF), (-most, most), (tiny, 1), (-1, -tiny)]
    ranges += [(-0.0, 0.0), (100, 1000), (INF, INF), (-INF, INF)]
    if kind is not ElementType.DOUBLE:
        ranges += [(0, most * 4), (-most * 4, 0), (most * 4, INF), (0, 10**300)]
    yield from (ValueContract("x", each) for each in ranges)
    yield ValueContract("x")
    yield ValueContract("x", whole=True)
    yield ValueContract("x", (0.5, 9.7), whole=True)
    yield ValueContract("x", (-3, most), whole=True)


PLACES = ("read", "not read", "an output", "read in a body")
"""Where an input stands."""


def model_of(inputs: list[Door], place: str, shape: list[int | str]) -> onnx.ModelProto:
    """A model whose inputs stand in one place each."""
    types = {door.name: int(onnx.TensorProto.DataType.Value(door.kind.upper())) for door in inputs}
    given = [oh.make_tensor_value_info(name, kind, shape) for name, kind in types.items()]
    nodes = [oh.make_node("Abs", ["other"], ["result"])]
    results = [oh.make_tensor_value_info("result", 1, [1])]
    for name, kind in types.items():
        own = f"{name}_result"
        match place:
            case "read":
                nodes.append(oh.make_node("Shape", [name], [own]))
                results.append(oh.make_tensor_value_info(own, 7, None))
            case "an output":
                results.append(oh.make_tensor_value_info(name, kind, shape))
            case "read in a body":
                nodes.append(_choice(name, own))
                results.append(oh.make_tensor_value_info(own, 7, None))
    given.append(oh.make_tensor_value_info("other", 1, [1]))
    given.append(oh.make_tensor_value_info("choice", 9, []))
    graph = oh.make_graph(nodes, "g", given, results)
    return oh.make_model(graph, ir_version=10, opset_imports=[oh.make_opsetid("", 20)])


def _choice(name: str, result: str) -> onnx.NodeProto:
    """An If that reads an input in a branch that no run of these tests takes."""
    branches = {}
    for branch, node in (
        ("then_branch", oh.make_node("Shape", [name], [f"{result}_then"])),
        ("else_branch", oh.make_node("Constant", [], [f"{result}_else"], value_ints=[7])),
    ):
        returned = oh.make_tensor_value_info(node.output[0], 7, None)
        branches[branch] = oh.make_graph([node], branch, [], [returned])
    return oh.make_node("If", ["choice"], [result], **branches)


def fed(door: Door, number: Any, sizes: list[int]) -> ort.OrtValue:
    """An input whose last element is a number, and all others admitted ones."""
    array = np.full(sizes, door.inside, door.kind.dtype)
    array.flat[-1] = number
    if door.kind is not ElementType.BFLOAT16:
        return ort.OrtValue.ortvalue_from_numpy(array)
    kind = onnx.TensorProto.BFLOAT16
    return ort.OrtValue.ortvalue_from_numpy_with_onnx_type(array.view(np.uint16), kind)


ALL_DOORS = {kind: list(doors(kind)) for kind in NUMERIC_TYPES}
"""The entries of each type."""
