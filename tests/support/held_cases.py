"""What breaks the rules that ONNX Runtime holds itself.

Each rule of `HeldByRuntime` has cases here. The sizes in a case are open before a run, so that
ONNX Runtime decides in the run, or they are known to it, so that it refuses the model.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class HeldCase:
    """A model that breaks a rule, and what it is fed with.

    Attributes:
        graph: The graph in ONNX's textual syntax, such as `(float[n] x) => (float[m] y) {...}`.
        feeds: The inputs by name; nested lists, which take the types that the graph declares.
        opset: The version of the standard operators.
    """

    graph: str
    feeds: Mapping[str, Any]
    opset: int = 21


_ATTRIBUTE, _INPUT = (1, 11), (21,)
"""Versions in which the axes of Squeeze and Unsqueeze are an attribute, and an input."""


def _declared(shape: Sequence[int]) -> Iterator[str]:
    """The ways to declare a tensor of a shape: open sizes, an open rank, and sizes."""
    yield f"float[{', '.join(f'n{axis}' for axis in range(len(shape)))}]" if shape else "float"
    yield "float[]"
    yield f"float[{', '.join(map(str, shape))}]" if shape else "float"


def _one(node: str, shape: Sequence[int], *opsets: int) -> list[HeldCase]:
    """A node that reads x."""
    ones = np.ones(shape).tolist()
    return [
        HeldCase(f"({declared} x) => (float[] y) {{ y = {node}(x) }}", {"x": ones}, opset)
        for declared in _declared(shape)
        for opset in opsets or (13, 21)
    ]


def _two(
    node: str, shape: Sequence[int], numbers: Sequence[int] | int, *opsets: int
) -> list[HeldCase]:
    """A node that reads x and numbers, which are computed or constant."""
    ones, rank = np.ones(shape).tolist(), np.ndim(numbers)
    kind = "int64[k]" if rank else "int64"
    cases = []
    for declared in _declared(shape):
        for opset in opsets or (13, 21):
            computed = f"({declared} x, {kind} s) => (float[] y) {{ y = {node}(x, s) }}"
            cases.append(HeldCase(computed, {"x": ones, "s": numbers}, opset))
            listed = ", ".join(map(str, np.ravel(numbers)))
            size = f"[{np.size(numbers)}]" if rank else ""
            constant = f"<int64{size} s = {{{listed}}}> {{ y = {node}(x, s) }}"
            cases.append(HeldCase(f"({declared} x) => (float[] y) {constant}", {"x": ones}, opset))
    return cases


def _axes(operator: str, shape: Sequence[int], *named: list[int]) -> list[HeldCase]:
    """Axes by an attribute and by an input."""
    cases = []
    for axes in named:
        cases += _one(f"{operator}<axes = {axes}>", shape, *_ATTRIBUTE)
        cases += _two(operator, shape, axes, *_INPUT)
    return cases


def _concat(axis: int, *shapes: Sequence[int]) -> list[HeldCase]:
    """A Concat of tensors."""
    names = [f"x{index}" for index in range(len(shapes))]
    feeds = {name: np.ones(shape).tolist() for name, shape in zip(names, shapes, strict=True)}
    node = f"y = Concat<axis = {axis}>({', '.join(names)})"
    return [
        HeldCase(
            f"({', '.join(f'{kind} {name}' for kind, name in zip(kinds, names, strict=True))})"
            f" => (float[] y) {{ {node} }}",
            feeds,
            opset,
        )
        for kinds in zip(*map(_declared, shapes), strict=True)
        for opset in (4, 11, 13)
    ]


def _steps() -> list[HeldCase]:
    """A Range of each type that has kernels, in steps of 0."""
    zeros = {"float": (0, -0.0), "double": (0, -0.0), **dict.fromkeys(("int16", "int32"), (0,))}
    return [
        HeldCase(
            f"({kind} s, {kind} l, {kind} d) => ({kind}[n] y) {{ y = Range(s, l, d) }}",
            {"s": 1, "l": limit, "d": zero},
            11,
        )
        for kind, numbers in {**zeros, "int64": (0,)}.items()
        for zero in numbers
        for limit in (1, 9, -9)
    ] + [
        HeldCase(
            "(int64 s, int64 l) => (int64[n] y) <int64 d = {0}> { y = Range(s, l, d) }",
            {"s": 1, "l": 9},
        ),
        HeldCase(
            "(int64 x) => (int64[n] z) <int64 s = {1}, int64 l = {9}, int64 d = {0}>"
            " { y = Range(s, l, d) z = Add(y, x) }",
            {"x": 1},
        ),
    ]


_FAR = 2**32

LAYOUT_CASES: Mapping[str, Sequence[HeldCase]] = {
    "Concat.C3": [
        *_concat(0, (), ()),
        *_concat(0, (), (3,)),
        *_concat(0, (3,), ()),
        *_concat(0, ()),
    ],
    "Concat.axis.C1": [
        *_concat(2, (2, 3), (2, 3)),
        *_concat(-3, (2, 3), (2, 3)),
        *_concat(1, (2,)),
        *_concat(2**31 - 1, (2, 3), (2, 3)),
    ],
    "Reshape.S.rank": _two("Reshape", (6,), 6, 5, 13, 14, 21),
    "Reshape.allowzero.C2": [
        *_two("Reshape", (2, 3), [2, 3, 0], 5, 13),
        *_two("Reshape<allowzero = 0>", (2, 3), [2, 3, 0], 14, 21),
        *_two("Reshape", (), [0], 5, 21),
    ],
    "Reshape.S.C3": [
        case
        for sizes in ([-2, 3], [-2, -3], [-1, -2], [-(2**63), 3])
        for case in (
            *_two("Reshape", (2, 3), sizes, 5),
            *_two("Reshape<allowzero = 1>", (2, 3), sizes, 21),
        )
    ],
    "Reshape.S.C1": [
        *_two("Reshape", (2, 2), [-1, -1], 5, 13),
        *_two("Reshape<allowzero = 1>", (2, 2), [-1, -1], 14, 21),
        *_two("Reshape", (1,), [-1, 1, -1], 21),
    ],
    "Reshape.X.C1": [
        case
        for sizes in ([4, 2], [4, -1], [7], [_FAR, _FAR], [_FAR, _FAR, -1], [2**63 - 1] * 2)
        for case in (
            *_two("Reshape", (2, 3), sizes, 5),
            *_two("Reshape<allowzero = 1>", (2, 3), sizes, 21),
        )
    ]
    + _two("Reshape<allowzero = 1>", (2, 3), [0, 3], 14, 21),
    "Flatten.axis.C1": [
        *_one("Flatten<axis = 3>", (2, 3), 1, 9, 11, 13, 21),
        *_one("Flatten<axis = -3>", (2, 3), 1, 9, 11, 13, 21),
        *_one("Flatten<axis = 1>", (), 1, 9, 11, 13, 21),
        *_one("Flatten<axis = 4294967296>", (2, 3), 1, 9, 11, 13, 21),
    ],
    "Squeeze.A.rank": _two("Squeeze", (1, 3, 1), 0, 13, 21),
    "Squeeze.A.C1": _axes("Squeeze", (1, 3, 1), [3], [-4], [0, 7], [-9, 0], [_FAR]),
    "Squeeze.size": _axes("Squeeze", (1, 3, 1), [1], [0, -2]),
    "Unsqueeze.A.C1": _axes("Unsqueeze", (3,), [2], [-3], [0, 7], [-9, 0], [_FAR]),
    "Unsqueeze.A.C2": _axes("Unsqueeze", (3,), [0, 0], [0, -3], [2, -1], [-1, -1], [0, 1, -4]),
    "Range.D.C1": _steps(),
}
"""The cases by the rules' ids."""


