"""What is told of rules and operators, what is refused where one is defined, and examples."""

from dataclasses import replace

import numpy as np
import onnx
import pytest

from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family, smallest_value
from sonnx_ort.profile.operator import require_distinct
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.requirements.shapes import of_rank
from sonnx_ort.profile.rule import Attributes, Rule, Status, Subject
from sonnx_ort.profile.source import Source, Standing
from sonnx_ort.terms.operand import Operand
from sonnx_ort.vectors.examples import read


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (Source("Paper", "Inputs", "R1"), "Paper, Inputs [R1]"),
        (Source("Paper", "Inputs", None), "Paper, Inputs"),
        (Source("Paper", "none", None, Standing.OWN), "Paper, none (added by sonnx_ort)"),
    ],
)
def test_source_on_one_line(source, text):
    assert str(source) == text


@pytest.mark.parametrize(
    ("rule_id", "select_operands"),
    [("Div.int.R1", ["x", "y"]), ("BatchNormalization.R4", ["x", "z"])],
)
def test_rule_speaks_of_the_operands_that_it_names_or_of_all(rule_id, select_operands):
    names = ["input_mean", "B", "input_var"]
    values = ["x", "y", "z"] if rule_id.startswith("Batch") else ["x", "y"]
    assert RULES[rule_id].select_operands(names[: len(values)], values) == select_operands


def test_subjects_that_runs_decide():
    left = {subject for subject in Subject if not subject.in_run}
    assert left == {Subject.TYPES, Subject.ATTRIBUTES, Subject.STORAGE, Subject.HELD, Subject.GRAPH}


@pytest.mark.parametrize(
    ("rule", "waivable"),
    [
        pytest.param("Div.float.R1", True, id="equal shapes, for which a Broadcast can stand in"),
        pytest.param("Acos.float.C1", True, id="elements that ONNX Runtime survives"),
        pytest.param("Slice.R8", True, id="places that ONNX Runtime cuts off"),
        pytest.param("Slice.R4", False, id="storage"),
        pytest.param("Div.int.C2", False, id="elements that end the process"),
        pytest.param("Div.float.R2", False, id="types"),
        pytest.param("Broadcast.E1", False, id="a common shape"),
    ],
)
def test_rules_that_take_waivers(rule: str, *, waivable: bool) -> None:
    assert RULES[rule].waivable is waivable


@pytest.mark.parametrize(
    ("operator", "count", "operands", "results"),
    [
        ("Div", 2, ("A", "B"), ("C", "C")),
        ("Max", 3, ("data_0", "data_1", "data_2"), ("max",) * 3),
        ("Broadcast", 2, ("X0", "X1"), ("Z0", "Z1")),
    ],
)
def test_operands_and_results_are_named_as_often_as_there_are(operator, count, operands, results):
    assert OPERATORS[operator].operand_names(count) == operands
    assert OPERATORS[operator].result_names(count) == results


@pytest.mark.parametrize(
    ("operator", "checked_operands", "elementwise"),
    [
        ("Div", ("A", "B"), True),
        ("BatchNormalization", ("X", "input_var"), False),
        ("Clip", ("input", "min", "max"), False),
        ("Slice", ("X", "starts", "ends", "axes", "steps"), False),
        ("ArgMax", ("X",), False),
    ],
)
def test_runs_look_at_what_rules_speak_of_and_at_the_first_operand(
    operator, checked_operands, elementwise
):
    assert OPERATORS[operator].checked_operands == checked_operands
    assert OPERATORS[operator].elementwise is elementwise


@pytest.mark.parametrize(
    ("operator", "attributes"),
    [("Div", ()), ("ArgMax", ("axis",)), ("Cast", ("to",)), ("BatchNormalization", ())],
)
def test_attributes_are_those_that_decide_in_a_run(operator, attributes):
    assert OPERATORS[operator].attributes == attributes


CLIP, DIV, SQRT = (OPERATORS[name] for name in ("Clip", "Div", "Sqrt"))

(SCALAR_BOUNDS,) = [rule for rule in CLIP.all_rules() if rule.id == "Clip.C1"]
(FIRST_OF_DIV,) = [rule for rule in DIV.all_rules() if rule.id == "Div.float.R1"]
FIRST_OF_SQRT = next(SQRT.all_rules())
INTERVAL = next(
    rule
    for rule in OPERATORS["BatchNormalization"].all_rules()
    if isinstance(rule.requirement, OnElements)
)


def with_rule(operator, rule, **changes):
    """An operator with one more rule, in all editions and families."""
    further = replace(rule, **{"id": f"{operator.name}.C9", "code": 9001} | changes)
    contracts = {
        edition: {family: (*rules, further) for family, rules in contract.items()}
        for edition, contract in operator.contracts.items()
    }
    return replace(operator, contracts=contracts)


@pytest.mark.parametrize(("define", "reason"), [
    (lambda: with_rule(CLIP, SCALAR_BOUNDS, operands=("minimum", "max")),
     "the rule Clip.C9 names the operand 'minimum', and it has input, min, max"),
    (lambda: with_rule(OPERATORS["Max"], SCALAR_BOUNDS, operands=("data_0",)),
     "the rule Max.C9 names the operand 'data_0', and it has data_0 and so on"),
    (lambda: with_rule(CLIP, SCALAR_BOUNDS, id="Clamp.C9"),
     "the id of the rule Clamp.C9 does not start with its name"),
    (lambda: replace(DIV, optional=("D",)),
     "its optional names the operand 'D', and it has A, B"),
    (lambda: replace(DIV, single=("b",)), "its single names the operand 'b', and it has A, B"),
    (lambda: replace(DIV, operand_types={"condition": "bool"}),
     "its operand_types names the operand 'condition', and it has A, B"),
])  # fmt: skip
def test_operator_that_names_what_it_does_not_have_is_refused(define, reason):
    with pytest.raises(ValueError, match="cannot be enforced") as caught:
        define()
    name = str(caught.value).split()[2]
    assert str(caught.value) == f"the operator {name} cannot be enforced: {reason}"


