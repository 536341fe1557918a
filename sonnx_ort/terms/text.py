r"""Names and texts of a model as people may see them.

A model may have any characters in its names. A terminal obeys escape sequences, marks of direction
show a name in another order, and C strings end at NUL. All that does not print is shown as an
escape such as `\x1b` or `\u202e`: controls, line breaks, formats, marks of direction, and unpaired
surrogates. All other characters stay, of any script.
"""


def printable(text: str) -> str:
    """A text on one line, with escapes for what does not print; once more, it is the same."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def _escape(character: str) -> str:
    code = ord(character)
    if code <= 0xFF:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
