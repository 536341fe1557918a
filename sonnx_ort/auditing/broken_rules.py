"""Which rules of the profile the operands of a node break in a run."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime

from sonnx_ort.comparing.isolated_run import Array
from sonnx_ort.oracle.node import ELEMENT_TYPES
from sonnx_ort.profile.broadcast import E1
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.options import Broadcasting, Demands
from sonnx_ort.profile.rule import AttributeValue, Rule, Status, Subject
from sonnx_ort.terms.operand import Operand


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that the operands of a node break.

    Attributes:
        rule: The rule.
        reason: A clause that says how.
        index: The index of the first invalid element; None if the rule is about something else.
        values: The elements of the operands at that index, as Python numbers.
    """

    rule: Rule
    reason: str
    index: tuple[int, ...] | None = None
    values: tuple[int | float, ...] | None = None


def broken_rules(
    operator: str,
    version: int,
    attributes: Mapping[str, Any],
    operands: Sequence[Array | None],
    demands: Demands,
) -> tuple[BrokenRule, ...]:
    """Find the rules that a node breaks, for the operands of a run.

    Args:
        operator: The operator.
        version: Its version, or that of the opset.
        attributes: The attributes of the node.
        operands: Its operands, None for omitted ones.
        demands: The edition, the operators whose rules count, and whether broadcasting is
            explicit: then tensors need only have a common shape.
    """
    return tuple(_broken_rules(operator, version, attributes, operands, demands))


def _broken_rules(
    operator: str,
    version: int,
    attributes: Mapping[str, Any],
    operands: Sequence[Array | None],
    demands: Demands,
) -> Iterator[BrokenRule]:
    profiled = OPERATORS.get(operator)
    if profiled is None or operator not in demands.operators:
        return
    names = profiled.operand_names(len(operands))
    given = {n: o for n, o in zip(names, operands, strict=False) if o is not None}
    facts = [_fact(name, array) for name, array in given.items()]
    plain = {name: _plain(value) for name, value in attributes.items()}
    aligned = _aligned(tuple(given.values())) if profiled.elementwise else tuple(given.values())
    explicit = demands.broadcasting is Broadcasting.EXPLICIT
    usable = True
    for rule in profiled.rules_of_node(demands.edition, facts, plain, version):
        if not rule.needed_with(onnxruntime.__version__):
            continue
        if rule.requirement.subject is Subject.EQUAL_SHAPES and explicit:
            rule = E1  # noqa: PLW2901 - explicit broadcasting has this rule in its place
        judgement = rule.requirement.judge(rule.select_operands(tuple(given), facts))
        if judgement.status is Status.VIOLATED:
            # Rules on elements may need what another rule demands, such as all operands.
            usable = usable and rule.in_run
            yield BrokenRule(rule, judgement.evidence)
        elif judgement.status is Status.RUNTIME and rule.in_run and usable and aligned is not None:
            found = rule.violation(tuple(given), aligned)
            if found is not None:
                yield BrokenRule(rule, found.reason, found.index, found.values)


def _fact(name: str, array: Array) -> Operand:
    """What is known of an operand in a run, without its elements."""
    element_type = ELEMENT_TYPES.get(array.dtype)
    kind = None if element_type is None else element_type.value
    return Operand(name, name, "run", kind, tuple(map(int, array.shape)))


def _plain(value: Any) -> AttributeValue:
    if isinstance(value, list | tuple):
        return tuple(value)
    return value if isinstance(value, int | float | str) else None


def _aligned(arrays: tuple[Array, ...]) -> tuple[Array, ...] | None:
    """Tensors in their common shape, in which rules on elements see them; None if there is none."""
    try:
        return tuple(np.broadcast_arrays(*arrays)) if arrays else ()
    except ValueError:
        return None
