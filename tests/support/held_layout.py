"""What breaks the rules of layout operators that ONNX Runtime holds itself.

Tensors are given with open sizes, with an open rank, and with declared sizes; what names sizes or
axes is computed or constant, and in older versions an attribute.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from support.held_case import HeldCase

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
