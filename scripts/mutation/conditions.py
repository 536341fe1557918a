"""The conditions of a module, and its mutants: in each, one condition has always the same value.

A condition is an operand of `and`, `or` and `not`, or what stands alone, where a truth value
decides: in `if`, `while`, `assert`, `require(...)`, a ternary, a comprehension, the guard of a
`case`, the generator of `any` and `all`, and the result of a function of type bool. Each comparison
is a condition, wherever it stands. Of `a or b` that gives one of two values, a is a condition.

The mutant evaluates the condition and drops its value: what it binds and raises stays. Needs the
standard library only: it is imported before the package.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_OF_TYPE_BOOL = {"all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"}
_DEMANDING = {"require"}
"""The functions that raise an error unless their first argument is true."""

_Choice = tuple[ast.BoolOp, int]
"""An `and` or `or` that gives one of several values, and the position of an operand."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant of a module: `number` is that of the condition.

    `line` is the condition's first line; it runs if one of the lines from `start` to `end` does.
    """

    number: int
    value: bool
    name: str
    line: int
    start: int
    end: int


def mutants(source: str) -> list[Mutant]:
    """All mutants, in the order of their conditions; "function: condition -> value" names each."""
    made: list[Mutant] = []
    seen = Counter[str]()
    for number, found in enumerate(_conditions(ast.parse(source))):
        text = f"{found.scope}: {ast.unparse(found.node)}"
        seen[text] += 1
        text += f" ({seen[text]})" if seen[text] > 1 else ""
        line, end = found.node.lineno, found.node.end_lineno or found.node.lineno
        made += [
            Mutant(number, value, f"{text} -> {value}", line, found.start, end)
            for value in (True, False)
        ]
    return made


def mutated(source: str, number: int, *, value: bool) -> ast.Module:
    """The module in which a condition has a value."""
    tree = ast.parse(source)
    found = _conditions(tree)[number]
    if found.choice is not None and value is isinstance(found.choice[0].op, ast.Or):
        return _replaced(tree, found.choice[0], _chosen(*found.choice))
    # An array keeps its place: nothing asks for its truth.
    pair = ast.Tuple([found.node, ast.Constant(value)], ast.Load())
    return _replaced(tree, found.node, ast.Subscript(pair, ast.Constant(1), ast.Load()))


def _chosen(choice: ast.BoolOp, position: int) -> ast.expr:
    """The operand at a position, whatever its truth; the others stay in sight of the compiler."""
    first = choice.values[: position + 1]
    body = first[0] if position == 0 else ast.BoolOp(choice.op, first)
    return ast.IfExp(ast.Constant(value=True), body, choice.values[-1])


def _replaced(tree: ast.Module, old: ast.expr, new: ast.expr) -> ast.Module:
    class Replacement(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            return ast.copy_location(new, old) if node is old else super().generic_visit(node)

    changed: ast.Module = Replacement().visit(tree)
    return ast.fix_missing_locations(changed)


@dataclass(frozen=True, slots=True)
class _Condition:
    node: ast.expr
    scope: str
    start: int
    choice: _Choice | None


def _conditions(tree: ast.Module) -> list[_Condition]:
    found = _Collector()
    found.visit(tree)
    return sorted(found.conditions.values(), key=lambda c: (c.node.lineno, c.node.col_offset))


class _Collector(ast.NodeVisitor):
    """Collects the conditions; what contains others is visited before them."""

    def __init__(self) -> None:
        self.conditions: dict[ast.expr, _Condition] = {}
        self._settled: set[ast.expr] = set()
        self._scopes: list[str] = []
        self._results: list[bool] = [False]
        self._start = 1

    def visit(self, node: ast.AST) -> None:
        """Note the conditions of a node, and visit what it contains."""
        if isinstance(node, ast.stmt):
            self._start = node.lineno
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Compare):
            self._settled.add(node.value)  # an array
        for decided in self._decided_by(node):
            self._note_truth(decided)
        match node:
            case ast.BoolOp(values=[*values, _]) if node not in self._settled:
                for position, value in enumerate(values):
                    self._note(value, (node, position))
            case ast.ClassDef() | ast.FunctionDef():
                self._scopes.append(node.name)
                self._results.append(isinstance(node, ast.FunctionDef) and _gives_bool(node))
                self.generic_visit(node)
                self._scopes.pop()
                self._results.pop()
                return
            case _:
                pass
        self.generic_visit(node)

    def _decided_by(self, node: ast.AST) -> Iterator[ast.expr]:
        """The parts of a node whose truth decides."""
        match node:
            case ast.If(test=test) | ast.While(test=test) | ast.IfExp(test=test):
                yield test
            case ast.Assert(test=test):
                yield test
            case ast.comprehension(ifs=tests):
                yield from tests
            case ast.match_case(guard=ast.expr() as test):
                yield test
            case ast.Return(value=ast.expr() as test) if self._results[-1]:
                yield test
            case ast.Call(func=ast.Name("any" | "all"), args=[ast.GeneratorExp(elt=test)]):
                yield test
            case ast.Call(func=ast.Name(name), args=[test, *_]) if name in _DEMANDING:
                yield test
            case ast.BoolOp() | ast.Compare() | ast.UnaryOp():
                if node not in self._settled and _is_bool(node):
                    yield node
            case _:
                pass

    def _note_truth(self, expression: ast.expr) -> None:
        match expression:
            case ast.BoolOp(values=values):
                self._settled.add(expression)
                for value in values:
                    self._note_truth(value)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self._note_truth(operand)
            case ast.Constant():
                pass
            case _:
                self._note(expression, None)

    def _note(self, node: ast.expr, choice: _Choice | None) -> None:
        scope = ".".join(self._scopes) or "module"
        self.conditions.setdefault(node, _Condition(node, scope, self._start, choice))


def _gives_bool(function: ast.FunctionDef) -> bool:
    return isinstance(function.returns, ast.Name) and function.returns.id == "bool"


def _is_bool(node: ast.AST) -> bool:
    """Whether an expression gives True or False, as its form shows."""
    match node:
        case ast.Compare() | ast.UnaryOp(op=ast.Not()):
            return True
        case ast.BoolOp(values=values):
            return any(map(_is_bool, values))
        case ast.Call(func=ast.Name(name)):
            return name in _OF_TYPE_BOOL
        case _:
            return False
