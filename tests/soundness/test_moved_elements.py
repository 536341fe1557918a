"""Operators that are said to move elements give elements of their first operand, and no others.

Bounds, intervals and signs of zeros are taken from the operand to the results of these operators.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from sonnx_ort.facts.catalog import MOVING
from support.soundness.arrays import Array
from support.soundness.nodes import random_case
from support.soundness.operator_runs import (
    Attempt,
    HeldToRuns,
    OneNode,
    chosen,
    held_to_a_run,
    runs_of_numbers,
)

_TYPES = ("float32", "float64", "float16", "int8", "int32", "int64", "uint8")

_FEWEST = 3
"""No element is 0 or 1, so that a result that nothing was written to is noticed."""

NEEDED = runs_of_numbers(30)


def attempt(number: int) -> Attempt:
    """Try one node, whose first operand has distinct numbers."""
    operator, rng = chosen("moved elements", MOVING, number)
    case, made = random_case(rng, operator), OneNode()
    first, *others = case.inputs
    if first is None:
        return None
    numbers = (np.arange(first.size) % 100 + _FEWEST).astype(rng.choice(_TYPES))
    numbers = numbers.reshape(first.shape)

    def source(index: int, array: Array) -> str:
        constant = index > 0 and rng.random() < 0.5
        name = f"x{index}"
        return made.constant(name, array) if constant else made.given(name, array, array.shape)

    def compared(_: list[Any], outputs: list[Array]) -> dict[str, Any]:
        strange = [number for each in outputs for number in each[~np.isin(each, numbers)]]
        return {"misfit": f"{strange[:3]} is no element" if strange else ""}

    model = made.model(replace(case, inputs=[numbers, *others]), source)
    return held_to_a_run(rng, model, made.feeds, lambda _: lambda _: True, compared)


class TestMovedElements(HeldToRuns):
    """No result has an element that the first operand does not have."""

    attempt = "soundness.test_moved_elements:attempt"
    operators = MOVING
    needed = NEEDED
