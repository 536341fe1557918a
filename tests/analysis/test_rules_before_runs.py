"""Rules about types, dense tensors, attributes and versions are decided before a run."""

from collections.abc import Sequence
from dataclasses import replace

import onnx
import onnx.helper
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.analysis.examination import examine_model
from sonnx_ort.analysis.obligation import Identity, Obligation
from sonnx_ort.options import choose_demands
from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Rule
from support.changes import unneeded
from support.graphs import parse
from support.waivers import waiver

_AXIS = dict.fromkeys(("ArgMax", "Concat", "Flatten", "Softmax"), "<axis = 0>")
NAMED = {
    **_AXIS,
    "BitShift": '<direction = "LEFT">',
    "Cast": "<to = 6>",
    "Constant": "<value = float[2] {1, 2}>",
    "LeakyRelu": "<alpha = 0.5>",
    "MaxPool": "<kernel_shape = [2, 2]>",
}
INDICES = ("starts", "ends", "axes", "steps")
SCALARS = {
    ("Clip", "min"),
    ("Clip", "max"),
    *(("QuantizeLinear", name) for name in ("y_scale", "y_zero_point")),
    *(("DequantizeLinear", name) for name in ("x_scale", "x_zero_point")),
    *(("Range", name) for name in ("S", "L", "D")),
}
STANDARD = [name for name, o in OPERATORS.items() if not o.domain]


def inputs(name: str, kind: str) -> str:
    """Declare the operands of an operator, in a type as far as they have none of their own."""
    declared = []
    for operand in OPERATORS[name].operand_names(2):
        of_its_own = {**dict.fromkeys(INDICES, "int64"), **OPERATORS[name].operand_types}
        shape = "k" if operand in INDICES else "n, n" if name == "MatMul" else "n"
        axes = "" if (name, operand) in SCALARS else f"[{shape}]"
        declared.append(f"{of_its_own.get(operand, kind)}{axes} {operand}")
    return ", ".join(declared)


def violated(model: onnx.ModelProto) -> Sequence[str]:
    return [o.rule.id for o in sonnx_ort.check(model, operators="all,-Graph").violations]


def rules(kind: type) -> list[tuple[str, Rule]]:
    """The rules of the typed edition of one kind, by operator."""
    found = {
        rule: name
        for name in STANDARD
        for of_family in OPERATORS[name].contracts[Edition.TYPED].values()
        for rule in of_family
        if isinstance(rule.requirement, kind)
    }
    return [(name, rule) for rule, name in found.items()]


def kind_for(name: str, rule: str) -> str:
    """A type of the operands for which the rule applies."""
    if name in ("BitShift", "ConvInteger"):
        return "uint8"
    if ".bool." in rule:
        return "bool"
    integers = ".int." in rule or OPERATORS[name].families == {Family.INTEGER}
    return "int32" if integers else "float"


def of_results() -> list[object]:
    """Those about types that speak of the result."""
    cases = []
    for name, rule in rules(SameNumericType):
        if rule.requirement.result_type != OF_THE_NODE:
            cases.append(pytest.param(name, kind_for(name, rule.id), rule.id, id=rule.id))
    return cases


