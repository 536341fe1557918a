"""What the guards of each rule say, as expressions of a node's operands."""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ..node import INTEGERS
from ..sizes import require
from .computed import LIMITS, RANKS, Limits
from .enforced import Enforced
from .facts import Facts, Tree
from .node import Node
from .stated import FAMILIES


@dataclass(frozen=True)
class Guarded:
    """A node of the original, and what holds behind its guards in one case."""

    node: Node
    enforced: Enforced
    facts: Facts

    def x(self, place: int = 0) -> Tree:
        """An operand."""
        return ("value", self.node.name(place))

    def shape(self, place: int = 0) -> Tree:
        """The shape of an operand."""
        return ("Shape", (), self.x(place))

    def rank(self, place: int = 0) -> Tree:
        """The rank of an operand, as a vector."""
        return ("Shape", (), self.shape(place))

    def is_nowhere(self, operator: str, one: Tree, limit: float) -> bool:
        """Whether a comparison with this number is true nowhere."""
        return (limit,) in _compared(self.facts.nowhere, operator, one)

    def is_kept(self, operator: str, one: Tree, limit: float) -> bool:
        """Whether a comparison with this number is true everywhere."""
        return (limit,) in _compared(self.facts.kept, operator, one)


Holds = Callable[[Guarded], bool]


def _compared(flags: Iterable[Tree], operator: str, one: Tree) -> list[tuple[float, ...]]:
    """The elements of constants with which an expression is compared in flags."""
    found = (flag[3] for flag in flags if flag[:3] == (operator, (), one))
    return [other[3] for other in found if other[0] == "constant"]


def _is_constant(tree: Tree, element: float) -> bool:
    return tree[0] == "constant" and bool(tree[3] == (element,))


def _one_shape(guarded: Guarded) -> bool:
    """The shape of each other operand is compared with that of the first, size by size."""
    first = guarded.shape()
    for place in range(1, len(guarded.node.names())):
        other = guarded.shape(place)
        equal = {("Equal", (), first, other), ("Equal", (), other, first)} & guarded.facts.kept
        same = guarded.x(0) == guarded.x(place)
        known = guarded.enforced.equal_ranks(first, other, guarded.facts)
        if not same and not (equal and known):
            return False
    return True


def _no_zero(place: int) -> Holds:
    def holds(guarded: Guarded) -> bool:
        x = guarded.x(place)
        # As a condition, 0 is false.
        zero = (guarded.is_nowhere("Equal", each, 0) for each in (x, ("Cast", (("to", 9),), x)))
        return _is_above_zero(guarded, x) or any(zero)

    return holds


def _infinity_for_zero(guarded: Guarded) -> bool:
    """Integers have no infinity, and no zero then. Floats with zeros are computed otherwise."""
    return guarded.node.type(1) in INTEGERS and _no_zero(1)(guarded)


def _is_above_zero(guarded: Guarded, x: Tree) -> bool:
    """Whether the smallest element is above 0; what is rounded keeps its order, and 0."""
    carriers = (x, ("Cast", (("to", 1),), x), ("Cast", (("to", 6),), x))
    smallest = (("ReduceMin", (("keepdims", 0),), carried) for carried in carriers)
    return any(guarded.is_kept("Greater", each, 0) for each in smallest)


def _representable(guarded: Guarded) -> bool:
    """Where the dividend is the smallest number, the divisor is not -1."""
    a, b = guarded.x(0), guarded.x(1)
    if _is_above_zero(guarded, b):
        return True
    bits = int(guarded.node.type(0).removeprefix("int"))
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
                    and _is_constant(smallest, -(1 << (bits - 1)))
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


def _no_negative_exponent(guarded: Guarded) -> bool:
    return guarded.is_nowhere("Less", guarded.x(1), 0)


def _not_smallest(guarded: Guarded) -> bool:
    bits = int(guarded.node.type(0).removeprefix("int"))
    return guarded.is_nowhere("Less", guarded.x(), 1 - (1 << (bits - 1)))


