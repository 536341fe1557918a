"""Which cases of a test run where `--cases` limits them: another part of them with each commit."""

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
    "test_architecture.py",
    "enforcing/test_emitted.py",
    "conforming/test_templates.py",
})  # fmt: skip
"""Folders and files of which every case runs: tables by hand, in which each line is one fact."""

FIXED = dict.fromkeys(
    (
        "conformance/test_elements.py",
        "conformance/test_elementwise_operators.py",
        "conformance/test_every_element.py",
        "conformance/test_meanings.py",
        "conformance/test_single_operands.py",
        "conformance/test_sixteen_bit_floats.py",
        "end_to_end",
        "packaging",
        "proofs",
        "ort/test_patterns_together.py",
        "scripts",
        "soundness",
        "vectors/test_engines.py",
        "upstream",
    ),
    "never were all cases of it run one after the other, so that one may fail by chance",
)
"""Folders and files of which a commit chooses no part, with the reason.

They have the same cases in every run, unless it is told which part it has.
"""


def is_in(path: Path, places: Collection[str]) -> bool:
    """Whether a file, by its path in the folder of tests, is one of some places or in one."""
    return any(each.as_posix() in places for each in (path, *path.parents))


def part_of_commit(folder: Path) -> int:
    """The part that the commit has which is checked out in a folder; the first without Git.

    The commit's own name chooses it, as a number at random would: it is known in a clone without
    history too, and commits that are checked can't skip the same parts for ever.
    """
    try:
        command = ["git", "rev-parse", "--verify", "HEAD"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 1
    return int(done.stdout, 16) % PARTS + 1


def chosen(names: Sequence[str], most: int, part: int, *, fixed: bool = False) -> set[str]:
    """Choose those of the cases of one test that run.

    Args:
        names: The names of all cases. Their checksums put them in an order that mixes parameters.
        most: How many run; more only if all parts would not have every case otherwise.
        part: From 1 to `PARTS`.
        fixed: Choose the same cases for each part, and never more than `most`.
    """
    ordered = sorted(names, key=lambda name: (zlib.crc32(name.encode()), name))
    if fixed:
        return set(ordered[:most])
    size = max(most, math.ceil(len(ordered) / PARTS))
    pieces = max(1, math.ceil(len(ordered) / size))
    # The last piece has cases of the one before it too, so that none is smaller.
    begin = min((part - 1) % pieces * size, max(0, len(ordered) - size))
    return set(ordered[begin : begin + size])


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
