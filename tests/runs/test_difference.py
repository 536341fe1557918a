"""Where two models differ: by which measure, and at which values, which may have other names."""

from collections.abc import Mapping
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.source import ModelSource, read
from sonnx_ort.runs.diff.difference import (
    EXACT,
    Comparison,
    Measure,
    Tolerance,
    compare_stepwise,
    compared,
    differing,
    largest,
    same,
    survey,
)
from sonnx_ort.runs.isolated_run import Array
from sonnx_ort.runs.pairs import by_position, keep, kept, run_both
from support.backends import BACKENDS
from support.conformed import violated
from support.graphs import binary_model, parse

CHAIN = """(float[3] x, float[3] y) => (float[3] z)
    {{ [first] a = Div(x, y) [second] b = {operator}(a, y) [last] z = Relu(b) }}"""

FEEDS = {"x": np.array([1, 2, 3], np.float32), "y": np.array([4, 0.5, 1], np.float32)}


def compare(
    first: ModelSource,
    second: ModelSource,
    given: Mapping[str, Array],
    *,
    seed: int = 0,
    tolerance: Tolerance = EXACT,
) -> Comparison:
    return compared(next(run_both(first, second, [(given, seed)])), tolerance)


def chain(operator: str) -> onnx.ModelProto:
    return parse(CHAIN.format(operator=operator))


@pytest.fixture(scope="module")
def changed() -> Comparison:
    return compare(chain("Mul"), chain("Add"), FEEDS)


def test_first_difference_is_that_of_the_first_node(changed: Comparison) -> None:
    assert list(changed.nodes) == ["a", "b", "z"]
    assert changed.same == ("a",)
    assert [m.name for m in changed.mismatches] == ["b", "z"]
    first = changed.mismatches[0]
    assert (first.node, first.index, first.count) == ("Mul 'second'", (0,), 3)
    assert first.elements == (1.0, 4.25)
    assert not changed.equal


@BACKENDS
@pytest.mark.parametrize("name", ["normalization_broadcast", "div_in_if"])
def test_rewritten_model_computes_the_same(name: str, backend: str) -> None:
    original = sonnx_ort.models.load(name)
    enforced = sonnx_ort.rewrite(original, broadcast="explicit", backend=backend)
    comparison = compare(original, enforced, {}, seed=3)
    assert comparison.equal
    assert len(comparison.same) == sum(len(node.output) for node in original.graph.node)


def integers(b: list[int]) -> Mapping[str, np.ndarray]:
    return {"A": np.array([6, -(2**31)], np.int32), "B": np.array(b, np.int32)}


@pytest.mark.upstream
def test_original_that_ends_the_process_is_a_line_beside_the_violation() -> None:
    original = binary_model("Div", "int32", [2], [2])
    comparison = compare(original, sonnx_ort.rewrite(original), integers([3, -1]))
    died, refused = comparison.stops
    assert died is not None
    assert refused is not None
    assert (died.node, died.reason, died.violated) == (
        *("Div 'the_node'", "the process is killed by SIGFPE"),
        False,
    )
    assert refused.violated
    assert refused.reason.startswith("Div 'the_node' breaks Div.int.C2: a quotient beyond the type")
    assert not comparison.equal


@BACKENDS
def test_what_was_computed_before_a_violation_is_compared(backend: str) -> None:
    original = parse(
        """(int32[2] A, int32[2] B) => (int32[2] z) {
            [before] a = Sub(A, B) [division] b = Div(a, B) [behind] z = Neg(b) }"""
    )
    enforced = sonnx_ort.rewrite(original, backend=backend)
    comparison = compare(original, enforced, integers([3, 0]))
    assert comparison.same == ("a",)
    first, second = comparison.stops
    assert first is not None
    assert first.node == "Div 'division'"
    assert second is not None
    assert second.violated
    assert "Div 'division' breaks Div.int.C1" in second.reason


def test_shapes_that_differ_have_no_index() -> None:
    one = parse("(float[3] x) => (float[3] y) { y = Relu(x) }")
    other = parse("(float[3] x) => (float[1] y) { y = ReduceSum(x) }")
    comparison = compare(one, other, {})
    (mismatch,) = comparison.mismatches
    assert (mismatch.index, mismatch.count) == (None, 0)
    with pytest.raises(ValueError, match="has no elements that can be set side by side"):
        _ = mismatch.elements


