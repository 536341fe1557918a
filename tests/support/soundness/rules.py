"""Which rules operands break, by the exact oracle and by plain statements of the rules."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from restrictions import NEWEST, Violation, decided_in_run, outcome, violation
from restrictions import OPERATORS as WITH_OUTCOMES
from statements import kept_by_node

from sonnx_ort.profile.catalog import OPERATORS, RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.same_type import SameNumericType
from sonnx_ort.profile.rule import Rule, Subject
from support.soundness.arrays import Array
from support.soundness.leaves import Abandoned

Attributes = Mapping[str, Any]
Places = Sequence[Array | None]
"""The operands of a node, None in the places of those that are left out."""

TYPES = {kind.dtype: kind for kind in ElementType}

_AXES, _STEPS = 3, 4
"""Where a Slice reads them."""

_RANKS = frozenset({"Conv.R1", "ConvInteger.R1", "MaxPool.R1", "Gemm.R1", "LSTM.X", "Softmax.C2"})
"""The rules about ranks, behind which others say nothing."""


def broken_by_node(
    rule: str, inputs: Sequence[object | None], attributes: Attributes
) -> bool | None:
    """Whether a node breaks a rule that no operand decides; None for other rules.

    Args:
        rule: The rule's id.
        inputs: What stands for its inputs, None for those that are left out.
        attributes: What its attributes say.
    """
    if RULES[rule].requirement.subject is not Subject.ATTRIBUTES:
        return None
    names = OPERATORS[rule.partition(".")[0]].operand_names(len(inputs))
    given = {n: each for n, each in zip(names, inputs, strict=False) if each is not None}
    return not kept_by_node(rule, given, as_tuples(attributes))


def as_tuples(attributes: Attributes) -> Attributes:
    """Attributes with lists as the profile has them."""
    return {n: tuple(v) if isinstance(v, list) else v for n, v in attributes.items()}


def type_of(operator: str, places: Places) -> ElementType:
    """The type of the operands that have no type of their own; float where there are none."""
    found = OPERATORS[operator]
    names = found.operand_names(len(places))
    pairs = zip(names, places, strict=False)
    own = (p for name, p in pairs if p is not None and name not in found.operand_types)
    first = next(own, None)
    return ElementType.FLOAT if first is None else TYPES[first.dtype]


def result_of(operator: str, operands: Sequence[Array], edition: str) -> Array | Violation:
    """What an operator without attributes gives of operands."""
    return outcome(operator, operands, type_of(operator, operands), Edition(edition))


def shape_rules(operator: str, places: Places, edition: str) -> tuple[str, ...]:
    """The ids of the rules that demand equal shapes, in order of decision."""
    rules = _rules(operator, places, edition)
    return tuple(r.id for r in rules if r.requirement.subject is Subject.EQUAL_SHAPES)


def decided_rules(
    operator: str, places: Places, edition: str, attributes: Attributes, version: int = NEWEST
) -> dict[str, bool]:
    """The rules that operands can break, in order of decision, and whether they break them.

    Rules behind the first that is broken may be missing: the oracle says no more of them.

    Args:
        operator: One of the profile's, but for Broadcast.
        places: The operands.
        edition: "typed" or "preliminary".
        attributes: What attributes of the node say.
        version: The version of the standard operators.

    Raises:
        Abandoned: ONNX Runtime refuses the operands, if no guard has refused them before.
    """
    rules = [r for r in _rules(operator, places, edition) if r.binds_version(version)]
    by_node = {r.id: broken_by_node(r.id, places, attributes) for r in rules}
    decided = {rule: broken for rule, broken in by_node.items() if broken is not None}
    if any(decided.values()):
        return decided
    if OPERATORS[operator].elementwise:
        broken, complete = _broken_rules(operator, places, edition, attributes)
        in_run = [(rule.id, rule.id in broken) for rule in rules if rule.in_run]
    elif _beyond_all_axes(operator, places, attributes):
        in_run = [(rule.id, rule.id == "ArgMax.R5") for rule in rules if rule.in_run]
        complete = True
    else:
        asked = type_of(operator, places), Edition(edition), as_tuples(attributes)
        found = decided_in_run(operator, places, *asked, version=version)
        in_run, complete = ((rule, each is not None) for rule, each in found), False
    for rule, is_broken in in_run:
        decided[rule] = is_broken
        if is_broken and not complete:
            break
    return decided


def breaks(operator: str, rule: str, places: Places, attributes: Attributes) -> bool:
    """Whether operands of an operator that is not element-wise break a rule, whatever else they do.

    What a Slice does not have is what ONNX says of it: all axes, in steps of 1.
    """
    by_node = broken_by_node(rule, places, attributes)
    if by_node is not None:
        return by_node
    if RULES[rule].requirement.subject is Subject.TYPES:
        return _of_other_types(operator, RULES[rule], places)
    if _beyond_all_axes(operator, places, attributes):
        return rule == "ArgMax.R5"
    given = list(places)
    if operator == "Slice":
        x, starts, ends, axes, steps = [*given, None, None][: _STEPS + 1]
        assert x is not None
        assert starts is not None
        given = [x, starts, ends, np.arange(starts.size) if axes is None else axes]
        given.append(np.ones(starts.size, np.int64) if steps is None else steps)
    asked = type_of(operator, places), Edition.TYPED, as_tuples(attributes)
    for each, found in decided_in_run(operator, given, *asked):
        # Where an operand has another rank, nothing is as demanded that speaks of its axes.
        if found is not None and each in {rule, *_RANKS}:
            return True
        if each == rule:
            break
    return False


def _of_other_types(operator: str, rule: Rule, places: Places) -> bool:
    """Whether operands have several types, or none of those that a rule names."""
    names = OPERATORS[operator].operand_names(len(places))
    types = {place.dtype for place in rule.select_operands(names, places) if place is not None}
    assert isinstance(rule.requirement, SameNumericType)
    kinds = {kind.dtype for kind in ElementType if kind in rule.requirement.kinds}
    return len(types) > 1 or not types <= kinds


def _rules(operator: str, places: Places, edition: str) -> tuple[Rule, ...]:
    family = type_of(operator, places).family
    return OPERATORS[operator].rules(Edition(edition), family)


def _broken_rules(
    operator: str, places: Places, edition: str, attributes: Attributes
) -> tuple[set[str], bool]:
    """The rules that the oracle finds broken by elements, and whether these are all of them."""
    if operator not in WITH_OUTCOMES:
        return set(), True
    operands = [place for place in places if place is not None]
    asked = type_of(operator, places), Edition(edition), attributes
    first = violation(operator, operands, *asked)
    if first is None:
        return set(), True
    if first.index is None:
        return {first.rule}, False
    alone = (
        violation(operator, [np.asarray(operand[index]) for operand in operands], *asked)
        for index in np.ndindex(operands[0].shape)
    )
    return {each.rule for each in alone if each is not None}, True


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
