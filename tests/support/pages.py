"""Code blocks in pages of Markdown, and what a reader gets who follows a page."""

import contextlib
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from support.child import TESTS
from support.command import command

REPOSITORY = TESTS.parent

_FENCED = re.compile(
    r'^```(?P<language>\w*)(?: title="(?P<title>[^"]*)")?\n(?P<text>.*?)^```$',
    re.DOTALL | re.MULTILINE,
)
_INDENTED = re.compile(r"(?<=\n\n)(?: {4}sonnx-ort [^\n]*\n)+")

_NOT_RUN = "not tested: "
_EXIT_STATUS = "exit status "


@dataclass(frozen=True, slots=True)
class Block:
    """A block of code.

    Attributes:
        language: What it is written in; "sh" for commands, "text" for what the block before prints.
        title: Why it is not run, its exit status or the name of its file; may be empty.
        text: The code.
        fenced: Whether it stands between fences; if not, it is indented.
    """

    language: str
    title: str
    text: str
    fenced: bool = True

    @property
    def reason_not_to_run(self) -> str:
        """Why it is not run; empty if it is."""
        return self.title.removeprefix(_NOT_RUN) if self.title.startswith(_NOT_RUN) else ""

    @property
    def exit_status(self) -> int:
        """With what its last command leaves."""
        return int(self.title.removeprefix(_EXIT_STATUS) or 0) if self.title else 0


def anchors(page: Path) -> set[str]:
    """What links can point to in a page: its headings, as renderers name them, and anchors."""
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    own = set(re.findall(r'<a id="([^"]+)"></a>', text))
    return own | {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def blocks(page: Path) -> Iterator[Block]:
    """Give the fenced blocks of a page, and indented ones of the project's own commands."""
    text = page.read_text(encoding="utf-8")
    found = [
        (m.start(), Block(m["language"], m["title"] or "", m["text"]))
        for m in _FENCED.finditer(text)
    ]
    found += [(m.start(), Block("sh", "", m[0], fenced=False)) for m in _INDENTED.finditer(text)]
    return (block for _, block in sorted(found, key=lambda pair: pair[0]))


def follow(page: Path) -> Iterator[tuple[Block, str]]:
    """Run the blocks of a page in this folder, one after the other, in one namespace.

    Yields:
        Each block of output, and what the block before it really printed.
    """
    namespace: dict[str, object] = {"__name__": page.stem}
    printed = ""
    for block in blocks(page):
        match block.language:
            case _ if block.reason_not_to_run:
                continue
            case "python":
                printed = _run_python(page, block.text, namespace)
            case "sh":
                printed = _run_commands(block)
            case "text":
                yield block, printed
            case _ if block.title:
                Path(block.title).write_text(block.text, encoding="utf-8")


def _run_python(page: Path, code: str, namespace: dict[str, object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as written:
        exec(compile(code, str(page), "exec"), namespace)  # noqa: S102 - the project's own pages
    return written.getvalue()


def _run_commands(block: Block) -> str:
    written = ""
    for line in block.text.splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "sonnx-ort", f"a block that runs has other commands: {line}"
        done = command(*arguments)
        assert done.returncode == block.exit_status, f"{line}\n{done.stdout}\n{done.stderr}"
        written += done.stdout + done.stderr
    return written
