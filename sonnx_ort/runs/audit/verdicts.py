"""The verdicts of an audit: of every node, and of the whole run."""

import enum
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnxruntime

from sonnx_ort.meaning.node import ELEMENT_TYPES
from sonnx_ort.meaning.origins import Origin, origins
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.layout import E1
from sonnx_ort.profile.options import Broadcasting
from sonnx_ort.profile.rule import AttributeValue, Rule, Status, Subject
from sonnx_ort.runs.isolated_run import Array
from sonnx_ort.terms.operand import Operand


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that the operands of a node break.

    Attributes:
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
) -> Iterator[BrokenRule]:
    """Find the rules that a node breaks, for the operands of a run.

    Operands that are omitted are None.
    """
    profiled = OPERATORS.get(operator)
    if profiled is None or operator not in demands.operators:
        return
    names = profiled.operand_names(len(operands))
    given = {n: o for n, o in zip(names, operands, strict=False) if o is not None}
    facts = [
        Operand(name, name, "run", ELEMENT_TYPES.get(array.dtype), tuple(map(int, array.shape)))
        for name, array in given.items()
    ]
    plain = {name: attribute_value(value) for name, value in attributes.items()}
    aligned = _aligned(tuple(given.values())) if profiled.elementwise else tuple(given.values())
    explicit = demands.broadcasting is Broadcasting.EXPLICIT
    usable = True
    for rule in profiled.rules_of_node(demands.edition, facts, plain, version):
        if not rule.needed_with(onnxruntime.__version__):
            continue
        if rule.requirement.subject is Subject.STORAGE:
            continue  # a run does not show how its operands are stored
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


def attribute_value(value: Any) -> AttributeValue:
    """An attribute as rules know it; None for a tensor or a graph."""
    if isinstance(value, list | tuple):
        return tuple(value)
    return value if isinstance(value, int | float | str) else None


def _aligned(arrays: tuple[Array, ...]) -> tuple[Array, ...] | None:
    """Tensors in their common shape, in which rules on elements see them; None if there is none."""
    try:
        return tuple(np.broadcast_arrays(*arrays)) if arrays else ()
    except ValueError:
        return None


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
        recomputed: The values that it reads and that the run has not, because the optimizer
            fused the nodes.
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
    recomputed: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The operator and the name: `Div 'normalize'`, with the path in front."""
        return " / ".join((*self.path, f"{self.operator} '{self.node}'"))

    @property
    def origin(self) -> tuple[Origin, ...]:
        """Where the admitted error comes from; nothing if only the exact results are admitted."""
        return tuple(origins(self.bound))

    @property
    def is_measured(self) -> bool:
        """Whether results are not exact, and what is admitted was measured of ONNX Runtime."""
        return self.verdict is not Verdict.EXACT and Origin.MEASURED in self.origin

    def merged(self, other: "NodeAudit") -> "NodeAudit":
        """The audit of two runs of the same node."""
        worse = max(self, other, key=lambda each: _ORDER.index(each.verdict))
        rules = {broken.rule.id: broken for broken in (*other.broken, *self.broken)}
        return replace(
            worse,
            elements=self.elements + other.elements,
            audited=self.audited + other.audited,
            undefined=self.undefined + other.undefined,
            worst=worse.worst if worse.verdict is Verdict.OUTSIDE else _worst((self, other)),
            broken=tuple(rules.values()),
        )


def _worst(nodes: Iterable[NodeAudit]) -> Element | None:
    found = (node.worst for node in nodes if node.worst is not None)
    return max(found, key=lambda element: element.size, default=None)


def worst_first(nodes: Iterable[NodeAudit]) -> tuple[NodeAudit, ...]:
    """Nodes outside first, then what is not known, and of each the largest error first."""

    def badness(node: NodeAudit) -> tuple[int, tuple[float, float]]:
        return _ORDER.index(node.verdict), (0, 0) if node.worst is None else node.worst.size

    return tuple(sorted(nodes, key=badness, reverse=True))


@dataclass(frozen=True, slots=True)
class OperatorSummary:
    """The nodes of an operator.

    Attributes:
        is_measured: Whether what is admitted of one of them was measured of ONNX Runtime.
    """

    operator: str
    counts: Mapping[Verdict, int]
    worst: Element | None = None
    is_measured: bool = False


def by_operator(nodes: Iterable[NodeAudit]) -> tuple[OperatorSummary, ...]:
    """Count verdicts by operator, in the order of names."""
    groups: dict[str, list[NodeAudit]] = {}
    for node in nodes:
        groups.setdefault(node.operator, []).append(node)
    return tuple(
        OperatorSummary(
            name,
            Counter(node.verdict for node in group),
            _worst(group),
            any(node.is_measured for node in group),
        )
        for name, group in sorted(groups.items())
    )


@dataclass(frozen=True, slots=True)
class Sampling:
    """Which elements are audited.

    Attributes:
        samples: How many elements of each result are audited at most; None for all.
    """

    seed: int = 0
    samples: int | None = 100
