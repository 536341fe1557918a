"""What a kernel reports when a rule is violated: the message, word for word, and its fields."""

import logging

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from support.execution import failure_of, kernel_of

INT32_MIN = -(2**31)


def violation(operator, element_type, a, b, edition="typed"):
    dtype = {"float": np.float32}.get(element_type, element_type)
    kernel = kernel_of(operator, element_type)
    return failure_of(kernel(np.array(a, dtype), np.array(b, dtype), "scale/div", edition))


@pytest.mark.parametrize(
    ("operator", "element_type", "edition", "a", "b", "message"),
    [
        pytest.param(
            "Div",
            "float",
            "typed",
            [1, 2, 3],
            [1],
            "Div 'scale/div' breaks Div.float.R1: the shapes (3,) and (1,) differ; "
            "shapes A (3,), B (1,). The rule: Tensors A, B and C must have the same shape.",
            id="shapes, typed floats",
        ),
        pytest.param(
            "Div",
            "int8",
            "typed",
            [[1], [2]],
            1,
            "Div 'scale/div' breaks Div.int.R1: the shapes (2, 1) and () differ; "
            "shapes A (2, 1), B (). The rule: Tensors A, B and C must have the same shape.",
            id="shapes, typed integers",
        ),
        pytest.param(
            "Div",
            "float",
            "preliminary",
            [1, 2, 3],
            [1],
            "Div 'scale/div' breaks Div.R1: the shapes (3,) and (1,) differ; "
            "shapes A (3,), B (1,). The rule: The tensors A and B must have the same shape.",
            id="shapes, preliminary",
        ),
        pytest.param(
            "Sub",
            "float",
            "typed",
            [1, 2, 3],
            [1],
            "Sub 'scale/div' breaks Sub.float.R1: the shapes (3,) and (1,) differ; "
            "shapes A (3,), B (1,). The rule: Tensors A, B and C must have the same shape.",
            id="shapes of Sub, typed",
        ),
        pytest.param(
            "Sub",
            "uint8",
            "preliminary",
            [1, 2, 3],
            [1],
            "Sub 'scale/div' breaks Sub.R1: the shapes (3,) and (1,) differ; "
            "shapes A (3,), B (1,). The rule: The tensors A and B must have the same shape.",
            id="shapes of Sub, preliminary",
        ),
        pytest.param(
            "Div",
            "int32",
            "typed",
            [[6, 9], [35, 1]],
            [[3, 3], [0, 0]],
            "Div 'scale/div' breaks Div.int.C1: a zero divisor: A[1, 0] = 35, B[1, 0] = 0; "
            "shapes A (2, 2), B (2, 2). The rule: No element of B is zero.",
            id="zero divisor, typed",
        ),
        pytest.param(
            "Div",
            "uint64",
            "preliminary",
            [2**64 - 1],
            [0],
            "Div 'scale/div' breaks Div.R5: a zero divisor: "
            "A[0] = 18446744073709551615, B[0] = 0; shapes A (1,), B (1,). "
            "The rule: Where B is zero the result is the representation of infinity.",
            id="zero divisor, preliminary",
        ),
        pytest.param(
            "Div",
            "int32",
            "typed",
            [1, INT32_MIN],
            [-1, -1],
            "Div 'scale/div' breaks Div.int.C2: a quotient beyond the type: "
            "A[1] = -2147483648, B[1] = -1; shapes A (2,), B (2,). The rule: "
            "Every quotient is representable: the smallest value is not divided by -1.",
            id="smallest by -1",
        ),
        pytest.param(
            "Div",
            "int64",
            "preliminary",
            -(2**63),
            -1,
            "Div 'scale/div' breaks Div.int.C2: a quotient beyond the type: "
            "A[] = -9223372036854775808, B[] = -1; shapes A (), B (). The rule: "
            "Every quotient is representable: the smallest value is not divided by -1.",
            id="smallest by -1, scalars",
        ),
    ],
)
def test_message(operator, element_type, edition, a, b, message):  # noqa: PLR0917
    _, recorded = violation(operator, element_type, a, b, edition)
    assert str(recorded) == message


def test_fields_of_a_violation_by_shapes():
    _, recorded = violation("Div", "float", [1, 2, 3], [1])
    fields = {name: getattr(recorded, name) for name in ("rule", "operator", "node", "shapes")}
    assert fields == {
        "rule": "Div.float.R1",
        "operator": "Div",
        "node": "scale/div",
        "shapes": ((3,), (1,)),
    }


def test_violation_by_shapes_has_neither_index_nor_values():
    _, recorded = violation("Div", "float", [1, 2, 3], [1])
    assert (recorded.index, recorded.values) == (None, None)


def test_violation_by_elements_gives_the_first_in_row_major_order():
    _, recorded = violation("Div", "int32", [[6, 9], [35, 1]], [[3, 0], [0, 3]])
    assert (recorded.index, recorded.values) == ((0, 1), (9, 0))


def test_indices_and_values_are_python_integers():
    _, recorded = violation("Div", "int8", [6], [0])
    assert {type(number) for number in recorded.index + recorded.values} == {int}


@pytest.mark.parametrize(
    ("operator", "element_type", "edition", "a", "b", "rule"),
    [
        ("Div", "float", "typed", [1, 2], [1], "Div.float.R1"),
        ("Div", "int32", "typed", [1, 2], [1], "Div.int.R1"),
        ("Div", "int32", "typed", [1], [0], "Div.int.C1"),
        ("Div", "int32", "typed", [INT32_MIN], [-1], "Div.int.C2"),
        ("Div", "int32", "preliminary", [1], [0], "Div.R5"),
        ("Sub", "int32", "typed", [1, 2], [1], "Sub.int.R1"),
    ],
)
def test_ticket_ends_in_the_code_of_the_rule(  # noqa: PLR0917
    operator, element_type, edition, a, b, rule
):
    code, _ = violation(operator, element_type, a, b, edition)
    assert code == RULES[rule].code


def test_violation_is_logged_once_with_its_message(caplog):
    with caplog.at_level(logging.ERROR, "sonnx_ort"):
        _, recorded = violation("Div", "int32", [6], [0])
    assert caplog.record_tuples == [("sonnx_ort", logging.ERROR, str(recorded))]


@pytest.mark.parametrize(
    ("element_type", "edition", "a", "b", "rule"),
    [
        pytest.param("int32", "typed", [1, 2], [0], "Div.int.R1", id="shapes before zeros"),
        pytest.param("int32", "preliminary", [1, 2], [0], "Div.R1", id="R1 before R4 and R5"),
        pytest.param(
            "int32", "typed", [INT32_MIN, 1], [-1, 0], "Div.int.C1", id="zeros before overflow"
        ),
    ],
)
def test_first_broken_rule_of_the_contract_is_reported(element_type, edition, a, b, rule):
    _, recorded = violation("Div", element_type, a, b, edition)
    assert recorded.rule == rule
