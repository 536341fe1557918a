"""The lists of mutants that do what the original does."""

import tomllib
from dataclasses import dataclass
from pathlib import Path


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
