"""Equal, Less, LessOrEqual, Greater and GreaterOrEqual."""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_EQUAL_RULES = CommonRules(
    "Equal",
    321,
    by_analogy("Equal"),
    result_type="bool",
)

EQUAL = Operator(
    name="Equal",
    description="""
        `Equal`: whether elements of two tensors of one shape and type are equal.

        Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros are
        equal.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol, in conditions and in every numeric type but bfloat16, which it has no kernel for.
    """,
    operands=("A", "B"),
    versions=(1, 7, 11, 13, 19),
    contracts=_EQUAL_RULES.contracts(Family.FLOAT, Family.INTEGER, Family.BOOLEAN),
    result_type="bool",
)


_LESS_RULES = CommonRules(
    "Less",
    341,
    working_group("Less"),
    result_type="bool",
)

LESS = Operator(
    name="Less",
    description="""
        `Less`: whether elements of a tensor are less than those of another one.

        Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros are
        equal.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol, in every numeric type but bfloat16, which it has no kernel for.
    """,
    operands=("A", "B"),
    versions=(1, 7, 9, 13),
    contracts=_LESS_RULES.contracts(Family.FLOAT, Family.INTEGER),
    result_type="bool",
)


_LESS_OR_EQUAL_RULES = CommonRules(
    "LessOrEqual",
    361,
    by_analogy("LessOrEqual", "The draft of the working group speaks of Less alone."),
    result_type="bool",
)

LESS_OR_EQUAL = Operator(
    name="LessOrEqual",
    description="""
        `LessOrEqual`: whether elements of a tensor are at most those of another one.

        Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros are
        equal.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol, in every numeric type but bfloat16, which it has no kernel for.
    """,
    operands=("A", "B"),
    versions=(12, 16),
    contracts=_LESS_OR_EQUAL_RULES.contracts(Family.FLOAT, Family.INTEGER),
    result_type="bool",
    oldest_kernels=12,
)


_GREATER_RULES = CommonRules(
    "Greater",
    381,
    by_analogy("Greater", "The draft of the working group speaks of Less alone."),
    result_type="bool",
)

GREATER = Operator(
    name="Greater",
    description="""
        `Greater`: whether elements of a tensor are greater than those of another one.

        Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros are
        equal.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol, in every numeric type but bfloat16, which it has no kernel for.
    """,
    operands=("A", "B"),
    versions=(1, 7, 9, 13),
    contracts=_GREATER_RULES.contracts(Family.FLOAT, Family.INTEGER),
    result_type="bool",
)


_GREATER_OR_EQUAL_RULES = CommonRules(
    "GreaterOrEqual",
    401,
    by_analogy("GreaterOrEqual", "The draft of the working group speaks of Less alone."),
    result_type="bool",
)

GREATER_OR_EQUAL = Operator(
    name="GreaterOrEqual",
    description="""
        `GreaterOrEqual`: whether elements of a tensor are at least those of another one.

        Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros are
        equal.

        ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one
        symbol, in every numeric type but bfloat16, which it has no kernel for.
    """,
    operands=("A", "B"),
    versions=(12, 16),
    contracts=_GREATER_OR_EQUAL_RULES.contracts(Family.FLOAT, Family.INTEGER),
    result_type="bool",
    oldest_kernels=12,
)
