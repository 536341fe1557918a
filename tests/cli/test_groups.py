"""The help of the commands: options in groups, whole summaries, names of one kind for values."""

import re
from typing import Any

import pytest
import typer

from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.cli.groups import Group, group_of, help_by_group
from support.command import command

METAVARIABLE = re.compile(
    r"FILE|FOLDER|N|NUMBER|SECONDS|MB|SHARE|NAMES?|RULES?|ENGINE|COMMAND|YYYY-MM-DD|"
    r"NAME=(FILE|N|N,N|NUMBER)|<[\w-]+(\|[\w-]+)+>"
)
OF_NO_GROUP = {"help", "show_settings"}


@pytest.fixture(params=COMMANDS)
def loaded(request: pytest.FixtureRequest) -> Any:
    return load(request.param)


def parameters(of: Any) -> list[Any]:
    return [each for each in of.get_params(typer.Context(of)) if hasattr(each, "is_flag")]


def test_each_option_has_a_group(loaded: Any) -> None:
    groups = {each.name: group_of(loaded.name, each.name) for each in parameters(loaded)}
    assert {name for name, group in groups.items() if group is Group.OTHER} <= OF_NO_GROUP


def test_each_option_is_in_the_help_once(loaded: Any) -> None:
    shown = help_by_group(loaded, typer.Context(loaded))
    names = [name for heading, records in shown.items() for name, _ in records]
    assert len(names) == len(set(names)) == len(loaded.get_params(typer.Context(loaded)))
    text = command(loaded.name, "--help").stdout
    assert [line[:-1] for line in text.splitlines() if re.fullmatch(r"[A-Z].*:", line)] == [*shown]


def test_values_have_names_of_one_kind(loaded: Any) -> None:
    for each in parameters(loaded):
        if each.is_flag:
            continue
        shown, _ = each.get_help_record(typer.Context(loaded))
        assert METAVARIABLE.fullmatch(shown.rpartition(" ")[2]), shown


def test_summaries_are_one_sentence_and_not_cut() -> None:
    listed = " ".join(command("--help").stdout.partition("Commands:\n")[2].split())
    assert listed == " ".join(f"{name} {text}" for name, text in COMMANDS.items())
    for text in COMMANDS.values():
        assert re.fullmatch(r"[A-Z][^.!?]*\.", text)


@pytest.mark.parametrize(("of", "parameter", "group"), [
    ("audit", "samples", Group.LOOK), ("diff", "samples", Group.INPUTS),
    ("certify", "check", Group.INPUTS), ("reduce", "check", Group.LOOK),
    ("check", "none_of_them", Group.OTHER),
])  # fmt: skip
def test_parameter_that_means_something_else_has_a_group_of_its_own(
    of: str, parameter: str, group: Group
) -> None:
    assert group_of(of, parameter) is group
