"""Writes the objects of reports and choices as JSON, and makes equal ones of it again.

Only the classes that are listed here are written and made, by their constructors. Nothing is
unpickled, and no name in a text leads to code. An object that is there several times is written
once. Equal objects give the same text, so the text of choices can be part of a key.

A document is a list. Its last entry is the whole; each entry is the name of a kind and its parts.
A part is null, a boolean, a whole number, a text, or a list with the index of an earlier entry.
"""

import base64
import dataclasses
import datetime as dt
import enum
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from sonnx_ort.analysis.obligation import Finding, Identity, Obligation
from sonnx_ort.analysis.report import (
    ContractFile,
    Coverage,
    Extent,
    LeftOut,
    NewViolations,
    Report,
)
from sonnx_ort.analysis.waivers import Waiver
from sonnx_ort.backends import Backend
from sonnx_ort.errors.remedies import Advice, Option, Remedy
from sonnx_ort.facts.ranges import Range
from sonnx_ort.facts.sizes import Bounds, Symbol, Symbolic
from sonnx_ort.loading.written import Written
from sonnx_ort.options import Choices
from sonnx_ort.profile.catalog import RULES, OperatorStanding
from sonnx_ort.profile.contract import (
    Contract,
    ShapeContract,
    SizeContract,
    StateContract,
    TypeContract,
    ValueContract,
)
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.profile.rule import Rule, Status
from sonnx_ort.terms.operand import OpenSize, Operand

DATACLASSES: tuple[type, ...] = (
    *(Bounds, Choices, Contract, ContractFile, Coverage, Demands, Finding, Identity, LeftOut),
    *(NewViolations, Obligation, Operand, Option, Range, Remedy, Report, ShapeContract),
    *(SizeContract, StateContract, Symbolic, TypeContract, ValueContract, Waiver, Written),
)
"""Classes of which all fields are written."""

ENUMS: tuple[type[enum.Enum], ...] = (
    *(Backend, Broadcasting, Edition, Extent, OperatorStanding, Status),
)

BY_ARGUMENTS: tuple[type, ...] = (OpenSize, Symbol)
"""Classes of texts with attributes, which their `__getnewargs__` has."""

_FIELDS = {each: tuple(field.name for field in dataclasses.fields(each)) for each in DATACLASSES}
"""The names of the fields, in the order in which a constructor takes them."""

_MADE_OF = {each.__name__: each for each in (*DATACLASSES, *ENUMS, *BY_ARGUMENTS)}

Atom = None | bool | int | str
Part = Atom | tuple[int]
"""A part of an entry; a tuple has the index of another entry."""


class NotKept(TypeError):  # noqa: N818 - names a condition
    """An object of which nothing is known here, so that no text stands for it."""


def written(value: object) -> str:
    """The text of an object.

    Raises:
        NotKept: It has a part of another class than those that are listed.
    """
    writer = _Writer()
    try:
        writer.finish(value)
    except RecursionError:
        raise NotKept("an object is nested too deep") from None
    return json.dumps(writer.entries, separators=(",", ":"))


def read_back(text: str | bytes) -> Any:
    """The object of a text.

    Raises:
        Exception: `written` did not make the text, or not of the classes as they are now.
    """
    made: list[Any] = []
    for kind, *parts in json.loads(text):
        # An index of an entry that follows is none.
        given = [made[part[0]] if isinstance(part, list) else part for part in parts]
        made.append(_make(kind, given))
    return made[-1]


