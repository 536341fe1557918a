"""Which signs of zeros the documents decide, and where they say so.

A document that computes "according to IEEE 754" decides them: by its own words, or by those of the
standard. `notations.md` of the working group lets a 0 without a sign stand for either zero. Sums of
products start from any summand or from 0, of which a zero may have either sign.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class Signs(enum.StrEnum):
    """Which signs of zeros of a result are decided."""

    DECIDED = "decided"
    """Each zero has one sign. An admitted error may reach over 0, and with it over both zeros."""

    PASSED_ON = "decided for elements that are passed on"
    """An element of an operand keeps its sign; a zero that is computed may have either."""

    OPEN = "open"
    """A zero may have either sign."""


@dataclass(frozen=True, slots=True)
class SignsOfZeros:
    """Which signs of zeros the results of an operator have, and who says so."""

    signs: Signs
    source: str

    def __str__(self) -> str:
        """Both as a clause."""
        return f"{self.signs}: {self.source}"


def _decided(source: str) -> SignsOfZeros:
    return SignsOfZeros(Signs.DECIDED, source)


def _open(source: str) -> SignsOfZeros:
    return SignsOfZeros(Signs.OPEN, source)


_BY_IEEE_754 = _decided("the draft refers to IEEE 754, whose 6.3 has the signs of results")
_POSITIVE = _decided(
    "the draft refers to IEEE 754: a positive number that is too small rounds to +0"
)
_OVER_THE_REALS = _open("ONNX has the function over the reals, where 0 has no sign")
_SUM = _open("a sum may start from 0 or from its first summand, which no document says")

SIGNS_OF_ZEROS: Mapping[str, SignsOfZeros] = {
    "Abs": _decided("the draft gives +0 of both zeros"),
    "Acos": _open("the draft rounds the real arccosine, and 0 has no sign over the reals"),
    "Add": _BY_IEEE_754,
    "BatchNormalization": _open(
        "the draft leaves the order of scaling, shifting and subtracting open"
    ),
    "Cast": _decided("IEEE 754-2019, 5.4 and 6.3: a conversion keeps the sign (ours)"),
    "Clip": _decided("the draft gives X, L or M as it is, compared as IEEE 754 does"),
    "Conv": _SUM,
    "DequantizeLinear": _decided("the draft has the multiplication of IEEE 754, 6.3"),
    "Div": _decided("the draft has the sign by the rules of IEEE 754, 6.3"),
    "Erf": _OVER_THE_REALS,
    "Exp": _POSITIVE,
    "GRU": _SUM,
    "Gemm": _SUM,
    "HardSwish": _OVER_THE_REALS,
    "LSTM": _SUM,
    "LeakyRelu": SignsOfZeros(
        Signs.PASSED_ON,
        "the draft gives X as it is from -0 on; it does not say the sign of a product that is 0",
    ),
    "Log": _decided("the draft refers to IEEE 754, whose 9.2.1 gives +0 of 1"),
    "MatMul": _SUM,
    "Max": _decided("the draft orders 0 above -0"),
    "MaxPool": SignsOfZeros(
        Signs.PASSED_ON, "the draft does not say which of 0 and -0 is the largest in a window"
    ),
    "Min": _decided("-0 is below 0, as the draft of Max orders them (ours)"),
    "Mod": _open("ONNX does not say the sign of a remainder that is 0"),
    "Mul": _BY_IEEE_754,
    "Neg": _decided("the draft has the opposite sign, of zeros too"),
    "PRelu": SignsOfZeros(Signs.PASSED_ON, "as LeakyRelu (ours)"),
    "Pow": _decided("the draft lists the results that are +0 and -0"),
    "Range": _open("the draft has the sum over the reals, where 0 has no sign"),
    "Reciprocal": _decided("as Div (ours)"),
    "Relu": SignsOfZeros(
        Signs.PASSED_ON,
        "the draft gives X as it is from -0 on, and 0 below: either zero, by notations.md",
    ),
    "Sigmoid": _POSITIVE,
    "Sin": _decided("the draft gives a zero as it is"),
    "Softmax": _open("the draft gives 0 for -inf: either zero, by notations.md"),
    "Softplus": _OVER_THE_REALS,
    "Sqrt": _decided("the draft gives -0 of -0"),
    "Sub": _BY_IEEE_754,
    "Tanh": _open("the formula of the draft gives 0 over the reals, where it has no sign"),
    "Where": _decided("the draft gives X or Y as it is"),
}
"""The operators that have a meaning, and give floats that they do not only move."""


OF_MOVED = _decided("the elements keep their bits")
"""Of operators that only move elements."""

OF_BALLS = _open("no document of SONNX has the operator, and enclosures have no signs")
"""Of operators that are followed by balls alone, and of operands that are balls."""
