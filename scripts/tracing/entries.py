"""The entries: what each sentence of a document comes to, and whether the document has it."""

import ast
import inspect
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from environment import ROOT

from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.rule import Rule
from sonnx_ort.profile.source import Standing

FOLDER = Path(__file__).with_name("documents")
"""The folder of the entries, one file for each document."""


class UnusableEntry(Exception):  # noqa: N818 - reads as what it is
    """An entry is not as it has to be; the message says which, and why."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A sentence of a document, and how it is met.

    Attributes:
        id: `<operator>.<edition>.<what>`, which tests are marked with.
        places: The sections that have the sentence.
        sentence: The sentence, quoted as far as is needed; empty for an entry of whole places.
        also: Sentences that say the same, or part of it, in other words.
        tag: The document's own tag; None if the sentence has none.
        rules: The ids of the rules that it comes to.
        code: Where else it is implemented: a path, or a path and a name after a colon, of a method
            with that of its class: `Number.__add__`.
        met: What else there is to say of how it is met; may be empty.
        not_applicable: Why it demands and defines nothing here; empty if it does.
        review: Why none of its tests can fail if its code does otherwise, so that a reader has to
            judge; empty if one can.
        whole: Whether it is of all lines of its places that demand nothing by themselves.
    """

    id: str
    places: tuple[str, ...]
    sentence: str = ""
    also: tuple[str, ...] = ()
    tag: str | None = None
    rules: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    met: str = ""
    not_applicable: str = ""
    review: str = ""
    whole: bool = False

    @property
    def quotations(self) -> tuple[str, ...]:
        """All that it quotes."""
        return (*filter(None, [self.sentence]), *self.also)


@dataclass(frozen=True, slots=True)
class Document:
    """A document, as the sources of rules name it, and its sentences in their order."""

    name: str
    entries: tuple[Entry, ...]


@cache
def read_documents(folder: Path = FOLDER) -> tuple[Document, ...]:
    """Read all entries.

    Raises:
        UnusableEntry: One is not as it has to be.
    """
    documents = tuple(_document(path) for path in sorted(folder.glob("*.toml")))
    seen: set[str] = set()
    for entry in all_entries(documents):
        if entry.id in seen:
            raise UnusableEntry(f"{entry.id}: there are two entries of this name")
        seen.add(entry.id)
        _check(entry)
    return documents


def all_entries(documents: Sequence[Document]) -> Iterator[Entry]:
    """Give the entries of documents."""
    return (entry for document in documents for entry in document.entries)


def own_rules(documents: Sequence[Document]) -> tuple[Rule, ...]:
    """The rules that no document states and that no entry comes to: they are this project's."""
    traced = {rule for entry in all_entries(documents) for rule in entry.rules}
    return tuple(
        rule
        for rule in RULES.values()
        if rule.id not in traced and rule.source.standing is not Standing.STATED
    )


def _document(path: Path) -> Document:
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    entries = []
    for table in content["entry"]:
        if unknown := sorted(table.keys() - Entry.__dataclass_fields__.keys()):
            raise UnusableEntry(f"{table.get('id')}: '{unknown[0]}' is unknown")
        fields: dict[str, Any] = {
            name: tuple(v) if isinstance(v, list) else v for name, v in table.items()
        }
        entries.append(Entry(**fields))
    return Document(content["document"], tuple(entries))


def _check(entry: Entry) -> None:
    if entry.whole == bool(entry.sentence):
        raise UnusableEntry(f"{entry.id}: it has to quote a sentence, or be of whole places")
    if bool(entry.not_applicable) == bool(entry.rules or entry.code):
        raise UnusableEntry(f"{entry.id}: it has to name rules or code, or why it does not apply")
    for rule in entry.rules:
        if rule not in RULES:
            raise UnusableEntry(f"{entry.id}: there is no rule {rule}")
    for place in entry.code:
        path, _, name = place.partition(":")
        if not (ROOT / path).is_file():
            raise UnusableEntry(f"{entry.id}: there is no file {path}")
        if name and name not in _defined(ROOT / path):
            raise UnusableEntry(f"{entry.id}: {path} defines no {name}")


@cache
def _defined(path: Path) -> set[str]:
    """The names that a module defines, and those of the methods of its classes."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name):
                names.add(name)
            case ast.ClassDef(name=name, body=body):
                methods = [each.name for each in body if isinstance(each, ast.FunctionDef)]
                names |= {name, *(f"{name}.{method}" for method in methods)}
            case ast.Assign(targets=targets):
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
    return names


def requirement(rule: str) -> str:
    """Where the procedure is written that decides a rule."""
    kind = type(RULES[rule].requirement)
    path = Path(inspect.getfile(kind)).resolve().relative_to(ROOT)
    return f"{path.as_posix()}:{kind.__name__}"
