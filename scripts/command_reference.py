"""The reference of the command `sonnx-ort`, as Markdown, made from its subcommands.

Imported by scripts/pages.py, which puts it into docs/commands.md.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import typer
from qualifying.markdown import table

from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.cli.groups import help_by_group

_OPTION = re.compile(r"(?<![\w`-])--?[a-z][\w-]*")
_CHOICES = re.compile(r" <([\w-]+(?:\|[\w-]+)+)>$")
_IN_BRACKETS = re.compile(r"\[([^\[\]]+)\]")
"""What typer adds, such as a default. In Markdown it would be a link."""

_LINES_KEPT = "\b"
"""What click takes as the start of a paragraph whose lines it does not join."""


def reference() -> str:
    """All subcommands, in the order of the help."""
    return "\n\n".join(part for name in COMMANDS for part in _command(load(name)))


def _command(command: Any) -> Iterator[str]:
    """A heading, the usage, what it says of itself, its options by groups, and examples."""
    name = f"sonnx-ort {command.name}"
    context = typer.Context(command, info_name=name)
    yield f"## {command.name}"
    usage = " ".join(command.collect_usage_pieces(context)).replace("{MODEL}", "MODEL")
    yield _code([f"{name} {usage}".rstrip()])
    yield from (_prose(paragraph) for paragraph in command.help.split("\n\n"))
    for heading, records in help_by_group(command, context).items():
        yield table((heading, "meaning"), (_row(*record) for record in records))
    yield "Examples:"
    _, *examples = command.epilog.removeprefix(_LINES_KEPT).strip().splitlines()
    yield _code(line.strip() for line in examples)


def _row(shown: str, text: str) -> tuple[str, str]:
    """An option and its text, which begins with the values that it may have."""
    choices = _CHOICES.search(shown)
    if choices is None:
        return f"`{shown}`", _prose(text)
    names = " or ".join(", ".join(f"`{n}`" for n in choices[1].split("|")).rsplit(", ", 1))
    return f"`{shown[: choices.start()]}`", f"{names}. {_prose(text)}"


def _prose(text: str) -> str:
    """A paragraph on one line, with options as code."""
    line = _IN_BRACKETS.sub(r"(\1)", " ".join(text.split())).replace("x>=", "at least ")
    return _OPTION.sub(r"`\g<0>`", line)


def _code(lines: Iterable[str]) -> str:
    return "\n".join(["```bash", *lines, "```"])
