"""`diff --why`: the optimizers that change numbers, nodes before and after, and other causes."""

from collections.abc import Iterator

import numpy as np
import onnx
import onnx.parser
import pytest

from sonnx_ort.errors import SonnxError
from sonnx_ort.loading.file_traversal import all_nodes
from sonnx_ort.loading.traversal import in_words
from sonnx_ort.runs.diff.against_plain import RULES, Cause, against_plain
from sonnx_ort.runs.diff.difference import EXACT, Measure, Tolerance
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns, Level, Settings

pytestmark = pytest.mark.upstream


def model(text: str, opset: int = 17) -> onnx.ModelProto:
    imports = f'"": {opset}, "ai.onnx.ml": 4'
    return onnx.parser.parse_model(f"<ir_version: 8, opset_import: [{imports}]> g {text}")


def numbers(count: int) -> str:
    """Constants that are not alike."""
    return "{" + ", ".join(f"{number * 37 % 101 / 50 - 1}" for number in range(count)) + "}"


QUANTIZED = "float a = {0.013}, uint8 p = {12}, float b = {0.0071}, uint8 q = {7}"
WEIGHTS = "{" + ", ".join(str(number * 7 % 256) for number in range(512)) + "}"
GELU = """(float[64] x) => (float[64] y)
    <float root = {1.4142135}, float one = {1}, float half = {0.5}> {
    c = Div(x, root) d = Erf(c) e = Add(d, one) f = Mul(x, e) y = Mul(f, half) }"""
NORMALIZED = f"""(float[4, 64] x) => (float[4, 64] y)
    <float two = {{2}}, float small = {{0.00001}}, float[64] s = {numbers(64)},
     float[64] t = {numbers(64)}> {{
    m = ReduceMean<axes = [-1]>(x) d = Sub(x, m) p = Pow(d, two) v = ReduceMean<axes = [-1]>(p)
    e = Add(v, small) r = Sqrt(e) n = Div(d, r) w = Mul(n, s) y = Add(w, t) }}"""
NORMALIZED_BY_ROOT = f"""(float[4, 64] x) => (float[4, 64] y)
    <float two = {{2}}, float small = {{0.00001}}, float[64] s = {numbers(64)}> {{
    p = Pow(x, two) v = ReduceMean<axes = [-1]>(p) e = Add(v, small) r = Sqrt(e) n = Div(x, r)
    y = Mul(n, s) }}"""
MANY = "float[1, 4, 64]"

CAUSES = {
    "DivMulFusion": model("""(float[64] x, float[64] z) => (float[64] y) <float one = {1}> {
        [invert] r = Div(one, x) [scale] y = Mul(r, z) }"""),
    "GeluFusionL1": model(GELU, 20),
    "GeluFusionL2": model(GELU),
    # A part of what these fuse is what another one does.
    "LayerNormFusionL1 SimplifiedLayerNormFusion": model(NORMALIZED),
    "LayerNormFusionL2 SimplifiedLayerNormFusion": model(NORMALIZED, 16),
    "SimplifiedLayerNormFusion": model(NORMALIZED_BY_ROOT),
    "SkipLayerNormFusion": model(f"""({MANY} x, {MANY} z) => ({MANY} y)
        <float[64] s = {numbers(64)}, float[64] t = {numbers(64)}> {{
        c = Add(x, z) y = LayerNormalization(c, s, t) }}"""),
    "MatMulScaleFusion": model("""(float[4, 64] x, float[64, 8] z) => (float[4, 8] y)
        <float three = {3}> { c = Div(x, three) y = MatMul(c, z) }"""),
    "MatMul_BatchNormalization_Fusion": model(f"""(float[8, 3] x) => (float[8, 4] y)
        <float[3, 4] w = {numbers(12)}, float[4] s = {numbers(4)}, float[4] b = {numbers(4)},
         float[4] m = {numbers(4)}, float[4] v = {{1.3, 1.2, 1.1, 0.8}}> {{
        c = MatMul(x, w) y = BatchNormalization(c, s, b, m, v) }}"""),
    "DoubleQDQPairsRemover": model("""(float[400] x) => (float[400] y)
        <float s = {0.01}, uint8 o = {100}, float t = {0.017}, uint8 p = {90}> {
        c = QuantizeLinear(x, s, o) d = DequantizeLinear(c, s, o) e = QuantizeLinear(d, t, p)
        f = DequantizeLinear(e, t, p) g = Relu(f) h = QuantizeLinear(g, s, o)
        y = DequantizeLinear(h, s, o) }"""),
    "QDQSelectorActionTransformer": model(f"""(float[16, 64] x) => (float[16, 8] y)
        <{QUANTIZED}, uint8[64, 8] w = {WEIGHTS}> {{
        c = QuantizeLinear(x, a, p) d = DequantizeLinear(c, a, p) e = DequantizeLinear(w, b, q)
        y = MatMul(d, e) }}"""),
    "QDQPropagationTransformer": model("""(int32[8] x, int64[1] z) => (float[n] y)
        <float s = {0.3}, int32 big = {100}> {
        i = Mul(x, big) d = DequantizeLinear(i, s) y = Reshape(d, z) }"""),
}  # fmt: skip
"""Models by the optimizers that change what they compute."""

