"""Whether guards hold a rule of a node: their flags are those that the guard of the rule computes.

The guard of a rule depends on what is known of the operands. What was known where it was made is
tried here as far as steps have established it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.facts import Expressions, Facts, Tree
from sonnx_ort.checker.graphs import Node
from sonnx_ort.checker.model import Model
from sonnx_ort.checker.obligations import Established, bound_rule, demand_on, is_of_value
from sonnx_ort.guards.catalog import breach, deciding_guard
from sonnx_ort.guards.guard import DecidingGuard, GuardedNode
from sonnx_ort.kernel.sizes import require
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.contract_rules import OnSizes, OnValue
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.requirements.shapes import OnShapes
from sonnx_ort.profile.rule import Rule, Status, Subject
from sonnx_ort.terms.operand import Operand, Shape

_CARRIERS = (ElementType.FLOAT, ElementType.INT32)
"""The types in which the smallest of integers is found: rounding keeps their order."""

_ENOUGH_AXES = 256
"""More than any demand names."""


@dataclass(frozen=True)
class _Guarded:
    """A rule of the original, and what holds in front of its node in one case."""

    rule: Rule
    node: Node
    operands: Sequence[Established]
    enforced: Enforced
    facts: Facts

    @property
    def values(self) -> Sequence[Tree]:
        """The operands of the rule."""
        return [("value", each.value) for each in self.bound]

    @property
    def bound(self) -> Sequence[Established]:
        """What is known of the operands of the rule."""
        names = [operand.name for operand in self.operands]
        return self.rule.select_operands(names, self.operands)

    @property
    def element_type(self) -> ElementType:
        """The type of the operands; guards of what has no known type read no elements of it."""
        own = OPERATORS[self.node.op_type].operand_types
        typed = next(operand for operand in self.operands if operand.name not in own)
        return ElementType.named(typed.element_type) or ElementType.FLOAT

    def are_of_one_shape(self) -> bool:
        """Whether the shape of each other operand is compared with the first's, size by size."""
        first, *others = self.values
        shape = ("Shape", (), first)
        for other in others:
            its = ("Shape", (), other)
            equal = {("Equal", (), shape, its), ("Equal", (), its, shape)} & self.facts.kept
            known = self.enforced.equal_ranks(shape, its, self.facts)
            if other != first and not (equal and known):
                return False
        return True

    def are_looked_at(self, guard: DecidingGuard) -> bool:
        """Whether the flag of a guard says that the rule is kept, or the smallest element alone."""
        # No guard is made of what is violated in every run: its flag would not say so.
        violated = self.rule.requirement.judge(self.bound).status is Status.VIOLATED
        if violated or not guard.binds(self.element_type):
            return False
        return any(self._shows(guard, *known) for known in self._known()) or any(
            self._is_none_below(self.values[position], least(self.element_type))
            for position, least in guard.sufficient.items()
        )

    def _shows(self, guard: DecidingGuard, *operands: Established) -> bool:
        node = GuardedNode(operands, self.element_type, self.element_type)
        flag = guard.look(Expressions(self.node.model.version), self.values, node)
        return flag.value in (self.facts.kept if flag.when_kept else self.facts.broken)

    def _known(self) -> Iterator[Sequence[Established]]:
        """What may have been known of the shapes of operands where the guard was made."""
        known = [
            each.shape and tuple(size if isinstance(size, int) else None for size in each.shape)
            for each in self.operands
        ]
        yield self._of_shapes(known)
        yield self._of_shapes([None for _ in known])
        if isinstance(self.rule.requirement, OnShapes):
            # To gather the size of an axis that is not there fails.
            yield self._of_shapes([(None,) * _ENOUGH_AXES if s is None else s for s in known])

    def _of_shapes(self, shapes: Sequence[Shape | None]) -> Sequence[Established]:
        model = self.node.model
        made = [Established(each.name, each.value, model) for each in self.operands]
        for operand, shape in zip(made, shapes, strict=True):
            object.__setattr__(operand, "shape", shape)
        return made

    def _is_none_below(self, operand: Tree, least: int) -> bool:
        """Whether the smallest element is not below a number."""
        nodes = Expressions(self.node.model.version)
        for carried in (operand, *(nodes.cast(operand, to, "") for to in _CARRIERS)):
            smallest = nodes.add("ReduceMin", [carried], "", {"keepdims": 0})
            for flag in self.facts.kept:
                match flag:
                    case ("Greater", (), one, ("constant", _, _, (limit,))) if one == smallest:
                        return bool(limit >= least - 1)
        return False


def holds_after(node: Node, enforced: Enforced, facts: Facts, rule: str) -> bool | None:
    """Whether facts hold a rule of a node; None if no guard holds it.

    Raises:
        Rejected: The rule does not bind the node, or it is not known what holds it.
    """
    bound, operands = bound_rule(node, rule)
    guarded = _Guarded(bound, node, operands, enforced, facts)
    if bound.requirement.subject is Subject.EQUAL_SHAPES:
        return guarded.are_of_one_shape()
    guard = deciding_guard(bound.requirement) if bound.in_run else None
    return None if guard is None else guarded.are_looked_at(guard)


def require_guarded(model: Model, enforced: Enforced, output: str, rule: str) -> None:
    """Reject a rule that the guards in front of a node, or after a value, do not hold.

    Raises:
        Rejected: No known guard of the rule is in front of the node, or after the value.
    """
    if is_of_value(rule):
        require_value_guarded(model, enforced, output, rule)
        return
    node, place = model.node(output), f"{rule} of the node of '{output}'"
    for facts in enforced.facts_of(output):
        held = holds_after(node, enforced, facts, rule)
        require(held is not None, f"{place} has no guards of a known form")
        require(held, f"{place} is not guarded")


def require_value_guarded(model: Model, enforced: Enforced, value: str, rule: str) -> None:
    """Reject a rule of a value that no guard holds wherever the value is read.

    Raises:
        Rejected: The value is read without a guard, or a run may leave the guard out.
    """
    requirement, names = demand_on(model, value, rule)
    trees = [("value", name) for name in names]
    flags = [
        breach(Expressions(model.version), requirement, trees, known)
        for known in _may_be_known(model, names, requirement)
    ]
    for read in enforced.reads_of(value):
        for facts in enforced.facts_after(read):
            held = not facts.broken.isdisjoint(flags)
            require(held, f"{rule} of '{value}' is not guarded where '{read}' is read")


def _may_be_known(
    model: Model, names: Sequence[str], requirement: OnElements | OnSizes
) -> Iterator[GuardedNode]:
    """What may have been known where a guard was made."""
    if isinstance(requirement, OnElements):
        kind = ElementType.named(model.known("type", names[0]))
        rank = len(model.known("shape", names[0])) if isinstance(requirement, OnValue) else None
        shape = None if rank is None else (None,) * rank
        if kind is not None:
            yield GuardedNode([Operand(names[0], names[0], "", kind, shape=shape)], kind, kind)
        return
    ranks = [len(model.known("shape", name)) for name in names]
    for shapes in ([(None,) * rank for rank in ranks], [None] * len(ranks)):
        known = [Operand(n, n, "", shape=s) for n, s in zip(names, shapes, strict=True)]
        yield GuardedNode(known, ElementType.INT64, ElementType.INT64)
