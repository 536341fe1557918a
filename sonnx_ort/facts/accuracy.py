"""How far results of functions of one operand are from the exact ones: measured, not assumed.

`accuracy.csv` has what the campaign of accuracies (`scripts/measure_accuracy.py`) found: a row for
each function, type and version of ONNX Runtime. Of float and float16 every number was an argument
with one version at least, of double some 300,000. What was not measured is not known: `accuracy_of`
rejects it. Only the oldest and the newest supported version are measured; those between are taken
to lie between.

A processor with other vector units rounds differently. So errors count `SAFETY` times, and results
that are not 0 may lie further outside of what was seen by such an error. Near 0 they count as one
smallest normal number at least, for a session may flush smaller ones. That no result has another
sign than those seen is relied on where every float was an argument.
"""

import csv
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .arithmetic import FORMATS, Format
from .node import Node
from .ranges import Ends, Interval
from .sizes import Rejected

_TABLE = Path(__file__).with_name("accuracy.csv")

SAFETY = 4
"""How many times the largest error that was seen a result may be away from the exact one."""

_ALL: Mapping[str, float] = {"float": 2**32, "float16": 2**16, "double": math.inf}
"""How many numbers each type has, if all can be tried."""

_Row = Mapping[str, str]
_Ends = tuple[float, float]

_NOTHING: _Ends = (math.inf, -math.inf)
_ANYTHING: _Ends = (-math.inf, math.inf)


@dataclass(frozen=True, slots=True)
class Accuracy:
    """How a function of one operand is computed by every version that was measured.

    A unit is half the distance from 1 to the next number of the type. Errors are `SAFETY` times
    those that were seen. Pairs of results have the smallest first; without any result, the first is
    infinity and the second -infinity.

    Attributes:
        kind: The type.
        result: The largest error in units, relative to the exact result.
        result_near_zero: The largest error in smallest normal numbers, where the exact result is
            below 16 of them; `result` does not count these.
        argument: The largest error in units, relative to the larger one of the exact result and the
            argument.
        argument_near_zero: The largest error in smallest normal numbers, where both are below 16.
        one: The largest error in units, relative to the larger one of the exact result and 1.
        fall: By how many units, relative to the larger of it and 1, a result is at most below one
            of a smaller argument; None if the exact function falls somewhere.
        below: The smallest and the largest result of finite arguments below 0, as they were seen;
            of double only their signs.
        above: Those of arguments above 0.
        zeros: Those of 0 and -0.
        minus_infinity: Those of -infinity.
        infinity: Those of infinity.
        nan_of_infinities: Whether the result of -infinity, and whether that of infinity, is NaN.
        of_nan: Those of NaN that are numbers.
    """

    kind: Format
    result: float
    result_near_zero: float
    argument: float
    argument_near_zero: float
    one: float
    fall: float | None
    below: _Ends
    above: _Ends
    zeros: _Ends
    minus_infinity: _Ends
    infinity: _Ends
    nan_of_infinities: tuple[bool, bool]
    of_nan: _Ends

    def error(self, end: Ends, exact: Ends, argument: Ends) -> Ends:
        """How far a result can be from the exact ones that end an interval.

        Args:
            end: The smallest, or the largest exact result.
            exact: The largest magnitude of an exact result.
            argument: The largest magnitude of an argument.
        """
        unit, normal = self.kind.unit, self.kind.normal
        share = self.result * unit
        # With a share of 1 or more, another result may be further beyond the end.
        of_result = share * (np.abs(end) if share < 1 else exact) + self.result_near_zero * normal
        of_argument = self.argument * unit * np.maximum(exact, argument)
        of_argument = of_argument + self.argument_near_zero * normal
        of_one = self.one * unit * np.maximum(exact, 1)
        return np.minimum(np.minimum(of_result, of_argument), of_one)

    def limits(self, x: Interval) -> tuple[Ends, Ends]:
        """The smallest and the largest result of finite arguments, whatever is exact."""
        return self._hull(
            x,
            (self.below, (x.lower < 0) & (x.upper > -math.inf)),
            (self.zeros, (x.lower <= 0) & (x.upper >= 0)),
            (self.above, (x.upper > 0) & (x.lower < math.inf)),
        )

    def special(self, x: Interval) -> tuple[Ends, Ends]:
        """The smallest and the largest number that is the result of an infinity or of NaN."""
        return self._hull(
            x,
            (self.minus_infinity, x.lower == -math.inf),
            (self.infinity, x.upper == math.inf),
            (self.of_nan, np.asarray(x.nan)),
        )

    def _hull(self, x: Interval, *parts: tuple[_Ends, npt.NDArray[np.bool_]]) -> tuple[Ends, Ends]:
        """The smallest and the largest result of the parts that some arguments are in."""
        lower, upper = np.full(x.lower.shape, math.inf), np.full(x.lower.shape, -math.inf)
        for (least, largest), taken in parts:
            lower = np.where(taken, np.minimum(lower, self._outward(least, -1)), lower)
            upper = np.where(taken, np.maximum(upper, self._outward(largest, 1)), upper)
        return lower, upper

    def _outward(self, end: float, sign: int) -> float:
        """A result of another processor that lies outside of those seen, with the same sign."""
        if not math.isfinite(end) or end == 0:
            return end
        moved = end + sign * self.one * self.kind.unit * max(abs(end), 1)
        return moved if moved * end > 0 else 0.0

    def nan(self, x: Interval) -> bool:
        """Whether a result can be NaN, of arguments for which the function is defined."""
        ends = bool((x.lower == -math.inf).any()), bool((x.upper == math.inf).any())
        undefined = any(e and n for e, n in zip(ends, self.nan_of_infinities, strict=True))
        return x.nan or undefined


