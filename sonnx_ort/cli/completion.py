"""What a shell proposes for an option or an argument: rules, and operators.

The names are imported when a shell asks for them.
"""

from collections.abc import Callable, Iterable, Sequence


def rule_or_operator(incomplete: str) -> list[str]:
    """What `explain` takes: ids of rules, their beginnings, and operators of the profile."""
    return _beginning(incomplete, [*_operators(), *_rules()])


def rule(incomplete: str) -> list[str]:
    """The id of one rule."""
    return _beginning(incomplete, _ids())


def listed(names: Callable[[], Iterable[str]]) -> Callable[[str], list[str]]:
    """What completes the last one of names that are separated by commas."""

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        sign = "-" if last.startswith("-") else ""
        found = _beginning(last.removeprefix("-"), names())
        return [f"{before}{comma}{sign}{name}" for name in found]

    return complete


def _ids() -> Sequence[str]:
    from sonnx_ort.profile.catalog import RULES

    return list(RULES)


def _rules() -> Sequence[str]:
    """The ids of all rules, and what several of them begin with, such as Div.int."""
    ids = _ids()
    families = (identifier.rpartition(".")[0] for identifier in ids)
    return list(dict.fromkeys([*filter(None, families), *ids]))


def _operators() -> Sequence[str]:
    from sonnx_ort.profile.catalog import OPERATORS

    return sorted(OPERATORS)


def _demanded() -> Sequence[str]:
    """What `--operators` takes."""
    from sonnx_ort.options import NAMES

    return NAMES


def _beginning(incomplete: str, names: Iterable[str]) -> list[str]:
    """The names that begin so, each once; capitals make no difference."""
    start = incomplete.lower()
    return [name for name in dict.fromkeys(names) if name.lower().startswith(start)]


RULES = listed(_rules)
OPERATORS = listed(_demanded)
