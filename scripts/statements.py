"""The rules that attributes, shapes or elements decide, as plain statements of their sentences.

Sources: the texts that `docs/traceability.md` names for each rule, read once more. Nothing of what
`sonnx_ort` decides rules by is used, so that a fault there does not show here as well: `numpy`,
Python's own integers, and the attributes of the node as ONNX has them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

Array = npt.NDArray[Any]
Given = Mapping[str, Array]
"""The operands that a node has, by name, in its order."""

Attributes = Mapping[str, Any]
Statement = Callable[[Given, Attributes], Any]
"""Whether operands keep a rule; of a rule on elements for each of them."""

_INT32 = -(1 << 31), (1 << 31) - 1

SHOWN: Mapping[str, slice] = {
    **dict.fromkeys(("Slice.R6", "Slice.R8", "Slice.C2"), slice(1, None)),
    **dict.fromkeys(("Squeeze.A.C2", "Reshape.allowzero.C3"), slice(1, None)),
    "Clip.float.C3": slice(1),
}
"""The operands whose elements a violation shows, where these are not all of the rule's."""

NEWEST = 1 << 10
"""A version in which all operators have their newest meaning."""


def _axis(attributes: Attributes, otherwise: int) -> int:
    return int(attributes.get("axis", otherwise))


def _softmax_axis(attributes: Attributes) -> int:
    return _axis(attributes, -1 if attributes.get("version", NEWEST) >= 13 else 1)


def _has_axis(array: Array, axis: int) -> bool:
    return -array.ndim <= axis < array.ndim


def _ranks(rank: int) -> Statement:
    return lambda given, _: all(array.ndim == rank for array in given.values())


def _nowhere_zero(name: str) -> Statement:
    return lambda given, _: given[name] != 0


def _is_smallest(array: Array) -> Any:
    signed = array.dtype.kind == "i"
    return array == np.iinfo(array.dtype).min if signed else np.zeros(array.shape, bool)


def _quotient_fits(bits: int) -> Statement:
    def kept(given: Given, _: Attributes) -> Any:
        a, b = given["A"], given["B"]
        narrow = 8 * a.itemsize < bits or a.dtype.kind == "u"
        return np.ones(a.shape, bool) if narrow else ~(_is_smallest(a) & (b == -1))

    return kept


def _within_int32(given: Given, _: Attributes) -> bool:
    lower, upper = _INT32
    arrays = [array for array in given.values() if array.dtype == np.int64]
    return all(bool(((array >= lower) & (array <= upper)).all()) for array in arrays)


def _exact_power(given: Given, _: Attributes) -> Any:
    x, y = given["X"], given["Y"]
    wide = x.dtype.itemsize == 8
    lower, upper = (
        (1 - 2**53, 2**53 - 1) if wide else (np.iinfo(x.dtype).min, np.iinfo(x.dtype).max)
    )

    def kept(base: int, exponent: int) -> bool:
        if wide and exponent > upper:
            return False
        if exponent < 0:
            return base != 0
        if abs(base) > 1 and exponent > 64:
            return False
        power = base ** (exponent if abs(base) > 1 else min(exponent, 2 + exponent % 2))
        return bool(int(lower) <= power <= int(upper))

    return _each(kept, x, y)


def _each(kept: Callable[..., bool], *arrays: Array) -> Array:
    """What holds of each element, of arrays of one shape."""
    rows = zip(*(array.ravel().tolist() for array in arrays), strict=True)
    return np.array([kept(*row) for row in rows], bool).reshape(arrays[0].shape)


def _convertible(given: Given, attributes: Attributes) -> Any:
    x, to = given["X"], onnx.helper.tensor_dtype_to_np_dtype(attributes["to"])
    if to.kind not in "iu":
        return np.ones(x.shape, bool)
    held = np.iinfo(to)
    limits = int(held.min), int(held.max)
    return _each(lambda n: math.isfinite(n) and limits[0] <= math.trunc(n) <= limits[1], x)


