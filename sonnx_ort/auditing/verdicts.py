"""The verdicts of an audit: of every node, and of the whole run."""

import enum
import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from sonnx_ort.auditing.broken_rules import BrokenRule


class Verdict(enum.StrEnum):
    """What the audited elements of a node are, for the operands that the node was given."""

    EXACT = "exact"
    """All are the exact results, each rounded once."""

    ADMITTED = "admitted"
    """All are within the admitted error, and some are not the nearest."""

    OUTSIDE = "outside"
    """Some are outside the admitted error, or have a wrong type or shape."""

    NOT_KNOWN = "not known"
    """Nothing says what they should be; the reason tells why."""


_ORDER = (Verdict.EXACT, Verdict.ADMITTED, Verdict.NOT_KNOWN, Verdict.OUTSIDE)


@dataclass(frozen=True, slots=True)
class Element:
    """One element of a result.

    Attributes:
        result: The name of the value.
        index: Its index there.
        operands: The elements of the operands that it depends on, or their shapes, as text.
        exact: The exact result rounded once, as text.
        admitted: The smallest and the largest admitted result, as text; empty if only one is.
        found: The result of the run, as text.
        units: How many units in the last place the result is away from the nearest one: how many
            numbers of its type; None if one of them is no number.
        admitted_units: How many the admitted results reach, on the side of this one; None if any
            number.
    """

    result: str
    index: tuple[int, ...]
    operands: tuple[str, ...]
    exact: str
    admitted: str
    found: str
    units: int | None
    admitted_units: int | None = 0

    @property
    def share(self) -> float:
        """The error by the admitted one: above 1 outside, and infinite where none is admitted."""
        return share(self.units, self.admitted_units)

    @property
    def size(self) -> tuple[float, float]:
        """The size of the error: by its share, then by its units."""
        return self.share, math.inf if self.units is None else self.units


def share(units: int | None, admitted: int | None) -> float:
    """An error by the admitted one, both in units; None stands for no number, and for any."""
    if admitted is None or units == 0:
        return 0.0
    return math.inf if units is None or admitted == 0 else units / admitted


@dataclass(frozen=True, slots=True)
class NodeAudit:
    """The audit of one node; of all its runs, if it is in the body of a loop.

    Attributes:
        node: The node's name, or one derived from its first output.
        operator: The operator, with its domain if that is not the default one.
        path: The nodes in whose bodies it is, outermost first.
        verdict: The verdict on the audited elements.
        elements: How many elements its results have.
        audited: How many of these were audited.
        undefined: How many of the audited elements nothing defines.
        worst: The element with the largest error by the admitted one; None if all are exact or
            none was audited.
        bound: The admitted error and who states it; empty if nothing was audited.
        reason: Why nothing is known, or what is wrong with type or shape; empty otherwise.
        broken: The rules that the operands break.
        apart: The values that it reads and the optimizer computed together with it. They were
            computed apart for the audit.
    """

    node: str
    operator: str
    path: tuple[str, ...] = ()
    verdict: Verdict = Verdict.EXACT
    elements: int = 0
    audited: int = 0
    undefined: int = 0
    worst: Element | None = None
    bound: str = ""
    reason: str = ""
    broken: tuple[BrokenRule, ...] = ()
    apart: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The operator and the name: `Div 'normalize'`, with the path in front."""
        return " / ".join((*self.path, f"{self.operator} '{self.node}'"))

    def merged(self, other: "NodeAudit") -> "NodeAudit":
        """The audit of two runs of the same node."""
        worse = max(self, other, key=lambda each: _ORDER.index(each.verdict))
        worst = max(
            (each for each in (self.worst, other.worst) if each is not None),
            key=lambda element: element.size,
            default=None,
        )
        rules = {broken.rule.id: broken for broken in (*other.broken, *self.broken)}
        return replace(
            worse,
            elements=self.elements + other.elements,
            audited=self.audited + other.audited,
            undefined=self.undefined + other.undefined,
            worst=worse.worst if worse.verdict is Verdict.OUTSIDE else worst,
            broken=tuple(rules.values()),
        )


def worst_first(nodes: Iterable[NodeAudit]) -> tuple[NodeAudit, ...]:
    """Nodes outside first, then what is not known, and of each the largest error first."""

    def badness(node: NodeAudit) -> tuple[int, tuple[float, float]]:
        return _ORDER.index(node.verdict), (0, 0) if node.worst is None else node.worst.size

    return tuple(sorted(nodes, key=badness, reverse=True))


@dataclass(frozen=True, slots=True)
class OperatorSummary:
    """The nodes of an operator.

    Attributes:
        operator: The operator.
        counts: How many nodes have each verdict.
        worst: The element with the largest error by the admitted one; None if all are exact.
    """

    operator: str
    counts: Mapping[Verdict, int]
    worst: Element | None = None


def by_operator(nodes: Iterable[NodeAudit]) -> tuple[OperatorSummary, ...]:
    """Count verdicts by operator, in the order of names."""
    groups: dict[str, list[NodeAudit]] = {}
    for node in nodes:
        groups.setdefault(node.operator, []).append(node)
    return tuple(
        OperatorSummary(
            name,
            Counter(node.verdict for node in group),
            max(
                (node.worst for node in group if node.worst is not None),
                key=lambda element: element.size,
                default=None,
            ),
        )
        for name, group in sorted(groups.items())
    )


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which elements are audited.

    Attributes:
        seed: The seed of the choice.
        samples: How many elements of each result are audited at most; None for all.
    """

    seed: int = 0
    samples: int | None = 100