def test_outputs_of_one_model_only_are_a_difference() -> None:
    one = parse("(float[3] x) => (float[3] y) { y = Relu(x) }")
    other = parse("(float[3] x) => (float[3] z) { y = Relu(x) z = Identity(y) }")
    comparison = compare(one, other, {})
    assert comparison.pair.unshared_outputs == ("y", "z")
    assert comparison.same == ("y",)
    assert not comparison.equal


@pytest.mark.parametrize(("one", "other", "feeds", "told"), [
    (chain("Mul"), parse("(float[3] x) => (float[3] z) { z = Relu(x) }"), {},
     "the two models have other inputs: float 'x', float 'y'; float 'x'"),
    (chain("Mul"), parse("(float[3] x, int32[3] y) => (float[3] z) { z = Relu(x) }"), {},
     "the two models have other inputs: float 'x', float 'y'; float 'x', int32 'y'"),
    (chain("Mul"), chain("Mul"), FEEDS | {"x": np.ones((2, 2), np.float32)},
     ("the input 'x' is float32 of shape (2, 2), but the model needs float32 of shape (3,); give "
      "it 1 axis")),
    (*(parse(f"(float[{size}] x) => (float[m] y) {{ y = Neg(x) }}") for size in (3, 2)), {},
     ("the second model does not take the inputs of the first: the input 'x' is float32 of shape "
      "(3,), but the model needs float32 of shape (2,); give axis 0 size 2")),
], ids=["fewer inputs", "another type", "another rank", "other sizes"])  # fmt: skip
def test_inputs_that_do_not_fit_both_models(
    one: onnx.ModelProto, other: onnx.ModelProto, feeds: Mapping[str, np.ndarray], told: str
) -> None:
    with pytest.raises(SonnxError) as caught:
        compare(one, other, feeds)
    assert str(caught.value) == told


def test_model_without_nodes_is_refused() -> None:
    nothing = parse("(float[3] x) => (float[3] x) { }")
    with pytest.raises(SonnxError, match="ONNX Runtime refuses: "):
        compare(nothing, nothing, {})


def test_weights_that_are_missing_are_told_before_any_run(tmp_path: Path) -> None:
    model = parse(
        "(float[3] x) => (float[3] y) { y = Mul(x, w) }", constants={"w": np.ones(3, np.float32)}
    )
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="weights", size_threshold=0)
    (tmp_path / "weights").unlink()
    for models in ((model, path), (path, model)):
        with pytest.raises(SonnxError, match="weights"):
            compare(*models, {})


@BACKENDS
def test_violation_is_the_same_in_each_run(backend: str) -> None:
    model = "(int32[n] A, int32[n] B) => (int32[n] z) { [one] C = Div(A, B) z = Div(C, B) }"
    enforced = sonnx_ort.rewrite(parse(model), backend=backend)
    feeds = {"A": np.array([6, 9], np.int32), "B": np.array([3, 0], np.int32)}
    comparison = compare(enforced, enforced, feeds)
    assert comparison.mismatches == ()
    one, other = comparison.stops
    assert one is not None
    assert one.violated
    assert one == other


NEAR, FAR = (
    parse(f"(float[2] x) => (float[2] y) <float[2] c = {{{c}}}> {{ y = Mul(x, c) }}")
    for c in ("1, 1", "1, 1.5")
)


@pytest.mark.parametrize(("measure", "most", "equal"), [
    (Measure.BITS, 0, False), (Measure.ABSOLUTE, 0.5, False), (Measure.ABSOLUTE, 1, True),
    (Measure.RELATIVE, 0.25, False), (Measure.RELATIVE, 0.5, True), (Measure.ULP, 2**22 - 1, False),
    (Measure.ULP, 2**22, True),
])  # fmt: skip
def test_difference_within_the_tolerance_is_none(
    measure: Measure, most: float, equal: bool
) -> None:
    sample = {"x": np.array([1, 2], np.float32)}
    found = compare(NEAR, FAR, sample, tolerance=Tolerance(measure, most))
    assert found.equal is equal
    assert [(m.name, m.index, m.count) for m in found.mismatches] == [("y", (1,), 1)] * (not equal)


