"""`Log`: the natural logarithm of each element of a tensor.

Results: NaN below zero, and negative infinity of zeros. The draft has a domain in its section on
reals alone; there is no rule about elements.

ONNX Runtime 1.32.0 gives these without a word, in float16, float and double; it has no kernel for
bfloat16. The last bit of what it gives depends on the place of the element in the tensor.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "Log",
    581,
    working_group(
        "Log",
        "That X is positive stands in the section on reals alone; of other floats the logarithm "
        "is NaN or negative infinity, which are results.",
    ),
    operands="X",
    result="Y",
    one_shape=False,
)

LOG = Operator(
    name="Log",
    operands=("X",),
    versions=(1, 6, 13),
    contracts=_RULES.contracts(Family.FLOAT),
    result="Y",
    oldest_kernels=6,
    rounds_once=False,
)
