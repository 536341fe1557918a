"""Rules of bounds hold for all integers of three bits, and for all intervals of these.

Rules know a type by its ends, and get those of three bits in place of those of int8 and uint8. So
what they say where numbers wrap is tried whole.
"""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx_ir as ir
import pytest

from sonnx_ort.analysis.values.graph_node import GraphNode, Held
from sonnx_ort.facts.bounds import LIMITS, bounds_by
from sonnx_ort.facts.catalog import BOUNDS_RULES
from sonnx_ort.facts.sizes import Bounds, Rejected

Array = npt.NDArray[np.int64]
Kernel = Callable[..., Array]
"""Computes integers of any size, which wrap afterwards."""

THREE_BITS = {"int8": Bounds(-4, 3), "uint8": Bounds(0, 7)}


@pytest.fixture(autouse=True)
def _types_have_three_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, ends in THREE_BITS.items():
        monkeypatch.setitem(LIMITS, name, ends)  # type: ignore[arg-type]


def wrapped(exact: Array, kind: Bounds) -> Array:
    return (exact - kind.lower) % 8 + kind.lower


def divided(a: Array, b: Array) -> Array:
    """Quotients that are truncated; those of 0 are never computed."""
    quotient = np.abs(a) // np.maximum(np.abs(b), 1)
    return quotient * np.sign(a) * np.sign(b)


def clipped(x: Array, low: Array, high: Array) -> Array:
    return np.minimum(np.maximum(x, low), high)


def remainder(a: Array, b: Array) -> Array:
    """Has the sign of the divisor; that of 0 is never computed."""
    return np.where(b == 0, 0, np.mod(a, np.where(b == 0, 1, b)))


def rest(a: Array, b: Array) -> Array:
    """Has the sign of the dividend."""
    return np.where(b == 0, 0, np.fmod(a, np.where(b == 0, 1, b)))


def is_divisor(_: Array, b: Array) -> Array:
    return np.asarray(b != 0)


def is_representable(a: Array, b: Array) -> Array:
    """A quotient that does not wrap: that of -4 by -1 ends the process."""
    return np.asarray((b != 0) & ((a != -4) | (b != -1)))


def is_shift(_: Array, b: Array) -> Array:
    return np.asarray((b >= 0) & (b < 3))


def every(*operands: Array) -> Array:
    return np.ones(operands[0].shape, bool)


SIGNED, UNSIGNED, BOTH = ("int8",), ("uint8",), ("int8", "uint8")
ROWS: dict[str, tuple[str, int, Sequence[str], Kernel, Callable[..., Array], dict[str, Any]]] = {
    "Abs": ("Abs", 1, BOTH, np.abs, every, {}),
    "Add": ("Add", 2, BOTH, np.add, every, {}),
    "BitShift": (
        "BitShift", 2, UNSIGNED, np.right_shift, is_shift, {"direction": "RIGHT"},
    ),
    "BitwiseAnd": ("BitwiseAnd", 2, BOTH, np.bitwise_and, every, {}),
    "Clip": ("Clip", 3, BOTH, clipped, every, {}),
    "Div": ("Div", 2, BOTH, divided, is_representable, {}),
    "Max": ("Max", 2, BOTH, np.maximum, every, {}),
    "Min": ("Min", 2, BOTH, np.minimum, every, {}),
    "Mod": ("Mod", 2, BOTH, remainder, is_divisor, {}),
    "Mod with fmod": ("Mod", 2, BOTH, rest, is_divisor, {"fmod": 1}),
    "Mul": ("Mul", 2, BOTH, np.multiply, every, {}),
    "Neg": ("Neg", 1, SIGNED, np.negative, every, {}),
    "Relu": ("Relu", 1, SIGNED, lambda x: np.maximum(x, 0), every, {}),
    "Sign": ("Sign", 1, BOTH, np.sign, every, {}),
    "Sub": ("Sub", 2, BOTH, np.subtract, every, {}),
}  # fmt: skip
CASES = [(name, kind) for name, (_, _, kinds, *_) in ROWS.items() for kind in kinds]


def intervals(kind: Bounds) -> list[Bounds]:
    numbers = range(kind.lower, kind.upper + 1)
    return [Bounds(*ends) for ends in itertools.combinations_with_replacement(numbers, 2)]


@pytest.mark.parametrize(("name", "element_type"), CASES)
def test_rule_holds_for_all_intervals(name: str, element_type: str) -> None:
    operator, count, _, kernel, is_computed, attributes = ROWS[name]
    kind = THREE_BITS[element_type]
    numbers = np.arange(kind.lower, kind.upper + 1)
    grid = np.meshgrid(*[numbers] * count, indexing="ij")
    results, computed = wrapped(kernel(*grid), kind), is_computed(*grid)
    values, held = [ir.Value() for _ in range(count)], dict[ir.Value, Bounds]()
    facts = Held(element_type=lambda _: element_type, bounds=held)
    node = GraphNode(ir.node(operator, values, attributes), 21, facts)
    said, wrong = 0, []
    for ends in itertools.product(intervals(kind), repeat=count):
        # A type says as much as an interval of all its numbers.
        held.clear()
        held.update((v, each) for v, each in zip(values, ends, strict=True) if each != kind)
        try:
            (found,) = bounds_by(BOUNDS_RULES[operator], node)
        except Rejected:
            continue
        within = tuple(slice(e.lower - kind.lower, e.upper - kind.lower + 1) for e in ends)
        given = results[within][computed[within]]
        outside = [] if found is None else given[(given < found.lower) | (given > found.upper)]
        wrong += [f"{ends}: {outside} not in {found}"] if len(outside) else []
        said += found is not None
    assert not wrong, wrong[:5]
    assert said > len(intervals(kind)) ** count / 10
