"""The form of the file of an evidence record: what `verify` reads of it.

A damaged record is told in a sentence that names the entry.
"""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Form = type | Callable[[object], bool] | list[Any] | Mapping[str, Any]
"""What a part has to be: of a type, what a function accepts, a list of parts of one form, or an
object with these names. A name that may be missing ends in "?"; "*" stands for any other name."""


def misfits(part: object, form: Form, place: str) -> Iterator[str]:
    """Say which parts are missing, or have another form."""
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
    elif not (type(part) is form if isinstance(form, type) else form(part)):
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


def _is_node(part: object) -> bool:
    """Whether it is an operator and the name of a node, or empty where there was none before."""
    return isinstance(part, str) and (not part or " " in part)


def _is_date(part: object) -> bool:
    try:
        dt.date.fromisoformat(str(part))
    except ValueError:
        return False
    return isinstance(part, str)


_WAIVER = {
    "who": str,
    "reason": str,
    "until": _is_date,
    "expired": bool,
    "count?": lambda part: part is None or type(part) is int,
}


_HASHES = [{"content": str}]


_MODEL = {"name": str, "hashes": _HASHES, "components?": [{"name": str, "hashes": _HASHES}]}


_REPORT = {
    "obligations": [
        {
            "rule": str,
            "operator": str,
            "node": str,
            "path": [str],
            "status": str,
            "enforced": bool,
            "evidence": str,
            "waiver": lambda part: part is None or not any(misfits(part, _WAIVER, "")),
        }
    ],
    "findings": [{}],
    "coverage": [{}],
    "rules": {
        "*": {
            "document": str,
            "sentence": str,
            "tag": lambda part: part is None or isinstance(part, str),
            "remark": str,
        }
    },
}


RECORD: Form = {
    "serialNumber": str,
    "metadata": {
        "tools": {"components": [{"name": str, "version": str}]},
        "component": {**_MODEL, "pedigree?": {"ancestors": [_MODEL]}},
        "properties": [{"name": str, "value": str}],
    },
    "declarations": {"evidence": [{"bom-ref": str, "propertyName": str}]},
}
"""The form of a record without its attachments."""


ATTACHMENTS: Mapping[str, Form] = {
    "report": _REPORT,
    "change": {"node": _is_node, "path": [str], "became": [_is_node]},
    "mending": {
        **dict.fromkeys(("title", "operator", "node"), str),
        **{name: [str] for name in ("rules", "path", "added")},
    },
    "audit": {"source": str, "counts": {"*": int}},
    "certificate": {},
}
"""The forms of its attachments, by their kind."""