class _Writer:
    """Writes the entries of a document."""

    def __init__(self) -> None:
        self.entries: list[Sequence[Part]] = []
        self._by_text: dict[str, tuple[int]] = {}
        # It keeps the objects alive, so that no other gets the same identity.
        self._by_identity: dict[int, tuple[object, Part]] = {}

    def finish(self, value: object) -> None:
        """Add the whole as the last entry."""
        self.entries.append(("whole", self._part(value)))

    def _part(self, value: object) -> Part:
        """A value that JSON has, or the number of the entry of another one."""
        if value is None or type(value) in {bool, int, str}:
            return value  # type: ignore[return-value]
        known = self._by_identity.get(id(value))
        if known is None:
            known = self._by_identity[id(value)] = value, self._add(self._entry(value))
        return known[1]

    def _add(self, entry: Sequence[Part]) -> tuple[int]:
        """The number of an entry; equal ones are stored once."""
        # As text 1 differs from true.
        text = json.dumps(entry)
        if text not in self._by_text:
            self._by_text[text] = (len(self.entries),)
            self.entries.append(entry)
        return self._by_text[text]

    def _entry(self, value: Any) -> Sequence[Part]:
        """The kind of a value, and the parts of which it is made again."""
        kind = type(value)
        if kind in DATACLASSES:
            parts = (self._part(getattr(value, name)) for name in _FIELDS[kind])
            return kind.__name__, *parts
        if kind in ENUMS:
            return kind.__name__, value.name
        if kind in BY_ARGUMENTS:
            return kind.__name__, *map(self._part, value.__getnewargs__())
        if kind is Rule:
            given = self._part(value.given)
            if _rule(value.id, value.given) != value:
                raise NotKept(f"the rule {value.id} is not that of the profile")
            return "rule", value.id, given
        writes = _WRITES.get(kind)
        if writes is None:
            raise NotKept(f"{kind.__module__}.{kind.__qualname__} is of no class that is kept")
        name, *others = writes(value)
        return name, *map(self._part, others)


def _array_parts(array: Any) -> Sequence[Any]:
    dtype = array.dtype.newbyteorder("=")
    if dtype.hasobject or dtype.names:
        raise NotKept("an array of objects or records is not kept")
    # numpy knows types of other packages, such as bfloat16, by their names alone.
    name = dtype.name if dtype.kind == "V" else dtype.str
    content = np.asarray(array, dtype).tobytes()
    return "array", name, base64.b64encode(content).decode("ascii"), *map(int, array.shape)


def _set_parts(names: frozenset[Any]) -> Sequence[Any]:
    if any(type(name) is not str for name in names):
        raise NotKept("a set of others than texts is not kept")
    return "set", *sorted(names)


_WRITES: Mapping[type, Callable[[Any], Sequence[Any]]] = {
    Advice: lambda advice: ("advice", *advice.parts),
    dict: lambda items: ("dict", *(part for pair in items.items() for part in pair)),
    dt.date: lambda date: ("date", date.isoformat()),
    float: lambda number: ("float", number.hex()),
    frozenset: _set_parts,
    list: lambda items: ("list", *items),
    np.ndarray: _array_parts,
    tuple: lambda items: ("tuple", *items),
}
"""The kind and the parts of objects of other classes."""


def _pairs(parts: Sequence[Any]) -> Iterable[tuple[Any, Any]]:
    return zip(parts[::2], parts[1::2], strict=True)


def _rule(name: str, given: tuple[tuple[str, Any], ...]) -> Rule | None:
    """The rule of the profile, made for a node with these attributes; None if there is none."""
    rule = RULES.get(name)
    return rule.of_node(dict(given)) if rule is not None and given else rule


def _rule_again(parts: Sequence[Any]) -> Rule:
    name, given = parts
    rule = _rule(name, given)
    if rule is None:
        raise ValueError(f"there is no rule {name}")
    return rule


def _array(parts: Sequence[Any]) -> Any:
    dtype, text, *shape = parts
    content = base64.b64decode(text, validate=True)
    return np.frombuffer(content, np.dtype(dtype)).reshape(shape)


def _single(parts: Sequence[Any]) -> Any:
    (part,) = parts
    return part


_READS: Mapping[str, Callable[[Sequence[Any]], Any]] = {
    "advice": lambda parts: Advice(*parts),
    "array": _array,
    "date": lambda parts: dt.date.fromisoformat(_single(parts)),
    "dict": lambda parts: dict(_pairs(parts)),
    "float": lambda parts: float.fromhex(_single(parts)),
    "list": list,
    "rule": _rule_again,
    "set": frozenset,
    "tuple": tuple,
    "whole": _single,
}
"""What makes the objects of other classes of their parts."""


def _make(kind: str, parts: Sequence[Any]) -> Any:
    """The value of which an entry has the kind and the parts."""
    if kind in _READS:
        return _READS[kind](parts)
    made: Any = _MADE_OF.get(kind)
    if made is None:
        _refuse(kind)
    if made in ENUMS:
        return made[_single(parts)]
    # A field that is missing would get its default, and not what it was.
    if made in _FIELDS and len(parts) != len(_FIELDS[made]):
        _refuse(kind)
    return made(*parts)


def _refuse(kind: str) -> NoReturn:
    raise ValueError(f"'{kind}' is no entry of this version")
