"""A test that takes too long fails under its own name, in Python or in native code."""

import contextlib
import faulthandler
import os
import signal
import sys
from collections.abc import Iterator
from functools import cache
from types import FrameType

import pytest

SECONDS = 300.0
"""How long a test may take, and what prepares it; a mark `time_limit` gives another number."""

THOROUGH_SECONDS = 1800.0
"""How long a test may take that has the mark `thorough`."""

_NATIVE = 60.0
"""How many seconds later the process ends that is still in native code, which no signal leaves."""


class TimeLimitExceeded(BaseException):
    """The test took too long. Neither hypothesis nor `except Exception` tries it again."""


@cache
def limit_of(item: pytest.Item) -> float:
    """How many seconds a test may take, which what prepares it and what follows it ask too."""
    mark = item.get_closest_marker("time_limit")
    if mark is not None:
        return float(mark.args[0])
    return THOROUGH_SECONDS if item.get_closest_marker("thorough") else SECONDS


@contextlib.contextmanager
def limited(seconds: float, file: int) -> Iterator[None]:
    """Limit what is done here.

    A timer that runs already stays, as that of `scripts/mutation`, which ends the process.

    Args:
        seconds: After these the test fails.
        file: A descriptor to which all stacks are written before the process ends.

    Raises:
        TimeLimitExceeded: It took longer.
    """
    if not hasattr(signal, "setitimer") or signal.getitimer(signal.ITIMER_REAL)[0]:
        yield
        return

    def fail(*_: int | FrameType | None) -> None:
        raise TimeLimitExceeded(
            f"longer than {seconds:g} s; if that is right, mark the test with"
            f" @pytest.mark.time_limit({2 * seconds:g})"
        )

    before = signal.signal(signal.SIGALRM, fail)
    faulthandler.dump_traceback_later(seconds + _NATIVE, file=file, exit=True)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        faulthandler.cancel_dump_traceback_later()
        signal.signal(signal.SIGALRM, before)


def kept_stderr() -> int:
    """A descriptor of what is standard error now, while pytest catches nothing."""
    try:
        return os.dup(sys.stderr.fileno())
    except (AttributeError, OSError, ValueError):
        return os.dup(2)
