"""Steps by which a draft grows: each adds nodes that read a value, and gives what they compute.

What ONNX Runtime joins with the node in front, folds into its weights, or replaces.
"""

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import onnx
from onnx import helper

from support.soundness.extreme_drafts import OPPOSITE, Draft, Extremes, magnitude, numbers
from support.soundness.proof_trials import ENDS

Step = Callable[[Draft, str], str]
"""Adds nodes that read a value; gives the value that they compute, or the same for none."""


def channel_shape(draft: Draft, name: str) -> list[int]:
    """The shape of a constant with an element for each channel, for some, or for all elements."""
    shape, rng = draft.shape(name), draft.rng
    if not shape:
        return []
    spatial = len(shape) > 2
    axis = 1 if spatial else len(shape) - 1
    by_channel = [size if at == axis else 1 for at, size in enumerate(shape)]
    short = by_channel[1 if spatial else -1 :]
    shapes = [by_channel, by_channel, short, short, short, [], [1], list(shape)]
    return rng.choice(shapes)


def with_constant(operator: str) -> Step:
    """Gives a step of two operands, one of which is a constant."""

    def step(draft: Draft, name: str) -> str:
        shape = channel_shape(draft, name)
        other = draft.terms(shape) if operator in ("Add", "Sub") else draft.weights(shape)
        names = [name, other] if draft.rng.random() < 0.9 else [other, name]
        return draft.add(operator, *names)

    return step


def unary(operator: str, **attributes: object) -> Step:
    """Gives a step of one operand."""
    return lambda draft, name: draft.add(operator, name, **attributes)


def with_numbers(operator: str, *attributes: str) -> Step:
    """Gives a step of one operand, whose attributes are floats, ordinary ones or not."""

    def step(draft: Draft, name: str) -> str:
        chosen = {
            each: magnitude(draft.rng, "float32", 0.3) * draft.rng.choice([1, 1, -1])
            for each in attributes
            if draft.rng.random() < 0.7
        }
        if chosen and draft.rng.random() < 0.05:
            chosen[draft.rng.choice(list(chosen))] = draft.rng.choice([math.nan, math.inf, -0.0])
        return draft.add(operator, name, **chosen)

    return step


def clip(draft: Draft, name: str) -> str:
    """Add a Clip to constants."""
    rng = draft.rng
    size = magnitude(rng, draft.dtype, 0.4)
    bounds: list[float | None] = rng.choice(
        [[0.0, 6.0], [-size, size], [0.0, size], [size, 2 * size], [0.1, 0.7]]
    )
    if rng.random() < 0.2:
        bounds[rng.randrange(2)] = rng.choice([None, math.nan])
    return draft.clip(name, *bounds)


def batch_normalization(draft: Draft, name: str) -> str:
    """Add a BatchNormalization by constants."""
    shape = draft.shape(name)
    if len(shape) < 2:
        return name
    rng, channels = draft.rng, [shape[1]]
    which = rng.choice([OPPOSITE[draft.which], Extremes.ANY])
    variance = np.abs(numbers(rng, draft.dtype, channels, draft.extreme, which))
    vectors = [draft.weights(channels), draft.terms(channels), draft.terms(channels)]
    epsilon = rng.choice([1e-5, 1e-5, 0.0, 1e-30, 1.0])
    return draft.add(
        "BatchNormalization", name, *vectors, draft.constant(variance), epsilon=epsilon
    )


def residual(draft: Draft, name: str) -> str:
    """Add an Add or Sum of another input of the same shape."""
    other = draft.given(draft.shape(name))
    operator = draft.rng.choice(["Add", "Add", "Sum", "Sub", "Mul"])
    return draft.add(operator, *draft.rng.sample([name, other], 2))


def twice(draft: Draft, name: str) -> str:
    """Have two equal nodes, or two of one operand, read the value."""
    operator = draft.rng.choice(["Relu", "Neg", "Abs", "Exp", "Identity", "Sigmoid"])
    one = draft.add(operator, name)
    other = draft.add(operator, name) if draft.rng.random() < 0.5 else name
    return draft.add(draft.rng.choice(["Add", "Mul", "Max", "Sub"]), one, other)


