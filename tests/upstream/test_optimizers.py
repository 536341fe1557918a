"""What optimizers and other session options change without a word.

Each optimizer of the installed ONNX Runtime is in a group of `sonnx_ort.ort.effects`. A
session logs the names of most. Others apply rules by their names, or act with some options or
providers alone; their names stand in the library.
"""

import re
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import onnxruntime as ort
import pytest
from onnx import TensorProto

from sonnx_ort.loading.external_data import refer
from sonnx_ort.ort.disabled_optimizers import (
    OPTIMIZERS_OF_GUARDS,
    OPTIMIZERS_OF_OPERATORS,
    names_of,
)
from sonnx_ort.ort.effects import GROUPS
from sonnx_ort.ort.optimizers import DISABLED_OPTIMIZERS
from sonnx_ort.runs.diff.against_plain import RULES, optimizers_tried
from sonnx_ort.runs.isolated_run import Level as Optimization
from sonnx_ort.runs.isolated_run import Settings
from support.changes import INSTALLED, before_and_since, changed
from support.graphs import binary_model, parse
from support.patterns import FUSIONS
from support.sessions import LEVELS, on_one_thread, quiet

pytestmark = pytest.mark.upstream

NAMES = names_of(OPTIMIZERS_OF_OPERATORS)
Level = ort.GraphOptimizationLevel
OPTIMIZING = [
    pytest.param(Level.ORT_ENABLE_BASIC, id="basic"),
    pytest.param(Level.ORT_ENABLE_EXTENDED, id="extended"),
    pytest.param(Level.ORT_ENABLE_ALL, id="all"),
]


def optimized(model_proto, path, level, disabled=""):
    """A session, and the nodes that it kept."""
    options = quiet()
    options.graph_optimization_level = level
    options.optimized_model_filepath = str(path / "optimized.onnx")
    if disabled:
        options.add_session_config_entry(DISABLED_OPTIMIZERS, disabled)
    session = ort.InferenceSession(model_proto.SerializeToString(), options)
    kept = onnx.load(path / "optimized.onnx").graph.node
    return session, [(node.op_type, node.name) for node in kept]


CASES = [
    pytest.param(fusion, LEVELS[level], id=f"{name}, {level}")
    for name, fusion in FUSIONS.items()
    for level in fusion.levels
]


def divisions_and_differences(model_proto, path, level, disabled=""):
    """Every Div and Sub that is left, with its name and what it reads."""
    optimized(model_proto, path, level, disabled)
    nodes = onnx.load(path / "optimized.onnx").graph.node
    return sorted((n.op_type, n.name, tuple(n.input)) for n in nodes if n.op_type in {"Div", "Sub"})


@pytest.mark.parametrize(("fusion", "level"), CASES)
def test_optimizer_takes_a_division_away(fusion, level, tmp_path):
    """Once the nodes stay, this optimizer need not be switched off."""
    others = ";".join(set(NAMES) - {fusion.optimizer})
    as_written = divisions_and_differences(fusion.model, tmp_path, LEVELS["none"])
    assert divisions_and_differences(fusion.model, tmp_path, level, others) != as_written


@pytest.mark.parametrize(("fusion", "level"), CASES)
def test_optimizers_of_divisions_can_be_switched_off(fusion, level, tmp_path):
    off = ";".join(NAMES)
    as_written = divisions_and_differences(fusion.model, tmp_path, LEVELS["none"])
    assert divisions_and_differences(fusion.model, tmp_path, level, off) == as_written


BESIDE = {"FuseReluClip", "GemmTransposeFusion"}
"""The optimizers that are off and take no Div and no Sub away; they have tests of their own."""


def test_every_optimizer_that_is_switched_off_is_shown_to_matter():
    assert {fusion.optimizer for fusion in FUSIONS.values()} | BESIDE == set(NAMES)


def reciprocal_times_y(element_type):
    one = f"{element_type}[1]"
    return parse(f"""({one} x, {one} y) => ({element_type}[] z) <{one} one = {{1}}> {{
        r = Div(one, x)
        z = Mul(r, y)
    }}""")


