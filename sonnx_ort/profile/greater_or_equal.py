"""`GreaterOrEqual`: whether elements of a tensor are at least those of another one.

Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros are equal.

ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one symbol,
in every numeric type but bfloat16, which it has no kernel for.
"""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "GreaterOrEqual",
    401,
    by_analogy("GreaterOrEqual", "The draft of the working group speaks of Less alone."),
    result_type="bool",
)

GREATER_OR_EQUAL = Operator(
    name="GreaterOrEqual",
    operands=("A", "B"),
    versions=(12, 16),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER),
    result_type="bool",
    oldest_kernels=12,
)
