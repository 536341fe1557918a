"""How far the profile reaches to each operator of a model, in words."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from sonnx_ort.analysis.report import Coverage, Extent, Report
from sonnx_ort.profile.judgement import Status

_EXTENTS = {
    Extent.ENFORCED: "in the profile, enforced",
    Extent.NOT_ASKED_FOR: "in the profile, not asked for",
    Extent.NO_DOCUMENT: "no document",
}


@dataclass(frozen=True, slots=True)
class Reach:
    """One operator of a model.

    Attributes:
        coverage: The operator, and how many nodes there are of it.
        extent: How far the profile reaches, in words.
        found: What obligations there are that are not to be enforced, counted; empty for none.
    """

    coverage: Coverage
    extent: str
    found: str


def reach(report: Report) -> Iterator[Reach]:
    """Tell of each operator, those that are enforced first.

    Args:
        report: The report.
    """
    found: dict[str, Counter[Status]] = {}
    for obligation in report.obligations:
        if not obligation.enforced:
            found.setdefault(obligation.operator, Counter())[obligation.status] += 1
    for extent, told in _EXTENTS.items():
        for coverage in (c for c in report.coverage if c.extent is extent):
            counts = found.get(coverage.operator, Counter())
            shown = ", ".join(f"{counts[status]} {status}" for status in Status)
            yield Reach(coverage, told, shown if counts else "")
