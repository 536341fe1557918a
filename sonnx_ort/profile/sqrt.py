"""`Sqrt`: the square root of each element of a tensor.

Results: the root, rounded to nearest even; NaN below zero, and -0 of -0, as IEEE 754 says. The
draft has a domain in its section on reals alone; there is no rule about elements.

ONNX Runtime 1.32.0 gives NaN of numbers below zero, without a word, in float16, float and double.
It has no kernel for bfloat16.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "Sqrt",
    561,
    working_group(
        "Sqrt",
        "That X is not negative stands in the section on reals alone; the root of a negative "
        "float is NaN, which is a result.",
    ),
    operands="X",
    result="Y",
    one_shape=False,
)

SQRT = Operator(
    name="Sqrt",
    operands=("X",),
    versions=(1, 6, 13),
    contracts=_RULES.contracts(Family.FLOAT),
    result="Y",
    oldest_kernels=6,
)
