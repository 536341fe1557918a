"""What follows from the code in docs/qualification is up to date, and names what exists."""

import ast
from pathlib import Path

import pytest
from environment import ROOT
from qualifying.pages import FOLDER, TOP, Function, pages, read_functions, read_procedures
from traceability.entries import read_documents
from traceability.page import by_entry, find_marks

import sonnx_ort
from sonnx_ort.cli.application import COMMANDS

FUNCTIONS = read_functions()
PAGES = pages(read_documents(), by_entry(find_marks()))


@pytest.mark.parametrize("name", PAGES)
def test_page_is_as_it_would_be_made(name: str) -> None:
    """Otherwise run `python3 scripts/qualification.py`."""
    assert (FOLDER / name).read_text(encoding="utf-8") == PAGES[name]


def test_numbers_of_functions_are_unique() -> None:
    assert len({function.number for function in FUNCTIONS}) == len(FUNCTIONS)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f"TOR-F{f.number}")
def test_function_names_tests_that_exist(function: Function) -> None:
    assert function.tests
    for test in function.tests:
        path, _, name = test.partition("::")
        tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
        defined = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        assert not name or name in defined, test


def test_every_command_and_public_name_serves_a_function() -> None:
    named = {name for function in FUNCTIONS for name in function.by}
    assert named == {f"sonnx-ort {name}" for name in COMMANDS} | set(sonnx_ort.__all__)


def test_every_set_of_tests_has_a_procedure() -> None:
    def has_tests(folder: Path) -> bool:
        return folder.is_dir() and any(folder.glob("test_*.py"))

    folders = {p.name for p in (ROOT / "tests").iterdir() if has_tests(p)}
    assert set(read_procedures()) == {*folders, TOP}
