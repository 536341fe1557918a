"""`Graph.finite`: a run fails where a value is NaN or infinite, and names the node of the first."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.backends import on_each_backend, on_native
from support.graphs import parse
from support.sessions import LEVELS, on_one_thread, set_for

pytestmark = [on_each_backend, pytest.mark.usefixtures("without_log")]

OUTPUTS, VALUES = "default,Graph.finite", "default,Graph.finite_values"
WAIVER = sonnx_ort.Waiver("Graph.finite", "c", "a mask", "a reviewer", dt.date(2999, 1, 1))

CHAIN = "(float[n] x) => (float[n] y) { [log] h = Log(x) [exp] k = Exp(h) [rec] y = Reciprocal(k) }"


def f(*elements: float) -> npt.NDArray[np.float32]:
    return np.array(elements, np.float32)


def half(*elements: float) -> npt.NDArray[np.float16]:
    return np.array(elements, np.float16)


def violation_in(session: ort.InferenceSession, **feeds: Any) -> sonnx_ort.ContractViolation:
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds)
    return caught.value


def test_error_names_the_node_the_value_and_the_first_element() -> None:
    violation = violation_in(sonnx_ort.InferenceSession(parse(CHAIN), operators=VALUES), x=f(1, 0))
    assert str(violation) == (
        "Log 'log' breaks Graph.finite: h is NaN or infinite: h[1] = -inf; shapes h (2,). "
        "The rule: Every element of the value is a finite number: neither NaN nor an infinity."
    )
    assert (violation.rule, violation.operator, violation.node) == ("Graph.finite", "Log", "log")
    assert (violation.index, violation.values) == ((1,), (-np.inf,))
    assert violation.shapes == ((2,),)


def test_of_outputs_alone_the_node_is_that_which_computes_one() -> None:
    session = sonnx_ort.InferenceSession(parse(CHAIN), operators=OUTPUTS)
    assert violation_in(session, x=f(1, 0)).node == "rec"
    assert violation_in(session, x=f(np.nan)).values[0] != 0


def test_without_being_asked_for_nothing_is_checked() -> None:
    session = sonnx_ort.InferenceSession(parse(CHAIN), operators="default")
    np.testing.assert_array_equal(session.run(None, {"x": f(1, 0)})[0], [1, np.inf])


def test_plain_session_tells_node_and_value_by_the_name_of_the_guard() -> None:
    content = sonnx_ort.rewrite(parse(CHAIN), operators=VALUES).SerializeToString()
    session = ort.InferenceSession(content, sonnx_ort.register(on_one_thread()))
    with pytest.raises(Exception, match=r"Log 'log' breaks .* -?1314 Graph\.finite; 'h' must"):
        session.run(None, {"x": f(0)})


BRANCHES = """(bool c, float[3] x) => (float[3] y) {
    [if] z = If(c) <
        then_branch = t () => (float[3] a) { [log] a = Log(x) },
        else_branch = e () => (float[3] b) { [neg] b = Neg(x) }
    >
    [out] y = Identity(z)
}"""

LOOP = """(int64 k, float[n] x) => (float[n] y, float[m,n] w) <bool c = {1}> {
    y, w = Loop(k, c, x) <
        body = b (int64 i, bool g, float[n] s) => (bool on, float[n] t, float[n] r) {
            on = Identity(g) [square] t = Mul(s, s) r = Identity(t)
        }
    >
}"""

SCAN = """(float[n] s, float[m,n] x) => (float[n] y, float[m,n] w) {
    y, w = Scan<num_scan_inputs = 1, body = b (float[n] a, float[n] e) => (float[n] t, float[n] r) {
        [product] t = Mul(a, e) [log] r = Log(e)
    }>(s, x)
}"""

NARROWED = (
    "(float16[n] x, float16[n] z) => (float16[n] y) { [add] h = Add(x, z) [sub] y = Sub(h, z) }"
)

RUNS = {
    "all finite": (CHAIN, {"x": f(1, 2)}, None),
    "no elements": (CHAIN, {"x": f()}, None),
    "NaN": (CHAIN, {"x": f(-1)}, "log"),
    "double": ("(double[n] x) => (double[n] y) { [exp] y = Exp(x) }", {"x": np.array([800.0])},
        "exp"),
    "largest double": ("(double[n] x) => (double[n] y) { y = Neg(x) }",
        {"x": np.array([np.finfo(np.float64).max])}, None),
    "float16, rounded down": (NARROWED, {"x": half(65504), "z": half(8)}, None),
    "float16, rounded up": (NARROWED, {"x": half(65504), "z": half(16)}, "add"),
    "float16, finite again": (NARROWED, {"x": half(60000), "z": half(10000)}, "add"),
    "narrowed, rounded down": ("(float[n] x) => (float16[n] y) { [cast] y = Cast<to = 10>(x) }",
        {"x": f(65519)}, None),
    "narrowed, rounded up": ("(float[n] x) => (float16[n] y) { [cast] y = Cast<to = 10>(x) }",
        {"x": f(65520)}, "cast"),
    "bfloat16, finite": (
        "(float[n] x) => (float[n] y) { [to] h = Cast<to = 16>(x) y = Cast<to = 1>(h) }",
        {"x": f(3.38e38)},
        None,
    ),
    "bfloat16, rounded up": (
        "(float[n] x) => (float[n] y) { [to] h = Cast<to = 16>(x) y = Cast<to = 1>(h) }",
        {"x": f(3.4e38)},
        "to",
    ),
    "scalar": ("(float x) => (float y) { [exp] y = Exp(x) }", {"x": np.float32(100)}, "exp"),
    "vector for a scalar": ("(float x) => (float y) { [exp] y = Exp(x) }", {"x": f(1, 2)}, None),
    "long vector for a scalar": ("(float x) => (float y) { [exp] y = Exp(x) }", {"x": f(1, 100)},
        "exp"),
    "only the shape is read": ("(float[3] x) => (int64[1] y) { [log] h = Log(x) y = Shape(h) }",
        {"x": f(1, 0, 1)}, "log"),
    "in a branch": (BRANCHES, {"c": np.True_, "x": f(1, 0, 1)}, "log"),
    "in a branch that is not run": (BRANCHES, {"c": np.False_, "x": f(1, 0, 1)}, None),
    "in a branch that is inlined": (
        BRANCHES.replace("bool c, ", "").replace("[3] y)", "[3] y) <bool c = {1}>"),
        {"x": f(1, 0, 1)},
        "log",
    ),
    "in a Loop": (LOOP, {"k": np.int64(8), "x": f(20)}, "square"),
    "in a Loop without iterations": (LOOP, {"k": np.int64(0), "x": f(20)}, None),
    "in a Scan": (SCAN, {"s": f(1), "x": np.zeros((2, 1), np.float32)}, "log"),
    "in a state of a Scan": (SCAN, {"s": f(3e38), "x": f(9, 9).reshape(2, 1)}, "product"),
    "behind an enforced node": ("(float[n] x, float[n] z) => (float[n] y) { [div] y = Div(x, z) }",
        {"x": f(1), "z": f(0)}, "div"),
    "in a function": (
        """(float[n] x) => (float[n] y) { [call] y = local.f(x) }
        <domain: "local", opset_import: ["": 17]> f (a) => (b) { [log] c = Log(a) b = Exp(c) }""",
        {"x": f(0)},
        "call/log",
    ),
    "of a constant": (
        "(float[1] x) => (float[1] y) <float[1] w = {0}> { [log] h = Log(w) y = Min(h, x) }",
        {"x": f(1)},
        "log",
    ),
    "integers": ("(int32[n] x) => (int32[n] y) { y = Add(x, x) }", {"x": np.ones(2, np.int32)},
        None),
    "sequence": (
        """(float[n] x) => (float[n] y) <int64 i = {0}> {
            q = SequenceConstruct(x) [at] y = SequenceAt(q, i)
        }""",
        {"x": f(np.inf)},
        "at",
    ),
}  # fmt: skip
"""A graph, what it is run with, and the node that is named; None for a run that goes through."""


def made_for(graph: str) -> onnx.ModelProto:
    return parse(graph, domains={"local": 1} if "local." in graph else None)


def outputs_of(case: str, level: str) -> list[npt.NDArray[Any]]:
    graph, feeds, _ = RUNS[case]
    session = sonnx_ort.InferenceSession(made_for(graph), on_one_thread(level), operators=VALUES)
    outputs: list[npt.NDArray[Any]] = session.run(None, arrays(feeds))
    return outputs


def arrays(feeds: dict[str, Any]) -> dict[str, npt.NDArray[Any]]:
    return {name: np.asarray(array) for name, array in feeds.items()}


@pytest.mark.satisfies("Graph.finite")
@pytest.mark.parametrize("level", ["none", "all"])
@pytest.mark.parametrize("case", [case for case, (*_, node) in RUNS.items() if node is not None])
def test_run_fails_at_the_first_value_that_is_not_finite(case: str, level: str) -> None:
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        outputs_of(case, level)
    assert (caught.value.rule, caught.value.node) == ("Graph.finite", RUNS[case][2])


@pytest.mark.parametrize("level", ["none", "all"])
@pytest.mark.parametrize("case", [case for case, (*_, node) in RUNS.items() if node is None])
def test_finite_values_give_the_same_results(case: str, level: str) -> None:
    graph, feeds, _ = RUNS[case]
    content = made_for(graph).SerializeToString()
    plain = ort.InferenceSession(content, on_one_thread(level)).run(None, arrays(feeds))
    results = [
        [(o.dtype, o.shape, o.tobytes()) for o in outputs]
        for outputs in (outputs_of(case, level), plain)
    ]
    assert results[0] == results[1]


def test_all_values_include_the_outputs() -> None:
    once = sonnx_ort.rewrite(parse(CHAIN), operators=VALUES)
    assert sonnx_ort.rewrite(once, operators=OUTPUTS) == once


@pytest.mark.parametrize(("before", "after"), [("default", OUTPUTS), (OUTPUTS, VALUES)])
def test_enforced_model_is_asked_for_more(before: str, after: str, backend: str) -> None:
    graph = "(float[n] x, float[n] z) => (float[n] y) { h = Log(x) y = Div(h, z) }"
    once = sonnx_ort.rewrite(parse(graph), operators=before)
    if backend == "python":
        anew = sonnx_ort.rewrite(parse(graph), operators=after)
        assert sonnx_ort.rewrite(once, operators=after) == anew
        return
    with pytest.raises(sonnx_ort.SonnxError, match=r"is already rewritten, without Graph\.finite"):
        sonnx_ort.rewrite(once, operators=after)


def test_names_of_values_are_kept() -> None:
    made = sonnx_ort.rewrite(parse(CHAIN), operators=VALUES, make_explicit=True)
    names = {name for node in made.graph.node for name in node.output}
    assert {"h", "k", "y", "h_unchecked", "k_unchecked", "y_unchecked"} <= names
    assert [output.name for output in made.graph.output] == ["y"]


CONSTANT = """(float[2] x) => (float[2] y) {
    [c] mask = Constant<value = float[2] {0.0, -inf}>() [min] y = Min(x, mask)
}"""


def test_constant_that_is_not_finite_is_rejected() -> None:
    with pytest.raises(sonnx_ort.ModelRejected, match=r"Constant 'c': Graph\.finite violated"):
        sonnx_ort.rewrite(parse(CONSTANT), operators=VALUES)


def masked(mask: float) -> onnx.ModelProto:
    model = parse("(float[2] x) => (float[2] y) <float[2] m = {0, 0}> { [max] y = Max(x, m) }")
    model.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(f(mask, mask), "m"))
    return model


def test_initializer_that_is_not_finite_is_read_as_it_is() -> None:
    session = sonnx_ort.InferenceSession(masked(-np.inf), operators=VALUES)
    np.testing.assert_array_equal(session.run(None, {"x": f(1, 2)})[0], [1, 2])


def test_what_a_node_computes_of_an_initializer_is_checked() -> None:
    session = sonnx_ort.InferenceSession(masked(np.inf), operators=VALUES)
    assert violation_in(session, x=f(1, 2)).node == "max"


FILLED = """(float[2] x) => (float[2] y) <int64[1] size = {2}> {
    [fill] m = ConstantOfShape<value = float[1] {-inf}>(size) [max] y = Max(x, m)
}"""


def test_value_that_is_computed_of_constants_fails_at_the_start_or_in_the_run() -> None:
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        sonnx_ort.InferenceSession(parse(FILLED), operators=VALUES).run(None, {"x": f(1, 2)})
    assert caught.value.node == "fill"


PARALLEL = """(float[n] x) => (float[n] y) {
    [late] a = Exp(x) [one] b = Log(x) [two] c = Sqrt(x) d = Add(a, b) y = Add(d, c)
}"""


def test_error_names_one_of_several_nodes_that_do_not_need_each_other() -> None:
    session = sonnx_ort.InferenceSession(parse(PARALLEL), operators=VALUES)
    assert violation_in(session, x=f(-1, 1)).node in {"one", "two"}


def test_waived_constant_is_not_checked() -> None:
    choices = {"operators": VALUES, "waivers": [WAIVER]}
    session = sonnx_ort.InferenceSession(parse(CONSTANT), **choices)
    assert violation_in(session, x=f(1, 1)).node == "min"
    once = sonnx_ort.rewrite(parse(CONSTANT), **choices)
    assert sonnx_ort.rewrite(once, **choices) == once


def test_output_that_no_node_computes_is_refused() -> None:
    made = parse("(float[n] x) => (float[n] y) { y = Identity(x) }")
    made.graph.output.append(made.graph.input[0])
    with pytest.raises(sonnx_ort.SonnxError, match="no node computes the output 'x'"):
        sonnx_ort.rewrite(made, operators=OUTPUTS)


def test_record_of_a_model_with_finite_values_is_kept(tmp_path: Path) -> None:
    source, target, record = (tmp_path / name for name in ("a.onnx", "b.onnx", "record.json"))
    onnx.save(parse(CHAIN), source)
    sonnx_ort.rewrite_file(source, target, operators=VALUES, record=record)
    assert sonnx_ort.verify(source, record, original=True).kept
    assert sonnx_ort.verify(target, record).kept


@on_native
@pytest.mark.parametrize("level", LEVELS)
def test_native_model_needs_no_plugin_at_any_level(level: str) -> None:
    content = sonnx_ort.rewrite(parse(BRANCHES), operators=VALUES).SerializeToString()
    session = ort.InferenceSession(content, set_for("native", level))
    with pytest.raises(Exception, match="got -1314"):
        session.run(None, {"c": np.array(True), "x": f(1, 0, 1)})


@on_native
def test_model_without_its_guards_is_not_taken_for_an_enforced_one() -> None:
    made = sonnx_ort.rewrite(parse(CHAIN), operators=OUTPUTS)
    where = next(node for node in made.graph.node if node.op_type == "Where")
    where.input[0], where.input[1] = "no", where.input[2]
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.array(False), "no"))
    assert sonnx_ort.rewrite(made, operators=OUTPUTS) != made