def _numbers_if_crossed(given: Given, _: Attributes) -> Any:
    data = given["input"]
    crossed = {"min", "max"} <= {*given} and bool(given["min"] > given["max"])
    return ~np.isnan(data) if crossed else np.ones(data.shape, bool)


def _of_cuts(kept: Callable[[int, int, int, int], bool]) -> Statement:
    """What holds of the size of the axis, the start, the end and the step of each entry.

    ONNX Runtime refuses entries of different numbers, and axes that X has not.
    """

    def of_all(given: Given, _: Attributes) -> Any:
        x, starts, ends = (given[name] for name in ("X", "starts", "ends"))
        axes = given.get("axes", np.arange(starts.size))
        steps = given.get("steps", np.ones(starts.size, np.int64))
        numbers = [array.ravel().tolist() for array in (axes, starts, ends, steps)]
        refused = len({*map(len, numbers)}) > 1 or not all(_has_axis(x, n) for n in numbers[0])
        if refused:
            return True
        cuts = zip(*numbers, strict=True)
        return np.array([kept(x.shape[axis], *others) for axis, *others in cuts], bool)

    return of_all


def _start_within(size: int, start: int, _: int, __: int) -> bool:
    return -size <= start < size


def _end_within(size: int, _: int, end: int, step: int) -> bool:
    """An index of the axis, or the place behind the last one that the steps reach."""
    return -size - 1 <= end < size if step < 0 else -size <= end <= size


def _in_order(size: int, start: int, end: int, step: int) -> bool:
    first, last = (place + size if place < 0 else place for place in (start, end))
    return first >= last if step < 0 else first <= last


def _lines_with_numbers(given: Given, attributes: Attributes) -> Any:
    x, axis = given["X"], _softmax_axis(attributes)
    if x.size == 0 or not _has_axis(x, axis):
        return True
    return (x != -np.inf).any(axis, keepdims=True)


def _difference_fits(given: Given, _: Attributes) -> Any:
    x, *others = (array.astype(np.int64) for array in given.values())
    kept = np.ones(x.shape, bool)
    for zero in others[0].ravel().tolist() if others else ():
        kept &= (x - zero >= _INT32[0]) & (x - zero <= _INT32[1])
    return kept


def _inferable(given: Given, attributes: Attributes) -> Any:
    """Whether each entry is another size than -1, or one that follows from the others."""
    sizes = given["S"]
    empty = 0 in sizes if attributes.get("allowzero") == 1 else given["X"].size == 0
    return (sizes != -1) | (not empty)


def _named_once(given: Given, attributes: Attributes) -> Any:
    """Whether each entry names another axis than those before it."""
    x, *others = given.values()
    axes = others[0].ravel().tolist() if others else [*attributes.get("axes", ())]
    places = [axis + x.ndim if axis < 0 else axis for axis in axes]
    kept = [place not in places[:entry] for entry, place in enumerate(places)]
    return np.array(kept, bool) if others else all(kept)


def _equal_but_on_axis(given: Given, attributes: Attributes) -> bool:
    arrays, axis = [*given.values()], _axis(attributes, 0)
    if any(array.ndim != arrays[0].ndim for array in arrays):
        return False
    place = axis + arrays[0].ndim if axis < 0 else axis
    return all(
        len(set(sizes)) == 1
        for k, sizes in enumerate(zip(*(a.shape for a in arrays), strict=True))
        if k != place
    )


def _window(attributes: Attributes) -> Iterator[tuple[int, int, int, int, int]]:
    """The axis, the kernel, the dilation and both pads of each spatial axis."""
    kernel = attributes.get("kernel_shape", (1, 1))
    dilations, pads = attributes.get("dilations", (1, 1)), attributes.get("pads", (0, 0, 0, 0))
    yield from zip((2, 3), kernel, dilations, pads[:2], pads[2:], strict=True)


def _window_fits(given: Given, attributes: Attributes) -> bool:
    if "kernel_shape" not in attributes:
        return True
    return all(
        given["X"].shape[axis] + before + after >= dilation * (kernel - 1) + 1
        for axis, kernel, dilation, before, after in _window(attributes)
    )


