"""`Max`: the largest of the elements of any number of tensors at each place.

Results: NaN where an operand is NaN, else the largest element.

The draft of the working group demands that 0 is larger than -0. ONNX Runtime gives either of them,
by the place of the element in the tensor and the length of the tensor, and no guard in front can
change that; both are zeros.

ONNX Runtime 1.32.0 broadcasts without a word. It has no kernels for bfloat16 and 16-bit integers.
Of int64 versions up to 1.31.1 compare the lower halves as signed numbers where the upper ones are
equal: Max(3000000000, 0) is 0 there, but not in the last place of a tensor with an odd
number of elements. `Max.int.C1` keeps such numbers out, for these versions are supported. Other
integers all compare rightly, also uint64.
"""

from sonnx_ort.profile.common_rules import CommonRules, own, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.within_int32 import WithinInt32
from sonnx_ort.profile.rule import Rule

_RULES = CommonRules(
    "Max",
    141,
    working_group(
        "Max",
        'The draft broadcasts the operands, in the open: as broadcast="explicit" does.',
    ),
    operands="data_0 to data_n",
    result="max",
)

_C1 = Rule(
    "Max.int.C1",
    150,
    "No element of type int64 is beyond what int32 can hold.",
    own("Max", "ONNX Runtime compares such numbers wrongly in versions up to 1.31.1."),
    WithinInt32(),
    survived=True,
)

MAX = Operator(
    name="Max",
    operands=(),
    versions=(1, 6, 8, 12, 13),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER, further={Family.INTEGER: (_C1,)}),
    repeated_operand="data_",
    result="max",
    broadcasting_since=8,
    rounds_once=False,
    oldest_kernels=6,
)
