"""`Equal`: whether elements of two tensors of one shape and type are equal.

Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros are equal.

ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one symbol,
in conditions and in every numeric type but bfloat16, which it has no kernel for.
"""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "Equal",
    321,
    by_analogy("Equal"),
    result_type="bool",
)

EQUAL = Operator(
    name="Equal",
    operands=("A", "B"),
    versions=(1, 7, 11, 13, 19),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER, Family.BOOLEAN),
    result_type="bool",
)
