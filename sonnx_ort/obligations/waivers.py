"""Waivers, and their formats: TOML tables for people, JSON in models and records.

`docs/report.md` documents the table.
"""

import datetime as dt
import json
import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import RULES


@dataclass(frozen=True, slots=True)
class Waiver:
    """An entry by which a person or body accepts one violation until a date.

    It affects enforcement only if it is given to `rewrite`, which then records it in the model.

    Attributes:
        rule: The id of the violated rule.
        node: The node name as in reports; empty for a rule of the whole graph.
        reason: Why the violation is accepted.
        who: The person or body responsible.
        until: The last day of validity.
        path: The path of the node as in reports; None if its name is unique.
        model: The SHA-256 of the model as in reports; None for any model.
        origin: Where it is defined, for messages.
    """

    rule: str
    node: str
    reason: str
    who: str
    until: dt.date
    path: tuple[str, ...] | None = None
    model: str | None = None
    origin: str = field(default="", compare=False)

    def __str__(self) -> str:
        """Format who accepts the violation, until when and why, as one clause."""
        return f"by {self.who} until {self.until.isoformat()}: {self.reason}"

    @property
    def place(self) -> str:
        """The rule and the node, and where the waiver is defined, for messages."""
        inside = "".join(f" in {node}" for node in reversed(self.path or ()))
        origin = f"{self.origin}: " if self.origin else ""
        return f"{origin}the waiver of {self.rule} at node '{self.node}'{inside}"

    def is_for(self, rule: str, node: str, path: tuple[str, ...]) -> bool:
        """Whether it names this rule at this node, ignoring the model."""
        return (self.rule, self.node) == (rule, node) and self.path in (None, path)

    def expired(self, today: dt.date) -> bool:
        """Whether its last day is before the given date."""
        return today > self.until


WaiverSource = str | os.PathLike[str] | Iterable[Waiver]
"""Waivers as a caller can give them: a TOML file, or `Waiver` objects."""

_REQUIRED = ("rule", "node", "reason", "who", "until")
_KNOWN = (*_REQUIRED, "path", "model")
_IN_JSON = ("rule", "node", "path", "model", "reason", "who", "until")


def read_waivers(source: WaiverSource) -> tuple[Waiver, ...]:
    """Read waivers from a TOML file with `[[waiver]]` tables; return given waivers unchanged.

    Raises:
        SonnxError: The file cannot be read, or an entry is invalid; the message names both.
    """
    if not isinstance(source, str | os.PathLike):
        return tuple(source)
    path = Path(source)
    document = _parse(path)
    entries = document.pop("waiver", [])
    if document:
        raise SonnxError(f"'{path}': '{next(iter(document))}' is unknown; write [[waiver]] tables")
    if not isinstance(entries, list):
        raise SonnxError(f"'{path}': 'waiver' is no list of tables; write [[waiver]]")
    return tuple(
        _from_table(entry, f"'{path}', entry {number}")
        for number, entry in enumerate(entries, start=1)
    )


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode())
    except FileNotFoundError as error:
        raise SonnxError(f"there is no file '{path}'") from error
    except OSError as error:
        raise SonnxError(f"'{path}' cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise SonnxError(f"'{path}' is no TOML: {error}") from error


def _from_table(table: object, origin: str) -> Waiver:
    if not isinstance(table, Mapping):
        raise SonnxError(f"{origin}: it is no table; write [[waiver]]")
    try:
        return replace(_from_fields(table, strict=True), origin=origin)
    except SonnxError as error:
        raise SonnxError(f"{origin}: {error}") from error


def waivers_to_json(waivers: Iterable[Waiver]) -> str:
    """Serialize waivers as one line of JSON."""
    fields = [{name: getattr(waiver, name) for name in _IN_JSON} for waiver in waivers]
    return json.dumps(fields, ensure_ascii=False, default=dt.date.isoformat)


def waivers_from_json(text: str) -> tuple[Waiver, ...]:
    """Parse the result of `waivers_to_json`; return no waivers for any other text."""
    try:
        return tuple(_from_json(entry) for entry in json.loads(text))
    except (KeyError, TypeError, ValueError, RecursionError, SonnxError):
        return ()


def _from_json(entry: Mapping[str, Any]) -> Waiver:
    fields = {name: entry[name] for name in _IN_JSON}
    fields["until"] = dt.date.fromisoformat(fields["until"])
    return _from_fields(fields, strict=False)


def _from_fields(fields: Mapping[str, Any], *, strict: bool) -> Waiver:
    """Create a waiver from its fields, or raise an error that names the invalid field.

    If not strict, unknown rules and empty strings are accepted, as the Python interface does.
    """
    for name in _REQUIRED:
        if name not in fields:
            raise SonnxError(f"'{name}' is missing; a waiver has {', '.join(_REQUIRED)}")
    for name in fields:
        if name not in _KNOWN:
            raise SonnxError(f"'{name}' is unknown; a waiver has {', '.join(_KNOWN)}")
    text = partial(_text, fields, strict=strict)
    return Waiver(
        rule=text("rule"),
        node=text("node"),
        reason=text("reason"),
        who=text("who"),
        until=_day(fields["until"]),
        path=_path(fields.get("path")),
        model=None if fields.get("model") is None else text("model"),
    )


def _text(fields: Mapping[str, Any], name: str, *, strict: bool) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise SonnxError(f"'{name}' is no text")
    if strict and not value.strip() and name != "node":
        raise SonnxError(f"'{name}' is empty")
    if strict and name == "rule" and value not in RULES:
        raise SonnxError(f"there is no rule '{value}'; `sonnx-ort explain` lists all rules")
    return value


def _day(value: object) -> dt.date:
    # datetime is a subclass of date.
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise SonnxError("'until' is no date; write until = 2027-01-31, without quotes")
    return value


def _path(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(node, str) for node in value):
        raise SonnxError("'path' is no list of texts")
    return tuple(value)
