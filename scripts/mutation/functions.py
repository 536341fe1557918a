"""The functions of a module, and their mutants, as mutmut makes them.

A mutant has another operator, comparison, number or text, an argument, a case of a `match` or a
statement left out, or None in the place of a value. Statements are left out by this module, errors
that are raised among them. Functions are those of a module and of its classes, with what
is defined in them; what lies outside of them has no mutants.
"""

import ast
import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib.metadata import version
from itertools import takewhile
from pathlib import Path
from types import CodeType
from typing import cast

import libcst
from environment import ROOT
from libcst.metadata import MetadataWrapper
from mutmut.mutation.file_mutation import MutationVisitor
from mutmut.mutation.mutators import mutation_operators
from mutmut.mutation.pragma_handling import IgnoredCode

_SAYS_NOTHING = re.compile(r"\bcast\(|\bzip\(|\bstrict=")
"""Lines whose mutants say nothing in a run: what all lengths are is asserted, not decided."""

_MADE = ROOT / "build" / "mutants"
"""Where mutants are that were made, by what they follow from."""

REACHED = "__reached__"
"""The function that an instrumented module calls with the number of each function that it runs."""


class Functions:
    """The functions of a module, each with its number, and the mutants of all of them."""

    def __init__(self, source: str) -> None:
        """Read a module.

        Args:
            source: Its text.
        """
        self.source = source
        functions = _functions(ast.parse(source))
        self._starts = {_first_line(node): name for node, name in functions}

    def __len__(self) -> int:
        """How many functions there are."""
        return len(self._starts)

    @property
    def mutants(self) -> int:
        """How many mutants there are."""
        return len(self._made[1])

    def instrumented(self, first: int) -> ast.Module:
        """The module in which a call in each function tells its number, from the first one on."""
        tree = ast.parse(self.source)
        for number, (node, _) in enumerate(_functions(tree), first):
            call = ast.Call(ast.Name(REACHED, ast.Load()), [ast.Constant(number)], [])
            told = ast.copy_location(ast.Expr(call), node.body[0])
            node.body.insert(int(ast.get_docstring(node) is not None), told)
        return ast.fix_missing_locations(tree)

    def mutant(self, number: int) -> "Mutant":
        """One of the mutants, from a file if it was made before: that takes a hundredth as long."""
        path = _MADE / self._key / f"{number}.json"
        if path.is_file():
            return Mutant(**json.loads(path.read_text("utf-8")))
        made = self._mutant(number)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(made)), "utf-8")
        return made

    @cached_property
    def _key(self) -> str:
        """What the mutants follow from, as a digest."""
        parts = (self.source, Path(__file__).read_text("utf-8"), version("mutmut"))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def _mutant(self, number: int) -> "Mutant":
        module, made = self._made
        # The stub of deep_replace does not say that a module stays one.
        changed = module.deep_replace(made[number].original_node, made[number].mutated_node)
        text = cast("libcst.Module", changed).code
        old, new = self.source.splitlines(), text.splitlines()
        start = _common(old, new)
        end = min(_common(old[::-1], new[::-1]), min(len(old), len(new)) - start)
        first = max(line for line in self._starts if line <= start + 1)
        before, after = (
            " ".join(" ".join(lines[start : len(lines) - end]).split()) for lines in (old, new)
        )
        name = f"{self._starts[first]}: {before} -> {after}"
        return Mutant(name, start + 1, first, [*self._starts].index(first), text)

    @cached_property
    def _made(self) -> tuple[libcst.Module, list["_Mutation"]]:
        """The module as mutmut reads it, and what it changes in functions."""
        lines = self.source.splitlines()
        ignored = {number for number, line in enumerate(lines, 1) if _SAYS_NOTHING.search(line)}
        operators = [*mutation_operators, (libcst.SimpleStatementLine, _left_out)]
        visitor = _Visitor(operators, IgnoredCode(set(), set(), ignored))
        module = MetadataWrapper(libcst.parse_module(self.source)).visit(visitor)
        made = (
            _Mutation(each.original_node, each.mutated_node)
            for each in visitor.mutations
            if isinstance(each.contained_by_top_level_function, libcst.FunctionDef)
        )
        # Those of mutmut have the first numbers.
        return module, sorted(made, key=lambda each: each.mutated_node is _NOTHING)


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant of a module.

    Attributes:
        name: "function: line as it is -> line as it becomes".
        line: The first line that differs.
        starts: The first line of its function, or of the decorators of that.
        function: The number of its function.
        text: The text of the module.
    """

    name: str
    line: int
    starts: int
    function: int
    text: str

    def code(self, path: str) -> CodeType:
        """The code of its function."""
        return code_at(compile(self.text, path, "exec"), self.starts)


def code_at(module: CodeType, line: int) -> CodeType:
    """The code of the function of a module, or of one of its classes, that starts at a line."""
    inner = [code for code in module.co_consts if isinstance(code, CodeType)]
    inner += [each for code in inner for each in code.co_consts if isinstance(each, CodeType)]
    return next(code for code in inner if code.co_firstlineno == line)


@dataclass(frozen=True, slots=True, eq=False)
class _Mutation:
    original_node: libcst.CSTNode
    mutated_node: libcst.CSTNode


_NOTHING = libcst.SimpleStatementLine([libcst.Pass()])


def _left_out(statement: libcst.CSTNode) -> Iterator[libcst.CSTNode]:
    """Nothing in the place of an error that is raised, of a call, or of what adds to a variable."""
    match cast("libcst.SimpleStatementLine", statement).body:
        case [libcst.Raise() | libcst.AugAssign() | libcst.Expr(value=libcst.Call())]:
            yield _NOTHING
        case _:
            pass


class _Visitor(MutationVisitor):
    """What mutmut changes, in functions with decorators too: their code alone is put in."""

    def _skip_node_and_children(self, node: libcst.CSTNode) -> bool:
        if isinstance(node, libcst.FunctionDef) and node not in self._enum_creation_hooks:
            return super()._skip_node_and_children(node.with_changes(decorators=()))
        return super()._skip_node_and_children(node)


def _functions(tree: ast.Module) -> Iterator[tuple[ast.FunctionDef, str]]:
    """The functions of a module and of its classes, in their order, each with its name."""
    for node in tree.body:
        of_class = f"{node.name}." if isinstance(node, ast.ClassDef) else ""
        for each in node.body if isinstance(node, ast.ClassDef) else [node]:
            if isinstance(each, ast.FunctionDef):
                yield each, of_class + each.name


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return len(list(takewhile(lambda pair: pair[0] == pair[1], pairs)))
