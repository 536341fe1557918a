"""The form of a record: what `verify` reads of it, so that a damaged one is told in a sentence."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Form = Callable[[object], bool] | list[Any] | Mapping[str, Any]
"""What a part has to be: what a function accepts, a list of parts of one form, or an object with
these names. A name that may be missing ends in "?"; "*" stands for any other name."""


def misfits(part: object, form: Form, place: str) -> Iterator[str]:
    """Say which parts are missing, or have another form.

    Args:
        part: A part of a document of JSON.
        form: What it has to be.
        place: Where it stands, for the sentence.
    """
    if isinstance(form, list):
        if not isinstance(part, list):
            yield f"{place} is no list"
            return
        for number, each in enumerate(part):
            yield from misfits(each, form[0], f"{place}[{number}]")
    elif isinstance(form, Mapping):
        if not isinstance(part, dict):
            yield f"{place} is no object"
            return
        yield from _misfits_inside(part, form, place)
    elif not form(part):
        yield f"{place} is {part!r:.60}"


def _misfits_inside(
    part: Mapping[str, object], form: Mapping[str, Any], place: str
) -> Iterator[str]:
    for name, inner in form.items():
        key = name.removesuffix("?")
        if key in part:
            yield from misfits(part[key], inner, f"{place}.{key}")
        elif name not in ("*", f"{key}?"):
            yield f"{place}.{key} is missing"
    for key in part.keys() - form.keys() if "*" in form else ():
        yield from misfits(part[key], form["*"], f"{place}.{key}")


def _is_text(part: object) -> bool:
    return isinstance(part, str)


def _is_truth(part: object) -> bool:
    return isinstance(part, bool)


def _is_count(part: object) -> bool:
    return type(part) is int


def _is_text_or_null(part: object) -> bool:
    return part is None or isinstance(part, str)


def _is_node(part: object) -> bool:
    """Whether it is an operator and the name of a node, or empty where there was none before."""
    return isinstance(part, str) and (not part or " " in part)


def _is_date(part: object) -> bool:
    try:
        dt.date.fromisoformat(str(part))
    except ValueError:
        return False
    return isinstance(part, str)


def _is_waiver(part: object) -> bool:
    return part is None or not any(misfits(part, _WAIVER, ""))


_WAIVER = {
    "who": _is_text,
    "reason": _is_text,
    "until": _is_date,
    "expired": _is_truth,
    "count?": lambda part: part is None or _is_count(part),
}
_HASHES = [{"content": _is_text}]
_MODEL = {
    "name": _is_text,
    "hashes": _HASHES,
    "components?": [{"name": _is_text, "hashes": _HASHES}],
}
_REPORT = {
    "obligations": [
        {
            "rule": _is_text,
            "operator": _is_text,
            "node": _is_text,
            "path": [_is_text],
            "status": _is_text,
            "enforced": _is_truth,
            "evidence": _is_text,
            "waiver": _is_waiver,
        }
    ],
    "findings": [{}],
    "coverage": [{}],
    "rules": {
        "*": {
            "document": _is_text,
            "sentence": _is_text,
            "tag": _is_text_or_null,
            "remark": _is_text,
        }
    },
}

RECORD: Form = {
    "serialNumber": _is_text,
    "metadata": {
        "tools": {"components": [{"name": _is_text, "version": _is_text}]},
        "component": {**_MODEL, "pedigree?": {"ancestors": [_MODEL]}},
        "properties": [{"name": _is_text, "value": _is_text}],
    },
    "declarations": {"evidence": [{"bom-ref": _is_text, "propertyName": _is_text}]},
}
"""The form of a record without its attachments."""

ATTACHMENTS: Mapping[str, Form] = {
    "report": _REPORT,
    "change": {"node": _is_node, "path": [_is_text], "became": [_is_node]},
    "mending": {
        **dict.fromkeys(("title", "operator", "node"), _is_text),
        **{name: [_is_text] for name in ("rules", "path", "added")},
    },
    "audit": {"source": _is_text, "counts": {"*": _is_count}},
    "certificate": {},
}
"""The forms of its attachments, by their kind."""
