"""Sums of up to 100,000 terms, whose order and blocks are those of the kernels.

One term in each block is much larger than the others, so that it is lost, or is not, in what is
summed up before. Attempts for `support.soundness.isolated`.
"""

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from support.soundness.arrays import Array
from support.soundness.draft_trials import trial_of
from support.soundness.extreme_drafts import Draft, Extremes
from support.soundness.graph_steps import scale
from support.soundness.proof_judge import attempt_at, shrunk_of
from support.soundness.proof_trials import ProofTrial, Way

LENGTHS = (1, 2, 7, 64, 100, 255, 256, 257, 1000, 4096, 10_000, 33_000, 65_537, 100_000)
"""Numbers of terms."""

BLOCKS = (1, 2, 4, 8, 16, 32, 64, 72, 128, 144, 256, 384, 512)
"""How many terms kernels sum up before they go on; or one of a larger multiple."""

_LARGE = (1e4, 1e6, 1e8, 3e8, 1e10, 1e20, 1e30)

Sum = Callable[[Draft, int], str]
"""Makes a graph with a sum of so many terms; gives the value that it computes."""


def terms(draft: Draft, count: int, beside: float = 0.0) -> Array:
    """Numbers with one larger number in each block.

    Args:
        draft: The graph, which has the type and chooses.
        count: How many.
        beside: What they are added to, if it is not 0: then a number of each block is about half of
            the distance to the next float, so that it is rounded up where it is added alone.
    """
    rng = draft.rng
    block, base = rng.choice(BLOCKS), rng.choice([0.0, 0.0, 1.0, 0.1, 1e-3])
    found = np.full(count, base)
    found[::block] = rng.choice([4.1, 3.9, 7.0, 0.5, 1e3, 1e-3, 1e30])
    if beside and rng.random() < 0.8:
        step = float(np.spacing(np.abs(np.asarray(beside, draft.dtype))))
        found = np.zeros(count)
        found[::block] = step * rng.choice([0.51, 0.49, 0.6])
    if rng.random() < 0.2:
        found[1::2] *= -1
    if rng.random() < 0.1:
        found = np.random.default_rng(rng.getrandbits(32)).uniform(-1, 1, count)
    with np.errstate(over="ignore"):
        return found.astype(draft.dtype)


def _weights(draft: Draft, count: int, columns: int, beside: float) -> str:
    return draft.constant(np.repeat(terms(draft, count, beside)[:, None], columns, axis=1))


def _large(draft: Draft) -> float:
    """What a sum is added to."""
    size = draft.rng.choice(_LARGE) if draft.dtype != "float16" else draft.rng.choice([1e3, 3e4])
    return size * draft.rng.choice([1, 1, -1])


def _added(draft: Draft, name: str, size: float) -> str:
    """Add a large number, which is constant or an input."""
    shape = draft.shape(name)
    if draft.rng.random() < 0.5:
        other = draft.scalar(size, [shape[-1]] if shape else [])
    else:
        other = draft.given(shape, (size, size))
    return draft.add(draft.rng.choice(["Add", "Add", "Sum"]), name, other)


def _one(draft: Draft) -> tuple[float, float]:
    """A range of a single number, or a wider one."""
    return draft.rng.choice([(1.0, 1.0), (1.0, 1.0), (0.0, 1.0), (-1.0, 1.0), (0.999, 1.0)])


def matrix_product(draft: Draft, count: int) -> str:
    """A MatMul or Gemm, alone or with a large number added."""
    rng = draft.rng
    rows, columns = rng.choice(
        [(1, 1), (1, 3), (4, 16), (2, 1)] if count > 5000 else [(3, 17), (1, 1)]
    )
    a = draft.given([rows, count], _one(draft))
    size = _large(draft)
    b = _weights(draft, count, columns, size)
    match rng.choice(["MatMul", "Gemm", "batch", *["Gemm with C", "MatMul and Add"] * 3]):
        case "MatMul":
            return draft.add("MatMul", a, b)
        case "Gemm":
            return draft.add("Gemm", a, b)
        case "Gemm with C":
            shape = rng.choice([[columns], [rows, columns], [1, 1]])
            c = (
                draft.given(shape, (size, size))
                if rng.random() < 0.5
                else draft.scalar(size, shape)
            )
            return draft.add("Gemm", a, b, c)
        case "batch":
            more = draft.unsqueeze(a, 0)
            return draft.add("MatMul", more, b)
        case _:
            return _added(draft, draft.add("MatMul", a, b), size)


