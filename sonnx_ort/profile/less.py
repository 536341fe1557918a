"""`Less`: whether elements of a tensor are less than those of another one.

Results: conditions. NaN is neither equal to, less nor greater than anything; both zeros are equal.

ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one symbol,
in every numeric type but bfloat16, which it has no kernel for.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "Less",
    341,
    working_group("Less"),
    result_type="bool",
)

LESS = Operator(
    name="Less",
    operands=("A", "B"),
    versions=(1, 7, 9, 13),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER),
    result_type="bool",
)
