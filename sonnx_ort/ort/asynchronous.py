"""Keeps a session until ONNX Runtime's own thread has left it.

`run_async` computes in a thread that belongs to the session. Two things kill a process there:

    the callback held the last reference   the session ends in its own thread, and waits for itself
    the program ends before the run does   its callback finds no interpreter any more

So a thread of Python waits for each run, and drops its session afterwards. The interpreter waits
for that thread before it ends.
"""

import sys
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

Session = TypeVar("Session")

Told = Callable[[Session, Any, Any, str], None]
"""Takes the session, its results, the data of the user, and the message of an error."""

_SECONDS_BETWEEN_LOOKS = 0.001


class KeptRun(Generic[Session]):
    """A run of a session in a thread of its own, and the session as long as it lasts."""

    def __init__(self, session: Session, told: Told[Session]) -> None:
        """Keep a session, whose run is begun next.

        Args:
            session: The session.
            told: What is called at the end. It may not hold the session itself.

        Raises:
            RuntimeError: No thread can be started that drops the session.
        """
        self._kept, self._told = [session], told
        self._threads = SimpleQueue[int | None]()
        given = self._kept, self._threads
        threading.Thread(target=_drop_afterwards, args=given).start()

    def end(self, results: Any, data: Any, message: str) -> None:
        """Tell of the end of the run: the callback of `run_async`.

        What it raises is told as that of any thread.
        """
        try:
            self._told(self._kept[0], results, data, message)
        except BaseException:  # noqa: BLE001 - nobody else catches it
            # Passed on, its frames would end after this thread has left, and may hold the session.
            threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), None)))
        finally:
            self._threads.put(threading.get_ident())

    def give_up(self) -> None:
        """Drop the session, whose run could not be begun."""
        self._threads.put(None)


def _drop_afterwards(kept: list[Any], threads: "SimpleQueue[int | None]") -> None:
    """Empty a list once the thread of its run is known and runs no Python code.

    To drop a session waits for its threads, while this one holds the lock of the interpreter.
    """
    thread = threads.get()
    while thread in sys._current_frames():  # noqa: SLF001 - nothing else tells it
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    kept.clear()
