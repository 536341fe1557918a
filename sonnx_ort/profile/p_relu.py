"""`PRelu`: the elements of a tensor, those below zero times a slope.

Results: x where x is at least 0, slope * x where it is less, in the tensor's type.

ONNX says that the slope can be broadcast to X; ONNX Runtime 1.32.0 broadcasts X to the slope too,
without a word. It has kernels for float16 and float; in versions 16 to 18 it makes Less, Mul and
Where of PRelu in all types but float, which lose the sign of zeros.
"""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "PRelu",
    181,
    by_analogy("PRelu"),
    operands="X and slope",
    result="Y",
)

P_RELU = Operator(
    name="PRelu",
    operands=("X", "slope"),
    versions=(1, 6, 7, 9, 16),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER),
    result="Y",
    rounds_once=False,
)
