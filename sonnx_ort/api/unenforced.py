"""Says what a call without `operators` leaves unenforced."""

import warnings

from sonnx_ort.errors.remedies import Advice, Remedy
from sonnx_ort.options import DEFAULT, PROFILE
from sonnx_ort.pipeline import Enforced

_NAMED = 3
"""So many operators are named at most."""


def warn_of_unenforced(enforced: Enforced) -> None:
    """Warn the caller of a public function of nodes whose rules are not enforced.

    Nothing is said of a model that was rewritten before, or where `operators` was given.
    """
    passed_over = enforced.passed_over
    if not passed_over:
        return
    nodes = sum(each.nodes for each in passed_over)
    names = [each.operator for each in passed_over]
    others = len(names) - _NAMED
    if others > 0:
        names[_NAMED:] = [f"{others} other operators" if others > 1 else "1 other operator"]
    *first, last = names
    listed = f"{', '.join(first)} and {last}" if first else last
    have = "1 node of" if nodes == 1 else f"{nodes:,} nodes of"
    verb = "has" if nodes == 1 else "have"
    warnings.warn(
        Advice(
            f"{have} {listed} {verb} rules that are not enforced: ",
            Remedy("operators", PROFILE),
            " enforces them, ",
            Remedy("operators", DEFAULT),
            " leaves them",
        ),
        stacklevel=4,
    )
