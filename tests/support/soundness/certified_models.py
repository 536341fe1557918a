"""Models of a few nodes that guards or proofs hold, with inputs at the ends of their types.

Each is certified with what enforces it, and says of what no exposed value shows which rules a run
breaks: of nodes in branches and in Loops.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import onnx

from sonnx_ort.profile.contract import (
    NO_CONTRACT,
    Contract,
    ShapeContract,
    SizeContract,
    ValueContract,
)
from support.graphs import parse
from support.soundness.arrays import Array

Feeds = Mapping[str, Array]
Entry = tuple[str, str]
"""A value, and the id of a rule."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A model that is certified and forged.

    Attributes:
        name: What it is named in counts.
        model: The model.
        contract: What its inputs may be.
        hidden: The rules that a run breaks at nodes inside of others.
        deadly: The rules that keep a run from ending the process, for each edition.
        operators: What is enforced.
    """

    name: str
    model: onnx.ModelProto
    contract: Contract = NO_CONTRACT
    hidden: Callable[[Feeds], list[Entry]] = lambda _: []
    deadly: frozenset[Entry] = frozenset()
    operators: str = "all,-Graph"


_SIGNED = ("int8", "int16", "int32", "int64", "int64")
_INTEGERS = (*_SIGNED, "uint8", "uint32", "uint64")
_FLOATS = ("float", "double")


def _of(text: str, opset: int = 17) -> onnx.ModelProto:
    return parse(text, opset=opset)


def _sizes(rng: random.Random) -> tuple[str, str]:
    several = ("n", "m"), ("3", "3"), ("n, 2", "n, 2"), ("n", "m, k"), ("n, 1", "1, m")
    return rng.choice((("n", "n"), *several))


def _safe(output: str) -> frozenset[Entry]:
    return frozenset({(output, "Div.int.C1"), (output, "Div.int.C2")})


def _division(rng: random.Random) -> Subject:
    kind, (one, other) = rng.choice(_INTEGERS), _sizes(rng)
    text = f"({kind}[{one}] x, {kind}[{other}] y) => ({kind}[] z) {{ z = Div(x, y) }}"
    return Subject("Div", _of(text, rng.choice((13, 17))), deadly=_safe("z"))


def _divisions(rng: random.Random) -> Subject:
    kind, (one, other) = rng.choice(_SIGNED), rng.choice((("n", "n"), ("n", "m"), ("3", "3")))
    divisor = rng.choice(("{-1}", "{3}", "{1}"))
    text = (
        f"({kind}[{one}] x, {kind}[{other}] y) => ({kind}[] z, {kind}[] w) <{kind}[1] c = "
        f"{divisor}> {{ s = Sub(x, y) z = Div(s, y) e = Abs(s) w = Div(e, c) }}"
    )
    return Subject("Sub and Div", _of(text), deadly=_safe("z") | _safe("w"))


def _by_minus_one(rng: random.Random) -> Subject:
    kind = rng.choice(_SIGNED)
    text = f"""({kind}[3] x, {kind}[3] y) => ({kind}[] z) <{kind}[3] c = {{-1, -1, 2}}> {{
        z = Div(x, c) }}"""
    return Subject("Div by -1", _of(text), deadly=_safe("z"))


def _elementwise(rng: random.Random) -> Subject:
    operator, kinds = rng.choice(
        (("Mod", _SIGNED), ("Pow", ("int32", "int64")), ("Max", ("int64",)), ("Min", ("int64",)))
    )
    kind, (one, other) = rng.choice(kinds), _sizes(rng)
    text = f"({kind}[{one}] x, {kind}[{other}] y) => ({kind}[] z) {{ z = {operator}(x, y) }}"
    rules = {("z", "Mod.int.C1"), ("z", "Mod.int.C2")} if operator == "Mod" else {("z", "")}
    return Subject(operator, _of(text), deadly=frozenset(rules))


def _cast(rng: random.Random) -> Subject:
    kind, to = rng.choice((*_FLOATS, "float16")), rng.choice((2, 3, 5, 6, 7, 12, 13))
    name = onnx.TensorProto.DataType.Name(to).lower()
    return Subject("Cast", _of(f"({kind}[n] x) => ({name}[] z) {{ z = Cast<to = {to}>(x) }}"))


def _unary(rng: random.Random) -> Subject:
    operator, kinds = rng.choice(
        (("Softmax<axis = 0>", _FLOATS), ("Abs", _SIGNED), ("Acos", ("float",)), ("Log", _FLOATS))
    )
    kind = rng.choice(kinds)
    name = operator.partition("<")[0]
    return Subject(name, _of(f"({kind}[n] x) => ({kind}[] z) {{ z = {operator}(x) }}"))


def _clip(rng: random.Random) -> Subject:
    kind = rng.choice(("float", "double", "int32"))
    text = f"({kind}[n] x, {kind} a, {kind} b) => ({kind}[] z) {{ z = Clip(x, a, b) }}"
    return Subject("Clip", _of(text))


def _slice(rng: random.Random) -> Subject:
    steps = rng.choice(("{1}", "{2}", "{-1}"))
    starts = rng.choice((", int64[1] s", ""))
    stored = "" if starts else ", int64[1] s = {1}"
    text = (
        f"(float[n] x, int64[1] e{starts}) => (float[] z) <int64[1] a = {{0}}, int64[1] p = "
        f"{steps}{stored}> {{ z = Slice(x, s, e, a, p) }}"
    )
    return Subject("Slice", _of(text))


def _shaping(rng: random.Random) -> Subject:
    text = rng.choice(
        (
            "(float[n, m] x, int64[2] s) => (float[] z) { z = Reshape<allowzero = 1>(x, s) }",
            "(float[n, 2] x, int64[k] s) => (float[] z) { z = Gather<axis = 0>(x, s) }",
            "(float[n, 3] x, float[m, k] y) => (float[] z) { z = Concat<axis = 0>(x, y) }",
            "(float[n, 3] x, float[k, 3] y) => (float[] z) { z = Concat<axis = -2>(x, y, x) }",
            "(float[n, 3] x, float[3, m] y) => (float[] z) { z = MatMul(x, y) }",
        )
    )
    return Subject("shapes", _of(text))


def _ranges(rng: random.Random) -> Subject:
    kind = rng.choice(("int8", "int32", "int64", "int64"))
    lower, upper = rng.choice(((1, 9), (-1, 9), (-9, -1), (-128, -2)))
    ranges = (ValueContract("y", (lower, upper)), ValueContract("x", (-100, 100)))
    nodes = rng.choice(("t = Abs(x) z = Div(t, y)", "z = Div(x, y)"))
    text = f"({kind}[n] x, {kind}[n] y) => ({kind}[] z) {{ {nodes} }}"
    contract = Contract(ranges[: rng.choice((1, 2))], (), (SizeContract("n", 1, 8),))
    return Subject("ranges", _of(text), contract, deadly=_safe("z"))


def _float_ranges(rng: random.Random) -> Subject:
    kind = rng.choice(_FLOATS)
    entry = rng.choice(
        (
            ValueContract("x", (0.5, 2.0)),
            ValueContract("x"),
            ValueContract("x", (-1.0, 4.0), whole=True),
            ValueContract("x", ((0.0, 1.0), (1.0, 2.0)), axis=1),
        )
    )
    text = f"({kind}[n, 2] x) => ({kind}[] z) {{ t = Mul(x, x) z = Sqrt(t) }}"
    return Subject("float ranges", _of(text), Contract((entry,)))


_FREE = ShapeContract("y", (None, 2))


def _multiples(rng: random.Random) -> Subject:
    size = SizeContract("h", rng.choice((0, 4)), 12, multiple_of=rng.choice((1, 1, 2, 4)))
    own = ShapeContract("x", ("h", 2))
    shapes = rng.choice(((), (own, ShapeContract("y", ("h", None))), (own, _FREE)))
    inputs = rng.choice(("float[h, 2] x, float[h, 2] y", "float[h, 2] y, float[h, 2] x"))
    text = f"({inputs}) => (float[] z) {{ z = Div(x, y) }}"
    return Subject("sizes", _of(text), Contract((), shapes, (size,)))


def _branches(rng: random.Random) -> Subject:
    kind = rng.choice(("int32", "int64", "float"))
    text = f"""(bool c, {kind}[n] x, {kind}[m] y) => ({kind}[] z) {{
        z = If(c) <then_branch = t () => ({kind}[] p) {{ p = Div(x, y) }},
                   else_branch = e () => ({kind}[] q) {{ q = Sub(y, x) }}> }}"""
    family = "float" if kind == "float" else "int"

    def hidden(feeds: Feeds) -> list[Entry]:
        x, y = feeds["x"], feeds["y"]
        output, operator = ("p", "Div") if feeds["c"] else ("q", "Sub")
        broken = [] if x.shape == y.shape else [(output, f"{operator}.{family}.R1")]
        if feeds["c"] and kind != "float":
            broken += [("p", "Div.int.C1")] if not y.all() else []
        return broken

    deadly = _safe("p") if kind != "float" else frozenset[Entry]()
    return Subject("If", _of(text), hidden=hidden, deadly=deadly)


def _loop(rng: random.Random) -> Subject:
    body = rng.choice(("Concat<axis = 0>(s, s)", "Neg(s)", "Concat<axis = 0>(d, x)"))
    grows = body.startswith("Concat")
    text = f"""(float[2] x, int64 m, bool c) => (float[] z) {{
        z = Loop <body = b (int64 i, bool f, float[] s) => (bool g, float[] t) {{
            g = Identity(f) r = Neg(s) d = Sub(r, x) t = {body} }}> (m, c, x) }}"""

    def hidden(feeds: Feeds) -> list[Entry]:
        steps = int(feeds["m"]) if feeds["c"] else 0
        return [("d", "Sub.float.R1")] if grows and steps > 1 else []

    return Subject("Loop", _of(text), hidden=hidden)


MAKERS = (
    *(
        _division,
        _division,
        _division,
        _by_minus_one,
        _by_minus_one,
        _divisions,
        _elementwise,
        _cast,
        _unary,
        _clip,
        _slice,
        _shaping,
    ),
    *(_ranges, _ranges, _float_ranges, _multiples, _multiples, _branches, _loop, _loop),
)
"""What makes a model, those of integers that a run may not survive more often."""


def feeds_of(rng: random.Random, subject: Subject) -> Feeds:
    """Inputs at the ends of their types, often within the contract, and of sizes that often fit."""
    sizes: dict[str, int] = {}
    same, kept = rng.random() < 0.7, rng.random() < 0.7
    named = {each.name: each for each in subject.contract.sizes}
    feeds: dict[str, Array] = {}
    for value in subject.model.graph.input:
        kind = value.type.tensor_type
        shape = []
        for dim in kind.shape.dim:
            limits = named.get(dim.dim_param)
            allowed = (
                [*limits.sizes]
                if limits and kept
                else [1, 2, 3]
                if rng.random() < 0.9
                else [0, 4, 5]
            )
            key = "" if same and not (limits and kept) else dim.dim_param
            shape.append(dim.dim_value or sizes.setdefault(key, rng.choice(allowed)))
        dtype = onnx.helper.tensor_dtype_to_np_dtype(kind.elem_type)
        entry = subject.contract.of(value.name) if kept else None
        feeds[value.name] = _elements(rng, dtype, tuple(shape), entry)
    return feeds


def _elements(
    rng: random.Random, dtype: np.dtype, shape: tuple[int, ...], entry: ValueContract | None
) -> Array:
    """Elements of an input, most of them small."""
    count = int(np.prod(shape))
    if dtype == np.int64 and not shape:
        # A Loop takes so many steps.
        return np.array(rng.randint(0, 3), dtype)
    if dtype.kind == "b":
        return np.array([rng.random() < 0.7 for _ in range(count)], dtype).reshape(shape)
    small: list[float] = [1, 2, 3, 1, 2] if rng.random() < 0.5 else [0, 1, -1, 2, 3, -2]
    if dtype.kind == "f":
        ends = np.finfo(dtype)
        large = [float(ends.max), float(ends.min), float(ends.tiny), np.nan, np.inf, -np.inf]
        large += [-0.0, 1e-45, 2.0**31, 2.0**63, -(2.0**31) - 1, 1.5, 255.5, -0.5]
    else:
        limits = np.iinfo(dtype)
        large = [limits.min, limits.max, limits.min + 1, 2**31, -(2**31), 2**32, 2**32 + 1]
        large += [2**24 + 1, 2**53 + 1, -(2**32), -(2**32) - 1, 2**63, 256, -256]
        large = [each for each in large if limits.min <= each <= limits.max]
    share = rng.choice((0, 0.1, 0.3, 0.6))
    if entry is not None:
        (low, high), *_ = entry.ranges or ((0.0, 2.0),)
        small, share = [low, high, (low + high) / 2], 0
    numbers = [rng.choice(large if rng.random() < share else small) for _ in range(count)]
    with np.errstate(all="ignore"):
        if dtype.kind == "f":
            return np.array(numbers, np.float64).astype(dtype).reshape(shape)
        fitting = [min(max(int(n), int(limits.min)), int(limits.max)) for n in numbers]
        return np.array(fitting, dtype).reshape(shape)
