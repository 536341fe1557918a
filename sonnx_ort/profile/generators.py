"""Constant, Shape and Range, whose results hold no elements of a tensor."""

from sonnx_ort.profile.common_rules import LISTED, RulesOf, all_types
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operator import OF_THE_NODE, Operator
from sonnx_ort.profile.requirements.attributes import Dense, GivenAttributes, HeldByRuntime
from sonnx_ort.profile.requirements.reshaping import no_step_is_zero
from sonnx_ort.profile.requirements.shapes import of_rank
from sonnx_ort.profile.rule import Illustration

_constant = RulesOf("Constant", 1001)

_CONSTANT_RULES = (
    _constant(
        "R1",
        0,
        "The attribute value is given.",
        GivenAttributes(
            ("value",), Illustration("value={1.5}", "value_float=1.5", "store a tensor as value")
        ),
        at="Restrictions [R1]",
        remark="The draft states it of the attribute too.",
        survived=True,
    ),
    _constant(
        "R2",
        1,
        "Sparse tensors are not supported.",
        Dense(),
        at="Restrictions [R2]",
        remark="It is GR1 of all operators.",
    ),
)

CONSTANT = Operator(
    name="Constant",
    description="""
        `Constant`: a tensor that the attribute `value` holds.

        Results: the tensor. That all its elements have one type (R3 of the draft) needs no rule: a
        tensor in a file has one.

        ONNX Runtime 1.32.0 also accepts the other attributes of ONNX, in every version, and
        silently makes sparse tensors dense. If several are given, it takes the first one.
    """,
    operands=(),
    versions=(1, 9, 11, 12, 13, 19, 21, 23, 24, 25),
    contracts=all_types(_CONSTANT_RULES),
    result="C",
    result_type=OF_THE_NODE,
    rounds_once=False,
    moves_elements=True,
    oldest_kernels=1,
    elementwise=False,
)


SHAPE = Operator(
    name="Shape",
    description="""
        `Shape`: the shape of a tensor, or the part of it from `start` to before `end`.

        Results: a vector of int64. Negative numbers count from the end; what is beyond the first or
        the last axis is that axis, and a start that is not before the end gives nothing.

        ONNX Runtime 1.32.0 computes what the draft says, for any `start` and `end`, and has kernels
        of all types.
    """,
    operands=("X",),
    versions=(1, 13, 15, 19, 21, 23, 24, 25),
    contracts=all_types(
        RulesOf("Shape", 1021).general(None, result_type="int64", remark=LISTED, at="Shape (type)")
    ),
    result="Y",
    result_type="int64",
    rounds_once=False,
    moves_elements=True,
    oldest_kernels=1,
    elementwise=False,
)


_range = RulesOf("Range", 1041)
_RANGE_TYPES = (
    *(ElementType.FLOAT, ElementType.DOUBLE),
    *(ElementType.INT16, ElementType.INT32, ElementType.INT64),
)

_RANGE_RULES = (
    *_range.general(_RANGE_TYPES, remark=LISTED, at="Range (type, type, type)"),
    _range(
        "scalars",
        2,
        "S, L and D are scalars.",
        of_rank(0, Illustration("D 1", "D [1]", "remove the axis, for example with Squeeze")),
        at="Signature",
        remark="The draft says so of each input too.",
        survived=True,
    ),
    _range(
        "D.C1",
        3,
        "D is not 0.",
        HeldByRuntime((), no_step_is_zero, Illustration("D 1", "D 0", "give a step")),
        ("D",),
        at="Inputs, Constraints [C1]",
        remark="A constraint on D.",
    ),
)

RANGE = Operator(
    name="Range",
    description="""
        `Range`: numbers from S on, in steps of D, before L is reached.

        Results: S + i * D for each i from 0 to before (L - S) / D, rounded up.

        ONNX Runtime 1.32.0 silently accepts vectors of one element as scalars, and rejects a step
        of 0. It sums floats step by step, and rounds each sum: from 0 to 100000 in steps of 0.1 the
        last element is 100958.24 in float, which is beyond the limit; the draft's formula gives
        99999.9. It rejects NaN, an infinite start or limit, and more elements than int64 counts.
        Versions up to 1.31.1 count the elements of int64 in double, which is wrong beyond 2^53.
        Version 1.23 gives an empty tensor where L - S is beyond int32 or int64, and for NaN and
        infinity, and counts the elements of floats after rounding L - S.
    """,
    operands=("S", "L", "D"),
    versions=(11, 27),
    contracts=all_types(_RANGE_RULES),
    result="Y",
    rounds_once=False,
    oldest_kernels=11,
    elementwise=False,
    by_shape=("S", "L", "D"),
)