def test_elements_within_the_tolerance_are_not_counted() -> None:
    near, far = (parse(NEAR_BY.format(constants)) for constants in ("1, 1, 1", "1.5, 3, 4"))
    sample = {"x": np.ones(3, np.float32)}
    (found,) = compare(near, far, sample, tolerance=Tolerance(Measure.ABSOLUTE, 1)).mismatches
    assert (found.index, found.count, found.elements) == ((1,), 2, (1, 3))


NEAR_BY = "(float[3] x) => (float[3] y) <float[3] c = {{{}}}> {{ y = Mul(x, c) }}"


def test_bits_are_not_tolerated() -> None:
    with pytest.raises(SonnxError) as caught:
        Tolerance(Measure.BITS, 2)
    assert str(caught.value) == "tolerance=2: bits are the same or not; name another measure="


def test_samples_are_gathered_by_their_names() -> None:
    given = [({"x": np.array([1, second], np.float32)}, 0) for second in (0, 2, 4)]
    tolerance = Tolerance(Measure.ABSOLUTE, 0.5)
    comparisons = (compared(runs, tolerance) for runs in run_both(NEAR, FAR, given))
    found = survey(zip(("none", "one", "two"), comparisons, strict=True))
    assert found.differences == {"y": {"none": 0, "one": 1, "two": 2}}
    assert (found.samples, found.unequal) == (("none", "one", "two"), ("one", "two"))
    name, shown = found.shown
    assert name == "one"
    assert shown.inputs.arrays["x"].tolist() == [1, 2]


def test_first_sample_is_shown_where_none_differs() -> None:
    given = [({}, seed) for seed in (5, 6)]
    comparisons = (compared(runs, EXACT) for runs in run_both(NEAR, NEAR, given))
    found = survey(zip("ab", comparisons, strict=True))
    assert (found.unequal, found.shown[0], found.shown[1].inputs.seed) == ((), "a", 5)


INF, NAN = np.inf, np.nan
TINY = float(np.finfo(np.float32).smallest_subnormal)


@pytest.mark.parametrize(("dtype", "one", "other", "bits", "ulp", "absolute", "relative"), [
    (np.float32, 1.0, 1.0, 0, 0, 0, 0),
    (np.float32, 1.0, 1 + 2**-23, 1, 1, 2**-23, 2**-23),
    (np.float32, 2.0, 1.0, 1, 2**23, 1, 0.5),
    (np.float32, -TINY, TINY, 1, 2, 2 * TINY, 2),
    (np.float32, 0.0, -0.0, 1, 0, 0, 0),
    (np.float32, 0.0, 1.0, 1, 127 << 23, 1, INF),
    (np.float32, NAN, NAN, 0, 0, 0, 0),
    (np.float32, NAN, 1.0, 1, INF, INF, INF),
    (np.float32, 1.0, NAN, 1, INF, INF, INF),
    (np.float32, INF, INF, 0, 0, 0, 0),
    (np.float32, INF, -INF, 1, 2 * (255 << 23), INF, INF),
    (np.float64, -1.0, -1 - 2**-52, 1, 1, 2**-52, 2**-52),
    (np.float64, INF, -INF, 1, 2.0 * (2047 << 52), INF, INF),
    (np.float16, 1.0, 1 + 2**-10, 1, 1, 2**-10, 2**-10),
    (ml_dtypes.bfloat16, 1.0, 1 + 2**-7, 1, 1, 2**-7, 2**-7),
    (np.int8, -128, 127, 1, 255, 255, 255 / 128),
    (np.int64, 2**53, 2**53 + 1, 1, 1, 1, 2**-53),
    (np.int64, -(2**63), 2**63 - 1, 1, 2.0**64, 2.0**64, 2.0),
    (np.uint64, 0, 2**64 - 1, 1, 2.0**64, 2.0**64, INF),
    (np.bool_, True, False, 1, 1, 1, 1),
    (object, "a", "b", 1, 1, 1, 1),
])  # fmt: skip
def test_difference_of_two_elements(  # noqa: PLR0917 - one for each measure
    dtype: type,
    one: object,
    other: object,
    bits: float,
    ulp: float,
    absolute: float,
    relative: float,
) -> None:
    arrays = np.array([one], dtype), np.array([other], dtype)
    found = {measure: largest(*arrays, measure) for measure in Measure}
    assert found == {
        Measure.BITS: bits,
        Measure.ULP: ulp,
        Measure.ABSOLUTE: absolute,
        Measure.RELATIVE: relative,
    }


