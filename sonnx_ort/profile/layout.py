"""Concat, Reshape, Flatten and Broadcast, which move elements; Constant, Shape and Range."""

from sonnx_ort.profile.common_rules import LISTED, LISTED_TYPE, SPARSE, RulesOf
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
    SameNumericType,
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
from sonnx_ort.profile.requirements.shapes import has_axis, of_rank, on_shapes
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.source import Source, Words
from sonnx_ort.terms.language import Each

_concat = RulesOf("Concat", 901)

CONCAT = _concat.operator(
    rules=[
        *_concat.general(
            (*ElementType, TEXT),
            remark="The draft says it of the inputs too, and lists the types there.",
            at="Outputs, Y, Constraints [C4]",
            sentence=LISTED_TYPE,
        ),
        _concat("R1", 3, "Restrictions [R1]").states(
            "The attribute axis is not negative.",
            axis_from_the_front(),
            remark="The draft states it of axis too, as C2.",
            survived=True,
        ),
        _concat("C3", 4, "Attributes, axis, Constraints [C1]").states(
            "No input is a scalar.",
            on_shapes(
                (),
                lambda _: Each(lambda tensor: tensor.rank >= 1),
                *("X0 (1,)", "X0 ()", "give scalars an axis"),
                held=True,
            ),
            remark="It follows: a scalar has no axis that could be named.",
        ),
        _concat("C2", 5, "Inputs, X_0 to X_n-1, Constraints [C3]").states(
            "All inputs have the same shape but for the axis.",
            EqualButOnAxis(),
            remark="The draft states that the ranks are equal apart from it, as C2.",
        ),
        _concat("axis.C1", 6, "Attributes, axis, Constraints [C1]").states(
            "The attribute axis is an axis of the inputs.",
            has_axis(
                *("X0 (2, 3), axis=1", "X0 (2, 3), axis=2", "name an axis of the inputs"), held=True
            ),
            remark="Here a negative axis exists too: that axis is not negative is a rule of its "
            "own.",
        ),
    ],
    description="""
        `Concat`: the elements of any number of tensors, one after the other along an axis.

        Results: the elements, in the type of the operands.

        ONNX Runtime 1.32.0 silently ignores an empty tensor, whatever its other sizes are, unless
        all sizes are declared. So (2, 3) and (0, 5) along axis 0 give (2, 3). Versions up to 1.31.1
        end the process (SIGABRT) at an empty tensor of another, undeclared rank, such as (0,) with
        (2, 3). It rejects all other violations, except a negative axis, which counts from the end.
        It has no kernel of version 1.
    """,
    operands=(),
    versions=(1, 4, 11, 13),
    repeated_operand="X",
    moves_elements=True,
    oldest_kernels=4,
)


_reshape = RulesOf("Reshape", 921)
_ALLOWZERO = "Attributes, allowzero, Constraints [{}]"
_OF_ALLOWZERO = "The draft refers to it from S."