def _inferable(guarded: Guarded) -> bool:
    zero = guarded.is_nowhere("Equal", guarded.shape(), 0)
    return zero and not guarded.node.attribute("allowzero")


def _has_rank(rank: int, *places: int) -> Holds:
    def holds(guarded: Guarded) -> bool:
        present = (place for place in places if guarded.node.name(place))
        return all(guarded.is_kept("Equal", guarded.rank(place), rank) for place in present)

    return holds


def _every_axis(guarded: Guarded) -> bool:
    return ("Equal", (), guarded.shape(3), guarded.rank()) in guarded.facts.kept


def _elements(place: int, *comparisons: str, nan: bool = False) -> Holds:
    """No element is below or above a finite number, or NaN."""

    def holds(guarded: Guarded) -> bool:
        x, nowhere = guarded.x(place), guarded.facts.nowhere
        # A limit of no elements is compared with nothing.
        limited = all(
            any(len(limit) == 1 and math.isfinite(limit[0]) for limit in limits)
            for limits in (_compared(nowhere, operator, x) for operator in comparisons)
        )
        return limited and (not nan or ("IsNaN", (), x) in nowhere)

    return holds


def _no_negative_variance(guarded: Guarded) -> bool:
    x = guarded.x(4)
    return guarded.is_nowhere("Less", x, 0) and ("IsNaN", (), x) in guarded.facts.nowhere


def _sizes(place: int, limits: Limits) -> Holds:
    """Axes of an operand are not shorter than limits; -1 stands for an axis that there is not."""

    def holds(guarded: Guarded) -> bool:
        left = {*limits(guarded.node).items()}
        for flag in guarded.facts.nowhere:
            match flag:
                case (
                    "Less",
                    (),
                    (
                        "Gather",
                        (("axis", 0),),
                        ("Concat", (("axis", 0),), shape, ("constant", _, _, none)),
                        ("constant", _, _, axes),
                    ),
                    ("constant", _, _, least),
                ) if shape == guarded.shape(place):
                    missing = {*none} == {-1} and len(none) > max(axes)
                    pairs = [*zip(axes, least, strict=True)] if missing else []
                    left -= {
                        (a, size) for a, size in left for b, s in pairs if a == b and s >= size
                    }
        return not left

    return holds


def _cut(guarded: Guarded) -> tuple[Tree, Tree, Tree] | None:
    """The sizes, starts and ends of a Slice forwards from constant places; None for others."""
    node = guarded.node
    axes, starts, steps = (node.listed("", place) for place in (3, 1, 4))
    if min(starts) < 0 or min(steps) < 1:
        return None
    sizes = guarded.shape()
    if axes != list(range(len(node.shape()))):
        sizes = ("Gather", (("axis", 0),), sizes, guarded.x(3))
    return sizes, guarded.x(1), guarded.x(2)


def _starts(guarded: Guarded) -> bool:
    cut = _cut(guarded)
    behind = tuple(start + 1 for start in guarded.node.listed("", 1))
    return cut is not None and behind in _compared(guarded.facts.nowhere, "Less", cut[0])


def _ends(guarded: Guarded) -> bool:
    cut = _cut(guarded)
    if cut is None:
        return False
    sizes, _, ends = cut
    beyond = {("Less", (), ends, ("Neg", (), sizes)), ("Less", (), sizes, ends)}
    return beyond <= guarded.facts.nowhere


def _in_order(guarded: Guarded) -> bool:
    cut = _cut(guarded)
    if cut is None:
        return False
    sizes, starts, ends = cut
    for flag in guarded.facts.nowhere:
        match flag:
            case ("Less", (), ("Where", (), ("Less", (), one, zero), counted, other), first):
                end = one == other == ends and counted == ("Add", (), ends, sizes)
                if end and first == starts and _is_constant(zero, 0):
                    return True
    return False


