"""Sessions that compute a function, and what is found of their results."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime as ort
from flint import arb, ctx
from model_builders.graphs import parse
from plain_sessions import make_options, start

from accuracy.arguments import DTYPES, count_of, doubles, random_floats, rising
from accuracy.findings import Finding, add
from accuracy.functions import FUNCTIONS, Doubles, enclosure
from sonnx_ort.facts.arithmetic import FORMATS, Format

Array = npt.NDArray[Any]

PIECE = 1 << 15
"""How many elements are computed at once: their doubles stay in a cache. Larger arrays take five
times as long for each element."""

_NEAR, _FAR = 2.0**-6, 2.0**6
"""Between them a function may rise and fall."""

LENGTHS = 70
"""Tensors of up to so many elements are tried: vectors have 16 elements at most, and loops of
kernels take four of them at a time."""

_SINGLE = 1 << 15
"""How many random arguments are computed in tensors of one element."""

_IR_VERSION = 10
"""The version of the file format that ONNX Runtime 1.23 loads with these operators."""


@dataclass(frozen=True)
class Sweep:
    """A function and a type.

    Attributes:
        function: The name of the function.
        element_type: The type, by its name in ONNX.
    """

    function: str
    element_type: str

    def __str__(self) -> str:
        """Give both: `Gelu tanh float`."""
        return f"{self.function} {self.element_type}"

    @property
    def kind(self) -> Format:
        """What is known of the type."""
        return FORMATS[self.element_type]

    @property
    def count(self) -> int:
        """How many arguments there are, before those of short tensors."""
        if self.element_type == "double":
            return int(self._doubles.size)
        return count_of(self.element_type)

    @cached_property
    def _doubles(self) -> Array:
        return doubles()

    @cached_property
    def session(self) -> ort.InferenceSession:
        """One without optimizers, on one thread.

        Raises:
            onnxruntime.capi.onnxruntime_pybind11_state.NotImplemented: There is no kernel.
        """
        return self._start(optimized=False)

    def _start(self, *, optimized: bool) -> ort.InferenceSession:
        function, kind = FUNCTIONS[self.function], self.element_type
        text = f"({kind}[n] X) => ({kind}[n] Y) {{ Y = {function.node}(X) }}"
        model = parse(text, opset=function.operator_set, ir_version=_IR_VERSION)
        return start(model, make_options(optimized=optimized))

    @property
    def has_kernel(self) -> bool:
        """Whether ONNX Runtime runs it."""
        errors = ort.capi.onnxruntime_pybind11_state
        try:
            return self.session is not None
        except (errors.NotImplemented, errors.InvalidGraph, errors.Fail):
            return False

    def arguments(self, first: int) -> Array:
        """Those of the piece that begins at a place."""
        stop = min(first + PIECE, self.count)
        if self.element_type == "double":
            return self._doubles[first:stop]
        return rising(self.element_type, first, stop)

    def computed(self, arguments: Array) -> Array:
        """What ONNX Runtime gives."""
        found: Array = self.session.run(None, {"X": arguments})[0]
        return found

    def add(self, finding: Finding, arguments: Array, results: Array, *, rising: bool) -> None:
        """Add to a finding what is found of results.

        Args:
            finding: What was found before.
            arguments: The arguments.
            results: What ONNX Runtime gives.
            rising: Whether they follow those before, in rising order.
        """
        if rising and self._is_simple(arguments, results):
            finding["arguments"] += arguments.size - 2
            arguments, results = arguments[[0, -1]], results[[0, -1]]
        # To convert a signaling NaN is an invalid operation.
        with np.errstate(invalid="ignore"):
            x, y = arguments.astype(np.float64), results.astype(np.float64)
        if self.element_type == "double":
            exact, errors = self._enclosed(x, y)
            add(finding, self.kind, x, y, exact, errors=errors, rising=rising)
            return
        with np.errstate(all="ignore"):
            exact = FUNCTIONS[self.function].exact(x)
        add(finding, self.kind, x, y, exact, rising=rising)

    def _is_simple(self, arguments: Array, results: Array) -> bool:
        """Whether the ends of a piece tell what all of it would: results are one, or a multiple.

        Near 0 and far from it, every function here and its quotient by its argument neither rise
        and fall within a piece, so that errors are largest at an end; except for those that
        oscillate.
        """
        if self.element_type != "float" or arguments.size < PIECE:
            return False
        first, last = float(arguments[0]), float(arguments[-1])
        near, far = sorted((abs(first), abs(last)))
        close = near > 0 and far < _NEAR and first * last > 0
        distant = near > _FAR and far < math.inf and self.function not in {"Sin", "Cos"}
        if not close and not distant:
            return False
        if (results == results[0]).all():
            return True
        factor = float(results[0]) / first
        return factor in {0.5, 1} and bool((results == factor * arguments).all())

    def _enclosed(self, arguments: Doubles, results: Doubles) -> tuple[Doubles, Doubles]:
        """Exact results, rounded, and how far results are away from them."""
        function, largest = FUNCTIONS[self.function], arb(self.kind.largest)
        exact, errors = np.full(arguments.size, np.nan), np.full(arguments.size, np.nan)
        for place in np.flatnonzero(np.isfinite(arguments)):
            found = enclosure(function, float(arguments[place]))
            if not found.is_finite():
                zero = arguments[place] == 0 and self.function in {"Log", "Reciprocal"}
                if not zero:
                    continue
                infinity = math.copysign(math.inf, results[place])
                exact[place], errors[place] = infinity, 0 if np.isinf(results[place]) else math.inf
                continue
            exact[place] = float(found.mid())
            if not np.isnan(results[place]):
                within = max(min(found, largest), -largest)
                result = np.clip(results[place], -self.kind.largest, self.kind.largest)
                errors[place] = float(abs(arb(float(result)) - within).upper())
        ctx.prec = 53
        return exact, errors

    def add_short(self, finding: Finding) -> dict[str, int]:
        """Compute the worst arguments, and random ones, in short tensors and by all optimizers.

        Returns:
            How many results differ from those of a long tensor: by the `length`, and by the
            `optimizers`.
        """
        dtype = DTYPES[self.element_type]
        worst = [argument for found in finding["worst"].values() for _, argument in found]
        special = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]
        chosen = np.array(worst + special, np.float64).astype(dtype)
        expected = self.computed(np.tile(chosen, 64)[: 64 * chosen.size])[: chosen.size]
        differing = 0
        for part, places in self._short(chosen):
            found = self.computed(part)
            differing += _differing(found, expected[places])
            self.add(finding, part, found, rising=False)
        random = self._singles()
        long = self.computed(random)
        single = np.concatenate([self.computed(random[i : i + 1]) for i in range(random.size)])
        differing += _differing(single, long)
        changed = single.view(f"u{single.itemsize}") != long.view(f"u{long.itemsize}")
        if self.element_type == "double":
            random, long, single = random[changed], long[changed], single[changed]
        for results in (long, single):
            self.add(finding, random, results, rising=False)
        optimized: Array = self._start(optimized=True).run(None, {"X": chosen})[0]
        self.add(finding, chosen, optimized, rising=False)
        usual = self.computed(chosen)
        return {"length": differing, "optimizers": _differing(optimized, usual)}

    def _short(self, chosen: Array) -> Iterator[tuple[Array, Array]]:
        """Tensors of each length, that begin at each of some places; and the places."""
        for length in range(1, LENGTHS + 1):
            for first in range(0, chosen.size, length):
                places = (first + np.arange(length)) % chosen.size
                yield chosen[places], places

    def _singles(self) -> Array:
        if self.element_type == "float16":
            return rising("float16", 0, count_of("float16"))
        if self.element_type == "double":
            return self._doubles
        return random_floats(self.element_type, _SINGLE)


def _differing(found: Array, expected: Array) -> int:
    """How many results have other bits; all NaNs are one."""
    bits = f"u{found.itemsize}"
    different = found.view(bits) != expected.view(bits)
    return int((different & ~(np.isnan(found) & np.isnan(expected))).sum())
