"""`campaigns.py pairs`: every pair of 16-bit floats.

Computes Div and Sub of all 2^32 pairs of float16 and of bfloat16 with each backend, and Mul of
those of bfloat16, compares every bit with a correct rounding of its own, and keeps count in
docs/records/exhaustive.json, in blocks of 2^22 pairs. A sweep that other versions of the packages
began it refuses, unless `--anew` is given. `--only` chooses sweeps, such as "compiled"; the record
keeps the others as they are. `--count` is the number of further blocks of each.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from ages import sources_of
from model_builders.graphs import binary
from plain_sessions import make_options
from records import RECORDS, Record, add, make_parser, steps, versions_of

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.meaning.numbers import FLOAT_FORMATS
from sonnx_ort.ort.feeds import to_array, to_ort_value
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]
Doubles = npt.NDArray[np.float64]

PATTERNS = 1 << 16
"""How many elements a 16-bit type has."""

SECOND_OPERANDS = 1 << 6
"""How many second operands a block has, each with every first one: 2^22 pairs."""

BLOCKS = PATTERNS // SECOND_OPERANDS
"""How many blocks a sweep has."""

PAIRS_PER_BLOCK = PATTERNS * SECOND_OPERANDS

_OPSET = 21
_SHOWN = 3

_PACKAGES = ("sonnx_ort", "onnxruntime", "onnxruntime-extensions", "numpy", "ml_dtypes")
"""What decides the results; after the first one."""

_MOST_EXAMPLES = 10

RECORD = RECORDS / "exhaustive.json"
"""The record that is kept in the repository."""

_EXPONENT = np.uint64(0x7FF0_0000_0000_0000)
"""The bits of a double's exponent; alone they are a power of two."""

_COMPUTED: Mapping[str, Callable[..., Doubles]] = {
    "Div": np.divide,
    "Mul": np.multiply,
    "Sub": np.subtract,
}


@dataclass(frozen=True)
class Sweep:
    """What is computed of all pairs of an element type, and by which backend."""

    operator: str
    element_type: ElementType
    edition: Edition
    backend: Backend

    def __str__(self) -> str:
        """Give all four: `Div float16 typed python`."""
        return f"{self.operator} {self.element_type} {self.edition} {self.backend}"

    @cached_property
    def _session(self) -> sonnx_ort.InferenceSession:
        """On one thread."""
        return sonnx_ort.InferenceSession(
            model_of(self),
            make_options(),
            edition=self.edition,
            backend=self.backend,
            operators=self.operator,
        )

    def compare(self, block: int) -> dict[str, Any]:
        """Compute a block, from 0 to `BLOCKS` - 1, and count it as `compare_pairs` does."""
        bits = np.arange(PATTERNS, dtype=np.uint16)
        seconds = bits[block * SECOND_OPERANDS : (block + 1) * SECOND_OPERANDS]
        return self.compare_pairs(np.tile(bits, seconds.size), np.repeat(seconds, bits.size))

    def compare_pairs(self, first: Array, second: Array) -> dict[str, Any]:
        """Compute pairs, given by their bits, and compare them with the correct rounding.

        Returns:
            The numbers of `pairs` and of `differences`, and `examples` of these in words.
        """
        kind = self.element_type
        a, b = (operand.view(kind.dtype) for operand in (first, second))
        # In parts that stay in the cache.
        parts = (slice(start, start + PATTERNS) for start in range(0, a.size, PATTERNS))
        expected = np.concatenate(
            [expected_result(self.operator, a[p], b[p], kind, self.edition) for p in parts]
        )
        values = {"A": to_ort_value(a), "B": to_ort_value(b)}
        result = to_array(self._session.run_with_ort_values(None, values)[0])
        if result is None or result.dtype != a.dtype or result.shape != a.shape:
            raise TypeError(f"{self}: the result is no tensor of the operands' form")
        places = np.flatnonzero(differing(result, expected, kind))
        arrays = [each.view(np.uint16) for each in (first, second, result, expected)]
        examples = [
            "A {:#06x}, B {:#06x}: {:#06x} and not {:#06x}".format(*(x[place] for x in arrays))
            for place in places[:_SHOWN]
        ]
        return {"pairs": first.size, "differences": places.size, "examples": examples}


def sweeps() -> Iterator[Sweep]:
    """All of them. The edition decides nothing of a Mul or a Sub of floats of one shape.

    A solver proves of Mul in float16 what only runs show of it in bfloat16.
    """
    types = (ElementType.FLOAT16, ElementType.BFLOAT16)
    for backend, element_type, edition in product(Backend, types, Edition):
        yield Sweep("Div", element_type, edition, backend)
        if edition is Edition.TYPED:
            yield Sweep("Sub", element_type, edition, backend)
            if element_type is ElementType.BFLOAT16:
                yield Sweep("Mul", element_type, edition, backend)


