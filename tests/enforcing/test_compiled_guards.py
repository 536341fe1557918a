"""Guards of the compiled backend: where they stand, that nothing passes by, and what they say."""

import json
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort import Contract, ContractViolation, ShapeContract, SizeContract, ValueContract
from sonnx_ort.custom_ops.compiled.guards import guarded_rules
from sonnx_ort.enforcing.metadata import ENFORCED
from sonnx_ort.ort.optimized_nodes import compare, guards_by_output
from sonnx_ort.profile.catalog import RULES
from support.child import run_python
from support.graphs import parse
from support.sessions import LEVELS, on_one_thread, quiet

Array = npt.NDArray[Any]


def f(*elements: float) -> Array:
    return np.array(elements, np.float32)


def i(*elements: int) -> Array:
    return np.array(elements, np.int64)


def s(number: float) -> Array:
    """A scalar."""
    return np.array(number, np.float32)


NAN, INF = float("nan"), float("inf")

READ_TWICE = "(float[n] x) => (float[n] y, float[n] x2) { y = Neg(x)\n x2 = Identity(x) }"
LINES = "(float[n, m] x) => (float[n, m] y) { [soft] y = Softmax<axis=1>(x) }"

CLIP = "(float[n] x, float lo, float hi) => (float[n] y) { [clip] y = Clip(x, lo, hi) }"
BODY = "{ [inner] p = Clip(x, lo, hi) }"

BROKEN: dict[str, tuple[str, dict[str, Any], dict[str, Array], dict[str, Array]]] = {
    "a rank": (CLIP, {"operators": "Clip"}, {"x": f(1), "lo": s(0),
        "hi": s(3)}, {"x": f(1), "lo": f(0), "hi": s(3)}),
    "elements of another operand": (CLIP, {"operators": "Clip"},
        {"x": f(1, NAN), "lo": s(0), "hi": s(3)},
        {"x": f(1, NAN), "lo": s(3), "hi": s(0)}),
    "a line": (LINES, {"operators": "Softmax"}, {"x": f(1, -INF)[None]},
        {"x": f(-INF, -INF)[None]}),
    "places of a Slice": (
        (
            "(float[n] x, int64[1] s, int64[1] e) => (float[k] y) <int64[1] a = {0}, int64[1] t = "
            "{1}> { [cut] y = Slice(x, s, e, a, t) }"
        ),
        {"operators": "Slice"},
        {"x": f(1, 2, 3), "s": i(1), "e": i(2)},
        {"x": f(1, 2, 3), "s": i(1), "e": i(4)},
    ),
    "a size that does not follow": (
        "(float[n, m] x, int64[2] s) => (float[k, l] y) { [shape] y = Reshape<allowzero=0>(x, s) }",
        {"operators": "Reshape"},
        {"x": f(1, 2)[None], "s": i(-1, 2)},
        {"x": np.zeros((0, 2), np.float32), "s": i(-1, 2)},
    ),
    "sizes that differ beside an axis": (
        "(float[n, m] x, float[k, l] z) => (float[p, q] y) { [join] y = Concat<axis=0>(x, z) }",
        {"operators": "Concat"},
        {"x": np.ones((1, 2), np.float32), "z": np.ones((3, 2), np.float32)},
        {"x": np.ones((1, 2), np.float32), "z": np.ones((0, 3), np.float32)},
    ),
    "weights": (
        (
            "(float[a, b, c, d] x) => (float[e, f, g, h] y) <float[1, 1, 1, 1] w = {2}> { [conv] y "
            '= Conv<auto_pad="NOTSET", kernel_shape=[1, 1], pads=[0, 0, 0, 0], strides=[1, 1], '
            "dilations=[1, 1], group=1>(x, w) }"
        ),
        {"operators": "Conv"},
        {"x": np.ones((1, 1, 2, 2), np.float32)},
        {"x": np.ones((1, 2, 2, 2), np.float32)},
    ),
    "equal shapes of a type without a kernel": (
        "(double[n] x, double[m] z) => (double[k] y) { [rectified] y = PRelu(x, z) }",
        {"operators": "PRelu"},
        {"x": np.array([1.0, -2]), "z": np.array([2.0, 1])},
        {"x": np.array([1.0, -2]), "z": np.array([2.0])},
    ),
    "a number to be converted": (
        "(float16[n] x) => (int32[n] y) { [cast] y = Cast<to=6>(x) }",
        {"operators": "Cast"},
        {"x": f(1.5, -2).astype(np.float16)},
        {"x": f(1, INF).astype(np.float16)},
    ),
    "a domain, in the type that computes": (
        "(float16[n] x) => (float16[n] y) { [acos] y = Acos(x) }",
        {"operators": "Acos"},
        {"x": f(1, -1).astype(np.float16)},
        {"x": f(1, 1.001).astype(np.float16)},
    ),
    "a range at the door": (READ_TWICE, {"contract": Contract((ValueContract("x", (0, 1)),))},
        {"x": f(0, -0.0, 1)}, {"x": f(0, 1.5)}),
    "whole numbers": (READ_TWICE, {"contract": Contract((ValueContract("x", whole=True),))},
        {"x": f(0, -3)}, {"x": f(0, 1.5)}),
    "sizes at the door": (
        READ_TWICE,
        {"contract": Contract((), (ShapeContract("x", ("n",)),), (SizeContract("n", 2, 8, 2),))},
        {"x": f(0, 1)},
        {"x": f(0, 1, 2)},
    ),
    "a finite output that is read, too": (
        "(float[n] x) => (float[n] y, float[n] z) { [rec] y = Reciprocal(x)\n z = Neg(y) }",
        {"operators": "Graph.finite"},
        {"x": f(1, 2)},
        {"x": f(1, 0)},
    ),
    "a node in a branch that reads outer values": (
        (
            "(bool q, float[n] x, float lo, float hi) => (float[k] y) { [choose] y = If(q) "
            f"<then_branch = t () => (float[k] p) {BODY}, else_branch = e () => (float[k] r) "
            "{ r = Identity(x) }> }"
        ),
        {"operators": "Clip"},
        {"q": np.array(True), "x": f(1, 5), "lo": s(0), "hi": s(3)},
        {"q": np.array(True), "x": f(1, NAN), "lo": s(3), "hi": s(0)},
    ),
    "a node in a loop": (
        (
            "(int64 m, float[n] x, float lo, float hi) => (float[k] y) "
            "{ t = Constant<value = bool {1}>() [loop] y = Loop(m, t, x) <body = b (int64 i, bool "
            "c, float[n] v) => (bool c2, float[n] w) "
            "{ c2 = Identity(c)\n [inner] w = Clip(v, lo, hi) }> }"
        ),
        {"operators": "Clip"},
        {"m": np.array(3), "x": f(1, 5), "lo": s(0), "hi": s(3)},
        {"m": np.array(3), "x": f(1, NAN), "lo": s(3), "hi": s(0)},
    ),
    "a node in a Scan": (
        (
            "(float[n, m] x) => (float[n, m] y) { [scan] y = Scan<num_scan_inputs=1, body = b "
            "(float[m] v) => (float[m] w) { [inner] w = Softmax<axis=0>(v) }>(x) }"
        ),
        {"operators": "Softmax"},
        {"x": f(1, 2)[None]},
        {"x": f(-INF, -INF)[None]},
    ),
}  # fmt: skip


