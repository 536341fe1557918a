"""What follows from the code in docs/qualification names what exists, and has each requirement."""

import ast
from functools import cache
from pathlib import Path

import pytest
from environment import ROOT
from qualifying.configuration import TOP, read_procedures
from qualifying.requirements import Requirement, functions, requirements, tables
from tracing.entries import read_documents
from tracing.marks import by_entry, find_marks

import sonnx_ort
from sonnx_ort.cli.application import COMMANDS
from sonnx_ort.profile.catalog import RULES

FUNCTIONS = tuple(functions())


@cache
def demanded() -> tuple[Requirement, ...]:
    """All requirements: to read the marks of all tests for them takes long."""
    return requirements(read_documents(), by_entry(find_marks()))


def first_cells(name: str) -> list[str]:
    """The first cell of each row of a table, without its head."""
    return [
        line.split(" | ")[0].removeprefix("| ")
        for line in tables(demanded())[name].splitlines()[2:]
    ]


def test_numbers_are_unique() -> None:
    numbers = [requirement.number for requirement in demanded()]
    assert len(set(numbers)) == len(numbers)


def test_every_rule_has_a_requirement_with_tests() -> None:
    of_rules = {one.rule: one for one in demanded() if one.rule}
    assert of_rules.keys() == RULES.keys()
    assert [rule for rule, one in of_rules.items() if not (one.tests and one.entries)] == []


def test_tables_have_a_row_of_each_requirement() -> None:
    rows = first_cells("functions") + first_cells("rules")
    assert rows == [requirement.number for requirement in demanded()]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.number)
def test_function_names_tests_that_exist(function: Requirement) -> None:
    assert function.tests
    for test in function.tests:
        path, _, name = test.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert not name or name in defined, test


def test_every_command_and_public_name_serves_a_function() -> None:
    named = {name for function in FUNCTIONS for name in function.by}
    assert named == {f"sonnx-ort {name}" for name in COMMANDS} | set(sonnx_ort.__all__)
    assert first_cells("commands") == [f"`sonnx-ort {name}`" for name in COMMANDS]


def test_every_set_of_tests_has_a_procedure() -> None:
    def has_tests(folder: Path) -> bool:
        return folder.is_dir() and any(folder.glob("test_*.py"))

    folders = {p.name for p in (ROOT / "tests").iterdir() if has_tests(p)}
    assert set(read_procedures()) == {*folders, TOP}
