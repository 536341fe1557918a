"""What an engine makes of a suite, each case against what is right."""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sonnx_ort.comparing.isolated_run import Failed, IsolatedRuns
from sonnx_ort.errors import SonnxError
from sonnx_ort.oracle import Result
from sonnx_ort.profile.options import Edition
from sonnx_ort.suite import engines
from sonnx_ort.suite.applied import Array
from sonnx_ort.suite.vectors import Vector, vectors


class Outcome(enum.StrEnum):
    """What an engine makes of a case."""

    CONFORMS = "conforms"
    """It gives what is right, or refuses what it should."""

    DEVIATES = "deviates"
    """It gives something that is not right."""

    COMPUTES = "computes what it should refuse"
    REFUSES = "refuses what it should compute"
    """It gives an error, such as for a type that it has no kernel of."""

    DIES = "dies"
    """The process ends, or the run does not."""


_LIMIT = 30.0
"""After how many seconds a run counts as one that does not end."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A case with what an engine made of it.

    Attributes:
        outcome: What the engine made of it.
        reason: How, in words; empty if it is right.
        units: How many representable numbers the worst element is beyond the nearest one; None if
            there is no distance, as of NaN.
    """

    id: str
    operator: str
    outcome: Outcome
    reason: str = ""
    units: int | None = None


def run(folder: Path, engine: str) -> Iterator[Judged]:
    """Run an engine on the cases of a folder, in a process that it may end.

    The folder is what `sonnx-ort suite -o` wrote.

    Raises:
        SonnxError: The folder has no suite, or the engine cannot be started.
    """
    with IsolatedRuns(_LIMIT) as runs:
        for number, vector in enumerate(vectors(folder)):
            edition = Edition(vector.entry["edition"])
            if not number:
                failed = runs.call(engines.start, engine, edition)
                if isinstance(failed, Failed):
                    raise SonnxError(failed.reason)
            given = engine, edition, vector.model, vector.feeds
            yield judge(vector, runs.call(engines.outcome, *given))


def judge(vector: Vector, outcome: list[Array] | str | Failed) -> Judged:
    """Hold the outcome of a case to what is right."""
    made, reason, units = Outcome.CONFORMS, "", None
    match outcome:
        case Failed():
            made, reason = Outcome.DIES, outcome.reason
        case str() if not vector.refused:
            made, reason = Outcome.REFUSES, outcome
        case list() if vector.refused:
            rules = ", ".join(vector.entry["expectation"]["rules"])
            found = (f"{x.dtype} {x.shape} {x.ravel()[:4].tolist()}" for x in outcome)
            made, reason = Outcome.COMPUTES, f"{rules}: {'; '.join(found)}"
        case list() if wrong := _first_wrong(vector.results, outcome):
            made = Outcome.DEVIATES
            reason, units = wrong
    return Judged(vector.entry["id"], vector.entry["operator"], made, reason, units)


def _first_wrong(
    results: Sequence[Result], outcome: Sequence[Array]
) -> tuple[str, int | None] | None:
    for result, found in zip(results, outcome, strict=False):
        wrong = _wrong(result, found)
        if wrong is not None:
            return wrong
    missing = len(outcome) < len(results)
    return (f"{len(outcome)} results, not {len(results)}", None) if missing else None


def _wrong(result: Result, found: Array) -> tuple[str, int | None] | None:
    """What is wrong with a result, and by how much."""
    try:
        outside = np.atleast_1d(result.outside(found))
    except ValueError as error:
        return str(error), None
    if not outside.any():
        return None
    units = np.atleast_1d(result.units(found))
    distant = outside & (units < 0)
    place = int(np.argmax(np.where(outside, distant * 2.0**70 + units.astype(float), -1)))
    size = int(units.ravel()[place])
    got, nearest = (each.ravel()[place] for each in (found, result.nearest))
    reason = f"{np.count_nonzero(outside)} of {found.size}: {got} for {nearest} at {place}"
    return reason, None if size < 0 else size
