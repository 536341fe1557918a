"""Which violations are gone after changes, which are left, and which are new.

A change may move a node out of a branch, or copy it for each step of a loop, under other names. Its
violation is the same one as long as the rule is violated there.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.report import Report
from sonnx_ort.conforming.fixpoint import ConformedGraph
from sonnx_ort.conforming.origins import NamedPlace, Origin, origins
from sonnx_ort.conforming.rounds import Place, place_of
from sonnx_ort.errors.remedies import Advice


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of the violations of a model.

    Attributes:
        fixed: Those of the original that are gone.
        new: Those of the changed model that the original does not have.
        reasons: Why changes do not fix what is left, by its place in the original.
    """

    fixed: tuple[Obligation, ...]
    new: tuple[Obligation, ...]
    reasons: Mapping[Place, Advice]


def outcome_of(original: Report, graph: ConformedGraph) -> Outcome:
    """What became of the violations of a model, those included that a waiver accepts.

    Args:
        original: The report of the original.
        graph: The changed graph, whose nodes and values remember their origins.
    """
    before, known = original.violated, origins(graph.model)
    places = [(o, _original_place(o, known)) for o in graph.examination.report.violated]
    fixed = _unmatched(((o, place_of(o)) for o in before), (place for _, place in places))
    reasons = {_original_place(o, known): reason for o, reason in graph.remaining}
    return Outcome(fixed, _unmatched(places, map(place_of, before)), reasons)


def _unmatched(
    violations: Iterable[tuple[Obligation, Place]], others: Iterable[Place]
) -> tuple[Obligation, ...]:
    """The violations that have no counterpart at their places, each counterpart taken once."""
    left, found = Counter(others), []
    for violation, place in violations:
        if left[place]:
            left[place] -= 1
        else:
            found.append(violation)
    return tuple(found)


def _original_place(obligation: Obligation, known: Mapping[NamedPlace, Origin]) -> Place:
    rule, operator, label, path, omitted = place_of(obligation)
    of_value = known.get(("", label, path), (label, path))
    return rule, operator, *known.get((operator, label, path), of_value), omitted