Shape = tuple[int, ...]


def cases(
    call: str, shapes: Mapping[str, Shape], types: Mapping[str, str], opsets: Sequence[int]
) -> Iterator[HeldCase]:
    """One node with what is known of its inputs: their shapes, their ranks, or nothing.

    The inputs but the first are constants too, which optimizers pack for their kernels.

    Args:
        call: The node's expression, such as `Conv <group = 3> (X, W)`.
        shapes: The shapes of the inputs.
        types: Their types; float if they are not named.
        opsets: The versions of the standard operators.
    """
    kinds = {name: types.get(name, "float") for name in shapes}
    feeds = {name: np.ones(shape, np.int64).tolist() for name, shape in shapes.items()}
    result = types.get("Y", kinds[next(iter(shapes))])
    first = next(iter(shapes))
    for opset in opsets:
        for declared in (_sizes, _open_sizes, _nothing):
            inputs = ", ".join(f"{kinds[n]}{declared(shape)} {n}" for n, shape in shapes.items())
            yield HeldCase(f"({inputs}) => ({result}[] Y) {{ Y = {call} }}", feeds, opset)
        constants = [_zeros(n, kinds[n], shape) for n, shape in shapes.items() if n != first]
        stored = f"<{', '.join(constants)}>" if constants else ""
        graph = f"({kinds[first]}[] {first}) => ({result}[] Y) {stored} {{ Y = {call} }}"
        yield HeldCase(graph, {first: feeds[first]}, opset)


