"""Slice, Squeeze and Unsqueeze, which name axes."""

from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.element_type import IEEE_TYPES, INTEGER_TYPES, TEXT, ElementType
from sonnx_ort.profile.operator import OF_THE_NODE
from sonnx_ort.profile.requirements.attributes import (
    Dense,
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
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.requirements.shapes import of_rank, on_shapes
from sonnx_ort.profile.requirements.slicing import SliceDemand, Slicing
from sonnx_ort.profile.rule import Attributes
from sonnx_ort.terms.language import All, IfGiven, Tensor, Term

_slice = RulesOf("Slice", 721)
_INDICES = ("starts", "ends", "axes", "steps")
_AXES = ("axes",)


def _vectors_of_one_length(_: Attributes) -> Term:
    starts, *others = map(Tensor, _INDICES)
    like_starts = (IfGiven(o, All((o.rank == 1, o.size(0) == starts.size(0)))) for o in others)
    return IfGiven(starts, All((starts.rank == 1, *like_starts)))


SLICE = _slice.operator(
    rules=[
        _slice("R9", 0).states(SameNumericType(None, (*ElementType, TEXT)), "X"),
        _slice("R10", 1).states(
            SameNumericType(OF_THE_NODE, (ElementType.INT32, ElementType.INT64)),
            *_INDICES,
        ),
        _slice("R4", 2).states(Dense()),
        _slice("R1", 3).states(required("axes")),
        _slice("R3", 4).states(required("steps")),
        _slice("R2", 5).states(
            on_shapes(("X", "axes"), lambda _: Tensor("axes").size(0) == Tensor("X").rank),
            survived=True,
        ),
        _slice("R8", 6).states(Slicing(SliceDemand.START_WITHIN), survived=True),
        _slice("C2", 7).states(Slicing(SliceDemand.END_WITHIN), survived=True),
        _slice("R6", 8).states(Slicing(SliceDemand.IN_ORDER), survived=True),
        _slice("C1", 9).states(on_shapes(_INDICES, _vectors_of_one_length, held=True)),
        _slice("C3", 10).states(on_shapes(("X",), lambda _: Tensor("X").rank >= 1, held=True)),
        _slice("A.C2", 11).states(named_axes_exist(), *("X", "axes")),
        _slice("A.C3", 12).states(named_axes_are_distinct(), *("X", "axes")),
        _slice("K.C2", 13).states(held(no_step_is_zero), "steps"),
    ],
    operands=("X", *_INDICES),
    versions=(1, 10, 11, 13),
    operand_types=dict.fromkeys(_INDICES, "int64"),
    rounds_once=True,
    copies_float16=True,
    oldest_kernels=10,
    optional=_INDICES,
)


_squeeze = RulesOf("Squeeze", 961, has_draft=False)
_INT64 = SameNumericType(OF_THE_NODE, (ElementType.INT64,))
_AXES_AS_INPUT = 13
"""The version in which axes became an input."""


SQUEEZE = _squeeze.operator(
    rules=[
        *_squeeze.general((*ElementType, TEXT), "X", added=(ElementType.BFLOAT16,)),
        _squeeze("A.type", 2).states(_INT64, "A"),
        _squeeze("A", 3).states(required("A"), survived=True, since=_AXES_AS_INPUT),
        _squeeze("A.names", 4).states(
            on_shapes(("A",), lambda _: IfGiven(Tensor("A"), Tensor("A").size(0) >= 1)),
            survived=True,
            since=_AXES_AS_INPUT,
        ),
        _squeeze("axes", 5).states(
            given_attributes(_AXES), survived=True, until=_AXES_AS_INPUT - 1
        ),
        _squeeze("axes.names", 6).states(
            admitted("axes", None, bool), survived=True, until=_AXES_AS_INPUT - 1
        ),
        _squeeze("A.rank", 7).states(of_rank(1, held=True), "A", since=_AXES_AS_INPUT),
        _squeeze("A.C1", 8).states(named_axes_exist()),
        _squeeze("size", 9).states(named_axes_have_size_one()),
        _squeeze("A.C2", 10).states(AxesNamedOnce(), survived=True),
    ],
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
        *_unsqueeze.general((*IEEE_TYPES, *INTEGER_TYPES, ElementType.BOOL, TEXT), "X"),
        _unsqueeze("A.type", 2).states(_INT64, "A"),
        _unsqueeze("A.rank", 3).states(of_rank(1), "A", survived=True),
        _unsqueeze("A.C1", 4).states(named_axes_exist(of_the_result=True)),
        _unsqueeze("A.C2", 5).states(named_axes_are_distinct(of_the_result=True)),
    ],
    operands=("X", "A"),
    versions=(1, 11, 13, 21, 23, 24, 25),
    operand_types={"A": "int64"},
    moves_elements=True,
    oldest_kernels=1,
    optional=("A",),
)
