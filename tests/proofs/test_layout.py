"""Guards of layout operators let pass exactly what keeps the rules, whatever ranks and sizes are.

Axes that are computed are of a known number; all else is of any rank, size and number.
"""

from collections.abc import Iterator

import pytest
import z3

from sonnx_ort.profile.element_type import ElementType
from support.operator_cases import OPERATOR_CASES
from support.proofs.guards import passes
from support.proofs.mutation import Mutation, number, off_by, operator, swapped
from support.proofs.nodes import NAME
from support.proofs.single_operands import LAYOUT, SingleOperands
from support.proofs.theorem import NotProved, prove, refute

T = ElementType
TWO, THREE = ("X0", "X1"), ("X0", "X1", "X2")
ZEROS, COPIES = {"allowzero": 1}, {"allowzero": 0}


def forms_of(kind: ElementType) -> Iterator[SingleOperands]:
    """Every form that the guards have, in a type of tensors."""
    for axis in (0, 1, 2):
        yield SingleOperands("Concat", kind, TWO, attributes={"axis": axis})
        yield SingleOperands("Concat", kind, THREE, attributes={"axis": axis}, rank=3)
    yield SingleOperands("Concat", kind, THREE, attributes={"axis": 1})
    for allowzero in (ZEROS, COPIES):
        yield SingleOperands("Reshape", kind, attributes=allowzero, vectors={"S": None})
    yield SingleOperands("Reshape", kind, attributes=COPIES, numbers={"S": (-1, 3)})
    yield SingleOperands("Reshape", kind, attributes=COPIES, numbers={"S": (-1, 3)}, rank=2)
    yield from (SingleOperands("Squeeze", kind, vectors={"A": count}) for count in range(4))
    yield SingleOperands("Squeeze", kind, numbers={"A": (0, 2, -3)})
    if kind is not T.BFLOAT16:  # It is a type of later versions.
        yield SingleOperands("Squeeze", kind, ("X",), attributes={"axes": (-1, 0, 1)}, opset=11)
    yield SingleOperands("Unsqueeze", kind)


def forms() -> Iterator[SingleOperands]:
    """Each form in each type."""
    for kind in ElementType:
        yield from forms_of(kind)
    yield from (SingleOperands("Range", kind) for kind in OPERATOR_CASES["Range"].kernels)


FAULTS: tuple[tuple[SingleOperands, tuple[Mutation, ...]], ...] = (
    (
        SingleOperands("Concat", T.FLOAT, TWO, attributes={"axis": 1}),
        (off_by("axis", 1), operator("equal_or_the_axis", "And"), operator("all_equal", "Or"),
         operator("equal", "Greater"), swapped("sizes"), swapped("shape_or_code"),
         number("code", 0)),
    ),
    (
        SingleOperands("Concat", T.FLOAT, THREE, attributes={"axis": 1}, rank=3),
        (number("is_the_axis", True), number("is_the_axis", False), operator("all_equal", "Or"),
         operator("equal_2", "Less"), swapped("shape_or_code"), number("code", 0)),
    ),
    (
        SingleOperands("Reshape", T.FLOAT, attributes=COPIES, vectors={"S": None}),
        (off_by("zero", 1), off_by("minus_one", -1), operator("not_inferable", "Or"),
         operator("is_inferred", "Greater"), swapped("shape_or_code"), number("code", 0)),
    ),
    (SingleOperands("Reshape", T.FLOAT, attributes=ZEROS, vectors={"S": None}),
     (off_by("zero", 1), operator("not_inferable", "Or"))),
    (SingleOperands("Reshape", T.FLOAT, attributes=COPIES, numbers={"S": (-1, 3)}, rank=2),
     (off_by("zero", 1), swapped("shape_or_code"), number("code", 0))),
    (
        SingleOperands("Squeeze", T.FLOAT, vectors={"A": 2}),
        (operator("is_behind", "Equal"), operator("is_named_twice", "Or"),
         operator("is_negative", "Greater"), swapped("from_the_front"), operator("counted", "Sub"),
         swapped("shape_or_code"), number("code", 0)),
    ),
    (SingleOperands("Squeeze", T.FLOAT, numbers={"A": (0, -3)}),
     (off_by("ranks", 1), operator("is_one_axis", "Greater"), number("code", 0))),
    (SingleOperands("Unsqueeze", T.FLOAT), (off_by("wanted", 1), number("code", 0))),
    (SingleOperands("Range", T.INT64),
     (off_by("wanted", 1), operator("together", "Or"), number("code", 0))),
)  # fmt: skip
"""What a programmer may do wrong."""

ALL = [
    pytest.param(f, id=str(f), marks=() if f.element_type is T.FLOAT else pytest.mark.thorough)
    for f in forms()
]
TWINS = [
    pytest.param(form, fault, id=f"{form} | {fault}") for form, faults in FAULTS for fault in faults
]


@pytest.mark.parametrize("form", ALL)
def test_guards_let_pass_exactly_what_keeps_the_rules(form: SingleOperands) -> None:
    prove(form.question())


@pytest.mark.parametrize(("form", "fault"), TWINS)
def test_fault_is_refuted_by_operands_that_show_it(form: SingleOperands, fault: Mutation) -> None:
    broken = fault.of(form.emitted)
    _, feeds = refute(form.small(broken))
    keeps = form.keeps_rules(feeds)
    assert passes(broken, {NAME}, feeds) is not keeps
    assert passes(form.emitted, {NAME}, feeds) is keeps


OPEN = [
    form
    for form in forms()
    # No axis breaks a rule, and one alone breaks none.
    if form.element_type is T.FLOAT and form.vectors.get("A") not in (0, 1)
]


@pytest.mark.parametrize("form", OPEN, ids=str)
def test_what_is_assumed_proves_nothing_false(form: SingleOperands) -> None:
    question = form.question()
    with pytest.raises(NotProved, match=r"^(sat|unknown): "):
        prove(question.about(lambda _values, run: run.passes))
    with pytest.raises(NotProved, match=r"^(sat|unknown): "):
        prove(question.about(lambda _values, run: z3.Not(run.passes)))


def test_every_operator_has_forms() -> None:
    assert {form.name for form in forms()} == LAYOUT == {form.name for form, _ in FAULTS}
