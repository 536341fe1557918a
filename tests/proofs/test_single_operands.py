"""Guards about single operands let pass exactly what keeps the rules, whatever ranks and sizes are.

What ONNX Runtime itself refuses is left aside: axes that are not there, and starts, ends, axes and
steps of different numbers. Axes that are computed are of a known number; all else is of any rank,
size and number.
"""

from collections.abc import Iterator

import pytest
import z3

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.operator_cases import FLOATS, OPERATOR_CASES
from support.pages import REPOSITORY
from support.proofs.guards import passes
from support.proofs.mutation import Mutation, left_out, number, off_by, operator, swapped
from support.proofs.nodes import NAME
from support.proofs.single_operands import LAYOUT, SingleOperands, windowed
from support.proofs.theorem import NotProved, prove, refute

T = ElementType
OPSETS = (21, 17, 13)
TWO, THREE = ("X0", "X1"), ("X0", "X1", "X2")
ZEROS, COPIES = {"allowzero": 1}, {"allowzero": 0}
IN_GROUPS = windowed("Conv", T.FLOAT, group=3, given=("X", "W"))


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
    yield from _windows()
    for kind in FLOATS:
        yield SingleOperands("Softmax", kind, attributes={"axis": 1})
    for axis, opset in ((0, 21), (3, 17), (1, 12), (2, 9)):
        yield SingleOperands("Softmax", T.FLOAT, attributes={"axis": axis}, opset=opset)
    yield SingleOperands("QuantizeLinear", T.FLOAT)
    yield SingleOperands("DequantizeLinear", T.INT32)
    yield SingleOperands("DequantizeLinear", T.INT32, ("X", "x_scale"))
    for opset in OPSETS[1:]:
        yield from (SingleOperands(name, T.FLOAT, opset=opset) for name in ("MatMul", "Slice"))
    for kind in ElementType:
        yield from layouts(kind)
    yield from (SingleOperands("Range", kind) for kind in OPERATOR_CASES["Range"].kernels)


def layouts(kind: ElementType) -> Iterator[SingleOperands]:
    """Every form that the guards of layout operators have, in a type of tensors."""
    for axis in (0, 1, 2):
        yield SingleOperands("Concat", kind, TWO, attributes={"axis": axis})
        yield SingleOperands("Concat", kind, THREE, attributes={"axis": axis}, rank=3)
    yield SingleOperands("Concat", kind, THREE, attributes={"axis": 1})
    yield from (SingleOperands("Squeeze", kind, vectors={"A": count}) for count in range(4))
    yield SingleOperands("Squeeze", kind, numbers={"A": (0, 2, -3)})
    if kind is T.BFLOAT16:  # It is a type of later versions, and not one of the other two's drafts.
        return
    yield SingleOperands("Squeeze", kind, ("X",), attributes={"axes": (-1, 0, 1)}, opset=11)
    yield SingleOperands("Unsqueeze", kind)
    for allowzero in (ZEROS, COPIES):
        yield SingleOperands("Reshape", kind, attributes=allowzero, vectors={"S": None})
    yield SingleOperands("Reshape", kind, attributes=COPIES, numbers={"S": (-1, 3)})
    yield SingleOperands("Reshape", kind, attributes=COPIES, numbers={"S": (-1, 3)}, rank=2)


def _windows() -> Iterator[SingleOperands]:
    """Operators whose operands have sizes that attributes and other operands decide."""
    for name in ("Conv", "ConvInteger", "MaxPool", "Gemm", "LSTM"):
        yield from (windowed(name, kind) for kind in OPERATOR_CASES[name].kernels)
    yield IN_GROUPS
    yield windowed("ConvInteger", T.UINT8, given=("X", "W", "w_zero_point"))
    yield windowed("ConvInteger", T.INT8, pads=(1, 0, 0, 0))
    yield windowed("MaxPool", T.UINT8, pads=(1, 1, 1, 1), dilations=(2, 3))
    yield windowed("LSTM", T.FLOAT, hidden_size=2)


