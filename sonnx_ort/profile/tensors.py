"""Cast, Where, MatMul and ArgMax."""

from types import MappingProxyType

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, own, working_group
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import OF_THE_NODE, Contract, Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import (
    AdmittedAttribute,
    Dense,
    SameNumericType,
    flag,
)
from sonnx_ort.profile.requirements.elements import REPRESENTABLE_AS_INTEGER, on_elements
from sonnx_ort.profile.requirements.shapes import OnShapes, axis_not_empty, of_rank
from sonnx_ort.profile.rule import Illustration, Rule
from sonnx_ort.terms.elements import NumberSet
from sonnx_ort.terms.language import Either, Tensor

_CAST_FIRST_CODE = 621

_TYPES = Rule(
    "Cast.R2",
    _CAST_FIRST_CODE,
    "X is of one of the numeric types, or of conditions.",
    own("Cast", "ONNX also converts texts, which no operator of the profile takes."),
    SameNumericType(OF_THE_NODE, tuple(ElementType)),
)

_DENSE = Rule(
    "Cast.RG1",
    _CAST_FIRST_CODE + 1,
    "Sparse tensors are not supported.",
    by_analogy("Cast"),
    Dense(),
)

_HELD = Rule(
    "Cast.float.C1",
    _CAST_FIRST_CODE + 9,
    "Where X is converted to integers, no element is NaN or beyond their type.",
    own(
        "Cast",
        "ONNX leaves the result undefined, and it differs from machine to machine.",
    ),
    REPRESENTABLE_AS_INTEGER,
    survived=True,
)

_CONTRACT: Contract = MappingProxyType(
    {
        Family.FLOAT: (_TYPES, _DENSE, _HELD),
        Family.INTEGER: (_TYPES, _DENSE),
        Family.BOOLEAN: (_TYPES, _DENSE),
    }
)

CAST = Operator(
    name="Cast",
    description="""
        `Cast`: each element of a tensor in another type, which the attribute `to` names.

        Results: of floats to integers the number without its fraction; of integers to narrower ones
        the number modulo 2^n; to floats the nearest one; to conditions whether it is not zero.
        Version 28 also allows floats of six bits, which are not types of the profile: X has none of
        them.

        ONNX leaves the result undefined for a float that the integer type cannot represent. ONNX
        Runtime 1.32.0 silently gives a number that depends on type and machine. On x86-64, for
        float and double: for NaN and for infinity the smallest value of int32 and int64, and 0 in
        the types of 8 and 16 bits; in uint64 9223372036854775808 for NaN, and 0 for infinity; in
        uint32 0 for infinity, and for NaN 0 or 2147483648, by its place in the tensor. Of a number
        that int32 can represent, it keeps the lower bits: 44 in uint8 for 300. It also reads
        numbers from strings. It converts wider types to float16 through float, rounding twice:
        2049.0000001 in double becomes 2048.
    """,
    operands=("X",),
    versions=(1, 6, 9, 13, 19, 21, 23, 24, 25, 28),
    contracts=dict.fromkeys(Edition, _CONTRACT),
    result="Y",
    result_type=OF_THE_NODE,
    oldest_kernels=6,
)


WHERE = CommonRules(
    "Where",
    421,
    working_group("Where"),
    operands="condition, X and Y",
    result="output",
    typed=("X", "Y"),
    shape_at="Inputs, condition, Constraints [C1]",
    type_at="Inputs, condition, Constraints [C2]",
).operator(
    Family.FLOAT,
    Family.INTEGER,
    description="""
        `Where`: the elements of one of two tensors, as a tensor of conditions says.

        Results: X where the condition is true, Y where it is false.

        ONNX Runtime 1.32.0 silently broadcasts all three to each other, and gives +0 for a -0 of X.
        It has no kernels for bool, bfloat16, 16-bit integers and uint64.
    """,
    versions=(9, 16),
    operand_types={"condition": "bool"},
    broadcasting_since=9,
    rounds_once=False,
    oldest_kernels=9,
)


_MAT_MUL_FIRST_CODE = 641
_MAT_MUL_OPERANDS = ("A", "B")


_MATRICES = Rule(
    "MatMul.C1",
    _MAT_MUL_FIRST_CODE + 9,
    "A and B are of rank 2.",
    working_group(
        "MatMul",
        "The draft states it of both inputs, also as R1; ONNX takes stacks of matrices.",
        at="Inputs, A, Constraints [C1]",
    ),
    of_rank(
        2,
        Illustration(
            "A (2, 3), B (3, 4)",
            "A (5, 2, 3), B (3, 4)",
            "multiply each matrix of a stack separately, or fold the stack into rows with Reshape",
        ),
    ),
)

_A, _B = map(Tensor, _MAT_MUL_OPERANDS)