@pytest.mark.satisfies(
    "*.float.R2 *.int.R2 *.bool.R2 Squeeze.types Abs.draft.float.type Abs.draft.int.type",
    "Acos.draft.float.type Add.draft.float.type Add.draft.int.type ArgMax.draft.type",
    "BatchNormalization.draft.type Clip.draft.float.type Clip.draft.int.type Concat.draft.types",
    "Conv.draft.type ConvInteger.draft.w_type ConvInteger.draft.x_type",
    "DequantizeLinear.draft.types Exp.draft.float.type Flatten.draft.types Gemm.types",
    "LSTM.draft.type LeakyRelu.draft.float.type Less.draft.float.type Less.draft.int.type",
    "Log.draft.float.type MatMul.draft.float.type MatMul.draft.int.type Max.draft.type",
    "MaxPool.draft.types Mul.draft.float.type Mul.draft.int.type Neg.draft.float.type",
    "Neg.draft.int.type Pow.draft.float.type Pow.draft.int.type QuantizeLinear.draft.types",
    "Range.draft.types Relu.draft.float.type Relu.draft.int.type Reshape.draft.types",
    "Shape.draft.types Sigmoid.draft.float.type Sin.draft.float.type Slice.draft.R9",
    "Softmax.draft.float.type Sqrt.draft.float.type Tanh.draft.float.type Unsqueeze.draft.types",
    "Where.draft.float.type Where.draft.int.type",
)
@pytest.mark.parametrize(("name", "kind", "rule"), of_results())
def test_result_of_another_type_breaks_the_rule_about_types(
    name: str, kind: str, rule: str
) -> None:
    called = f"{name}{NAMED.get(name, '')}({', '.join(OPERATORS[name].operand_names(2))})"
    made = parse(f"({inputs(name, kind)}) => (double[] y) {{ [node] y = {called} }}", opset=21)
    assert rule in violated(made)


NORMALIZATION = "y = BatchNormalization(X, scale, B, input_mean, input_var)"
SLICE = "y = Slice(X, starts, ends, axes, steps)"


@pytest.mark.satisfies(
    "BatchNormalization.draft.scale BatchNormalization.draft.statistics Slice.draft.R10"
)
@pytest.mark.parametrize(
    ("name", "node", "odd", "rule"),
    [
        ("BatchNormalization", NORMALIZATION, "scale", "BatchNormalization.R3"),
        ("BatchNormalization", NORMALIZATION, "B", "BatchNormalization.R3"),
        ("BatchNormalization", NORMALIZATION, "input_mean", "BatchNormalization.R4"),
        ("BatchNormalization", NORMALIZATION, "input_var", "BatchNormalization.R4"),
        *(("Slice", SLICE, index, "Slice.R10") for index in INDICES),
    ],
)
def test_operands_of_two_types_break_the_rule_about_them(
    name: str, node: str, odd: str, rule: str
) -> None:
    declared = inputs(name, "float")
    other = declared.replace(f"float[n] {odd}", f"double[n] {odd}")
    other = other.replace(f"int64[k] {odd}", f"int32[k] {odd}")
    assert other != declared
    rules = [violated(parse(f"({d}) => (float[] y) {{ {node} }}")) for d in (declared, other)]
    assert rules == [[], [rule]]


@pytest.mark.satisfies(
    "*.RG1 General.GR1 BatchNormalization.draft.sparse Slice.draft.R4 Constant.draft.sparse"
)
@pytest.mark.parametrize(
    ("name", "rule"), [pytest.param(n, r.id, id=r.id) for n, r in rules(Dense)]
)
def test_sparse_result_breaks_the_rule_about_tensors(name: str, rule: str) -> None:
    kind = kind_for(name, rule)
    called = f"{name}{NAMED.get(name, '')}({', '.join(OPERATORS[name].operand_names(2))})"
    made = parse(
        f"({inputs(name, kind)}) => (int64[] z) {{ [node] y = {called} z = Size(y) }}", opset=21
    )
    own = OPERATORS[name].result_type or kind
    number = onnx.TensorProto.DataType.Value("FLOAT" if own == OF_THE_NODE else own.upper())
    made.graph.value_info.append(onnx.helper.make_sparse_tensor_value_info("y", number, [2]))
    assert rule in violated(made)