@pytest.mark.parametrize("level", OPTIMIZING)
@pytest.mark.parametrize(("element_type", "x", "y"), [("float", 49, 7), ("int32", 2, 6)])
def test_product_with_a_reciprocal_becomes_another_value(element_type, x, y, level, tmp_path):
    """Once the results stay, DivMulFusion need not be thought of."""
    dtype = {"float": np.float32, "int32": np.int32}[element_type]
    feeds = {"x": np.array([x], dtype), "y": np.array([y], dtype)}
    fusible = reciprocal_times_y(element_type)
    (as_written,) = optimized(fusible, tmp_path, LEVELS["none"])[0].run(None, feeds)
    (result,) = optimized(fusible, tmp_path, level)[0].run(None, feeds)
    assert result != as_written


@pytest.mark.parametrize("level", OPTIMIZING)
def test_nodes_whose_attributes_are_zeros_of_either_sign_are_merged(level, tmp_path):
    """Once the results stay, no session has to be refused for such nodes."""
    model = parse(
        "(float[1] x) => (float[1] a, float[1] b)"
        " { p = LeakyRelu <alpha = 0.0> (x) q = LeakyRelu <alpha = -0.0> (x)"
        " a = Neg(p) b = Neg(q) }"
    )
    feeds = {"x": np.array([-1], np.float32)}
    as_written = optimized(model, tmp_path, LEVELS["none"])[0].run(None, feeds)
    results = optimized(model, tmp_path, level)[0].run(None, feeds)
    assert np.signbit(as_written).tolist() == [[False], [True]]
    assert np.signbit(results[0]) == np.signbit(results[1])


def rectified_and_clipped(element_type):
    return parse(f"""({element_type}[n] x) => ({element_type}[] z)
        <{element_type} low = {{-0.0}}, {element_type} high = {{6}}> {{
        r = Relu(x) z = Clip(r, low, high) }}""")


@pytest.mark.parametrize("level", OPTIMIZING)
def test_clip_without_its_relu_gives_minus_zero(level, tmp_path):
    """Once the results stay, FuseReluClip need not be thought of for a Clip of float."""
    feeds = {"x": np.array([-1], np.float32)}
    model = rectified_and_clipped("float")
    (as_written,) = optimized(model, tmp_path, LEVELS["none"])[0].run(None, feeds)
    (result,) = optimized(model, tmp_path, level)[0].run(None, feeds)
    assert (np.signbit(as_written), np.signbit(result)) == (False, True)


def require_not_started(model, feeds, level, optimizers, path):
    """Require that a session starts if some optimizers are off, and not if they are on."""
    without = optimized(model, path, level, optimizers)[0].run(None, feeds)
    as_written = optimized(model, path, LEVELS["none"])[0].run(None, feeds)
    assert [each.tobytes() for each in without] == [each.tobytes() for each in as_written]
    with pytest.raises(Exception, match=r"Unexpected data type|invalid model|find kernel"):
        optimized(model, path, level)


@pytest.mark.parametrize("level", OPTIMIZING)
def test_no_session_starts_with_a_relu_and_a_clip_of_double(level, tmp_path):
    feeds = {"x": np.array([-1.0, 7.0])}
    require_not_started(rectified_and_clipped("double"), feeds, level, "FuseReluClip", tmp_path)


@pytest.mark.parametrize("level", OPTIMIZING)
def test_no_session_starts_with_a_transpose_of_dequantized_int32(level, tmp_path):
    model = parse("""(int32[n,2] x) => (float[] z) <float scale = {0.5}, int32 zero = {0}> {
        d = DequantizeLinear(x, scale, zero) z = Transpose <perm = [1, 0]> (d) }""")
    feeds = {"x": np.array([[-1, 7]], np.int32)}
    moving = "TransposeOptimizer;TransposeOptimizer_CPUExecutionProvider"
    off = f"QDQPropagationTransformer;{moving}"
    require_not_started(model, feeds, level, off, tmp_path)