def _no_window_steps_over(given: Given, attributes: Attributes) -> bool:
    return all(
        given["X"].shape[axis] >= dilation
        for axis, _, dilation, before, after in _window(attributes)
        if before + after > 0 and dilation > 1
    )


def _groups(given: Given, attributes: Attributes) -> bool:
    group = attributes.get("group", 1)
    return bool(group == 1 or given["X"].shape[1] == group)


def _channels(given: Given, attributes: Attributes) -> bool:
    return bool(given["W"].shape[1] * attributes.get("group", 1) == given["X"].shape[1])


def _one_per_output(name: str, *, scalar: bool) -> Statement:
    def kept(given: Given, _: Attributes) -> bool:
        if name not in given or (scalar and given[name].ndim == 0):
            return True
        return given[name].shape == given["W"].shape[:1]

    return kept


def _directions(attributes: Attributes) -> int:
    return 2 if attributes.get("direction") in ("bidirectional", b"bidirectional") else 1


def _weights(name: str, width: Callable[[Given, int], int]) -> Statement:
    def kept(given: Given, attributes: Attributes) -> bool:
        hidden = attributes["hidden_size"]
        wanted = (_directions(attributes), 4 * hidden, width(given, hidden))
        return given[name].shape == wanted

    return kept


def _zero_where_padded(given: Given, attributes: Attributes) -> Any:
    zero = given.get("x_zero_point", np.zeros((), np.uint8))
    return zero == 0 if any(attributes.get("pads", ())) else np.ones(zero.shape, bool)


def _whole_kernel(given: Given, _: Attributes) -> bool:
    return bool(min(given["W"].shape[2], given["W"].shape[3]) >= 1)


def _of_convolutions(operator: str) -> dict[str, Statement]:
    return {
        f"{operator}.R1": _ranks(4),
        f"{operator}.R3": _groups,
        f"{operator}.kernel": _whole_kernel,
        f"{operator}.channels": _channels,
    }


IN_RUNS: Mapping[str, Statement] = {
    "Div.int.C1": _nowhere_zero("B"),
    "Div.int.C2": _quotient_fits(8),
    "Div.R5": lambda given, _: (given["B"] != 0) | (given["B"].dtype.kind not in "iu"),
    "Max.int.C1": _within_int32,
    "Min.int.C1": _within_int32,
    "Mod.int.C1": _nowhere_zero("B"),
    "Mod.int.C2": _quotient_fits(32),
    "Pow.int.C1": lambda given, _: given["Y"] >= 0,
    "Pow.int.C2": _exact_power,
    "BitShift.int.C1": lambda given, _: given["Y"] < 8 * given["Y"].itemsize,
    "Abs.int.C1": lambda given, _: ~_is_smallest(given["X"]),
    "Acos.float.C1": lambda given, _: ~((given["X"] < -1) | (given["X"] > 1)),
    "Cast.float.C1": _convertible,
    "MatMul.C1": _ranks(2),
    "BatchNormalization.C3": lambda given, _: given["input_var"] >= 0,
    "Clip.C1": _ranks(0),
    "Clip.float.C3": _numbers_if_crossed,
    "Slice.R2": lambda given, _: "axes" not in given or given["axes"].shape[0] == given["X"].ndim,
    "Slice.R8": _of_cuts(_start_within),
    "Slice.C2": _of_cuts(_end_within),
    "Slice.R6": _of_cuts(_in_order),
    "ArgMax.R5": lambda given, said: (
        _has_axis(given["X"], _axis(said, 0)) and given["X"].shape[_axis(said, 0)] > 0
    ),
    "ArgMax.float.C1": lambda given, _: ~np.isnan(given["X"]),
    "Softmax.C2": lambda given, said: _has_axis(given["X"], _softmax_axis(said)),
    "Softmax.C4": lambda given, said: (
        max((1, *given["X"].shape[range(given["X"].ndim)[_softmax_axis(said)] + 1 :])) == 1
    ),
    "Softmax.float.C6": _lines_with_numbers,
    "QuantizeLinear.signature": _ranks(0),
    "QuantizeLinear.C1": lambda given, _: (given["y_scale"] != 0) & ~np.isnan(given["y_scale"]),
    "QuantizeLinear.C2": lambda given, _: np.isfinite(given["X"]),
    "DequantizeLinear.signature": _ranks(0),
    "DequantizeLinear.C1": _difference_fits,
    "Concat.C2": _equal_but_on_axis,
    "Reshape.allowzero.C3": _inferable,
    "Squeeze.A.names": lambda given, _: "A" not in given or given["A"].shape[0] >= 1,
    "Squeeze.A.C2": _named_once,
    "Unsqueeze.A.rank": _ranks(1),
    "Range.scalars": _ranks(0),
    **_of_convolutions("Conv"),
    "Conv.B": _one_per_output("B", scalar=False),
    **_of_convolutions("ConvInteger"),
    "ConvInteger.x_zero_point": _ranks(0),
    "ConvInteger.w_zero_point": _one_per_output("w_zero_point", scalar=True),
    "ConvInteger.C1": _zero_where_padded,
    "MaxPool.R1": _ranks(4),
    "MaxPool.fits": _window_fits,
    "MaxPool.C1": _no_window_steps_over,
    "MaxPool.float.C2": lambda given, _: ~(np.isnan(given["X"]) | (given["X"] == -np.inf)),
    "Gemm.R1": _ranks(2),
    "Gemm.R3": lambda given, _: (
        "C" not in given or given["C"].shape == (given["A"].shape[0], given["B"].shape[1])
    ),
    "LSTM.X": _ranks(3),
    "LSTM.W": _weights("W", lambda given, _: given["X"].shape[2]),
    "LSTM.R": _weights("R", lambda _, hidden: hidden),
    "LSTM.batch": lambda given, _: given["X"].shape[1] >= 1,
    "LSTM.sequences": lambda given, _: given["X"].shape[0] >= 1,
}
"""Whether operands keep each rule that runs decide, but for those on equal shapes and Broadcast."""


