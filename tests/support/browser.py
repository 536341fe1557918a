"""A headless Chromium that does what a reader does, and models whose pages it opens."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from node_packages import what_is_missing

from sonnx_ort.reporting.html_report import html_report
from support.checks import MADE
from support.child import TESTS
from support.examined import check_with_outline
from support.graphs import parse

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

    def show_as_printed(self) -> None:
        """Show the page as paper would have it, without sheets; after that, it stays so."""
        self._ask("media", kind="print")
        self.evaluate("dispatchEvent(new Event('beforeprint'))")

    def sheets(self, target: Path) -> int:
        """Print the page to a file in PDF, and count its sheets."""
        self._ask("print", path=str(target))
        return len(re.findall(rb"/Type\s*/Page\b", target.read_bytes()))

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


NESTED = """
    (bool c, float[n] x) => (float[?] z) {
        [choose] z = If(c) <
            then_branch = t () => (float[?] p) { [inner] p = Div(x, x) },
            else_branch = e () => (float[?] q) {
                [again] q = If(c) <
                    then_branch = t2 () => (float[?] u) { [inner] u = Sub(x, x) },
                    else_branch = e2 () => (float[?] v) { v = Neg(x) }>
            }>
    }"""


NAME = "</script><img src=x onerror=alert(1)><b>"


HOSTILE = f"""
    (float[3] x, float[1] y) => (float[3] z) {{ ["{NAME}"] z = Div(x, y) }}"""


LONG_NAME = "encoder/layers/" * 12


LONG = f"""
    (float[3] x, float[1] y) => (float[3] z) {{ ["{LONG_NAME}"] z = Div(x, y) }}"""


_CHAIN = "\n".join(f"[n{i}] v{i + 1} = Div(v{i}, w)" for i in range(100))


CHAIN = f"(float[k] v0, float[m] w) => (float[?] v100) {{ {_CHAIN} }}"


UNASKED = "(float[k] x) => (float[k] y) { [sum] y = Add(x, x) }"


_STEPS = "\n".join(f"[n{i}] v{i + 1} = Neg(v{i})" for i in range(60))


_MORE = _STEPS.replace("v", "z").replace("[n", "[m")


LATE = (
    f"(float[2] v0, float[3] w) => (float[?] z60) {{ {_STEPS} [broken] z0 = Div(v60, w) {_MORE} }}"
)
"""A large graph with a violation in its middle."""


_SCALED = "\n".join(f"[n{i}] v{i + 1} = Div(v{i}, w)" for i in range(4))


SCALED = f"(float[n, 3] v0, float[3] w) => (float[?, ?] v4) {{ {_SCALED} }}"
"""Violations of one cause."""


SYMBOLS = """
    (float[1, 1, n] x, float[?] y) => (float[?, ?, ?] z, float[?] w) {
        p = MaxPool<kernel_shape = [2], strides = [2]>(x)
        [pooled] z = Div(p, p)
        [open] w = Div(y, y)
    }"""


CONSTANT = """
    (float[2] x) => (float[2] y) {
        [weights] w = Constant<value_floats = [1.0, 2.0]>()
        [divide] y = Div(x, w)
    }"""


MODELS = {
    "constant": CONSTANT,
    "late": LATE,
    "scaled": SCALED,
    "symbols": SYMBOLS,
    "made": MADE,
    "unasked": UNASKED,
    "nested": NESTED,
    "hostile": HOSTILE,
    "long": LONG,
    "chain": CHAIN,
}


ROWS = "#list tbody tr"


SELECTED = "document.querySelector('.vertex.selected')?.dataset.key ?? null"


Opened = Callable[..., Browser]
"""Opens the page of a model by its name, or of what is given with a name, and gives the browser."""


@contextmanager
def opening(folder: Path) -> Iterator[Opened]:
    """Start a browser that opens pages of a folder, where each is made once."""
    with browsing() as browser:

        def opened(name: str, *checked: Any, **how: Any) -> Browser:
            page = folder / f"{name}.html"
            if not page.exists():
                made = checked or check_with_outline(parse(MODELS[name]))
                page.write_text(html_report(*made, f"{name}.onnx"), encoding="utf-8")
            browser.open(page, **how)
            return browser

        yield opened


def vertex(name: str, *path: str) -> str:
    """The selector of a node in the drawing."""
    key = json.dumps([name, *path], separators=(",", ":"))
    return f".node[data-key={json.dumps(key)}]"


def rules_shown(browser: Browser) -> list[str]:
    return browser.texts(f"{ROWS} td:first-child code")


def in_view(browser: Browser, selector: str) -> bool:
    """Whether the drawing shows it whole."""
    seen: bool = browser.evaluate(
        f"""(() => {{
            const box = document.querySelector({json.dumps(selector)}).getBoundingClientRect();
            const room = document.querySelector("#canvas").getBoundingClientRect();
            return box.top >= room.top && box.bottom <= room.bottom
                && box.left >= room.left && box.right <= room.right;
        }})()"""
    )
    return seen
