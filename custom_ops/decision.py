"""Checks the rules of an operator on the operands of a run."""

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import onnxruntime

from sonnx_ort.custom_ops.definition import KernelOutput
from sonnx_ort.custom_ops.violation_log import contract_violation, failed
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import VERSION, AttributeValue, Rule

Array = npt.NDArray[Any]

ATTRIBUTES = ("node", "edition")
"""The attributes of every custom operator; others have parameters of its rules."""


def for_any_version(edition: Edition) -> str:
    """The attribute `edition` of a node that checks the rules of every version of onnxruntime.

    The reference of a natively enforced model has it, whose guards are for every version.
    """
    return f"{edition.value}, any version"


class Decision(Protocol):
    """Finds the first violated rule."""

    def __call__(
        self,
        operands: Sequence[Array],
        node: str,
        edition: str,
        attributes: Mapping[str, str],
        names: Sequence[str] = (),
    ) -> tuple[KernelOutput, KernelOutput] | None:
        """Return what a kernel returns for a violation; None if all rules are kept.

        The attributes are the operator's parameters in JSON; names are given if operands are
        omitted.
        """
        ...


def make_decision(
    operator: Operator,
    rules: Callable[[Edition], Iterable[Rule]],
    dtype: np.dtype[Any],
    runtime: str = onnxruntime.__version__,
) -> Decision:
    """Prepare the decision of an operator.

    Only rules that a run can violate are checked, and that this version of onnxruntime needs; the
    dtype is that of the kernel's result.
    """
    plain: dict[str, tuple[Rule, ...]] = {}
    for each in Edition:
        every = tuple(rule for rule in rules(each) if rule.in_run)
        plain[each.value] = tuple(rule for rule in every if rule.needed_with(runtime))
        plain[for_any_version(each)] = every

    @functools.cache
    def of_node(edition: str, attributes: tuple[tuple[str, str], ...]) -> tuple[Rule, ...]:
        given = {name: _attribute(text) for name, text in attributes}
        version = given.get(VERSION)
        binding = plain[edition]
        if isinstance(version, int):
            binding = tuple(rule for rule in binding if rule.binds_version(version))
        return tuple(rule.of_node(given) for rule in binding)

    def refusal(
        operands: Sequence[Array],
        node: str,
        edition: str,
        attributes: Mapping[str, str],
        names: Sequence[str] = (),
    ) -> tuple[KernelOutput, KernelOutput] | None:
        binding = of_node(edition, tuple(attributes.items())) if attributes else plain[edition]
        operand_names = tuple(names or operator.operand_names(len(operands)))
        for rule in binding:
            violation = rule.violation(operand_names, operands)
            if violation is not None:
                shapes = tuple(operand.shape for operand in operands)
                error = contract_violation(operator, rule, node, operand_names, shapes, violation)
                return failed(dtype, rule.code, error)
        return None

    return refusal


def _attribute(text: str) -> AttributeValue:
    value = json.loads(text)
    return tuple(value) if isinstance(value, list) else value