def _given(*names: str) -> Statement:
    return lambda given, said: all(name in given or name in said for name in names)


def _absent(name: str) -> Statement:
    return lambda _, said: name not in said


def _one_of(name: str, values: Sequence[Any], assumed: Any) -> Statement:
    return lambda _, said: said.get(name, assumed) in values


def _stands(name: str, value: Any) -> Statement:
    return lambda _, said: name in said and said[name] == value


def _above(name: str, least: float, assumed: Any) -> Statement:
    return lambda _, said: bool(said.get(name, assumed) > least)


def _numbers(name: str, count: int, least: int) -> Statement:
    """An attribute that is left out, or so many integers that are at least a number."""

    def kept(_: Given, said: Attributes) -> bool:
        found = said.get(name, (least,) * count)
        if not isinstance(found, tuple) or len(found) != count:
            return False
        return all(isinstance(number, int) and number >= least for number in found)

    return kept


def _of_kernels(operator: str) -> dict[str, Statement]:
    return {
        f"{operator}.strides": _numbers("strides", 2, 1),
        f"{operator}.dilations": _numbers("dilations", 2, 1),
        f"{operator}.pads": _numbers("pads", 4, 0),
    }


def _activations(_: Given, said: Attributes) -> bool:
    given = said.get("activations") or ()
    parts = [given[:3], given[3:]] if len(given) == 6 else [given]
    return all(part in (("Sigmoid", "Tanh", "Tanh"), ("Relu", "Tanh", "Tanh")) for part in parts)


_FRONT = _above("axis", -1, 0)

