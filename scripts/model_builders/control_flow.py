"""Div and Sub in the bodies of If, Loop and Scan, and in a model-local function."""

from collections.abc import Iterator, Sequence

import numpy as np
import onnx
from onnx import helper

from model_builders import graphs
from model_builders.bundle import (
    PRELIMINARY,
    TYPED,
    Array,
    Bundle,
    breaks,
    bundle,
    case,
    float32,
    gives,
    int32,
)
from model_builders.expected import differences, quotients
from model_builders.graphs import NODE_NAMES

_DIVIDE, _SUBTRACT = NODE_NAMES["Div"], NODE_NAMES["Sub"]
_TRUE, _FALSE = np.array(True), np.array(False)
_A, _B, _SHORT = float32([6, 9, 35]), float32([3, 3, 5]), float32([3])
_ONES = int32([1, 1, 1])


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    yield _if()
    yield _loop()
    yield _if_in_loop()
    yield _scan()
    yield _function()


def _if() -> Bundle:
    out = [graphs.value("branch_C", np.float32, ("n",))]
    quotient = graphs.graph([graphs.node("Div", "A B", "branch_C")], [], out, name="then")
    difference = graphs.graph([graphs.node("Sub", "A B", "branch_C")], [], out, name="else")
    choose = graphs.node(
        "If", "condition", "C", "choose", then_branch=quotient, else_branch=difference
    )
    main = graphs.graph(
        [choose],
        [
            graphs.value("condition", np.bool_, ()),
            graphs.value("A", np.float32, ("n",)),
            graphs.value("B", np.float32, ("n",)),
        ],
        [graphs.value("C", np.float32, ("n",))],
    )
    then, otherwise = {"condition": _TRUE, "A": _A}, {"condition": _FALSE, "A": _A}
    return bundle(
        "div_in_if",
        "Div and Sub in the branches of If; only the branch that runs can break a rule.",
        graphs.model(main),
        [
            case("then", TYPED, gives(C=float32([2, 3, 7])), B=_B, **then),
            case("else", TYPED, gives(C=float32([3, 6, 30])), B=_B, **otherwise),
            case(
                "then 3 and 1",
                TYPED,
                breaks("Div.float.R1", _DIVIDE, _A, _SHORT),
                B=_SHORT,
                **then,
            ),
            case(
                "else 3 and 1",
                PRELIMINARY,
                breaks("Sub.R1", _SUBTRACT, _A, _SHORT),
                B=_SHORT,
                **otherwise,
            ),
        ],
    )


def _loop() -> Bundle:
    nodes = [graphs.node("Div", "x d", "x_next"), graphs.node("Sub", "d ones", "d_next")]
    x, d, low = int32([100, -100, 7]), int32([5, 4, 3]), int32([5, 2, 3])
    x_last, d_last = _iterate(x, d, 3)
    broken = breaks("Div.int.C1", _DIVIDE, *_iterate(x, low, 2), (1,))
    return bundle(
        "div_in_loop",
        "Div and Sub in the body of Loop: x / d, then d - 1, three times.",
        _loop_model(nodes),
        [
            case("typed", TYPED, gives(C=x_last, D_last=d_last), X=x, D=d),
            case("x/0 in the third iteration", TYPED, broken, X=x, D=low),
        ],
    )


def _if_in_loop() -> Bundle:
    out = [graphs.value("branch_x", np.int32, (3,))]
    divide = graphs.graph([graphs.node("Div", "x d", "branch_x")], [], out, name="then")
    keep = graphs.graph([graphs.node("Identity", "x", "branch_x")], [], out, name="else")
    nodes = [
        graphs.node("Greater", "iteration zero", "later"),
        graphs.node("If", "later", "x_next", "choose", then_branch=divide, else_branch=keep),
        graphs.node("Identity", "d", "d_next"),
    ]
    x, d, zero = int32([100, -100, 7]), int32([5, 4, 3]), int32([0, 4, 3])
    x_last = quotients(quotients(x, d), d)
    broken = breaks("Div.R5", _DIVIDE, x, zero, (0,))
    return bundle(
        "div_in_if_in_loop",
        "A Div two graphs deep, in an If in a Loop; the first of three iterations skips it.",
        _loop_model(nodes),
        [
            case("typed", TYPED, gives(C=x_last, D_last=d), X=x, D=d),
            case("x/0 preliminary", PRELIMINARY, broken, X=x, D=zero),
        ],
    )


