"""Graphs whose shapes ONNX Runtime computes otherwise than inference says, or its optimizer does.

What is so is what the original computes, at each level of optimization by itself; `check`, both
backends, and plain and own sessions are held to that.
"""

from dataclasses import dataclass

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.comparing.shrinking import Trial
from sonnx_ort.profile.rule import Status
from support.graphs import parse
from support.sessions import LEVELS
from support.soundness.kernel_truth import judge, operands_at_each_level

pytestmark = pytest.mark.usefixtures("without_log")

FLOAT = np.float32


def ones(*shape):
    return np.ones(shape, FLOAT)


@dataclass(frozen=True)
class Trap:
    """A graph whose last node is a Div or Sub, and a run of it.

    Attributes:
        name: What misleads.
        graph: Inputs and nodes in ONNX's text form; "[]" means that the rank is unknown.
        feeds: The feeds.
        shapes: Those of the last node's operands; None where they differ from level to level.
        opset: The version of the standard operators.
        scalars: The inputs that are declared as scalars.
    """

    name: str
    graph: str
    feeds: dict[str, object]
    shapes: tuple[tuple[int, ...], tuple[int, ...]] | None
    opset: int = 18
    scalars: tuple[str, ...] = ()


TRAPS = [
    Trap(
        "flag of -1, for which inference keeps what the kernel reduces",
        "(float[3, 2, 2] x, float[3, 2, 2] y) => (float[] z)"
        " { axes = Constant<value = int64[0] {}>()"
        " r = ReduceL2<keepdims = 0, noop_with_empty_axes = -1>(x, axes) z = Div(y, r) }",
        {"x": ones(3, 2, 2), "y": ones(3, 2, 2)},
        ((3, 2, 2), ()),
    ),
    Trap(
        "flag of -1, and the shape that the kernel gives",
        "(float[3, 2, 2] x, float y) => (float[] z)"
        " { axes = Constant<value = int64[0] {}>()"
        " r = ReduceL2<keepdims = 0, noop_with_empty_axes = -1>(x, axes) z = Div(y, r) }",
        {"x": ones(3, 2, 2), "y": ones()},
        ((), ()),
        scalars=("y",),
    ),
    Trap(
        "flag of 2, for which inference keeps what the kernel reduces",
        "(float[3, 3, 3] x, float[3, 3, 3] y) => (float[] z)"
        " { r = ReduceMax<keepdims = 1, noop_with_empty_axes = 2>(x) z = Div(y, r) }",
        {"x": ones(3, 3, 3), "y": ones(3, 3, 3)},
        ((3, 3, 3), (1, 1, 1)),
    ),
    Trap(
        "flag of 2, and the shape that the kernel gives",
        "(float[3, 3, 3] x, float[1, 1, 1] y) => (float[] z)"
        " { r = ReduceMax<keepdims = 1, noop_with_empty_axes = 2>(x) z = Div(y, r) }",
        {"x": ones(3, 3, 3), "y": ones(1, 1, 1)},
        ((1, 1, 1), (1, 1, 1)),
    ),
    Trap(
        "keepdims of 2",
        "(float[3, 4] x, float[3, 1] y) => (float[] z)"
        " { axes = Constant<value_ints = [1]>() r = ReduceSum<keepdims = 2>(x, axes)"
        " z = Div(y, r) }",
        {"x": ones(3, 4), "y": ones(3, 1)},
        ((3, 1), (3,)),
    ),
    Trap(
        "ceil_mode leaves out a window that begins behind the end",
        "(float[2, 3, 3, 7] x, float[2, 3, 2, 7] y) => (float[] z)"
        " { p = MaxPool<kernel_shape = [2, 1], strides = [3, 1], ceil_mode = 1>(x)"
        " z = Div(p, y) }",
        {"x": ones(2, 3, 3, 7), "y": ones(2, 3, 2, 7)},
        ((2, 3, 1, 7), (2, 3, 2, 7)),
    ),
    Trap(
        "ceil_mode leaves out a window that begins behind an open end",
        "(float[2, 3, n, 7] x, float[2, 3, 2, 7] y) => (float[] z)"
        " { p = MaxPool<kernel_shape = [2, 1], strides = [3, 1], ceil_mode = 1>(x)"
        " z = Div(p, y) }",
        {"x": ones(2, 3, 3, 7), "y": ones(2, 3, 2, 7)},
        ((2, 3, 1, 7), (2, 3, 2, 7)),
    ),
    Trap(
        "ceil_mode and dilations in three dimensions",
        "(float[2, 2, 16, 16, 16] x, float[2, 2, 9, 9, 9] y) => (float[] z)"
        " { p = MaxPool<kernel_shape = [1, 1, 1], strides = [2, 2, 2], dilations = [2, 2, 2],"
        " ceil_mode = 1>(x) q = Concat<axis = 0>(p, p) z = Div(p, y) }",
        {"x": ones(2, 2, 16, 16, 16), "y": ones(2, 2, 9, 9, 9)},
        ((2, 2, 8, 8, 8), (2, 2, 9, 9, 9)),
    ),
    Trap(
        "auto_pad pads for a window that is not dilated",
        "(float[0, 1, 9, 9, 9] x, float[0, 1, 9, 9, 9] y) => (float[] z)"
        " { p = AveragePool<kernel_shape = [2, 2, 2], dilations = [2, 2, 2],"
        ' auto_pad = "SAME_UPPER">(x) z = Div(p, y) }',
        {"x": ones(0, 1, 9, 9, 9), "y": ones(0, 1, 9, 9, 9)},
        ((0, 1, 8, 8, 8), (0, 1, 9, 9, 9)),
        opset=19,
    ),
    Trap(
        "auto_pad pads for a window that is not dilated, and the shape that the kernel gives",
        "(float[0, 1, 9, 9, 9] x, float[0, 1, 8, 8, 8] y) => (float[] z)"
        " { p = AveragePool<kernel_shape = [2, 2, 2], dilations = [2, 2, 2],"
        ' auto_pad = "SAME_UPPER">(x) z = Div(p, y) }',
        {"x": ones(0, 1, 9, 9, 9), "y": ones(0, 1, 8, 8, 8)},
        ((0, 1, 8, 8, 8), (0, 1, 8, 8, 8)),
        opset=19,
    ),
    Trap(
        "auto_pad makes nothing of pads",
        "(float[1, 3, 3, 4] x, float[1, 3, 3, 4] y) => (float[] z)"
        ' { p = LpPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], auto_pad = "VALID">(x)'
        " z = Div(p, y) }",
        {"x": ones(1, 3, 3, 4), "y": ones(1, 3, 3, 4)},
        ((1, 3, 1, 2), (1, 3, 3, 4)),
    ),
    Trap(
        "window larger than the tensor, of which a kernel rounds the number towards zero",
        "(float[1, 1, n] x, float[1, 1, 1] y) => (float[] z)"
        " { p = LpPool<kernel_shape = [3], strides = [3]>(x) z = Div(p, y) }",
        {"x": ones(1, 1, 1), "y": ones(1, 1, 1)},
        ((1, 1, 1), (1, 1, 1)),
    ),
    Trap(
        "Slice backwards from the largest number",
        "(float[1] x, float[1] y) => (float[] z)"
        " { s = Constant<value_ints = [2]>() e = Constant<value_ints = [2147483647]>()"
        " a = Constant<value_ints = [0]>() k = Constant<value_ints = [-2]>()"
        " p = Slice(x, s, e, a, k) z = Div(y, p) }",
        {"x": ones(1), "y": ones(1)},
        ((1,), (1,)),
    ),
    Trap(
        "what a Loop collects without an iteration has the declared shape",
        "(float[1] x, int64 t, float[a, b] y) => (float[] z)"
        ' { k, r = Loop(t, "", x) <body = b (int64 i, bool go, float[1] s)'
        " => (bool still, float[1] o, float[1] c)"
        " { still = Identity(go) o = Add(s, s) c = Identity(o) }> z = Div(r, y) }",
        {"x": ones(1), "t": np.array(0), "y": ones(0, 1)},
        ((0, 1), (0, 1)),
        scalars=("t", "i", "go", "still"),
        opset=11,
    ),
    Trap(
        "a ratio that is computed takes the place of a Dropout",
        "(float[3, 4] x, float[3, 4] y, float[] r) => (float[] z)"
        " { s = Add(r, r) d = Dropout(x, s) z = Div(d, y) }",
        {"x": ones(3, 4), "y": ones(3, 4), "r": np.zeros((), FLOAT)},
        None,
        opset=13,
    ),
    Trap(
        "a ratio that is an input takes no place",
        "(float[3, 4] x, float[3, 4] y, float r) => (float[] z)"
        " { d = Dropout(x, r) z = Div(d, y) }",
        {"x": ones(3, 4), "y": ones(3, 4), "r": np.zeros((), FLOAT)},
        ((3, 4), (3, 4)),
        opset=13,
        scalars=("r",),
    ),
    Trap(
        "a ratio that is an operand too takes no place",
        "(float[3, 4] x, float r, bool t) => (float[] z) { d = Dropout(x, r, t) z = Div(r, d) }",
        {"x": ones(3, 4), "r": np.zeros((), FLOAT), "t": np.array(False)},
        ((), (3, 4)),
        opset=13,
        scalars=("r", "t"),
    ),
]


