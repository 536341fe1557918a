"""The arguments of operators of which the sizes of results are functions, as small cubes.

Each cube is exhaustive: every combination of the sizes and numbers that stand here, negative and
extreme ones included.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, product
from typing import Any

import numpy as np
from onnx import numpy_helper

from support.soundness.arrays import Array
from support.soundness.nodes import NodeCase

INT32, INT64 = 1 << 31, 1 << 63
EXTREME = (
    -INT64, 1 - INT64, -(1 << 62), -(1 << 54), -INT32 - 1, -INT32, 1 - INT32,
    INT32 - 2, INT32 - 1, INT32, INT32 + 1, 1 << 53, 1 << 54, 1 << 62, INT64 - 2, INT64 - 1,
)  # fmt: skip
"""The numbers next to the ends of int32 and int64, and those that double and products lose."""

FEW = (-INT64, 1 - INT64, -INT32, INT32 - 1, INT32, INT64 - 1)


@dataclass(frozen=True)
class Cube:
    """All nodes of an operator with arguments of a set.

    Attributes:
        cases: Makes the nodes.
        parts: In how many parts it is tried.
    """

    cases: Callable[[], Iterator[NodeCase]]
    parts: int = 1


def ints(*values: int) -> Array:
    return np.array(values, np.int64)


def floats(*shape: int) -> Array:
    return np.ones(shape, np.float32)


def slices() -> Iterator[NodeCase]:
    near, steps = (*range(-5, 6), 1 << 54, *FEW), (-3, -2, -1, 1, 2, 3, 1 << 54, *FEW)
    return _slices(product(range(4), near, near, steps), np.int64)


def slices_of_int32() -> Iterator[NodeCase]:
    ends = (-INT32, 1 - INT32, INT32 - 2, INT32 - 1)
    near, steps = (*range(-4, 5), *ends), (-2, -1, 1, 2, *ends)
    return _slices(product(range(4), near, near, steps), np.int32)


def _slices(cuts: Iterable[tuple[int, ...]], dtype: type) -> Iterator[NodeCase]:
    """Slices along several axes at once."""
    for several in batched(cuts, 6):
        sizes, starts, ends, steps = zip(*several, strict=True)
        numbers = (np.array(n, dtype) for n in (starts, ends, range(len(several)), steps))
        yield NodeCase("Slice", 13, [floats(*sizes), *numbers])


def batched(items: Iterable[tuple[int, ...]], count: int) -> Iterator[list[tuple[int, ...]]]:
    """So many items at a time."""
    remaining = iter(items)
    while several := list(islice(remaining, count)):
        yield several


def slices_by_attributes() -> Iterator[NodeCase]:
    near = (*range(-4, 5), *EXTREME)
    for start, end, size in product(near, near, range(4)):
        yield NodeCase("Slice", 1, [floats(size)], {"starts": [start], "ends": [end]})


def slices_of_long_axes() -> Iterator[NodeCase]:
    sizes = (INT32 - 2, INT32 - 1, INT32, INT32 + 1, (1 << 53) + 1)
    near, steps = (*range(-1, 2), *FEW), (-2, -1, 1, 2, *FEW)
    for size, start, end, step in product(sizes, near, near, steps):
        x = np.empty((0, size), np.float32)
        yield NodeCase("Slice", 13, [x, *(ints(n) for n in (start, end, 1, step))])


def axes_of_slices() -> Iterator[NodeCase]:
    axes = (*range(-4, 4), *FEW)
    for shape, first, second in product([(2, 3), (0, 1)], axes, axes):
        one, two = ints(0, 0), ints(1, 1)
        yield NodeCase("Slice", 13, [floats(*shape), one, two, ints(first, second), two])


_PADDINGS = ("constant", "edge", "reflect", "wrap")


def elements() -> Iterator[NodeCase]:
    """Vectors of sizes, of which some are taken."""
    near, steps = (*range(-4, 5), -INT64, INT32 - 1, INT64 - 1), (-2, -1, 1, 2, -INT64)
    vectors = [ints(*range(7, 7 + size)) for size in range(4)]
    for x, start, end, step in product(vectors, near, near, steps):
        yield NodeCase("Slice", 13, [x, *(ints(n) for n in (start, end, 0, step))])
    for x, first, second in product(vectors, near, near):
        yield NodeCase("Gather", 13, [x, ints(first, second)])
        yield NodeCase("Add", 14, [x, ints(first, second)[: 2 if len(x) == 2 else 1]])
        yield NodeCase("Mul", 14, [x, ints(first)])
    for count, value in product((*range(-1, 5), 64, 65), (*range(-2, 3), *FEW)):
        filling = {"value": numpy_helper.from_array(ints(value))}
        yield NodeCase("ConstantOfShape", 9, [ints(count)], filling)
    for x, one, other in product(vectors, vectors, vectors):
        yield NodeCase("Concat", 13, [x, one, other], {"axis": 0})
    for number, factor in product((*range(-7, 8), *FEW), (*range(-3, 4), *FEW)):
        if factor and (number, factor) != (-INT64, -1):
            yield NodeCase("Div", 14, [ints(number), ints(factor)])
            yield NodeCase("Mod", 13, [ints(number), ints(factor)])
        yield NodeCase("Sub", 14, [ints(number), ints(factor)])
        yield NodeCase("ReduceProd", 13, [ints(number, factor)])


def pads() -> Iterator[NodeCase]:
    numbers = (*range(-4, 4), *FEW)
    for size, before, behind, mode in product(range(4), numbers, numbers, _PADDINGS):
        yield NodeCase("Pad", 19, [floats(size), ints(before, behind)], {"mode": mode})
    for size, before, behind in product(range(3), numbers, numbers):
        yield NodeCase("Pad", 13, [floats(0, size), ints(0, before, 0, behind)])


def pads_by_attributes() -> Iterator[NodeCase]:
    numbers = (*range(-3, 3), *FEW)
    for before, behind, size in product(numbers, numbers, range(3)):
        yield NodeCase("Pad", 2, [floats(size)], {"pads": [before, behind]})


def axes_of_pads() -> Iterator[NodeCase]:
    axes = (*range(-3, 3), *FEW)
    for shape, first, second in product([(2, 3), (1, 0)], axes, axes):
        inputs = [floats(*shape), ints(1, 0, 2, -1), None, ints(first, second)]
        yield NodeCase("Pad", 18, inputs)
    for axis, count in product(axes, range(4)):
        yield NodeCase("Pad", 18, [floats(2, 3), ints(*[1] * count), None, ints(axis)])


def splits() -> Iterator[NodeCase]:
    numbers = (*range(-1, 4), *FEW)
    for count, size in product((1, 2, 3), range(6)):
        for parts in product(numbers if count < 3 else range(-1, 3), repeat=count):
            yield NodeCase("Split", 13, [floats(size), ints(*parts)], {}, count)
        yield NodeCase("Split", 13, [floats(size)], {}, count)
    for number, count, size in product((*range(-1, 6), *FEW), range(1, 5), range(6)):
        yield NodeCase("Split", 18, [floats(size)], {"num_outputs": number}, count)
    for axis in (*range(-3, 3), *FEW):
        yield NodeCase("Split", 18, [floats(2, 3), ints(1, 2)], {"axis": axis}, 2)


def ranges() -> Iterator[NodeCase]:
    near, steps = (*range(-3, 4), *EXTREME), (*range(-3, 4), *EXTREME)
    for start, limit, step in product(near, near, steps):
        if _is_short(start, limit, step):
            numbers = (np.array(n, np.int64) for n in (start, limit, step))
            yield NodeCase("Range", 11, [*numbers])
    small = (*range(-3, 4), -INT32, INT32 - 1)
    for start, limit, step in product(small, small, (-2, -1, 1, 2, -INT32, INT32 - 1)):
        if _is_short(start, limit, step):
            numbers = (np.array(n, np.int32) for n in (start, limit, step))
            yield NodeCase("Range", 11, [*numbers])


def ranges_of_floats() -> Iterator[NodeCase]:
    exact = 1 << 23
    near = (*range(-3, 4), 0.5, 2.5, -exact - 1, -exact, exact, exact + 1, 1e30, np.inf, np.nan)
    steps = (*range(-3, 4), 0.5, -exact, exact - 1, exact)
    for kind, start, limit, step in product((np.float32, np.float64), near, near, steps):
        if step and not abs(limit - start) / abs(step) > _LONGEST:
            numbers = (np.array(n, kind) for n in (start, limit, step))
            yield NodeCase("Range", 11, [*numbers])


_LONGEST = 64


def _is_short(start: int, limit: int, step: int) -> bool:
    return step == 0 or (limit - start) // step < _LONGEST


def resizes() -> Iterator[NodeCase]:
    scales = (0.0, 0.1, 0.3, 0.5, 0.7, 0.999, 1.0, 1.0001, 1.1, 1.5, 2.0, 7 / 3, 3.0, 1e3, -1.0,
              np.nan, np.inf)  # fmt: skip
    for size, scale in product(range(12), scales):
        given = np.array([scale], np.float32)
        yield NodeCase("Resize", 13, [floats(size), None, given])
        yield NodeCase("Resize", 11, [floats(size), np.zeros(0, np.float32), given])
        yield NodeCase("Resize", 10, [floats(size), given])
        yield NodeCase("Upsample", 9, [floats(size), given])
    for size, asked in product(range(3), (*range(-2, 5), -INT64, INT64 - 1)):
        yield NodeCase("Resize", 13, [floats(size), None, None, ints(asked)])
        yield NodeCase("Resize", 18, [floats(size, 0), None, None, ints(asked)], {"axes": [0]})
    for scale, size in product((1.0, 0.5, 2.0, 1.1), ((1 << 24) + 1, INT32, (1 << 53) + 1)):
        given = np.array([1, scale], np.float32)
        yield NodeCase("Resize", 13, [np.empty((0, size), np.float32), None, given])


def highest() -> Iterator[NodeCase]:
    for size, count in product(range(4), (*range(-2, 5), *EXTREME)):
        yield NodeCase("TopK", 11, [floats(size), ints(count)], {}, 2)
        yield NodeCase("TopK", 11, [floats(0, size), ints(count)], {}, 2)
        yield NodeCase("TopK", 1, [floats(size)], {"k": count}, 2)
    for axis in (*range(-3, 3), *FEW):
        yield NodeCase("TopK", 11, [floats(2, 3), ints(1)], {"axis": axis}, 2)


def windows() -> Iterator[NodeCase]:
    for attributes in _of_windows():
        for size in range(6):
            yield from _windows_over(size, attributes)


def far_windows() -> Iterator[NodeCase]:
    names = ("strides", "dilations", "pads")
    for name, number, other in product(names, (-1, 1 << 54, *FEW), (1, 1 << 54)):
        rest = {"strides": [other], "dilations": [1], "pads": [0, 0]}
        spoiled = [number, 0] if name == "pads" else [number]
        for size in (1, 4):
            yield from _windows_over(size, rest | {name: spoiled, "kernel_shape": [1]})
            yield from _windows_over(size, rest | {name: spoiled, "kernel_shape": [2]})
    near = [(1 << power) + more for power in (31, 54) for more in (-4, 0)]
    for pad, stride in product(near, near):
        for attributes in ({"pads": [pad, 0]}, {"pads": [pad, pad]}):
            yield from _windows_over(4, {"strides": [stride], "kernel_shape": [1], **attributes})
    for size in (INT32 - 1, INT32, (1 << 53) + 1, (1 << 53) + 3):
        for stride in (1, 2, 3):
            yield from _windows_over(size, {"strides": [stride], "kernel_shape": [1]}, batch=0)


def _of_windows() -> Iterator[dict[str, Any]]:
    pads = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 1], [0, 3], [-1, 0], [0, -1], [-1, 2]]
    for kernel, stride, dilation, padding in product((1, 2, 3), (1, 2, 3), (1, 2, 3), pads):
        window = {"kernel_shape": [kernel], "strides": [stride], "dilations": [dilation]}
        yield {**window, "pads": padding}
        if sum(padding) < 2:
            yield {**window, "pads": padding, "ceil_mode": 1}
    for kernel, stride, dilation in product((1, 2, 3), (1, 2, 3), (1, 2)):
        window = {"kernel_shape": [kernel], "strides": [stride], "dilations": [dilation]}
        for mode in ("SAME_UPPER", "SAME_LOWER", "VALID"):
            yield {**window, "auto_pad": mode}
            yield {**window, "auto_pad": mode, "ceil_mode": 1}
    for kernel, stride, dilation in product((-1, 0), (0, 1), (0, 1)):
        yield {"kernel_shape": [kernel], "strides": [stride], "dilations": [dilation]}


def _windows_over(size: int, attributes: Mapping[str, Any], batch: int = 1) -> Iterator[NodeCase]:
    x = np.ones((batch, 1, size), np.float32)
    kernel = attributes["kernel_shape"][0]
    for operator in ("MaxPool", "AveragePool", "LpPool"):
        version = 22 if operator != "LpPool" else 18
        yield NodeCase(operator, version, [x], dict(attributes))
    if "ceil_mode" in attributes or kernel < 1:
        return
    w = floats(1, 1, kernel)
    yield NodeCase("Conv", 11, [x, w], dict(attributes))
    for more in (0, 1) if batch else ():
        yield NodeCase("ConvTranspose", 11, [x, w], {**attributes, "output_padding": [more]})
    if batch:
        integers = [each.astype(np.uint8) for each in (x, w)]
        yield NodeCase("ConvInteger", 10, integers, dict(attributes))


def squeezes() -> Iterator[NodeCase]:
    shapes = [(), (1,), (2,), (1, 1), (1, 2), (0, 1), (1, 3, 1)]
    axes = (*range(-4, 4), *FEW)
    for shape, operator in product(shapes, ("Squeeze", "Unsqueeze")):
        for count in range(3):
            for named in product(axes, repeat=count):
                yield NodeCase(operator, 13, [floats(*shape), ints(*named)])
        yield NodeCase(operator, 13, [floats(*shape)])
    for shape, operator, axis in product(shapes, ("Squeeze", "Unsqueeze"), axes):
        yield NodeCase(operator, 11, [floats(*shape)], {"axes": [axis]})


def reshapes() -> Iterator[NodeCase]:
    shapes = [(), (0,), (1,), (2,), (4,), (0, 2), (2, 3), (0, 0), (2, 0, 3)]
    numbers = (*range(-3, 5), *FEW)
    for shape, allowzero in product(shapes, (0, 1)):
        for count in range(4):
            for asked in product(numbers if count < 3 else range(-1, 4), repeat=count):
                inputs = [floats(*shape), ints(*asked)]
                yield NodeCase("Reshape", 14, inputs, {"allowzero": allowzero})
    big = (1 << 32, 1 << 31, 1 << 33, 2, -1, 0, 1)
    for asked in product(big, repeat=3):
        yield NodeCase("Reshape", 14, [floats(0, 2, 3), ints(*asked)], {"allowzero": 1})
        yield NodeCase("Reshape", 14, [floats(2, 2), ints(*asked)])


def tiles() -> Iterator[NodeCase]:
    numbers = (*range(-2, 4), *EXTREME)
    for size, times in product(range(3), numbers):
        yield NodeCase("Tile", 13, [floats(size), ints(times)])
    for first, second in product(numbers, numbers):
        yield NodeCase("Tile", 13, [floats(0, 2), ints(first, second)])


def axes() -> Iterator[NodeCase]:
    places = (*range(-4, 4), *FEW)
    for shape, axis in product([(), (2,), (2, 3), (1, 0)], places):
        for indices in ((), (0,), (2,), (1, 2)):
            where = np.zeros(indices, np.int64)
            yield NodeCase("Gather", 13, [floats(*shape), where], {"axis": axis})
            yield NodeCase("GatherElements", 13, [floats(*shape), where], {"axis": axis})
            if shape and 0 <= axis < len(shape):
                # By other numbers it reads memory that is not its own, and ends the process.
                yield NodeCase("GatherND", 13, [floats(*shape), where], {"batch_dims": axis})
            depth = np.array(3, np.int64)
            values = np.zeros(2, np.float32)
            yield NodeCase("OneHot", 11, [where, depth, values], {"axis": axis})
        yield NodeCase("Flatten", 13, [floats(*shape)], {"axis": axis})
        yield NodeCase("Concat", 13, [floats(*shape), floats(*shape)], {"axis": axis})
        yield NodeCase("Softmax", 13, [floats(*shape)], {"axis": axis})
        yield NodeCase("CumSum", 14, [floats(*shape), np.array(axis, np.int64)])
        yield NodeCase("Trilu", 14, [floats(*shape), np.array(axis, np.int64)])
        for end in places:
            yield NodeCase("Shape", 15, [floats(*shape)], {"start": axis, "end": end})
    for shape in [(2,), (2, 3)]:
        for order in product((-1, 0, 1, 2, INT64 - 1), repeat=len(shape)):
            yield NodeCase("Transpose", 13, [floats(*shape)], {"perm": [*order]})
    for depth in (*range(-2, 4), *FEW):
        values = np.zeros(2, np.float32)
        for where in ((), (0,)):
            given = [np.zeros(where, np.int64), np.array(depth, np.int64), values]
            yield NodeCase("OneHot", 11, given)


def expansions() -> Iterator[NodeCase]:
    numbers = (*range(-2, 4), *FEW)
    for shape in [(), (0,), (1,), (2,), (1, 2)]:
        for count in range(3):
            for asked in product(numbers, repeat=count):
                yield NodeCase("Expand", 13, [floats(*shape), ints(*asked)])
    for count in range(3):
        for asked in product(numbers, repeat=count):
            yield NodeCase("ConstantOfShape", 9, [ints(*asked)])


def blocks() -> Iterator[NodeCase]:
    for block in (*range(-1, 5), *FEW, (1 << 32), (1 << 32) + 1):
        for depth, height in product((0, 1, 3, 4, 8, 9), (0, 1, 2, 3)):
            x = floats(1, depth, height, 2)
            yield NodeCase("DepthToSpace", 13, [x], {"blocksize": block})
            y = floats(1, depth, height, 2 * abs(block) if abs(block) < 9 else 2)
            yield NodeCase("SpaceToDepth", 13, [y], {"blocksize": block})


def reductions() -> Iterator[NodeCase]:
    axes = (*range(-3, 3), *FEW)
    operators = ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceL2", "ReduceLogSum")
    for operator, shape, keeps in product(operators, [(), (2,), (2, 3), (0, 2)], (0, 1)):
        for noop in (0, 1):
            attributes = {"keepdims": keeps, "noop_with_empty_axes": noop}
            for count in range(3):
                for named in product(axes, repeat=count):
                    yield NodeCase(operator, 18, [floats(*shape), ints(*named)], attributes)
            yield NodeCase(operator, 18, [floats(*shape)], attributes)
        for axis in axes:
            attributes = {"keepdims": keeps, "axes": [axis]}
            yield NodeCase(operator, 11, [floats(*shape)], attributes)
    for operator, shape, keeps in product(("ArgMax", "ArgMin"), [(), (2,), (2, 3), (0, 2)], (0, 1)):
        for axis in axes:
            yield NodeCase(operator, 13, [floats(*shape)], {"keepdims": keeps, "axis": axis})


CUBES: Mapping[str, Cube] = {
    "slices": Cube(slices, 2),
    "slices of int32": Cube(slices_of_int32),
    "slices by attributes": Cube(slices_by_attributes),
    "slices of long axes": Cube(slices_of_long_axes),
    "elements": Cube(elements),
    "axes of slices": Cube(axes_of_slices),
    "pads": Cube(pads, 2),
    "pads by attributes": Cube(pads_by_attributes),
    "axes of pads": Cube(axes_of_pads),
    "splits": Cube(splits),
    "ranges": Cube(ranges, 2),
    "ranges of floats": Cube(ranges_of_floats),
    "resizes": Cube(resizes),
    "highest": Cube(highest),
    "windows": Cube(windows, 2),
    "far windows": Cube(far_windows, 2),
    "squeezes": Cube(squeezes),
    "reshapes": Cube(reshapes),
    "tiles": Cube(tiles),
    "axes": Cube(axes),
    "expansions": Cube(expansions),
    "blocks": Cube(blocks),
    "reductions": Cube(reductions),
}
"""The cubes by name."""
