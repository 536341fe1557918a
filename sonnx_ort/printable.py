r"""Names and texts of a model as people may see them: without characters that act or deceive.

A model may have any characters in its names. A terminal obeys escape sequences, marks of direction
show a name in another order, and C strings end at NUL. All that does not print is shown as an
escape such as `\x1b` or `\u202e`: controls, line breaks, formats, marks of direction, and unpaired
surrogates. All other characters stay, of any script.
"""

import json
import re
from html import escape
from typing import Any

_ESCAPE = re.compile(r"\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8})")
_LIKE_AN_ESCAPE = re.compile(rf"\\(?={_ESCAPE.pattern[2:]})")


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


def printable_lines(text: str) -> str:
    """A text of lines, each printable."""
    return "\n".join(map(printable, text.split("\n")))


def escaped(name: str) -> str:
    """A printable name from which `restored` gives the name."""
    return printable(_LIKE_AN_ESCAPE.sub(r"\\x5c", name))


def restored(name: str) -> str:
    """The name of which `escaped` made another one."""
    return _ESCAPE.sub(lambda found: chr(int(found[1][1:], 16)), name)


def to_json(document: object, **layout: Any) -> str:
    """A document in JSON: the exact texts, with JSON's own escapes for what does not print."""
    text = json.dumps(document, ensure_ascii=False, **layout)
    return "\n".join(
        line if line.isprintable() else "".join(map(_in_json, line)) for line in text.split("\n")
    )


def _in_json(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


def to_html(text: str) -> str:
    """A text in HTML: printable, and without markup."""
    return escape(printable(text))
