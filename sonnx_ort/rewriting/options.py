"""The choices that `rewrite` offers, and what is said about an unknown one."""

import enum
from typing import TypeVar

from sonnx_ort.errors import SonnxError


class Backend(enum.StrEnum):
    """What enforces the rules in a run."""

    PYTHON = "python"
    """Custom operators defined in Python: the reference."""


Choice = TypeVar("Choice", bound=enum.StrEnum)


def choose(kind: type[Choice], name: str, value: str) -> Choice:
    """Find the choice of that value.

    Args:
        kind: The choices.
        name: The name of the parameter, for the message.
        value: What the caller gave.

    Raises:
        SonnxError: There is no such choice; the message lists those that there are.
    """
    try:
        return kind(value)
    except ValueError:
        known = " or ".join(f"'{choice}'" for choice in kind)
        raise SonnxError(f"{name}={value!r} is unknown; choose {known}") from None
