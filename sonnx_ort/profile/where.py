"""`Where`: the elements of one of two tensors, as a tensor of conditions says.

Results: X where the condition is true, Y where it is false.

ONNX Runtime 1.32.0 broadcasts all three to each other without a word, and gives +0 for a -0 of X.
It has no kernels for bool, bfloat16, 16-bit integers and uint64.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "Where",
    421,
    working_group("Where"),
    operands="condition, X and Y",
    result="output",
    typed=("X", "Y"),
)

WHERE = Operator(
    name="Where",
    operands=("condition", "X", "Y"),
    versions=(9, 16),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER),
    operand_types={"condition": "bool"},
    result="output",
    broadcasting_since=9,
    rounds_once=False,
    oldest_kernels=9,
)
