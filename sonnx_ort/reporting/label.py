"""Names in the drawing: how wide they are, and what is shown of long ones."""

import unicodedata

_CHARACTER = 6.7
"""The width of a character, in a monospaced font of 11 pixels."""

_LONGEST = 26


def shortened(label: str) -> str:
    """The label, without its middle where it is long; names often differ at their ends.

    Args:
        label: The name of a node or a value.
    """
    plain = "".join(_visible(character) for character in label)
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[: _LONGEST // 3]}…{plain[-(_LONGEST - _LONGEST // 3 - 1) :]}"


def _visible(character: str) -> str:
    """The character, or a sign in the place of one that moves or hides others."""
    return "\ufffd" if unicodedata.category(character).startswith("C") else character


def text_width(text: str) -> float:
    """How wide a text is drawn.

    Args:
        text: The text.
    """
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return (len(text) + wide) * _CHARACTER
