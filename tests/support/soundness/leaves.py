"""Computes the nodes of other operators through `onnx.reference`."""

import functools
import math
from collections.abc import Sequence

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator

from support.soundness.arrays import Array

LARGEST = 2_000
"""Tensors of more elements end an evaluation."""


_SUMS = ("MatMul", "ReduceSum")

_COMPARING = ("Clip", "Max", "Min", "ReduceMax", "ReduceMin", "Sign")

_LARGEST_EXACT = 64
"""Quarters up to this have exact products, and exact sums of some hundred of these, in float32."""


class Abandoned(Exception):  # noqa: N818 - no error of the model
    """A run would take too much memory or time, or end the process inside ONNX Runtime."""


class LeafError(Exception):
    """What ONNX Runtime gives of a node is not known."""


def compute_leaf(node: onnx.NodeProto, arrays: Sequence[Array | None], opset: int) -> list[Array]:
    """Compute a node through `onnx.reference`.

    Raises:
        LeafError: It cannot be computed.
        Abandoned: It should not be run.
    """
    if _enlargement(node.op_type, arrays) > LARGEST or _ends_the_process(node.op_type, arrays):
        raise Abandoned(node.op_type)
    try:
        with np.errstate(all="ignore"):
            doubts = any(doubted(node.op_type, arrays) for doubted in _DOUBTS)
            results = [] if doubts else _results(node, arrays, opset)
    except Exception as error:
        raise LeafError(str(error)) from error
    if doubts:
        raise LeafError(node.op_type)
    if node.op_type in _SUMS and any((each == 0).any() for each in results):
        raise LeafError("a sum of zeros has the sign that the runtime starts with")
    if node.op_type == "PRelu" and any(map(_loses_signs, results)):
        raise LeafError("ONNX Runtime makes a Where of it, which takes the sign from a zero")
    return results


def _results(node: onnx.NodeProto, arrays: Sequence[Array | None], opset: int) -> list[Array]:
    match node.op_type, arrays:
        case "PRelu", [np.ndarray() as data, np.ndarray() as slope]:
            # `onnx.reference` multiplies zeros as well.
            return [np.where(data < 0, data * slope, data)]
        case "BatchNormalization", _:
            return [_normalized(node, [array for array in arrays if array is not None])]
        case "Slice", [np.ndarray() as data, np.ndarray() as starts, np.ndarray() as ends, *rest]:
            # `onnx.reference` selects nothing downwards from a place in front of an axis.
            return [_cut(data, starts, ends, *rest)]
    feeds = {name: array for name, array in zip(node.input, arrays, strict=True) if name}
    outputs = _reference(node.SerializeToString(), opset).run(None, feeds)
    return [np.asarray(output) for output in outputs]


def _normalized(node: onnx.NodeProto, arrays: Sequence[Array]) -> Array:
    """The result for inference; `onnx.reference` trains in version 9."""
    epsilon = next((a.f for a in node.attribute if a.name == "epsilon"), 1e-5)
    data, *vectors = arrays
    along = (1, -1) + (1,) * (data.ndim - 2)
    scale, shift, mean, variance = (vector.reshape(along) for vector in vectors)
    return (scale * (data - mean) / np.sqrt(variance + epsilon) + shift).astype(data.dtype)


def _cut(
    data: Array, starts: Array, ends: Array, axes: Array | None = None, steps: Array | None = None
) -> Array:
    """A Slice; the axes are those of the data, and each is named once."""
    named = np.arange(starts.size) if axes is None else axes
    by = np.ones(starts.size, np.int64) if steps is None else steps
    cuts = zip(named.tolist(), starts.tolist(), ends.tolist(), by.tolist(), strict=True)
    for axis, *numbers in cuts:
        data = np.take(data, places(data.shape[axis], *numbers), axis)
    return data


def places(size: int, start: int, end: int, step: int) -> list[int]:
    """The indices that a Slice selects on an axis, walked one by one."""
    place, stop = _ends(size, start, end, step)
    found = []
    while 0 <= place < size and (place > stop if step < 0 else place < stop):
        found.append(place)
        place += step
    return found