# Correctly rounded quotients, products and differences of 16-bit floats, computed in double:
# What is rounded to double and then to a format of p bits, p being 11 or 8, is what rounding once
# gives. It could differ only where the exact result is no midpoint M of two neighbours of the
# format, and the double is. M is an odd number below 2^(p + 1) times a power of two.
# - A quotient a/b that is not M has a relative distance from it of |a - M b| / |M b|. Both a and M
#   b are multiples of the smaller of two powers of two, so that it is more than 2^-p or 2^-(2p +
#   1): at least 2^-23, and the error of a double is at most 2^-53. Quotients that are not zero lie
#   between 2^-261 and 2^261, where doubles are normal.
# - A difference whose operands' last bits are at most 52 - p places apart is exact in double. Where
#   they are further apart, the smaller operand is less than 2^-36 of the last place of the larger
#   one, and both roundings give that one; M is a quarter of the last place away from it at least.
# - A product has 22 bits at most, and is exact in double.
# Fewer bits, as subnormal results have, leave fewer midpoints; and the middle between the largest
# number and the next power of two, from which on results are infinite, is one of them.


@np.errstate(all="ignore")
def expected_result(
    operator: str, a: Array, b: Array, element_type: ElementType, edition: Edition
) -> Array:
    """What an operator has to give, in the type of its operands."""
    divisors = b.astype(np.float64)
    doubles = _COMPUTED[operator](a.astype(np.float64), divisors)
    if operator == "Div" and edition is Edition.PRELIMINARY:
        doubles = np.where(divisors == 0, np.inf, doubles)
    return rounded(doubles, element_type).astype(element_type.dtype)


@np.errstate(all="ignore")
def rounded(doubles: Doubles, element_type: ElementType) -> Doubles:
    """Round to the nearest number of a type, of two the even one; all of them are doubles too."""
    limits = FLOAT_FORMATS[element_type]
    smallest, largest = 2.0**limits.smallest_exponent, 2.0**limits.largest_exponent
    leading = (doubles.view(np.uint64) & _EXPONENT).view(np.float64)
    spacing = np.clip(leading, smallest, largest) * 2.0 ** (1 - limits.precision)
    nearest = np.rint(doubles / spacing) * spacing
    infinite = np.abs(nearest) >= 2 * largest
    return np.where(infinite, np.copysign(np.inf, nearest), nearest)


@np.errstate(all="ignore")
def differing(found: Array, expected: Array, element_type: ElementType) -> npt.NDArray[np.bool_]:
    """Where results have other bits than they have to; for a NaN any quiet NaN is right."""
    precision = FLOAT_FORMATS[element_type].precision
    bits = np.dtype(f"u{element_type.dtype.itemsize}")
    quiet = bits.type(1 << (precision - 2))
    different: npt.NDArray[np.bool_] = found.view(bits) != expected.view(bits)
    if different.any():
        right = np.isnan(expected) & np.isnan(found) & ((found.view(bits) & quiet) != 0)
        different &= ~right
    return different


def model_of(sweep: Sweep) -> onnx.ModelProto:
    """The model of a sweep, as it is before a backend enforces it."""
    return binary(sweep.operator, sweep.element_type, [["n"]] * 3, "the_node", opset=_OPSET)


def versions() -> dict[str, str]:
    """What decides the results: the packages, Python, the kind of processor and the sources."""
    return versions_of(_PACKAGES, sources_of("exhaustive.json"))


def run(arguments: Sequence[str]) -> int:
    """Go on with every sweep that is not complete, block by block, and keep the record.

    Returns:
        The exit status: 0 if nothing differs, 1 if something does, 2 if other versions began one.
    """
    parser = make_parser(__doc__, RECORD, only="", count=BLOCKS, seconds=math.inf)
    options, here = parser.parse_args(arguments), versions()
    record = Record(options.record)
    chosen = {str(sweep): sweep for sweep in sweeps() if options.only in str(sweep)}
    for name in chosen:
        if options.anew or name not in record:
            record[name] = {"versions": here, "pairs": 0, "differences": 0, "examples": []}
        elif (others := record[name]["versions"]) != here:
            print(
                f"{options.record} has {name} of {_words(others)}; here are {_words(here)}. "
                "Begin another record with --record, or the chosen sweeps again with --anew."
            )
            return 2

    for name, sweep in chosen.items():
        entry = record[name]
        total = min(2**32, entry["pairs"] + options.count * PAIRS_PER_BLOCK)
        for _ in steps(name, total, partial(entry.get, "pairs"), options.seconds):
            found = sweep.compare(entry["pairs"] // PAIRS_PER_BLOCK)
            del found["examples"][_MOST_EXAMPLES - len(entry["examples"]) :]
            add(entry, found)
            record.write()
        line = f"{name}: {entry['pairs']:,} of {2**32:,} pairs, differences: "
        print(f"{line}{entry['differences']:,}", *entry["examples"], sep="\n    ", flush=True)
    return int(any(record[name]["differences"] for name in chosen))


def _words(found: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in found.items())
