"""Random nodes of operators, with operands to run them on."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from restrictions import OPERATORS as OUTCOMES
from restrictions import violation

from sonnx_ort.meaning.numbers import TYPES
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.vectors.applied import Applied
from support.meanings import Array
from support.operator_cases import OPERATOR_CASES, elements

Generator = np.random.Generator
Make = Callable[[Generator, ElementType], Applied]

T = ElementType
_EIGHT_BITS = (T.INT8, T.UINT8)


def _sizes(generator: Generator, rank: int, least: int = 1, most: int = 5) -> list[int]:
    return generator.integers(least, most, rank).tolist()  # type: ignore[no-any-return]


def _one_of(generator: Generator, *choices: Any) -> Any:
    return choices[int(generator.integers(len(choices)))]


def _long(values: Sequence[int]) -> Array:
    return np.array(values, np.int64)


def _reshape(generator: Generator, kind: ElementType) -> Applied:
    shape = _sizes(generator, int(generator.integers(1, 4)), int(generator.random() < 0.9))
    x = elements(generator, kind, shape)
    way = int(generator.integers(4))
    asked = [*reversed(shape)] if way else [*shape, 1]
    if way == 1 and 0 not in shape:
        asked[int(generator.integers(len(asked)))] = -1
    if way == 2 and 0 not in shape:
        asked = [0, -1]
    zeros = int(0 in asked and (-1 not in asked))
    return Applied("Reshape", [x, _long(asked)], {"allowzero": zeros})


def _flatten(generator: Generator, kind: ElementType) -> Applied:
    shape = _sizes(generator, int(generator.integers(1, 5)), 0)
    axis = int(generator.integers(-len(shape), len(shape) + 1))
    return Applied("Flatten", [elements(generator, kind, shape)], {"axis": axis})


def _squeeze(generator: Generator, kind: ElementType) -> Applied:
    shape = np.where(generator.random(4) < 0.5, 1, generator.integers(0, 4, 4)).tolist()
    x = elements(generator, kind, shape)
    single = [k for k, size in enumerate(shape) if size == 1]
    if not single or generator.random() < 0.3:
        return Applied("Squeeze", [x])
    chosen = generator.choice(single, int(generator.integers(1, len(single) + 1)), replace=False)
    return Applied("Squeeze", [x, chosen - 4 * generator.integers(0, 2, chosen.size)])


def _unsqueeze(generator: Generator, kind: ElementType) -> Applied:
    shape = _sizes(generator, int(generator.integers(0, 3)), 0)
    rank = len(shape) + 2
    places = generator.choice(rank, 2, replace=False)
    axes = places - rank * generator.integers(0, 2, 2)
    return Applied("Unsqueeze", [elements(generator, kind, shape), axes])


def _concat(generator: Generator, kind: ElementType) -> Applied:
    shape = _sizes(generator, int(generator.integers(1, 4)), 0)
    axis = int(generator.integers(-len(shape), len(shape)))
    shapes = [[*shape] for _ in range(int(generator.integers(1, 4)))]
    for each in shapes:
        each[axis] = int(generator.integers(0, 4))
    return Applied("Concat", [elements(generator, kind, each) for each in shapes], {"axis": axis})


def _shape(generator: Generator, kind: ElementType) -> Applied:
    x = elements(generator, kind, _sizes(generator, int(generator.integers(0, 4)), 0))
    ends = {name: int(generator.integers(-5, 6)) for name in ("start", "end")}
    return Applied("Shape", [x], {n: e for n, e in ends.items() if generator.random() < 0.7})


def _constant(generator: Generator, kind: ElementType) -> Applied:
    value = elements(generator, kind, _sizes(generator, int(generator.integers(0, 4)), 0))
    return Applied("Constant", [], {"value": value})


def _range(generator: Generator, kind: ElementType) -> Applied:
    start, limit = generator.integers(-300, 300, 2)
    delta = int(generator.integers(1, 9)) * int(generator.choice([-1, 1]))
    scale = 1 if kind.family is Family.INTEGER else _one_of(generator, 1, 0.25, 0.1)
    operands = (start * scale, limit * scale, delta * scale)
    return Applied("Range", [np.array(each, kind.dtype) for each in operands])


def _quantized(generator: Generator, kind: ElementType) -> Applied:
    scale = kind.dtype.type(_one_of(generator, 1, 2, 0.5, 0.1, -0.7, 0.003, 40))
    x = np.concatenate(
        [np.arange(-9, 9) * kind.dtype.type(0.5) * scale, elements(generator, kind, [24], 0.1)]
    ).astype(kind.dtype)
    levels = _one_of(generator, T.UINT8, T.INT8, T.UINT16, T.INT16)
    operands = [x, np.array(scale), elements(generator, levels, ())]
    if generator.random() < 0.3:
        x = x[:42].reshape(2, 3, 7)
        scales = (scale * np.arange(1, 4)).astype(kind.dtype)
        operands = [x, scales, elements(generator, levels, [3])]
    return Applied("QuantizeLinear", operands, {"axis": _one_of(generator, 1, -2)})


def _dequantized(generator: Generator, kind: ElementType) -> Applied:
    scale = _one_of(generator, np.float32, np.float16)(_one_of(generator, 1, 0.02, 3, -0.1))
    x = elements(generator, kind, [2, 3, 4])
    if generator.random() < 0.3:
        return Applied("DequantizeLinear", [x, np.array(scale)])
    operands = [x, np.array(scale), elements(generator, kind, ())]
    return Applied("DequantizeLinear", operands)


def _window(generator: Generator, kernel: Sequence[int]) -> dict[str, Any]:
    axes = len(kernel)
    said: dict[str, Any] = {
        "strides": generator.integers(1, 4, axes).tolist(),
        "dilations": generator.integers(1, 3, axes).tolist(),
        "pads": [int(generator.integers(0, size)) for size in (*kernel, *kernel)],
    }
    if generator.random() < 0.4:
        # The profile demands all of them, and these values of the others.
        return {**said, "auto_pad": "NOTSET", "kernel_shape": list(kernel)}
    return {name: value for name, value in said.items() if generator.random() < 0.6}


def _max_pool(generator: Generator, kind: ElementType) -> Applied:
    axes = _one_of(generator, 1, 2, 2, 3)
    kernel = _sizes(generator, axes, 1, 4)
    # ONNX Runtime refuses tensors without channels.
    outer = [_one_of(generator, 0, 1, 2), _one_of(generator, 1, 2)]
    shape = [*outer, *_sizes(generator, axes, 5, 8)]
    # Among few numbers the largest often stands in several places.
    x = elements(generator, kind, [4], 0.5)[generator.integers(0, 4, shape)]
    attributes = {"kernel_shape": kernel, **_window(generator, kernel)}
    if "auto_pad" in attributes:
        attributes.update(ceil_mode=0, storage_order=0)
    elif generator.random() < 0.2:
        attributes["ceil_mode"] = 1
    return Applied("MaxPool", [x], attributes, int(generator.integers(1, 3)))


def _conv(generator: Generator, kind: ElementType) -> Applied:
    axes = _one_of(generator, 1, 2, 2, 3)
    kernel, group = _sizes(generator, axes, 1, 4), _one_of(generator, 1, 1, 2, 3)
    inputs, outputs = (int(each) for each in generator.integers(1, 3, 2))
    wild = _one_of(generator, 0, 0, 0.1)
    shape = [_one_of(generator, 1, 2), inputs * group, *_sizes(generator, axes, 5, 8)]
    operands = [
        elements(generator, kind, shape, wild),
        elements(generator, kind, [outputs * group, inputs, *kernel], wild),
    ]
    if generator.random() < 0.5:
        operands.append(elements(generator, kind, [outputs * group], wild))
    return Applied("Conv", operands, {"group": group, **_window(generator, kernel)})


def _conv_integer(generator: Generator, kind: ElementType) -> Applied:
    kernel, group = _sizes(generator, 2, 1, 4), _one_of(generator, 1, 1, 2)
    weights = _one_of(generator, *_EIGHT_BITS)
    operands: list[Array | None] = [
        elements(generator, kind, [1, 2 * group, *_sizes(generator, 2, 5, 8)]),
        elements(generator, weights, [3 * group, 2, *kernel]),
    ]
    if generator.random() < 0.7:
        operands.append(elements(generator, kind, ()) if generator.random() < 0.7 else None)
        zero = elements(generator, weights, ())
        operands.append(zero if generator.random() < 0.7 else np.full(3 * group, zero))
    return Applied("ConvInteger", operands, {"group": group, **_window(generator, kernel)})


def _gemm(generator: Generator, kind: ElementType) -> Applied:
    rows, inner, columns = _sizes(generator, 3, 0)
    wild = _one_of(generator, 0, 0, 0.1)
    turned = {}
    if generator.random() < 0.6:
        turned = {"transA": int(generator.integers(2)), "transB": int(generator.integers(2))}
    first = [inner, rows] if turned.get("transA") else [rows, inner]
    second = [columns, inner] if turned.get("transB") else [inner, columns]
    a, b = (elements(generator, kind, shape, wild) for shape in (first, second))
    shape = _one_of(generator, None, [rows, columns], [columns], [1, columns], [rows, 1], [])
    factors = kind.family is Family.FLOAT and generator.random() < 0.5
    said = {"alpha": 0.5, "beta": -1.3} if factors else {}
    c = None if shape is None else elements(generator, kind, shape, wild)
    return Applied("Gemm", [a, b] if c is None else [a, b, c], {**turned, **said})


def _softmax(generator: Generator, kind: ElementType) -> Applied:
    shape = _sizes(generator, int(generator.integers(1, 4)), 0)
    x = elements(generator, kind, shape, _one_of(generator, 0, 0.1))
    return Applied("Softmax", [x], {"axis": int(generator.integers(-len(shape), len(shape)))})


def _lstm(generator: Generator, kind: ElementType) -> Applied:
    direction = _one_of(generator, "forward", "reverse", "bidirectional")
    ways = 2 if direction == "bidirectional" else 1
    length, batch, inputs, hidden = _sizes(generator, 4, 1, 4)

    def normal(*shape: int) -> Array:
        return (generator.normal(size=shape) * 0.6).astype(kind.dtype)

    state = (ways, batch, hidden)
    operands: list[Array | None] = [
        *[normal(length, batch, inputs), normal(ways, 4 * hidden, inputs)],
        *[normal(ways, 4 * hidden, hidden), normal(ways, 8 * hidden)],
        generator.integers(1, length + 1, batch).astype(np.int32),
        *[normal(*state), normal(*state), normal(ways, 3 * hidden)],
    ]
    given = [o if k < 3 or generator.random() < 0.6 else None for k, o in enumerate(operands)]
    while given[-1] is None:
        given.pop()
    return Applied("LSTM", given, {"hidden_size": hidden, "direction": direction}, 3)


def _mat_mul(generator: Generator, kind: ElementType) -> Applied:
    # ONNX Runtime refuses products of nothing in some types.
    rows, inner, columns = _sizes(generator, 3)
    wild = _one_of(generator, 0, 0.05, 0.3)
    shapes = (rows, inner), (inner, columns)
    return Applied("MatMul", [elements(generator, kind, shape, wild) for shape in shapes])


def _normalized(generator: Generator, kind: ElementType) -> Applied:
    shape = _sizes(generator, int(generator.integers(2, 5)))
    wild = _one_of(generator, 0, 0.2)
    x = elements(generator, kind, shape, wild)
    *others, variance = (elements(generator, kind, shape[1:2], wild) for _ in range(4))
    kept = np.where(np.isnan(variance), 0, abs(variance)).astype(kind.dtype)
    said = {"epsilon": 0.5} if generator.random() < 0.5 else {}
    return Applied("BatchNormalization", [x, *others, kept], said)


def _clip(generator: Generator, kind: ElementType) -> Applied:
    shape = _sizes(generator, int(generator.integers(0, 4)), 0)
    narrow = T.INT32 if kind is T.INT64 else kind
    x, *bounds = (elements(generator, narrow, s, 0.4).astype(kind.dtype) for s in (shape, (), ()))
    if kind.family is Family.FLOAT:
        x = np.where(generator.random(shape) < 0.2, np.nan, x).astype(kind.dtype)
    given = [bound if generator.random() < 0.8 else None for bound in bounds]
    if kind.family is Family.FLOAT and None in given:
        x = np.where(np.isinf(x), 0, x).astype(kind.dtype)
    return Applied("Clip", [x, *given])


def _slice(generator: Generator, kind: ElementType) -> Applied:
    shape = _sizes(generator, int(generator.integers(1, 4)))
    columns = zip(*(_cut(generator, size) for size in shape), strict=True)
    signs = generator.integers(0, 2, len(shape))
    axes = np.arange(len(shape)) - len(shape) * signs
    starts, ends, steps = (np.array(column) for column in columns)
    order = generator.permutation(len(shape))
    indices = [index[order].astype(np.int64) for index in (starts, ends, axes, steps)]
    return Applied("Slice", [elements(generator, kind, shape), *indices])


def _cut(generator: Generator, size: int) -> tuple[int, int, int]:
    """A start, an end and a step that an axis admits, from the front or from behind."""
    first, last = sorted(generator.integers(0, size, 2).tolist())
    step = int(generator.integers(1, 4))
    if generator.random() < 0.5:
        return first - (size if generator.random() < 0.3 else 0), last + 1, step
    return last, first - 1 - size if generator.random() < 0.7 or first == 0 else first - 1, -step


def _arg_max(generator: Generator, kind: ElementType) -> Applied:
    shape = _sizes(generator, int(generator.integers(1, 4)))
    # Of so few the largest one often stands in several places.
    few = elements(generator, kind, [3], 0.6)
    if kind.family is Family.FLOAT:
        few = np.where(np.isnan(few), 1, few).astype(kind.dtype)
    x = few[generator.integers(0, 3, shape)]
    axis = int(generator.integers(0, len(shape)))
    keepdims, last = (int(generator.random() < 0.6) for _ in range(2))
    return Applied("ArgMax", [x], {"axis": axis, "keepdims": keepdims, "select_last_index": last})


def _cast(generator: Generator, kind: ElementType) -> Applied:
    number = int(generator.choice(list(TYPES)))
    x = elements(generator, kind, [24], 0.3)
    if kind.family is Family.FLOAT and TYPES[number].family is Family.INTEGER:
        limits = np.iinfo(TYPES[number].dtype)
        with np.errstate(invalid="ignore"):
            held = (x > max(limits.min, -30000)) & (x < min(limits.max, 30000))
        x = x[held]
    return Applied("Cast", [x], {"to": number})


def _acos(generator: Generator, kind: ElementType) -> Applied:
    x = elements(generator, kind, [20])
    with np.errstate(invalid="ignore"):
        x = np.where(abs(x) > 1, np.sin(x), x).astype(kind.dtype)
    return Applied("Acos", [np.where(abs(x) > 1, 0, x).astype(kind.dtype)])


def _pow(generator: Generator, kind: ElementType) -> Applied:
    base, exponent = (elements(generator, kind, [20]) for _ in range(2))
    if kind.family is Family.INTEGER:
        exponent = (abs(exponent) % 16).astype(kind.dtype)
        most = 2.0 ** (min(52, 8 * kind.dtype.itemsize - 2) / np.maximum(exponent, 1))
        base = np.where(abs(base.astype(float)) > most, base % 9, base).astype(kind.dtype)
    return Applied("Pow", [base, exponent])


def _of(operator: str, **attributes: Any) -> Make:
    def make(generator: Generator, kind: ElementType) -> Applied:
        shape = _sizes(generator, int(generator.integers(0, 4)), 0)
        return Applied(operator, [elements(generator, kind, shape, 0.3)], attributes)

    return make


_MAKERS: Mapping[str, Make] = {
    "Acos": _acos,
    "ArgMax": _arg_max,
    "BatchNormalization": _normalized,
    "Cast": _cast,
    "Clip": _clip,
    "Concat": _concat,
    "Constant": _constant,
    "Conv": _conv,
    "ConvInteger": _conv_integer,
    "DequantizeLinear": _dequantized,
    "Flatten": _flatten,
    "Gemm": _gemm,
    "LSTM": _lstm,
    "LeakyRelu": _of("LeakyRelu", alpha=0.3),
    "MatMul": _mat_mul,
    "MaxPool": _max_pool,
    "Pow": _pow,
    "QuantizeLinear": _quantized,
    "Range": _range,
    "Reshape": _reshape,
    "Shape": _shape,
    "Slice": _slice,
    "Softmax": _softmax,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    **{name: _of(name) for name in ("Exp", "Log", "Relu", "Sigmoid", "Sin", "Tanh")},
}

EARLY = frozenset(_MAKERS) & OUTCOMES
"""The operators that `restrictions` judges; of theirs, only nodes that keep the rules are made."""

LATE = sorted(frozenset(_MAKERS) - OUTCOMES)
"""The others, which have a draft and had no rules before."""

_MORE_KERNELS: Mapping[str, tuple[ElementType, ...]] = {
    "QuantizeLinear": (T.FLOAT16, T.FLOAT),
    "DequantizeLinear": (*_EIGHT_BITS, T.INT16, T.UINT16, T.INT32),
}
"""The types of which there are kernels, where the profile's rules leave some of them out."""