@pytest.mark.parametrize(("define", "message"), [
    (lambda: with_rule(DIV, FIRST_OF_DIV, id="Div.float.R1"),
     "there are two different rules Div.float.R1"),
    (lambda: with_rule(SQRT, FIRST_OF_DIV, code=FIRST_OF_SQRT.code),
     f"the rules {FIRST_OF_SQRT.id} and Sqrt.C9 have one code, {FIRST_OF_SQRT.code}"),
    (lambda: require_distinct([FIRST_OF_DIV, replace(SCALAR_BOUNDS, code=FIRST_OF_DIV.code)]),
     f"the rules Div.float.R1 and Clip.C1 have one code, {FIRST_OF_DIV.code}"),
    *(
        (
            lambda code=code: replace(SCALAR_BOUNDS, code=code),
            f"the rule Clip.C1 has the code {code}; codes are numbers from 2 to 9998",
        )
        for code in (-1, 1, 9999)
    ),
])  # fmt: skip
def test_rules_that_a_run_could_not_tell_apart_are_refused(define, message):
    with pytest.raises(ValueError, match="rule") as caught:
        define()
    assert str(caught.value) == message


def test_rule_about_elements_may_see_shapes_too_where_it_says_so():
    """A Slice compares starts with the sizes of X."""
    slice_ = OPERATORS["Slice"]
    starts = next(rule for rule in slice_.all_rules() if rule.id == "Slice.R8")
    assert "X" in slice_.by_shape
    assert starts in slice_.rules(Edition.TYPED, next(iter(slice_.families)))


def test_kernel_sees_the_elements_that_a_rule_is_about():
    assert OPERATORS["MatMul"].by_shape == {"A", "B"}
    assert with_rule(OPERATORS["MatMul"], INTERVAL, operands=("A",)).by_shape == {"B"}


def test_rule_of_an_operand_that_there_is_is_taken():
    rank = of_rank(1)
    made = with_rule(CLIP, SCALAR_BOUNDS, requirement=rank, operands=("input",))
    assert made.checked_operands == ("input", "min", "max")


def test_rule_whose_requirement_decides_no_run_is_refused() -> None:
    rule = next(OPERATORS["Reciprocal"].all_rules())
    with pytest.raises(TypeError) as refused:
        replace(rule, requirement=object())
    assert str(refused.value) == (f"the rule {rule.id} cannot be enforced: object has no judge")


Example = tuple[list[Operand], Attributes]

OPEN = {"BatchNormalization.scale.C1", "Cast.float.C1", "Slice.C2", "Slice.R6", "Slice.R8"}
"""The rules whose examples leave out operands or attributes that decide too."""


def readable() -> list[object]:
    cases = []
    for rule in RULES.values():
        example = rule.example
        # A test of its own has those about types.
        if isinstance(rule.requirement, SameNumericType) or rule.id in OPEN:
            continue
        try:
            cases.append(pytest.param(rule, read(example.kept), read(example.broken), id=rule.id))
        except ValueError:
            continue
    return cases


def test_many_examples_are_read() -> None:
    assert len(readable()) > 150


@pytest.mark.parametrize(("rule", "kept", "broken"), readable())
def test_example_keeps_and_breaks_its_rule(rule: Rule, kept: Example, broken: Example) -> None:
    def status(operands: list[Operand], attributes: Attributes) -> Status:
        bound = [o for o in operands if rule.operands is None or o.name in rule.operands]
        return rule.of_node(attributes).requirement.judge(bound).status

    assert (status(*kept), status(*broken)) == (Status.PROVED, Status.VIOLATED)


@pytest.mark.satisfies("Div.preliminary.types", "Sub.preliminary.types", "Div.typed.float.types")
def test_types_are_those_of_the_documents():
    assert {str(t) for t in NUMERIC_TYPES} == {
        "bfloat16",
        "double",
        "float",
        "float16",
        "int16",
        "int32",
        "int64",
        "int8",
        "uint16",
        "uint32",
        "uint64",
        "uint8",
    }


@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
def test_name_and_dtype_are_those_of_onnx(element_type):
    number = onnx.TensorProto.DataType.Value(element_type.upper())
    assert onnx.helper.tensor_dtype_to_np_dtype(number) == element_type.dtype


@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
def test_family_is_that_of_the_name(element_type):
    is_float = "float" in element_type or element_type == "double"
    assert element_type.family is (Family.FLOAT if is_float else Family.INTEGER)


@pytest.mark.parametrize(
    ("name", "element_type"),
    [("float", ElementType.FLOAT), ("string", None), ("FLOAT", None), ("", None), (None, None)],
)
def test_named(name, element_type):
    assert ElementType.named(name) is element_type


@pytest.mark.parametrize("element_type", [t for t in NUMERIC_TYPES if t.family is Family.INTEGER])
def test_smallest_value_is_that_of_the_type(element_type):
    assert smallest_value(element_type) == np.iinfo(element_type.dtype).min
