"""The mutants that no test can tell from the original, and why."""

import tomllib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("equivalents.toml")
"""The list that is kept in the repository."""


@dataclass(frozen=True, slots=True)
class Equivalent:
    """Mutants that do what the original does.

    Attributes:
        path: The file, from the repository's root.
        mutants: Each as `Change` puts it into words.
        reason: Why.
    """

    path: str
    mutants: tuple[str, ...]
    reason: str


def equivalents(path: Path = LIST) -> tuple[Equivalent, ...]:
    """All that are listed.

    Args:
        path: The list.
    """
    read = tomllib.loads(path.read_text("utf-8"))
    return tuple(
        Equivalent(entry["path"], tuple(entry["mutants"]), entry["reason"])
        for entry in read.get("equivalent", [])
    )


def by_path(path: Path = LIST) -> Mapping[str, set[str]]:
    """The mutants that are listed of each file.

    Args:
        path: The list.
    """
    found: dict[str, set[str]] = defaultdict(set)
    for equivalent in equivalents(path):
        found[equivalent.path].update(equivalent.mutants)
    return found
