"""Why a model is not in the profile, in short, and what to do next."""

import enum
from collections import defaultdict
from collections.abc import Sequence

from sonnx_ort.obligations.obligation import Obligation
from sonnx_ort.obligations.report import Report
from sonnx_ort.profile.rule import Rule, Subject
from sonnx_ort.profile.source import Basis
from sonnx_ort.terms.operand import broadcast_shape


def causes(obligations: Sequence[Obligation]) -> list[tuple[Obligation, ...]]:
    """Obligations by their cause: those of one rule with one remedy, whatever the shapes.

    Rules on operators come first, of these those that SONNX states, and then what many nodes share.
    """
    by_cause: dict[tuple[Rule, str], list[Obligation]] = defaultdict(list)
    for obligation in obligations:
        by_cause[obligation.rule, obligation.hint.partition(",")[0]].append(obligation)
    return sorted(map(tuple, by_cause.values()), key=_order)


def _order(alike: Sequence[Obligation]) -> tuple[bool, bool, int]:
    rule = alike[0].rule
    return rule.requirement.subject is Subject.GRAPH, rule.basis is Basis.OURS, -len(alike)


class NextStep(enum.Enum):
    """What takes a user on from a report."""

    CHECK_ALL = enum.auto()
    """Nothing is enforced: check all operators of the profile."""

    REWRITE = enum.auto()
    """Nothing is violated."""

    EXPAND = enum.auto()
    """Rewrite, with the broadcasts written out: that mends every violation."""

    CONFORM = enum.auto()
    """`conform` mends at least one violation."""

    EXPLAIN = enum.auto()
    """Only the author of the model can mend it: have the first violated rule explained."""


def next_step(report: Report) -> NextStep:
    """What takes a user on from a report."""
    if not report.enforced:
        return NextStep.CHECK_ALL
    if report.ok:
        return NextStep.REWRITE
    if all(map(_is_expandable, report.violations)):
        return NextStep.EXPAND
    return NextStep.CONFORM if report.mendable else NextStep.EXPLAIN


def _is_expandable(violation: Obligation) -> bool:
    """Whether a violation is a broadcast, which `rewrite` writes out on request."""
    shapes = [operand.shape for operand in violation.operands]
    is_broadcast = violation.rule.requirement.subject is Subject.EQUAL_SHAPES
    return is_broadcast and broadcast_shape(*shapes) is not None
