"""`Abs`: the absolute value of each element of a tensor.

Results: of floats the element without its sign, infinities and NaN included; of integers the
magnitude, which the smallest value of a signed type has none of in its type.

ONNX Runtime 1.32.0 gives the smallest value of int8, int16, int32 and int64 for itself, which is
negative, without a word. It has no kernel for bfloat16.
"""

import numpy as np

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.interval import WithinInterval
from sonnx_ort.profile.rule import Illustration, Rule

_FIRST_CODE = 501
_OPERANDS = ("X",)

_RULES = CommonRules(
    "Abs",
    _FIRST_CODE,
    working_group("Abs", "The result has the operand's shape by definition."),
    operands="X",
    result="Y",
    one_shape=False,
)

_REPRESENTABLE = Rule(
    "Abs.int.C1",
    _FIRST_CODE + 9,
    "No element of X is the smallest value of a signed type.",
    working_group("Abs", "Its magnitude is beyond the type: ONNX Runtime gives it back."),
    WithinInterval(
        _OPERANDS,
        0,
        lambda dtype: (
            int(np.iinfo(dtype).min) + (dtype.kind == "i"),
            int(np.iinfo(dtype).max),
        ),
        "the smallest value",
        Illustration("X [-127], int8", "X [-128], int8", "widen the type with Cast"),
    ),
    survived=True,
)

ABS = Operator(
    name="Abs",
    operands=_OPERANDS,
    versions=(1, 6, 13),
    contracts=_RULES.contracts(
        Family.FLOAT, Family.INTEGER, further={Family.INTEGER: (_REPRESENTABLE,)}
    ),
    result="Y",
    oldest_kernels=6,
)
