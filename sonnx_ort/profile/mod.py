"""`Mod`: the remainder of a division of two tensors of one shape and type.

Results: without `fmod=1`, the remainder with the sign of the divisor; with it, the one with the
sign of the dividend, as C has it. Before version 28 floats demand `fmod=1`, which ONNX Runtime
looks at in a run. A zero divisor of theirs gives NaN, as do an infinite dividend and NaN; without
`fmod=1` an infinite divisor gives itself where the signs differ.

ONNX Runtime 1.32.0 broadcasts without a word, in every numeric type but bfloat16, which it has no
kernel for; it refuses zero divisors of all integer types, and gives 0 for the smallest value modulo
-1. Versions up to 1.31.1 end the process there at int32 and int64, and with `fmod=1` compute int64
and uint64 by way of double, which is wrong where an operand is beyond 2^53; there is no rule
against that, for no rule knows attributes. Version 1.23 ends the process at a zero divisor too, or
gives a number.
"""

from sonnx_ort.profile.common_rules import CommonRules, by_analogy, own
from sonnx_ort.profile.element_type import Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.requirements.division import NonZeroDivisor, RepresentableQuotient
from sonnx_ort.profile.rule import Rule

_FIRST_CODE = 441

_RULES = CommonRules("Mod", _FIRST_CODE, by_analogy("Mod"))

_DIVISORS = (
    Rule(
        "Mod.int.C1",
        _FIRST_CODE + 9,
        "No element of B is zero.",
        by_analogy("Mod"),
        NonZeroDivisor(),
    ),
    Rule(
        "Mod.int.C2",
        _FIRST_CODE + 10,
        "The smallest value is not taken modulo -1.",
        own(
            "Mod",
            "The remainder is 0, but the quotient is none of the type: versions of ONNX Runtime up "
            "to 1.31.1 end the process at int32 and int64.",
        ),
        RepresentableQuotient(
            deed="take the smallest value modulo -1", outcome="the smallest value modulo -1"
        ),
    ),
)

MOD = Operator(
    name="Mod",
    operands=("A", "B"),
    versions=(10, 13, 28),
    contracts=_RULES.contracts(Family.FLOAT, Family.INTEGER, further={Family.INTEGER: _DIVISORS}),
    broadcasting_since=10,
    rounds_once=False,
    oldest_kernels=10,
)