def _sizes(shape: Shape) -> str:
    return f"[{', '.join(map(str, shape))}]" if shape else ""


def _open_sizes(shape: Shape) -> str:
    return f"[{', '.join('?' for _ in shape)}]" if shape else ""


def _nothing(shape: Shape) -> str:
    del shape
    return "[]"


def _zeros(name: str, kind: str, shape: Shape) -> str:
    zeros = ", ".join("0" * math.prod(shape))
    return f"{kind}{_sizes(shape)} {name} = {{{zeros}}}"


def _convolutions(operator: str, kind: str, opsets: Sequence[int]) -> dict[str, list[HeldCase]]:
    types = {"X": kind, "W": kind, "Y": "int32" if kind == "uint8" else kind}

    def of(x: Shape, w: Shape, **attributes: object) -> list[HeldCase]:
        given = ", ".join(f"{name} = {value}" for name, value in attributes.items())
        call = f"{operator} <{given}> (X, W)" if given else f"{operator} (X, W)"
        return [*cases(call, {"X": x, "W": w}, types, opsets)]

    x, w = (1, 4, 8, 8), (6, 4, 3, 3)
    wide_x, wide_w = (1, 32, 8, 8), (32, 32, 3, 3)
    return {
        f"{operator}.kernel_shape": [
            *of(x, w, kernel_shape=[2, 2]),
            *of(x, (6, 4, 3, 2), kernel_shape=[2, 3]),
            *of(x, w, kernel_shape=[3, 9]),
            *of(x, w, kernel_shape=[3]),
            *of(x, w, kernel_shape=[3, 3, 3]),
            *of(x, w, kernel_shape=[0, 3]),
            *of(x, w, kernel_shape=[3, -3]),
            *of(wide_x, wide_w, kernel_shape=[1, 1]),
        ],
        f"{operator}.outputs": [
            *of(x, (6, 1, 3, 3), group=4),
            *of(x, (2, 1, 3, 3), group=4),
            *of(wide_x, (48, 1, 3, 3), group=32),
        ],
        f"{operator}.fits": [
            *of((1, 4, 2, 8), w),
            *of((1, 4, 1, 1), w, strides=[3, 3]),
            *of((1, 4, 0, 8), w),
            *of(x, w, dilations=[4, 4]),
            *of(x, w, dilations=[40, 40], pads=[1, 1, 1, 1]),
            *of((1, 32, 2, 2), wide_w),
        ],
    }


