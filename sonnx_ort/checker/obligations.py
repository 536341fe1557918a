"""What the profile demands of nodes and values, decided by what is established of them.

The rules are those of `sonnx_ort.profile`. What a rule reads of an operand is looked up when it
reads it, so that it is known whether an obligation rests on floats that a kernel computes.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sonnx_ort.checker.graphs import Definitions, Node
from sonnx_ort.checker.model import Model
from sonnx_ort.facts.node import INTEGERS
from sonnx_ort.facts.ranges import Interval, Range
from sonnx_ort.facts.sizes import Bounds, Rejected, require
from sonnx_ort.profile.graph import FINITE, is_of_contract
from sonnx_ort.profile.operator import DOMAIN_VERSION, STANDARD_DOMAIN
from sonnx_ort.profile.operators import OPERATORS
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.quotients import NONZERO_DIVISOR, InfinityForZeroDivisor
from sonnx_ort.profile.rule import AttributeValue, Rule, Status, Subject
from sonnx_ort.terms.operand import Operand, dimensions

LISTS = ("obligations", "guarded", "waived", "unknown")
"""The entries of a certificate that say of obligations what holds them."""


class Established(Operand):
    """An operand of which that is known what is established.

    Equal symbols are equal sizes in every run: the checker gives each open size a name of its own,
    and no shape to an input that is declared as a scalar.

    Attributes:
        model: What is established.
        unknown: Why nothing is known, by what a rule has read in vain.
    """

    model: Definitions
    unknown: dict[str, str]

    def __init__(self, name: str, value: str, model: Definitions) -> None:
        """Look up nothing yet."""
        fields = {"name": name, "value": value, "model": model, "unknown": {}}
        for field, held in {**fields, **_CERTAIN}.items():
            object.__setattr__(self, field, held)

    def __getattr__(self, field: str) -> Any:
        """Look up what a rule reads for the first time."""
        if field not in _LOOKED_UP:
            raise AttributeError(field)
        found = None
        try:
            found = _LOOKED_UP[field](self)
        except Rejected as reason:
            self.unknown[field] = str(reason)
        object.__setattr__(self, field, found)
        return found

    def known(self, kind: str) -> Any:
        """What is established of it; of all but its type, if the file claims nothing else.

        Where it does, ONNX Runtime may leave nodes out, and other elements are summed.

        Raises:
            Rejected: Nothing is, or the file claims a shape on its way that is not established.
        """
        if kind != "type":
            self.model.require_true_claims(self.value)
        return self.model.known(kind, self.value)


def _is_constant(operand: Established) -> bool:
    return operand.model.is_constant(operand.value)


def _origin(operand: Established) -> str:
    """A word by which a rule knows what stands in the file."""
    if _is_constant(operand):
        return "initializer"
    return "input" if operand.value in operand.model.inputs else "another node"


def _constant(operand: Established) -> Any:
    """The elements that stand in the file, or that are derived as numbers."""
    if not operand.model.knows("elements", operand.value) or _is_constant(operand):
        return operand.model.array(operand.value)
    numbers = operand.known("elements")
    require(all(isinstance(number, int) for number in numbers), "an element is open")
    require(operand.element_type in INTEGERS, "it has no integers")
    return np.array(numbers, operand.known("type")).reshape(operand.known("shape"))


def _bounds(operand: Established) -> Bounds:
    """The interval of integers; of a constant, the elements decide."""
    require(not _is_constant(operand), "it is a constant")
    bounds: Bounds = operand.known("bounds")
    require(operand.element_type in INTEGERS, "it has no integers")
    return bounds


def _range(operand: Established) -> Range:
    """The numbers that floats can be."""
    interval: Interval = operand.known("interval")
    return interval.whole


def _alike(operand: Established) -> str:
    """The value that has its shape, of which ONNX Runtime infers nothing else."""
    operand.model.require_as_inferred(operand.value)
    return str(operand.model.shaped_like(operand.value))


_CERTAIN = {"shared_symbols": frozenset[str](), "scalar_inputs": False}

_LOOKED_UP: Mapping[str, Callable[[Established], Any]] = {
    "origin": _origin,
    "sparse": lambda operand: not operand.model.is_dense(operand.value),
    "element_type": lambda operand: operand.known("type"),
    "shape": lambda operand: dimensions(operand.known("shape")),
    "sizes": lambda operand: dimensions(operand.known("elements")),
    "constant": _constant,
    "bounds": _bounds,
    "range": _range,
    "alike": _alike,
}
"""What is looked up when a rule reads it, by the field of an operand."""


def _operands(node: Node) -> list[Established]:
    """The operands of a node without those that are omitted."""
    operator = OPERATORS.get(node.op_type)
    if operator is None or operator.domain != node.proto.domain:
        raise Rejected(f"the profile has no {node.op_type}")
    known = node.proto.domain != STANDARD_DOMAIN or node.version in operator.versions
    require(known, f"version {node.version} of {node.op_type} is not known")
    names = operator.operand_names(node.operands)
    require(node.operands <= len(names), f"the {node.op_type} has further operands")
    given = zip(names, node.proto.input, strict=False)
    return [Established(name, value, node.model) for name, value in given if value]


def rules_of(node: Node, edition: Edition) -> tuple[Rule, ...]:
    """The rules that bind a node: those of its operator, for the type of its operands.

    Raises:
        Rejected: The profile does not know the node, or the rules differ by a type that is not
            known.
    """
    return _rules_for(node, _operands(node), edition)


def _rules_for(node: Node, operands: Sequence[Established], edition: Edition) -> tuple[Rule, ...]:
    operator, element_type = OPERATORS[node.op_type], None
    families = iter(operator.contracts[edition].values())
    first = next(families)
    if any(rules != first for rules in families):
        deciding = (each for each in operands if each.name not in operator.operand_types)
        element_type = next(deciding).known("type")
    own = node.proto.domain != STANDARD_DOMAIN
    version = DOMAIN_VERSION if own else node.model.version
    attributes = tuple((name, _plain(value)) for name, value in node.attributes())
    # 1 and 1.0 are equal, and no rule may take the one for the other.
    return _rules(node.op_type, edition, element_type, attributes, repr(attributes), version)


# Each obligation of a node asks for its rules.
@functools.lru_cache(maxsize=256)
def _rules(
    operator: str,
    edition: Edition,
    element_type: str | None,
    attributes: tuple[tuple[str, AttributeValue], ...],
    _: str,
    version: int,
) -> tuple[Rule, ...]:
    typed = [Operand("the first", "", "", element_type)]
    return OPERATORS[operator].rules_of_node(edition, typed, dict(attributes), version)


def _plain(value: Any) -> AttributeValue:
    """The value of an attribute as rules know it; None for a tensor or a graph."""
    if isinstance(value, list):
        return tuple(value) if all(isinstance(each, int | float | str) for each in value) else None
    return value if isinstance(value, int | float | str) else None


def bound_rule(node: Node, identifier: str) -> tuple[Rule, Sequence[Established]]:
    """A rule that binds a node in any edition, and all operands of the node.

    Raises:
        Rejected: There is no such rule.
    """
    operator = identifier.partition(".")[0]
    require(operator == node.op_type, f"the node is a {node.op_type}")
    operands = _operands(node)
    bound = (rule for edition in Edition for rule in _rules_for(node, operands, edition))
    rule = next((rule for rule in bound if rule.id == identifier), None)
    if rule is None:
        raise Rejected("the rule does not bind the node")
    return rule, operands


def conclude_of_node(node: Node, identifier: str) -> None:
    """Conclude an obligation of a node.

    Raises:
        Rejected: It does not follow.
    """
    rule, operands = bound_rule(node, identifier)
    subject = rule.requirement.subject
    if subject is Subject.STORAGE:
        # Elements that are derived do not make a constant of an operand.
        for each in operands:
            object.__setattr__(each, "constant", None)
    if isinstance(rule.requirement, InfinityForZeroDivisor):
        # Where a divisor is 0, the Div of a file is that of ONNX, which gives something else.
        rule = replace(rule, requirement=NONZERO_DIVISOR)
    results = [
        Operand("the result", name, "node", sparse=not node.model.is_dense(name))
        for name in node.proto.output
    ]
    judgement, _ = rule.judge([each.name for each in operands], operands, results)
    # ONNX Runtime refuses what breaks a rule that it holds.
    held = subject is Subject.HELD and judgement.status is Status.RUNTIME
    if judgement.status is not Status.PROVED and not held:
        unknown = {kind: why for each in operands for kind, why in each.unknown.items()}
        open_to_the_run = judgement.status is Status.RUNTIME
        why = (unknown.get("element_type") or unknown.get("shape")) if open_to_the_run else None
        raise Rejected(f"it is not proved: {judgement.evidence}" + (f" ({why})" if why else ""))
    if subject is Subject.EQUAL_SHAPES:
        for result in filter(node.model.is_declared, node.proto.output):
            node.model.require_claimed(result, node.undisputed_shape())


def is_of_value(rule: str) -> bool:
    """Whether a rule binds values, and not nodes."""
    return rule == FINITE.id or is_of_contract(rule)


def _conclude_value(model: Model, value: str, rule: str) -> None:
    """Conclude an obligation of a value.

    Raises:
        Rejected: It does not follow, or only from itself.
    """
    requirement, names = model.demanded(value, rule)
    if rule == FINITE.id:
        established = Established(value, value, model)
        judgement, unknown = requirement.judge([established]), established.unknown.get("range")
    else:
        judgement = requirement.judge([model.in_front(name, requirement) for name in names])
        unknown = None
    if judgement.status is not Status.PROVED:
        why = f" ({unknown})" if unknown else ""
        raise Rejected(f"it is not proved: {judgement.evidence}{why}")


def conclude(model: Model, output: str, rule: str) -> None:
    """Conclude an obligation of a value, or of the node that has this output.

    If it follows, `Model.rests_on_numbers` says whether it or one before it rests on them.

    Raises:
        Rejected: It does not follow.
    """
    of_value = is_of_value(rule)
    place = f"'{output}'" if of_value else f"the node of '{output}'"
    try:
        with model.reading_apart():
            model.require_kept_assumptions()
            if of_value:
                _conclude_value(model, output, rule)
            else:
                conclude_of_node(model.node(output), rule)
            of_numbers = model.rests_on_numbers
        model.rests_on_numbers |= of_numbers
    except Rejected as reason:
        raise Rejected(f"{rule} of {place} does not follow: {reason}") from reason
    except Exception as error:
        raise Rejected(f"{rule} of {place} cannot be followed: {error!r}") from error