def casts(draft: Draft, name: str) -> str:
    """Add conversions to other types of floats and back."""
    kinds = [
        helper.np_dtype_to_tensor_dtype(np.dtype(k)) for k in ("float16", "float32", "float64")
    ]
    kinds.append(int(onnx.TensorProto.BFLOAT16))
    for kind in draft.rng.sample(kinds, draft.rng.choice([1, 1, 2])):
        name = draft.add("Cast", name, to=kind)
    return draft.add("Cast", name, to=draft.element_type)


def through_integers(draft: Draft, name: str) -> str:
    """Convert to integers, compute with these, and convert back."""
    rng = draft.rng
    dtype = rng.choice(["int32", "int64", "int8", "uint8", "int16", "bool"])
    whole = draft.add("Cast", name, to=helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
    if dtype != "bool" and rng.random() < 0.7:
        limits = np.iinfo(dtype)
        number = rng.choice([2, 3, int(limits.max), int(limits.min), 1])
        operator = rng.choice(["Add", "Mul", "Sub", "Max", "Min"])
        whole = draft.add(operator, whole, draft.constant(np.array(number, dtype)))
    return draft.add("Cast", whole, to=draft.element_type)


def scale(draft: Draft) -> float:
    """A scale of a quantization: ordinary, huge or tiny."""
    return abs(float(np.float32(magnitude(draft.rng, "float32", 0.4)))) or 1.0


def zero_point(draft: Draft, dtype: str) -> int:
    """A zero point at an end of its type, or between."""
    limits = np.iinfo(dtype)
    return draft.rng.choice([int(limits.min), int(limits.max), 0, 3])


def quantization(draft: Draft, name: str) -> str:
    """Add a QuantizeLinear and a DequantizeLinear; floats of other types are left alone."""
    if draft.dtype != "float32":
        return name
    dtype = draft.rng.choice(["uint8", "int8", "uint8", "int16", "uint16"])
    if draft.opset < 21 and dtype.endswith("16"):
        dtype = "uint8"
    by = draft.constant(np.array(scale(draft), np.float32))
    zero = draft.constant(np.array(zero_point(draft, dtype), dtype))
    return draft.add("DequantizeLinear", draft.add("QuantizeLinear", name, by, zero), by, zero)


def transpose(draft: Draft, name: str) -> str:
    """Add a Transpose."""
    axes = list(range(len(draft.shape(name))))
    draft.rng.shuffle(axes)
    return draft.add("Transpose", name, perm=axes) if axes else name


def there_and_back(draft: Draft, name: str) -> str:
    """Add a Transpose, a function and the Transpose back."""
    axes = list(range(len(draft.shape(name))))
    draft.rng.shuffle(axes)
    if not axes:
        return name
    turned = draft.add("Transpose", name, perm=axes)
    changed = pick(draft, ACTIVATIONS)(draft, turned)
    return draft.add("Transpose", changed, perm=[int(axis) for axis in np.argsort(axes)])


def reshape(draft: Draft, name: str) -> str:
    """Add a Reshape, also through an axis more."""
    shape = draft.shape(name)
    count = int(np.prod(shape, dtype=np.int64))
    match draft.rng.choice(["flat", "axis", "twice", "squeezed"]):
        case "flat":
            return draft.add("Reshape", name, draft.integers(1, count))
        case "axis":
            return draft.unsqueeze(name, 0)
        case "squeezed":
            return draft.squeeze(draft.unsqueeze(name, 0), 0)
        case _:
            flat = draft.add("Reshape", name, draft.integers(count))
            return draft.add("Reshape", flat, draft.integers(*shape))


def slices(draft: Draft, name: str) -> str:
    """Cut a value in two along an axis, and put the parts together."""
    shape = draft.shape(name)
    axes = [axis for axis, size in enumerate(shape) if size > 1]
    if not axes:
        return name
    axis = draft.rng.choice(axes)
    half, whole = shape[axis] // 2, shape[axis]
    parts = [
        draft.by_numbers("Slice", name, 10, starts=[first], ends=[last], axes=[axis])[0]
        for first, last in ((0, half), (half, whole))
    ]
    return draft.add("Concat", *draft.rng.sample(parts, 2), axis=axis)


def expand(draft: Draft, name: str) -> str:
    """Repeat a value along a new axis, then reduce that."""
    wide = draft.add("Expand", name, draft.integers(2, *draft.shape(name)))
    operator = draft.rng.choice(["ReduceMax", "ReduceSum", "ReduceMean", "ReduceMin"])
    return draft.reduce(operator, wide, [0], 0)


def where(draft: Draft, name: str) -> str:
    """Choose between a value and a constant, by the value or by its negation."""
    above = draft.add("Greater", name, draft.weights([]))
    if draft.rng.random() < 0.5:
        above = draft.add("Not", above)
    return draft.add("Where", above, *draft.rng.sample([name, draft.weights([])], 2))


def reduction(draft: Draft, name: str) -> str:
    """Add a reduction along an axis, or two."""
    rank = len(draft.shape(name))
    if not rank:
        return name
    axes = draft.rng.sample(range(rank), draft.rng.choice([1, min(2, rank)]))
    operators = ("ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin", "ReduceSumSquare", "ReduceL2")
    return draft.reduce(draft.rng.choice(operators), name, sorted(axes), draft.rng.choice([0, 1]))


def softmax(draft: Draft, name: str) -> str:
    """Add a Softmax or LogSoftmax."""
    rank = len(draft.shape(name))
    if not rank:
        return name
    operator = draft.rng.choice(["Softmax", "Softmax", "LogSoftmax"])
    return draft.add(operator, name, axis=draft.rng.choice([-1, rank - 1, 0]))


def pool(draft: Draft, name: str) -> str:
    """Pool a value with spatial axes."""
    rank = len(draft.shape(name)) - 2
    if rank < 1:
        return name
    rng = draft.rng
    if rng.random() < 0.3:
        return draft.add(rng.choice(["GlobalAveragePool", "GlobalMaxPool"]), name)
    attributes: dict[str, object] = {"kernel_shape": [rng.choice([1, 2, 3])] * rank}
    attributes["pads"] = [rng.choice([0, 0, 1])] * (2 * rank)
    if rng.random() < 0.3:
        attributes["strides"] = [rng.choice([1, 2, 3])] * rank
    if rng.random() < 0.3:
        attributes["ceil_mode"] = 1
    operator = rng.choice(["MaxPool", "AveragePool"])
    if rng.random() < 0.2 and (operator == "MaxPool" or draft.opset >= 19):
        attributes["dilations"] = [rng.choice([2, 3])] * rank
    return draft.add(operator, name, **attributes)


def pad(draft: Draft, name: str) -> str:
    """Pad the last axes of a value, with zeros or another constant."""
    rank = len(draft.shape(name))
    if rank < 3:
        return name
    pads = [0, 0, *[1] * (rank - 2)] * 2
    rng = draft.rng
    return draft.pad(name, pads, rng.choice([None, 0.0, magnitude(rng, draft.dtype)]))


def power(draft: Draft, name: str) -> str:
    """Add a Pow by a small constant."""
    return draft.add("Pow", name, draft.scalar(draft.rng.choice([2.0, 3.0, 0.5, 1.0, 0.0])))


def scaled(draft: Draft, name: str) -> str:
    """Multiply a value by a scalar, or divide it by one."""
    return draft.add(draft.rng.choice(["Mul", "Div"]), name, draft.weights([]))


def general_product(draft: Draft, name: str) -> str:
    """Multiply the last axis by a matrix of constants, and add a bias."""
    shape = draft.shape(name)
    if not shape or shape[-1] == 0:
        return name
    columns = draft.rng.choice([1, 3, 8])
    if len(shape) == 2 and draft.rng.random() < 0.4:
        bias = [draft.terms([columns])] if draft.rng.random() < 0.7 else []
        attributes = {} if draft.rng.random() < 0.6 else _factors(draft)
        return draft.add("Gemm", name, draft.filters([shape[1], columns]), *bias, **attributes)
    product = draft.add("MatMul", name, draft.filters([shape[-1], columns]))
    if draft.rng.random() < 0.5:
        product = draft.add("Add", product, draft.terms([columns]))
    return product


def _factors(draft: Draft) -> dict[str, float]:
    return {name: magnitude(draft.rng, "float32", 0.4) for name in ("alpha", "beta")}


def convolution(draft: Draft, name: str) -> str:
    """Convolve a value with spatial axes by constants."""
    shape = draft.shape(name)
    if len(shape) < 3 or shape[1] == 0 or len(shape) > 5:
        return name
    rng, channels = draft.rng, shape[1]
    group = rng.choice([1, 1, channels])
    outside = group * rng.choice([1, 1, 2]) if group > 1 else rng.choice([1, 8, 16])
    kernel = [rng.choice([1, min(3, size)]) for size in shape[2:]]
    filters = draft.filters([outside, channels // group, *kernel])
    bias = [draft.terms([outside])] if rng.random() < 0.5 else []
    attributes: dict[str, object] = {"group": group}
    if rng.random() < 0.4:
        attributes["pads"] = [1] * (2 * len(kernel))
    return draft.add("Conv", name, filters, *bias, **attributes)


ACTIVATIONS: Sequence[Step] = (
    *(unary(name) for name in ("Relu", "Relu", "Sigmoid", "Tanh", "Softplus", "Softsign")),
    *(unary(name) for name in ("Exp", "Sqrt", "Abs", "Neg", "Erf", "Identity")),
    with_numbers("LeakyRelu", "alpha"),
    with_numbers("HardSigmoid", "alpha", "beta"),
    with_numbers("Elu", "alpha"),
    with_numbers("Selu", "alpha", "gamma"),
    with_numbers("ThresholdedRelu", "alpha"),
    with_numbers("Celu", "alpha"),
    clip,
)
"""Functions of one operand that kernels apply to their results."""

LINEAR: Sequence[Step] = (
    *(with_constant(name) for name in ("Mul", "Add", "Mul", "Add", "Sub", "Div")),
    batch_normalization,
    scaled,
)
"""What is folded into the weights in front of it."""

FOLDED: Sequence[Step] = (
    *(with_constant(name) for name in ("Mul", "Mul", "Mul", "Add", "Add", "Div", "Sub")),
    *(batch_normalization, batch_normalization, scaled),
)
"""What is folded into a product in front of it, most often first."""

OTHERS: Sequence[Step] = (
    *(
        residual,
        residual,
        twice,
        casts,
        through_integers,
        quantization,
        transpose,
        there_and_back,
        reshape,
        slices,
    ),
    *(expand, where, reduction, softmax, pool, pad, power, general_product, convolution),
    *(with_constant(name) for name in ("Max", "Min", "PRelu", "Pow")),
)
"""Further steps."""

_FUNCTIONS: Mapping[str, int] = {
    **dict.fromkeys(("Ceil", "Floor", "Round", "Sign", "Reciprocal", "Log", "Sin", "Cos"), 7),
    **dict.fromkeys(("Atan", "Asin", "Asinh", "Acos", "Tan", "Sinh", "Cosh"), 9),
    "HardSwish": 14,
    "Mish": 18,
    "Gelu": 20,
}

FUNCTIONS: Sequence[Step] = tuple(
    (lambda draft, name, o=operator, v=since: draft.add(o, name) if draft.opset >= v else name)
    for operator, since in _FUNCTIONS.items()
)
"""Functions of one operand that no kernel joins with others."""

ALL: Sequence[Step] = (*ACTIVATIONS, *LINEAR, *LINEAR, *OTHERS, *FUNCTIONS)
"""All steps."""


def pick(draft: Draft, steps: Sequence[Step]) -> Step:
    """Choose a step."""
    return draft.rng.choice(steps)


def to_integers(draft: Draft, name: str) -> str:
    """Add a Cast to integers and a Div by -1, which ends the process for what does not fit."""
    kind = draft.rng.choice(["int32", "int64"])
    whole = draft.add("Cast", name, to=helper.np_dtype_to_tensor_dtype(np.dtype(kind)))
    divisor = draft.given_integers(kind, draft.shape(name), (-1, -1))
    return draft.add("Div", whole, divisor, called=ENDS)
