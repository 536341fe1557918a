"""What is found of the results of a function: errors, signs, and whether they rise."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from sonnx_ort.facts.arithmetic import Format

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
    # Nearly all parts have neither zeros nor what is not finite; sums tell it in one go.
    usual = (
        rising and np.isfinite(arguments[0] + arguments[-1]) and arguments[0] * arguments[-1] > 0
    )
    if not (usual and np.isfinite(results.sum() + exact.sum())):
        _add_special(finding, arguments, results)
        defined = np.isfinite(arguments)
        missing, undefined = np.isnan(results), np.isnan(exact)
        finding["outside"] += int((defined & undefined & ~missing).sum())
        finding["nan"] += int((defined & ~undefined & missing).sum())
        valid = defined & ~undefined & ~missing
        arguments, results, exact = arguments[valid], results[valid], exact[valid]
        errors = None if errors is None else errors[valid]
        if arguments.size == 0:
            return
        usual = False
    for side, chosen in _sides(arguments, one=bool(usual)):
        least, largest = finding[side]
        found = results[chosen]
        finding[side] = [min(least, float(found.min())), max(largest, float(found.max()))]
    magnitudes = np.abs(exact)
    if not usual or magnitudes.max() > kind.largest:
        results = results.clip(-kind.largest, kind.largest)
        exact = exact.clip(-kind.largest, kind.largest)
        magnitudes = np.abs(exact)
    if finding["fall"] is not None and rising:
        _add_fall(finding, kind, results)
    if errors is None:
        errors = np.abs(results - exact)
    _add_errors(finding, kind, arguments, magnitudes, errors)


def _sides(arguments: Doubles, *, one: bool) -> Sequence[tuple[str, Any]]:
    """The sides of 0 that arguments are on; it may be known that it is one."""
    if one:
        return [("above" if arguments[0] > 0 else "below", slice(None))]
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
            if found.size and not math.isnan(finding[name][index] or 0):
                finding[name][index] = float(found[np.isnan(found).argmax()])


def _add_fall(finding: Finding, kind: Format, results: Doubles) -> None:
    if results[0] >= finding["highest"] and (results[1:] >= results[:-1]).all():
        finding["highest"] = float(results[-1])
        return
    highest = np.maximum.accumulate(results)
    np.maximum(highest, finding["highest"], out=highest)
    fallen = highest - results
    share = fallen / np.maximum(np.abs(highest), 1)
    finding["fall"] = max(finding["fall"], float(share.max()) / kind.unit)
    finding["highest"] = float(highest[-1])


def _add_errors(
    finding: Finding, kind: Format, arguments: Doubles, exact: Doubles, errors: Doubles
) -> None:
    limit = NEAR_ZERO * kind.normal
    least, largest = float(exact.min()), float(errors.max())
    for name in SCALES:
        worst = finding["worst"][name]
        # No share is larger than that of the largest error in the smallest number.
        smallest = max(least, 1) if name == "one" else least
        bounded = smallest >= limit and len(worst) >= _MOST_WORST
        if bounded and largest / smallest / kind.unit <= worst[-1][0]:
            continue
        scale = _scale(name, exact, arguments)
        share = errors / scale
        if name != "one" and scale.min() < limit:
            near = scale < limit
            key = f"{name}_near_zero"
            finding[key] = max(finding[key], float(errors[near].max()) / kind.normal)
            share[near] = 0
        place = int(share.argmax())
        units, argument = float(share[place]) / kind.unit, float(arguments[place])
        finding[name] = max(finding[name], units)
        known = units == 0 or any(argument == other for _, other in worst)
        if not known and (len(worst) < _MOST_WORST or units > worst[-1][0]):
            worst.append([units, argument])
            worst.sort(key=lambda each: -each[0])
            del worst[_MOST_WORST:]


def _scale(name: str, exact: Doubles, arguments: Doubles) -> Doubles:
    """What errors are relative to."""
    match name:
        case "result":
            return exact
        case "argument":
            return np.maximum(exact, np.abs(arguments))
        case _:
            return np.maximum(exact, 1)
