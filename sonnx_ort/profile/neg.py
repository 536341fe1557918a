"""`Neg`: each element of a tensor with the other sign.

Results: of integers modulo 2^n, so that the smallest value is its own negative, as the draft of
October 2026 says; there is no rule about elements. Unsigned types ONNX does not take.

ONNX Runtime 1.32.0 gives that in all four signed types. It refuses unsigned ones when a session
starts, and has no kernel for bfloat16.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "Neg",
    521,
    working_group(
        "Neg",
        "The draft of October 2026 says that the smallest integer is its own negative, which is "
        "a result.",
    ),
    operands="X",
    result="Y",
    one_shape=False,
    type_tag="E_NEG_{}_CONSTR_X_0010",
)

NEG = Operator(
    name="Neg",
    operands=("X",),
    versions=(1, 6, 13),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER),
    result="Y",
    oldest_kernels=6,
)