def _pools() -> list[HeldCase]:
    wide = ([2, 0, 0, 0], [0, 0, 2, 2], [9, 9, 9, 9], [1 << 40, 0, 0, 0])
    float_, bytes_ = ("float", (7, 11, 21)), ("uint8", (21,))
    said = [(f"pads = {pads}", each) for pads in wide for each in (float_, bytes_)]
    said.append(("pads = [3, 0, 0, 0], dilations = [2, 1]", ("float", (11, 21))))
    return [
        case
        for attributes, (kind, opsets) in said
        for case in cases(
            f"MaxPool <kernel_shape = [2, 2], {attributes}> (X)",
            {"X": (1, 2, 6, 6)},
            {"X": kind},
            opsets,
        )
    ]


def _products() -> list[HeldCase]:
    shapes = [((2, 3), (4, 4)), ((2, 1), (3, 4)), ((2, 0), (3, 4)), ((2, 3), (0, 4))]
    return [
        case
        for kind in ("float", "float16")
        for a, b in shapes
        for case in cases(
            "Gemm (A, B, C)",
            {"A": a, "B": b, "C": (2, 4)},
            dict.fromkeys("ABC", kind),
            (11, 21) if kind == "float" else (21,),
        )
    ]


LSTM_SHAPES: Mapping[str, Shape] = {
    "X": (5, 2, 4),
    "W": (1, 12, 4),
    "R": (1, 12, 3),
    "B": (1, 24),
    "sequence_lens": (2,),
    "initial_h": (1, 2, 3),
    "initial_c": (1, 2, 3),
    "P": (1, 9),
}
"""The inputs of an LSTM, of shapes that fit each other."""

_OTHER_SHAPES: Mapping[str, Sequence[Shape]] = {
    "B": ((24,), (1, 12), (1, 25), (2, 24), (1, 24, 1), ()),
    "sequence_lens": ((1,), (3,), (2, 1), (0,), ()),
    "initial_h": ((2, 3), (1, 1, 3), (1, 2, 4), (1, 2, 1), (2, 2, 3), (1, 2, 3, 1), ()),
    "initial_c": ((2, 3), (1, 1, 3), (1, 2, 4), (1, 2, 1), (2, 2, 3), (1, 2, 3, 1), ()),
    "P": ((9,), (1, 12), (1, 8), (2, 9), (1, 9, 1), ()),
}


def _recurrences() -> list[HeldCase]:
    call = f"LSTM <hidden_size = 3> ({', '.join(LSTM_SHAPES)})"
    types = {"sequence_lens": "int32"}
    return [
        case
        for name, shapes in _OTHER_SHAPES.items()
        for shape in shapes
        for case in cases(call, {**LSTM_SHAPES, name: shape}, types, (7, 21))
    ]


def _cut(shape: Sequence[int], starts: Any, ends: Any, axes: Any, steps: Any) -> Iterator[HeldCase]:
    """A Slice by indices that are computed or constant."""
    feeds = {"s": starts, "e": ends, "a": axes, "k": steps}
    for declared in _declared(shape):
        for kind in ("int64", "int32"):
            computed = ", ".join(
                f"{kind}{_open_sizes(np.shape(each))} {name}" for name, each in feeds.items()
            )
            stored = ", ".join(
                f"{kind}{_sizes(np.shape(each))} {name} = {{{', '.join(map(str, np.ravel(each)))}}}"
                for name, each in feeds.items()
            )
            node, x = "{ y = Slice(x, s, e, a, k) }", np.ones(shape).tolist()
            for opset in (10, 13):
                inputs = f"({declared} x, {computed}) => (float[] y)"
                yield HeldCase(f"{inputs} {node}", {"x": x, **feeds}, opset)
                yield HeldCase(f"({declared} x) => (float[] y) <{stored}> {node}", {"x": x}, opset)


