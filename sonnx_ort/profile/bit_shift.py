"""`BitShift`: the bits of the elements of one tensor, shifted by those of another of one shape.

Results: with `direction="LEFT"`, x * 2^y modulo 2^n; with "RIGHT", x / 2^y without its fraction.

Of a shift by n or more ONNX says nothing: ONNX Runtime 1.32.0 gives 0, and 1.23 shifts by y modulo
n. Both broadcast without a word; versions up to 1.31.1 have no kernel for uint16.
"""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, own
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.interval import WithinInterval
from sonnx_ort.profile.rule import Illustration, Rule

_FIRST_CODE = 481
_OPERANDS = ("X", "Y")

_RULES = CommonRules(
    "BitShift", _FIRST_CODE, by_analogy("BitShift"), operands="X and Y", result="Z"
)

_NARROW_SHIFT = Rule(
    "BitShift.int.C1",
    _FIRST_CODE + 9,
    "No element of Y is the number of bits of the type or more.",
    own(
        "BitShift",
        "No document says what such a shift gives, and versions of ONNX Runtime give different "
        "results.",
    ),
    WithinInterval(
        _OPERANDS,
        1,
        # The operator takes no signed integers.
        lambda dtype: (0, 8 * dtype.itemsize - 1),
        "the number of bits of the type or more",
        Illustration(
            "X [1], Y [7], both uint8",
            "X [1], Y [8], both uint8",
            "keep wide shifts out, for example with Min, or widen the type with Cast",
        ),
    ),
    survived=True,
)

BIT_SHIFT = Operator(
    name="BitShift",
    operands=_OPERANDS,
    versions=(11,),
    contracts=_RULES.contracts(Family.INTEGER, further={Family.INTEGER: (_NARROW_SHIFT,)}),
    result="Z",
    broadcasting_since=11,
    oldest_kernels=11,
)