def function_of(node: Node) -> str:
    """The name of a node's function in the table: its operator, and for Gelu its attribute."""
    if node.op_type != "Gelu":
        return node.op_type
    return f"Gelu {node.attribute('approximate', 'none')}"


def measured_functions() -> frozenset[tuple[str, str]]:
    """The functions and types that were measured."""
    return frozenset(_rows_by_function())


@cache
def _rows_by_function() -> Mapping[tuple[str, str], Sequence[_Row]]:
    found: dict[tuple[str, str], list[_Row]] = {}
    with _TABLE.open(encoding="utf-8", newline="") as table:
        for row in csv.DictReader(table):
            found.setdefault((row["function"], row["type"]), []).append(row)
    return found


@cache
def accuracy_of(function: str, element_type: str) -> Accuracy:
    """The worst of what was measured with any version.

    Args:
        function: The name of the function, as `function_of` gives it.
        element_type: The type, by its name in ONNX.

    Raises:
        Rejected: It was not measured, or gives NaN and numbers elsewhere than the exact one.
    """
    rows = _rows_by_function().get((function, element_type))
    if rows is None:
        raise Rejected(f"the accuracy of {function} of {element_type} was not measured")
    if any(int(row["undefined"]) for row in rows):
        raise Rejected(f"{function} of {element_type} is defined elsewhere than the exact one")

    def largest(name: str) -> float:
        return SAFETY * max(float(row[name]) for row in rows)

    ends = partial(_ends, rows)
    found = Accuracy(
        FORMATS[element_type],
        result=largest("result"),
        result_near_zero=max(largest("result_near_zero"), 1),
        argument=largest("argument"),
        argument_near_zero=max(largest("argument_near_zero"), 1),
        one=largest("one"),
        fall=largest("fall") if rows[0]["fall"] else None,
        below=ends("below_least", "below_largest"),
        above=ends("above_least", "above_largest"),
        zeros=ends("minus_zero", "zero"),
        minus_infinity=ends("minus_infinity"),
        infinity=ends("infinity"),
        nan_of_infinities=(_has_nan(rows, "minus_infinity"), _has_nan(rows, "infinity")),
        of_nan=ends("nan_least", "nan_largest"),
    )
    if any(int(row["arguments"]) >= _ALL[element_type] for row in rows):
        return found
    if element_type == "float" or (function, "float") not in _rows_by_function():
        return replace(found, below=_ANYTHING, above=_ANYTHING)
    whole = accuracy_of(function, "float")
    return replace(
        found,
        below=_of_part(found.below, whole.below),
        above=_of_part(found.above, whole.above),
    )


def _of_part(seen: _Ends, of_float: _Ends) -> _Ends:
    """What results of a type can be of which a part was tried: larger ones than those seen.

    Their sign is believed only if all floats give the same.
    """
    if _NOTHING in (seen, of_float):
        return seen if seen == of_float else _ANYTHING
    least = 0.0 if min(seen[0], of_float[0]) >= 0 else -math.inf
    largest = 0.0 if max(seen[1], of_float[1]) <= 0 else math.inf
    return least, largest


def _ends(rows: Sequence[_Row], *names: str) -> _Ends:
    """The smallest and the largest number in some columns; `_NOTHING` if there is none."""
    numbers = [float(row[name]) for row in rows for name in names if row[name]]
    numbers = [number for number in numbers if not math.isnan(number)]
    if (math.inf, -math.inf) == tuple(numbers[:2]):
        return _NOTHING
    return (min(numbers), max(numbers)) if numbers else _NOTHING


def _has_nan(rows: Sequence[_Row], name: str) -> bool:
    return any(math.isnan(float(row[name])) for row in rows)