RESHAPE = _reshape.operator(
    rules=[
        *_reshape.general(
            (*IEEE_TYPES, *SHORT_INTEGERS, *INTEGER_TYPES, ElementType.BOOL, TEXT),
            "X",
            remark="The elements of Y are those of X, and so is its type. The contents of the "
            "draft list the types.",
            at="Informal specification",
            sentence=LISTED_TYPE,
        ),
        _reshape("S", 2, "Signature").states(
            "The input S is given.", required("S"), remark="In version 1 the shape is an attribute."
        ),
        _reshape("S.type", 3, "Inputs, S").states(
            "S is of the type int64.",
            SameNumericType(OF_THE_NODE, (ElementType.INT64,)),
            "S",
            remark="The heading says so.",
        ),
        _reshape("allowzero.C1", 4, _ALLOWZERO.format("C1")).states(
            "The attribute allowzero is 0 or 1.",
            flag("allowzero"),
            remark="Its value domain.",
            survived=True,
            since=14,
        ),
        _reshape("S.rank", 5, "Inputs, S").states(
            "S is a tensor of rank 1.",
            of_rank(1, "S [6]", "S 6", "give the sizes as a vector", held=True),
            "S",
            remark="The draft says so where it names S.",
            since=5,
        ),
        _reshape("allowzero.C2", 6, _ALLOWZERO.format("C2")).states(
            "A 0 in S that copies a size has an axis of X to copy it from.",
            held(
                copied_sizes_exist,
                *("X (2, 3), S [0, 3]", "X (2, 3), S [2, 3, 0]", "name the size instead"),
                attributes=("allowzero",),
            ),
            remark=_OF_ALLOWZERO,
            since=5,
        ),
        _reshape("S.C3", 7, _ALLOWZERO.format("C3")).states(
            "No size in S is below -1.",
            held(no_size_is_below_minus_one, "S [-1, 3]", "S [-2, 3]", "name the size, or -1"),
            "S",
            remark=f"{_OF_ALLOWZERO} For allowzero=1 its formula, a disjunction, says it by its "
            "cases.",
            since=5,
        ),
        _reshape("S.C1", 8, "Inputs, Constraints [C1]").states(
            "At most one size in S is -1.",
            held(one_size_is_inferred, "S [-1, 3]", "S [-1, -1]", "name all sizes but one"),
            "S",
            remark="A constraint on S.",
            since=5,
        ),
        _reshape("X.C1", 9, "Inputs, Constraints [C1]").states(
            "X and Y have the same number of elements.",
            held(
                elements_are_as_many,
                *("X (2, 3), S [3, 2]", "X (2, 3), S [4, 2]", "correct the sizes"),
                attributes=("allowzero",),
            ),
            remark="A constraint on X.",
            since=5,
        ),
        _reshape("allowzero.C3", 10, _ALLOWZERO.format("C3")).states(
            "If a size in S is -1, X is not empty (allowzero=0), or no size is 0 (allowzero=1).",
            InferableSize(),
            remark=f"{_OF_ALLOWZERO} Its formula for allowzero=1 is a disjunction that every S "
            "keeps; its rationale means a conjunction, which is taken. Example 3 of the draft, "
            "allowzero=1 with S [0, -1], breaks the rule.",
            contradicted=True,
            survived=True,
            since=5,
        ),
    ],
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
    operand_types={"S": "int64"},
    moves_elements=True,
    oldest_kernels=5,
    optional=("S",),
)


_flatten = RulesOf("Flatten", 941)
_FLATTEN_TYPES = (*IEEE_TYPES, *INTEGER_TYPES)

FLATTEN = _flatten.operator(
    rules=[
        *_flatten.general(_FLATTEN_TYPES, remark=LISTED, at="Flatten (type)"),
        _flatten("axis.C1", 3, "Attributes, axis, Constraints [C1]").states(
            "The attribute axis is an axis of X, or the rank of X.",
            has_axis(
                *("X (2, 3), axis=2", "X (2, 3), axis=3", "name an axis of X"),
                assumed=((1, 1),),
                or_end=True,
                held=True,
            ),
            remark="The draft's C1 of X refers to itself where it means this one.",
        ),
    ],
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
    moves_elements=True,
    oldest_kernels=1,
)


_constant = RulesOf("Constant", 1001)

CONSTANT = _constant.operator(
    rules=[
        _constant("R1", 0, "Restrictions [R1]").states(
            "The attribute value is given.",
            given_attributes(
                ("value",), "value={1.5}", "value_float=1.5", "store a tensor as value"
            ),
            remark="The draft states it of the attribute too.",
            survived=True,
        ),
        _constant("R2", 1, "Restrictions [R2]").states(
            SPARSE, Dense(), remark="It is GR1 of all operators."
        ),
    ],
    description="""
        `Constant`: a tensor that the attribute `value` holds.

        Results: the tensor. That all its elements have one type (R3 of the draft) needs no rule: a
        tensor in a file has one.

        ONNX Runtime 1.32.0 also accepts the other attributes of ONNX, in every version, and
        silently makes sparse tensors dense. If several are given, it takes the first one.
    """,
    operands=(),
    versions=(1, 9, 11, 12, 13, 19, 21, 23, 24, 25),
    result="C",
    result_type=OF_THE_NODE,
    moves_elements=True,
    oldest_kernels=1,
)


