"""`Clip`: each element of a tensor, or the bound that it lies beyond.

Results: min(max, max(min, input)), in the operands' type; a NaN of the input is one of the result.

ONNX Runtime 1.32.0 takes bounds of one element of shape (1,) as well, without a word; it refuses
others. A bound that is left out is the largest or smallest finite number, so that infinity does not
stay infinite. It has no kernels for bfloat16 and 16-bit integers. Versions up to 1.31.1 compare
int64 as in Max: 3000000000 between 0 and 100 is 0, but in the last of an odd number of places, and
no rule keeps such numbers out yet. Before version 11 of Clip bounds were attributes.
"""

from sonnx_ort.profile.common_rules import CommonRules, working_group
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.own_rank import OwnRank
from sonnx_ort.profile.rule import Illustration, Rule

_FIRST_CODE = 681
_OPERANDS = ("input", "min", "max")

_RULES = CommonRules(
    "Clip",
    _FIRST_CODE,
    working_group("Clip"),
    operands="input, min and max",
    result="output",
    one_shape=False,
)

_SCALARS = Rule(
    "Clip.C1",
    _FIRST_CODE + 9,
    "The bounds min and max are scalars.",
    working_group("Clip", "The draft says that their shapes are empty."),
    OwnRank(
        0,
        Illustration("min (), max ()", "min (1,), max ()", "take the axis away with Squeeze"),
    ),
    ("min", "max"),
    survived=True,
)

CLIP = Operator(
    name="Clip",
    operands=_OPERANDS,
    versions=(1, 6, 11, 12, 13),
    contracts=_RULES.contracts(
        Family.FLOAT,
        Family.INTEGER,
        further={Family.FLOAT: (_SCALARS,), Family.INTEGER: (_SCALARS,)},
    ),
    result="output",
    oldest_kernels=6,
    optional=("min", "max"),
    by_shape=_OPERANDS,
)
