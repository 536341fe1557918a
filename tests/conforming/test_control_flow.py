"""Loops and Scans of a known number of steps are written as the nodes of all steps."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.conformed import conformed, reasons, violated
from support.graphs import parse
from support.sessions import on_one_thread

Arrays = Mapping[str, npt.NDArray[np.generic]]
X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2

LOOP = "z{more} = Loop <body = b (int64 i, bool c, float[2,3] s) => (bool d, float[2,3] t{outs})"
BODY = "d = Identity(c) k = Cast<to = 1>(i) y = Mul(s, s) t = Sub(y, x)"


def loop(
    body: str = BODY, trips: int | None = 3, go: bool = True, scanned: bool = False
) -> onnx.ModelProto:
    """A Loop whose state begins with x."""
    head = LOOP.format(more=", w" if scanned else "", outs=", float[2,3] r" if scanned else "")
    results = "float[2,3] z" + (", float[n,2,3] w" if scanned else "")
    given = {"trips": np.array(trips), "go": np.array(go)} if trips is not None else {}
    inputs = "float[2,3] x" + ("" if given else ", int64 trips, bool go")
    return parse(
        f"({inputs}) => ({results}) {{ {head} {{ {body} }}> (trips, go, x) }}",
        constants=given,
        opset=17,
    )


def scan(attributes: str, element: str, rows: str = "2") -> onnx.ModelProto:
    """A Scan that adds elements of x to its state, and gives each sum."""
    return parse(
        f"(float[{rows},3] x, float[{element}] s) => (float[a] z, float[b,c] w) {{"
        f" z, w = Scan <num_scan_inputs = 1, {attributes}"
        f" body = b (float[{element}] u, float[{element}] e) =>"
        f" (float[{element}] v, float[{element}] r)"
        " { v = Add(u, e) r = Neg(v) }> (s, x) }",
        opset=17,
    )


def counting(
    end: str, kind: str = "int32", first: str = "{0}", ends: str = "{4}", trips: str = ""
) -> onnx.ModelProto:
    """A Loop that counts its state k, and that a condition on k, or on n = k + 1, ends."""
    more = f"trips = Constant<value = int64 {trips}>() " if trips else ""
    return parse(
        f"(float[2,3] x) => (float[2,3] z) {{ {more}"
        f" one = Constant<value = {kind} {{1}}>() last = Constant<value = {kind} {ends}>()"
        f" first = Constant<value = {kind} {first}>()"
        " go = Less(first, last)"
        f" u, z = Loop <body = b (int64 i, bool c, {kind} k, float[2,3] s)"
        f" => (bool d, {kind} n, float[2,3] t) {{ n = Add(k, one) {end} t = Mul(s, x) }}>"
        f" ({'trips' if trips else ''}, go, first, x) }}",
        opset=17,
    )


def outputs(model: onnx.ModelProto, feeds: Arrays) -> list[tuple[object, bytes]]:
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    return [(array.shape, array.tobytes()) for array in session.run(None, dict(feeds))]


STACKED = f"{BODY} r = Abs(y)"
UNROLLED: dict[str, tuple[onnx.ModelProto, Arrays]] = {
    "a state": (loop(), {"x": X}),
    "a state and what is stacked": (loop(STACKED, scanned=True), {"x": X}),
    "a state that stays": (loop("d = Identity(c) t = Identity(s)"), {"x": X}),
    "a condition that is true": (
        loop("d = Constant<value = bool {1}>() t = Neg(s)"), {"x": X}),
    "the number of the step": (
        loop("d = Identity(c) k = Cast<to = 1>(i) n = Constant<value = int64[2] {2, 3}>()"
            " o = Expand(k, n) t = Add(s, o)"), {"x": X}),
    "a counter that a condition ends": (counting("d = Less(n, last)"), {"x": X}),
    "a counter of floats": (counting("d = LessOrEqual(n, last)", "float", "{-2.0}", "{0.0}"),
        {"x": X}),
    "a counter that ends before the trips": (
        counting("d = Less(n, last)", trips="{9000000000000000000}"), {"x": X}),
    "trips that end before the counter": (counting("d = Less(k, last)", trips="{2}"), {"x": X}),
    "a flag of the counter": (
        counting("e = Equal(k, last) f = Cast<to = 6>(e) g = Cast<to = 9>(f) d = Not(g)"),
        {"x": X}),
    "elements of the first axis": (scan("", "3"), {"x": X, "s": X[0]}),
    "elements of the last axis": (
        scan("scan_input_axes = [-1], scan_output_axes = [1],", "2"), {"x": X, "s": X[:, 0]}),
}  # fmt: skip


@pytest.mark.parametrize("name", UNROLLED)
def test_all_steps_give_the_same_bits(name: str) -> None:
    model, feeds = UNROLLED[name]
    made = conformed(model)
    assert {node.op_type for node in made.graph.node}.isdisjoint({"Loop", "Scan"})
    assert outputs(made, feeds) == outputs(model, feeds)


def test_unrolled_loop_keeps_the_profile() -> None:
    assert violated(conformed(loop("d = Identity(c) y = Mul(s, s) t = Sub(y, x)"))) == set()


NESTED = {
    "a loop": ("Mul", 6, ("m = Constant<value = int64 {2}>() d = Identity(c) t = Loop <body = e"
        " (int64 j, bool f, float[2,3] p) => (bool g, float[2,3] q)"
        " { g = Identity(f) q = Mul(p, x) }> (m, c, s)")),
    "a branch": ("If", 3, (
        "d = Identity(c) h = ReduceSum<keepdims = 0>(s) n = Constant<value = float {0.0}>()"
        " l = Less(h, n) t = If(l) <then_branch = p () => (float[2,3] a) { a = Neg(s) },"
        " else_branch = q () => (float[2,3] e) { e = Sub(s, x) }>")),
}  # fmt: skip


@pytest.mark.parametrize("name", NESTED)
def test_bodies_in_a_loop_are_there_in_each_step(name: str) -> None:
    operator, count, body = NESTED[name]
    model = loop(body)
    made = conformed(model)
    assert [node.op_type for node in made.graph.node].count(operator) == count
    assert outputs(made, {"x": X}) == outputs(model, {"x": X})


REMAINS = [
    ("the elements of 'trips' depend on the input; to fix it: assume={'trips': VALUE}",
     loop(trips=None)),
    ("how many steps it takes depends on the input; fix it: assume_shapes={'x': (1, 3)}",
     scan("", "3", rows="n")),
    ("how many steps it takes depends on the input",
     counting("d = Less(n, last)", "float", "{0.0}", "{2.5}")),
    ("it takes 17 steps; unroll=17 writes them all", loop(trips=17)),
    ("it takes 40 steps; unroll=40 writes them all", counting("d = Less(n, last)", ends="{40}")),
    ("it takes more than 4,096 steps", counting("d = Less(n, last)", ends="{9000}")),
    ("it takes no step", loop(go=False)),
    ("its body may end it",
     loop("l = ReduceSum<keepdims = 0>(s) n = Constant<value = float {9.0}>()"
          " d = Less(l, n) t = Neg(s)")),
    ("its body may end it",
     counting("d = Less(n, last)", first="{2000000}", ends="{2000002}")),
    ("it goes from the last element to the first", scan("scan_input_directions = [1],", "3")),
]  # fmt: skip


@pytest.mark.parametrize(("reason", "model"), REMAINS)
def test_what_is_not_unrolled_gives_the_reason(reason: str, model: onnx.ModelProto) -> None:
    assert reasons(model)["Graph.operator_set"].startswith(reason)


def test_number_of_steps_is_chosen() -> None:
    assert violated(sonnx_ort.conform(loop(trips=17), unroll=17).model) == set()
    (left,) = sonnx_ort.conform(loop(), unroll=0).remaining
    assert left[1] == "it takes 3 steps; unroll=3 writes them all"


def test_number_below_0_is_refused() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.conform(loop(), unroll=-1)
    assert str(caught.value) == "unroll is -1; give a number of steps, or 0 for none"
