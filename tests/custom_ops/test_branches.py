"""Each branch of what stands around the arithmetic has a mutant, and is told from it."""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from sonnx_ort.custom_ops import broadcast, decision, kernel, violation_log
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.failure_channel import CODE_BASE, guard_name
from sonnx_ort.custom_ops.violation_log import LOG
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType


def decided(outputs: tuple[Any, Any]) -> tuple[object, object]:
    """A kernel's result and shape; on a violation the code and the words."""
    result, shape = (np.asarray(output) for output in outputs)
    if shape.size and shape[0] < 0:
        ticket = -int(shape[0])
        return ticket % CODE_BASE, str(LOG.take(ticket))
    return result.tolist(), shape.tolist()


def common_shapes(module: ModuleType) -> object:
    calls = [([2, 3, 3], [2, 1]), ([3, 2], [1, 1]), ([0, 1], [1, 1]), ([], [0])]
    return [
        decided(module.common_shape(np.array(sizes), np.array(ranks), "n", '["x", "y"]'))
        for sizes, ranks in calls
    ]


def aligned_shapes(module: ModuleType) -> object:
    calls = [([2, 3, 3], "0"), ([2, 3, 2], "0"), ([2, 3, 3], ""), ([2, 3, 1], "7")]
    return [
        decided(
            module.aligned_shape(
                np.array(sizes), np.array([2, 1]), "n", "Div", "Div.float.R1", axis
            )
        )
        for sizes, axis in calls
    ]


def decisions(module: ModuleType) -> object:
    division = CUSTOM_OPERATORS["Div"].operator
    refusal = module.make_decision(
        division,
        lambda edition: division.rules(edition, ElementType.INT32.family),
        np.dtype(np.int32),
    )
    a, zero = np.array([6, 4], np.int32), np.array([3, 0], np.int32)
    refused = [refusal(feed, "n", "typed", {}) for feed in [(a, a), (a, zero), (a, a[:1])]]
    return [outputs and decided(outputs) for outputs in refused]


def cut_tensors(module: ModuleType) -> object:
    tensors = module.separated(np.arange(6), np.array([1, 2, 3]), np.array([2, 1, 0]))
    return [tensor.tolist() for tensor in tensors]


def kept_errors(module: ModuleType) -> object:
    log = module.ViolationLog(capacity=2)
    tickets = [log.record(11, ValueError(str(number))) for number in range(3)]
    return [str(log.take(ticket)) for ticket in tickets]


@pytest.mark.parametrize(
    ("module", "look", "before", "after"),
    [
        (broadcast, common_shapes, "if clash is not None", "if clash is None"),
        (broadcast, common_shapes, "if clash is not None", "if False"),
        (broadcast, common_shapes, "max(axis)", "min(axis)"),
        (broadcast, aligned_shapes, "if violation is not None", "if violation is None"),
        (broadcast, aligned_shapes, "if violation is not None", "if False"),
        (broadcast, aligned_shapes, "int(axis) if axis else None", "None"),
        (broadcast, aligned_shapes, "len(b)) or 0", "len(b)) or 1"),
        (decision, decisions, "if violation is not None", "if False"),
        (decision, decisions, "if rule.in_run", "if not rule.in_run"),
        (kernel, cut_tensors, "for rank in ranks.tolist()", "for rank in ranks.tolist()[:1]"),
        (kernel, cut_tensors, "start = stop", "start = 0"),
        (kernel, cut_tensors, "start += rank", "start += 1"),
        (violation_log, kept_errors, "while len(self._errors) > self._capacity", "while False"),
        (violation_log, kept_errors, "popitem(last=False)", "popitem(last=True)"),
    ],
)
def test_mutant_is_told_from_the_original(
    module: ModuleType, look: Callable[[ModuleType], object], before: str, after: str
) -> None:
    source = Path(str(module.__file__)).read_text(encoding="utf-8")
    assert source.count(before) == 1
    mutant = ModuleType("mutant")
    exec(compile(source.replace(before, after), "mutant", "exec"), mutant.__dict__)  # noqa: S102
    assert look(mutant) != look(module)


@pytest.mark.parametrize(
    ("remark", "end"), [("", "11 Div.float.R1"), ("B has to fit", "11 Div.float.R1; B has to fit")]
)
def test_guard_bears_the_rules_that_a_run_can_break(remark: str, end: str) -> None:
    rules = [RULES["Div.float.R2"], RULES["Div.float.R1"]]
    assert guard_name("Div", "n", rules, remark) == (
        "Div 'n' breaks the SONNX profile; the last four digits of the dimension below tell the "
        f"rule: {end}"
    )
