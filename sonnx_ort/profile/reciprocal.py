"""`Reciprocal`: 1 divided by each element of a tensor.

Results: IEEE 754 division, rounded to nearest even: an infinity with the sign of a zero, and a zero
with that of an infinity. There is no rule about elements.

ONNX Runtime 1.32.0 gives these infinities without a word, in float16, float and double. It has no
kernel for bfloat16.
"""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "Reciprocal",
    541,
    by_analogy(
        "Reciprocal",
        "No document and no draft speaks of Reciprocal yet. What floats give for zeros is a "
        "result, as it is of Div.",
    ),
    operands="X",
    result="Y",
    one_shape=False,
)

RECIPROCAL = Operator(
    name="Reciprocal",
    operands=("X",),
    versions=(1, 6, 13),
    contracts=_RULES.contracts(Family.FLOAT),
    result="Y",
    oldest_kernels=6,
)
