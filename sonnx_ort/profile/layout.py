"""Concat, Reshape and Flatten: the same elements in another shape."""

from sonnx_ort.profile.common_rules import LISTED, RulesOf, all_types
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE, Operator
from sonnx_ort.profile.requirements.attributes import (
    AXIS_FROM_THE_FRONT,
    HeldByRuntime,
    RequiredInput,
    SameNumericType,
    flag,
)
from sonnx_ort.profile.requirements.axes import EqualButOnAxis
from sonnx_ort.profile.requirements.reshaping import (
    InferableSize,
    copied_sizes_exist,
    elements_are_as_many,
    no_size_is_below_minus_one,
    one_size_is_inferred,
)
from sonnx_ort.profile.requirements.shapes import OnShapes, has_axis, of_rank
from sonnx_ort.profile.rule import Illustration
from sonnx_ort.terms.language import Each

_INT64 = SameNumericType(OF_THE_NODE, (ElementType.INT64,))
_S = ("S",)


_concat = RulesOf("Concat", 901)

_CONCAT_RULES = (
    *_concat.general(
        None, remark="The draft says it of the inputs too.", at="Outputs, Y, Constraints [C4]"
    ),
    _concat(
        "R1",
        3,
        "The attribute axis is not negative.",
        AXIS_FROM_THE_FRONT,
        at="Restrictions [R1]",
        remark="The draft states it of axis too, as C2.",
        survived=True,
    ),
    _concat(
        "C3",
        4,
        "No input is a scalar.",
        OnShapes(
            (),
            lambda _: Each(lambda tensor: tensor.rank >= 1),
            Illustration("X0 (1,)", "X0 ()", "give scalars an axis"),
            held=True,
        ),
        at="Attributes, axis, Constraints [C1]",
        remark="It follows: a scalar has no axis that could be named.",
    ),
    _concat(
        "C2",
        5,
        "All inputs have the same shape but for the axis.",
        EqualButOnAxis(),
        at="Inputs, X_0 to X_n-1, Constraints [C3]",
        remark="The draft states that the ranks are equal apart from it, as C2.",
    ),
    _concat(
        "axis.C1",
        6,
        "The attribute axis is an axis of the inputs.",
        has_axis(
            Illustration("X0 (2, 3), axis=1", "X0 (2, 3), axis=2", "name an axis of the inputs"),
            held=True,
        ),
        at="Attributes, axis, Constraints [C1]",
        remark="Here a negative axis exists too: that axis is not negative is a rule of its own.",
    ),
)

CONCAT = Operator(
    name="Concat",
    description="""
        `Concat`: the elements of any number of tensors, one behind the other along an axis.

        Results: the elements, in the type of the operands.

        ONNX Runtime 1.32.0 silently ignores an empty tensor, whatever its other sizes are: (2, 3)
        and (0, 5) along axis 0 give (2, 3), unless all sizes are declared. Versions up to 1.31.1
        end the process (SIGABRT) at an empty tensor of another rank, such as (0,) and (2, 3), if
        its rank is not declared. It rejects all other violations, except a negative axis, which
        counts from the end. It has no kernel of version 1.
    """,
    operands=(),
    versions=(1, 4, 11, 13),
    contracts=all_types(_CONCAT_RULES),
    repeated_operand="X",
    result="Y",
    rounds_once=False,
    moves_elements=True,
    oldest_kernels=4,
    elementwise=False,
)


_reshape = RulesOf("Reshape", 921)
_ALLOWZERO = "Attributes, allowzero, Constraints [{}]"
_OF_ALLOWZERO = "The draft refers to it from S."