_shape = RulesOf("Shape", 1021)

SHAPE = _shape.operator(
    rules=_shape.general(
        (*ElementType, *SHORT_INTEGERS, TEXT),
        result_type="int64",
        remark=LISTED,
        at="Shape (type)",
        sentence="X is of a type that the draft lists.",
    ),
    description="""
        `Shape`: the shape of a tensor, or the part of it from `start` to before `end`.

        Results: a vector of int64. Negative numbers count from the end. A number beyond the first
        or the last axis means that axis. A start that is not before the end gives nothing.

        ONNX Runtime 1.32.0 computes what the draft says, for any `start` and `end`, and has kernels
        of all types.
    """,
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
        *_range.general(_RANGE_TYPES, remark=LISTED, at="Range (type, type, type)"),
        _range("scalars", 2, "Signature").states(
            "S, L and D are scalars.",
            of_rank(0, "D 1", "D [1]", "remove the axis, for example with Squeeze"),
            remark="The draft says so of each input too.",
            survived=True,
        ),
        _range("D.C1", 3, "Inputs, Constraints [C1]").states(
            "D is not 0.",
            held(no_step_is_zero, "D 1", "D 0", "give a step"),
            "D",
            remark="A constraint on D.",
        ),
    ],
    description="""
        `Range`: numbers from S on, in steps of D, before L is reached.

        Results: S + i * D for each i from 0 to before (L - S) / D, rounded up.

        ONNX Runtime 1.32.0 silently accepts vectors of one element as scalars, and rejects a step
        of 0. It sums floats step by step, and rounds each sum. So from 0 to 100000 in steps of 0.1
        the last element is 100958.24 in float, beyond the limit. The draft's formula gives 99999.9.
        It rejects NaN, an infinite start or limit, and more elements than int64 counts. Versions up
        to 1.31.1 count the elements of int64 in double, which is wrong beyond 2^53. Version 1.23
        gives an empty tensor for NaN and infinity, and where L - S is beyond int32 or int64. It
        counts the elements of floats after rounding L - S.
    """,
    operands=("S", "L", "D"),
    versions=(11, 27),
    oldest_kernels=11,
)


_DOCUMENT = "SONNX Broadcast"

E1 = Rule(
    "Broadcast.E1",
    71,
    "A dimension is the largest of its axis, or 1.",
    Source(
        _DOCUMENT,
        "Informal specification, conditions 1 and 2 and step 2",
        None,
        words=Words.OURS,
        remark="The document states the common shape and how elements are repeated, and leaves "
        "its error conditions open. A later draft of the working group states this one. A "
        "size of 0 against a size of 1 is neither the largest nor 1, as that draft says "
        "too. Later drafts of Add, Sub and Mul admit it.",
    ),
    Broadcastable(),
)
_C1 = Rule(
    "Broadcast.C1",
    72,
    "Xm and Zm have the same type.",
    Source(
        _DOCUMENT,
        "Inputs, Constraints",
        "C1",
        words=Words.OURS,
        remark="The document names the constraint and leaves its statement open; a later draft of "
        "the working group states it.",
    ),
    OwnType(),
)
_RULES = {Family.FLOAT: (E1, _C1), Family.INTEGER: (E1, _C1)}

BROADCAST = Operator(
    name="Broadcast",
    description="""
        `Broadcast`: makes the shapes of any number of tensors equal, explicitly.

        Step 1 prepends axes of size 1 until all ranks are equal; step 2 repeats each axis of size 1
        until all sizes are equal. Output m repeats the elements of input m, and has its type.

        ONNX Runtime 1.32.0 has no operator of this name. Its own operators silently broadcast, and
        accept a size of 0 against a size of 1.
    """,
    domain=DOMAIN,
    operands=(),
    repeated_operand="X",
    result="Z",
    repeated_result=True,
    versions=(1,),
    contracts={Edition.TYPED: _RULES, Edition.PRELIMINARY: _RULES},
)
