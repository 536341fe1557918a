"""The mutants of a file: what mutmut's operators make of each of its functions."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from types import CodeType
from typing import cast

import libcst as cst
from environment import ROOT
from libcst.metadata import (
    CodeRange,
    MetadataWrapper,
    ParentNodeProvider,
    PositionProvider,
    WhitespaceInclusivePositionProvider,
)
from mutmut.mutation.mutators import mutation_operators

from mutation.codes import differ

_LEFT_ALONE = frozenset({"cast", "isinstance", "len"})
"""Calls that say nothing in a run, or that any other argument makes fail."""


@dataclass(frozen=True, slots=True)
class Change:
    """What tells a mutant from its original, wherever in the file it stands.

    Attributes:
        function: The qualified name of the function; empty outside of all functions.
        before: The lines that differ, as they are.
        after: As they are in the mutant.
    """

    function: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.function}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True)
class Mutant:
    """A file with one change.

    Attributes:
        path: The file, from the repository's root.
        change: What tells it from the original.
        function_line: The line that the function begins at, with its decorators.
        lines: The first and the last line of the statement that is changed.
        source: The whole mutated file.
    """

    path: str
    change: Change
    function_line: int
    lines: tuple[int, int]
    source: str


@dataclass(frozen=True)
class SourceFile:
    """A file of the package.

    Attributes:
        path: From the repository's root.
    """

    path: str

    @cached_property
    def text(self) -> str:
        """What is in it."""
        return (ROOT / self.path).read_text("utf-8")

    def mutants(self) -> Iterator[Mutant]:
        """Each mutant of a function that Python takes for a program, and for another one."""
        wrapper = MetadataWrapper(cst.parse_module(self.text))
        visitor = _Visitor()
        wrapper.visit(visitor)
        original = _program(self.text)
        for place in visitor.places:
            source = place.apply(wrapper.module, self.text)
            try:
                program = _program(source)
            except (SyntaxError, ValueError):
                continue
            if not differ(program, original):
                continue
            yield Mutant(
                self.path,
                Change(place.function, *_difference(self.text, source)),
                place.function_line,
                place.lines,
                source,
            )


def files(*folders: str) -> list[SourceFile]:
    """The files below folders, in order.

    Args:
        *folders: Folders or files, from the repository's root.
    """
    found: set[Path] = set()
    for folder in folders:
        place = ROOT / folder
        found.update(place.rglob("*.py") if place.is_dir() else [place])
    return [SourceFile(path.relative_to(ROOT).as_posix()) for path in sorted(found)]


@dataclass(frozen=True, slots=True)
class _Place:
    """A node of a function, and what an operator puts in its place."""

    old: cst.CSTNode
    new: cst.CSTNode
    function: str
    function_line: int
    lines: tuple[int, int]
    span: CodeRange

    def apply(self, module: cst.Module, text: str) -> str:
        """The whole file with the new node."""
        if isinstance(self.new, cst.BaseCompoundStatement):
            return cast(cst.Module, module.deep_replace(self.old, self.new)).code
        # Cut out and put in: to write the whole tree again takes twenty times as long.
        lines = text.splitlines(keepends=True)
        start, end = self.span.start, self.span.end
        head = "".join(lines[: start.line - 1]) + lines[start.line - 1][: start.column]
        tail = lines[end.line - 1][end.column :] + "".join(lines[end.line :])
        return head + module.code_for_node(self.new) + tail


class _Visitor(cst.CSTVisitor):
    """Collects the places, function by function."""

    METADATA_DEPENDENCIES = (
        ParentNodeProvider,
        PositionProvider,
        WhitespaceInclusivePositionProvider,
    )

    def __init__(self) -> None:
        super().__init__()
        self.places: list[_Place] = []
        self._names: list[str] = []
        self._functions: list[tuple[str, int]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Note what can stand in the place of a node, and go on below it."""
        if isinstance(node, cst.Annotation | cst.Decorator) or _is_left_alone(node):
            return False
        if isinstance(node, cst.ClassDef | cst.FunctionDef):
            self._enter(node)
            return True
        if self._functions and not _is_zip(node):
            function, function_line = self._functions[0]
            self.places += [
                _Place(node, new, function, function_line, self._lines(node), self._span(node))
                for kind, operator in mutation_operators
                if isinstance(node, kind)
                for new in operator(node)
            ]
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        """Leave a function or class."""
        if isinstance(original_node, cst.ClassDef | cst.FunctionDef):
            self._names.pop()
            if isinstance(original_node, cst.FunctionDef):
                self._functions.pop()

    def _enter(self, node: cst.ClassDef | cst.FunctionDef) -> None:
        self._names.append(node.name.value)
        if isinstance(node, cst.FunctionDef):
            first = self._position(node)[0]
            for decorator in node.decorators:
                first = min(first, self._position(decorator)[0])
            self._functions.append((".".join(self._names), first))

    def _position(self, node: cst.CSTNode) -> tuple[int, int]:
        found = self.get_metadata(PositionProvider, node)
        return found.start.line, found.end.line

    def _span(self, node: cst.CSTNode) -> CodeRange:
        return self.get_metadata(WhitespaceInclusivePositionProvider, node)

    def _lines(self, node: cst.CSTNode) -> tuple[int, int]:
        """The lines of the statement around a node; of a compound one the lines of its head."""
        while not isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            parent = self.get_metadata(ParentNodeProvider, node)
            if isinstance(parent, cst.MatchCase):
                return self._head(parent)
            node = parent
        if isinstance(node, cst.BaseCompoundStatement):
            return self._head(node)
        return self._position(node)

    def _head(self, node: cst.BaseCompoundStatement | cst.MatchCase) -> tuple[int, int]:
        first, last = self._position(node)
        body = node.cases[0] if isinstance(node, cst.Match) else node.body
        return first, max(first, min(last, self._position(body)[0] - 1))


def _is_left_alone(node: cst.CSTNode) -> bool:
    match node:
        case cst.Call(func=cst.Name(value=name)):
            return name in _LEFT_ALONE
        case cst.Expr(value=cst.SimpleString()):
            return True
        case cst.Arg(keyword=cst.Name(value="strict")):
            return True
    return False


def _is_zip(node: cst.CSTNode) -> bool:
    """Whether a node is a call of `zip`: that all are of one length is asserted, not decided."""
    match node:
        case cst.Call(func=cst.Name(value="zip")):
            return True
    return False


def _program(source: str) -> CodeType:
    return compile(source, "", "exec", dont_inherit=True)


def _difference(before: str, after: str) -> tuple[str, str]:
    """The lines in which two texts differ, each on one line."""
    old, new = before.splitlines(), after.splitlines()
    start = _common(old, new)
    end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
    return tuple(  # type: ignore[return-value]
        " ".join(" ".join(lines[start : len(lines) - end]).split()) for lines in (old, new)
    )


def _common(one: list[str], other: list[str]) -> int:
    pairs = zip(one, other, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
