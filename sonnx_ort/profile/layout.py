"""Concat, Reshape, Flatten and Broadcast, which move elements; Constant, Shape and Range."""

from sonnx_ort.profile.common_rules import RulesOf
from sonnx_ort.profile.element_type import (
    IEEE_TYPES,
    INTEGER_TYPES,
    SHORT_INTEGERS,
    TEXT,
    ElementType,
    Family,
)
from sonnx_ort.profile.operator import DOMAIN, OF_THE_NODE, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import (
    Dense,
    axis_from_the_front,
    flag,
    given_attributes,
    held,
    required,
)
from sonnx_ort.profile.requirements.axes import EqualButOnAxis
from sonnx_ort.profile.requirements.broadcasting import Broadcastable, OwnType
from sonnx_ort.profile.requirements.reshaping import (
    InferableSize,
    copied_sizes_exist,
    elements_are_as_many,
    no_size_is_below_minus_one,
    no_step_is_zero,
    one_size_is_inferred,
)
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.requirements.shapes import has_axis, of_rank, on_shapes
from sonnx_ort.profile.rule import Rule
from sonnx_ort.terms.language import Each

_concat = RulesOf("Concat", 901)

CONCAT = _concat.operator(
    rules=[
        *_concat.general((*ElementType, TEXT)),
        _concat("R1", 3).states(axis_from_the_front(), survived=True),
        _concat("C3", 4).states(
            on_shapes((), lambda _: Each(lambda tensor: tensor.rank >= 1), held=True)
        ),
        _concat("C2", 5).states(EqualButOnAxis()),
        _concat("axis.C1", 6).states(has_axis(held=True)),
    ],
    operands=(),
    versions=(1, 4, 11, 13),
    repeated_operand="X",
    moves_elements=True,
    oldest_kernels=4,
)


_reshape = RulesOf("Reshape", 921)

RESHAPE = _reshape.operator(
    rules=[
        *_reshape.general(
            (*IEEE_TYPES, *SHORT_INTEGERS, *INTEGER_TYPES, ElementType.BOOL, TEXT), "X"
        ),
        _reshape("S", 2).states(required("S")),
        _reshape("S.type", 3).states(SameNumericType(OF_THE_NODE, (ElementType.INT64,)), "S"),
        _reshape("allowzero.C1", 4).states(flag("allowzero"), survived=True, since=14),
        _reshape("S.rank", 5).states(of_rank(1, held=True), "S", since=5),
        _reshape("allowzero.C2", 6).states(
            held(copied_sizes_exist, attributes=("allowzero",)), since=5
        ),
        _reshape("S.C3", 7).states(held(no_size_is_below_minus_one), "S", since=5),
        _reshape("S.C1", 8).states(held(one_size_is_inferred), "S", since=5),
        _reshape("X.C1", 9).states(held(elements_are_as_many, attributes=("allowzero",)), since=5),
        _reshape("allowzero.C3", 10).states(InferableSize(), survived=True, since=5),
    ],
    operands=("X", "S"),
    versions=(1, 5, 13, 14, 19, 21, 23, 24, 25),
    operand_types={"S": "int64"},
    moves_elements=True,
    oldest_kernels=5,
    optional=("S",),
)


_flatten = RulesOf("Flatten", 941)
_FLATTEN_TYPES = (*IEEE_TYPES, *INTEGER_TYPES)

FLATTEN = _flatten.operator(
    rules=[
        *_flatten.general(_FLATTEN_TYPES),
        _flatten("axis.C1", 3).states(has_axis(assumed=((1, 1),), or_end=True, held=True)),
    ],
    operands=("X",),
    versions=(1, 9, 11, 13, 21, 23, 24, 25),
    moves_elements=True,
    oldest_kernels=1,
)


_constant = RulesOf("Constant", 1001)

CONSTANT = _constant.operator(
    rules=[
        _constant("R1", 0).states(given_attributes(("value",)), survived=True),
        _constant("R2", 1).states(Dense()),
    ],
    operands=(),
    versions=(1, 9, 11, 12, 13, 19, 21, 23, 24, 25),
    result="C",
    result_type=OF_THE_NODE,
    moves_elements=True,
    oldest_kernels=1,
)


_shape = RulesOf("Shape", 1021)

SHAPE = _shape.operator(
    rules=_shape.general((*ElementType, *SHORT_INTEGERS, TEXT), result_type="int64"),
    operands=("X",),
    versions=(1, 13, 15, 19, 21, 23, 24, 25),
    result_type="int64",
    moves_elements=True,
    oldest_kernels=1,
)


_range = RulesOf("Range", 1041)
_RANGE_TYPES = (
    *(ElementType.FLOAT, ElementType.DOUBLE),
    *(ElementType.INT16, ElementType.INT32, ElementType.INT64),
)

RANGE = _range.operator(
    rules=[
        *_range.general(_RANGE_TYPES),
        _range("scalars", 2).states(of_rank(0), survived=True),
        _range("D.C1", 3).states(held(no_step_is_zero), "D"),
    ],
    operands=("S", "L", "D"),
    versions=(11, 27),
    oldest_kernels=11,
)


E1 = Rule("Broadcast.E1", 71, Broadcastable())
_C1 = Rule("Broadcast.C1", 72, OwnType())
_RULES = {Family.FLOAT: (E1, _C1), Family.INTEGER: (E1, _C1)}

BROADCAST = Operator(
    name="Broadcast",
    domain=DOMAIN,
    operands=(),
    repeated_operand="X",
    result="Z",
    repeated_result=True,
    versions=(1,),
    contracts={Edition.TYPED: _RULES, Edition.PRELIMINARY: _RULES},
)
