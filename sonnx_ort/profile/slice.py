"""`Slice`: selects elements between two indices of each axis, with steps."""

from sonnx_ort.profile.common_rules import all_types, working_group
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import OF_THE_NODE, Operator
from sonnx_ort.profile.requirements.attributes import (
    Dense,
    HeldByRuntime,
    RequiredInput,
    SameNumericType,
)
from sonnx_ort.profile.requirements.axes import named_axes_are_distinct, named_axes_exist
from sonnx_ort.profile.requirements.reshaping import SliceDemand, Slicing, no_step_is_zero
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.rule import Attributes, Illustration, Requirement, Rule, Subject
from sonnx_ort.terms.language import All, IfGiven, Tensor, Term

_FIRST_CODE = 721
_INDICES = ("starts", "ends", "axes", "steps")
_OPERANDS = ("X", *_INDICES)
_AXES = ("axes",)
_CONSTRAINTS = "Inputs, Constraints"
_CUTTING = (Subject.OWN_SHAPE, Subject.ELEMENTS)


def _rule(  # noqa: PLR0913 - a row of a table, by name
    tag: str,
    offset: int,
    sentence: str,
    requirement: Requirement,
    operands: tuple[str, ...] | None = None,
    *,
    at: str = "Restrictions",
    remark: str = "The draft names the inputs X, S, E, A and K.",
) -> Rule:
    stated = tag.rpartition(".")[2]
    source = working_group("Slice", remark, at=f"{at} [{stated}]")
    survived = requirement.subject in _CUTTING
    code = _FIRST_CODE + offset
    return Rule(f"Slice.{tag}", code, sentence, source, requirement, operands, survived)


def _given(name: str) -> RequiredInput:
    example = Illustration(f"{name} given", f"{name} left out", f"give {name} as an input")
    return RequiredInput(name, example)


def _vectors_of_one_length(_: Attributes) -> Term:
    starts, *others = map(Tensor, _INDICES)
    alike = (IfGiven(o, All((o.rank == 1, o.size(0) == starts.size(0)))) for o in others)
    return IfGiven(starts, All((starts.rank == 1, *alike)))


_RULES = (
    _rule(
        "R9",
        0,
        "X and Y have the same type.",
        SameNumericType(None, tuple(ElementType)),
        ("X",),
    ),
    _rule(
        "R10",
        1,
        "The indices have the same type, int32 or int64.",
        SameNumericType(
            OF_THE_NODE, (ElementType.INT32, ElementType.INT64), shown=("starts", "ends")
        ),
        _INDICES,
    ),
    _rule("R4", 2, "Sparse tensors are not supported.", Dense()),
    _rule("R1", 3, "The input axes is given.", _given("axes"), ("axes",)),
    _rule("R3", 4, "The input steps is given.", _given("steps"), ("steps",)),
    _rule(
        "R2",
        5,
        "All axes are named.",
        OnShapes(
            ("X", "axes"),
            lambda _: Tensor("axes").size(0) == Tensor("X").rank,
            Illustration(
                "X (2, 3), axes [0, 1]",
                "X (2, 3), axes [1]",
                "name every axis; one that is not cut starts at 0 and ends at its size",
            ),
        ),
        ("X", "axes"),
    ),
    _rule(
        "R8",
        6,
        "Each start is the place of an element on its axis.",
        Slicing(
            SliceDemand.START_WITHIN,
            Illustration(
                "X (4,), starts [3], ends [4]",
                "X (4,), starts [4], ends [4]",
                "start within the axis",
            ),
        ),
    ),
    _rule(
        "C2",
        7,
        "Each end is a place on its axis, or next to one in the direction of the steps.",
        Slicing(
            SliceDemand.END_WITHIN,
            Illustration(
                "X (4,), starts [0], ends [4]",
                "X (4,), starts [0], ends [9223372036854775807]",
                "end at the size of the axis",
            ),
        ),
        at=_CONSTRAINTS,
        remark="A constraint on E.",
    ),
    _rule(
        "R6",
        8,
        "No start lies behind its end in the direction of the steps.",
        Slicing(
            SliceDemand.IN_ORDER,
            Illustration(
                "X (4,), starts [1], ends [3], steps [1]",
                "X (4,), starts [3], ends [1], steps [1]",
                "exchange start and end, or count in negative steps",
            ),
        ),
        remark="The draft states it as R6 and R7. Its C2 of Y contradicts them, by demanding that "
        "no dimension of Y is 0; a start that equals its end gives nothing, and keeps this rule.",
    ),
    _rule(
        "C1",
        9,
        "The indices are vectors of one length.",
        OnShapes(
            _INDICES,
            _vectors_of_one_length,
            Illustration(
                "starts [0, 1], ends [2, 3]", "starts [0], ends [2, 3]", "give one of each per axis"
            ),
            held=True,
        ),
        _INDICES,
        at=_CONSTRAINTS,
        remark="A constraint on X, with the number of its axes, and the draft says of each index "
        "that it is a vector.",
    ),
    _rule(
        "C3",
        10,
        "X is of rank 1 at least.",
        OnShapes(
            ("X",),
            lambda _: Tensor("X").rank >= 1,
            Illustration("X (4,)", "X ()", "give scalars an axis"),
            held=True,
        ),
        ("X",),
        at=_CONSTRAINTS,
        remark="A constraint on X.",
    ),
    _rule(
        "A.C2",
        11,
        "Each axis that is named is an axis of X.",
        HeldByRuntime(
            _AXES,
            named_axes_exist(),
            Illustration("X (2, 3), axes [0, 1]", "X (2, 3), axes [0, 2]", "name axes of X"),
        ),
        ("X", "axes"),
        at=_CONSTRAINTS,
        remark="A constraint on A.",
    ),
    _rule(
        "A.C3",
        12,
        "No axis is named twice.",
        HeldByRuntime(
            _AXES,
            named_axes_are_distinct(),
            Illustration("X (2, 3), axes [0, 1]", "X (2, 3), axes [0, -2]", "name each axis once"),
        ),
        ("X", "axes"),
        at=_CONSTRAINTS,
        remark="A constraint on A.",
    ),
    _rule(
        "K.C2",
        13,
        "No step is 0.",
        HeldByRuntime(
            (), no_step_is_zero, Illustration("steps [1, -1]", "steps [1, 0]", "give a step")
        ),
        ("steps",),
        at=_CONSTRAINTS,
        remark="A constraint on K.",
    ),
)

SLICE = Operator(
    name="Slice",
    description="""
        `Slice`: what lies between two places of each axis of a tensor, in steps.

        Results: the elements, in the type of the operand.

        ONNX Runtime 1.32.0 silently gives an empty tensor if a start lies behind the last element
        or behind its end. It takes an end beyond the axis for the end of the axis. It rejects steps
        of 0, axes that do not exist or are named twice, and starts, ends, axes and steps of
        different numbers.
    """,
    operands=_OPERANDS,
    versions=(1, 10, 11, 13),
    contracts=all_types(_RULES),
    operand_types=dict.fromkeys(_INDICES, "int64"),
    result="Y",
    oldest_kernels=10,
    optional=_INDICES,
    elementwise=False,
    by_shape=("X",),
)