_INNER_SIZES = Rule(
    "MatMul.C2",
    _MAT_MUL_FIRST_CODE + 10,
    "A has as many columns as B has rows.",
    working_group(
        "MatMul", "The draft states it of both inputs.", at="Inputs, A, Constraints [C2]"
    ),
    OnShapes(
        _MAT_MUL_OPERANDS,
        lambda _: Either((_A.size(-1) == _B.size(-2), _B.rank == 1)),
        Illustration("A (2, 3), B (3, 4)", "A (2, 3), B (4, 4)", "correct the shapes"),
        held=True,
    ),
)

MAT_MUL = CommonRules(
    "MatMul",
    _MAT_MUL_FIRST_CODE,
    working_group("MatMul"),
    operands="A and B",
    result="Y",
    one_shape=False,
    type_at="Signature",
).operator(
    Family.FLOAT,
    Family.INTEGER,
    further=dict.fromkeys((Family.FLOAT, Family.INTEGER), (_MATRICES, _INNER_SIZES)),
    description="""
        `MatMul`: the product of two matrices.

        Results: the sums of products in the operands' type, modulo 2^n for integers. The order in
        which floats are summed and the number of roundings depend on the implementation.

        ONNX Runtime 1.32.0 accepts tensors of any rank from 1 on: it silently broadcasts stacks of
        matrices to each other, and takes a vector for a row or a column. It checks that A has as
        many columns as B has rows. Version 1.23 ends the process (SIGSEGV) at scalars whose rank is
        not declared, which this one rejects. It has no kernel for bfloat16, and ONNX allows no
        integers of 8 and 16 bits.
    """,
    versions=(1, 9, 13),
    rounds_once=False,
    oldest_kernels=1,
    elementwise=False,
    by_shape=_MAT_MUL_OPERANDS,
)


_ARG_MAX_FIRST_CODE = 701


_FROM_THE_FRONT = Rule(
    "ArgMax.R4",
    _ARG_MAX_FIRST_CODE + 8,
    "The attribute axis is not negative.",
    working_group("ArgMax", "The draft calls it transient.", at="Restrictions [R4]"),
    AdmittedAttribute(
        ("axis",),
        0,
        lambda axis: axis >= 0,
        Illustration("axis=1", "axis=-1", "count the axis from the front"),
    ),
)

_NOT_EMPTY = Rule(
    "ArgMax.R5",
    _ARG_MAX_FIRST_CODE + 9,
    "X has the axis, and the axis is not empty.",
    working_group(
        "ArgMax",
        "The draft states it of X too, as C2, and that there is such an axis, as C1.",
        at="Restrictions [R5]",
    ),
    axis_not_empty(
        "X", Illustration("X (2, 3), axis 1", "X (2, 0), axis 1", "keep empty tensors out")
    ),
    survived=True,
)

_NUMBERS = Rule(
    "ArgMax.float.C1",
    _ARG_MAX_FIRST_CODE + 10,
    "No element of X is NaN.",
    own(
        "ArgMax",
        "The draft gives the place of the first NaN, or of the last one with select_last_index. "
        "ONNX Runtime gives another place: 2 of [1, NaN, 3].",
    ),
    on_elements(
        "X",
        NumberSet("NaN", admits_nan=False),
        Illustration(
            "X [1.0, inf, 3.0], float",
            "X [1.0, NaN, 3.0], float",
            "replace NaN by a number, for example with IsNaN and Where",
        ),
    ),
    survived=True,
)

_FLAGS = tuple(
    Rule(
        f"ArgMax.{name}.C1",
        _ARG_MAX_FIRST_CODE + 11 + number,
        f"The attribute {name} is 0 or 1.",
        working_group("ArgMax", "Its value domain.", at=f"Attributes, {name}, Constraints [C1]"),
        flag(name, assumed),
        survived=True,
        since=since,
    )
    for number, (name, assumed, since) in enumerate(
        (("keepdims", 1, 1), ("select_last_index", 0, 12))
    )
)

_FURTHER = (_FROM_THE_FRONT, _NOT_EMPTY, *_FLAGS)

ARG_MAX = CommonRules(
    "ArgMax",
    _ARG_MAX_FIRST_CODE,
    working_group("ArgMax", "The draft states the type of Y, and lists those of X."),
    operands="X",
    result="Y",
    result_type="int64",
    one_shape=False,
    type_at="Outputs, Y, Constraints [C1]",
).operator(
    Family.FLOAT,
    Family.INTEGER,
    further={Family.FLOAT: (*_FURTHER, _NUMBERS), Family.INTEGER: _FURTHER},
    description="""
        `ArgMax`: the places of the largest elements along an axis, which the attribute `axis`
        names.

        Results: int64; of several largest ones the place of the first, or of the last where
        `select_last_index` is 1.

        ONNX Runtime 1.32.0 rejects an empty axis with an error of its own. It skips a NaN, except
        in the first place, so its result differs from that of the draft, the place of the first
        NaN; versions up to 1.31.1 do so only for matrices. It has kernels for float16, float,
        double, int8, int32, int64 and uint8.
    """,
    versions=(1, 11, 12, 13),
    oldest_kernels=1,
    elementwise=False,
)
