"""What came of mutants, and the lists of those that do what the original does."""

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from records import today


@dataclass(slots=True)
class Entry:
    """What came of the mutants of a file, of which `source` is a digest, and when, in UTC.

    Some test fails on those `killed`, or the process ends; `timeouts` come to no end; those
    `equivalent` are listed, with the reason; `survivors` are the others.
    """

    source: str
    date: str = field(default_factory=today)
    mutants: int = 0
    killed: int = 0
    timeouts: int = 0
    equivalent: int = 0
    survivors: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Mutants of a file that do what the original does, as `mutants` names them, and why."""

    path: str
    mutants: tuple[str, ...]
    reason: str


def listed_in(path: Path) -> list[Equivalent]:
    """All that a file lists."""
    listed = tomllib.loads(path.read_text("utf-8")).get("equivalent", [])
    return [Equivalent(e["path"], tuple(e["mutants"]), e["reason"]) for e in listed]
