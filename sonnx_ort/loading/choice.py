"""Finds the member of an enumeration that a caller names, or says which names there are."""

import enum
from typing import TypeVar

from sonnx_ort.errors import SonnxError

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
