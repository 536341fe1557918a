"""The list of mutants that do what the original does is of the sources as they are."""

import ast
from collections.abc import Iterator

import mutate
import pytest
from environment import ROOT
from mutation.outcomes import listed_in

LISTED = [
    (each["path"], mutant) for each in listed_in(mutate.EQUIVALENTS) for mutant in each["mutants"]
]


def lines_of(path: str, function: str) -> Iterator[str]:
    """The lines of the functions of a name in a file, without their indentation."""
    text = (ROOT / path).read_text("utf-8")
    lines, name = text.splitlines(), function.rpartition(".")[2]
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            yield from (line.strip() for line in lines[node.lineno - 1 : node.end_lineno])


@pytest.mark.parametrize(("path", "mutant"), LISTED)
def test_line_of_an_equivalent_mutant_stands_in_its_function(path: str, mutant: str) -> None:
    function, _, change = mutant.partition(": ")
    line, _, other = change.partition(" -> ")
    assert line in set(lines_of(path, function))
    assert other != line
