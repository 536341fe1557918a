"""Whether guards hold a rule of a node: their flags are those that the guard of the rule computes.

The form of a guard follows from the rule and from what is known of the operands, by the functions
of `sonnx_ort.guards` that make it. Here is known what the checker has derived, and the expressions
that a model computes are compared with this one form.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.expressions import Expressions, Facts, Tree
from sonnx_ort.checker.graphs import Node
from sonnx_ort.checker.model import Model
from sonnx_ort.checker.obligations import Established, bound_rule, is_of_value, rules_of
from sonnx_ort.facts.sizes import Rejected, require
from sonnx_ort.guards.catalog import breach, deciding_guard
from sonnx_ort.guards.guard import DecidingGuard, GuardedNode, Precondition
from sonnx_ort.guards.smallest_element import settling_flag
from sonnx_ort.profile.contract_rules import OnSizes, OnValue
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.operators import OPERATORS
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.elements import OnElements
from sonnx_ort.profile.rule import Rule, Status, Subject
from sonnx_ort.terms.operand import Operand, Shape


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
        """The type of the operands.

        Raises:
            Rejected: It is not known, and guards read elements of it.
        """
        operator = OPERATORS[self.node.op_type]
        own = operator.operand_types
        typed = next(operand for operand in self.operands if operand.name not in own)
        found = ElementType.named(typed.element_type)
        require(found or operator.moves_elements, f"the type of '{typed.value}' is not known")
        return found or ElementType.FLOAT

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
        known = GuardedNode(self._known_sizes(), self.element_type, self.element_type)
        if not self.facts.kept.isdisjoint(self._settling_flags(known)):
            return True
        if guard.precondition is Precondition.ONE_SHAPE and not self._have_one_shape():
            # Elements that meet in the flag are others than those that meet in the node.
            return False
        flag = guard.look(Expressions(self.node.model.version), self.values, known)
        return flag.value in (self.facts.kept if flag.when_kept else self.facts.broken)

    def _have_one_shape(self) -> bool:
        """Whether a guard says that the operands have one shape, or it is established."""
        shapes = {each.shape for each in self.bound}
        return self.are_of_one_shape() or (len(shapes) == 1 and None not in shapes)

    def _known_sizes(self) -> Sequence[Established]:
        """The operands with the sizes that are numbers: no other decides the form of a guard."""
        model = self.node.model
        made = [Established(each.name, each.value, model) for each in self.operands]
        for operand, each in zip(made, self.operands, strict=True):
            sizes = each.shape and tuple(s if isinstance(s, int) else None for s in each.shape)
            object.__setattr__(operand, "shape", sizes)
        return made

    def _settling_flags(self, known: GuardedNode) -> Iterator[Tree]:
        """The flags of the smallest element that decide this rule, alone or with others."""
        operands = [("value", each.value) for each in self.operands]
        for edition in Edition:
            rules = [rule for rule in rules_of(self.node, edition) if rule.in_run]
            guards = {rule.id: deciding_guard(rule.requirement) for rule in rules}
            settled = {
                name: guard
                for name, guard in guards.items()
                if guard is not None and guard.sufficient and guard.binds(self.element_type)
            }
            for count in range(1, len(settled) + 1):
                for names in combinations(settled, count):
                    nodes = Expressions(self.node.model.version)
                    looks = [settled[name] for name in names]
                    if self.rule.id in names:
                        flag = settling_flag(nodes, operands, known, looks)
                        yield from () if flag is None else (flag,)


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
    requirement, names = model.demanded(value, rule)
    trees = [("value", name) for name in names]
    known = _known_in_front(model, names, requirement)
    flag = breach(Expressions(model.version), requirement, trees, known)
    for read in enforced.reads_of(value):
        for facts in enforced.facts_after(read):
            require(
                flag in facts.broken, f"{rule} of '{value}' is not guarded where '{read}' is read"
            )


def _known_in_front(
    model: Model, names: Sequence[str], requirement: OnElements | OnSizes
) -> GuardedNode:
    """What is known of values in front of the guard of their contract, which decides its form."""
    if isinstance(requirement, OnElements):
        (name,) = names
        kind = ElementType.named(model.known("type", name))
        if kind is None:
            raise Rejected(f"no guard reads elements of the type of '{name}'")
        shape = _ranked(model.known("shape", name)) if isinstance(requirement, OnValue) else None
        return GuardedNode([Operand(name, name, "", kind, shape=shape)], kind, kind)
    shapes = (_ranked(model.unguarded("shape", name)) for name in names)
    known = [Operand(n, n, "", shape=s) for n, s in zip(names, shapes, strict=True)]
    return GuardedNode(known, ElementType.INT64, ElementType.INT64)


def _ranked(shape: Sequence[object] | None) -> Shape | None:
    """A shape of which its rank alone is known; None if not even that is."""
    return None if shape is None else (None,) * len(shape)
