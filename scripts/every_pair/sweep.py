"""A sweep: all pairs of one type through one operator with both backends, block by block."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime
from model_builders.graphs import binary

import sonnx_ort
from every_pair.rounding import differing, expected_result
from sonnx_ort.comparing.isolated_run import to_array, to_ort_value
from sonnx_ort.options import Backend
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition

Array = npt.NDArray[Any]

PATTERNS = 1 << 16
"""How many elements a 16-bit type has."""

SECOND_OPERANDS = 1 << 6
"""How many second operands a block has, each with every first one: 2^22 pairs."""

BLOCKS = PATTERNS // SECOND_OPERANDS
"""How many blocks a sweep has."""

PAIRS_PER_BLOCK = PATTERNS * SECOND_OPERANDS

_OPSET = 21
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Sweep:
    """What is computed of all pairs.

    Attributes:
        operator: "Div" or "Sub".
        element_type: float16 or bfloat16.
        edition: The edition of the profile.
    """

    operator: str
    element_type: ElementType
    edition: Edition

    def __str__(self) -> str:
        """Give all three: `Div float16 typed`."""
        return f"{self.operator} {self.element_type} {self.edition}"


@dataclass(frozen=True, slots=True)
class Differences:
    """What a backend computed otherwise in a block.

    Attributes:
        count: How many pairs.
        examples: Some of them in words.
    """

    count: int
    examples: tuple[str, ...]


def sweeps() -> Iterator[Sweep]:
    """All of them. The edition decides nothing of a Sub of floats of one shape."""
    types = (ElementType.FLOAT16, ElementType.BFLOAT16)
    for element_type, edition in product(types, Edition):
        yield Sweep("Div", element_type, edition)
        if edition is Edition.TYPED:
            yield Sweep("Sub", element_type, edition)


class Sessions:
    """The sessions of a sweep, one for each backend."""

    def __init__(self, sweep: Sweep) -> None:
        """Start them, on one thread each.

        Args:
            sweep: What they compute.
        """
        self._sweep = sweep
        self._sessions = {backend: _session(sweep, backend) for backend in Backend}

    def compare(self, block: int) -> Mapping[Backend, Differences]:
        """Compute a block with every backend, and compare it with the correct rounding.

        Args:
            block: Its number, from 0 to `BLOCKS` - 1.
        """
        bits = np.arange(PATTERNS, dtype=np.uint16)
        seconds = bits[block * SECOND_OPERANDS : (block + 1) * SECOND_OPERANDS]
        return self.compare_pairs(np.tile(bits, seconds.size), np.repeat(seconds, bits.size))

    def compare_pairs(self, first: Array, second: Array) -> Mapping[Backend, Differences]:
        """Compute some pairs with every backend, and compare them with the correct rounding.

        Args:
            first: The bits of the first operands, uint16.
            second: Those of the second ones.
        """
        sweep = self._sweep
        a, b = (operand.view(sweep.element_type.dtype) for operand in (first, second))
        # In parts that stay in the cache.
        parts = range(0, a.size, PATTERNS)
        expected = np.concatenate(
            [
                expected_result(
                    sweep.operator,
                    a[start : start + PATTERNS],
                    b[start : start + PATTERNS],
                    sweep.element_type,
                    sweep.edition,
                )
                for start in parts
            ]
        )
        values = {"A": to_ort_value(a), "B": to_ort_value(b)}
        found = {}
        for backend, session in self._sessions.items():
            result = to_array(session.run_with_ort_values(None, values)[0])
            if result is None or result.dtype != a.dtype or result.shape != a.shape:
                raise TypeError(f"{sweep} {backend}: the result is no tensor of the operands' form")
            wrong = differing(result, expected, sweep.element_type)
            found[backend] = _told(wrong, (first, second, result, expected))
        return found


def _session(sweep: Sweep, backend: Backend) -> sonnx_ort.InferenceSession:
    model = binary(sweep.operator, sweep.element_type, [["n"]] * 3, "the_node", opset=_OPSET)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return sonnx_ort.InferenceSession(model, options, edition=sweep.edition, backend=backend)


def _told(wrong: npt.NDArray[np.bool_], arrays: Sequence[Array]) -> Differences:
    """Say which bits of both operands gave which, and what they had to give."""
    places = np.flatnonzero(wrong)
    examples = []
    for place in places[:_SHOWN]:
        a, b, got, expected = (f"{array.view(np.uint16)[place]:#06x}" for array in arrays)
        examples.append(f"A {a}, B {b}: {got} and not {expected}")
    return Differences(places.size, tuple(examples))
