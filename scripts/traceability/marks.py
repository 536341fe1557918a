"""Finds which tests show which entries: by the marker `satisfies`, without running anything."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from environment import ROOT

MARKER = "satisfies"
"""The marker's name: `@pytest.mark.satisfies("Div.typed.float.R1")`."""

PROOFS = "tests/proofs/"
"""Where tests are proofs."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A test that shows an entry.

    Attributes:
        entry: The id of the entry.
        test: The test as pytest names it, from the repository's folder on.
    """

    entry: str
    test: str

    @property
    def is_proof(self) -> bool:
        """Whether the test is a proof."""
        return self.test.startswith(PROOFS)


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
    """Sort marks by the entries that they name."""
    found: dict[str, list[Mark]] = {}
    for mark in marks:
        found.setdefault(mark.entry, []).append(mark)
    return found


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
                case ast.Constant(value=str() as entry):
                    yield Mark(entry, test)
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