OPTIMIZED = Settings(Level.ALL)
GIVEN = {"QDQPropagationTransformer": {"z": np.array([8], np.int64)}}


def cause(
    changed: onnx.ModelProto,
    settings: Settings = OPTIMIZED,
    tolerance: Tolerance = EXACT,
    **given: object,
) -> Cause:
    threads = min(settings.threads, 1)
    with against_plain(changed, given, threads=threads, tolerance=tolerance) as runs:
        return runs.cause(settings)


@pytest.mark.parametrize("names", CAUSES)
def test_optimizer_that_changes_numbers_is_named(names: str) -> None:
    found = cause(CAUSES[names], **GIVEN.get(names, {}))
    assert " ".join(found.optimizers) == names
    assert not found.comparison.equal


def test_nodes_before_and_after_are_those_that_the_optimizer_changes() -> None:
    inverted = model("""(float[64] x, float[64] z) => (float[64] y) <float one = {1}> {
        [kept] a = Abs(x) [invert] r = Div(one, a) [scale] y = Mul(r, z) }""")
    found = cause(inverted)
    assert found.gone == ("Div 'invert': a -> r", "Mul 'scale': r, z -> y")
    assert found.new == ("Div 'invert': z, a -> y",)


def test_every_optimizer_that_changes_numbers_is_named() -> None:
    both = model("""(float[64] x, float[4, 64] a, float[64, 8] b) => (float[64] y, float[4, 8] z)
        <float one = {1}, float three = {3}> {
        i = Identity(x) r = Div(one, i) y = Mul(r, x) c = Div(a, three) z = MatMul(c, b) }""")
    assert cause(both).optimizers == ("DivMulFusion", "MatMulScaleFusion")


@pytest.mark.parametrize("level", [Level.NONE, Level.BASIC])
def test_nothing_is_named_where_nothing_differs(level: Level) -> None:
    found = cause(CAUSES["GeluFusionL2"], Settings(level))
    assert found.comparison.equal
    assert (found.optimizers, found.gone, found.new) == ((), (), ())


def test_difference_within_the_tolerance_has_no_cause() -> None:
    found = cause(CAUSES["DivMulFusion"], tolerance=Tolerance(Measure.ULP, 4))
    assert found.comparison.equal


def test_what_other_threads_change_is_a_value_and_no_optimizer() -> None:
    logarithms = model("(float[n] x) => (float[n] y) { [size] a = Abs(x) [log] y = Log(a) }")
    x = np.linspace(0.1, 9, 1_000_003, dtype=np.float32)
    found = cause(logarithms, Settings(Level.ALL, threads=2), x=x)
    assert found.optimizers == ()
    assert found.comparison.same == ("a",)
    assert [mismatch.node for mismatch in found.comparison.mismatches] == ["Log 'log'"]


