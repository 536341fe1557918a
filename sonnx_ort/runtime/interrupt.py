"""Keeps Ctrl-C out of running kernels."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Let SIGINT wait until the block ends.

    Python runs signal handlers in the main thread between any two instructions, so a
    KeyboardInterrupt could be raised where onnxruntime-extensions calls a kernel, outside of
    anything that could catch it; there it ends the process with SIGABRT. Other threads are never
    interrupted, and a handler that is not Python's own is left alone.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    received: list[int] = []

    def remember(number: int, frame: FrameType | None) -> None:
        del frame
        received.append(number)

    previous = signal.getsignal(signal.SIGINT)
    if not callable(previous):
        yield
        return
    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
        if received:
            signal.raise_signal(signal.SIGINT)
