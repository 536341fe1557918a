"""What is found of the results of a function: errors, signs, and whether they rise."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.kernel.intervals import Format

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]

Finding = dict[str, Any]
"""What is found, by name: numbers, which a record can hold.

- `arguments`: how many, with infinities and NaN
- `result`, `argument`, `one`: the largest error in units of the type, relative to the exact result,
  to the larger of it and the argument, to the larger of it and 1
- `result_near_zero`, `argument_near_zero`: the largest error, in smallest normal numbers, where
  that to which it is relative is below 16 of them; these are left out above
- `fall`: how far a result is at most below one of a smaller argument, in units, relative to the
  larger of it and 1
- `below`, `above`: the smallest and the largest result of arguments below 0, and above 0
- `zeros`: the results of -0 and 0; `infinities`: those of -infinity and infinity
- `of_nan`: the smallest and the largest result of NaN that is a number
- `nan`: how many results are NaN, of numbers with an exact result
- `outside`: how many results are numbers, of finite numbers without an exact result
- `worst`: for each of the first three its largest errors, each with its argument
"""

SCALES = ("result", "argument", "one")
"""What errors are relative to."""

NEAR_ZERO = 16
"""Below so many smallest normal numbers errors are not counted in units."""

_MOST_WORST = 24


def empty(*, rises: bool) -> Finding:
    """What is found before the first argument."""
    return {
        "arguments": 0,
        **dict.fromkeys((*SCALES, "result_near_zero", "argument_near_zero"), 0.0),
        "fall": 0.0 if rises else None,
        "highest": -math.inf,
        **{side: [math.inf, -math.inf] for side in ("below", "above", "of_nan")},
        **{pair: [None, None] for pair in ("zeros", "infinities")},
        "nan": 0,
        "outside": 0,
        "worst": {scale: [] for scale in SCALES},
    }


@np.errstate(all="ignore")
def add(  # noqa: PLR0913 - the columns of a table
    finding: Finding,
    kind: Format,
    arguments: Doubles,
    results: Doubles,
    exact: Doubles,
    *,
    errors: Doubles | None = None,
    rising: bool = True,
) -> None:
    """Add what is found of further results.

    Args:
        finding: What was found before.
        kind: The type of the results.
        arguments: The arguments.
        results: What ONNX Runtime gives.
        exact: The exact results, NaN where there are none.
        errors: The distances of the results from the exact ones; their difference by default.
        rising: Whether the arguments are larger than those before, each larger than the last.
    """
    finding["arguments"] += arguments.size
    usual = np.isfinite(arguments) & (arguments != 0)
    if not usual.all():
        _add_special(finding, arguments, results)
    valid = np.isfinite(arguments) & ~np.isnan(exact)
    if not valid.all():
        outside = np.isfinite(arguments) & np.isnan(exact)
        finding["outside"] += int((outside & ~np.isnan(results)).sum())
    failed = valid & np.isnan(results)
    finding["nan"] += int(failed.sum())
    valid &= ~failed
    if not valid.all():
        arguments, results, exact = arguments[valid], results[valid], exact[valid]
        errors = None if errors is None else errors[valid]
    if arguments.size == 0:
        return
    for side, chosen in _sides(arguments):
        least, largest = finding[side]
        found = results[chosen]
        finding[side] = [min(least, float(found.min())), max(largest, float(found.max()))]
    if finding["fall"] is not None and rising:
        _add_fall(finding, kind, results.clip(-kind.largest, kind.largest))
    exact = exact.clip(-kind.largest, kind.largest)
    if errors is None:
        errors = np.abs(results.clip(-kind.largest, kind.largest) - exact)
    _add_errors(finding, kind, arguments, np.abs(exact), errors)


def _sides(arguments: Doubles) -> Sequence[tuple[str, Any]]:
    if arguments[0] > 0 and arguments.min() > 0:
        return [("above", slice(None))]
    if arguments[0] < 0 and arguments.max() < 0:
        return [("below", slice(None))]
    both = (("below", arguments < 0), ("above", arguments > 0))
    return [(side, chosen) for side, chosen in both if chosen.any()]


def _add_special(finding: Finding, arguments: Doubles, results: Doubles) -> None:
    numbers = results[np.isnan(arguments) & ~np.isnan(results)]
    if numbers.size:
        least, largest = finding["of_nan"]
        finding["of_nan"] = [min(least, float(numbers.min())), max(largest, float(numbers.max()))]
    for name, chosen in (("zeros", arguments == 0), ("infinities", np.isinf(arguments))):
        for index, negative in enumerate((True, False)):
            found = results[chosen & (np.signbit(arguments) == negative)]
            if found.size:
                finding[name][index] = float(found[0])


def _add_fall(finding: Finding, kind: Format, results: Doubles) -> None:
    highest = np.maximum.accumulate(results)
    np.maximum(highest, finding["highest"], out=highest)
    fallen = highest - results
    if fallen.any():
        share = fallen / np.maximum(np.abs(highest), 1)
        finding["fall"] = max(finding["fall"], float(share.max()) / kind.unit)
    finding["highest"] = float(highest[-1])


def _add_errors(
    finding: Finding, kind: Format, arguments: Doubles, exact: Doubles, errors: Doubles
) -> None:
    limit = NEAR_ZERO * kind.normal
    scales = {
        "result": exact,
        "argument": np.maximum(exact, np.abs(arguments)),
        "one": np.maximum(exact, 1),
    }
    for name, scale in scales.items():
        share = errors / scale
        if name != "one" and scale.min() < limit:
            near = scale < limit
            key = f"{name}_near_zero"
            finding[key] = max(finding[key], float(errors[near].max()) / kind.normal)
            share[near] = 0
        place = int(share.argmax())
        units = float(share[place]) / kind.unit
        finding[name] = max(finding[name], units)
        worst = finding["worst"][name]
        argument = float(arguments[place])
        full = len(worst) >= _MOST_WORST
        among_them = units > 0 and not (full and units <= worst[-1][0])
        if among_them and all(argument != other for _, other in worst):
            worst.append([units, argument])
            worst.sort(key=lambda each: -each[0])
            del worst[_MOST_WORST:]