def test_difference_of_tensors_is_the_largest_and_in_bits_a_count() -> None:
    one, other = np.array([1, 2, 3], np.int32), np.array([1, 4, 8], np.int32)
    assert largest(one, other, Measure.ABSOLUTE) == 5
    assert largest(one, other) == 2


@pytest.mark.parametrize(("one", "other", "found"), [
    (np.ones(2, np.int32), np.ones(3, np.int32), INF),
    (np.ones(2, np.int32), np.ones(2, np.int64), INF),
    (np.ones(2, np.int32), None, INF),
    (None, np.ones(2, np.int32), INF),
    (None, None, 0),
    (np.ones(0, np.int32), np.ones(0, np.int32), 0),
    (np.array(1, np.int32), np.array(1, np.int32), 0),
])  # fmt: skip
def test_values_that_are_not_alike(
    one: np.ndarray | None, other: np.ndarray | None, found: float
) -> None:
    assert largest(one, other, Measure.ABSOLUTE) == found
    assert same(one, other) is (found == 0)


def test_names_of_values_that_differ() -> None:
    expected = {"a": np.ones(1), "b": np.ones(1), "c": None, "d": np.ones(1)}
    found = {"a": np.ones(1), "b": np.zeros(1), "c": None}
    assert differing(found, expected) == ("b", "d")


NETWORK = """(float[4, 3] x) => (float[n, m] y) <float[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}> {
    a = MatMul(x, w) b = Relu(a) y = Neg(b) }"""


def renamed(**names: str) -> onnx.ModelProto:
    """The network with other names of values."""
    model = parse(NETWORK)
    for node in model.graph.node:
        node.input[:] = [names.get(name, name) for name in node.input]
        node.output[:] = [names.get(name, name) for name in node.output]
    for value in (*model.graph.output, *model.graph.initializer):
        value.name = names.get(value.name, value.name)
    return model


QUANTIZED = """(float[4, 3] x) => (float[n, m] y2)
    <uint8[3, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9}, float s = {0.1}, uint8 o = {128}> {
    q = QuantizeLinear(x, s, o) d = DequantizeLinear(q, s, o) e = DequantizeLinear(w, s, o)
    a2 = MatMul(d, e) q2 = QuantizeLinear(a2, s, o) d2 = DequantizeLinear(q2, s, o)
    b2 = Relu(d2) y2 = Neg(b2) }"""
BRANCHES = """(float[3] x) => (float[3] y) <float[3] u = {1, 2, 3}, float[3] v = {4, 5, 6}> {
    @1 = Mul(x, u) @2 = Mul(x, v) y = Add(@1, @2) }"""


@pytest.mark.parametrize(("other", "matched"), [
    (renamed(), {}),
    (renamed(y="out"), {"y": "out"}),
    (renamed(a="1", b="2", w="onnx::MatMul_7"), {"a": "1", "b": "2"}),
    (renamed(a="1", b="2", y="3"), {"y": "3", "a": "1", "b": "2"}),
    (parse(QUANTIZED), {"y": "y2", "a": "a2", "b": "b2"}),
    (parse(QUANTIZED.replace("Relu(d2)", "Identity(d2)")), {"y": "y2", "a": "a2"}),
    (parse("(float[4, 3] x) => (float[n, m] y) { c = Abs(x) b = Relu(c) y = Neg(b) }"), {}),
    (parse("(float[4, 3] x) => (float[n, m] y, float[n, m] z) { y = Neg(x) z = Neg(y) }"), {}),
], ids=[
    "same names", "output", "between", "all", "quantized", "without Relu",
    "another operator", "more outputs",
])  # fmt: skip
def test_values_with_other_names_are_found_by_the_operators_before_them(
    other: onnx.ModelProto, matched: dict[str, str]
) -> None:
    assert by_position(parse(NETWORK), other) == matched


