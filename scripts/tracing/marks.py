"""The marks of tests: which entries and rules each test shows."""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path

from environment import ROOT

from sonnx_ort.profile.rule import Rule
from tracing.entries import all_entries, own_rules, read_documents, requirement

MARKER = "satisfies"
"""The marker's name: `@pytest.mark.satisfies("Div.typed.float.R1")`.

It names entries, several in a text, and rules of this project, also by patterns: `"*.RG1"`. A test
that tries all rules of a class names its place, such as
`"sonnx_ort/profile/requirements/attributes.py:Dense"`: it is a test of each entry and rule with it.
"""

PROOFS = "tests/proofs/"
"""Where tests are proofs."""


@dataclass(frozen=True, slots=True)
class Mark:
    """What a mark names, and the test that shows it, as pytest names it from the repository on."""

    entry: str
    test: str

    @property
    def is_proof(self) -> bool:
        """Whether the test is a proof."""
        return self.test.startswith(PROOFS)


@cache
def find_marks(folder: Path = ROOT / "tests", root: Path = ROOT) -> tuple[Mark, ...]:
    """Find every mark in the tests of a folder.

    Raises:
        ValueError: A mark is at no test, or names its entries by anything but texts.
    """
    return tuple(
        mark
        for path in sorted(folder.rglob("test_*.py"))
        for mark in _marks_in(path, path.relative_to(root).as_posix())
    )


def by_entry(marks: Iterable[Mark]) -> Mapping[str, list[Mark]]:
    """Sort marks by what they name; those of a class are marks of all entries and rules with it."""
    found: dict[str, list[Mark]] = {}
    for mark in marks:
        for name in _with_class(mark.entry) if ":" in mark.entry else (mark.entry,):
            found.setdefault(name, []).append(mark)
    return found


@cache
def _with_class(place: str) -> tuple[str, ...]:
    """The entries and the rules of this project with a requirement of a class.

    Raises:
        ValueError: There is none.
    """
    documents = read_documents()
    named = [
        entry.id
        for entry in all_entries(documents)
        if place in (*map(requirement, entry.rules), *entry.code)
    ]
    named += [rule.id for rule in own_rules(documents) if requirement(rule.id) == place]
    if not named:
        raise ValueError(f"a mark '{MARKER}' names {place}, and no rule has such a requirement")
    return tuple(named)


def marks_of(rule: Rule, marks: Mapping[str, Sequence[Mark]]) -> list[Mark]:
    """The marks that name a rule of this project, by its id or by a pattern."""
    return [m for name, named in marks.items() if fnmatchcase(rule.id, name) for m in named]


def _marks_in(path: Path, name: str) -> Iterator[Mark]:
    text = path.read_text(encoding="utf-8")
    if f"mark.{MARKER}" not in text:
        return
    tree = ast.parse(text)
    at_tests = list(_decorating(tree, name))
    everywhere = {id(mark) for mark in _marks_among(ast.walk(tree))}
    if everywhere != {id(call) for call, _ in at_tests}:
        raise ValueError(f"{name}: a mark '{MARKER}' decorates no test")
    for call, test in at_tests:
        for argument in call.args:
            match argument:
                case ast.Constant(value=str() as entries):
                    yield from (Mark(entry, test) for entry in entries.split())
                case _:
                    raise ValueError(f"{test}: a mark '{MARKER}' names an entry by no text")


def _decorating(tree: ast.AST, name: str) -> Iterator[tuple[ast.Call, str]]:
    """The marks that decorate tests, and classes of them, with the tests' names."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.FunctionDef() | ast.ClassDef() if node.name.lower().startswith("test"):
                test = f"{name}::{node.name}"
                yield from ((call, test) for call in _marks_among(node.decorator_list))
                if isinstance(node, ast.ClassDef):
                    yield from _decorating(node, test)


def _marks_among(nodes: Iterable[ast.AST]) -> Iterator[ast.Call]:
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr=attribute)) if attribute == MARKER:
                yield node