LAYOUT_FAULTS: tuple[tuple[SingleOperands, tuple[Mutation, ...]], ...] = (
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
"""What a programmer may do wrong with layout operators."""

FAULTS: dict[str, tuple[Mutation, ...]] = {
    "MatMul": (off_by("wanted", 1), operator("together", "Or"), number("code", 0),
        swapped("shape_or_code")),
    "BatchNormalization": (off_by("limit", 1), number("limit", -1), operator("is_outside", "And"),
        swapped("is_below"), number("code", 0)),
    "Clip": (off_by("wanted", 1), operator("together", "Or"), number("code", 0)),
    "ArgMax": (off_by("axes", 1), off_by("wanted", 1), off_by("wanted", -1),
        swapped("is_too_small"), swapped("shape_or_code"), swapped("shape_or_code_2"),
        number("code", 0), number("code_2", 0)),
    "Conv": (off_by("wanted", 1), operator("together", "Or"), off_by("wanted_2", 1),
        off_by("axes", 1), operator("is_too_small", "Greater"), off_by("axes_2", -1),
        off_by("wanted_3", 1), operator("is_wanted", "Less"), operator("is_same", "Less"),
        swapped("shape_or_code"), number("code_2", 0)),
    "ConvInteger": (off_by("wanted", 1), off_by("wanted_3", 1), off_by("zero", 1),
        operator("together", "Or"), operator("is_same", "Greater"), swapped("shape_or_code"),
        number("code", 0)),
    "MaxPool": (off_by("wanted", 1), off_by("wanted", -1), off_by("wanted_2", 1),
        off_by("axes", -1), operator("is_too_small", "Greater"), swapped("shape_or_code"),
        number("code_2", 0)),
    "Gemm": (off_by("wanted", 1), operator("together", "Or"), operator("together_2", "Or"),
        off_by("axes_2", 1), operator("is_same", "Less"), swapped("shape_or_code"),
        number("code", 0)),
    "LSTM": (off_by("wanted", 1), off_by("wanted_2", 1), off_by("wanted_3", 1), off_by("axes", 1),
        operator("is_too_small", "Greater"), swapped("shape_or_code"), number("code", 0)),
    "Softmax": (off_by("axis", 1), operator("is_below_2", "Greater"), operator("is_infinite", "Or"),
        swapped("shape_or_code"), off_by("place", 1), off_by("longest", -1), number("code", 0),
        number("code_3", 0)),
    "QuantizeLinear": (off_by("wanted", 1), operator("together", "Or"), off_by("zero", 1),
        operator("is_other_than_zero", "And"), operator("is_above", "Less"),
        operator("is_within", "Or"), number("code", 0)),
    "DequantizeLinear": (off_by("wanted", 1), off_by("end", 1), off_by("end_2", -1),
        operator("is_outside", "And"), operator("limit", "Sub"), operator("moves_limit", "Less"),
        swapped("shift_2"), number("code", 0)),
    "Slice": (swapped("is_less_4"), swapped("from_the_front"), swapped("lowest"), off_by("zero", 1),
        operator("is_either", "And"), swapped("lowest_2"), operator("is_either_2", "And"),
        operator("is_less_8", "Greater"), operator("negative", "Identity"),
        operator("is_wanted", "Greater"), number("code_4", 0)),
}  # fmt: skip
"""By operator what a programmer may do wrong; of Slice with the order, ends, starts and axes."""


def quick(form: SingleOperands) -> bool:
    return form.element_type is T.FLOAT or (
        form.element_type is T.INT64 and form.name not in LAYOUT
    )


FAULTY = (
    SingleOperands("MatMul", T.FLOAT),
    *(SingleOperands("BatchNormalization", kind) for kind in FLOATS),
    SingleOperands("Clip", T.INT64),
    SingleOperands("ArgMax", T.FLOAT, attributes={"axis": 1}),
    SingleOperands("Slice", T.FLOAT),
    SingleOperands("Slice", T.INT8, index_type=T.INT32),
    windowed("Conv", T.FLOAT),
    windowed("ConvInteger", T.UINT8),
    windowed("MaxPool", T.UINT8),
    windowed("Gemm", T.FLOAT),
    windowed("LSTM", T.FLOAT),
    SingleOperands("Softmax", T.FLOAT, attributes={"axis": 1}, opset=12),
    SingleOperands("QuantizeLinear", T.FLOAT),
    SingleOperands("DequantizeLinear", T.INT32),
)
"""The forms in which the faults of their operators are looked for."""

ALL = [pytest.param(f, id=str(f), marks=() if quick(f) else pytest.mark.thorough) for f in forms()]
TWINS = [
    pytest.param(
        form, fault, id=f"{form} | {fault}", marks=() if quick(form) else pytest.mark.thorough
    )
    for form, faults in (
        (IN_GROUPS, (off_by("factors", 1), operator("multiples", "Add"))),
        (
            SingleOperands("Clip", T.FLOAT),
            (operator("is_crossed", "Less"), left_out("if_needed")),
        ),
        *((form, FAULTS[form.name]) for form in FAULTY),
        *LAYOUT_FAULTS,
    )
    for fault in faults
]


@pytest.mark.satisfies(
    "ArgMax.float.C1 Softmax.C4 MatMul.draft.matrices BatchNormalization.draft.variance",
    "Clip.draft.scalars ArgMax.draft.not_empty Slice.draft.R2 Slice.draft.R6 Slice.draft.R7",
    "Slice.draft.R8 Slice.draft.ends",
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


def generated(form: SingleOperands) -> Mutation | None:
    """A fault that each form can have; None where no operands break a rule or none is known."""
    match form.name, form.attributes.get("axis"), form.vectors.get("A"):
        case ("Softmax", 3, _) | ("Squeeze", _, 0):
            return None
        case ("Softmax", _, _) | ("Squeeze", _, 1):
            return swapped("shape_or_code")
        case "ArgMax", 7, _:
            return swapped("is_too_small")
    return number("code", 0)


GENERATED = [(form, fault) for form in forms() if (fault := generated(form)) is not None]


@pytest.mark.thorough
@pytest.mark.parametrize(("form", "fault"), GENERATED, ids=str)
def test_fault_of_each_form_is_refuted_by_operands_that_show_it(
    form: SingleOperands, fault: Mutation
) -> None:
    test_fault_is_refuted_by_operands_that_show_it(form, fault)


def test_page_says_how_many_forms_have_a_counterpart() -> None:
    page = " ".join((REPOSITORY / "docs" / "proofs.md").read_text("utf-8").split())
    assert f"{len(GENERATED)} of the {len(ALL)} forms of single operands" in page


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


def test_every_operator_that_is_not_elementwise_is_proved() -> None:
    proved = {form.name for form in forms()}
    assert {form.name for form, _ in LAYOUT_FAULTS} == LAYOUT
    assert proved == set(FAULTS) | LAYOUT
    checked = {n for n, o in OPERATORS.items() if o.checked_in_runs and not o.domain}
    assert proved == {name for name in checked if not OPERATORS[name].elementwise}