def made(trap):
    model = parse(f"{trap.graph}", opset=trap.opset)
    subgraphs = [attribute.g for node in model.graph.node for attribute in node.attribute]
    for value in (v for graph in (model.graph, *subgraphs) for v in (*graph.input, *graph.output)):
        if value.name in trap.scalars:
            value.type.tensor_type.shape.SetInParent()
    model.graph.node[-1].name = "trapped"
    return Trial(model, (trap.feeds,))


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_kernels_contradict_nothing(trap):
    counts = judge(made(trap))
    assert counts["kept"] + counts["broken"] == len(LEVELS), counts


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_kernels_still_do_so(trap):
    shapes = {tuple(a.shape for a in pair) for pair in operands_at_each_level(made(trap)).values()}
    assert len(shapes) > 1 if trap.shapes is None else shapes == {trap.shapes}


@pytest.mark.parametrize("value", [-1, 2])
def test_attribute_beyond_its_document_leaves_the_shape_open(value):
    graph = (
        "(float[3, 2] x) => (float[] z) { a = Constant<value_ints = [0]>()"
        f" r = ReduceSum<keepdims = {value}>(x, a) z = Div(r, r) }}"
    )
    model = parse(f"{graph}", opset=18)
    (rule,) = [
        o
        for o in sonnx_ort.check(model, operators="default").obligations
        if o.rule.id == "Div.float.R1"
    ]
    assert rule.status is Status.RUNTIME
    assert rule.operands[0].shape is None
