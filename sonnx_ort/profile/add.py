"""`Add`: the sum of two tensors of one shape and type.

Results: IEEE 754 addition for floats, rounded to nearest even; modulo 2^n for integers.

ONNX Runtime 1.32.0 broadcasts without a word, also two inputs that are declared with one symbol,
in every numeric type but bfloat16, which it has no kernel for.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator

_RULES = CommonRules(
    "Add",
    101,
    working_group(
        "Add",
        "The draft of October 2026 admits shapes that can be broadcast to a common one; "
        'broadcast="explicit" writes that out, and satisfies both.',
    ),
    shape_tag="E_ADD_{}_CONSTR_A_0010",
    type_tag="E_ADD_{}_CONSTR_A_0020",
)

ADD = Operator(
    name="Add",
    operands=("A", "B"),
    versions=(1, 6, 7, 13, 14),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER),
)
