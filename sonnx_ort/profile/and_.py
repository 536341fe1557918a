"""`And`: the conjunction of two tensors of conditions of one shape.

Results: true and false.

ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one symbol.
"""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "And",
    201,
    by_analogy("And"),
)

AND = Operator(
    name="And",
    operands=("A", "B"),
    versions=(1, 7),
    contracts=_RULES.contracts(Family.BOOLEAN),
)
