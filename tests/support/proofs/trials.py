"""Tries every pair of 16-bit floats: `PYTHONPATH=tests:scripts python -m support.proofs.trials`.

The graph that the native backend emits for an operator computes each of the 4,294,967,296 pairs in
ONNX Runtime, and each result has to be the nearest number, ties to even. That takes long; what is
done is written down, and the next call goes on there. Given are operators with types, such as
"Div bfloat16", or none for all.
"""

import functools
import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort

from sonnx_ort.profile.element_type import ElementType
from support import ort_values
from support.proofs.rounding import Rounding
from support.sessions import on_one_thread

Array = npt.NDArray[Any]
Side = Callable[[Array], Array]
"""Whether an exact result is above, at or below a number: 1, 0 or -1."""

PATTERNS = 1 << 16


def numbers(patterns: Array, element_type: ElementType) -> Array:
    """Numbers of 16 bits by their bit patterns."""
    return patterns.astype(np.uint16).view(element_type.dtype)


def wrong(operator: str, a: Array, b: Array, found: Array) -> Array:
    """Where a result is not the nearest number of its type, ties to even."""
    with np.errstate(all="ignore"):
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        plain = _PLAIN[operator](wide_a, wide_b)
        good = _is_nearest(found, _SIDES[operator](wide_a, wide_b))
        # The means of what is not finite are no numbers, and zeros are exact or too small.
        rest = np.flatnonzero(~good | (plain == 0) | ~np.isfinite(plain))
        good[rest] = _is_exact(found[rest].astype(np.float64), plain[rest])
        return ~good


def _is_exact(found: Array, plain: Array) -> Array:
    """Whether a zero, an infinity or NaN is what comes out in double, where that is exact too."""
    special = (plain == 0) | ~np.isfinite(plain)
    same = (found == plain) & (np.signbit(found) == np.signbit(plain))
    return special & (same | (np.isnan(found) & np.isnan(plain)))


def _is_nearest(found: Array, side: Side) -> Array:
    """Whether numbers are the nearest to exact results, which `side` compares with means."""
    below, above = _means(found.dtype)
    patterns = found.view(np.uint16)
    even = patterns % 2 == 0
    lower, higher = side(below[patterns]), side(above[patterns])
    return ((lower > 0) | (even & (lower == 0))) & ((higher < 0) | (even & (higher == 0)))


@functools.cache
def _means(dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """For each pattern the mean of its number and the next smaller, and larger, one; NaN of NaN.

    What is rounded to a zero has the sign of the zero, so that zeros reach to 0 alone.
    """
    magnitude = np.arange(PATTERNS // 2)
    infinity = _infinity(dtype)
    own = _stretched(magnitude, dtype)
    outer = (own + _stretched(magnitude + 1, dtype)) / 2
    inner = np.concatenate([[0.0], outer[:-1]])
    outer[infinity] = np.inf
    outer[infinity + 1 :] = inner[infinity + 1 :] = np.nan
    return np.concatenate([inner, -outer]), np.concatenate([outer, -inner])


def _stretched(magnitude: Array, dtype: np.dtype[Any]) -> Array:
    """Positive numbers by their patterns; infinity is the power of two that would be next."""
    values = np.asarray(magnitude, np.uint16).view(dtype).astype(np.float64)
    infinity = _infinity(dtype)
    largest = np.array([infinity - 1, infinity - 2], np.uint16).view(dtype).astype(np.float64)
    # The pattern behind the last one is that of no number either.
    return np.where(magnitude >= infinity, 2 * largest[0] - largest[1], values)


def _infinity(dtype: np.dtype[Any]) -> int:
    return int(np.array(np.inf, dtype).view(np.uint16))


def _sides_of_quotients(a: Array, b: Array) -> Side:
    return lambda mean: np.sign(a * np.sign(b) - mean * np.abs(b))


def _sides_of_differences(a: Array, b: Array) -> Side:
    rounded = a - b
    behind = rounded - a
    error = (a - (rounded - behind)) - (b + behind)

    def side(mean: Array) -> Array:
        return np.where(rounded == mean, np.sign(error), np.sign(rounded - mean))

    return side


def _sides_of_products(a: Array, b: Array) -> Side:
    exact = a * b
    return lambda mean: np.sign(exact - mean)


_PLAIN: Mapping[str, np.ufunc] = MappingProxyType(
    {"Div": np.divide, "Mul": np.multiply, "Sub": np.subtract}
)
_SIDES: Mapping[str, Callable[[Array, Array], Side]] = MappingProxyType(
    {"Div": _sides_of_quotients, "Mul": _sides_of_products, "Sub": _sides_of_differences}
)


RECORD = Path(__file__).resolve().parents[2] / "proofs" / "rounding.json"
"""How many of the rows of each have been tried; a row is a first operand with every second one."""

CASES = ("Div bfloat16", "Mul bfloat16", "Sub bfloat16", "Div float16")

_ROWS_AT_ONCE = 8
_ROWS_BETWEEN_RECORDS = 1024

Entry = dict[str, str | int]


def attempt(case: str) -> bool:
    """Try what is not tried yet; give whether every result is right."""
    operator, name = case.split()
    kind = ElementType(name)
    model = Rounding(operator, kind).emitted
    entry = recorded().get(case, {})
    done = int(entry["rows"]) if entry.get("graph") == digest(model) else 0
    session = ort.InferenceSession(model.SerializeToString(), on_one_thread("none"))
    second = np.tile(numbers(np.arange(PATTERNS), kind), _ROWS_AT_ONCE)
    while done < PATTERNS:
        first = np.repeat(numbers(np.arange(done, done + _ROWS_AT_ONCE), kind), PATTERNS)
        (found,) = ort_values.run(session, {"A": first, "B": second})
        misses = wrong(operator, first, second, np.asarray(found))
        if misses.any():
            place = int(np.argmax(misses))
            print(f"{case}: a wrong result of {first[place]} and {second[place]}")
            return False
        done += _ROWS_AT_ONCE
        if done % _ROWS_BETWEEN_RECORDS == 0:
            _record(case, {"graph": digest(model), "rows": done, "onnxruntime": ort.__version__})
            print(f"{case}: {done} of {PATTERNS} rows", flush=True)
    return True


def digest(model: onnx.ModelProto) -> str:
    """What tells a graph from others."""
    return hashlib.sha256(model.graph.SerializeToString(deterministic=True)).hexdigest()


def recorded() -> dict[str, Entry]:
    """What has been tried, by operator and type."""
    if not RECORD.is_file():
        return {}
    record: dict[str, Entry] = json.loads(RECORD.read_text("utf-8"))
    return record


def _record(case: str, entry: Entry) -> None:
    record = recorded() | {case: entry}
    RECORD.write_text(json.dumps(record, indent=2, sort_keys=True) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(0 if all(attempt(case) for case in sys.argv[1:] or CASES) else 1)
