"""Slice, Squeeze and Unsqueeze, which name axes."""

from sonnx_ort.profile.common_rules import (
    LISTED,
    LISTED_TYPE,
    RESTRICTED,
    SPARSE,
    Place,
    RulesOf,
    by_analogy,
)
from sonnx_ort.profile.element_type import IEEE_TYPES, INTEGER_TYPES, TEXT, ElementType
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.requirements.attributes import (
    Dense,
    SameNumericType,
    admitted,
    given_attributes,
    held,
    required,
)
from sonnx_ort.profile.requirements.axes import (
    AxesNamedOnce,
    named_axes_are_distinct,
    named_axes_exist,
    named_axes_have_size_one,
)
from sonnx_ort.profile.requirements.reshaping import no_step_is_zero
from sonnx_ort.profile.requirements.shapes import of_rank, on_shapes
from sonnx_ort.profile.requirements.slicing import SliceDemand, Slicing
from sonnx_ort.profile.rule import Attributes, Illustration
from sonnx_ort.profile.source import Words
from sonnx_ort.terms.language import All, IfGiven, Tensor, Term

_slice = RulesOf("Slice", 721)
_INDICES = ("starts", "ends", "axes", "steps")
_AXES = ("axes",)


def _restriction(tag: str, offset: int) -> Place:
    remark = "The draft names the inputs X, S, E, A and K."
    return _slice(tag, offset, f"Restrictions [{tag}]", remark)


def _constraint(tag: str, offset: int, of: str) -> Place:
    return _slice(tag, offset, f"Inputs, Constraints [{tag[-2:]}]", f"A constraint on {of}.")


def _vectors_of_one_length(_: Attributes) -> Term:
    starts, *others = map(Tensor, _INDICES)
    like_starts = (IfGiven(o, All((o.rank == 1, o.size(0) == starts.size(0)))) for o in others)
    return IfGiven(starts, All((starts.rank == 1, *like_starts)))


def _slicing(demand: SliceDemand, *example: str) -> Slicing:
    return Slicing(demand, Illustration(*example))


