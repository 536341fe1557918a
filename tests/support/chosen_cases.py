"""Which cases of a test run where `--cases` limits them: another part of them with each commit.

Random trials are others in each part too.
"""

import math
import subprocess
import zlib
from collections.abc import Collection, Sequence
from pathlib import Path

PARTS = 10
"""A run has one part of the cases of each test; all parts together have every case."""

WHOLE = frozenset({
    "analysis",
    "documentation",
    "evidence",
    "installation",
    "facts",
    "loading",
    "profile",
    "terms",
    "upstream",
    "test_architecture.py",
    "enforcing/test_emitted.py",
    "conforming/test_templates.py",
    "scripts/test_traceability.py",
    "models/test_manifest.py",
    "runs/test_difference.py",
})  # fmt: skip
"""Folders and files of which every case runs: tables by hand, in which each line is one fact."""

LONG = frozenset({
    "conformance/test_elements.py",
    "conformance/test_single_operands.py",
    "end_to_end/test_bundled_models.py",
    "end_to_end/test_sizes_through_enforced_nodes.py",
    "proofs/test_guards.py",
    "vectors/test_engines.py",
})  # fmt: skip
"""Folders and files of which a commit has few of the cases of its part: a whole part takes long.

Commits have these few in turn. A run that is told its part has all of it.
"""


def is_in(path: Path, places: Collection[str]) -> bool:
    """Whether a file, by its path in the folder of tests, is one of some places or in one."""
    return any(each.as_posix() in places for each in (path, *path.parents))


def share_of_commit(folder: Path) -> tuple[int, int]:
    """The part that the commit has which is checked out in a folder, and its turn in `LONG` ones.

    The commit's own name chooses them, as a number at random would: it is known in a clone without
    history too, and commits that are checked can't skip the same cases for ever. Without Git it is
    the first part, and the first turn.
    """
    try:
        command = ["git", "rev-parse", "--verify", "HEAD"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 1, 0
    turn, part = divmod(int(done.stdout, 16), PARTS)
    return part + 1, turn


def share(path: Path, given: int, of_commit: tuple[int, int]) -> tuple[int, int | None]:
    """The part of the cases that a run has of a file, and the turn if not all of the part run.

    Args:
        path: The file, by its path in the folder of tests.
        given: The part that the run was told; 0 if none.
        of_commit: The part and the turn of the commit.
    """
    if given:
        return given, None
    part, turn = of_commit
    return part, turn if is_in(path, LONG) else None


def chosen(names: Sequence[str], most: int, part: int, turn: int | None = None) -> set[str]:
    """Choose those of the cases of one test that run.

    Args:
        names: The names of all cases. Their checksums put them in an order that mixes parameters.
        most: How many run; more only if all parts would not have every case otherwise.
        part: From 1 to `PARTS`.
        turn: Never choose more than `most`, but these of the part that have the turn; from 0, and
            the first turn comes again after the last.
    """
    ordered = sorted(names, key=lambda name: (zlib.crc32(name.encode()), name))
    whole = _piece(ordered, max(most, math.ceil(len(ordered) / PARTS)), part - 1)
    return {*(whole if turn is None else _piece(whole, most, turn))}


def _piece(ordered: Sequence[str], size: int, turn: int) -> Sequence[str]:
    """One of the pieces of a size; the last has cases of the one before it too, to be as large."""
    pieces = max(1, math.ceil(len(ordered) / size))
    begin = min(turn % pieces * size, max(0, len(ordered) - size))
    return ordered[begin : begin + size]


def run_of(
    path: Path, names: Sequence[str], most: int, part: int, turn: int | None
) -> Collection[str]:
    """Those cases of a test in a file that a run has.

    Args:
        path: The file, by its path in the folder of tests.
        names: As for `chosen`.
        most: As for `chosen`; 0 for all.
        part: As for `chosen`.
        turn: As for `chosen`.
    """
    if not most or is_in(path, WHOLE):
        return names
    return chosen(names, most, part, turn)


def trials(part: int, count: int, first: int = 0) -> range:
    """The numbers of the random trials of a part: each part has others.

    Args:
        part: From 1.
        count: How many a part has.
        first: The first of the first part.
    """
    begin = first + (part - 1) * count
    return range(begin, begin + count)


def runs_that_reach_all(certainty: float) -> int:
    """How many commits have every part between them with at least this probability."""
    seen = [1.0] + [0.0] * PARTS  # by number of different parts
    runs = 0
    while seen[PARTS] < certainty:
        seen = [
            seen[number] * number / PARTS
            + (seen[number - 1] * (PARTS - number + 1) / PARTS if number else 0)
            for number in range(PARTS + 1)
        ]
        runs += 1
    return runs
