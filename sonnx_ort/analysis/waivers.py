"""Waivers, and their formats: TOML tables for people, JSON in models and records.

`docs/waivers.md` documents the table.
"""

import datetime as dt
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from sonnx_ort.errors import InvalidArgument, SonnxError
from sonnx_ort.errors.arguments import require_fields
from sonnx_ort.loading.text_files import toml_of
from sonnx_ort.profile.catalog import RULES

_REQUIRED = ("rule", "node", "reason", "who", "until")
_OF_ONE = ("node", "path")
_OF_MANY = ("operator", "nodes", "count")
_KNOWN = (*_REQUIRED, "path", "model", *_OF_MANY)
_IN_JSON = ("rule", "node", "path", "model", "reason", "who", "until")


@dataclass(frozen=True, slots=True)
class Waiver:
    """An entry by which a person or body accepts one or several violations until a date.

    It names one node, or several by their operator, by a pattern of their names, or by both. It
    changes enforcement only if it is given to `rewrite`, which then records it in the model.

    Attributes:
        rule: The id of the violated rule.
        node: The node's name as in reports; empty for a rule of the whole graph, None for several
            nodes.
        reason: Why the violation is accepted.
        who: The person or body responsible.
        until: The last day of validity.
        path: The path of the node as in reports; None if its name is unique.
        model: The SHA-256 of the model as in reports; None for any model.
        operator: The operator of several nodes, as in reports; None for any.
        nodes: A pattern of the names of several nodes, for `fnmatch.fnmatchcase`; None for any.
        count: The number of violations at several nodes; None for one node.
        origin: Where it is defined, for messages.
    """

    rule: str
    node: str | None
    reason: str
    who: str
    until: dt.date
    path: tuple[str, ...] | None = None
    model: str | None = None
    operator: str | None = None
    nodes: str | None = None
    count: int | None = None
    origin: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        """Check that it names one node, or many nodes and the number of violations.

        Raises:
            SonnxError: It names none or both, or the number is missing or below 1.
        """
        if isinstance(self.until, dt.datetime):
            object.__setattr__(self, "until", self.until.date())
        one, many = (
            [name for name in names if getattr(self, name) is not None]
            for names in (_OF_ONE, _OF_MANY)
        )
        if one and many:
            raise SonnxError(f"'{one[0]}' is for one node and '{many[0]}' for several; remove one")
        if not many and self.node is None:
            raise SonnxError(
                "'node' is missing; name one node, or several by 'operator' or 'nodes'"
            )
        if many == ["count"]:
            raise SonnxError("'count' is for several nodes; name them by 'operator' or 'nodes'")
        if many and self.count is None:
            raise SonnxError("'count' is missing; write the number of accepted violations")
        if many and (type(self.count) is not int or self.count < 1):
            raise SonnxError(f"'count' is {self.count!r}; write a whole number of 1 or more")

    def __str__(self) -> str:
        """Format who accepts the violation, until when and why, as one clause."""
        in_all = "" if self.count is None else f", {self.count} in all"
        return f"by {self.who} until {self.until.isoformat()}{in_all}: {self.reason}"

    @property
    def place(self) -> str:
        """The rule and the node or nodes, and where the waiver is defined, for messages."""
        origin = f"{self.origin}: " if self.origin else ""
        named = "" if self.nodes is None else f" '{self.nodes}'"
        operator = "" if self.operator is None else f" of {self.operator}"
        inside = "".join(f" in {node}" for node in reversed(self.path or ()))
        nodes = f"nodes{named}{operator}" if self.node is None else f"node '{self.node}'{inside}"
        return f"{origin}the waiver of {self.rule} at {nodes}"

    @property
    def scope(self) -> tuple[object, ...]:
        """What it covers, without the path and the model; the same for a renewed waiver."""
        return (self.rule, self.node, self.operator, self.nodes, self.count)

    def is_for(self, rule: str, operator: str, node: str, path: tuple[str, ...]) -> bool:
        """Whether it names this rule at this node, ignoring the model."""
        if self.node is None:
            named = self.nodes is None or fnmatchcase(node, self.nodes)
            return self.rule == rule and self.operator in (None, operator) and named
        return (self.rule, self.node) == (rule, node) and self.path in (None, path)

    def at(self, path: tuple[str, ...] | None) -> "Waiver":
        """The waiver with the path of its node; one of many nodes has no path."""
        return self if self.node is None else replace(self, path=path)

    def expired(self, today: dt.date) -> bool:
        """Whether its last day is before the given date."""
        return today > self.until