def _slices(*given: tuple[Any, Any, Any, Any], shape: Sequence[int] = (4, 5)) -> list[HeldCase]:
    return [case for each in given for case in _cut(shape, *each)]


def _normalizations(x: Shape, *sizes: Shape) -> list[HeldCase]:
    """A BatchNormalization with all of its parameters of these sizes, or one of them."""
    fitting, call = x[1:2] or (1,), "BatchNormalization (X, scale, B, mean, var)"
    names = ("scale", "B", "mean", "var")
    odd = [dict.fromkeys(names, size) for size in sizes]
    odd += [{name: size} for size in sizes for name in names]
    return [
        case
        for each in odd
        for case in cases(call, {"X": x, **dict.fromkeys(names, fitting), **each}, {}, (9, 15))
    ]


def _matrices() -> list[HeldCase]:
    shapes = [((2, 3), (4, 4)), ((2, 1), (3, 4)), ((2, 0), (3, 4)), ((2, 3), (0, 4))]
    shapes += [((5, 2, 3), (4, 4)), ((3,), (4, 4))]
    return [
        case
        for kind in ("float", "float16", "double", "int32", "uint64")
        for a, b in shapes
        for case in cases("MatMul (A, B)", {"A": a, "B": b}, dict.fromkeys("ABY", kind), (9, 13))
    ]


HELD_BY_TENSORS: Mapping[str, Sequence[HeldCase]] = {
    "MatMul.C2": _matrices(),
    "BatchNormalization.X.C3": _normalizations((), (1,), ()),
    "BatchNormalization.scale.C1": [
        *_normalizations((2, 3, 4), (2,), (1,), (4,), (1, 3), (0,), ()),
        *_normalizations((4,), (4,), (2,), ()),
    ],
    "Slice.C1": _slices(
        ([0], [4, 5], [0, 1], [1, 1]),
        ([0, 0], [4], [0, 1], [1, 1]),
        ([0, 0], [4, 5], [0], [1, 1]),
        ([0, 0], [4, 5], [0, 1], [1]),
        ([0, 0], [4, 5], [0, 1], [1, 1, 1]),
        ([0, 0], [4, 5], [], [1, 1]),
        ([0, 0], [4, 5], [0, 1], []),
        ([[0, 0]], [[4, 5]], [[0, 1]], [[1, 1]]),
        ([0, 0], [4, 5], [0, 1], [[1, 1]]),
        (0, 4, 0, 1),
        ([0], [4], [0], 1),
    ),
    "Slice.C3": _slices(([], [], [], []), ([0], [1], [0], [1]), shape=()),
    "Slice.A.C2": _slices(
        *(([0, 0], [4, 4], [0, axis], [1, 1]) for axis in (2, -3, 9, -9, 2**31 - 1))
    ),
    "Slice.A.C3": _slices(*(([0, 0], [4, 4], axes, [1, 1]) for axes in ([0, 0], [0, -2], [-1, 1]))),
    "Slice.K.C2": _slices(([0, 0], [4, 5], [0, 1], [1, 0]), ([0, 0], [4, 5], [0, 1], [0, -1])),
}
"""The cases by the rules' ids."""

HELD_BY_CONVOLUTIONS: Mapping[str, Sequence[HeldCase]] = {
    **_convolutions("Conv", "float", (10, 21)),
    **_convolutions("ConvInteger", "uint8", (21,)),
    "MaxPool.padding": _pools(),
    "Gemm.shapes": _products(),
    "LSTM.shapes": _recurrences(),
}
"""The cases by the rules' ids."""


HELD_CASES: Mapping[str, Sequence[HeldCase]] = {
    **HELD_BY_CONVOLUTIONS,
    **HELD_BY_TENSORS,
    **LAYOUT_CASES,
}
"""The cases by the rules' ids."""
