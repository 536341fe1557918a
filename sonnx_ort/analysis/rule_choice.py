"""Chooses rules by their ids, or by what these begin with."""

from collections.abc import Iterable

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.general import RESTRICTIONS

ALL_RULES = frozenset({*RULES, *RESTRICTIONS})
"""The ids of all rules, and of the restrictions that findings are about."""


def choose_rules(names: str | Iterable[str]) -> frozenset[str]:
    """Find the ids of rules and restrictions.

    Args:
        names: Ids, or what ids begin with up to a dot, such as "Div" or "Div.int", in any case;
            or one text of them with commas between.

    Raises:
        SonnxError: There is no rule of such a name; the message lists those that there are.
    """
    given = names.split(",") if isinstance(names, str) else names
    chosen: set[str] = set()
    for name in (str(name).strip() for name in given):
        beginning = f"{name}.".lower()
        found = {rule for rule in ALL_RULES if f"{rule}.".lower().startswith(beginning)}
        if not found:
            raise SonnxError(f"there is no rule '{name}'; {_those_there_are(name)}")
        chosen |= found
    return frozenset(chosen)


def rules_told_of(
    select: str | Iterable[str] | None, ignore: str | Iterable[str] | None
) -> frozenset[str]:
    """Find the ids of the rules and restrictions that a report is to tell of.

    Args:
        select: Those to tell of, as for `choose_rules`; None stands for all.
        ignore: Those among them not to tell of; None stands for none.

    Raises:
        SonnxError: As for `choose_rules`.
    """
    chosen = ALL_RULES if select is None else choose_rules(select)
    return chosen if ignore is None else chosen - choose_rules(ignore)


def _those_there_are(name: str) -> str:
    """The rules of the operator that the name begins with, or what all begin with."""
    operator = name.lower().partition(".")[0]
    rules = sorted(rule for rule in ALL_RULES if rule.lower().startswith(f"{operator}."))
    if rules:
        return f"choose some of {', '.join(rules)}, or what they begin with"
    beginnings = sorted({rule.partition(".")[0] for rule in ALL_RULES})
    return f"choose some of {', '.join(beginnings)}; `sonnx-ort explain` lists all rules"