@pytest.mark.parametrize("level", OPTIMIZING)
@pytest.mark.parametrize("nodes", [
    "y = Transpose <perm = [0, 1]> (x) z = Gemm(y, w)",
    "y = Transpose <perm = [0, 1]> (w) z = Gemm(x, y)",
    "y = Gemm(x, w) z = Transpose <perm = [0, 1]> (y)",
], ids=["first operand", "second operand", "result"])  # fmt: skip
def test_transpose_that_changes_nothing_transposes_beside_a_gemm(nodes, level, tmp_path):
    model = parse(
        "(float[n,m] x) => (float[] z) <float[2,2] w = {1, 2, 3, 5}> { " + nodes + " }", opset=17
    )
    feeds = {"x": np.array([[1, 2], [3, 4]], np.float32)}
    (as_written,) = optimized(model, tmp_path, LEVELS["none"])[0].run(None, feeds)
    (result,) = optimized(model, tmp_path, level)[0].run(None, feeds)
    fact = "a Transpose that changes nothing changes no Gemm"
    assert np.array_equal(result, as_written) == before_and_since(fact, False, True)


@pytest.mark.parametrize("level", OPTIMIZING[1:])
def test_no_session_starts_with_a_transposed_product_of_double(level, tmp_path):
    model = parse("""(double[n,m] x) => (double[] z) <double[2,2] w = {1, 2, 3, 5}> {
        y = Transpose <perm = [1, 0]> (x) z = MatMul(y, w) }""")
    feeds = {"x": np.eye(2)}
    if changed("a Transpose and a MatMul of double stay apart"):
        assert optimized(model, tmp_path, level)[0].run(None, feeds)[0].tolist() == [[1, 2], [3, 5]]
    else:
        require_not_started(model, feeds, level, "MatmulTransposeFusion", tmp_path)


GUARD = onnx.parser.parse_model(OPTIMIZERS_OF_GUARDS[0].canary)
IMPOSSIBLE_SHAPE = {"x": np.ones(4, np.float32), "s": np.array([-102])}


@pytest.mark.parametrize("level", OPTIMIZING)
def test_reshape_by_a_computed_shape_is_dissolved_in_a_reshape_behind_it(tmp_path, level):
    """Once it stays, `register` need not switch ReshapeFusion off."""
    session, kept = optimized(GUARD, tmp_path, level)
    (result,) = session.run(None, IMPOSSIBLE_SHAPE)
    assert (kept, result.shape) == ([("Reshape", "guard_new_reshape")], (2, 2))


def test_fusion_of_reshapes_can_be_switched_off(tmp_path):
    session, kept = optimized(
        GUARD, tmp_path, Level.ORT_ENABLE_ALL, disabled=OPTIMIZERS_OF_GUARDS[0].name
    )
    with pytest.raises(Exception, match=r"guard.*less than -1, got -102"):
        session.run(None, IMPOSSIBLE_SHAPE)
    assert kept == [("Reshape", "guard"), ("Reshape", "reshape")]


SHAPE_ALONE = """(float[4] x, int64[2] i) => (int64[1] s) {
    a = Gather(x, i)
    b = Neg(a)
    s = Shape(b)
}"""


def test_node_of_which_only_a_known_shape_is_read_is_left_out(tmp_path):
    """Once it fails at every level, `hide_shape` need not hide shapes."""
    feeds = {"x": np.ones(4, np.float32), "i": np.array([0, 9])}
    with pytest.raises(Exception, match="out of data bounds"):
        optimized(parse(SHAPE_ALONE), tmp_path, LEVELS["none"])[0].run(None, feeds)
    session, kept = optimized(parse(SHAPE_ALONE), tmp_path, Level.ORT_ENABLE_BASIC)
    assert (session.run(None, feeds)[0].tolist(), kept) == ([2], [])


DEQUANTIZED = onnx.parser.parse_model(OPTIMIZERS_OF_GUARDS[1].canary)