_RESHAPED = "y = Reshape<allowzero = {}>(x, s)"
_NUMBERS = {"dilations": "1, 1", "pads": "0, 0, 0, 0", "strides": "1, 1"}
_LAYER = 'activations = ["Relu", "Tanh", "Tanh"], hidden_size = 1, input_forget = 0, layout = 0'
_STATES = ("B", "sequence_lens", "initial_h", "initial_c", "P")
_STORED = """
    float[1,4,1] W = {0, 0, 0, 0}, float[1,4,1] R = {0, 0, 0, 0}, int32[1] sequence_lens = {1},
    float[1,8] B = {0, 0, 0, 0, 0, 0, 0, 0}, float[1,1,1] initial_h = {0},
    float[1,1,1] initial_c = {0}, float[1,3] P = {0, 0, 0}
"""


def pooled(**numbers: str) -> str:
    given = ", ".join(f"{name} = [{listed}]" for name, listed in {**_NUMBERS, **numbers}.items())
    zeros = 'auto_pad = "NOTSET", ceil_mode = 0, storage_order = 0'
    call = f"y = MaxPool<{zeros}, kernel_shape = [2, 2], {given}>(x)"
    return f"(float[1,2,6,6] x) => (float[] y) {{ {call} }}"


def convolved(x: str, w: str) -> str:
    numbers = 'auto_pad = "NOTSET", dilations = [1, 1], group = 1, pads = [0, 0, 0, 0]'
    call = f"y = ConvInteger<{numbers}, kernel_shape = [1, 1], strides = [1, 1]>(x, w, p, q)"
    points = f"{x} p = {{0}}, {w} q = {{0}}"
    return f"({x}[1,1,2,2] x, {w}[1,1,1,1] w) => (int32[] y) <{points}> {{ {call} }}"


def layer(left_out: str = "", further: str = "") -> str:
    given = ", ".join("" if name == left_out else name for name in _STATES)
    call = f"y = LSTM<{_LAYER}{further}>(x, W, R, {given})"
    return f"(float[1,1,1] x) => (float[] y) <{_STORED}> {{ {call} }}"


@pytest.mark.satisfies(
    "Cast.R2 ConvInteger.signs LSTM.clip Squeeze.A Squeeze.A.type Squeeze.axes Squeeze.axes.names",
    "Concat.draft.front LSTM.draft.bias LSTM.draft.lengths LSTM.draft.peepholes LSTM.draft.states",
    "MaxPool.draft.dilations MaxPool.draft.pads MaxPool.draft.strides Reshape.draft.allowzero",
    "Reshape.draft.signature Reshape.draft.vector",
)
@pytest.mark.parametrize(("rule", "graph", "opset"), [
    (None, "(float[2] x) => (float[4] y) { y = Concat<axis = 0>(x, x) }", 21),
    ("Concat.R1", "(float[2] x) => (float[4] y) { y = Concat<axis = -1>(x, x) }", 21),
    (None, f"(float[2] x, int64[1] s) => (float[2] y) {{ {_RESHAPED.format(1)} }}", 21),
    ("Reshape.allowzero.C1",
     f"(float[2] x, int64[1] s) => (float[2] y) {{ {_RESHAPED.format(2)} }}", 21),
    ("Reshape.S.type", f"(float[2] x, int32[1] s) => (float[2] y) {{ {_RESHAPED.format(1)} }}",
     21),
    ("Reshape.S", "(float[2] x) => (float[2] y) { y = Reshape<shape = [2]>(x) }", 1),
    (None, "(float[2] x, int64[1] s) => (float[2, 1] y) { y = Unsqueeze(x, s) }", 21),
    ("Unsqueeze.A.type", "(float[2] x, int32[1] s) => (float[2, 1] y) { y = Unsqueeze(x, s) }",
     21),
    (None, "(float[2, 1] x, int64[1] s) => (float[2] y) { y = Squeeze(x, s) }", 21),
    ("Squeeze.A.type", "(float[2, 1] x, int32[1] s) => (float[2] y) { y = Squeeze(x, s) }", 21),
    ("Squeeze.A", "(float[2, 1] x) => (float[2] y) { y = Squeeze(x) }", 21),
    (None, "(float[2, 1] x) => (float[2] y) { y = Squeeze<axes = [1]>(x) }", 12),
    ("Squeeze.axes", "(float[2, 1] x) => (float[2] y) { y = Squeeze(x) }", 12),
    ("Squeeze.axes.names",
     "(float[2, 1] x) => (float[2, 1] y) { y = Squeeze<axes: ints = []>(x) }", 12),
    (None, "(float[2] x) => (int32[2] y) { y = Cast<to = 6>(x) }", 21),
    ("Cast.R2", "(string[2] x) => (int32[2] y) { y = Cast<to = 6>(x) }", 21),
    (None, convolved("uint8", "int8"), 21),
    ("ConvInteger.signs", convolved("int8", "uint8"), 21),
    (None, pooled(), 22),
    ("MaxPool.strides", pooled(strides="1, 0"), 22),
    ("MaxPool.dilations", pooled(dilations="0, 1"), 22),
    ("MaxPool.dilations", pooled(dilations="1"), 22),
    ("MaxPool.pads", pooled(pads="0, -1, 0, 0"), 22),
    ("MaxPool.pads", pooled(pads="0, 0"), 22),
    (None, layer(), 14),
    ("LSTM.clip", layer(further=", clip = 1.0"), 14),
    *((f"LSTM.{name}", layer(name), 14) for name in _STATES),
])  # fmt: skip
def test_attribute_or_input_that_is_not_admitted_breaks_its_rule(
    rule: str | None, graph: str, opset: int
) -> None:
    assert violated(parse(graph, opset=opset)) == ([] if rule is None else [rule])


