"""What no change was verified for stays as it is: results, errors and names do not change."""

import numpy as np
import onnx
import onnx.defs
import onnx.parser
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort.conforming.decomposing import TEMPLATES
from sonnx_ort.conforming.rounds import CHANGES, TELLING_SIZES
from sonnx_ort.conforming.verified import NEWEST
from sonnx_ort.conforming.verified_operators import VERIFIED
from support.sessions import on_one_thread

SCHEMAS = onnx.defs.get_all_schemas_with_history()
"""All versions of all operators."""


def model_of(
    operands: str, node: str, opset: int = 20, learned: int = 3, **constants: np.ndarray
) -> onnx.ModelProto:
    """A model of a node whose result is `y`, of no declared shape."""
    imports = f'["": {opset}, "ai.onnx.ml": {learned}]'
    text = f"<ir_version: 10, opset_import: {imports}> g ({operands}) => (float y) {{ {node} }}"
    model = onnx.parser.parse_model(text)
    for name, elements in constants.items():
        model.graph.initializer.append(onnx.numpy_helper.from_array(elements, name))
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    copy.graph.output[0].ClearField("type")
    inferred = onnx.shape_inference.infer_shapes(copy).graph.output[0].type.tensor_type.elem_type
    declared = model.graph.output[0].type.tensor_type
    declared.elem_type = inferred or declared.elem_type
    declared.ClearField("shape")
    return model


def schemas_of(operator: str) -> list[onnx.defs.OpSchema]:
    """The versions of an operator that are declared as verified."""
    domain, _, name = operator.rpartition("::")
    first, last = VERIFIED[operator].first, VERIFIED[operator].last
    return [
        schema
        for schema in SCHEMAS
        if (schema.domain, schema.name) == (domain, name) and first <= schema.since_version <= last
    ]


def test_every_template_is_declared() -> None:
    assert set(TEMPLATES) <= set(VERIFIED)


@pytest.mark.parametrize("change", [*CHANGES, *TELLING_SIZES], ids=lambda change: change.title)
def test_every_change_is_declared_for_the_operators_of_its_rules(change) -> None:
    operators = {rule.partition(".")[0] for rule in change.rules} - {"GR3"}
    assert operators <= set(change.verified)


@pytest.mark.parametrize("operator", VERIFIED)
def test_what_is_declared_stands_in_the_schema(operator: str) -> None:
    schemas, declared = schemas_of(operator), VERIFIED[operator]
    assert schemas
    assert set(declared.attributes) <= {name for s in schemas for name in s.attributes}
    assert set(declared.others) <= {formal.name for s in schemas for formal in s.inputs}


def test_no_later_version_is_declared() -> None:
    assert {d.last for name, d in VERIFIED.items() if "::" not in name} == {NEWEST[""]}
    assert {d.last for name, d in VERIFIED.items() if "::" in name} == {NEWEST["ai.onnx.ml"]}


AXIS = np.array([1], np.int64)
NO_FLAG = "its attribute {} is {}, for which the change was not verified"
REDUCTIONS = ("L1", "L2", "LogSum", "LogSumExp", "Max", "Min", "Prod", "SumSquare")