_TEXTS = ("rule", "node", "reason", "who", "model", "operator", "nodes", "origin")
"""The fields of a waiver that are texts."""

WaiverSource = str | os.PathLike[str] | Iterable[Waiver]
"""Waivers as a caller can give them: a TOML file, or `Waiver` objects."""


def read_waivers(source: WaiverSource) -> tuple[Waiver, ...]:
    """Read waivers from a TOML file with `[[waiver]]` tables; return given waivers unchanged.

    Raises:
        SonnxError: The file cannot be read, or an entry is invalid; the message names both.
    """
    if not isinstance(source, str | os.PathLike):
        given = tuple(source)
        for each in given:
            if not isinstance(each, Waiver):
                raise InvalidArgument(f"waivers: {each!r:.60} is no Waiver")
            require_fields(each, *_TEXTS, "until", "path")
        return given
    path = Path(source)
    document = toml_of(path)
    entries = document.pop("waiver", [])
    if document:
        raise SonnxError(f"'{path}': '{next(iter(document))}' is unknown; write [[waiver]] tables")
    if not isinstance(entries, list):
        raise SonnxError(f"'{path}': 'waiver' is not a list of tables; write [[waiver]]")
    return tuple(
        _from_table(entry, f"'{path}', entry {number}")
        for number, entry in enumerate(entries, start=1)
    )


def _from_table(table: object, origin: str) -> Waiver:
    if not isinstance(table, Mapping):
        raise SonnxError(f"{origin}: it is not a table; write [[waiver]]")
    try:
        return replace(_from_fields(table, strict=True), origin=origin)
    except SonnxError as error:
        raise SonnxError(f"{origin}: {error}") from error


def waivers_to_json(waivers: Iterable[Waiver]) -> str:
    """Serialize waivers as one line of JSON."""
    fields = [
        {name: getattr(waiver, name) for name in _IN_JSON + (_OF_MANY if waiver.count else ())}
        for waiver in waivers
    ]
    return json.dumps(fields, ensure_ascii=False, default=dt.date.isoformat)


def waivers_from_json(text: str) -> tuple[Waiver, ...]:
    """Parse the result of `waivers_to_json`; return no waivers for any other text."""
    try:
        return tuple(_from_json(entry) for entry in json.loads(text))
    except (KeyError, TypeError, ValueError, RecursionError, SonnxError):
        return ()


def _from_json(entry: Mapping[str, Any]) -> Waiver:
    fields = {name: entry[name] for name in _IN_JSON}
    fields |= {name: entry[name] for name in _OF_MANY if name in entry}
    fields["until"] = dt.date.fromisoformat(fields["until"])
    return _from_fields(fields, strict=False)


def _from_fields(fields: Mapping[str, Any], *, strict: bool) -> Waiver:
    """Create a waiver from its fields, or raise an error that names the invalid field.

    If not strict, unknown rules and empty strings are accepted, as the Python interface does.
    """
    for name in _REQUIRED:
        if name not in fields and name not in _OF_ONE:
            raise SonnxError(f"'{name}' is missing; a waiver has {', '.join(_REQUIRED)}")
    for name in fields:
        if name not in _KNOWN:
            raise SonnxError(f"'{name}' is unknown; a waiver has {', '.join(_KNOWN)}")
    given = {name: value for name, value in fields.items() if value is not None}
    text = partial(_text_field, given, strict=strict)
    return Waiver(
        rule=text("rule"),
        node=text("node") if "node" in given else None,
        reason=text("reason"),
        who=text("who"),
        until=_require_day(given["until"]),
        path=_require_path(given.get("path")),
        model=text("model") if "model" in given else None,
        operator=text("operator") if "operator" in given else None,
        nodes=text("nodes") if "nodes" in given else None,
        count=given.get("count"),
    )


def _text_field(fields: Mapping[str, Any], name: str, *, strict: bool) -> str:
    value = fields[name]
    if not isinstance(value, str):
        raise SonnxError(f"'{name}' is not a string")
    if strict and not value.strip() and name != "node":
        raise SonnxError(f"'{name}' is empty")
    if strict and name == "rule" and value not in RULES:
        raise SonnxError(f"there is no rule '{value}'; `sonnx-ort explain` lists all rules")
    return value


def _require_day(value: object) -> dt.date:
    # datetime is a subclass of date.
    if not isinstance(value, dt.date) or isinstance(value, dt.datetime):
        raise SonnxError("'until' is not a date; write until = 2027-01-31, without quotes")
    return value


def _require_path(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(node, str) for node in value):
        raise SonnxError("'path' is not a list of strings")
    return tuple(value)