@pytest.mark.parametrize("level", OPTIMIZING)
def test_reshape_behind_a_dequantization_gives_other_numbers(tmp_path, level):
    """Once it gives these, `register` need not switch QDQPropagationTransformer off."""
    feeds = {"x": np.array([-2, 300], np.int32), "s": np.array([2])}
    (changed,) = optimized(DEQUANTIZED, tmp_path, level)[0].run(None, feeds)
    off = OPTIMIZERS_OF_GUARDS[1].name
    (result,) = optimized(DEQUANTIZED, tmp_path, level, disabled=off)[0].run(None, feeds)
    assert (changed.tolist(), result.tolist()) == ([0, 127.5], [-1, 150])


CONSTANT_IF = parse("""(float[?] x, int64[1] s) => (float[?] y) <bool yes = {1}> {
    [choose] y = If (yes) <
        then_branch = then () => (float[?] t) { ["the channel"] t = Reshape(x, s) },
        else_branch = else () => (float[?] e) { e = Neg(x) }
    >
}""")


@pytest.mark.parametrize("level", OPTIMIZING)
def test_branch_in_the_place_of_its_if_loses_the_names_of_its_nodes(tmp_path, level):
    """Once they stay, `InferenceSession` need not look for the name of a guard."""
    _, kept = optimized(CONSTANT_IF, tmp_path, level)
    assert kept == [("Reshape", "_if_then_branch_Reshape")]


NORMALIZATION = """(float[1, 64] x, float[64] g) => (float[1, 64] y)
    <float two = {2.0}, float e = {0.00001}> {
    m = ReduceMean<axes = [-1], keepdims = 1>(x)
    d = Sub(x, m)
    p = Pow(d, two)
    v = ReduceMean<axes = [-1], keepdims = 1>(p)
    w = Add(v, e)
    s = Sqrt(w)
    n = Div(d, s)
    y = Mul(n, g)
}"""


def test_normalization_of_equal_numbers():
    """Once all supported versions give 0, intervals may trust a difference divided by a root."""
    made = parse(NORMALIZATION)
    ones, zeros = np.ones(64, np.float32), np.zeros(64, np.float32)
    made.graph.node[-1].output[0] = "scaled"
    made.graph.node.append(onnx.helper.make_node("Add", ["scaled", "zeros"], ["y"]))
    made.graph.initializer.append(onnx.numpy_helper.from_array(zeros, "zeros"))
    made.graph.initializer.append(onnx.numpy_helper.from_array(ones, "g"))
    del made.graph.input[1]
    feeds = {"x": np.full((1, 64), 1234.567, np.float32)}
    results = [
        ort.InferenceSession(made.SerializeToString(), options).run(None, feeds)[0]
        for options in (on_one_thread("none"), on_one_thread("all"))
    ]
    assert not results[0].any()
    expected = before_and_since("LayerNormalization of equal numbers is 0", True, False)
    assert bool(np.isnan(results[1]).all()) is expected


CONSTANT = parse("() => (float[2] y) <float[2] w = {2, 2}> { y = Identity(w) }")


@pytest.mark.skipif(INSTALLED < (1, 32), reason="its Identity refuses to copy the other type")
def test_tensor_of_another_type_takes_the_place_of_an_initializer() -> None:
    """R56: bytes of int32 are read as float. Remove nothing: a tensor of the right type counts."""
    value = ort.OrtValue.ortvalue_from_numpy(np.array([1, 2], np.int32))
    options = on_one_thread("none")
    options.add_initializer("w", value)
    session = ort.InferenceSession(CONSTANT.SerializeToString(), options)
    np.testing.assert_array_equal(session.run(None, {})[0].view(np.int32), [1, 2])


def test_tensor_of_another_shape_takes_the_place_of_an_initializer() -> None:
    """R56, where a Div then broadcasts."""
    model = parse("(float[2] x) => (float[2] y) <float[2] w = {2, 2}> { y = Div(x, w) }")
    value = ort.OrtValue.ortvalue_from_numpy(np.array([4], np.float32))
    options = quiet()
    options.add_initializer("w", value)
    session = ort.InferenceSession(model.SerializeToString(), options)
    np.testing.assert_array_equal(session.run(None, {"x": np.full(2, 8, np.float32)})[0], [2, 2])


