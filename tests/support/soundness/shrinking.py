"""Shrinks what a check of a campaign fails on to the smallest on which it fails in the same way."""

from collections.abc import Callable

from sonnx_ort.runs.isolated_run import IsolatedRuns
from sonnx_ort.runs.reduce.shrinking import AnyTrial, known_values, shrink
from support.soundness.isolated import how_it_ends


def smallest(trial: AnyTrial, check: Callable[[AnyTrial], object]) -> AnyTrial:
    """Shrink what a check raises an error on, or ends the process, as long as it ends so.

    Args:
        trial: The model and its runs; they come back as they are where the check does not fail.
        check: The check, which runs in forks of this process.
    """
    wanted = how_it_ends(check, trial)
    if wanted == "":
        return trial
    with IsolatedRuns() as runs:
        return shrink(
            trial,
            lambda smaller: how_it_ends(check, smaller) == wanted,
            lambda smaller: known_values(smaller, runs),
        )
