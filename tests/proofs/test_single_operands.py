"""Guards about single operands let pass exactly what keeps the rules, whatever ranks and sizes are.

What ONNX Runtime itself refuses is left aside: axes that are not there, and starts, ends, axes and
steps of different numbers.
"""

from collections.abc import Iterator

import pytest
import z3

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.operator_cases import FLOATS, OPERATOR_CASES
from support.proofs.guards import passes
from support.proofs.mutation import Mutation, number, off_by, operator, swapped
from support.proofs.nodes import NAME
from support.proofs.single_operands import SingleOperands
from support.proofs.theorem import NotProved, prove, refute

T = ElementType
OPSETS = (21, 17, 13)


def forms() -> Iterator[SingleOperands]:
    """Every operator in every type, and every form that its guards have."""
    for name in ("MatMul", "BatchNormalization", "Clip"):
        yield from (SingleOperands(name, kind) for kind in OPERATOR_CASES[name].kernels)
    for given in (("input", "min"), ("input", "max")):
        yield from (SingleOperands("Clip", kind, given) for kind in (T.FLOAT, T.INT64))
    for kind in OPERATOR_CASES["ArgMax"].kernels:
        yield SingleOperands("ArgMax", kind, attributes={"axis": 1})
    for axis in (0, 2, 7):
        yield SingleOperands("ArgMax", T.FLOAT, attributes={"axis": axis})
    for places in (T.INT64, T.INT32):
        yield from (SingleOperands("Slice", kind, index_type=places) for kind in ElementType)
    for opset in OPSETS[1:]:
        yield from (SingleOperands(name, T.FLOAT, opset=opset) for name in ("MatMul", "Slice"))


FAULTS: dict[str, tuple[Mutation, ...]] = {
    "MatMul": (
        off_by("wanted_rank", 1),
        operator("are_of_rank", "Or"),
        number("code", 0),
        swapped("shape_or_code"),
    ),
    "BatchNormalization": (
        off_by("limit", 1),
        number("limit", -1),
        operator("is_outside", "And"),
        swapped("is_below"),
        number("code", 0),
    ),
    "Clip": (off_by("wanted_rank", 1), operator("are_of_rank", "Or"), number("code", 0)),
    "ArgMax": (
        off_by("axis", 1),
        off_by("zero", 1),
        off_by("zero", -1),
        swapped("holds_something"),
        swapped("shape_or_code"),
        swapped("shape_or_code_2"),
        number("code", 0),
        number("code_2", 0),
    ),
    "Slice": (
        swapped("is_less_4"),
        swapped("from_the_front"),
        swapped("lowest"),
        off_by("zero", 1),
        operator("is_either", "And"),
        swapped("lowest_2"),
        operator("is_either_2", "And"),
        operator("is_less_8", "Greater"),
        operator("negative", "Identity"),
        operator("names_every_axis", "Greater"),
        number("code_4", 0),
    ),
}
"""By operator what a programmer may do wrong; of Slice with the order, ends, starts and axes."""


def quick(form: SingleOperands) -> bool:
    return form.element_type in (T.FLOAT, T.INT64)


ALL = [pytest.param(f, id=str(f), marks=() if quick(f) else pytest.mark.thorough) for f in forms()]
TWINS = [
    pytest.param(
        form, fault, id=f"{form} | {fault}", marks=() if quick(form) else pytest.mark.thorough
    )
    for form in (
        SingleOperands("MatMul", T.FLOAT),
        *(SingleOperands("BatchNormalization", kind) for kind in FLOATS),
        SingleOperands("Clip", T.INT64),
        SingleOperands("ArgMax", T.FLOAT, attributes={"axis": 1}),
        SingleOperands("Slice", T.FLOAT),
        SingleOperands("Slice", T.INT8, index_type=T.INT32),
    )
    for fault in FAULTS[form.name]
]


@pytest.mark.satisfies(
    "MatMul.draft.matrices",
    "BatchNormalization.draft.variance",
    "Clip.draft.scalars",
    "ArgMax.draft.not_empty",
    "Slice.draft.R2",
    "Slice.draft.R6",
    "Slice.draft.R7",
    "Slice.draft.R8",
    "Slice.draft.ends",
)
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


@pytest.mark.parametrize("form", [f for f in forms() if f.element_type is T.FLOAT], ids=str)
def test_what_is_assumed_proves_nothing_false(form: SingleOperands) -> None:
    question = form.question()
    with pytest.raises(NotProved, match=r"^(sat|unknown): "):
        prove(question.about(lambda _values, run: run.passes))
    with pytest.raises(NotProved, match=r"^(sat|unknown): "):
        prove(question.about(lambda _values, run: z3.Not(run.passes)))


def test_every_operator_that_is_not_elementwise_is_proved() -> None:
    proved = {form.name for form in forms()}
    not_elementwise = {n for n, o in OPERATORS.items() if not o.elementwise and not o.domain}
    assert proved == not_elementwise == set(FAULTS)