ENDS = {
    "the process is killed by SIGFPE": (
        "(bool c, int32[2] x) => (int32[2] y) <int32[2] a = {-2147483648, 7}, int32[2] b = {-1, 1}>"
        "{ y = If (c) <then_branch = one () => (int32[2] q) { q = Div(a, b) },"
    ),
    "ONNX Runtime refuses: [ONNXRuntimeError] : 1 : FAIL : Exception during initialization": (
        "(bool c, int32[2] x) => (int32[2] y) <int32[2] k = {5, 7}>"
        "{ y = If (c) <then_branch = one () => (int32[2] q) { z = Sub(k, k) q = Div(x, z) },"
    ),
}
"""Models with a branch that no run takes: constants in it, and how ONNX Runtime ends at them."""


@pytest.mark.parametrize("reason", ENDS)
def test_optimizer_that_fails_or_ends_the_process_is_named(reason: str) -> None:
    ended = model(
        f"{ENDS[reason]} else_branch = other () => (int32[2] p) {{ p = Identity(x) }}> }}"
    )
    found = cause(ended, c=np.array(False))
    assert found.optimizers == ("ConstantFolding",)
    stop = found.comparison.stops[1]
    assert stop is not None
    assert stop.reason.startswith(reason)
    assert (found.gone, found.new) == ((), ())


def test_model_that_does_not_run_has_no_cause() -> None:
    broken = model("(float[4] x, int64[1] z) => (float[n] y) { y = Reshape(x, z) }")
    with pytest.raises(SonnxError) as caught:
        cause(broken, z=np.array([3], np.int64))
    assert str(caught.value).startswith(
        "the model does not run without optimizations: ONNX Runtime refuses: "
    )


def test_difference_that_no_named_optimizer_makes_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sonnx_ort.runs.diff.against_plain.optimizers_tried", no_optimizers)
    with pytest.raises(SonnxError) as caught:
        cause(CAUSES["GeluFusionL2"])
    assert str(caught.value) == (
        "no optimizer that ONNX Runtime names makes the difference: it is there without them too"
    )


def no_optimizers(content: bytes, settings: Settings) -> dict[str, bool]:
    """What a session would log that no optimizer changes."""
    del content, settings
    return {}