UNVERIFIED = {
    **{
        (f"Reduce{kind}", f"keepdims = {number}"): (
            "float[2,3] x", f"y = Reduce{kind} <keepdims = {number}> (x, k)", 20,
            NO_FLAG.format("keepdims", number),
        )
        for kind in REDUCTIONS
        for number in (2, -1)
    },
    ("ReduceL1", "noop 2"): (
        "float[2,3] x", "y = ReduceL1 <noop_with_empty_axes = 2> (x)", 20,
        NO_FLAG.format("noop_with_empty_axes", 2),
    ),
    **{
        (f"Reduce{kind}", "an axis twice"): (
            "float[2,3] x", f"y = Reduce{kind} (x, twice)", 20, "it names an axis twice: 1, -1",
        )
        for kind in REDUCTIONS
    },
    ("ReduceL1", "an axis twice, as attribute"): (
        "float[2,3] x", "y = ReduceL1 <axes = [1, -1]> (x)", 13,
        NO_FLAG.format("axes", "[1, -1]"),
    ),
    ("CumSum", "exclusive 2"): (
        "float[2,3] x", "y = CumSum <exclusive = 2> (x, k)", 20, NO_FLAG.format("exclusive", 2),
    ),
    ("CumSum", "an axis beyond"): (
        "float[2,3] x", "y = CumSum (x, seven)", 20, "an operand of rank 2 has no axis 7",
    ),
    ("Trilu", "upper 2"): (
        "float[2,3] x", "y = Trilu <upper = 2> (x)", 20, NO_FLAG.format("upper", 2),
    ),
    ("TopK", "largest 2"): (
        "float[2,3] x", "y, i = TopK <largest = 2> (x, k)", 20, NO_FLAG.format("largest", 2),
    ),
    ("ArgMin", "keepdims 2"): (
        "float[2,3] x", "y = ArgMin <keepdims = 2> (x)", 20, NO_FLAG.format("keepdims", 2),
    ),
    ("DFT", "inverse 2"): (
        "float[1,4,1] x", "y = DFT <inverse = 2> (x)", 20, NO_FLAG.format("inverse", 2),
    ),
    ("ScatterElements", "a place twice"): (
        "float[3] x, float[2] u", "y = ScatterElements (x, same, u)", 20,
        "two of its indices name the same element",
    ),
    ("ScatterElements", "indices of a run"): (
        "float[3] x, float[2] u, int64[2] i", "y = ScatterElements (x, i, u)", 20,
        (
            "whether two of its indices name the same element depends on the input; make 'i' a "
            "constant"
        ),
    ),
    ("GatherElements", "indices of another rank"): (
        "float[2,3] x", "y = GatherElements (x, k)", 20, "'k' has 1 axes, not 2",
    ),
    ("OneHot", "three values"): (
        "int64[2] x, float[3] v", "y = OneHot (x, k, v)", 20, "'v' is not a vector of two values",
    ),
    ("OneHot", "no depth"): (
        "int64[2] x, float[2] v", "y = OneHot (x, none, v)", 20, "its depth is -2",
    ),
    ("Tile", "too few repeats"): (
        "float[2,3] x", "y = Tile (x, k)", 20,
        "it has not one number of repeats for each axis of 'x'",
    ),
    ("DepthToSpace", "3 channels"): (
        "float[1,3,1,1] x", "y = DepthToSpace <blocksize = 2> (x)", 20,
        "4 is no divisor of its 3 channels",
    ),
    ("QLinearMatMul", "scales of float16"): (
        "uint8[2,4] x, float16 s, uint8 z, uint8[4,3] w", "y = QLinearMatMul (x,s,z,w,s,z,s,z)", 21,
        "its input a_scale is float16, for which the change was not verified",
    ),
    ("AveragePool", "three axes"): (
        "float[1,1,3,3,3] x", "y = AveragePool <kernel_shape = [2, 2, 2]> (x)", 20,
        "'x' has 3 axes to move along, not 1 or 2",
    ),
    ("AveragePool", "no window"): (
        "float[1,3,1,1] x", "y = AveragePool <kernel_shape = [2, 2]> (x)", 20,
        "axis 2 of 'x' may be shorter than a window",
    ),
    ("ReduceMax", "an open axis"): (
        "int32[n,3] x", "y = ReduceMax (x, zero)", 20,
        "axis 0 of 'x' may be empty; fix it: assume_shapes={'x': (1, 3)}",
    ),
    ("LogSoftmax", "an open axis"): (
        "float[3,n] x", "y = LogSoftmax (x)", 20,
        "axis 1 of 'x' may be empty; fix it: assume_shapes={'x': (3, 1)}",
    ),
    ("Sum", "version 6"): (
        "float[3] x, float[3] u", "y = Sum (x, u)", 7,
        "it is version 6 of Sum, for which the change was not verified",
    ),
    ("Bernoulli", "random numbers"): (
        "float[3] x", "y = Bernoulli (x)", 20,
        "the difference between its definition by ONNX and its kernel is not measured",
    ),
    ("FeatureVectorizer", "other dimensions"): (
        "float[1,3] x", "y = ai.onnx.ml.FeatureVectorizer <inputdimensions = [2]> (x)", 20,
        "its attribute inputdimensions does not have the sizes of its operands",
    ),
    ("Scaler", "three offsets of two features"): (
        "float[1,2] x",
        "y = ai.onnx.ml.Scaler <offset = [1.0, 2.0, 3.0], scale = [1.0, 2.0, 3.0]> (x)", 20,
        "its attributes do not fit the features of 'x'",
    ),
}  # fmt: skip
"""By operator and what is unverified: operands, node, opset and the reason."""

CONSTANTS = {
    "k": AXIS,
    "twice": np.array([1, -1], np.int64),
    "same": np.array([1, -2], np.int64),
    "seven": np.array(7, np.int64),
    "none": np.array(-2, np.int64),
    "zero": np.array([0], np.int64),
}


def unverified(case: tuple[str, str, int, str]) -> tuple[onnx.ModelProto, str]:
    operands, node, opset, reason = case
    read = node.rpartition("(")[2].rstrip(")").replace(",", " ").split()
    constants = {name: elements for name, elements in CONSTANTS.items() if name in read}
    return model_of(operands, node, opset, **constants), reason


@pytest.mark.parametrize("case", UNVERIFIED.values(), ids=map(": ".join, UNVERIFIED))
@pytest.mark.parametrize("rounding", [False, True])
def test_a_node_that_no_change_was_verified_for_stays(case, rounding: bool) -> None:
    model, reason = unverified(case)
    made = sonnx_ort.conform(model, rounding=rounding)
    told = {o.rule.id: why for o, why in made.remaining}
    assert told["Graph.operator_set"] == reason
    assert model.graph.node[0].op_type in {node.op_type for node in made.model.graph.node}


