"""The progress bar: seen on a terminal when it takes long, and nowhere else."""

import io
import time

import pytest
from rich.console import Console

from sonnx_ort.cli import batch as module
from sonnx_ort.cli.batch import progress


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
