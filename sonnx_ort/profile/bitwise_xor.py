"""`BitwiseXor`: the exclusive disjunction of the bits of two tensors of integers.

Results: bit by bit.

ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one symbol,
in all eight integer types.
"""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "BitwiseXor",
    301,
    by_analogy("BitwiseXor"),
)

BITWISE_XOR = Operator(
    name="BitwiseXor",
    operands=("A", "B"),
    versions=(18,),
    contracts=_RULES.contracts(Family.INTEGER),
    oldest_kernels=18,
)