@pytest.mark.skipif(
    not hasattr(ort.SessionOptions, "add_external_initializers_from_files_in_memory"),
    reason="this version takes no files in memory",
)
def test_options_of_a_session_lack_the_files_in_memory(tmp_path) -> None:
    """R57: without this, sonnx_ort need not read them beforehand (`_copied_from_memory`)."""
    model = parse("() => (float[2] y) { y = Identity(w) }")
    tensor = TensorProto(name="w", data_type=TensorProto.FLOAT, dims=[2])
    refer(tensor, "w.bin", 0, 8)
    model.graph.initializer.append(tensor)
    onnx.save(model, tmp_path / "model.onnx")
    (tmp_path / "w.bin").write_bytes(np.full(2, 2, np.float32).tobytes())
    memory = np.full(2, 4, np.float32).tobytes()
    options = quiet()
    options.add_external_initializers_from_files_in_memory(["w.bin"], [memory], [len(memory)])
    first = ort.InferenceSession(tmp_path / "model.onnx", options)
    second = ort.InferenceSession(tmp_path / "model.onnx", first.get_session_options())
    np.testing.assert_array_equal(first.run(None, {})[0], [4, 4])
    np.testing.assert_array_equal(second.run(None, {})[0], [2, 2])


@pytest.mark.parametrize(("arguments", "left"), [({}, 2), ({"disabled_optimizers": {"Other"}}, 1)])
def test_argument_switches_on_what_the_options_switch_off(arguments, left, tmp_path) -> None:
    """R58: without this, `disabled_optimizers` in `session_options.py` can go."""
    model = parse("""(float[n] x, int64[1] s) => (float[2, 2] y) <int64[2] t = {2, 2}> {
        [first] r = Reshape(x, s)
        [second] y = Reshape(r, t)
    }""")
    options = quiet()
    options.add_session_config_entry("optimization.disable_specified_optimizers", "ReshapeFusion")
    options.optimized_model_filepath = str(tmp_path / "optimized.onnx")
    ort.InferenceSession(model.SerializeToString(), options, **arguments)
    assert len(onnx.load(tmp_path / "optimized.onnx").graph.node) == left


KNOWN = {name for group in GROUPS.values() for name in group}
LIBRARY = next(Path(ort.__file__).parent.glob("capi/onnxruntime_pybind11_state*"))
ENDS = (
    "AltImpl|Approximation|Cleanup|Clip|Consolidation|DummyDq|Elimination|Folding|Fusion|FusionL1|"
    "FusionL2|NodeUnit|Optimizer|Quantization|Remover|Rewrite|Sharing|Transformer"
)
NO_OPTIMIZERS = re.compile(
    # Parts of names that the compiler lays over each other, functions, and what training has.
    r"EnsureUniqueDQFo\w+|GenerateRuleBasedGraphTransformer|GraphTransformer|"
    r"RuleBasedGraphTransformer|ClipGradNormTransformer"
)


@pytest.mark.parametrize("level", [Optimization.BASIC, Optimization.EXTENDED, Optimization.ALL])
def test_each_optimizer_that_a_session_tries_is_in_a_group(level):
    content = binary_model("Div", "float", ["n"], ["n"]).SerializeToString()
    assert set(optimizers_tried(content, Settings(level=level))) - KNOWN == set()


def test_each_rule_that_a_session_applies_is_in_a_group():
    assert set(RULES) - KNOWN == set()


def test_each_name_of_an_optimizer_in_the_library_is_in_a_group():
    words = re.findall(rb"(?<![\x20-\x7e])[A-Z][A-Za-z0-9_]{4,}(?=\x00)", LIBRARY.read_bytes())
    named = {word.decode() for word in words}
    found = {name for name in named if re.fullmatch(rf"\w+({ENDS})", name)}
    assert "ConvAddFusion" in found
    unknown = {name for name in found - KNOWN if not NO_OPTIMIZERS.fullmatch(name)}
    assert unknown == set()