_RESHAPE_RULES = (
    *_reshape.general(
        None,
        ("X",),
        remark="The elements of Y are those of X, and so is its type.",
        at="Informal specification",
    ),
    _reshape(
        "S",
        2,
        "The input S is given.",
        RequiredInput("S", Illustration("S given", "S left out", "give S as an input")),
        _S,
        at="Signature",
        remark="In version 1 the shape is an attribute.",
    ),
    _reshape(
        "S.type",
        3,
        "S is of the type int64.",
        _INT64,
        _S,
        at="Inputs, S",
        remark="The heading says so.",
    ),
    _reshape(
        "allowzero.C1",
        4,
        "The attribute allowzero is 0 or 1.",
        flag("allowzero"),
        at=_ALLOWZERO.format("C1"),
        remark="Its value domain.",
        survived=True,
        since=14,
    ),
    _reshape(
        "S.rank",
        5,
        "S is a tensor of rank 1.",
        of_rank(1, Illustration("S [6]", "S 6", "give the sizes as a vector"), held=True),
        _S,
        at="Inputs, S",
        remark="The draft says so where it names S.",
        since=5,
    ),
    _reshape(
        "allowzero.C2",
        6,
        "A 0 in S that copies a size has an axis of X to copy it from.",
        HeldByRuntime(
            ("allowzero",),
            copied_sizes_exist,
            Illustration("X (2, 3), S [0, 3]", "X (2, 3), S [2, 3, 0]", "name the size instead"),
        ),
        since=5,
        at=_ALLOWZERO.format("C2"),
        remark=_OF_ALLOWZERO,
    ),
    _reshape(
        "S.C3",
        7,
        "No size in S is below -1.",
        HeldByRuntime(
            (),
            no_size_is_below_minus_one,
            Illustration("S [-1, 3]", "S [-2, 3]", "name the size, or -1"),
        ),
        _S,
        since=5,
        at=_ALLOWZERO.format("C3"),
        remark=f"{_OF_ALLOWZERO} For allowzero=1 its formula, a disjunction, says it by its cases.",
    ),
    _reshape(
        "S.C1",
        8,
        "At most one size in S is -1.",
        HeldByRuntime(
            (),
            one_size_is_inferred,
            Illustration("S [-1, 3]", "S [-1, -1]", "name all sizes but one"),
        ),
        _S,
        since=5,
        at="Inputs, Constraints [C1]",
        remark="A constraint on S.",
    ),
    _reshape(
        "X.C1",
        9,
        "X and Y have the same number of elements.",
        HeldByRuntime(
            ("allowzero",),
            elements_are_as_many,
            Illustration("X (2, 3), S [3, 2]", "X (2, 3), S [4, 2]", "correct the sizes"),
        ),
        since=5,
        at="Inputs, Constraints [C1]",
        remark="A constraint on X.",
    ),
    _reshape(
        "allowzero.C3",
        10,
        "If a size in S is -1, X is not empty (allowzero=0), or no size is 0 (allowzero=1).",
        InferableSize(),
        survived=True,
        since=5,
        at=_ALLOWZERO.format("C3"),
        remark=f"{_OF_ALLOWZERO} Its formula for allowzero=1 is a disjunction that every S keeps; "
        "its rationale means a conjunction, which is taken. Example 3 of the draft, allowzero=1 "
        "with S [0, -1], breaks the rule.",
    ),
)

RESHAPE = Operator(
    name="Reshape",
    description="""
        `Reshape`: the elements of a tensor in another shape, which the operand S names.

        Results: the elements in the same order, the last axis first, in the type of X.

        ONNX Runtime 1.32.0 silently gives an empty tensor for a size of -1 if X is empty: X (0, 3)
        with S [-1, 3] gives (0, 3). With `allowzero=1` it does so for [0, -1], unless S is
        constant; versions up to 1.31.1 reject that. It takes other values of `allowzero` for 0. It
        rejects all other violations, and sizes whose product is beyond int64.
    """,
    operands=("X", "S"),
    versions=(1, 5, 13, 14, 19, 21, 23, 24, 25),
    contracts=all_types(_RESHAPE_RULES),
    operand_types={"S": "int64"},
    result="Y",
    rounds_once=False,
    moves_elements=True,
    oldest_kernels=5,
    optional=_S,
    elementwise=False,
    by_shape=("X",),
)


_flatten = RulesOf("Flatten", 941)
_FLOATS = (ElementType.FLOAT16, ElementType.FLOAT, ElementType.DOUBLE)
_INTEGERS = tuple(t for t in ElementType if t.family is Family.INTEGER)

_FLATTEN_RULES = (
    *_flatten.general((*_FLOATS, *_INTEGERS), remark=LISTED, at="Flatten (type)"),
    _flatten(
        "axis.C1",
        3,
        "The attribute axis is an axis of X, or the rank of X.",
        has_axis(
            Illustration("X (2, 3), axis=2", "X (2, 3), axis=3", "name an axis of X"),
            assumed=((1, 1),),
            or_end=True,
            held=True,
        ),
        at="Attributes, axis, Constraints [C1]",
        remark="The draft's C1 of X refers to itself where it means this one.",
    ),
)

FLATTEN = Operator(
    name="Flatten",
    description="""
        `Flatten`: the elements of a tensor as a matrix, with the axes before `axis` in its rows.

        Results: the elements in the same order, in the type of X.

        ONNX Runtime 1.32.0 rejects an axis that does not exist, and takes 1 if none is given. A
        negative axis counts from the end; before version 11, in which ONNX allows it, it is
        rejected only if the rank is declared. It has kernels of all types from version 9 on, also
        of bool, bfloat16 and string, and of floats before.
    """,
    operands=("X",),
    versions=(1, 9, 11, 13, 21, 23, 24, 25),
    contracts=all_types(_FLATTEN_RULES),
    result="Y",
    rounds_once=False,
    moves_elements=True,
    oldest_kernels=1,
    elementwise=False,
)
