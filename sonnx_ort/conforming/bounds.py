"""Bounds: how far results may be from those of ONNX Runtime after a change that rounds.

A bound is data, which `conform` shows and the tests try at extremes. It holds for the kernels of
ONNX Runtime 1.32 without optimizations, and of older versions where these compute the same.
"""

import enum
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sonnx_ort.facts.decimals import at_least, at_most
from sonnx_ort.facts.node import IEEE_FLOATS

MEASURED_DEVIATION = "sonnx_ort.measured_deviation"
"""The key of a model's metadata that says how far its outputs are from those of the original.

The value is of JSON: the runs, and of each output the largest deviation, or why none was measured.
"""


class Reference(enum.StrEnum):
    """What the units of a bound are units in the last place of."""

    RESULT = "each result"
    """The element of the result itself."""

    ONE = "each result, or of 1 if that is larger"
    """Differences of numbers around 1 are rounded in parts of 1."""

    OPERAND = "each operand"
    """The element from which the result is computed."""

    LARGEST = "the largest result"
    """The element of the result with the largest magnitude."""

    TERMS = "the sum of the magnitudes that are added"
    """A sum may be small because its terms cancel."""

    SPREAD = "the largest result or scale, times the largest operand in standard deviations"
    """A mean is rounded in parts of the operand; what is left is divided by the deviation."""

    INTEGER = "1"
    """A number that is rounded to an integer may become the next one."""


class Inputs(enum.StrEnum):
    """For which inputs a bound holds."""

    ALL = "every input"
    """Also NaN and infinity, which are where those of the original are."""

    NUMBERS = "inputs without NaN"
    """Also infinity."""

    FINITE = "finite inputs of which no step overflows or underflows"
    """Where a step does, one model may have a number and the other one infinity, NaN or 0."""


@dataclass(frozen=True, slots=True)
class Bound:
    """How far a result may be from that of the original node.

    Attributes:
        units: The number of units in the last place of the result's type; 0 if numbers are equal,
            of which a zero may have the other sign.
        of: What they are units of.
        inputs: The inputs for which it holds.
        each: What there may be several of, each with so many units: "term" or "step"; otherwise
            empty.
        largest: The largest magnitude of inputs for which it holds.
        computed_in: The type in which a kernel computes, if the result's may be wider: then the
            units are those of this one.
        remark: What else differs, as a clause.
    """

    units: float
    of: Reference = Reference.RESULT
    inputs: Inputs = Inputs.ALL
    each: str = ""
    largest: float = math.inf
    computed_in: str = ""
    remark: str = ""

    def __str__(self) -> str:
        """The bound as a clause."""
        limit = ""
        if self.largest < math.inf:
            limit = f" of magnitudes up to {at_least(self.largest, 6)}"
        remark = f"; {self.remark}" if self.remark else ""
        return f"{self._distance}, for {self.inputs}{limit}{remark}"

    @property
    def _distance(self) -> str:
        """How far the numbers may be from the reference, in words."""
        if not self.units:
            return "the same numbers"
        if self.of is Reference.INTEGER:
            return f"within {at_most(self.units, 6)}"
        units = "1 unit" if self.units == 1 else f"{at_most(self.units, 6)} units"
        kind = f" of {self.computed_in}" if self.computed_in else ""
        each = f" for each {self.each}" if self.each else ""
        return f"within {units}{kind} in the last place{each} of {self.of}"


SAME_NUMBERS = Bound(0, remark="a zero may have the other sign")
"""Of results that keep their numbers."""

EQUAL_BUT_FOR_NAN = replace(SAME_NUMBERS, inputs=Inputs.NUMBERS)
"""Of results that keep their numbers where no operand is NaN."""

SUMS = Bound(1, Reference.TERMS, Inputs.FINITE, each="term")
"""Of sums whose terms are added in another order: a rounding is at most half a unit."""


@dataclass(frozen=True, slots=True)
class FunctionBound:
    """The bound of an operator that is written by the function by which ONNX defines it.

    Attributes:
        bound: The bound.
        types: The types of the first operand for which it was measured; None of all.
    """

    bound: Bound
    types: frozenset[str] | None = IEEE_FLOATS


_EXACT = Bound(0, remark="ONNX Runtime computes it by the same operators")
_NARROW = frozenset({"float16", "float"})

OF_FUNCTIONS: Mapping[str, FunctionBound] = {
    **dict.fromkeys(
        ("GroupNormalization", "Mish", "NegativeLogLikelihoodLoss", "Swish"), FunctionBound(_EXACT)
    ),
    **dict.fromkeys(("CastLike", "CenterCropPad"), FunctionBound(_EXACT, None)),
    **dict.fromkeys(
        ("BlackmanWindow", "HammingWindow", "HannWindow"),
        FunctionBound(Bound(8, Reference.ONE), frozenset({"int32", "int64"})),
    ),
    # Whatever the type is, this one computes in float.
    "Shrink": FunctionBound(Bound(0, remark="ONNX Runtime computes it in float"), _NARROW),
    "RMSNormalization": FunctionBound(Bound(2, each="term"), _NARROW),
    "SoftmaxCrossEntropyLoss": FunctionBound(
        Bound(2, Reference.ONE, Inputs.FINITE, each="term"), frozenset({"float", "double"})
    ),
    "Attention": FunctionBound(
        Bound(16, Reference.LARGEST, Inputs.FINITE, each="term", largest=4), _NARROW
    ),
}
"""The bounds of operators that are written as ONNX defines them; others are not written so."""