SLICE = _slice.operator(
    rules=[
        _restriction("R9", 0).states(
            "X and Y have the same type, which the draft lists.",
            SameNumericType(None, (*ElementType, TEXT)),
            "X",
        ),
        _restriction("R10", 1).states(
            "The indices have the same type, int32 or int64.",
            SameNumericType(
                OF_THE_NODE, (ElementType.INT32, ElementType.INT64), shown=("starts", "ends")
            ),
            *_INDICES,
        ),
        _restriction("R4", 2).states(SPARSE, Dense()),
        _restriction("R1", 3).states("The input axes is given.", required("axes")),
        _restriction("R3", 4).states("The input steps is given.", required("steps")),
        _restriction("R2", 5).states(
            "All axes are named.",
            on_shapes(
                ("X", "axes"),
                lambda _: Tensor("axes").size(0) == Tensor("X").rank,
                "X (2, 3), axes [0, 1]",
                "X (2, 3), axes [1]",
                "name every axis; one that is not cut starts at 0 and ends at its size",
            ),
            survived=True,
        ),
        _restriction("R8", 6).states(
            "Each start is the index of an element on its axis.",
            _slicing(
                SliceDemand.START_WITHIN,
                "X (4,), starts [3], ends [4]",
                "X (4,), starts [4], ends [4]",
                "start within the axis",
            ),
            survived=True,
        ),
        _constraint("C2", 7, "E").states(
            "Each end is an index on its axis, or next to one in the direction of the steps.",
            _slicing(
                SliceDemand.END_WITHIN,
                "X (4,), starts [0], ends [4]",
                "X (4,), starts [0], ends [9223372036854775807]",
                "end at the size of the axis",
            ),
            survived=True,
        ),
        _restriction("R6", 8).states(
            "No start lies after its end in the direction of the steps.",
            _slicing(
                SliceDemand.IN_ORDER,
                "X (4,), starts [1], ends [3], steps [1]",
                "X (4,), starts [3], ends [1], steps [1]",
                "exchange start and end, or count in negative steps",
            ),
            remark="The draft states it as R6 and R7. Its C2 of Y contradicts them: no dimension "
            "of Y may be 0. A start that equals its end gives nothing, and keeps this "
            "rule.",
            contradicted=True,
            survived=True,
        ),
        _constraint(
            "C1",
            9,
            "X, with the number of its axes, and the draft says of each index that it is a vector",
        ).states(
            "The indices are vectors of one length.",
            on_shapes(
                _INDICES,
                _vectors_of_one_length,
                *("starts [0, 1], ends [2, 3]", "starts [0], ends [2, 3]"),
                "give one of each per axis",
                held=True,
            ),
        ),
        _constraint("C3", 10, "X").states(
            "X is of rank 1 at least.",
            on_shapes(
                ("X",),
                lambda _: Tensor("X").rank >= 1,
                *("X (4,)", "X ()", "give scalars an axis"),
                held=True,
            ),
        ),
        _constraint("A.C2", 11, "A").states(
            "Each axis that is named is an axis of X.",
            named_axes_exist("X (2, 3), axes [0, 1]", "X (2, 3), axes [0, 2]", "name axes of X"),
            *("X", "axes"),
        ),
        _constraint("A.C3", 12, "A").states(
            "No axis is named twice.",
            named_axes_are_distinct(
                "X (2, 3), axes [0, 1]", "X (2, 3), axes [0, -2]", "name each axis once"
            ),
            *("X", "axes"),
        ),
        _constraint("K.C2", 13, "K").states(
            "No step is 0.",
            held(no_step_is_zero, "steps [1, -1]", "steps [1, 0]", "give a step"),
            "steps",
        ),
    ],
    description="""
        `Slice`: the elements between a start and an end on each axis of a tensor, in steps.

        Results: the elements, in the type of the operand.

        ONNX Runtime 1.32.0 silently gives an empty tensor if a start lies after the last element
        or after its end. It takes an end beyond the axis for the end of the axis. It rejects steps
        of 0, axes that do not exist or are named twice, and starts, ends, axes and steps of
        different numbers.
    """,
    operands=("X", *_INDICES),
    versions=(1, 10, 11, 13),
    operand_types=dict.fromkeys(_INDICES, "int64"),
    rounds_once=True,
    oldest_kernels=10,
    optional=_INDICES,
)


_squeeze = RulesOf("Squeeze", 961)
_INT64 = SameNumericType(OF_THE_NODE, (ElementType.INT64,))
_AXES_AS_INPUT = 13
"""The version in which axes became an input."""

_BY_ANALOGY = by_analogy(
    "Squeeze", "The operator is in the operator set, and no draft of it is known.", like="Unsqueeze"
)
_NAMES_SOMETHING = "ONNX Runtime removes every axis of size 1, so that the rank depends on sizes."
_REMEDY = "name the axes"