DEMANDS = choose_demands("typed", "reject", "all,-Graph")
IDENTITY = Identity("", {}, {})

RUNTIME = "(int64[n] x, int64[n] z) => (int64[n] y) { [the_node] y = Max(x, z) }"
CONSTANT = """(int64[2] x) => (int64[2] y) <int64[2] z = {1, 3000000000}> {
    [the_node] y = Max(x, z)
}"""
WITHIN = """() => (int64[2] y) <int64[2] z = {1, 3}> { [the_node] y = Max(z, z) }"""

RIGHT = "onnxruntime computes it correctly since 1.32.0"
INSTALLED = (
    f"{RIGHT}, and no older version is installed; the native backend enforces it, because any "
    "version may run its model"
)
ANY = f"{RIGHT}, and any version may run the model"
OLDER = f"{RIGHT}, and an older version is installed"
UNKNOWN = "the elements of data_0 and data_1 depend on the inputs"
HELD = "the constant data_1 'z' is an int64 beyond int32 at [1]"
PROVED = "every element of data_0 'z' lies in 1 to 3 and every element of data_1 'z' lies in 1 to 3"


def obligation(text: str, runtime: str | None) -> Obligation:
    model = ir.from_proto(parse(text))
    report = examine_model(model, DEMANDS, IDENTITY, runtime=runtime).report
    (found,) = (o for o in report.obligations if o.rule.id == "Max.int.C1")
    return found


@pytest.mark.parametrize(
    ("text", "runtime", "status", "evidence"),
    [
        (RUNTIME, None, "runtime", f"{UNKNOWN}; {ANY}"),
        (RUNTIME, "1.31.1", "runtime", f"{UNKNOWN}; {OLDER}"),
        (RUNTIME, "1.32.0", "proved", INSTALLED),
        (RUNTIME, "1.40.0", "proved", INSTALLED),
        (CONSTANT, None, "violated", f"{HELD}; {ANY}"),
        (CONSTANT, "1.31.1", "violated", f"{HELD}; {OLDER}"),
        (CONSTANT, "1.32.0", "proved", INSTALLED),
        (WITHIN, None, "proved", PROVED),
        (WITHIN, "1.31.1", "proved", PROVED),
        (WITHIN, "1.32.0", "proved", PROVED),
    ],
)
def test_status_and_evidence(text: str, runtime: str | None, status: str, evidence: str) -> None:
    found = obligation(text, runtime)
    assert (found.status.value, found.evidence) == (status, evidence)
    assert bool(found.hint) is (status == "violated")
    assert found.by_version is (evidence == INSTALLED)


