"""Graphs of a few nodes, under contracts from a single number to the ends of a type.

Attempts for `support.soundness.isolated`.
"""

import math
import random
from collections.abc import Sequence

import numpy as np

from support.soundness.draft_trials import trial_of
from support.soundness.extreme_drafts import Draft, Extremes, magnitude
from support.soundness.graph_steps import ALL, Step, pick, scale, to_integers, with_constant
from support.soundness.proof_judge import attempt_at, shrunk_of
from support.soundness.proof_trials import ProofTrial, Way

_SHAPES: Sequence[Sequence[int]] = (
    *([1], [4], [7], [17], [33], [64], [70]),
    *([1, 1], [2, 3], [3, 16], [1, 33]),
    *([1, 1, 5], [1, 2, 3, 3], [1, 3, 5, 5], [1, 8, 4, 4], [1, 16, 2, 2], [1, 1, 2, 2, 2]),
)
"""Shapes of inputs; kernels compute some lengths by vectors, and the rest of a length otherwise."""


def resize(draft: Draft, name: str) -> str:
    """Resize the last two axes, by any mode and coefficient."""
    shape, rng = draft.shape(name), draft.rng
    if len(shape) != 4:
        return name
    attributes: dict[str, object] = {"mode": rng.choice(["nearest", "linear", "cubic", "cubic"])}
    if attributes["mode"] == "cubic":
        attributes["cubic_coeff_a"] = rng.choice(
            [-0.75, -0.5, 0.0, 1.0, -3.0, 50.0, 1e20, math.nan]
        )
        attributes["exclude_outside"] = rng.choice([0, 0, 1])
    modes = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    attributes["coordinate_transformation_mode"] = rng.choice(modes)
    if draft.opset >= 18 and rng.random() < 0.3 and attributes["mode"] != "nearest":
        attributes["antialias"] = 1
    factors = [1.0, 1.0, *(rng.choice([1.7, 2.0, 0.6, 0.5, 3.0]) for _ in range(2))]
    return draft.add(
        "Resize", name, "", draft.constant(np.array(factors, np.float32)), **attributes
    )


def recurrent(draft: Draft, name: str) -> str:
    """Add a GRU or an LSTM along an axis."""
    shape, rng = draft.shape(name), draft.rng
    if len(shape) != 3 or draft.dtype == "float16":
        return name
    operator, gates = rng.choice([("GRU", 3), ("LSTM", 4)])
    hidden, features = rng.choice([1, 3]), shape[2]
    weights = [draft.weights([1, gates * hidden, size]) for size in (features, hidden)]
    if rng.random() < 0.4:
        weights.append(draft.weights([1, 2 * gates * hidden]))
    attributes: dict[str, object] = {"hidden_size": hidden}
    if rng.random() < 0.2:
        attributes["clip"] = magnitude(rng, "float32", 0.3)
    result = draft.add(operator, name, *weights, **attributes)
    return draft.squeeze(result, 1)


def gathered(draft: Draft, name: str) -> str:
    """Take elements along the first axis, or put others into it."""
    shape, rng = draft.shape(name), draft.rng
    if not shape or not shape[0]:
        return name
    if rng.random() < 0.6:
        return draft.add("Gather", name, draft.integers(0, -1), axis=0)
    places = draft.constant(np.zeros(shape, np.int64))
    attributes = {"reduction": "add"} if draft.opset >= 16 and rng.random() < 0.3 else {}
    return draft.add("ScatterElements", name, places, draft.weights(shape), axis=0, **attributes)


def split(draft: Draft, name: str) -> str:
    """Take one of two parts, or the triangle of a matrix."""
    shape, rng = draft.shape(name), draft.rng
    if len(shape) >= 2 and draft.opset >= 14 and rng.random() < 0.4:
        return draft.add("Trilu", name, upper=rng.choice([0, 1]))
    if not shape or shape[-1] < 2:
        return name
    name = draft.add("Transpose", name, perm=list(reversed(range(len(shape)))))
    parts = draft.by_numbers("Split", name, 13, 2, split=[1, shape[-1] - 1])
    return rng.choice(parts)


def moved(draft: Draft, name: str) -> str:
    """Repeat, choose or reorder elements."""
    shape, rng = draft.shape(name), draft.rng
    if not shape:
        return name
    match rng.choice(["Tile", "GatherElements", "TopK", "Range"]):
        case "Tile":
            return draft.add("Tile", name, draft.integers(*(rng.choice([1, 2]) for _ in shape)))
        case "TopK":
            return draft.add_several("TopK", 2, name, draft.integers(1))[0]
        case "Range":
            ends = [draft.weights([]), draft.terms([]), draft.terms([])]
            more = draft.reduce("ReduceMax", draft.add("Range", *ends), [0], 0)
            return draft.add("Add", name, more)
        case operator:
            places = np.zeros(shape, np.int64)
            return draft.add(operator, name, draft.constant(places))


