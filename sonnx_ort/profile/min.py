"""`Min`: the smallest of the elements of any number of tensors at each place.

Results: NaN where an operand is NaN, else the smallest element.

The draft of the working group demands that 0 is larger than -0. ONNX Runtime gives either of them,
by the place of the element in the tensor and the length of the tensor, and no guard in front can
change that; both are zeros.

ONNX Runtime 1.32.0 broadcasts without a word. It has no kernels for bfloat16 and 16-bit integers.
Of int64 versions up to 1.31.1 compare the lower halves as signed numbers where the upper ones are
equal: Min(3000000000, 0) is 3000000000 there, but not in the last place of a tensor with an odd
number of elements. `Min.int.C1` keeps such numbers out, for these versions are supported. Other
integers all compare rightly, also uint64.
"""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, own
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.within_int32 import WithinInt32
from sonnx_ort.profile.rule import Rule

_RULES = CommonRules(
    "Min",
    161,
    by_analogy("Min", "The draft of the working group speaks of Max, not of Min."),
    operands="data_0 to data_n",
    result="min",
)

_C1 = Rule(
    "Min.int.C1",
    170,
    "No element of type int64 is beyond what int32 can hold.",
    own("Min", "ONNX Runtime compares such numbers wrongly in versions up to 1.31.1."),
    WithinInt32(),
    survived=True,
)

MIN = Operator(
    name="Min",
    operands=(),
    versions=(1, 6, 8, 12, 13),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER, further={Family.INTEGER: (_C1,)}),
    repeated_operand="data_",
    result="min",
    broadcasting_since=8,
    rounds_once=False,
    oldest_kernels=6,
)
