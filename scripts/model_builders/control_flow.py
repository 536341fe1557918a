"""Div and Sub in the subgraphs of If, Loop and Scan, and in a model-local function."""

from collections.abc import Iterator

import numpy as np
import onnx

from model_builders import bundle as make
from model_builders.bundle import Array, Bundle, bundle
from model_builders.graphs import parse
from sonnx_ort.models import Outputs

_A, _B, _SHORT = make.float32([6, 9, 35]), make.float32([3, 3, 5]), make.float32([3])
_ONES = make.int32([1, 1, 1])


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    refused = make.outcome("Sub", _A, _SHORT, edition=make.PRELIMINARY)
    then, otherwise = ({"condition": np.array(taken), "A": _A} for taken in (True, False))
    yield bundle(
        "div_in_if",
        "Div and Sub in the branches of If; only the branch that runs can break a rule.",
        parse("""(bool condition, float[n] A, float[n] B) => (float[n] C) {
            [choose] C = If (condition) <
                then_branch = then () => (float[n] branch_C) { [divide] branch_C = Div(A, B) },
                else_branch = else () => (float[n] branch_C) { [subtract] branch_C = Sub(A, B) }
            >
        }"""),
        [
            make.case("then", make.float32([2, 3, 7]), B=_B, **then),
            make.case("else", make.float32([3, 6, 30]), B=_B, **otherwise),
            make.case("then 3 and 1", make.outcome("Div", _A, _SHORT), B=_SHORT, **then),
            make.case("else 3 and 1", refused, make.PRELIMINARY, B=_SHORT, **otherwise),
        ],
    )
    x, d, low = make.int32([100, -100, 7]), make.int32([5, 4, 3]), make.int32([5, 2, 3])
    x_last, d_last = _iterate(x, d, 3)
    refused = make.outcome("Div", *_iterate(x, low, 2))
    yield bundle(
        "div_in_loop",
        "Div and Sub in the body of Loop: x / d, then d - 1, three times.",
        _loop_model("[divide] x_next = Div(x, d) [subtract] d_next = Sub(d, ones)"),
        [
            make.case("typed", Outputs({"C": x_last, "D_last": d_last}), X=x, D=d),
            make.case("x/0 in the third iteration", refused, X=x, D=low),
        ],
    )
    x, d, zero = make.int32([100, -100, 7]), make.int32([5, 4, 3]), make.int32([0, 4, 3])
    expected = Outputs({"C": make.quotients(make.quotients(x, d), d), "D_last": d})
    refused = make.outcome("Div", x, zero, edition=make.PRELIMINARY)
    yield bundle(
        "div_in_if_in_loop",
        "A Div two graphs deep, in an If in a Loop; the first of three iterations skips it.",
        _loop_model("""
            later = Greater(iteration, zero)
            [choose] x_next = If (later) <
                then_branch = then () => (int32[3] branch_x) { [divide] branch_x = Div(x, d) },
                else_branch = else () => (int32[3] branch_x) { branch_x = Identity(x) }
            >
            d_next = Identity(d)
        """),
        [
            make.case("typed", expected, X=x, D=d),
            make.case("x/0 preliminary", refused, make.PRELIMINARY, X=x, D=zero),
        ],
    )
    a, rows, one = (
        make.int32([100, 100, 100]),
        make.int32([[1, 2, 3], [10, 20, 30]]),
        make.int32([100]),
    )
    rests = make.int32([[99, 98, 97], [89, 78, 67]])
    yield bundle(
        "sub_in_scan",
        "Sub in the body of Scan: each row of B is taken off A.",
        parse("""(int32[n] A, int32[rows,n] B) => (int32[n] C, int32[rows,n] rests) {
            [repeat] C, rests = Scan (A, B) <
                body = body (int32[n] rest, int32[n] row) => (int32[n] rest_next, int32[n] kept) {
                    [subtract] rest_next = Sub(rest, row)
                    kept = Identity(rest_next)
                },
                num_scan_inputs = 1
            >
        }"""),
        [
            make.case("typed", Outputs({"C": rests[-1], "rests": rests}), A=a, B=rows),
            make.case("1 and 3", make.outcome("Sub", one, rows[0]), A=one, B=rows),
        ],
    )
    second = make.quotients(_A, _B)
    refused = make.outcome("Div", second, _SHORT, node="second_call/divide")
    yield bundle(
        "div_in_function",
        "A Div in a model-local function that is called twice; the error names the call.",
        parse(
            """(float[n] A, float[n] B, float[n] D) => (float[n] C) {
                [first_call] first = example.Ratio(A, B)
                [second_call] C = example.Ratio(first, D)
            }
            <domain: "example", opset_import: ["": 17]>
            Ratio (x, y) => (z) { [divide] z = Div(x, y) }""",
            domains={"example": 1},
        ),
        [
            make.case("typed", make.float32([1, 1, 1]), D=second, A=_A, B=_B),
            make.case("second call 3 and 1", refused, D=_SHORT, A=_A, B=_B),
        ],
    )


def _iterate(x: Array, d: Array, count: int) -> tuple[Array, Array]:
    for _ in range(count):
        x, d = make.quotients(x, d), make.differences(d, _ONES)
    return x, d


def _loop_model(nodes: str) -> onnx.ModelProto:
    """Make a Loop of three iterations whose nodes compute x_next and d_next from x and d."""
    zero, three = np.array(0, np.int64), np.array(3, np.int64)
    return parse(
        f"""(int32[3] X, int32[3] D) => (int32[3] C, int32[3] D_last) {{
            [repeat] C, D_last = Loop (three, , X, D) <body = body (
                int64 iteration, bool go_on, int32[3] x, int32[3] d
            ) => (bool go_on_next, int32[3] x_next, int32[3] d_next) {{
                go_on_next = Identity(go_on)
                {nodes}
            }}>
        }}""",
        constants={"zero": zero, "three": three, "ones": _ONES},
    )