def _iterate(x: Array, d: Array, count: int) -> tuple[Array, Array]:
    for _ in range(count):
        x, d = quotients(x, d), differences(d, _ONES)
    return x, d


def _loop_model(nodes: Sequence[onnx.NodeProto]) -> onnx.ModelProto:
    """Make a Loop of three iterations whose nodes compute x_next and d_next from x and d."""
    body = graphs.graph(
        [graphs.node("Identity", "go_on", "go_on_next"), *nodes],
        [
            graphs.value("iteration", np.int64, ()),
            graphs.value("go_on", np.bool_, ()),
            *(graphs.value(name, np.int32, (3,)) for name in ("x", "d")),
        ],
        [
            graphs.value("go_on_next", np.bool_, ()),
            *(graphs.value(name, np.int32, (3,)) for name in ("x_next", "d_next")),
        ],
        name="body",
    )
    main = graphs.graph(
        [graphs.node("Loop", "three  X D", "C D_last", "repeat", body=body)],
        [graphs.value(name, np.int32, (3,)) for name in ("X", "D")],
        [graphs.value(name, np.int32, (3,)) for name in ("C", "D_last")],
        [
            graphs.constant("zero", np.array(0, np.int64)),
            graphs.constant("three", np.array(3, np.int64)),
            graphs.constant("ones", _ONES),
        ],
    )
    return graphs.model(main)


def _scan() -> Bundle:
    row = ("n",)
    body = graphs.graph(
        [graphs.node("Sub", "rest row", "rest_next"), graphs.node("Identity", "rest_next", "kept")],
        [graphs.value("rest", np.int32, row), graphs.value("row", np.int32, row)],
        [graphs.value("rest_next", np.int32, row), graphs.value("kept", np.int32, row)],
        name="body",
    )
    main = graphs.graph(
        [graphs.node("Scan", "A B", "C rests", "repeat", body=body, num_scan_inputs=1)],
        [graphs.value("A", np.int32, row), graphs.value("B", np.int32, ("rows", "n"))],
        [graphs.value("C", np.int32, row), graphs.value("rests", np.int32, ("rows", "n"))],
    )
    rows, one = int32([[1, 2, 3], [10, 20, 30]]), int32([100])
    return bundle(
        "sub_in_scan",
        "Sub in the body of Scan: each row of B is taken off A.",
        graphs.model(main),
        [
            case(
                "typed",
                TYPED,
                gives(C=int32([89, 78, 67]), rests=int32([[99, 98, 97], [89, 78, 67]])),
                A=int32([100, 100, 100]),
                B=rows,
            ),
            case(
                "1 and 3",
                TYPED,
                breaks("Sub.int.R1", _SUBTRACT, one, rows[0]),
                A=one,
                B=rows,
            ),
        ],
    )


def _function() -> Bundle:
    opsets = [helper.make_opsetid("", graphs.OPSET)]
    ratio = helper.make_function(
        "example", "Ratio", ["x", "y"], ["z"], [graphs.node("Div", "x y", "z")], opsets
    )
    main = graphs.graph(
        [
            graphs.node("Ratio", "A B", "first", "first_call", "example"),
            graphs.node("Ratio", "first D", "C", "second_call", "example"),
        ],
        [graphs.value(name, np.float32, ("n",)) for name in "ABD"],
        [graphs.value("C", np.float32, ("n",))],
    )
    whole = {"A": _A, "B": _B}
    second = quotients(_A, _B)
    return bundle(
        "div_in_function",
        "A Div in a model-local function that is called twice; the error names the call.",
        graphs.model(main, functions=[ratio], domains={"example": 1}),
        [
            case("typed", TYPED, gives(C=float32([1, 1, 1])), D=second, **whole),
            case(
                "second call 3 and 1",
                TYPED,
                breaks("Div.float.R1", "second_call/divide", second, _SHORT),
                D=_SHORT,
                **whole,
            ),
        ],
    )