def count_of_places(size: int, start: int, end: int, step: int) -> int:
    """How many indices a Slice selects on an axis, which may be too long to walk."""
    place, stop = _ends(size, start, end, step)
    distance = place - stop if step < 0 else stop - place
    return max(-(-distance // abs(step)), 0) if place < size else 0


def _ends(size: int, start: int, end: int, step: int) -> tuple[int, int]:
    """The first index that a Slice looks at on an axis, and the first that it does not reach.

    ONNX, Slice, "starts" and "ends": negative numbers are added to the size; then a start is moved
    to [0, size], an end to [0, size], and in negative steps to [0, size - 1] and [-1, size - 1].
    """
    first, last = (place + size if place < 0 else place for place in (start, end))
    down = step < 0
    return min(max(first, 0), max(size - down, 0)), min(max(last, -1 if down else 0), size - down)


def _refused(operator: str, arrays: Sequence[Array | None]) -> bool:
    """Whether ONNX forbids operands that `onnx.reference` takes, or ONNX Runtime differs."""
    given = [array for array in arrays if array is not None]
    refused = False
    match operator, given:
        case "Expand", [_, target]:
            # ONNX Runtime's optimizer leaves an Expand to a constant size of 0 out.
            refused = bool((target == 0).any())
        case "Clip", [_, *bounds]:
            # ONNX Runtime gives the shape of the first operand, whatever that of a bound is.
            refused = any(bound.ndim > 0 for bound in bounds)
        case "NonZero", [data]:
            # ONNX Runtime gives a row for the axis that a scalar has not.
            refused = data.ndim == 0
        case "Squeeze", [_, axes]:
            # ONNX Runtime takes an empty list for none at all.
            refused = axes.size == 0
        case "Tile", [data, repeats]:
            refused = repeats.shape != (data.ndim,)
        case "Slice", [_, *bounds]:
            refused = len({each.shape for each in bounds}) > 1
        case "BatchNormalization", [data, *vectors]:
            refused = any(each.shape != data.shape[1:2] for each in vectors)
        case "Split", [data, sizes]:
            length = data.shape[0] if data.ndim else 0
            refused = int(sizes.sum()) != length or bool((sizes < 0).any())
    return refused


def _empty(operator: str, arrays: Sequence[Array | None]) -> bool:
    """Whether there is nothing along an axis that versions of ONNX Runtime leave as it is."""
    given = [array for array in arrays if array is not None]
    match operator, given:
        case "ReduceSum", [data, axes]:
            # Up to 1.31.1 it leaves an axis as it is that is counted from the end.
            return bool((axes < 0).any()) and data.size == 0
        case "ArgMax", [data]:
            return data.size == 0
        case "MatMul", [data, _]:
            # Up to 1.31.1 it neither broadcasts nor fills in where there is nothing to sum up.
            return data.ndim > 0 and data.shape[-1] == 0
    return False


def _implementation_defined(operator: str, arrays: Sequence[Array | None]) -> bool:
    """Whether what comes out of integers depends on the version of ONNX Runtime, or its doubles."""
    given = [array for array in arrays if array is not None]
    match operator, given:
        case "BitShift", [_, bits]:
            return bool((bits >= 8 * bits.itemsize).any())
        case "Mod", [dividend, _] if dividend.dtype == np.int64:
            return any(bool((abs(each.astype(np.float64)) > 2**53).any()) for each in given)
        case "Cast", [data]:
            return data.dtype.kind == "f" and not _small_numbers(data)
        case "Pow", [base, exponent] if base.dtype.kind == "i":
            powers = abs(np.power(base.astype(np.float64), exponent))
            largest = min(2**53, np.iinfo(base.dtype).max)
            return bool((exponent < 0).any()) or not bool((powers <= largest).all())
    return False


def _small_numbers(array: Array) -> bool:
    """Whether every type holds every number of an array without its fraction."""
    return bool(((array > -1) & (array < 128)).all())


def _infinite(operator: str, arrays: Sequence[Array | None]) -> bool:
    """Whether ONNX Runtime may give something else where there is an infinity on the way."""
    given = [array for array in arrays if array is not None]
    match operator, given:
        case "BatchNormalization", [*_, variance]:
            # Without an epsilon, the order of computing decides what becomes of it.
            return bool((variance == 0).any())
        case "Clip", [data, *bounds] if data.dtype.kind == "f":
            # The largest number stands for a bound that is left out.
            return len(bounds) < 2 and any(np.isinf(each).any() for each in given)
    return False


def _unsigned(operator: str, arrays: Sequence[Array | None]) -> bool:
    """Whether ONNX Runtime may give a zero of another sign."""
    given = [array for array in arrays if array is not None]
    match operator, given:
        case "Where", [_, chosen, _]:
            return _negative_zero(chosen)
        case (("Max" | "Min"), _):
            # Which zero is the larger one of two is nobody's promise.
            return any(map(_negative_zero, given)) and any(map(_positive_zero, given))
    return False


def _misjudged(operator: str, arrays: Sequence[Array | None]) -> bool:
    """Whether ONNX Runtime may compare wrongly: int64 in halves, and a NaN is not the largest."""
    if operator == "ArgMax":
        return any(array is not None and bool(np.isnan(array).any()) for array in arrays)
    wide = (a for a in arrays if a is not None and a.dtype == np.int64)
    return operator in _COMPARING and any((a != a.astype(np.int32)).any() for a in wide)


def _negative_zero(array: Array) -> bool:
    return array.dtype.kind == "f" and bool((np.signbit(array) & (array == 0)).any())


def _positive_zero(array: Array) -> bool:
    return array.dtype.kind == "f" and bool((~np.signbit(array) & (array == 0)).any())


def _loses_signs(result: Array) -> bool:
    """Whether there is no kernel for a PRelu of that type, and a zero whose sign may be lost."""
    return result.dtype != np.float32 and _negative_zero(result)


def _rounded(operator: str, arrays: Sequence[Array | None]) -> bool:
    """Whether a sum may depend on the order in which it is added up, which runtimes choose."""
    if operator not in _SUMS:
        return False
    floats = [array for array in arrays if array is not None and array.dtype.kind == "f"]
    return not all(
        bool((np.abs(each) <= _LARGEST_EXACT).all()) and bool((each * 4 % 1 == 0).all())
        for each in floats
    )


_DOUBTS = (_refused, _empty, _implementation_defined, _infinite, _unsigned, _rounded, _misjudged)


def _ends_the_process(operator: str, arrays: Sequence[Array | None]) -> bool:
    """Whether ONNX Runtime does not survive a node."""
    given = [array for array in arrays if array is not None]
    match operator, given:
        case "Concat", _:
            # An empty tensor of another rank is one too many.
            return len({array.ndim for array in given}) > 1
        case "Mod", [dividend, divisor] if dividend.dtype.kind in "iu":
            smallest = dividend.dtype.kind == "i" and dividend == np.iinfo(dividend.dtype).min
            return not divisor.all() or bool(np.any(smallest) and (divisor == -1).any())
    return False


def _enlargement(operator: str, arrays: Sequence[Array | None]) -> int:
    """How many elements the numbers in an operand ask for."""
    if operator == "Range":
        return _steps(arrays)
    if operator not in ("Expand", "ConstantOfShape", "Tile"):
        return 0
    sizes = arrays[-1]
    assert sizes is not None
    return math.prod(max(1, abs(int(size))) for size in sizes.ravel())


def _steps(arrays: Sequence[Array | None]) -> int:
    """How many elements a Range makes."""
    start, limit, delta = (float(array.ravel()[0]) for array in arrays if array is not None)
    return math.ceil(abs((limit - start) / delta)) if delta else 0


@functools.lru_cache(maxsize=4096)
def _reference(serialized: bytes, opset: int) -> ReferenceEvaluator:
    node = onnx.NodeProto.FromString(serialized)
    inputs = [onnx.ValueInfoProto(name=name) for name in dict.fromkeys(node.input) if name]
    outputs = [onnx.ValueInfoProto(name=name) for name in node.output]
    graph = onnx.helper.make_graph([node], "leaf", inputs, outputs)
    return ReferenceEvaluator(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", opset)])
    )
