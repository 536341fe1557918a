"""`Pow`: the elements of one tensor to the powers of those of another of one shape and type.

Results: the power in the operands' type. Floats follow IEEE 754: a negative base with an exponent
that is no integer gives NaN, and 0 to a negative power an infinity.

ONNX Runtime 1.32.0 broadcasts without a word, and takes operands of two types. Integers it computes
by way of double: a power beyond the type is the type's smallest value, without a word, as 0 to a
negative power is; and int64 is not exact beyond 2^53. Where the exponent is one element, 2 or
3, it multiplies instead, and the last bits differ. It has kernels for float16, float, double, int32
and int64.
"""

import numpy as np

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.interval import WithinInterval
from sonnx_ort.profile.rule import Illustration, Rule

_FIRST_CODE = 461
_OPERANDS = ("X", "Y")

_RULES = CommonRules(
    "Pow",
    _FIRST_CODE,
    working_group(
        "Pow",
        'ONNX broadcasts, which broadcast="explicit" writes out, and takes operands of two types.',
    ),
    operands="X and Y",
    result="Z",
)

_NOT_NEGATIVE = Rule(
    "Pow.int.C1",
    _FIRST_CODE + 9,
    "No element of Y is negative.",
    working_group(
        "Pow",
        "What a power beyond the type is depends on the implementation, by the draft: ONNX Runtime "
        "gives the smallest value of the type, and computes int64 by way of double.",
    ),
    WithinInterval(
        _OPERANDS,
        1,
        # ONNX takes an exponent of another type, which another rule speaks of.
        lambda dtype: (0, int(np.iinfo(dtype).max) if dtype.kind in "iu" else np.inf),
        "negative",
        Illustration(
            "X [2, 3], Y [3, 0], both int32",
            "X [2, 0], Y [3, -1], both int32",
            "keep negative exponents out, for example with Max, or compute with floats",
        ),
    ),
    survived=True,
)

POW = Operator(
    name="Pow",
    operands=_OPERANDS,
    versions=(1, 7, 12, 13, 15),
    contracts=_RULES.contracts(
        Family.FLOAT, Family.INTEGER, further={Family.INTEGER: (_NOT_NEGATIVE,)}
    ),
    result="Z",
    rounds_once=False,
    single=("Y",),
)
