"""How far a command is, on a terminal."""

import io
import re
import time

import pytest
from rich.console import Console

from sonnx_ort.analysis.progress import followed
from sonnx_ort.cli import progress as module
from sonnx_ort.cli.progress import progress


def shown(*, terminal: bool, delay: float, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(module, "DELAY", delay)
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, force_interactive=terminal, width=80)
    with progress(2, console) as step:
        for name in ("first.onnx", "second.onnx"):
            step(name)
            time.sleep(0.3)
    return written.getvalue()


def test_what_takes_long_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(terminal=True, delay=0, monkeypatch=monkeypatch)
    assert "first.onnx" in text
    assert "0/2" in text


def test_work_on_one_model_shows_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY", 0)
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, force_interactive=True, width=80)
    with progress(1, console) as step:
        step("model.onnx")
        for _ in followed(range(5), "auditing nodes", 5):
            time.sleep(0.1)
    assert re.search(r"[1-4]/5\x1b\[0m auditing nodes", written.getvalue())


@pytest.mark.parametrize(("terminal", "delay"), [(True, 60), (False, 0)])
def test_what_is_short_or_goes_to_a_file_shows_nothing(
    terminal: bool, delay: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert shown(terminal=terminal, delay=delay, monkeypatch=monkeypatch) == ""


def test_error_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELAY", 60)
    console = Console(file=io.StringIO(), force_terminal=True, force_interactive=True)
    before = time.monotonic()
    with pytest.raises(ValueError, match="boom"), progress(1, console):
        raise ValueError("boom")
    assert time.monotonic() - before < 30