def test_values_at_one_place_are_matched_in_their_order() -> None:
    one, other = (parse(BRANCHES.replace("@", letter)) for letter in "ab")
    assert by_position(one, other) == {"a1": "b1", "a2": "b2"}


def test_values_at_one_place_are_not_matched_if_one_graph_has_more() -> None:
    one = parse(BRANCHES.replace("@", "a"))
    other = parse(BRANCHES.replace("@", "b"))
    other.graph.node.insert(0, onnx.helper.make_node("Mul", ["x", "u"], ["more"]))
    assert by_position(one, other) == {}


@pytest.mark.parametrize(
    ("one", "other", "matched"),
    [
        ("v, i", "w, j", {"v": "w", "i": "j"}),
        ("v, i", '"", j', {"i": "j"}),
        ('"", i', "w, j", {"i": "j"}),
        ("v, i", "w", {"v": "w"}),
    ],
    ids=["both", "of the second model", "of the first model", "the first alone"],
)
def test_results_of_one_node_are_matched_by_their_numbers(
    one: str, other: str, matched: dict[str, str]
) -> None:
    first, second = (
        parse(f"(float[3] x, int64[1] k) => (float[3] y) {{ {each} = TopK(x, k) y = Neg(x) }}")
        for each in (one, other)
    )
    assert by_position(first, second) == matched


def compared_with(other: onnx.ModelProto) -> Comparison:
    (runs,) = run_both(parse(NETWORK), other, [({}, 0)], match_positions=True)
    return compared(runs, EXACT)


def test_matched_values_are_compared_and_their_other_names_told() -> None:
    found = compared_with(renamed(a="1", y="3"))
    assert found.equal
    assert found.same == ("a", "b", "y")
    assert found.pair.positions == {"a": "1", "y": "3"}
    assert (found.only_first, found.only_second, found.pair.unshared_outputs) == (0, 0, ())


def test_difference_of_matched_values_is_told_by_the_name_in_the_first_model() -> None:
    other = renamed(a="1", b="2", y="3")
    weights = np.array([[1, 2, 3], [4, 5, 6], [7, 8, 10]], np.float32)
    other.graph.initializer[0].CopyFrom(onnx.numpy_helper.from_array(weights, "w"))
    found = compared_with(other)
    assert [mismatch.name for mismatch in found.mismatches] == ["a", "b", "y"]
    assert found.mismatches[0].elements[0] != found.mismatches[0].elements[1]


def test_positions_are_left_out_unless_asked_for() -> None:
    found = compare(parse(NETWORK), renamed(y="3"), {})
    assert found.pair.unshared_outputs == ("y", "3")
    assert found.pair.positions == {}


def test_positions_are_kept_with_runs(tmp_path: Path) -> None:
    samples = run_both(parse(NETWORK), renamed(y="3"), [({}, 0)], match_positions=True)
    list(keep((("0", runs) for runs in samples), tmp_path, ("a", "b")))
    ((_, again),) = kept(tmp_path)[1]
    assert compared(again, EXACT).pair.positions == {"y": "3"}


X = np.float32([0.1, -7.5, 3e4, 0.0, np.inf])


def of_nodes(nodes: str) -> onnx.ModelProto:
    constants = {
        "one": np.float32(1),
        "two": np.float32(1.01),
        "thousand": np.float32(2**10),
        "more": np.float32(2**14),
        "far": np.float32(1e30),
    }
    return parse(f"(float[5] X) => (float[5] Y) {{ {nodes} Y = Mul(s, far) }}", constants=constants)


ORIGINAL = "s = Softsign(X)"
SAME = "a = Abs(X) b = Add(a, one) s = Div(X, b)"
OTHER = "a = Abs(X) b = Add(a, two) s = Div(X, b)"
INEXACT = "a = Abs(X) b = Add(a, far) c = Sub(b, far) d = Add(c, one) s = Div(X, d)"