CONVOLUTION = f"float[4, 3, 3, 3] w = {numbers(108)}"
IMAGE = "float[1, 3, 8, 8]"
RULE_MODELS = {
    "EliminateIdentity": model("(float[3] x) => (float[3] y) { c = Identity(x) y = Neg(c) }"),
    "EliminateSlice": model("""(float[3] x) => (float[3] y)
        <int64[1] s = {0}, int64[1] e = {9223372036854775807}> {
        r = Relu(x) c = Slice(r, s, e) y = Neg(c) }"""),
    "UnsqueezeElimination": model("""(float[1, 3] x) => (float[1, 3] y) <float[3] w = {1, 2, 3}> {
        c = Unsqueeze<axes = [0]>(w) y = Add(x, c) }""", 11),
    "EliminateDropout": model("(float[3] x) => (float[3] y) { c = Dropout(x) y = Neg(c) }"),
    "ExpandElimination": model("""(float[3] x) => (float[3] y) <int64[1] s = {3}> {
        r = Relu(x) c = Expand(r, s) y = Neg(c) }"""),
    "CastElimination": model("(float[3] x) => (float[3] y) { c = Cast<to = 1>(x) y = Neg(c) }"),
    "PreShapeNodeElimination": model("""(float[n] x) => (int64[1] y) {
        c = Cast<to = 7>(x) d = Shape(c) y = Neg(d) }"""),
    "NoopElimination": model("""(float[3] x) => (float[3] y) <float zero = {0}> {
        r = Relu(x) c = Add(r, zero) y = Neg(c) }"""),
    "DivMulFusion": CAUSES["DivMulFusion"],
    "FuseReluClip": model("""(float[3] x) => (float[3] y) <float low = {0}, float high = {6}> {
        c = Relu(x) y = Clip(c, low, high) }"""),
    "GemmSumFusion": model("""(float[4, 3] x, float[3, 5] w, float[4, 5] z) => (float[4, 5] y) {
        c = Gemm(x, w) y = Sum(c, z) }"""),
    "GemmTransposeFusion": model("""(float[3, 4] x, float[3, 5] w) => (float[4, 5] y) {
        c = Transpose(x) y = Gemm(c, w) }"""),
    "NotWhereFusion": model("""(bool[3] x, float[3] a, float[3] b) => (float[3] y) {
        c = Not(x) y = Where(c, a, b) }"""),
    "ConvAddFusion": model(f"""({IMAGE} x) => (float[1, 4, 6, 6] y)
        <{CONVOLUTION}, float[4, 1, 1] s = {numbers(4)}> {{ c = Conv(x, w) y = Add(c, s) }}"""),
    "ConvMulFusion": model(f"""({IMAGE} x) => (float[1, 4, 6, 6] y)
        <{CONVOLUTION}, float[4, 1, 1] s = {numbers(4)}> {{ c = Conv(x, w) y = Mul(c, s) }}"""),
    "ConvBNFusion": model(f"""({IMAGE} x) => (float[1, 4, 6, 6] y)
        <{CONVOLUTION}, float[4] s = {numbers(4)}, float[4] v = {{1, 2, 3, 4}}> {{
        c = Conv(x, w) y = BatchNormalization(c, s, s, s, v) }}"""),
    "Pad_Fusion": model(f"""({IMAGE} x) => (float[1, 4, 8, 8] y)
        <{CONVOLUTION}, int64[8] p = {{0, 0, 1, 1, 0, 0, 1, 1}}> {{
        c = Pad(x, p) y = Conv(c, w) }}"""),
    "MatMul_BatchNormalization_Fusion": CAUSES["MatMul_BatchNormalization_Fusion"],
    "LabelEncoderFusion": model("""(int64[3] x) => (string[3] y) {
        c = ai.onnx.ml.LabelEncoder<keys_int64s = [1, 2], values_strings = ["a", "b"],
            default_string = "c">(x)
        y = ai.onnx.ml.LabelEncoder<keys_strings = ["a", "b"], values_strings = ["d", "e"],
            default_string = "f">(c) }"""),
    "ClipQuantRewrite": model("""(float[3] x) => (uint8[3] y)
        <float low = {0}, float high = {2.55}, float s = {0.01}, uint8 o = {0}> {
        r = Neg(x) c = Clip(r, low, high) y = QuantizeLinear(c, s, o) }""", 13),
    "ReluQuantRewrite": model("""(float[3] x) => (uint8[3] y) <float s = {0.01}, uint8 o = {0}> {
        c = Relu(x) y = QuantizeLinear(c, s, o) }"""),
}  # fmt: skip
"""Models by the one rule that changes them."""


@pytest.fixture(scope="module")
def runs() -> Iterator[IsolatedRuns]:
    with IsolatedRuns() as started:
        yield started


def operators_of(rewritten: onnx.ModelProto | Failed) -> list[str]:
    assert not isinstance(rewritten, Failed)
    return [in_words(node) for node in all_nodes(rewritten)]


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_is_known_to_onnx_runtime_by_its_name(rule: str, runs: IsolatedRuns) -> None:
    others = ("ConstantFolding",)
    applied, left = (
        operators_of(runs.optimize(RULE_MODELS[rule], Settings(Level.EXTENDED, off=off)))
        for off in (others, (*others, rule))
    )
    assert applied != left