FURTHER: Mapping[str, tuple[ElementType, ...]] = {
    **dict.fromkeys(("Conv", "LSTM", "LeakyRelu"), (T.DOUBLE,)),
    "Gemm": (T.INT32, T.INT64, T.UINT32, T.UINT64),
}
"""Types that the reference evaluator computes, and ONNX Runtime does not."""


def kernels(operator: str) -> tuple[ElementType, ...]:
    """The types of which ONNX Runtime has kernels."""
    return _MORE_KERNELS.get(operator) or OPERATOR_CASES[operator].kernels


def nodes(operator: str, kind: ElementType, count: int) -> list[Applied]:
    """Random nodes of an operator on operands of a type, the same in every run.

    Of some operators fewer than so many, for those are left out of which ONNX Runtime does not keep
    the documents: an ArgMax of NaN, a Clip of int64 beyond int32, and infinities where a bound of a
    Clip is left out; `tests/upstream` has these.
    """
    generator = np.random.default_rng([7, *map(ord, f"{operator} {kind}")])
    made = [_MAKERS[operator](generator, kind) for _ in range(count)]
    return [each for each in made if operator not in EARLY or not _breaks_a_rule(each, kind)]


def _breaks_a_rule(applied: Applied, kind: ElementType) -> bool:
    asked = applied.operator, applied.operands, kind, applied.edition, applied.attributes
    return violation(*asked) is not None
