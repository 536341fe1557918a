"""What a kernel reports when a rule is violated: the message, word for word, and its fields."""

import logging

import numpy as np
import pytest

from sonnx_ort.profile.catalog import RULES
from support.execution import failure_of, kernel_of

INT32_MIN, INT64_MIN = -(2**31), -(2**63)


def violation(kind, a, b):
    """The code and the error of a kernel, of an operator, a type and an edition."""
    operator, element_type, edition = kind.split()
    dtype = {"float": np.float32}.get(element_type, element_type)
    kernel = kernel_of(operator, element_type)
    return failure_of(kernel(np.array(a, dtype), np.array(b, dtype), "scale/div", edition))


@pytest.mark.parametrize(("kind", "a", "b", "rule", "reason"), [
    ("Div float typed", [1, 2, 3], [1], "Div.float.R1",
     "the shapes (3,) and (1,) differ; shapes A (3,), B (1,)"),
    ("Div int8 typed", [[1], [2]], 1, "Div.int.R1",
     "the shapes (2, 1) and () differ; shapes A (2, 1), B ()"),
    ("Div float preliminary", [1, 2, 3], [1], "Div.R1",
     "the shapes (3,) and (1,) differ; shapes A (3,), B (1,)"),
    ("Sub float typed", [1, 2, 3], [1], "Sub.float.R1",
     "the shapes (3,) and (1,) differ; shapes A (3,), B (1,)"),
    ("Sub int32 typed", [1, 2], [1], "Sub.int.R1",
     "the shapes (2,) and (1,) differ; shapes A (2,), B (1,)"),
    ("Sub uint8 preliminary", [1, 2, 3], [1], "Sub.R1",
     "the shapes (3,) and (1,) differ; shapes A (3,), B (1,)"),
    ("Div int32 typed", [[6, 9], [35, 1]], [[3, 3], [0, 0]], "Div.int.C1",
     "a zero divisor: A[1, 0] = 35, B[1, 0] = 0; shapes A (2, 2), B (2, 2)"),
    ("Div uint64 preliminary", [2**64 - 1], [0], "Div.R5",
     "a zero divisor: A[0] = 18446744073709551615, B[0] = 0; shapes A (1,), B (1,)"),
    ("Div int32 typed", [1, INT32_MIN], [-1, -1], "Div.int.C2",
     "a quotient beyond the type: A[1] = -2147483648, B[1] = -1; shapes A (2,), B (2,)"),
    ("Div int64 preliminary", INT64_MIN, -1, "Div.int.C2",
     "a quotient beyond the type: A[] = -9223372036854775808, B[] = -1; shapes A (), B ()"),
    # The first broken rule is told: shapes before zeros, and zeros before what overflows.
    ("Div int32 typed", [1, 2], [0], "Div.int.R1",
     "the shapes (2,) and (1,) differ; shapes A (2,), B (1,)"),
    ("Div int32 preliminary", [1, 2], [0], "Div.R1",
     "the shapes (2,) and (1,) differ; shapes A (2,), B (1,)"),
    ("Div int32 typed", [INT32_MIN, 1], [-1, 0], "Div.int.C1",
     "a zero divisor: A[1] = 1, B[1] = 0; shapes A (2,), B (2,)"),
])  # fmt: skip
def test_message_and_code_are_those_of_the_first_broken_rule(kind, a, b, rule, reason):
    code, recorded = violation(kind, a, b)
    operator = kind.split()[0]
    assert code == RULES[rule].code
    assert str(recorded) == (
        f"{operator} 'scale/div' breaks {rule}: {reason}. The rule: {RULES[rule].sentence}"
    )


def test_fields_of_a_violation_by_shapes():
    _, recorded = violation("Div float typed", [1, 2, 3], [1])
    assert (recorded.rule, recorded.operator, recorded.node) == ("Div.float.R1", "Div", "scale/div")
    assert (recorded.shapes, recorded.index, recorded.values) == (((3,), (1,)), None, None)


def test_violation_by_elements_gives_the_first_in_row_major_order():
    _, recorded = violation("Div int32 typed", [[6, 9], [35, 1]], [[3, 0], [0, 3]])
    assert (recorded.index, recorded.values) == ((0, 1), (9, 0))


def test_indices_and_values_are_python_integers():
    _, recorded = violation("Div int8 typed", [6], [0])
    assert {type(number) for number in recorded.index + recorded.values} == {int}


def test_violation_is_logged_once_with_its_message(caplog):
    with caplog.at_level(logging.ERROR, "sonnx_ort"):
        _, recorded = violation("Div int32 typed", [6], [0])
    assert caplog.record_tuples == [("sonnx_ort", logging.ERROR, str(recorded))]
