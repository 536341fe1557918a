"""What drafts state of types, and that tensors are dense, is decided before a run."""

from collections.abc import Sequence

import onnx
import onnx.helper
import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.requirements.attributes import Dense
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Rule, Standing
from support.graphs import parse

_AXIS = dict.fromkeys(("ArgMax", "Concat", "Flatten", "Softmax"), "<axis = 0>")
NAMED = {
    **_AXIS,
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
DRAFTS = [name for name, o in OPERATORS.items() if not o.domain and name not in ("Div", "Sub")]


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


def stated(kind: type) -> list[tuple[str, Rule]]:
    """The rules that drafts state, of one kind, by operator."""
    return [
        (name, rule)
        for name in DRAFTS
        for rule in OPERATORS[name].all_rules()
        if rule.source.standing is Standing.STATED and isinstance(rule.requirement, kind)
    ]


def kind_for(name: str, rule: str) -> str:
    """A type of the operands for which the rule applies."""
    if name == "ConvInteger":
        return "uint8"
    integers = ".int." in rule or OPERATORS[name].families == {Family.INTEGER}
    return "int32" if integers else "float"


def of_results() -> list[object]:
    """Those about types that speak of the result."""
    cases = []
    for name, rule in stated(SameNumericType):
        if rule.requirement.result_type != OF_THE_NODE:
            cases.append(pytest.param(name, kind_for(name, rule.id), rule.id, id=rule.id))
    return cases


@pytest.mark.satisfies(
    "Abs.draft.float.type",
    "Abs.draft.int.type",
    "Acos.draft.float.type",
    "Add.draft.float.type",
    "Add.draft.int.type",
    "ArgMax.draft.type",
    "BatchNormalization.draft.type",
    "Clip.draft.float.type",
    "Clip.draft.int.type",
    "DequantizeLinear.draft.types",
    "Exp.draft.float.type",
    "LeakyRelu.draft.float.type",
    "Less.draft.float.type",
    "Less.draft.int.type",
    "Log.draft.float.type",
    "MatMul.draft.float.type",
    "MatMul.draft.int.type",
    "Max.draft.type",
    "Mul.draft.float.type",
    "Mul.draft.int.type",
    "Neg.draft.float.type",
    "Neg.draft.int.type",
    "Pow.draft.float.type",
    "Pow.draft.int.type",
    "QuantizeLinear.draft.types",
    "Relu.draft.float.type",
    "Relu.draft.int.type",
    "Sigmoid.draft.float.type",
    "Sin.draft.float.type",
    "Slice.draft.R9",
    "Softmax.draft.float.type",
    "Sqrt.draft.float.type",
    "Tanh.draft.float.type",
    "Where.draft.float.type",
    "Where.draft.int.type",
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
    "BatchNormalization.draft.scale",
    "BatchNormalization.draft.statistics",
    "Slice.draft.R10",
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
    "General.GR1", "BatchNormalization.draft.sparse", "Slice.draft.R4", "Softmax.draft.sparse"
)
@pytest.mark.parametrize(
    ("name", "rule"), [pytest.param(n, r.id, id=r.id) for n, r in stated(Dense)]
)
def test_sparse_result_breaks_the_rule_about_tensors(name: str, rule: str) -> None:
    kind = kind_for(name, rule)
    called = f"{name}{NAMED.get(name, '')}({', '.join(OPERATORS[name].operand_names(2))})"
    made = parse(f"({inputs(name, kind)}) => (int64[] z) {{ [node] y = {called} z = Size(y) }}")
    own = OPERATORS[name].result_type or kind
    number = onnx.TensorProto.DataType.Value("FLOAT" if own == OF_THE_NODE else own.upper())
    made.graph.value_info.append(onnx.helper.make_sparse_tensor_value_info("y", number, [2]))
    assert rule in violated(made)
