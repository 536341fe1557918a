"""Rules of intervals hold for all numbers of the smallest floats, and for all intervals of these.

The type has 13 numbers: one bit of its significand is stored, and two of its exponent. So 0.5 is
its one subnormal number, and 3 its largest. Rules know a type by three numbers, and get those of
this one in place of float's: what they say of infinities, zeros, underflow and NaN is tried whole.
They may be as far away as a single rounding, and no more. A kernel rounds to the nearest number
after each step, and keeps subnormal numbers or flushes them.
"""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from sonnx_ort.facts import arithmetic, interval_layout, interval_recurrent, intervals
from sonnx_ort.facts.arithmetic import FORMATS, Format
from sonnx_ort.facts.ranges import ANYTHING, Interval
from support.float_intervals import node_of, said_of

Array = npt.NDArray[np.float64]
Ends = tuple[float, float]
Rounding = Callable[[Array], Array]
Kernel = Callable[..., Array]
"""Computes elements of operands, given how it rounds."""

INF = math.inf
SMALLEST = Format(unit=0.25, largest=3.0, normal=1.0)
_POSITIVE = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, INF]
NUMBERS = np.array([*(-each for each in reversed(_POSITIVE)), *_POSITIVE])
"""All numbers, with both zeros."""

ALL = list(itertools.combinations_with_replacement(np.unique(NUMBERS).tolist(), 2))
FEW = list(itertools.combinations_with_replacement([-INF, -3.0, -0.5, 0.0, 1.0, INF], 2))
"""The intervals where there are three operands, or several elements."""


@pytest.fixture(autouse=True)
def _float_is_the_smallest_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(FORMATS, "float", SMALLEST)  # type: ignore[arg-type]
    for module in (arithmetic, interval_layout, interval_recurrent, intervals):
        monkeypatch.setattr(module, "SLACK", 1)
    monkeypatch.setattr(arithmetic, "_OF_SUMS", 0.5)


def rounded(exact: Array) -> Array:
    """The nearest number; of two, the one whose last bit is 0."""
    step = np.where(np.abs(exact) < 2, 0.5, 1.0)
    near = np.where(np.isfinite(exact), np.round(exact / step) * step, exact)
    return np.where(np.abs(near) > 3, np.copysign(INF, near), near)


def flushed(exact: Array) -> Array:
    """The nearest number, or 0 in place of a subnormal one."""
    near = rounded(exact)
    return np.where(np.abs(near) < 1, np.copysign(0.0, near), near)


def results(kernel: Kernel, *operands: Array) -> Array:
    """What both kinds of kernels give, one after the other."""
    with np.errstate(all="ignore"):
        return np.stack([kernel(r, *map(r, operands)) for r in (rounded, flushed)])


def places(ends: Ends) -> slice:
    """The numbers of an interval."""
    within = np.flatnonzero((ends[0] <= NUMBERS) & (ends[1] >= NUMBERS))
    return slice(int(within[0]), int(within[-1]) + 1)


def known(ends: Ends) -> Interval:
    return SMALLEST.flushed(*map(np.asarray, ends))


def misfits(found: Interval, computed: Array) -> list[str]:
    """What is computed outside of an interval."""
    whole, missing = found.whole, np.isnan(computed)
    if found.nan and whole.lower == -INF and whole.upper == INF:
        return []
    outside = ~missing & ((computed < whole.lower) | (computed > whole.upper))
    if not outside.any() and (found.nan or not missing.any()):
        return []
    told = [f"{number:g}" for number in np.unique(computed[outside])]
    return [*told, "NaN"] if missing.any() and not found.nan else told


def held_to_all(
    operator: str,
    kernel: Kernel,
    intervals: Sequence[Ends],
    operands: int,
    *others: float,
    **attributes: Any,
) -> int:
    """Compare a rule with what kernels compute, for all intervals of so many operands.

    Returns:
        How often the rule excludes a number of the type, or NaN.
    """
    grid = np.meshgrid(*[NUMBERS] * operands, indexing="ij")
    computed, said, wrong = results(kernel, *grid), 0, []
    node, held = node_of(operator, *[ANYTHING] * operands, *others, **attributes)
    tried = [(ends, known(ends), places(ends)) for ends in intervals]
    for each in itertools.product(tried, repeat=operands):
        ends, operands_known, within = zip(*each, strict=True)
        held.update(zip(node.inputs[:operands], operands_known, strict=True))
        found = said_of(node)
        misfit = misfits(found, computed[:, *within])
        wrong += [f"{ends}: {misfit} not in {found.whole}"] if misfit else []
        said += not found.nan or found.whole.lower > -INF or found.whole.upper < INF
    assert not wrong, wrong[:5]
    return said


