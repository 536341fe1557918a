"""Graphs that ONNX Runtime's optimizers change, with weights at the ends of their types.

A graph begins with a pattern of an optimizer, or with a product that further steps are folded into.
Attempts for `support.soundness.isolated`.
"""

import math
import random
from collections.abc import Callable, Mapping

import numpy as np

from support.soundness.draft_trials import trial_of
from support.soundness.extreme_drafts import Draft, Extremes, magnitude, magnitudes
from support.soundness.graph_steps import (
    ACTIVATIONS,
    FOLDED,
    LINEAR,
    OTHERS,
    channel_shape,
    pick,
    scale,
    to_integers,
    zero_point,
)
from support.soundness.proof_judge import attempt_at, shrunk_of
from support.soundness.proof_trials import ALL_WAYS, ProofTrial, Way

Pattern = Callable[[Draft], str]
"""Begins a graph; gives the value that it computes."""

_BLOCKED = (8, 16)
"""Numbers of channels for which a convolution is computed in blocks."""


def convolution(draft: Draft) -> str:
    """A convolution, maybe depthwise, in groups or padded in front, of one to three axes."""
    rng = draft.rng
    group = rng.choice([1, 1, 1, 2, 8])
    inside = group * rng.choice([1, 1, 2] if group > 1 else [1, 3, *_BLOCKED])
    outside = group * rng.choice([1, 2] if group > 1 else [1, 2, *_BLOCKED])
    spatial = [rng.choice([1, 2, 4, 5])] * rng.choice([2, 2, 2, 1, 3])
    kernel = [rng.choice([1, 1, min(3, spatial[0])])] * len(spatial)
    x = draft.given([rng.choice([1, 1, 2]), inside, *spatial])
    if rng.random() < 0.15:
        x = draft.pad(x, [0, 0, *[1] * len(spatial)] * 2, rng.choice([None, 0.0]))
    bias = [draft.terms([outside])] if rng.random() < 0.5 else []
    attributes: dict[str, object] = {"group": group}
    if rng.random() < 0.3:
        attributes["pads"] = [1] * (2 * len(spatial))
    elif rng.random() < 0.1:
        attributes["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER"])
    if rng.random() < 0.2:
        attributes["strides"] = [2] * len(spatial)
    return draft.add(
        "Conv", x, draft.filters([outside, inside // group, *kernel]), *bias, **attributes
    )


def transposed_convolution(draft: Draft) -> str:
    """A transposed convolution."""
    rng = draft.rng
    inside, outside, axes = rng.choice([1, 2, 8]), rng.choice([1, 2, 8]), rng.choice([1, 2])
    x = draft.given([1, inside, *[rng.choice([1, 3])] * axes])
    bias = [draft.terms([outside])] if rng.random() < 0.5 else []
    attributes = {"strides": [rng.choice([1, 2])] * axes} if rng.random() < 0.5 else {}
    filters = draft.filters([inside, outside, *[rng.choice([1, 2])] * axes])
    return draft.add("ConvTranspose", x, filters, *bias, **attributes)


def matrix_product(draft: Draft) -> str:
    """A MatMul, by constants or by another input, scaled or turned around in front."""
    rng = draft.rng
    rows, inner, columns = rng.choice([1, 2, 4]), rng.choice([1, 3, 8, 32]), rng.choice([1, 3, 16])
    batch = [[], [], [2], [1, 2]][rng.randrange(4)]
    a = draft.given([*batch, rows, inner])
    b = draft.filters([inner, columns])
    if rng.random() < 0.4:
        b = draft.given([*batch, inner, columns])
    if rng.random() < 0.3:
        a = draft.add(rng.choice(["Mul", "Mul", "Div"]), a, draft.weights(rng.choice([[], [1]])))
    if rng.random() < 0.2:
        b = draft.add(rng.choice(["Mul", "Div"]), b, draft.weights([]))
    if rng.random() < 0.2:
        rank = len(batch) + 2
        perm = [*range(rank - 2), rank - 1, rank - 2]
        a = draft.add("Transpose", draft.given([*batch, inner, rows]), perm=perm)
    return draft.add("MatMul", a, b)


def gemm(draft: Draft) -> str:
    """A Gemm, turned around by Transposes or by attributes, also before a Sum or an Add."""
    rng = draft.rng
    rows, inner, columns = rng.choice([1, 2, 4]), rng.choice([1, 3, 8, 32]), rng.choice([1, 3, 16])
    turned = [rng.random() < 0.3 for _ in range(2)]
    a = draft.given([inner, rows] if turned[0] else [rows, inner])
    b = draft.filters([columns, inner] if turned[1] else [inner, columns])
    attributes: dict[str, object] = {}
    for name, operand, is_turned in (("transA", 0, turned[0]), ("transB", 1, turned[1])):
        if is_turned and rng.random() < 0.5:
            attributes[name] = 1
        elif is_turned and operand:
            b = draft.add("Transpose", b, perm=[1, 0])
        elif is_turned:
            a = draft.add("Transpose", a, perm=[1, 0])
    for name in ("alpha", "beta"):
        if rng.random() < 0.3:
            attributes[name] = magnitude(rng, "float32", 0.4)
    shapes = [[columns], [1], [], [rows, columns], [rows, 1], [1, columns]]
    bias = [draft.terms(rng.choice(shapes))] if rng.random() < 0.5 else []
    product = draft.add("Gemm", a, b, *bias, **attributes)
    if rng.random() < 0.3:
        other = draft.given([rows, columns])
        product = draft.add(rng.choice(["Sum", "Add"]), *rng.sample([product, other], 2))
    return product


def _integers(draft: Draft, shape: list[int], *, fixed: bool) -> tuple[str, str, str]:
    """Integers, with a scale and a zero point by which they are dequantized."""
    rng = draft.rng
    kinds = ["uint8", "int8", "uint8", "int8", "int32"]
    dtype = rng.choice(kinds + (["int16", "uint16"] if draft.opset >= 21 else []))
    limits = np.iinfo("int16" if dtype == "int32" else dtype)
    ends = (int(limits.min), int(limits.max))
    if fixed:
        low, high = rng.choice([ends, (ends[1], ends[1]), (ends[0], ends[0]), (0, 3)])
        drawn = np.random.default_rng(rng.getrandbits(32)).integers(low, high + 1, shape)
        name = draft.constant(drawn.astype(dtype))
    else:
        name = draft.given_integers(
            dtype, shape, rng.choice([ends, (max(ends[1] - 9, 0), ends[1])])
        )
    by = draft.constant(np.array(scale(draft), np.float32))
    zero = 0 if dtype == "int32" else zero_point(draft, dtype)
    return name, by, draft.constant(np.array(zero, dtype))


def quantized(draft: Draft) -> str:
    """A node between DequantizeLinear and QuantizeLinear, or with the first alone."""
    draft.dtype, rng = "float32", draft.rng
    operator = rng.choice(["MatMul", "MatMul", "Gemm", "Conv", "Add", "Mul", "Softmax", "Concat",
                           "AveragePool", "Relu", "Sigmoid", "Where", "Transpose", "LeakyRelu",
                           "GlobalAveragePool", "MaxPool", "Clip"])  # fmt: skip
    windows = operator in ("Conv", "AveragePool", "GlobalAveragePool", "MaxPool")
    inner = rng.choice([1, 8, 64])
    shape = [1, rng.choice([1, 8]), 3, 3] if windows else [rng.choice([1, 4]), inner]
    x = draft.add("DequantizeLinear", *_integers(draft, shape, fixed=False))
    match operator:
        case "MatMul" | "Gemm":
            matrix = _integers(draft, [inner, rng.choice([1, 8])], fixed=True)
            result = draft.add(operator, x, draft.add("DequantizeLinear", *matrix))
        case "Conv":
            filters = _integers(draft, [rng.choice([1, 8]), shape[1], 3, 3], fixed=True)
            result = draft.add("Conv", x, draft.add("DequantizeLinear", *filters))
        case "Add" | "Mul":
            other = draft.add(
                "DequantizeLinear", *_integers(draft, shape, fixed=rng.random() < 0.5)
            )
            result = draft.add(operator, x, other)
        case "Concat":
            other = draft.add("DequantizeLinear", *_integers(draft, shape, fixed=False))
            result = draft.add("Concat", x, other, axis=1)
        case "Where":
            result = draft.add(
                "Where", draft.add("Greater", x, draft.weights([])), x, draft.weights([])
            )
        case "AveragePool" | "MaxPool":
            result = draft.add(operator, x, kernel_shape=[2, 2])
        case "Softmax":
            result = draft.add("Softmax", x, axis=-1)
        case "Clip":
            result = draft.clip(x, 0.0, magnitude(rng, "float32"))
        case _:
            result = draft.add(operator, x)
    if rng.random() < 0.6:
        by = draft.constant(np.array(scale(draft), np.float32))
        dtype = rng.choice(["uint8", "int8"])
        zero = draft.constant(np.array(zero_point(draft, dtype), dtype))
        result = draft.add("QuantizeLinear", result, by, zero)
        result = draft.add("DequantizeLinear", result, by, zero)
    return result


def dynamically_quantized(draft: Draft) -> str:
    """A MatMulInteger of what DynamicQuantizeLinear gives, in floats again."""
    draft.dtype, rng = "float32", draft.rng
    x = draft.given([rng.choice([1, 2]), rng.choice([1, 8])])
    columns = draft.shape(x)[1]
    integers, by, zero = draft.add_several("DynamicQuantizeLinear", 3, x)
    matrix = _integers(draft, [columns, 3], fixed=True)[0]
    if rng.random() < 0.5:
        product = draft.add("MatMulInteger", integers, matrix, zero)
    else:
        product = draft.add("MatMulInteger", integers, matrix)
    floats = draft.add("Cast", product, to=1)
    factor = draft.add("Mul", by, draft.constant(np.array(scale(draft), np.float32)))
    result = draft.add("Mul", floats, factor)
    return draft.add("Add", result, draft.weights([3])) if rng.random() < 0.5 else result


def gelu(draft: Draft) -> str:
    """Gelu written out: by Erf, by Tanh, or by Sigmoid."""
    rng = draft.rng
    x = draft.given([2, 4])
    if rng.random() < 0.5:
        x = draft.add("Add", x, draft.weights([4]))
    match rng.choice(["erf", "tanh", "sigmoid", "swish"]):
        case "erf":
            parts = draft.add("Div", x, draft.scalar(math.sqrt(2)))
            above = draft.add("Add", draft.add("Erf", parts), draft.scalar(1))
            return draft.add("Mul", draft.add("Mul", x, above), draft.scalar(0.5))
        case "tanh":
            cube = draft.add("Mul", draft.add("Pow", x, draft.scalar(3)), draft.scalar(0.044715))
            inner = draft.add("Mul", draft.add("Add", x, cube), draft.scalar(0.7978845834732056))
            above = draft.add("Add", draft.add("Tanh", inner), draft.scalar(1))
            return draft.add("Mul", draft.add("Mul", x, draft.scalar(0.5)), above)
        case "sigmoid":
            scaled = draft.add(
                "Mul", x, draft.scalar(rng.choice([1.702, magnitude(rng, draft.dtype)]))
            )
            return draft.add("Mul", x, draft.add("Sigmoid", scaled))
        case _:
            return draft.add("Mul", x, draft.add("Sigmoid", x))


def normalization(draft: Draft) -> str:
    """LayerNormalization or RMSNormalization, written out, maybe of a sum."""
    rng = draft.rng
    shape = [1, rng.choice([1, 3]), rng.choice([1, 4, 16])]
    x = draft.given(shape)
    if rng.random() < 0.3:
        x = draft.add("Add", x, draft.given(shape))
    if draft.opset >= 17 and rng.random() < 0.3:
        scale_and_bias = [draft.weights([shape[-1]]) for _ in range(2)]
        return draft.add(
            "LayerNormalization", x, *scale_and_bias, epsilon=rng.choice([1e-5, 1e-30])
        )
    epsilon = draft.scalar(rng.choice([1e-5, 1e-12, magnitude(rng, draft.dtype)]))
    centred = x
    if rng.random() < 0.6:
        centred = draft.add("Sub", x, draft.reduce("ReduceMean", x, [-1]))
    square = (
        draft.add("Pow", centred, draft.scalar(2))
        if rng.random() < 0.6
        else draft.add("Mul", centred, centred)
    )
    mean = draft.reduce("ReduceMean", square, [-1])
    root = draft.add("Sqrt", draft.add("Add", mean, epsilon))
    normal = draft.add("Div", centred, root)
    scaled = draft.add("Mul", normal, draft.weights([shape[-1]]))
    return draft.add("Add", scaled, draft.weights([shape[-1]])) if rng.random() < 0.6 else scaled


def softmax(draft: Draft) -> str:
    """A Softmax written out."""
    x = draft.given([2, draft.rng.choice([1, 4, 17])])
    shifted = draft.add("Sub", x, draft.reduce("ReduceMax", x, [-1]))
    powers = draft.add("Exp", shifted)
    return draft.add("Div", powers, draft.reduce("ReduceSum", powers, [-1]))


def attention(draft: Draft) -> str:
    """Shares of products of products, as attention has them."""
    rng, (tokens, width) = draft.rng, (3, 4)
    x = draft.given([1, tokens, width])
    query, key, value = (
        draft.add(
            "Add", draft.add("MatMul", x, draft.weights([width, width])), draft.weights([width])
        )
        for _ in range(3)
    )
    turned = draft.add("Transpose", key, perm=[0, 2, 1])
    product = draft.add("MatMul", query, turned)
    scores = draft.add(rng.choice(["Mul", "Div"]), product, draft.weights([]))
    if rng.random() < 0.4:
        scores = draft.add("Add", scores, draft.given([1, tokens, tokens], (-1.0, 0.0)))
    return draft.add("MatMul", draft.add("Softmax", scores, axis=-1), value)


def reciprocal_product(draft: Draft) -> str:
    """(1 / x) * y."""
    x, y = draft.given([3], (0.5, 1.0)), draft.given([3])
    one = draft.scalar(draft.rng.choice([1, 1, 1, 2]), [3])
    return draft.add("Mul", draft.add("Div", one, x), y)


def spectrum(draft: Draft) -> str:
    """A short Fourier transform, or a product of complex numbers written out."""
    rng = draft.rng
    draft.opset = max(draft.opset, 17)
    if rng.random() < 0.5 and draft.dtype != "float16":
        signal, length = draft.given([1, rng.choice([4, 9]), 1]), rng.choice([2, 4])
        window = draft.weights([length])
        step = draft.constant(np.array(rng.choice([1, 2]), np.int64))
        size = draft.constant(np.array(length, np.int64))
        return draft.add("STFT", signal, step, window, size)
    real, imaginary = draft.given([4]), draft.given([4])
    products = [
        draft.add("Mul", real, draft.weights([4])),
        draft.add("Mul", imaginary, draft.weights([4])),
    ]
    return draft.add(rng.choice(["Sub", "Add"]), *products)


def constants_alone(draft: Draft) -> str:
    """Nodes that read nothing but constants, which a session computes in advance, and an input."""
    rng, shape = draft.rng, [4]
    a, b = draft.weights(shape), draft.weights(rng.choice([shape, [1], []]))
    folded = draft.add(rng.choice(["Mul", "Add", "Div", "Sub", "Pow"]), a, b)
    if rng.random() < 0.5:
        folded = pick(draft, ACTIVATIONS)(draft, folded)
    return draft.add(rng.choice(["Mul", "Add", "Sub", "Div"]), draft.given(shape), folded)


def chain(draft: Draft) -> str:
    """Sums, products and normalizations one after the other, without a product of matrices."""
    rng = draft.rng
    x = draft.given(rng.choice([[1, 2, 3, 3], [2, 4], [4], [1, 16, 2, 2]]))
    for _ in range(rng.choice([1, 2])):
        x = draft.add(rng.choice(["Add", "Mul"]), x, draft.weights(channel_shape(draft, x)))
    return x


def cancelled(draft: Draft) -> str:
    """A product and a bias of about the largest number, which cancel each other, and a further sum.

    The sum of both biases overflows, or their difference is 0, where they are added first.
    """
    rng = draft.rng
    draft.dtype = rng.choice(["float32", "float16"])
    size = rng.choice([0.9, 0.6, 0.3]) * magnitudes(draft.dtype)[0] * rng.choice([1, -1])
    least = rng.choice([0.9, 0.99, 1.0])
    windows = rng.random() < 0.7
    x = draft.given([1, 1, 2, 2] if windows else [2, 1], (least, 1.0))
    weight = -size * rng.choice([1.0, 0.99]) / _ONE_MAGNITUDE
    bias = draft.scalar(size, [1])
    if windows:
        name = draft.add("Conv", x, draft.scalar(weight, [1, 1, 1, 1]), bias)
    elif rng.random() < 0.5:
        name = draft.add("Gemm", x, draft.scalar(weight, [1, 1]), bias)
    else:
        name = draft.add("Add", draft.add("MatMul", x, draft.scalar(weight, [1, 1])), bias)
    further = draft.scalar(size * rng.choice([1.0, 0.9, -1.0]), [1] * (4 if windows else 1))
    return draft.add(rng.choice(["Add", "Add", "Sub"]), name, further)


_ONE_MAGNITUDE = 8.0
"""The magnitude of the inputs of what cancels out."""

PATTERNS: Mapping[Pattern, int] = {
    convolution: 14,
    transposed_convolution: 3,
    matrix_product: 8,
    gemm: 6,
    cancelled: 2,
    quantized: 8,
    dynamically_quantized: 2,
    gelu: 2,
    normalization: 4,
    softmax: 1,
    attention: 2,
    reciprocal_product: 1,
    spectrum: 1,
    constants_alone: 2,
    chain: 2,
}
"""How graphs begin, each with how often."""

PRODUCTS = (convolution, transposed_convolution, matrix_product, gemm)
"""Patterns that further steps are folded into."""


def make_trial(number: int) -> ProofTrial:
    """Make the trial of a number."""
    rng = random.Random(f"fusions {number}")  # noqa: S311 - no cryptography
    draft = Draft.random(rng, rng.choice([0.2, 0.6, 0.9]))
    begin = rng.choices(list(PATTERNS), list(PATTERNS.values()))[0]
    # Every fourth is what constants are folded into, of magnitudes that overflow or underflow.
    folded = number % 4 == 0
    if folded:
        begin = rng.choice(PRODUCTS)
        draft.extreme = 0.9
        draft.which = rng.choice([Extremes.HUGE, Extremes.HUGE, Extremes.LARGE, Extremes.SMALL])
    if begin in (convolution, transposed_convolution) and draft.dtype == "float64":
        draft.dtype = "float32"  # ONNX Runtime has no convolution of double
    name = begin(draft)
    if begin in PRODUCTS:
        for _ in range(rng.choice([1, 1, 2] if folded else [0, 1, 1, 1, 2, 2, 3])):
            name = pick(draft, FOLDED)(draft, name)
    for _ in range(rng.choice([0, 0, 1] if folded else [0, 0, 0, 1, 1, 2])):
        name = pick(draft, rng.choice([LINEAR, ACTIVATIONS, OTHERS]))(draft, name)
    if rng.random() < 0.2:
        name = to_integers(draft, name)
    # A plain session takes a tenth of the time that enforced ones take.
    ways: list[Way] = []
    if rng.random() < 0.3:
        level = rng.choice(["all", "all", "extended", "basic"])
        ways.append(Way("native", level, threads=rng.choice([1, 1, 2])))
        ways.append(rng.choice(ALL_WAYS))
    fixed = _ONE_MAGNITUDE if begin is cancelled else None
    open_sizes = fixed is None and rng.random() < 0.1
    return trial_of(draft, [name], tuple(ways), magnitude_of_inputs=fixed, open_sizes=open_sizes)


def attempt(number: int) -> dict[str, int]:
    """Judge the trial of a number; tell how much was looked at."""
    return attempt_at(make_trial, number)


def shrunk(number: int) -> str:
    """Give the smallest trial on which the same is false as on that of a number."""
    return shrunk_of(make_trial, number)
