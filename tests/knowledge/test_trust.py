"""Answers of inference engines that are wrong in some run prove nothing.

Each graph was found with a PROVED obligation that a run breaks; the sizes that break it stand
beside it.
"""

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.profile.rule import Status
from support.graphs import parse, tensor

DOMAINS = {"sonnx": 1, "local": 1}

GRAPHS = {
    "squeeze without axes, (1, 3)": """
        (float[n, m] x) => (float[n, m] z) { a = Squeeze(x)  z = Div(a, x) }""",
    "function that is not inlined, (3)": """
        (float[n] x, float[7] c) => (float[7] z) { y = local.fun(x)  z = Div(y, c) }
        <domain: "local", opset_import: ["" : 17]>
        fun (a) => (b) {
            s = Constant<value_ints = [0]>()
            e = Constant<value_ints = [7]>()
            b = Slice(a, s, e)
        }""",
    "n against m behind a Broadcast, (1) and (3)": """
        (float[n] x, float[m] y, float[1] one) => (float[n] z) {
            bx, bo = sonnx.Broadcast(x, one)  s = Add(bx, y)  z = Div(s, bx)
        }""",
    "reshape to a computed size of 0, (3, 0) and (0, 0)": """
        (float[a, b] x, float[n, k] y) => (float[n, k] z) {
            t = Shape(y)  r = Reshape(x, t)  z = Div(r, y)
        }""",
    "size that went through bool": """
        (float[5] x, float[1] one) => (float[5] z) {
            t = Shape(x)  b = Cast<to = 9>(t)  i = Cast<to = 7>(b)
            e = Expand(one, i)  z = Div(e, x)
        }""",
    "loop of no iteration": """
        (float[n] x, int64 t) => (float[n] z) {
            go = Constant<value = bool {1}>()
            y = Loop(t, go) <body = b (int64 i, bool c) => (bool d, float[n] so) {
                d = Identity(c)  so = Identity(x)
            }>
            first = Constant<value_ints = [0]>()
            r = ReduceSum<keepdims = 0>(y, first)  z = Div(r, x)
        }""",
    "slope that is larger": """
        (float[n, 4, m] x, float[k, 4, l] s) => (float[n, 4, m] z) {
            p = PRelu(x, s)  z = Div(p, x)
        }""",
    "negative axis of size 0, (2, 0)": """
        (float[n, m] x, float[n, 1] y) => (float[n, 1] z) {
            last = Constant<value_ints = [-1]>()
            r = ReduceSum<keepdims = 1>(x, last)  z = Div(r, y)
        }""",
    "scalars that are none, (3) and (1)": """
        (float x, float y) => (float z) { z = Div(x, y) }""",
}


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())
def test_shapes_are_not_proved(graph: str) -> None:
    made = parse(graph, domains=DOMAINS)
    report = sonnx_ort.check(made, operators="default")
    (shapes,) = [o for o in report.obligations if o.rule.id == "Div.float.R1"]
    assert shapes.status is not Status.PROVED, shapes.evidence


def test_type_that_a_file_claims_of_a_constant_in_a_branch_is_not_believed() -> None:
    made = parse("""(bool c, int32[2] x) => (int32[2] z) {
        z = If(c) <
            then_branch = t () => (int32[2] a) <int32[2] k = {1, 0}> { a = Div(k, k) },
            else_branch = e () => (int32[2] b) { b = Identity(x) }
        >
    }""")
    made.graph.node[0].attribute[0].g.value_info.append(tensor("k", "float", [2]))
    assert [o.rule.id for o in sonnx_ort.check(made, operators="default").violations] == [
        "Div.int.C1"
    ]


def test_arithmetic_that_wraps_violates_nothing() -> None:
    made = parse(
        """(float[3] x, float[1] one) => (float[3] z) {
            a = Constant<value = int32[1] {65536}>()
            p = Mul(a, a)
            three = Constant<value = int32[1] {3}>()
            w = Add(p, three)
            i = Cast<to = 7>(w)
            e = Expand(one, i)
            z = Div(e, x)
        }""",
        domains=DOMAINS,
    )
    x = np.ones(3, np.float32)
    (result,) = sonnx_ort.InferenceSession(made).run(None, {"x": x, "one": x[:1]})
    np.testing.assert_array_equal(result, [1, 1, 1])
