"""A headless Chromium that opens pages and does what a reader does."""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from node_packages import what_is_missing

from support.child import TESTS

_NAMES = ("chromium", "chromium-browser", "google-chrome")


def _chromium() -> str | None:
    return next(filter(None, map(shutil.which, _NAMES)), None)


def why_no_browser() -> str | None:
    """Say why no page can be opened here; None if it can."""
    if _chromium() is None:
        return "Chromium is not installed."
    return what_is_missing()


class Browser:
    """Opens one page at a time."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def open(
        self, page: Path, *, width: int = 1400, scheme: str = "light", script: bool = True
    ) -> None:
        """Open a file.

        Args:
            page: The file.
            width: Of the window, which is 900 high.
            scheme: "light" or "dark", as the reader prefers.
            script: Whether scripts run.
        """
        self._ask(
            "open", address=page.as_uri(), width=width, height=900, scheme=scheme, script=script
        )

    def click(self, selector: str) -> None:
        """Click what a selector of CSS finds first, where it is; fail where it cannot be seen."""
        self._ask("click", selector=selector)

    def fill(self, selector: str, text: str) -> None:
        """Write into a field."""
        self._ask("fill", selector=selector, text=text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an option."""
        self._ask("choose", selector=selector, value=value)

    def press(self, key: str) -> None:
        """Press a key."""
        self._ask("press", key=key)

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Hold the mouse's button from one point of the window to another."""
        self._ask("drag", **{"from": start, "to": end})

    def evaluate(self, expression: str) -> Any:
        """Give what an expression of JavaScript comes to in the page."""
        return self._ask("evaluate", expression=expression)

    def texts(self, selector: str) -> list[str]:
        """The texts of all elements that a selector finds, as a reader sees them."""
        found: list[str] = self.evaluate(
            f"[...document.querySelectorAll({json.dumps(selector)})].map((e) => e.innerText)"
        )
        return found

    def noticed(self) -> list[str]:
        """What the page wrote, raised, asked and requested, besides itself."""
        noticed: list[str] = self._ask("noticed")
        return noticed

    def _ask(self, request: str, **given: object) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"request": request} | given) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer["answer"]


@contextmanager
def browsing() -> Iterator[Browser]:
    """Start a browser, and end it with the block."""
    command = ["node", TESTS / "node" / "browse.mjs", _chromium() or ""]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
    ) as process:
        yield Browser(process)