def sloped(r: Rounding, x: Array, slope: Array) -> Array:
    return np.where(x < 0, r(x * slope), x)


def hard_sigmoid(alpha: float, beta: float) -> Kernel:
    return lambda r, x: np.clip(r(r(r(np.asarray(alpha)) * x) + r(np.asarray(beta))), 0, 1)


ONE: dict[str, tuple[str, Kernel, dict[str, Any]]] = {
    "Abs": ("Abs", lambda _, x: np.abs(x), {}),
    "Cast": ("Cast", lambda r, x: r(x), {"to": 1}),
    "Ceil": ("Ceil", lambda _, x: np.ceil(x), {}),
    "Floor": ("Floor", lambda _, x: np.floor(x), {}),
    "Neg": ("Neg", lambda _, x: -x, {}),
    "Relu": ("Relu", lambda _, x: np.maximum(x, 0), {}),
    "Round": ("Round", lambda _, x: np.round(x), {}),
    "Sign": ("Sign", lambda _, x: np.sign(x), {}),
    **{
        f"LeakyRelu of {slope:g}": (
            "LeakyRelu",
            lambda r, x, slope=slope: sloped(r, x, r(np.asarray(slope))),
            {"alpha": slope},
        )
        for slope in NUMBERS[np.isfinite(NUMBERS)].tolist()
    },
    **{
        f"HardSigmoid of {alpha:g} and {beta:g}": (
            "HardSigmoid",
            hard_sigmoid(alpha, beta),
            {"alpha": alpha, "beta": beta},
        )
        for alpha, beta in [(0.5, 0.5), (-1.0, 3.0), (3.0, -3.0), (0.0, 1.0)]
    },
}


@pytest.mark.parametrize("name", ONE)
def test_rule_of_one_operand_holds_for_all_intervals(name: str) -> None:
    operator, kernel, attributes = ONE[name]
    assert held_to_all(operator, kernel, ALL, 1, **attributes) > len(ALL) / 4


TWO: dict[str, tuple[str, Kernel]] = {
    "Add": ("Add", lambda r, a, b: r(a + b)),
    "Div": ("Div", lambda r, a, b: r(a / b)),
    "Max": ("Max", lambda _, a, b: np.maximum(a, b)),
    "Mean": ("Mean", lambda r, a, b: r(r(a + b) / 2)),
    "Min": ("Min", lambda _, a, b: np.minimum(a, b)),
    "Mul": ("Mul", lambda r, a, b: r(a * b)),
    "PRelu": ("PRelu", sloped),
    "PRelu as a sum": (
        "PRelu",
        lambda r, x, slope: r(np.maximum(x, 0) + r(slope * np.minimum(x, 0))),
    ),
    "Sub": ("Sub", lambda r, a, b: r(a - b)),
}


@pytest.mark.parametrize("name", TWO)
def test_rule_of_two_operands_holds_for_all_pairs_of_intervals(name: str) -> None:
    operator, kernel = TWO[name]
    assert held_to_all(operator, kernel, ALL, 2) > len(ALL) ** 2 / 4


@pytest.mark.parametrize("exponent", [0.0, 0.5, 1.0, 2.0, 3.0, -1.0, -2.0])
def test_rule_of_powers_holds_for_all_intervals(exponent: float) -> None:
    def kernel(r: Rounding, x: Array) -> Array:
        return r(np.power(x, exponent))

    held_to_all("Pow", kernel, ALL, 1, exponent)


THREE: dict[str, tuple[str, Kernel]] = {
    "Clip": ("Clip", lambda _, x, low, high: np.minimum(np.maximum(x, low), high)),
    "Clip whose lower limit wins": (
        "Clip",
        lambda _, x, low, high: np.maximum(np.minimum(x, high), low),
    ),
    "Sum": ("Sum", lambda r, a, b, c: r(r(a + b) + c)),
    "Sum in another order": ("Sum", lambda r, a, b, c: r(a + r(b + c))),
}


@pytest.mark.parametrize("name", THREE)
def test_rule_of_three_operands_holds_for_all_intervals_of_few_numbers(name: str) -> None:
    operator, kernel = THREE[name]
    assert held_to_all(operator, kernel, FEW, 3) > 0