I64, F = np.int64, np.float32
FEATURES = "y = ai.onnx.ml.ArrayFeatureExtractor(x, k)"
REVERSED = "y = ReverseSequence <batch_axis = 1, time_axis = 0> (x, k)"
ROTATED = "y = RotaryEmbedding(x, c, s, k)"
ANGLES = {"c": np.ones((3, 2), F), "s": np.zeros((3, 2), F), "x": np.ones((1, 1, 2, 4), F)}
OF_ANGLES = "float[1,1,2,4] x, float[3,2] c, float[3,2] s, int64[1,2] k"

REFUSED = {
    "ArrayFeatureExtractor before the first": (
        "float[1,3] x, int64[1,1] k", FEATURES, 20, {"x": np.ones((1, 3), F), "k": I64([[-1]])}),
    "ArrayFeatureExtractor beyond the last": (
        "float[1,3] x, int64[1,1] k", FEATURES, 20, {"x": np.ones((1, 3), F), "k": I64([[3]])}),
    "ArrayFeatureExtractor of no rows": (
        "float[n,3] x, int64[1,1] k", FEATURES, 20, {"x": np.ones((0, 3), F), "k": I64([[-1]])}),
    "GatherElements before the first": (
        "float[2,3] x, int64[2,1] k", "y = GatherElements <axis = 1> (x, k)", 20,
        {"x": np.ones((2, 3), F), "k": I64([[0], [-4]])}),
    "GatherElements longer than X": (
        "float[n,3] x, int64[m,1] k", "y = GatherElements <axis = 1> (x, k)", 20,
        {"x": np.ones((2, 3), F), "k": I64([[0], [0], [0]])}),
    "ReverseSequence of a negative length": (
        "float[3,1] x, int64[1] k", REVERSED, 20, {"x": np.ones((3, 1), F), "k": I64([-1])}),
    "ReverseSequence beyond the last": (
        "float[3,1] x, int64[1] k", REVERSED, 20, {"x": np.ones((3, 1), F), "k": I64([4])}),
    "ReverseSequence of no elements": (
        "float[t,1] x, int64[1] k", REVERSED, 20, {"x": np.ones((0, 1), F), "k": I64([2])}),
    "ReverseSequence of another number of lengths": (
        "float[3,n] x, int64[m] k", REVERSED, 20, {"x": np.ones((3, 2), F), "k": I64([1])}),
    "RotaryEmbedding before the first": (OF_ANGLES, ROTATED, 23, {**ANGLES, "k": I64([[-1, 0]])}),
    "RotaryEmbedding beyond the last": (OF_ANGLES, ROTATED, 23, {**ANGLES, "k": I64([[3, 0]])}),
}  # fmt: skip
"""Models that are changed, and runs of them that ONNX Runtime refuses."""


@pytest.mark.parametrize("case", REFUSED.values(), ids=list(REFUSED))
@pytest.mark.parametrize("level", ["none", "all"])
def test_a_run_that_fails_fails_after_the_change(case, level: str) -> None:
    operands, node, opset, feeds = case
    model = model_of(operands, node, opset)
    made = sonnx_ort.conform(model, rounding=True).model
    assert model.graph.node[0].op_type not in {each.op_type for each in made.graph.node}
    for each in (model, made):
        session = ort.InferenceSession(each.SerializeToString(), on_one_thread(level))
        with pytest.raises(Exception, match="ONNXRuntimeError"):
            session.run(None, feeds)


@pytest.mark.parametrize(
    ("operands", "equation"), [("float", "->"), ("float[2]", "i->i"), ("float[2,3]", "ij->ij")]
)
def test_an_input_that_is_passed_on_keeps_its_name(operands: str, equation: str) -> None:
    model = model_of(f"{operands} x", f'y = Einsum <equation = "{equation}"> (x)')
    made = sonnx_ort.conform(model, rounding=True).model
    assert [node.op_type for node in made.graph.node] == ["Identity"]
    assert [value.name for value in made.graph.input] == ["x"]
    assert [value.name for value in made.graph.output] == ["y"]


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
def test_both_modes_of_space_to_depth_keep_their_bits(mode: str) -> None:
    node = f'y = SpaceToDepth <blocksize = 2, mode = "{mode}"> (x)'
    model = model_of("float[2,3,4,6] x", node, 28)
    made = sonnx_ort.conform(model).model
    feeds = {"x": np.arange(144, dtype=F).reshape(2, 3, 4, 6)}
    one, other = (
        ort.InferenceSession(each.SerializeToString(), on_one_thread("none")).run(None, feeds)[0]
        for each in (model, made)
    )
    assert "SpaceToDepth" not in {each.op_type for each in made.graph.node}
    assert (one == other).all()