def rewritten(text: str, options: dict[str, Any], backend: str) -> onnx.ModelProto:
    return sonnx_ort.rewrite(parse(text, opset=18), backend=backend, **options)


def nodes_of(graph: onnx.GraphProto) -> list[onnx.NodeProto]:
    inner = (nodes_of(a.g) for node in graph.node for a in node.attribute if a.HasField("g"))
    return [*graph.node, *(node for nodes in inner for node in nodes)]


def outcome(session: Any, feeds: dict[str, Array]) -> Any:
    """The results, or what the violation says."""
    try:
        return [result.tobytes() for result in session.run(None, feeds)]
    except ContractViolation as error:
        said = (error.rule, error.operator, error.node, error.shapes, error.index)
        return str(error), said, repr(error.values)


cases = pytest.mark.parametrize(
    ("text", "options", "kept", "broken"), BROKEN.values(), ids=BROKEN.keys()
)


@cases
@pytest.mark.parametrize("level", LEVELS)
def test_guard_says_what_that_of_the_native_backend_says(text, options, kept, broken, level):
    model = parse(text, opset=18)
    sessions = [
        sonnx_ort.InferenceSession(model, on_one_thread(level), backend=backend, **options)
        for backend in ("native", "compiled")
    ]
    for feeds in (kept, broken):
        before = {name: array.copy() for name, array in feeds.items()}
        native, compiled = (outcome(session, feeds) for session in sessions)
        assert compiled == native
        assert isinstance(compiled, tuple) == (feeds is broken)
        for name, array in feeds.items():
            assert array.tobytes() == before[name].tobytes()


@cases
def test_node_has_one_guard_and_what_it_guards_is_read_behind_it(text, options, kept, broken):
    del kept, broken
    made = rewritten(text, options, "compiled")
    nodes = nodes_of(made.graph)
    guards = [node for node in nodes if node.op_type == "Guard"]
    assert guards
    added = {"Guard", "Constant", "Cast"} | {n.op_type for n in nodes_of(parse(text).graph)}
    assert {node.op_type for node in nodes} <= added
    for guard in guards:
        if options.get("contract") or options["operators"] == "Graph.finite":
            readers = [n for n in nodes if guard.input[0] in n.input and n.op_type != "Guard"]
            assert not readers