SQUEEZE = _squeeze.operator(
    rules=[
        *_squeeze.general(
            (*ElementType, TEXT),
            "X",
            source=by_analogy("Squeeze", RESTRICTED, like="Unsqueeze"),
            added=(ElementType.BFLOAT16,),
        ),
        _squeeze("A.type", 2).states("A is of the type int64.", _INT64, "A", source=_BY_ANALOGY),
        _squeeze("A", 3).states(
            "The input A is given.",
            required("A", "A [0]", "A left out", _REMEDY),
            remark=_NAMES_SOMETHING,
            survived=True,
            since=_AXES_AS_INPUT,
        ),
        _squeeze("A.names", 4).states(
            "A names an axis.",
            on_shapes(
                ("A",),
                lambda _: IfGiven(Tensor("A"), Tensor("A").size(0) >= 1),
                *("A [0]", "A []", _REMEDY),
            ),
            remark=f"{_NAMES_SOMETHING} onnx.reference removes none then.",
            survived=True,
            since=_AXES_AS_INPUT,
        ),
        _squeeze("axes", 5).states(
            "The attribute axes is given.",
            given_attributes(_AXES, "axes=[0]", "axes left out", _REMEDY),
            remark=_NAMES_SOMETHING,
            survived=True,
            until=_AXES_AS_INPUT - 1,
        ),
        _squeeze("axes.names", 6).states(
            "The attribute axes names an axis.",
            admitted("axes", None, bool, "axes=[0]", "axes=[]", _REMEDY),
            remark=_NAMES_SOMETHING,
            survived=True,
            until=_AXES_AS_INPUT - 1,
        ),
        _squeeze("A.rank", 7).states(
            "A is a tensor of rank 1.",
            of_rank(1, "A [0]", "A 0", "give the axes as a vector", held=True),
            "A",
            source=_BY_ANALOGY,
            since=_AXES_AS_INPUT,
        ),
        _squeeze("A.C1", 8).states(
            "Each axis that is named is an axis of X.",
            named_axes_exist("X (1, 3, 1), A [-1]", "X (1, 3, 1), A [3]", "name axes of X"),
            source=_BY_ANALOGY,
        ),
        _squeeze("size", 9).states(
            "Each axis that is named has the size 1.",
            named_axes_have_size_one(
                "X (1, 3, 1), A [0]", "X (1, 3, 1), A [1]", "name axes of size 1"
            ),
            remark="As ONNX has it; the definitions of the working group say so too.",
        ),
        _squeeze("A.C2", 10).states(
            "No axis is named twice.", AxesNamedOnce(), source=_BY_ANALOGY, survived=True
        ),
    ],
    description="""
        `Squeeze`: the elements of a tensor without some axes of size 1, which A names.

        Results: the elements in the same order, in the type of X.

        ONNX Runtime 1.32.0 silently takes an axis that is named twice, such as [0, 0] or, for rank
        3, [0, -3], for one axis. If no axis is named, it removes all of size 1. It rejects axes
        that do not exist or have another size. Before version 13 an attribute names them.
    """,
    operands=("X", "A"),
    versions=(1, 11, 13, 21, 23, 24, 25),
    operand_types={"A": "int64"},
    moves_elements=True,
    oldest_kernels=1,
    optional=("A",),
)


_unsqueeze = RulesOf("Unsqueeze", 981)

UNSQUEEZE = _unsqueeze.operator(
    rules=[
        *_unsqueeze.general(
            (*IEEE_TYPES, *INTEGER_TYPES, ElementType.BOOL, TEXT),
            "X",
            remark=LISTED,
            at="Unsqueeze (type, int64)",
            sentence=LISTED_TYPE,
        ),
        _unsqueeze("A.type", 2, "Inputs, A").states(
            "A is of the type int64.", _INT64, "A", remark="The heading of all types says so."
        ),
        _unsqueeze("A.rank", 3, "Inputs, A").states(
            "A is a tensor of rank 1.",
            of_rank(1, "A [0]", "A 0", "give the axes as a vector"),
            "A",
            remark="The draft says so where it names A.",
            survived=True,
        ),
        _unsqueeze("A.C1", 4, "Inputs, Constraints [C1]").states(
            "Each axis that is named is an axis of Y.",
            named_axes_exist(
                "X (3,), A [1]", "X (3,), A [2]", "name axes of Y", of_the_result=True
            ),
            remark="The draft counts the axes in A by rA, the rank of A, and means their number. "
            "A note in it counts negative axes by a + rA, but its constraints have a + rY.",
        ),
        _unsqueeze("A.C2", 5, "Inputs, Constraints [C2]").states(
            "An axis shall only be designated once in A.",
            named_axes_are_distinct(
                "X (3,), A [0, 2]", "X (3,), A [0, -3]", "name each axis once", of_the_result=True
            ),
            remark="It adds a formula.",
            words=Words.AS_WRITTEN,
        ),
    ],
    description="""
        `Unsqueeze`: the elements of a tensor with further axes of size 1, which A names.

        Results: the elements in the same order, in the type of X.

        ONNX Runtime 1.32.0 silently takes a scalar A for a list of one axis. It rejects axes that
        do not exist or are named twice. Before version 13 an attribute names them.
    """,
    operands=("X", "A"),
    versions=(1, 11, 13, 21, 23, 24, 25),
    operand_types={"A": "int64"},
    moves_elements=True,
    oldest_kernels=1,
    optional=("A",),
)