def convolution(draft: Draft, count: int) -> str:
    """A convolution over many channels, or by a long kernel, with a bias or something added."""
    rng = draft.rng
    if draft.dtype == "float64":
        draft.dtype = "float32"
    if rng.random() < 0.5:
        channels, kernel = max(count // 9, 1), [3, 3]
    else:
        channels, kernel = 1, [1, count]
    outside = rng.choice([1, 8, 16] if count < 20_000 else [1, 8])
    x = draft.given([1, channels, *kernel], _one(draft))
    size = _large(draft)
    one = terms(draft, channels * kernel[0] * kernel[1], size)
    w = np.resize(one, (outside, channels, *kernel))
    bias = [draft.scalar(size, [outside])] if rng.random() < 0.5 else []
    name = draft.add("Conv", x, draft.constant(w), *bias)
    if rng.random() < 0.4:
        name = draft.add("Add", name, draft.given([1, outside, 1, 1], (size, size)))
        name = draft.add("Relu", name) if rng.random() < 0.5 else name
    return name


def reduction(draft: Draft, count: int) -> str:
    """A reduction along the last axis or the first one."""
    rng = draft.rng
    axis = rng.choice([0, 1])
    x = draft.given([count, 2] if axis == 0 else [2, count], _one(draft))
    if rng.random() < 0.6:
        one = terms(draft, count)
        x = draft.add("Mul", x, draft.constant(one[:, None] if axis == 0 else one[None]))
    operators = ("ReduceSum", "ReduceSum", "ReduceMean", "ReduceL2", "ReduceSumSquare", "ReduceL1")
    name = draft.reduce(rng.choice(operators), x, [axis], rng.choice([0, 1]))
    return _added(draft, name, _large(draft)) if rng.random() < 0.3 else name


def shares(draft: Draft, count: int) -> str:
    """A Softmax or LogSoftmax, written out or not."""
    rng = draft.rng
    x = draft.given([1, count], rng.choice([(0.0, 1.0), (-80.0, 0.0), (1.0, 1.0), (-5.0, 5.0)]))
    match rng.choice(["Softmax", "LogSoftmax", "written out", "normalized"]):
        case "written out":
            powers = draft.add("Exp", draft.add("Sub", x, draft.reduce("ReduceMax", x, [-1])))
            return draft.add("Div", powers, draft.reduce("ReduceSum", powers, [-1]))
        case "normalized":
            mean = draft.reduce("ReduceMean", draft.add("Mul", x, x), [-1])
            root = draft.add("Sqrt", draft.add("Add", mean, draft.scalar(1e-6)))
            return draft.add("Div", x, root)
        case operator:
            return draft.add(operator, x, axis=-1)


def pool(draft: Draft, count: int) -> str:
    """The mean of many elements by pooling."""
    x = draft.given([1, 1, 1, count], _one(draft))
    x = draft.add("Mul", x, draft.constant(terms(draft, count).reshape(1, 1, 1, count)))
    if draft.rng.random() < 0.5:
        return draft.add("GlobalAveragePool", x)
    return draft.add("AveragePool", x, kernel_shape=[1, count])


def spectrum(draft: Draft, count: int) -> str:
    """A short Fourier transform of a long window."""
    if draft.dtype == "float16":
        draft.dtype = "float32"
    draft.opset = 17
    count = min(count, 4096)
    signal = draft.given([1, count, 1], _one(draft))
    step = draft.constant(np.array(count, np.int64))
    return draft.add("STFT", signal, step, draft.constant(terms(draft, count)), "")


def recurrent(draft: Draft, count: int) -> str:
    """Many steps of a GRU or an LSTM."""
    rng = draft.rng
    draft.dtype = "float32"
    steps, features = (min(count, 500), 1) if rng.random() < 0.5 else (2, min(count, 10_000))
    operator, gates = rng.choice([("GRU", 3), ("LSTM", 4)])
    x = draft.given([steps, 1, features], _one(draft))
    w = np.resize(terms(draft, features), (1, gates, features))
    r = draft.constant(np.full((1, gates, 1), rng.choice([0.0, 1.0, 50.0, -1.0]), np.float32))
    bias = [draft.scalar(rng.choice([50.0, -50.0, 0.0]), [1, 2 * gates])]
    which = rng.choice([0, 1] if operator == "GRU" else [0, 1, 2])
    results = draft.add_several(operator, which + 1, x, draft.constant(w), r, *bias, hidden_size=1)
    return results[-1]


def many_operands(draft: Draft, count: int) -> str:
    """A Sum or Mean of many operands."""
    others = [draft.given([3], _one(draft)) for _ in range(min(count, 40))]
    return draft.add(draft.rng.choice(["Sum", "Mean"]), *others, draft.weights([3]))


def quantized_product(draft: Draft, count: int) -> str:
    """A product of dequantized integers, which becomes one of integers that wraps in int32."""
    rng = draft.rng
    draft.dtype = "float32"
    count = rng.choice([count, 33_100, 100_000])
    (x, *x_by), (w, *w_by) = (
        _ends(draft, shape) for shape in ([1, count], [count, rng.choice([1, 2])])
    )
    if rng.random() < 0.2:
        product = draft.add("MatMulInteger", x, w, x_by[1], w_by[1])
        return draft.add("Mul", draft.add("Cast", product, to=1), x_by[0])
    a, b = (draft.add("DequantizeLinear", *each) for each in ((x, *x_by), (w, *w_by)))
    product = draft.add(rng.choice(["MatMul", "MatMul", "Gemm"]), a, b)
    if rng.random() < 0.4:
        by = draft.constant(np.array(scale(draft), np.float32))
        zero = draft.constant(np.array(rng.choice([0, 128, 255]), np.uint8))
        product = draft.add("QuantizeLinear", product, by, zero)
        product = draft.add("DequantizeLinear", product, by, zero)
    return product


def _ends(draft: Draft, shape: Sequence[int]) -> tuple[str, str, str]:
    """Integers at one end of their type, a scale, and a zero point, mostly at the other end.

    They are an input if they have one row, else a constant.
    """
    rng = draft.rng
    dtype = rng.choice(["uint8", "int8"])
    limits = np.iinfo(dtype)
    ends = (int(limits.min), int(limits.max))
    zero, end = rng.sample(ends, 2)
    if shape[0] == 1:
        near = end + (55 if end == ends[0] else -55)
        x = draft.given_integers(dtype, shape, rng.choice([ends, (min(near, end), max(near, end))]))
    else:
        x = draft.constant(np.full(shape, end, dtype))
    by = draft.constant(np.array(rng.choice([1.0, 1.0, 0.01, scale(draft)]), np.float32))
    return x, by, draft.constant(np.array(rng.choice([zero, zero, 0]), dtype))


SUMS: Mapping[Sum, int] = {
    matrix_product: 6,
    convolution: 5,
    reduction: 4,
    shares: 2,
    pool: 1,
    spectrum: 1,
    recurrent: 2,
    many_operands: 1,
    quantized_product: 3,
}
"""The kinds of sums, each with how often."""

RUNS: Sequence[str] = ("lower", "upper", "alternating", "blocks")


def make_trial(number: int) -> ProofTrial:
    """Make the trial of a number."""
    rng = random.Random(f"sums {number}")  # noqa: S311 - no cryptography
    draft = Draft.random(rng, 0.0)
    draft.which = Extremes.ANY
    kind = rng.choices(list(SUMS), list(SUMS.values()))[0]
    # The longest sums show most.
    name = kind(draft, rng.choice(LENGTHS if rng.random() < 0.6 else LENGTHS[-4:]))
    level = rng.choice(["all", "all", "all", "none", "basic"])
    way = Way("native", level, rng.random() < 0.5, rng.choice([1, 1, 2]))
    return trial_of(draft, [name], (way,), runs=RUNS, magnitude_of_inputs=1.0)


def attempt(number: int) -> dict[str, int]:
    """Judge the trial of a number; tell how much was looked at."""
    return attempt_at(make_trial, number)


def shrunk(number: int) -> str:
    """Give the smallest trial on which the same is false as on that of a number."""
    return shrunk_of(make_trial, number)
