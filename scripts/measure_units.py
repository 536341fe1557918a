"""`campaigns.py units`: by how many units in the last place Log and Acos miss.

ONNX Runtime computes all positive floats, and for Acos those between -1 and 1; each result is
compared with that of double, rounded to float. Takes some minutes. Counts are kept in
docs/records/units.json, block by block.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from ages import sources_of
from model_builders.graphs import parse
from plain_sessions import make_options, start
from records import RECORDS, Record, add, make_parser, steps, versions_of

from sonnx_ort.runs.diff.difference import Measure, distances

Array = npt.NDArray[Any]

RECORD = RECORDS / "units.json"
"""What was counted."""

_BLOCK = 1 << 22
"""How many floats a block has."""

_ONE, _INFINITY, _NEGATIVE = 0x3F800000, 0x7F800000, 0x80000000
_REFERENCES: dict[str, np.ufunc] = {"Log": np.log, "Acos": np.arccos}
_RANGES: dict[str, tuple[tuple[int, int], ...]] = {
    "Log": ((1, _INFINITY),),
    "Acos": ((0, _ONE + 1), (_NEGATIVE, _NEGATIVE + _ONE + 1)),
}
"""The bit patterns of the floats that have a finite result."""

OPERATORS = tuple(_RANGES)
"""The operators that are measured."""


@dataclass(frozen=True)
class Sweep:
    """All floats of one operator."""

    operator: str

    @property
    def floats(self) -> int:
        """How many floats there are."""
        return sum(stop - start for start, stop in _RANGES[self.operator])

    def block(self, start: int) -> dict[str, int]:
        """Compute the floats after the first ones, and count by how many units results miss."""
        with np.errstate(all="ignore"):
            x = self._patterns(start).view(np.float32)
            nearest = _REFERENCES[self.operator](x.astype(np.float64)).astype(np.float32)
        return missed(self._session.run(None, {"X": x})[0], nearest)

    def _patterns(self, start: int) -> npt.NDArray[np.uint32]:
        for first, stop in _RANGES[self.operator]:
            if start < stop - first:
                last = min(first + start + _BLOCK, stop)
                return np.arange(first + start, last, dtype=np.uint32)
            start -= stop - first
        raise ValueError(f"{self.operator} has no such block")

    @cached_property
    def _session(self) -> ort.InferenceSession:
        model = parse(f"(float[n] X) => (float[n] Y) {{ Y = {self.operator}(X) }}")
        return start(model, make_options(threads=0, optimized=False))


def missed(found: Array, nearest: Array) -> dict[str, int]:
    """Count by how many units results miss what they should be.

    Raises:
        ValueError: One is NaN.
    """
    if np.isnan(found).any() or np.isnan(nearest).any():
        raise ValueError("a result is NaN")
    apart = distances(found, nearest, Measure.ULP).astype(np.int64)
    units, counts = np.unique(apart, return_counts=True)
    return dict(zip(map(str, units.tolist()), counts.tolist(), strict=True))


def run(arguments: Sequence[str]) -> int:
    """Sweep all floats of each operator; a record of other versions is begun anew."""
    options = make_parser(__doc__, RECORD, seconds=math.inf).parse_args(arguments)
    made_by = versions_of(("onnxruntime", "numpy"), sources_of("units.json"))
    record = Record(options.record, anew=options.anew, made_by=made_by, operators={})
    for operator in OPERATORS:
        sweep = Sweep(operator)
        entry = record["operators"].setdefault(operator, {"floats": 0, "units": {}})
        for _ in steps(operator, sweep.floats, partial(entry.get, "floats"), options.seconds):
            counted = sweep.block(entry["floats"])
            add(entry, {"floats": sum(counted.values()), "units": counted})
            record.write()
        print(operator, entry["units"])
    return 0
