"""`ArgMax`: the places of the largest elements along an axis, which the attribute `axis` names.

Results: int64; of several largest ones the place of the first, or of the last where
`select_last_index` is 1.

ONNX Runtime 1.32.0 refuses an axis that holds nothing, in words of its own; of an axis with a NaN
it gives some place, where the draft says that of the first NaN. It has kernels for float16, float,
double, int8, int32, int64 and uint8.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.attribute import AdmittedAttribute
from sonnx_ort.profile.requirements.axis_not_empty import AxisNotEmpty
from sonnx_ort.profile.rule import Illustration, Rule

_FIRST_CODE = 701

_RULES = CommonRules(
    "ArgMax",
    _FIRST_CODE,
    working_group("ArgMax"),
    operands="X",
    result="Y",
    result_type="int64",
    one_shape=False,
)

_FROM_THE_FRONT = Rule(
    "ArgMax.R4",
    _FIRST_CODE + 8,
    "The attribute axis is not negative.",
    working_group("ArgMax"),
    AdmittedAttribute(
        ("axis",),
        0,
        lambda axis: axis >= 0,
        Illustration("axis=1", "axis=-1", "count the axis from the front"),
    ),
)

_NOT_EMPTY = Rule(
    "ArgMax.R5",
    _FIRST_CODE + 9,
    "X holds something along the axis.",
    working_group("ArgMax"),
    AxisNotEmpty(),
    survived=True,
)

_FURTHER = (_FROM_THE_FRONT, _NOT_EMPTY)

ARG_MAX = Operator(
    name="ArgMax",
    operands=("X",),
    versions=(1, 11, 12, 13),
    contracts=_RULES.contracts(
        Family.FLOAT,
        Family.INTEGER,
        further={Family.FLOAT: _FURTHER, Family.INTEGER: _FURTHER},
    ),
    result="Y",
    result_type="int64",
    oldest_kernels=1,
    by_shape=("X",),
)