def test_rules_of_the_profile_depend_on_no_version() -> None:
    model = ir.from_proto(parse("(int32[n] a) => (int32[n] y) { y = Div(a, a) }"))
    one, other = (
        examine_model(model, DEMANDS, IDENTITY, runtime=runtime).report.obligations
        for runtime in (None, "99.0.0")
    )
    assert one == other


def statuses(report: sonnx_ort.Report) -> list[str]:
    return [o.status.value for o in report.obligations if o.rule.id == "Max.int.C1"]


def test_check_is_for_a_backend() -> None:
    installed = "proved" if unneeded("python") else "violated"
    for operators in ("Max", "default"):
        python = sonnx_ort.check(parse(CONSTANT), operators=operators)
        native = sonnx_ort.check(parse(CONSTANT), operators=operators, backend="native")
        assert (statuses(python), statuses(native)) == ([installed], ["violated"])


def test_natively_enforced_model_keeps_its_guard() -> None:
    once = sonnx_ort.rewrite(parse(RUNTIME), operators="Max", backend="native")
    (found,) = (
        o
        for o in sonnx_ort.check(once, operators="default").obligations
        if o.rule.id == "Max.int.C1"
    )
    assert found.status.value == "runtime"
    assert found.evidence == f"{UNKNOWN}; {ANY}; the model checks it in each run"


def test_node_that_a_custom_operator_enforces_is_judged_likewise() -> None:
    once = sonnx_ort.rewrite(parse(RUNTIME), operators="Max")
    installed = "proved" if unneeded("python") else "runtime"
    assert statuses(sonnx_ort.check(once, operators="Max")) == [installed]


@pytest.mark.skipif(not unneeded("python"), reason="the installed version needs the rule")
def test_constant_that_only_newer_versions_compute_rightly_is_not_computed_before_runs() -> None:
    """The model keeps what checks it with an older version."""
    made = parse(CONSTANT.replace("int64[2] x", "").replace("Max(x, z)", "Max(z, z)"))
    rewritten = sonnx_ort.rewrite(made, operators="Max")
    assert "CheckedMax" in {node.op_type for node in rewritten.graph.node}
    session = sonnx_ort.InferenceSession(made, operators="Max")
    assert session.run(None, {})[0].tolist() == [1, 3_000_000_000]


@pytest.mark.skipif(not unneeded("python"), reason="the installed version needs the rule")
def test_waiver_of_a_rule_that_is_not_needed_is_for_nothing() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(parse(CONSTANT), operators="Max", waivers=[waiver("Max.int.C1")])
    assert str(caught.value) == (
        "the waiver of Max.int.C1 at node 'the_node' matches no violation: the rule is proved "
        "there; remove the waiver"
    )


@pytest.mark.parametrize(
    ("runtime", "needed"),
    [
        (None, True),
        ("1.31.1", True),
        ("1.9.0", True),
        ("1.32.0", False),
        ("1.32", True),
        ("1.32.0+cuda", False),
        ("1.32.0.dev20261001", True),
        ("1.32.1", False),
        ("2.0.0", False),
    ],
)
def test_versions_are_compared_by_numbers(runtime: str | None, needed: bool) -> None:
    assert RULES["Max.int.C1"].needed_with(runtime) is needed


def test_rule_that_names_no_release_is_an_error() -> None:
    with pytest.raises(ValueError, match="is needed before 'soon'") as caught:
        replace(RULES["Max.int.C1"], needed_before="soon")
    assert str(caught.value) == (
        "the rule Max.int.C1 is needed before 'soon', which is no release of onnxruntime; write "
        "numbers with dots"
    )
