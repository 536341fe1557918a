"""Decides in a run what an operator's rules make of its operands."""

import functools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sonnx_ort.custom_ops.definition import KernelOutput
from sonnx_ort.custom_ops.violation_log import contract_violation, failed
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule

Array = npt.NDArray[Any]

ATTRIBUTES = ("node", "edition")
"""The attributes of a custom operator, besides those that say what its rules demand."""


class Decision(Protocol):
    """Looks for the first rule that is broken."""

    def __call__(
        self,
        operands: Sequence[Array],
        node: str,
        edition: str,
        attributes: Mapping[str, str],
        names: Sequence[str] = (),
    ) -> tuple[KernelOutput, KernelOutput] | None:
        """Give what a kernel returns for a violation; None if all rules are kept.

        Args:
            operands: The operands.
            node: The node's name.
            edition: The edition that it is held to.
            attributes: What its rules demand by attributes, in JSON.
            names: The names of the operands, where some are left out.
        """
        ...


def make_decision(
    operator: Operator, rules: Callable[[Edition], Iterable[Rule]], dtype: np.dtype[Any]
) -> Decision:
    """Prepare to decide.

    Args:
        operator: The operator.
        rules: Gives the rules of an edition; those that a run can break are looked at.
        dtype: The dtype of what the kernel gives where all rules are kept.
    """
    plain = {e.value: tuple(rule for rule in rules(e) if rule.in_run) for e in Edition}

    @functools.cache
    def of_node(edition: str, attributes: tuple[tuple[str, str], ...]) -> tuple[Rule, ...]:
        values = {name: json.loads(text) for name, text in attributes}
        return tuple(rule.of_node(values) for rule in plain[edition])

    def refusal(
        operands: Sequence[Array],
        node: str,
        edition: str,
        attributes: Mapping[str, str],
        names: Sequence[str] = (),
    ) -> tuple[KernelOutput, KernelOutput] | None:
        binding = of_node(edition, tuple(attributes.items())) if attributes else plain[edition]
        for rule in binding:
            spoken_of = operands
            if rule.operands is not None:
                spoken_of = rule.spoken_of(names or operator.operand_names(len(operands)), operands)
            violation = rule.requirement.violation(spoken_of)
            if violation is not None:
                told = tuple(names or operator.operand_names(len(operands)))
                shapes = tuple(operand.shape for operand in operands)
                error = contract_violation(operator, rule, node, told, shapes, violation)
                return failed(dtype, rule.code, error)
        return None

    return refusal
