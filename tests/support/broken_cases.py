"""What breaks the rules of convolutions and layout operators that a model may do without.

Each case is the rules' ids, the expression of a node, and its operands by type.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from support.held_cases import LSTM_SHAPES

Array = Any
Case = tuple[str, str, Sequence[tuple[str, Array]]]

NAN, INFINITY = float("nan"), float("inf")
_POOL = "kernel_shape = [2, 2]"
_X, _W = (1, 4, 6, 6), (6, 4, 3, 3)


def broken_convolutions() -> Iterator[Case]:
    """The cases of Conv, ConvInteger, MaxPool, Gemm and LSTM."""
    for kind in ("float", "float16"):
        yield from _of_convolution("Conv", kind)
    yield from _of_convolution("ConvInteger", "uint8")
    yield from _zero_points()
    for kind in ("float", "float16", "double", "int8", "uint8"):
        yield from _pools(kind)
    for kind in ("float", "float16", "double"):
        yield from _products(kind)
    for kind in ("float", "float16"):
        yield from _recurrences(kind)


def _ones(kind: str, *shapes: tuple[int, ...]) -> list[tuple[str, Array]]:
    return [(kind, np.ones(shape, np.int64)) for shape in shapes]


def _of_convolution(operator: str, kind: str) -> Iterator[Case]:
    def case(rule: str, attributes: str, x: tuple[int, ...] = _X, w: tuple[int, ...] = _W) -> Case:
        return f"{operator}.{rule}", f"{operator} {attributes}(a_, b_)", _ones(kind, x, w)

    yield case("R2", "")
    for mode in ("VALID", "SAME_UPPER", "SAME_LOWER", "SOME"):
        yield case("R2", f'<auto_pad = "{mode}"> ')
    for group in (0, -1, 3):
        yield case("group", f"<group = {group}> ")
    yield case("R3", "<group = 2> ", w=(6, 2, 3, 3))
    for dilations in ("0, 1", "-1, 1", "1, -3", "1", "2, 2, 2"):
        yield case("dilations", f"<dilations = [{dilations}]> ")
    for kernel in ("2, 2", "3", "3, 3, 3", "0, 3"):
        yield case("kernel_shape", f"<kernel_shape = [{kernel}]> ")
    for outputs in (2, 6):
        yield case("outputs", "<group = 4> ", w=(outputs, 1, 3, 3))
    for sizes in ((2, 6), (1, 1), (0, 6), (0, 0)):
        yield case("fits", "", x=(1, 4, *sizes))
    yield case("fits", "<strides = [3, 3], dilations = [9, 9]> ")


def _zero_points() -> Iterator[Case]:
    operands = _ones("uint8", _X, _W)
    for shape in ((1,), (4,), (1, 1), (0,)):
        (zero_point,) = _ones("uint8", shape)
        point = "ConvInteger.x_zero_point", "ConvInteger (a_, b_, c_)"
        yield (*point, [*operands, zero_point])
        points = "ConvInteger.w_zero_point", "ConvInteger (a_, b_, c_, d_)"
        yield (*points, [*operands, *_ones("uint8", ()), zero_point])
    pair = [*_ones("int8", _X), *_ones("uint8", _W)]
    yield "ConvInteger.signs", "ConvInteger (a_, b_)", pair
    padded = "ConvInteger.C1", "ConvInteger <pads = [1, 0, 0, 2]> (a_, b_, c_)"
    yield (*padded, [*operands, *_ones("uint8", ())])


def _pools(kind: str) -> Iterator[Case]:
    for rule, attributes, x in (*_attributes_of_pools(), *_sizes_of_pools()):
        yield f"MaxPool.{rule}", f"MaxPool <{_POOL}{attributes}> (a_)", [(kind, x)]
    if kind in ("float", "float16", "double"):
        for line in ([NAN, 1], [1, NAN], [NAN, NAN], [-INFINITY, -INFINITY], [-INFINITY, 1]):
            x = np.array([[[line, line]]])
            yield "MaxPool.float.C2", f"MaxPool <{_POOL}> (a_)", [(kind, x)]


def _attributes_of_pools() -> Iterator[tuple[str, str, Array]]:
    def case(rule: str, attributes: str) -> tuple[str, str, Array]:
        return rule, attributes, np.ones((1, 2, 6, 6), np.int64)

    yield case("R2 MaxPool.R2.storage_order MaxPool.R2.dilations", "")
    for mode in ("VALID", "SAME_UPPER", "SAME_LOWER", "SOME"):
        yield case("R3", f', auto_pad = "{mode}"')
    for value in (1, 2, -1):
        yield case("R4", f", ceil_mode = {value}")
        yield case("R5", f", storage_order = {value}")
    for dilations in ("0, 1", "-1, 1", "1, -3", "1", "2, 2, 2"):
        yield case("dilations", f", dilations = [{dilations}]")
    for pads in ("-1, 0, 0, 0", "0, 0, 0, -1", "-3, -3, -3, -3", "1", "1, 1", "0, 0, 0, 0, 0"):
        yield case("pads", f", pads = [{pads}]")
    for pads in ("2, 0, 0, 0", "0, 0, 9, 9", f"{1 << 40}, 0, 0, 0"):
        yield case("padding", f", pads = [{pads}]")


def _sizes_of_pools() -> Iterator[tuple[str, str, Array]]:
    for strides in (1, 2):
        for sizes in ((1, 1), (1, 6), (0, 6), (0, 0)):
            small = np.ones((1, 2, *sizes), np.int64)
            yield "fits", f", strides = [{strides}, {strides}]", small
    one = np.ones((1, 1, 1, 1), np.int64)
    yield "C1", ", dilations = [2, 2], pads = [1, 1, 1, 1]", one


def _products(kind: str) -> Iterator[Case]:
    a, b, c = (2, 3), (3, 4), (2, 4)

    def case(rule: str, attributes: str, *shapes: tuple[int, ...]) -> Case:
        names = ", ".join(f"{name}_" for name in "abc"[: len(shapes)])
        return f"Gemm.{rule}", f"Gemm {attributes}({names})", _ones(kind, *shapes)

    for one, other in (((3,), b), ((), b), (a, (3,)), (a, ()), ((1, 2, 3), b), (a, (1, 3, 4))):
        yield case("R1", "", one, other, (1, 4))
    yield case("R1", "", a, b, (1, 2, 4))
    yield case("R2.alpha", "<alpha = 2.0> ", a, b, c)
    yield case("R2.beta", "<beta = 0.5> ", a, b, c)
    yield case("R2.transA", "<transA = 1> ", (3, 2), b, c)
    yield case("R2.transB", "<transB = 1> ", a, (4, 3), c)
    yield case("R4", "", a, b)
    for shape in ((1, 4), (2, 1), (4,), (1,), (), (3, 4), (0, 4), (2, 5)):
        yield case("R3", "", a, b, shape)
    for one, other in ((a, (4, 4)), ((2, 1), b), ((2, 0), b), (a, (0, 4))):
        yield case("shapes", "", one, other, c)


def _recurrences(kind: str) -> Iterator[Case]:
    def case(rule: str, attributes: str = "", **others: tuple[int, ...] | None) -> Case:
        given = {n: s for n, s in {**LSTM_SHAPES, **others}.items() if s is not None}
        letters = dict(zip(given, "abcdefgh", strict=False))
        names = [f"{letters[name]}_" if name in letters else "" for name in LSTM_SHAPES]
        operands = [
            ("int32" if name == "sequence_lens" else kind, np.ones(shape, np.int64))
            for name, shape in given.items()
        ]
        call = f"LSTM <hidden_size = 3{attributes}> ({', '.join(names)})"
        return f"LSTM.{rule}", call, operands

    yield case("constant")
    for name in ("B", "sequence_lens", "initial_h", "initial_c", "P"):
        yield case(name, **{name: None})
        yield case("shapes", **{name: (1, 7)})
        yield case("shapes", **{name: ()})
    for first in ("Tanh", "LeakyRelu", "Affine", "tanh", "Some"):
        yield case("activations", f', activations = ["{first}", "Tanh", "Tanh"]')
    yield case("activations", ', activations = ["Sigmoid"]')
    yield case("sequences", X=(0, 2, 4))
    for clip in ("3.0", "0.0", "-1.0"):
        yield case("clip", f", clip = {clip}")
    for value in (1, 2, -1):
        yield case("input_forget", f", input_forget = {value}")
        yield case("layout", f", layout = {value}")


_TYPES = ("float16", "bfloat16", "float", "double", "int8", "int32", "int64", "uint8", "uint64")
_LINE, _EMPTY = [[[1], [0], [1]]], [[], []]


def broken_layout() -> Iterator[Case]:
    """The cases of layout operators, in the types of tensors."""
    for kind in _TYPES:
        line = (kind, _LINE)
        for axis in (-1, -3):
            yield "Concat.R1", f"Concat <axis = {axis}> (a_, b_)", [line, line]
        for allowzero, sizes in ((2, [3, 1]), (-1, [0, 3]), (2**40, [-1]), (7, [0, 0, 0])):
            reshape = f"Reshape <allowzero = {allowzero}> (a_, b_)"
            yield "Reshape.allowzero.C1", reshape, [line, ("int64", sizes)]
        for allowzero, sizes in ((0, [-1, 2]), (0, [-1]), (0, [0, -1]), (1, [0, -1]), (1, [-1, 0])):
            reshape = f"Reshape <allowzero = {allowzero}> (a_, b_)"
            yield "Reshape.allowzero.C3", reshape, [(kind, _EMPTY), ("int64", sizes)]
        for axes in ([0, 0], [0, -3], [2, 0, -1], [-1, -1]):
            yield "Squeeze.A.C2", "Squeeze(a_, b_)", [line, ("int64", axes)]
        yield "Squeeze.A", "Squeeze(a_)", [line]
        yield "Squeeze.A", "Squeeze(a_)", [(kind, _EMPTY)]
        yield "Squeeze.A.names", "Squeeze(a_, b_)", [line, ("int64", [])]
        yield "Squeeze.axes", "Squeeze(a_)", [line]
        yield "Squeeze.axes.names", "Squeeze <axes: ints = []> (a_)", [line]
        for axes in (0, -1):
            yield "Unsqueeze.A.rank", "Unsqueeze(a_, b_)", [line, ("int64", axes)]
    for kind in ("float", "double", "int16", "int32", "int64"):
        for start, limit, step in (([0], 9, 2), (0, [9], 2), (0, 9, [2]), ([0], [9], [2])):
            operands = [(kind, start), (kind, limit), (kind, step)]
            yield "Range.scalars", "Range(a_, b_, c_)", operands
    for said in (
        "value_float = 1.5",
        "value_ints = [1, 2]",
        "value_floats = [1.5]",
        "value_int = 3",
    ):
        yield "Constant.R1", f"Constant <{said}> ()", []
