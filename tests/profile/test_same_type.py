"""One numeric type for all operands."""

from itertools import product

import ml_dtypes
import numpy as np
import onnx
import pytest

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Judgement, Status, Violation
from sonnx_ort.terms.operand import Operand

SAME_TYPE = ["Div.float.R2", "Div.int.R2", "Div.R3", "Sub.float.R2", "Sub.int.R2", "Sub.R3"]
FLOATS, SIGNED = "float16 float double", "int8 int16 int32 int64"
INTEGERS = f"{SIGNED} uint8 uint16 uint32 uint64"
SMALL = "int2 int4 uint2 uint4"
NUMERIC = f"{FLOATS} bfloat16 {INTEGERS}"
ADMITTED = {
    "Div.float.R2 Div.int.R2 Div.R3 Sub.float.R2 Sub.int.R2 Sub.R3": NUMERIC,
    "Add.float.R2 Add.int.R2 Mul.float.R2 Mul.int.R2 Max.float.R2 Max.int.R2": NUMERIC,
    "Min.float.R2 Min.int.R2 PRelu.float.R2 PRelu.int.R2 BitShift.int.R2": NUMERIC,
    "BitwiseAnd.int.R2 BitwiseOr.int.R2 BitwiseXor.int.R2 Equal.float.R2 Equal.int.R2": NUMERIC,
    "Less.float.R2 Less.int.R2 LessOrEqual.float.R2 LessOrEqual.int.R2": NUMERIC,
    "Greater.float.R2 Greater.int.R2 GreaterOrEqual.float.R2 GreaterOrEqual.int.R2": NUMERIC,
    "Where.float.R2 Where.int.R2 Mod.float.R2 Mod.int.R2 Pow.float.R2 Pow.int.R2": NUMERIC,
    "Abs.float.R2 Abs.int.R2 Neg.float.R2 Neg.int.R2 Reciprocal.float.R2": NUMERIC,
    "Sqrt.float.R2 Log.float.R2 Acos.float.R2 MatMul.float.R2 MatMul.int.R2": NUMERIC,
    "Clip.float.R2 Clip.int.R2 ArgMax.float.R2 ArgMax.int.R2": NUMERIC,
    "Cast.R2": f"{NUMERIC} bool",
    "Slice.R9 Concat.types Squeeze.types": f"{NUMERIC} bool string",
    "Unsqueeze.types": f"{FLOATS} {INTEGERS} bool string",
    "Reshape.types": f"{FLOATS} {INTEGERS} {SMALL} bool string",
    "Shape.types": f"{NUMERIC} {SMALL} bool string",
    "And.bool.R2 Or.bool.R2 Xor.bool.R2 Equal.bool.R2": "bool",
    "Relu.float.R2 Sigmoid.float.R2 Tanh.float.R2 Exp.float.R2 Sin.float.R2": FLOATS,
    "LeakyRelu.float.R2 Softmax.float.R2 Conv.types Gemm.types": FLOATS,
    "BatchNormalization.R2 BatchNormalization.R3 BatchNormalization.R4": f"{FLOATS} bfloat16",
    "LSTM.types": f"{FLOATS} bfloat16",
    "Flatten.types": f"{FLOATS} {INTEGERS}",
    "Relu.int.R2": SIGNED,
    "Slice.R10": "int32 int64",
    "Reshape.S.type Squeeze.A.type Unsqueeze.A.type": "int64",
    "QuantizeLinear.types DequantizeLinear.scale": "float",
    "QuantizeLinear.zero_point": "uint8",
    "DequantizeLinear.types": "int32",
    "Range.types": "float double int16 int32 int64",
    "ConvInteger.X ConvInteger.W": "int8 uint8",
    "MaxPool.types": f"{FLOATS} int8 uint8",
}
"""The types that each rule admits, as ONNX names them."""

ONNX_TYPES = [name.lower() for name, _ in onnx.TensorProto.DataType.items()[1:]]
FAMILIES = {family.value for family in Family}
OPEN = "is unknown; ONNX Runtime starts no session with other types"


def test_pair_of_types_that_is_not_admitted():
    rule = RULES["ConvInteger.signs"].requirement
    decided = {
        (x, w): rule.judge((Operand("X", "x", "input", x), Operand("W", "w", "input", w))).status
        for x in ("int8", "uint8", None)
        for w in ("int8", "uint8", None)
    }
    refused = {("int8", "uint8"), ("int8", None), (None, "uint8"), (None, None)}
    assert {pair for pair, status in decided.items() if status is Status.VIOLATED} == refused


def operands(a_type, b_type):
    return Operand("A", "a", "input", a_type), Operand("B", "b", "input", b_type)


@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
@pytest.mark.parametrize("rule_id", SAME_TYPE)
def test_one_numeric_type_is_proved(rule_id, element_type):
    judgement = RULES[rule_id].requirement.judge(operands(str(element_type), str(element_type)))
    added = element_type == ElementType.BFLOAT16 and rule_id == "Sub.float.R2"
    note = ", a type that sonnx_ort adds to those of SONNX" if added else ""
    assert judgement == Judgement(Status.PROVED, f"all are {element_type}{note}")


def test_types_that_rules_admit_are_listed_for_each_rule():
    with_types = {r.id for r in RULES.values() if isinstance(r.requirement, SameNumericType)}
    assert {rule for names in ADMITTED for rule in names.split()} == with_types


