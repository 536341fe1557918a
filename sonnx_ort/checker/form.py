"""The form of a certificate.

A certificate is JSON:

    format       "sonnx_ort.certificate/2"
    model        the SHA-256 of the file of the model
    steps        [value, "type", "shape", "elements" or "bounds", what it is], each from those
                 before; bounds are the smallest and the largest integer
    obligations  [output of a node, id of a rule] that hold in every run

and if there is an enforced model:

    enforced     the SHA-256 of its file
    edition, operators   what it enforces
    guarded      [output, rule] that guards in the enforced model hold
    waived       [output, rule] that are violated, and accepted
    unknown      [output, rule] that are left to guards of which no form is known
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from sonnx_ort.kernel.sizes import Rejected

FORMAT = "sonnx_ort.certificate/2"

LISTS = ("obligations", "guarded", "waived", "unknown")
"""The entries that say of obligations what holds them."""


class Malformed(Rejected):
    """What is no certificate; the message says why."""


def read_certificate(content: bytes) -> Mapping[str, Any]:
    """Read a certificate.

    Raises:
        Malformed: It is no certificate.
    """
    try:
        found = json.loads(
            content.decode(), object_pairs_hook=_each_once, parse_constant=_no_number
        )
        # A half of a surrogate pair is no text, and no message could show it.
        json.dumps(found, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)) from error
    require_form(found)
    certificate: Mapping[str, Any] = found
    return certificate


def require_form(certificate: object) -> None:
    """Reject what has other entries than a certificate, or entries of another form.

    Raises:
        Malformed: It is no certificate.
    """
    if not isinstance(certificate, dict):
        raise Malformed("it is no object of JSON")
    if certificate.get("format") != FORMAT:
        raise Malformed(f"the format is not {FORMAT}; certify the model again")
    form = _FORM | _FORM_OF_ENFORCED if "enforced" in certificate else _FORM
    for name in sorted(form.keys() - certificate.keys()):
        raise Malformed(f"the entry '{name}' is missing")
    for name in certificate.keys() - form.keys():
        raise Malformed(f"the entry {name!r} is not known")
    for name, is_formed in form.items():
        if not is_formed(certificate[name]):
            raise Malformed(f"the entry '{name}' has another form")


def _each_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found


def _no_number(text: str) -> None:
    raise ValueError(f"{text} is no number of JSON")


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_size(value: object) -> bool:
    return type(value) in (int, str)


def _is_step(value: object) -> bool:
    match value:
        case [str(), "type", str()]:
            return True
        case [str(), "shape" | "elements", [*claims]]:
            return all(map(_is_size, claims))
        case [str(), "bounds", [int(), int()]]:
            return True
    return False


def _is_entry(value: object) -> bool:
    return isinstance(value, list) and len(value) == 2 and all(map(_is_text, value))


def _list_of(is_formed: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(map(is_formed, value))


_FORM: dict[str, Callable[[object], bool]] = {
    "format": _is_text,
    "model": _is_text,
    "steps": _list_of(_is_step),
    "obligations": _list_of(_is_entry),
}
_FORM_OF_ENFORCED: dict[str, Callable[[object], bool]] = {
    "enforced": _is_text,
    "edition": lambda value: value in ("typed", "preliminary"),
    "operators": _list_of(_is_text),
    **dict.fromkeys(LISTS[1:], _list_of(_is_entry)),
}