@pytest.mark.parametrize(
    ("nodes", "rounding", "different"),
    [
        (SAME, {"s"}, []),
        (OTHER, {"s"}, ["s"]),
        (OTHER, set(), ["s", "Y"]),
        (INEXACT, {"s"}, ["s"]),
        ("t = Neg(X) u = Neg(t) s = Softsign(u)", {"s"}, []),
    ],
)
def test_value_is_computed_from_those_of_the_first_run(
    nodes: str, rounding: set[str], different: list[str]
) -> None:
    found = compare_stepwise(read(of_nodes(ORIGINAL)), read(of_nodes(nodes)), {"X": X}, rounding)
    assert [mismatch.name for mismatch in found.mismatches] == different


@pytest.mark.parametrize(("added", "different"), [("thousand", []), ("more", ["s"])])
def test_error_of_more_than_256_units_is_a_difference(added, different) -> None:
    """An error of 2^-19 is admitted beside 1, and one of 2^-15 is not."""
    nodes = INEXACT.replace("far", added)
    feeds = {"X": np.float32([0.1, -7.5, 3e4, 0.0, 1.0])}
    found = compare_stepwise(read(of_nodes(ORIGINAL)), read(of_nodes(nodes)), feeds, {"s"})
    assert [mismatch.name for mismatch in found.mismatches] == different


def test_error_is_judged_beside_the_largest_finite_value() -> None:
    """As without the last element, whose result is NaN."""
    nodes = INEXACT.replace("far", "more")
    feeds = {"X": np.float32([0.1, -0.2, 0.3, 0.0, np.inf]) / 1024}
    found = compare_stepwise(read(of_nodes(ORIGINAL)), read(of_nodes(nodes)), feeds, {"s"})
    assert [mismatch.name for mismatch in found.mismatches] == ["s"]


def test_difference_of_a_change_that_keeps_bits_is_found_behind_one_that_rounds() -> None:
    other = of_nodes(SAME)
    other.graph.node[-1].op_type = "Div"
    found = compare_stepwise(read(of_nodes(ORIGINAL)), read(other), {"X": X}, {"s"})
    assert [mismatch.name for mismatch in found.mismatches] == ["Y"]


@pytest.mark.parametrize(("node", "far"), [("BitwiseNot(X)", ["y"]), ("Sub(X, one)", [])])
def test_rounded_integers_may_be_one_apart_even_at_the_ends_of_their_type(node, far) -> None:
    one, other = (
        parse(f"(int8[1] X) => (int8[1] y) <int8[1] one = {{1}}> {{ y = {made} }}", opset=20)
        for made in ("Identity(X)", node)
    )
    feeds = {"X": np.array([127], np.int8)}
    found = compare_stepwise(read(one), read(other), feeds, {"y"})
    assert [mismatch.name for mismatch in found.mismatches] == far


ROUNDED = """(float[2,4] X) => (uint8[2,4] q, float[2,4] Y) {
    n = LayerNormalization(X, w) c = Cos(n) q = QuantizeLinear(c, s, z) Y = Round(n)
}"""


def test_changes_that_round_are_verified_and_kept() -> None:
    constants = {"w": np.float32([1, 2, 3, 4]), "s": np.float32(0.01), "z": np.uint8(128)}
    original = parse(ROUNDED, constants={k: np.asarray(v) for k, v in constants.items()})
    made = sonnx_ort.conform(original, rounding=True, measure=False, verify=True)
    assert made.left_out == ()
    assert violated(made.model) == set()


def test_external_values_and_branches_are_read_as_the_first_run_computed_them() -> None:
    constants = {"k": np.float32([1, 2])}
    original = parse(
        """(float[2] X, bool b) => (float[2] Y) { s = Softsign(X) Y = If (b) <
        then_branch = p () => (float[2] t) { t = Mul(s, k) },
        else_branch = q () => (float[2] u) { u = Neg(s) }> }""",
        constants=constants,
    )
    made = sonnx_ort.conform(original, rounding=True, measure=False, verify=True)
    assert made.left_out == ()
    assert "Softsign" in [change.operator for change in made.changes]
