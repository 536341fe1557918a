"""The conditions of a module, and its mutants: in each, one condition has always the same value.

A condition is an operand of `and`, `or` and `not`, or what stands alone, where a truth value
decides: in `if`, `while`, `assert`, `require(...)`, a ternary, a comprehension, the guard of a
`case`, the generator of `any` and `all`, and the result of a function of type bool. Each comparison
is a condition, wherever it stands. Of `a or b` that gives one of two values, a is a condition.

In an instrumented module a function is called with the number and the value of each condition, and
a mutant gives another one: what the condition binds and raises stays. Needs the standard library
only: it is imported before the package.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, cast

_OF_TYPE_BOOL = {"all", "any", "bool", "callable", "hasattr", "isinstance", "issubclass"}
_DEMANDING = {"require"}
"""The functions that raise an error unless their first argument is true."""


@dataclass(frozen=True, slots=True)
class Mutant:
    """A mutant of a module: the number of a condition, its value, and its first line."""

    number: int
    value: bool
    name: str
    line: int


def mutants(source: str) -> list[Mutant]:
    """All mutants, in the order of their conditions; "function: condition -> value" names each."""
    made: list[Mutant] = []
    seen = Counter[str]()
    for number, found in enumerate(_conditions(ast.parse(source))):
        text = f"{found.scope}: {ast.unparse(found.node)}"
        seen[text] += 1
        text += f" ({seen[text]})" if seen[text] > 1 else ""
        made += [
            Mutant(number, value, f"{text} -> {value}", found.node.lineno)
            for value in (True, False)
        ]
    return made


CONDITION, STOPS = "__condition__", "__stops__"
"""The functions that an instrumented module calls.

`__condition__(number, value)` gives the value of a condition; `__stops__(number, value)` says
whether a choice such as `a or b` ends with an operand, whatever the truth of that is.
"""


def instrumented(source: str, first: int = 0) -> ast.Module:
    """The module in which the conditions have numbers from the first one on."""
    tree = ast.parse(source)
    conditions = _conditions(tree)
    numbers: dict[ast.AST, int] = {
        found.node: number for number, found in enumerate(conditions, first)
    }
    choices = {found.node for found in conditions if found.is_choice}

    def call(function: str, number: int, value: Any) -> ast.Call:
        return ast.Call(ast.Name(function, ast.Load()), [ast.Constant(number), value], [])

    class Instrumentation(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> Any:
            made = self._choice(node) if isinstance(node, ast.BoolOp) else self.generic_visit(node)
            # An array keeps its place: nothing asks for its truth.
            return call(CONDITION, numbers[node], made) if node in numbers else made

        def _choice(self, node: ast.BoolOp) -> ast.expr:
            """The choice, which ends with an operand that stops it."""
            old, node.values = node.values, [self.visit(value) for value in node.values]
            made: ast.expr = node
            for place in (place for place, value in enumerate(old) if value in choices):
                _, operand = cast("ast.Call", node.values[place]).args
                body = ast.BoolOp(node.op, [*node.values[:place], operand]) if place else operand
                stopping = ast.Constant(isinstance(node.op, ast.Or))
                made = ast.IfExp(call(STOPS, numbers[old[place]], stopping), body, made)
            return made

    changed: ast.Module = Instrumentation().visit(tree)
    return ast.fix_missing_locations(changed)


@dataclass(frozen=True, slots=True)
class _Condition:
    node: ast.expr
    scope: str
    is_choice: bool


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

    def visit(self, node: ast.AST) -> None:
        """Note the conditions of a node, and visit what it contains."""
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Compare):
            self._settled.add(node.value)  # an array
        for decided in self._decided_by(node):
            self._note_truth(decided)
        match node:
            case ast.BoolOp(values=[*values, _]) if node not in self._settled:
                for value in values:
                    self._note(value, is_choice=True)
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
                self._note(expression)

    def _note(self, node: ast.expr, *, is_choice: bool = False) -> None:
        scope = ".".join(self._scopes) or "module"
        self.conditions.setdefault(node, _Condition(node, scope, is_choice))


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