def dynamically_quantized(draft: Draft, name: str) -> str:
    """Quantize by the range of the elements, and dequantize again."""
    if draft.dtype != "float32":
        return name
    return draft.add("DequantizeLinear", *draft.add_several("DynamicQuantizeLinear", 3, name))


def normalized(draft: Draft, name: str) -> str:
    """Divide by the root of the mean of squares, as normalizations do."""
    shape, rng = draft.shape(name), draft.rng
    if not shape:
        return name
    if rng.random() < 0.4:
        return draft.add("Div", name, draft.reduce("ReduceL2", name, [-1]))
    mean = draft.reduce("ReduceMean", draft.add("Mul", name, name), [-1])
    epsilon = draft.scalar(magnitude(rng, draft.dtype, 0.5))
    return draft.add("Div", name, draft.add("Sqrt", draft.add("Add", mean, epsilon)))


def shares(draft: Draft, name: str) -> str:
    """A Softmax that is written out."""
    if not draft.shape(name):
        return name
    powers = draft.add("Exp", draft.add("Sub", name, draft.reduce("ReduceMax", name, [-1])))
    return draft.add("Div", powers, draft.reduce("ReduceSum", powers, [-1]))


def compared(draft: Draft, name: str) -> str:
    """Choose between a value and a constant by whether it is NaN or infinite, or by its sign."""
    operator = draft.rng.choice(["IsNaN", "IsInf", "Less"])
    names = [name, draft.weights([])] if operator == "Less" else [name]
    return draft.add("Where", draft.add(operator, *names), draft.weights([]), name)


def mean(draft: Draft, name: str) -> str:
    """The mean or the largest of several values."""
    others = [draft.given(draft.shape(name)) for _ in range(draft.rng.choice([1, 2]))]
    return draft.add(draft.rng.choice(["Mean", "Sum", "Max", "Min"]), name, *others)


FURTHER: Sequence[Step] = (
    *(
        resize,
        recurrent,
        gathered,
        split,
        dynamically_quantized,
        normalized,
        shares,
        compared,
        mean,
    ),
    *(with_constant(name) for name in ("Mod", "Pow")),
)
"""Steps that no optimizer looks for."""


def make_trial(number: int) -> ProofTrial:
    """Make the trial of a number."""
    rng = random.Random(f"contracts {number}")  # noqa: S311 - no cryptography
    draft = Draft.random(rng, rng.choice([0.1, 0.3, 0.6]))
    if rng.random() < 0.6:
        draft.which = Extremes.ANY
    if rng.random() < 0.1:
        dtype = rng.choice(["int8", "uint8"])
        limits = np.iinfo(dtype)
        x = draft.given_integers(dtype, rng.choice(_SHAPES), (int(limits.min), int(limits.max)))
        draft.dtype = "float32"
        by = draft.constant(np.array(scale(draft), np.float32))
        name = draft.add("DequantizeLinear", x, by)
    else:
        name = draft.given(rng.choice(_SHAPES))
    known = [name]
    for _ in range(rng.choice([1, 2, 2, 3, 3, 4, 5, 6])):
        if len(known) > 2 and rng.random() < 0.25:
            name = _joined(draft, known)
        else:
            steps = FURTHER if rng.random() < 0.25 else ALL
            name = pick(draft, steps)(draft, name)
        known.append(name)
    if rng.random() < 0.35:
        name = to_integers(draft, name)
    ways = [Way("native", "all"), Way(rng.choice(["compiled", "python"]), "all")]
    if rng.random() < 0.3:
        ways[0] = Way("native", rng.choice(["none", "basic", "extended"]))
    if rng.random() < 0.3:
        ways[1] = Way(rng.choice(["native", "compiled", "python"]), "all", own=False)
    return trial_of(draft, [name], tuple(ways), open_sizes=rng.random() < 0.2)


def _joined(draft: Draft, known: Sequence[str]) -> str:
    """Compute with two values of one shape, or with one and itself."""
    name = known[-1]
    shape = draft.shape(name)
    fitting = [other for other in known if draft.shape(other) == shape] or [name]
    operator = draft.rng.choice(["Add", "Sub", "Mul", "Div", "Max", "Min"])
    return draft.add(operator, *draft.rng.sample([name, draft.rng.choice(fitting)], 2))


def attempt(number: int) -> dict[str, int]:
    """Judge the trial of a number; tell how much was looked at."""
    return attempt_at(make_trial, number)


def shrunk(number: int) -> str:
    """Give the smallest trial on which the same is false as on that of a number."""
    return shrunk_of(make_trial, number)
