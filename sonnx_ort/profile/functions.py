"""Abs, Neg, Reciprocal, Sqrt, Log, Acos, Pow and Clip."""

import math

from sonnx_ort.profile.common_rules import CommonRules, of_one_operand
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import admitted
from sonnx_ort.profile.requirements.elements import NumbersUnderCrossedBounds, on_elements
from sonnx_ort.profile.requirements.exact_powers import ExactPower
from sonnx_ort.profile.requirements.quotients import NOT_SMALLEST
from sonnx_ort.profile.requirements.shapes import of_rank
from sonnx_ort.profile.rule import Rule
from sonnx_ort.terms.numbers import NumberSet

_abs = of_one_operand("Abs", 501, added=(), survived=True)

ABS = _abs.operator(
    rules=[_abs("int.C1", 9).states(on_elements("X", NOT_SMALLEST))],
    versions=(1, 6, 13),
    oldest_kernels=6,
)


NEG = of_one_operand("Neg", 521).operator(versions=(1, 6, 13), oldest_kernels=6)


RECIPROCAL = of_one_operand("Reciprocal", 541, has_draft=False).operator(
    Family.FLOAT, versions=(1, 6, 13), oldest_kernels=6
)


SQRT = of_one_operand("Sqrt", 561).operator(Family.FLOAT, versions=(1, 6, 13), oldest_kernels=6)


LOG = of_one_operand("Log", 581).operator(
    Family.FLOAT, versions=(1, 6, 13), oldest_kernels=6, rounds_once=False
)


_acos = of_one_operand("Acos", 601, survived=True)

ACOS = _acos.operator(
    Family.FLOAT,
    rules=[
        _acos("float.C1", 9).states(
            on_elements("X", NumberSet("below -1 or above 1", lambda _: (-1, 1)))
        )
    ],
    versions=(7, 22),
    rounds_once=False,
)


_pow = CommonRules("Pow", 461, operands="X and Y", result="Z")

POW = _pow.operator(
    rules=[
        _pow("int.C1", 9).states(
            on_elements("Y", NumberSet("negative", lambda _: (0, math.inf)), operands=("X", "Y")),
            survived=True,
        ),
        _pow("int.C2", 10).states(ExactPower(), survived=True),
    ],
    versions=(1, 7, 12, 13, 15),
    rounds_once=False,
    single=("Y",),
)


_clip = CommonRules("Clip", 681, operands="input, min and max", result="output", one_shape=False)


def _no_nan(offset: int, bound: str) -> Rule:
    """The rule that a bound which is an attribute, as before version 11, is a number."""
    return _clip(f"{bound}.C2", offset).states(
        admitted(bound, None, lambda value: not math.isnan(value)), until=10
    )


_SCALARS = _clip("C1", 9).states(of_rank(0), *("min", "max"), survived=True)

_CROSSED = _clip("float.C3", 14).states(NumbersUnderCrossedBounds(), survived=True, since=11)

_CLIP_CONTRACT = {
    Family.FLOAT: (
        *_clip.common(Family.FLOAT),
        *(_SCALARS, _CROSSED, _no_nan(12, "min"), _no_nan(13, "max")),
    ),
    Family.INTEGER: (*_clip.common(Family.INTEGER), _SCALARS),
}

CLIP = _clip.operator(
    contracts=dict.fromkeys(Edition, _CLIP_CONTRACT),
    versions=(1, 6, 11, 12, 13),
    oldest_kernels=6,
    float16_defaults=12,
    optional=("min", "max"),
    elementwise=False,
)