@pytest.mark.satisfies("sonnx_ort/profile/requirements/same_type.py:SameNumericType")
@pytest.mark.parametrize(
    ("rule", "admitted"),
    [
        pytest.param(rule, types.split(), id=rule)
        for names, types in ADMITTED.items()
        for rule in names.split()
    ],
)
def test_rule_admits_operands_of_one_of_its_types_and_no_others(rule, admitted):
    names = (*(RULES[rule].operands or ("A", "B")), "")[:2]

    def status(kinds):
        given = [Operand(n, n, "input", kind) for n, kind in zip(names, kinds, strict=True) if n]
        return RULES[rule].judge(names[: len(given)], given)[0].status

    proved = {kinds for kinds in product(ONNX_TYPES, repeat=2) if status(kinds) is Status.PROVED}
    of_two = {(kind, kind) for kind in admitted}
    assert proved == (of_two if names[1] else set(product(admitted, ONNX_TYPES)))


@pytest.mark.satisfies("Div.typed.float.R2 Div.preliminary.R3 Sub.preliminary.R3 Div.typed.int")
@pytest.mark.parametrize(
    ("a", "b", "status", "evidence"),
    [
        ("float", "double", "violated", "A is float and B is double"),
        ("int32", "uint32", "violated", "A is int32 and B is uint32"),
        ("string", "string", "violated", "A is of type string, which is not numeric"),
        ("float", "bool", "violated", "B is of type bool, which is not numeric"),
        ("complex64", None, "violated", "A is of type complex64, which is not numeric"),
        ("float8e4m3fn", "float", "violated", "A is of type float8e4m3fn, which is not numeric"),
        ("int4", "int4", "violated", "A is of type int4, which is not numeric"),
        ("float", None, "runtime", f"the type of B {OPEN}"),
        (None, "float", "runtime", f"the type of A {OPEN}"),
        (None, None, "runtime", f"the type of A and B {OPEN}"),
    ],
)
@pytest.mark.parametrize("rule_id", SAME_TYPE)
def test_judgement(rule_id, a, b, status, evidence):
    judgement = RULES[rule_id].requirement.judge(operands(a, b))
    assert judgement == Judgement(Status(status), evidence)


@pytest.mark.satisfies("Div.onnx.legacy.operands", "Div.preliminary.type", "Sub.preliminary.type")
@pytest.mark.parametrize(
    ("a", "b", "violation"),
    [
        (np.float32, np.float32, None),
        (np.uint8, np.uint8, None),
        (np.float32, np.float64, Violation("the types float32 and float64 differ")),
        (ml_dtypes.bfloat16, np.float16, Violation("the types bfloat16 and float16 differ")),
    ],
)
@pytest.mark.parametrize("rule_id", SAME_TYPE)
def test_offence(rule_id, a, b, violation):
    assert RULES[rule_id].requirement.violation([np.zeros(2, a), np.zeros(2, b)]) == violation


def result(declared):
    return Operand("C", "c", "declared", declared)


@pytest.mark.parametrize(
    ("result_type", "declared", "clash"),
    [
        (None, "float", None),
        (None, None, None),
        (None, "double", "C is declared as double, and A is float"),
        ("bool", "bool", None),
        ("bool", None, None),
        ("bool", "float", "C is declared as float, and results are bool"),
        (OF_THE_NODE, "double", None),
    ],
)
def test_declared_type_of_a_result_is_compared(result_type, declared, clash):
    requirement = SameNumericType(result_type)
    expected = None if clash is None else Judgement(Status.VIOLATED, clash)
    assert requirement.judge_results(operands("float", "float"), [result(declared)]) == expected


def test_each_result_is_compared_with_each_operand():
    declared = [result("float"), Operand("D", "d", "declared", "double")]
    found = SameNumericType().judge_results(operands(None, "float"), declared)
    assert found == Judgement(Status.VIOLATED, "D is declared as double, and B is float")


def test_no_operand_has_no_other_type():
    expected = Judgement(Status.PROVED, "no such operand is given")
    assert SameNumericType().judge([]) == expected


@pytest.mark.parametrize(
    ("kinds", "evidence"),
    [
        ((ElementType.BOOL,), "A is of type float, which is not bool"),
        ((ElementType.INT8, ElementType.UINT8), "A is of type float, which is not int8 or uint8"),
    ],
)
def test_types_that_are_admitted_are_told(kinds, evidence):
    judgement = SameNumericType(kinds=kinds).judge(operands("float", "float"))
    assert judgement == Judgement(Status.VIOLATED, evidence)


def test_one_array_is_no_offence():
    assert SameNumericType().violation([np.zeros(2)]) is None


@pytest.mark.parametrize("rule_id", SAME_TYPE)
def test_hint(rule_id):
    assert RULES[rule_id].hint(operands("float", "bool")) == (
        "convert with an explicit Cast to one of float16, float, double, bfloat16, "
        "int8, int16, int32, int64, uint8, uint16, uint32, uint64"
    )


@pytest.mark.parametrize(
    "rule",
    [r for r in RULES.values() if isinstance(r.requirement, SameNumericType)],
    ids=lambda rule: rule.id,
)
def test_example_keeps_and_breaks_the_rule_and_is_of_its_family(rule):
    def judged(example):
        pairs = [tensor.split() for tensor in example.split(", ")]
        return rule.requirement.judge([Operand(n, n, "input", kind) for n, kind in pairs]).status

    example = rule.example
    assert (judged(example.kept), judged(example.broken)) == (Status.PROVED, Status.VIOLATED)
    kept = ElementType.named(example.kept.split()[-1])
    assert f".{kept.family}." in rule.id or not FAMILIES & {*rule.id.split(".")}