def _alike_but_on_axis(guarded: Guarded) -> bool:
    """Each other operand of a Concat has the sizes of the first, but on the axis."""
    axis = guarded.node.axis(0, len(guarded.node.shape()))
    return all(_is_alike(guarded, place, axis) for place in range(1, len(guarded.node.proto.input)))


def _is_alike(guarded: Guarded, place: int, axis: int) -> bool:
    first, other = guarded.shape(), guarded.shape(place)
    if not guarded.enforced.equal_ranks(first, other, guarded.facts):
        return False
    one, two = guarded.node.true_shape(), guarded.node.true_shape(place)
    pairs = [*zip(one, two, strict=True)]
    if all(a == b for k, (a, b) in enumerate(pairs) if k != axis):
        return True
    mask, kept = tuple(k == axis for k in range(len(one))), guarded.facts.kept
    equal = (("Equal", (), other, first), ("Equal", (), first, other))
    return any(mask in _compared(kept, "Or", each) for each in equal)


def _axis_has_elements(guarded: Guarded) -> bool:
    axis = guarded.node.axis(0, len(guarded.node.shape()))
    for flag in guarded.facts.kept:
        match flag:
            case ("Greater", (), ("Gather", (("axis", 0),), shape, place), zero):
                places = (axis, axis - len(guarded.node.shape()))
                known = any(_is_constant(place, each) for each in places)
                if shape == guarded.shape() and known and _is_constant(zero, 0):
                    return True
    return False


_RANKS = (
    *("MatMul.C1", "Clip.C1", "Unsqueeze.A.rank", "Conv.R1", "ConvInteger.R1", "MaxPool.R1"),
    *("LSTM.X", "Gemm.R1"),
)
_LIMITS = (
    *("MaxPool.fits", "MaxPool.C1", "Conv.kernel", "ConvInteger.kernel", "LSTM.batch"),
    "LSTM.sequences",
)

GUARDS: Mapping[str, Holds] = {
    **{
        f"{operator}.{family}.R1": _one_shape
        for operator, families in FAMILIES.items()
        for family in families
    },
    **dict.fromkeys(("Div.R1", "Div.R4", "Sub.R1"), _one_shape),
    **dict.fromkeys(("Div.int.C1", "Mod.int.C1"), _no_zero(1)),
    "Div.R5": _infinity_for_zero,
    **dict.fromkeys(("Div.int.C2", "Mod.int.C2"), _representable),
    "Pow.int.C1": _no_negative_exponent,
    "Abs.int.C1": _not_smallest,
    "Reshape.allowzero.C3": _inferable,
    **{rule: _has_rank(*RANKS[rule]) for rule in _RANKS},
    **{rule: _sizes(*LIMITS[rule]) for rule in _LIMITS},
    "Slice.R2": _every_axis,
    "Slice.R8": _starts,
    "Slice.C2": _ends,
    "Slice.R6": _in_order,
    "Concat.C2": _alike_but_on_axis,
    "ArgMax.R5": _axis_has_elements,
    "Clip.float.min.C2": _elements(1, nan=True),
    "Clip.float.max.C2": _elements(2, nan=True),
    "ArgMax.float.C1": _elements(0, nan=True),
    "Softmax.float.C5": _elements(0, "Greater"),
    "MaxPool.float.C2": _elements(0, "Less", nan=True),
    "BatchNormalization.C3": _no_negative_variance,
}
"""What holds behind the guards of a rule; rules that are left out have no known guard."""


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
    operator = rule.partition(".")[0]
    require(operator == node.proto.op_type, f"the node is a {node.proto.op_type}")
    place = f"{rule} of the node of '{output}'"
    require(rule in GUARDS, f"{place} has no guards of a known form")
    for facts in enforced.facts_of(output):
        require(GUARDS[rule](Guarded(node, enforced, facts)), f"{place} is not guarded")