@cases
def test_rewriting_twice_changes_nothing(text, options, kept, broken):
    del kept, broken
    made = rewritten(text, options, "compiled")
    assert sonnx_ort.rewrite(made, backend="compiled", **options) == made


@cases
def test_model_that_an_earlier_version_made_is_recognized(text, options, kept, broken):
    del kept, broken
    # It had the guards of the native backend.
    made = rewritten(text, options, "native")
    (entry,) = (each for each in made.metadata_props if each.key == ENFORCED)
    entry.value = json.dumps({**json.loads(entry.value), "backend": "compiled"})
    assert sonnx_ort.rewrite(made, backend="compiled", **options) == made


@cases
def test_model_whose_guards_are_changed_is_refused(text, options, kept, broken):
    del kept, broken
    made = rewritten(text, options, "compiled")
    guard = next(node for node in nodes_of(made.graph) if node.op_type == "Guard")
    tests = next(each for each in guard.attribute if each.name == "tests")
    tests.s += b";690 same"
    with pytest.raises(sonnx_ort.InvalidModel, match="did not make this model as it is"):
        sonnx_ort.rewrite(made, backend="compiled", **options)


def test_session_misses_a_guard_that_an_optimizer_removes() -> None:
    made = rewritten(CLIP, {"operators": "Clip"}, "compiled")
    guard, clip = made.graph.node
    without = onnx.ModelProto()
    without.CopyFrom(made)
    without.graph.node[1].input[0] = guard.input[0]
    del without.graph.node[0]
    expected, optimized = ir.from_proto(made), ir.from_proto(without)
    guards = guards_by_output(expected)
    assert dict(guards) == {clip.input[0]: guard.name}
    assert compare(expected, ir.from_proto(made), guards).losses == ()
    assert "the guard of Clip 'clip' was removed" in compare(expected, optimized, guards).losses


def test_plain_session_says_operator_node_rule_and_what_was_found() -> None:
    made = rewritten(CLIP, {"operators": "Clip"}, "compiled")
    options = sonnx_ort.register(quiet(), backend="compiled")
    session = ort.InferenceSession(made.SerializeToString(), options)
    with pytest.raises(Exception, match="Status Message: ") as caught:
        session.run(None, {"x": f(1, NAN), "lo": s(3), "hi": s(0)})
    assert str(caught.value).partition("Status Message: ")[2] == (
        "SONNX: Clip 'clip' breaks Clip.float.C3: input[1] = nan; input is of shape (2,), min is "
        "of shape (), max is of shape (). The rule: No element of input is NaN if min is above max."
    )


WITHOUT_TEST = {"Div.int.C2", "Mod.int.C2", "Broadcast.E1"}
"""The rules that a run checks and for which there is no kind of test: kernels check them."""


def test_rules_without_a_test_are_those_on_record() -> None:
    with_test = {rule.id for rule in guarded_rules()}
    assert {rule.id for rule in RULES.values() if rule.in_run} - with_test == WITHOUT_TEST


MEMORY = """
import numpy as np, onnxruntime as ort, sonnx_ort
from sonnx_ort import Contract, ValueContract
from support.graphs import parse

TEXT = '''(float[n] x, float[n] z) => (float[n] y, float[n] a, float[n] b) {
    a = Abs(x)
    h = Add(a, z)
    k = Sqrt(h)
    b = Relu(k)
    y = Add(b, x)
}'''
contract = Contract(tuple(ValueContract(v, (-1e9, 1e9)) for v in ("x", "z", "a", "h", "k", "b")))
for level in (0, 1, 2, 99):
    for n in (0, 1, 5, 5000, 200_000):
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel(level)
        session = sonnx_ort.InferenceSession(parse(TEXT), options, operators=[], contract=contract,
                                             backend="compiled")
        plain = ort.InferenceSession(parse(TEXT).SerializeToString())
        for seed in range(3):
            random = np.random.default_rng(seed)
            feeds = {name: random.random(n, np.float32) for name in ("x", "z")}
            copies = {name: array.copy() for name, array in feeds.items()}
            results = [session.run(None, feeds) for _ in range(2)]
            expected = plain.run(None, copies)
            for given in results:
                assert all(np.array_equal(a, b) for a, b in zip(given, expected))
            assert all(np.array_equal(feeds[name], copies[name]) for name in feeds)
            memory = [given.__array_interface__["data"][0] for given in results[0]]
            assert n == 0 or len({*memory, feeds["x"].__array_interface__["data"][0]}) == 4
print("done")
"""


def test_what_is_given_on_shares_no_memory_with_inputs_or_results() -> None:
    child = run_python(MEMORY, timeout=240)
    assert (child.exit_status, child.stdout) == (0, "done\n"), child
