"""Trials with a fault in the package, which the search for false proofs has to find.

Attempts for `support.soundness.isolated`: each is made in a fork, where the fault stays.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from sonnx_ort.facts import catalog
from sonnx_ort.facts.node import Node
from sonnx_ort.facts.ranges import Interval
from sonnx_ort.ort import disabled_optimizers as tables
from sonnx_ort.ort import optimized_graph, optimizers
from support.soundness import contracted_numbers, fused_graphs, long_sums

_RULES: Any = catalog.INTERVAL_RULES


def no_optimizer_is_off(number: int) -> dict[str, int]:
    """Let every optimizer of numbers act, and look at no optimized graph."""
    modules: Any = tables, optimizers, optimized_graph
    for module, name, value in (
        (modules[0], "MUST_BE_OFF", ()),
        (modules[1], "OPTIMIZERS_OF_NUMBERS", ()),
        (modules[2], "unknown_nodes", lambda *_: []),
    ):
        assert hasattr(module, name), name
        setattr(module, name, value)
    return fused_graphs.attempt(number)


def relu_is_narrow(number: int) -> dict[str, int]:
    """Say of a Relu that it gives no more than half of what it gives."""
    _replace("Relu", lambda found: Interval(found.lower, found.upper / 2, found.nan))
    return contracted_numbers.attempt(number)


def sums_are_narrow(number: int) -> dict[str, int]:
    """Say of sums that they give the middle half of what they give."""
    for operator in ("ReduceSum", "ReduceMean", "MatMul", "Gemm"):
        _replace(operator, _middle_half)
    return long_sums.attempt(number)


def _middle_half(found: Interval) -> Interval:
    middle = (found.lower + found.upper) / 2
    half = (found.upper - found.lower) / 4
    with np.errstate(invalid="ignore"):
        return Interval(middle - half, middle + half, found.nan)


def _replace(operator: str, narrowed: Any) -> None:
    rule = _RULES[operator]

    def planted(node: Node) -> Sequence[Interval | None]:
        return [None if each is None else narrowed(each) for each in rule(node)]

    _RULES[operator] = planted
