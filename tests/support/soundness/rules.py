"""Which rules operands break: the profile says which there are, and the exact oracle decides."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from sonnx_ort.oracle import Violation, outcome
from sonnx_ort.oracle.single_operands import (
    single_operand_violation,
    single_operand_violations,
)
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Rule, Subject
from support.soundness.arrays import Array
from support.soundness.leaves import Abandoned

Attributes = Mapping[str, int | float]
Places = Sequence[Array | None]
"""The operands of a node, None in the places of those that are left out."""

TYPES = {kind.dtype: kind for kind in ElementType}

_AXES, _STEPS = 3, 4
"""Where a Slice reads them."""


def _left_out(places: Places, position: int) -> bool:
    return all(place is None for place in places[position : position + 1])


_BY_THE_NODE: Mapping[str, Callable[[Places, Attributes], bool]] = {
    "BatchNormalization.R1": lambda _, said: said.get("training_mode", 0) != 0,
    "BatchNormalization.C1": lambda _, said: not said.get("epsilon", 1e-5) > 0,
    "ArgMax.R4": lambda _, said: said.get("axis", 0) < 0,
    "Slice.R1": lambda places, _: _left_out(places, _AXES),
    "Slice.R3": lambda places, _: _left_out(places, _STEPS),
}
"""What breaks the rules that no operand decides, of which the oracle says nothing."""


def type_of(operator: str, places: Places) -> ElementType:
    """The type of the operands that have no type of their own."""
    found = OPERATORS[operator]
    names = found.operand_names(len(places))
    pairs = zip(names, places, strict=False)
    first = next(p for name, p in pairs if p is not None and name not in found.operand_types)
    return TYPES[first.dtype]


def result_of(operator: str, operands: Sequence[Array], edition: str) -> Array | Violation:
    """What an operator without attributes gives of operands."""
    return outcome(operator, operands, type_of(operator, operands), Edition(edition))


def shape_rules(operator: str, places: Places, edition: str) -> tuple[str, ...]:
    """The ids of the rules that demand equal shapes, in order of decision."""
    rules = _rules(operator, places, edition)
    return tuple(r.id for r in rules if r.requirement.subject is Subject.EQUAL_SHAPES)


def decided_rules(
    operator: str, places: Places, edition: str, attributes: Attributes
) -> dict[str, bool]:
    """The rules that operands can break, in order of decision, and whether they break them.

    Rules behind the first that is broken may be missing: the oracle says no more of them.

    Args:
        operator: One of the profile's, but for Broadcast.
        places: The operands.
        edition: "typed" or "preliminary".
        attributes: What attributes of the node say.

    Raises:
        Abandoned: ONNX Runtime refuses the operands, if no guard has refused them before.
    """
    rules = _rules(operator, places, edition)
    decided = {
        rule.id: _BY_THE_NODE[rule.id](places, attributes)
        for rule in rules
        if rule.id in _BY_THE_NODE
    }
    if any(decided.values()):
        return decided
    broken, complete = _broken_rules(operator, places, edition, attributes)
    for rule in rules:
        if rule.in_run:
            decided[rule.id] = rule.id in broken
            if decided[rule.id] and not complete:
                break
    return decided


def breaks(operator: str, rule: str, places: Places, attributes: Attributes) -> bool:
    """Whether operands of an operator that is not element-wise break a rule, whatever else they do.

    What a Slice does not have is what ONNX says of it: all axes, in steps of 1.
    """
    if rule in _BY_THE_NODE:
        return _BY_THE_NODE[rule](places, attributes)
    if _beyond_all_axes(operator, places, attributes):
        return rule == "ArgMax.R5"
    given = list(places)
    if operator == "Slice":
        x, starts, ends, axes, steps = [*given, None, None][: _STEPS + 1]
        assert x is not None
        assert starts is not None
        given = [x, starts, ends, np.arange(starts.size) if axes is None else axes]
        given.append(np.ones(starts.size, np.int64) if steps is None else steps)
    return rule in {each.rule for each in single_operand_violations(operator, given, attributes)}


def _rules(operator: str, places: Places, edition: str) -> tuple[Rule, ...]:
    family = type_of(operator, places).family
    return OPERATORS[operator].rules(Edition(edition), family)


def _broken_rules(
    operator: str, places: Places, edition: str, attributes: Attributes
) -> tuple[set[str], bool]:
    """The rules that the oracle finds broken, and whether these are all of them."""
    if not OPERATORS[operator].elementwise:
        if _beyond_all_axes(operator, places, attributes):
            return {"ArgMax.R5"}, True
        first = single_operand_violation(operator, places, attributes)
        return ({first.rule} if first else set()), first is None
    operands = [place for place in places if place is not None]
    asked = type_of(operator, places), Edition(edition), attributes
    found = outcome(operator, operands, *asked)
    if not isinstance(found, Violation):
        return set(), True
    if found.index is None:
        return {found.rule}, False
    alone = (
        outcome(operator, [np.asarray(operand[index]) for operand in operands], *asked)
        for index in np.ndindex(operands[0].shape)
    )
    return {each.rule for each in alone if isinstance(each, Violation)}, True


def _beyond_all_axes(operator: str, places: Places, attributes: Attributes) -> bool:
    """Whether an ArgMax names an axis that there is not; a Slice that ONNX Runtime refuses."""
    match operator, places:
        case "ArgMax", [np.ndarray() as data]:
            return not -data.ndim <= int(attributes.get("axis", 0)) < data.ndim
        case "Slice", [np.ndarray() as data, *indices]:
            if len(indices) < _STEPS or any(index is None for index in indices):
                return False
            starts, ends, axes, steps = (index for index in indices if index is not None)
            lengths = {index.size for index in (starts, ends, axes, steps)}
            missing = (axes < -data.ndim) | (axes >= data.ndim)
            if len(lengths) > 1 or missing.any() or not steps.all():
                raise Abandoned("Slice")
    return False
