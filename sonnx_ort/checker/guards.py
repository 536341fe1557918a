"""What the guards of each kind of rule say, as expressions of a node's operands."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.facts import Facts, Flags, Tree
from sonnx_ort.checker.node import Node
from sonnx_ort.checker.obligations import Established, bound_rule
from sonnx_ort.kernel.node import INTEGERS
from sonnx_ort.kernel.sizes import require
from sonnx_ort.profile.element_type import ElementType, smallest_value
from sonnx_ort.profile.requirements.arithmetic import (
    NONZERO,
    InfinityForZeroDivisor,
    RepresentableQuotient,
)
from sonnx_ort.profile.requirements.axes import EqualButOnAxis
from sonnx_ort.profile.requirements.elements import INT32, OnElements
from sonnx_ort.profile.requirements.reshaping import InferableSize, SliceDemand, Slicing
from sonnx_ort.profile.requirements.shapes import NoBroadcasting, OnShapes, SameShape
from sonnx_ort.terms.elements import NumberSet


@dataclass(frozen=True)
class Guarded:
    """The operands of a rule of the original, and what holds behind their guards in one case."""

    node: Node
    operands: Sequence[Established]
    enforced: Enforced
    facts: Facts

    def x(self, index: int = 0) -> Tree:
        """An operand of the rule."""
        return ("value", self.operands[index].value)

    def shape(self, index: int = 0) -> Tree:
        """The shape of an operand."""
        return ("Shape", (), self.x(index))

    def rank(self, index: int = 0) -> Tree:
        """The rank of an operand, as a vector."""
        return ("Shape", (), self.shape(index))

    def sizes(self, index: int = 0) -> tuple[Any, ...]:
        """The sizes of an operand that are established."""
        return self.node.model.undisputed_shape(self.operands[index].value)

    def type(self, index: int = 0) -> ElementType | None:
        """The type of an operand that is established."""
        return ElementType.named(self.operands[index].known("type"))

    def is_nowhere(self, operator: str, one: Tree, limit: float) -> bool:
        """Whether a comparison with this number is true nowhere."""
        return (limit,) in _compared(self.facts.nowhere, operator, one)

    def is_kept(self, operator: str, one: Tree, limit: float) -> bool:
        """Whether a comparison with this number is true everywhere."""
        return (limit,) in _compared(self.facts.kept, operator, one)


Holds = Callable[[Any, Guarded], bool | None]
"""Whether the guards hold a requirement of a node; None if it has no guards of a known form."""


def _compared(flags: Iterable[Tree], operator: str, one: Tree) -> list[tuple[float, ...]]:
    """The elements of constants with which an expression is compared in flags."""
    found = (flag[3] for flag in flags if flag[:3] == (operator, (), one))
    return [other[3] for other in found if other[0] == "constant"]


def _is_constant(tree: Tree, element: float) -> bool:
    return tree[0] == "constant" and bool(tree[3] == (element,))


def _one_shape(_: Any, guarded: Guarded) -> bool:
    """The shape of each other operand is compared with that of the first, size by size."""
    first = guarded.shape()
    for index in range(1, len(guarded.operands)):
        other = guarded.shape(index)
        equal = {("Equal", (), first, other), ("Equal", (), other, first)} & guarded.facts.kept
        same = guarded.x(0) == guarded.x(index)
        known = guarded.enforced.equal_ranks(first, other, guarded.facts)
        if not same and not (equal and known):
            return False
    return True


def _no_zero(guarded: Guarded, x: Tree) -> bool:
    # As a condition, 0 is false.
    zero = (guarded.is_nowhere("Equal", each, 0) for each in (x, ("Cast", (("to", 9),), x)))
    return _is_above_zero(guarded, x) or any(zero)


def _infinity_for_zero(_: Any, guarded: Guarded) -> bool:
    """Integers have no infinity, and no zero then. Floats with zeros are computed otherwise."""
    return guarded.type(1) in INTEGERS and _no_zero(guarded, guarded.x(1))


def _is_above_zero(guarded: Guarded, x: Tree) -> bool:
    """Whether the smallest element is above 0; what is rounded keeps its order, and 0."""
    carriers = (x, ("Cast", (("to", 1),), x), ("Cast", (("to", 6),), x))
    smallest = (("ReduceMin", (("keepdims", 0),), carried) for carried in carriers)
    return any(guarded.is_kept("Greater", each, 0) for each in smallest)


def _representable(_: Any, guarded: Guarded) -> bool:
    """Where the dividend is the smallest number, the divisor is not -1."""
    a, b = guarded.x(0), guarded.x(1)
    if _is_above_zero(guarded, b):
        return True
    element_type = guarded.type()
    if element_type is None:
        return False
    for flag in guarded.facts.nowhere:
        match flag:
            case (
                "And",
                (),
                ("Tile", (), ("Reshape", (), ("Equal", (), one, smallest), line), copies),
                ("Equal", (), ("Tile", (), ("Reshape", (), other, also), as_many), minus_one),
            ):
                is_smallest = ("Equal", (), one, smallest)
                if (
                    (one, other, copies) == (a, b, as_many)
                    and _is_constant(smallest, smallest_value(element_type))
                    and _is_constant(minus_one, -1)
                    and _is_constant(line, -1)
                    and _is_constant(also, -1)
                    and _is_any(copies, is_smallest)
                ):
                    return True
    return False


def _is_any(copies: Tree, flags: Tree) -> bool:
    """Whether a number of copies is 1 if any flag is true, and 0 otherwise."""
    match copies:
        case ("Reshape", (), ("Cast", (("to", 7),), any_true), line):
            numbers = ("Cast", (("to", 2),), flags)
            largest = ("ReduceMax", (("keepdims", 0),), numbers)
            return any_true == ("Cast", (("to", 9),), largest) and _is_constant(line, -1)
    return False


def _inferable(requirement: InferableSize, guarded: Guarded) -> bool:
    return requirement.copies_zeros and guarded.is_nowhere("Equal", guarded.shape(), 0)


def _on_shapes(requirement: OnShapes, guarded: Guarded) -> bool:
    values = {each.name: each.value for each in guarded.operands}
    return Flags(guarded.facts, values, guarded.enforced.known_rank).hold(requirement.term)


def _on_elements(requirement: OnElements, guarded: Guarded) -> bool | None:
    """No element is outside, if the guards of such a set are known."""
    numbers, position = requirement.numbers, requirement.position
    if numbers == NONZERO:
        return _no_zero(guarded, guarded.x(position))
    if isinstance(numbers, NumberSet) and numbers != INT32 and numbers.admits_zero:
        return _is_within(numbers, position, guarded)
    return None


def _is_within(numbers: NumberSet, position: int, guarded: Guarded) -> bool:
    """No element is below the smallest number or above the largest, or NaN."""
    element_type = guarded.type(position)
    if element_type is None:
        return False
    x, nowhere = guarded.x(position), guarded.facts.nowhere
    lower, upper = numbers.limits(element_type.dtype)
    # A limit of no elements is compared with nothing.
    below = [limit for limit in _compared(nowhere, "Less", x) if len(limit) == 1]
    above = [limit for limit in _compared(nowhere, "Greater", x) if len(limit) == 1]
    return (
        (lower is None or any(limit >= lower for (limit,) in below))
        and (upper is None or any(limit <= upper for (limit,) in above))
        and (numbers.admits_nan or ("IsNaN", (), x) in nowhere)
    )


def _slicing(requirement: Slicing, guarded: Guarded) -> bool:
    """What is demanded of a Slice forwards from constant places; nothing holds it of others."""
    node = guarded.node
    if len(guarded.operands) < 5:
        return False
    axes, first, steps = (node.listed("", place) for place in (3, 1, 4))
    if min(first) < 0 or min(steps) < 1:
        return False
    sizes, starts, ends = guarded.shape(), guarded.x(1), guarded.x(2)
    if axes != list(range(len(guarded.sizes()))):
        sizes = ("Gather", (("axis", 0),), sizes, guarded.x(3))
    nowhere = guarded.facts.nowhere
    match requirement.demand:
        case SliceDemand.START_WITHIN:
            return tuple(start + 1 for start in first) in _compared(nowhere, "Less", sizes)
        case SliceDemand.END_WITHIN:
            return {("Less", (), ends, ("Neg", (), sizes)), ("Less", (), sizes, ends)} <= nowhere
        case SliceDemand.IN_ORDER:
            return any(_is_in_order(flag, sizes, starts, ends) for flag in nowhere)


def _is_in_order(flag: Tree, sizes: Tree, starts: Tree, ends: Tree) -> bool:
    """Whether a flag says that an end, counted from the front, lies before its start."""
    match flag:
        case ("Less", (), ("Where", (), ("Less", (), one, zero), counted, other), first):
            end = one == other == ends and counted == ("Add", (), ends, sizes)
            return end and first == starts and _is_constant(zero, 0)
    return False


def _alike_but_on_axis(requirement: EqualButOnAxis, guarded: Guarded) -> bool:
    """Each other operand of a Concat has the sizes of the first, but on the axis."""
    rank = len(guarded.sizes())
    axis = requirement.axis + rank if requirement.axis < 0 else requirement.axis
    return all(_is_alike(guarded, index, axis) for index in range(1, len(guarded.operands)))


def _is_alike(guarded: Guarded, index: int, axis: int) -> bool:
    first, other = guarded.shape(), guarded.shape(index)
    if not guarded.enforced.equal_ranks(first, other, guarded.facts):
        return False
    one, two = guarded.sizes(), guarded.sizes(index)
    pairs = [*zip(one, two, strict=True)]
    if all(a == b for k, (a, b) in enumerate(pairs) if k != axis):
        return True
    mask, kept = tuple(k == axis for k in range(len(one))), guarded.facts.kept
    equal = (("Equal", (), other, first), ("Equal", (), first, other))
    return any(mask in _compared(kept, "Or", each) for each in equal)


_GUARDS: Mapping[type, Holds] = {
    SameShape: _one_shape,
    NoBroadcasting: _one_shape,
    OnElements: _on_elements,
    InfinityForZeroDivisor: _infinity_for_zero,
    RepresentableQuotient: _representable,
    InferableSize: _inferable,
    OnShapes: _on_shapes,
    Slicing: _slicing,
    EqualButOnAxis: _alike_but_on_axis,
}
"""What holds behind the guards of a kind of requirement; others have no known guard."""


def holds_behind(node: Node, enforced: Enforced, facts: Facts, rule: str) -> bool | None:
    """Whether facts hold a rule of a node; None if the rule has no guards of a known form.

    Args:
        node: The node of the original.
        enforced: The enforced model.
        facts: What holds behind the guards in front of the node.
        rule: The id of the rule.

    Raises:
        Rejected: The rule does not bind the node, or it is not known what holds it.
    """
    bound, operands = bound_rule(node, rule)
    holds = _GUARDS.get(type(bound.requirement))
    chosen = bound.select_operands([each.name for each in operands], operands)
    guarded = Guarded(node, chosen, enforced, facts)
    return None if holds is None else holds(bound.requirement, guarded)


def require_guarded(node: Node, enforced: Enforced, output: str, rule: str) -> None:
    """Reject a rule that the guards in front of a node do not hold.

    Args:
        node: The node of the original.
        enforced: The enforced model.
        output: An output of the node.
        rule: The id of the rule.

    Raises:
        Rejected: No known guard of the rule is in front of the node.
    """
    place = f"{rule} of the node of '{output}'"
    for facts in enforced.facts_of(output):
        held = holds_behind(node, enforced, facts, rule)
        require(held is not None, f"{place} has no guards of a known form")
        require(held, f"{place} is not guarded")
