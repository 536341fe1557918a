"""And, Or and Xor; BitwiseAnd, BitwiseOr, BitwiseXor and BitShift."""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, own
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.elements import WithinInterval
from sonnx_ort.profile.rule import Illustration, Rule

_AND_RULES = CommonRules(
    "And",
    201,
    by_analogy("And"),
)

AND = Operator(
    name="And",
    description="""
        `And`: the conjunction of two tensors of conditions of one shape.

        Results: true and false.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol.
    """,
    operands=("A", "B"),
    versions=(1, 7),
    contracts=_AND_RULES.contracts(Family.BOOLEAN),
)


_OR_RULES = CommonRules(
    "Or",
    221,
    by_analogy("Or"),
)

OR = Operator(
    name="Or",
    description="""
        `Or`: the disjunction of two tensors of conditions of one shape.

        Results: true and false.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol.
    """,
    operands=("A", "B"),
    versions=(1, 7),
    contracts=_OR_RULES.contracts(Family.BOOLEAN),
)


_XOR_RULES = CommonRules(
    "Xor",
    241,
    by_analogy("Xor"),
)

XOR = Operator(
    name="Xor",
    description="""
        `Xor`: the exclusive disjunction of two tensors of conditions of one shape.

        Results: true and false.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol.
    """,
    operands=("A", "B"),
    versions=(1, 7),
    contracts=_XOR_RULES.contracts(Family.BOOLEAN),
)


_BITWISE_AND_RULES = CommonRules(
    "BitwiseAnd",
    261,
    by_analogy("BitwiseAnd"),
)

BITWISE_AND = Operator(
    name="BitwiseAnd",
    description="""
        `BitwiseAnd`: the conjunction of the bits of two tensors of integers.

        Results: bit by bit.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol, in all eight integer types.
    """,
    operands=("A", "B"),
    versions=(18,),
    contracts=_BITWISE_AND_RULES.contracts(Family.INTEGER),
    oldest_kernels=18,
)


_BITWISE_OR_RULES = CommonRules(
    "BitwiseOr",
    281,
    by_analogy("BitwiseOr"),
)

BITWISE_OR = Operator(
    name="BitwiseOr",
    description="""
        `BitwiseOr`: the disjunction of the bits of two tensors of integers.

        Results: bit by bit.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol, in all eight integer types.
    """,
    operands=("A", "B"),
    versions=(18,),
    contracts=_BITWISE_OR_RULES.contracts(Family.INTEGER),
    oldest_kernels=18,
)


_BITWISE_XOR_RULES = CommonRules(
    "BitwiseXor",
    301,
    by_analogy("BitwiseXor"),
)

BITWISE_XOR = Operator(
    name="BitwiseXor",
    description="""
        `BitwiseXor`: the exclusive disjunction of the bits of two tensors of integers.

        Results: bit by bit.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol, in all eight integer types.
    """,
    operands=("A", "B"),
    versions=(18,),
    contracts=_BITWISE_XOR_RULES.contracts(Family.INTEGER),
    oldest_kernels=18,
)


_BIT_SHIFT_FIRST_CODE = 481
_BIT_SHIFT_OPERANDS = ("X", "Y")

_BIT_SHIFT_RULES = CommonRules(
    "BitShift", _BIT_SHIFT_FIRST_CODE, by_analogy("BitShift"), operands="X and Y", result="Z"
)

_NARROW_SHIFT = Rule(
    "BitShift.int.C1",
    _BIT_SHIFT_FIRST_CODE + 9,
    "No element of Y is negative, or the number of bits of the type or more.",
    own(
        "BitShift",
        "ONNX says from version 28 on alone what such a shift gives, and versions of ONNX Runtime "
        "give different results.",
    ),
    WithinInterval(
        _BIT_SHIFT_OPERANDS,
        1,
        lambda dtype: (0, 8 * dtype.itemsize - 1),
        "negative, or the number of bits of the type or more",
        Illustration(
            "X [1], Y [7], both uint8",
            "X [1], Y [8], both uint8",
            "keep wide shifts out, for example with Min, or widen the type with Cast",
        ),
    ),
    survived=True,
)

BIT_SHIFT = Operator(
    name="BitShift",
    description="""
        `BitShift`: the bits of the elements of one tensor, shifted by those of another of one
        shape.

        Results: with `direction="LEFT"`, x * 2^y modulo 2^n; with "RIGHT", the largest integer that
        is not above x / 2^y. Version 28 takes signed integers too; a shift to the right keeps their
        sign.

        Of a shift by n or more ONNX says nothing before version 28: ONNX Runtime 1.32.0 gives 0,
        and 1.23 shifts by y modulo n. Both broadcast without a word; versions up to 1.31.1 have no
        kernel for uint16. In version 28 such a shift, and one by a negative number, gives what is
        left of the sign: -1 of a negative number to the right, else 0. So does ONNX Runtime 1.32.0
        in all types. The rule holds there too: C leaves such shifts undefined, and versions do not
        agree on them.
    """,
    operands=_BIT_SHIFT_OPERANDS,
    versions=(11, 28),
    contracts=_BIT_SHIFT_RULES.contracts(
        Family.INTEGER, further={Family.INTEGER: (_NARROW_SHIFT,)}
    ),
    result="Z",
    broadcasting_since=11,
    oldest_kernels=11,
)
