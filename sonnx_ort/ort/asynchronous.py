"""Keeps a session until ONNX Runtime's own thread has left it.

`run_async` computes in a thread that belongs to the session. A session that is dropped there ends
in its own thread: the process may hang, or use memory that it freed. So another thread drops it.
"""

import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

Session = TypeVar("Session")

_SECONDS_BETWEEN_LOOKS = 0.001

_never_dropped: list[list[Any]] = []
"""Sessions that no thread can drop any more, because the interpreter ends."""


def kept_for_callback(
    session: Session, told: Callable[[Session, Any, Any, str], None]
) -> Callable[[Any, Any, str], None]:
    """Make a callback for `run_async` that keeps the session until its thread has left Python.

    Args:
        session: The session that runs.
        told: Takes the session, the results, the data of the user and the message of an error. It
            may not hold the session itself.
    """
    kept = [session]

    def ended(results: Any, data: Any, message: str) -> None:
        try:
            told(kept[0], results, data, message)
        finally:
            _drop_elsewhere(kept)

    return ended


def _drop_elsewhere(kept: list[Any]) -> None:
    """Empty a list in another thread, once this one has left Python."""
    here = threading.get_ident()
    try:
        threading.Thread(target=_drop_after, args=(kept, here), daemon=True).start()
    except RuntimeError:
        _never_dropped.append(kept)


def _drop_after(kept: list[Any], thread: int) -> None:
    """Empty a list once a thread runs no Python code.

    To drop a session waits for its threads, while this one holds the lock of the interpreter.
    """
    while thread in sys._current_frames():  # noqa: SLF001 - nothing else tells it
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    kept.clear()
