"""The page of the commands has each command with each option."""

import re

import pytest
import typer
from command_reference import reference

from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.cli.groups import Group


@pytest.fixture(scope="module")
def sections() -> dict[str, str]:
    """What is said of each command, by its name."""
    _, *parts = re.split(r"^## (.+)$", reference(), flags=re.MULTILINE)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_commands_stand_in_the_order_of_the_help(sections: dict[str, str]) -> None:
    assert list(sections) == list(COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_command_has_its_summary_and_all_of_its_options(
    name: str, sections: dict[str, str]
) -> None:
    text = sections[name]
    assert COMMANDS[name].replace("`", "") in text.replace("`", "")
    rows = re.findall(r"^\| `(.+?)` \| .+ \|$", text, re.MULTILINE)
    listed = {word for row in rows for word in row.replace(",", "").split() if word[0] == "-"}
    command = load(name)
    known = command.get_params(typer.Context(command))
    assert listed == {o for each in known if hasattr(each, "is_flag") for o in each.opts}
    headings = re.findall(r"^\| (.+) \| meaning \|$", text, re.MULTILINE)
    assert set(headings) <= {"Arguments", *Group}


def test_choices_stand_beside_the_option(sections: dict[str, str]) -> None:
    row = next(line for line in sections["check"].splitlines() if "`--fail-on`" in line)
    assert row.startswith("| `--fail-on` | `violated` or `runtime`. When to exit with 1: ")
    assert row.endswith("(default: violated) |")


def test_what_typer_adds_is_no_link(sections: dict[str, str]) -> None:
    row = next(line for line in sections["conform"].splitlines() if "`--unroll N`" in line)
    assert row.endswith("(default: 16; at least 0) |")


def test_command_begins_with_its_usage(sections: dict[str, str]) -> None:
    usage = "\n\n```bash\nsonnx-ort conform [OPTIONS] MODEL\n```\n\nFix violations of the profile"
    assert sections["conform"].startswith(usage)