BY_NODE: Mapping[str, Statement] = {
    "LeakyRelu.R1": _given("alpha"),
    "BatchNormalization.R1": _one_of("training_mode", (0,), 0),
    "BatchNormalization.C1": _above("epsilon", 0, 1e-5),
    "Clip.min.C2": lambda _, said: not math.isnan(said.get("min", 0)),
    "Clip.max.C2": lambda _, said: not math.isnan(said.get("max", 0)),
    "Slice.R1": _given("axes"),
    "Slice.R3": _given("steps"),
    "ArgMax.R4": _FRONT,
    "ArgMax.keepdims.C1": _one_of("keepdims", (0, 1), 1),
    "ArgMax.select_last_index.C1": _one_of("select_last_index", (0, 1), 0),
    "Softmax.R3": _given("axis"),
    "Softmax.R4": _FRONT,
    "QuantizeLinear.R1": _one_of("axis", (1,), 1),
    "QuantizeLinear.R2": _one_of("block_size", (0,), 0),
    "QuantizeLinear.R3": _one_of("output_dtype", (0,), 0),
    "QuantizeLinear.R4": _one_of("precision", (0,), 0),
    "QuantizeLinear.given": _given("y_zero_point"),
    "DequantizeLinear.R1": _one_of("axis", (1,), 1),
    "DequantizeLinear.R2": _one_of("block_size", (0,), 0),
    "DequantizeLinear.R3": _one_of("output_dtype", (0,), 0),
    "Concat.R1": _FRONT,
    "Reshape.S": _given("S"),
    "Reshape.allowzero.C1": _one_of("allowzero", (0, 1), 0),
    "Squeeze.A": _given("A"),
    "Squeeze.axes": _given("axes"),
    "Squeeze.axes.names": lambda _, said: len(said.get("axes", (0,))) > 0,
    "Constant.R1": _given("value"),
    **_of_kernels("Conv"),
    "Conv.R2": _stands("auto_pad", "NOTSET"),
    "Conv.group": _above("group", 0, 1),
    **_of_kernels("ConvInteger"),
    "ConvInteger.R2": _stands("auto_pad", "NOTSET"),
    "ConvInteger.group": _above("group", 0, 1),
    **_of_kernels("MaxPool"),
    "MaxPool.R2": _given("auto_pad", "kernel_shape", "pads", "strides"),
    "MaxPool.R2.storage_order": _given("storage_order"),
    "MaxPool.R2.dilations": _given("ceil_mode", "dilations"),
    "MaxPool.R3": _one_of("auto_pad", ("NOTSET",), "NOTSET"),
    "MaxPool.R4": _one_of("ceil_mode", (0,), 0),
    "MaxPool.R5": _one_of("storage_order", (0,), 0),
    "MaxPool.kernel_shape": _numbers("kernel_shape", 2, 1),
    "Gemm.R2.alpha": _one_of("alpha", (1,), 1),
    "Gemm.R2.beta": _one_of("beta", (1,), 1),
    "Gemm.R2.transA": _one_of("transA", (0,), 0),
    "Gemm.R2.transB": _one_of("transB", (0,), 0),
    "Gemm.R4": _given("C"),
    **{f"LSTM.{n}": _given(n) for n in ("B", "sequence_lens", "initial_h", "initial_c", "P")},
    "LSTM.activations": _activations,
    "LSTM.input_forget": _stands("input_forget", 0),
    "LSTM.layout": _stands("layout", 0),
    "LSTM.clip": _absent("clip"),
    "LSTM.hidden_size": _above("hidden_size", 0, 0),
    "LSTM.direction": _one_of("direction", ("forward", "reverse", "bidirectional"), "forward"),
}
"""Whether a node keeps each rule that its attributes decide, or the inputs that it has."""


def kept_by(rule: str, given: Given, attributes: Attributes) -> bool | Array:
    """Whether operands of a rule keep it: all of them, or for each element that is told of.

    Where an operand has too few axes to be told of, nothing is as the rule demands.

    Args:
        rule: The id of the rule.
        given: The operands of the rule that are given.
        attributes: What the attributes of the node say, and the "version" of standard operators.
    """
    try:
        kept: bool | Array = IN_RUNS[rule](given, attributes)
    except IndexError:
        return False
    return kept


def kept_by_node(rule: str, inputs: Mapping[str, Any], attributes: Attributes) -> bool:
    """Whether a node keeps a rule, whatever its operands are.

    Args:
        rule: The id of the rule.
        inputs: The inputs that are given, by name, whatever stands for them.
        attributes: What its attributes say: numbers, texts and tuples; None for something else.
    """
    try:
        return bool(BY_NODE[rule](inputs, attributes))
    except TypeError:
        # It is no number.
        return False
