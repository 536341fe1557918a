"""Keeps a session until ONNX Runtime's own thread has left it.

`run_async` computes in a thread that belongs to the session. Two things kill a process there:

    the callback held the last reference   the session ends in its own thread, and waits for itself
    the program ends before the run does   its callback finds no interpreter any more

So a thread of Python waits for all runs, and drops their sessions afterwards. The interpreter waits
for that thread before it ends.
"""

import os
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
        """Keep a session, whose run is begun next in this thread.

        Args:
            session: The session.
            told: What is called at the end. It may not hold the session itself.

        Raises:
            RuntimeError: No thread can be started that drops the session.
        """
        self._kept, self._told = [session], told
        self._beginning: int | None = threading.get_ident()
        self._sessions = _sessions
        self._sessions.expect()

    def begun(self) -> None:
        """Note that the run is begun. It may have ended: if much waits, it is begun by running."""
        self._beginning = None

    def give_up(self) -> None:
        """Drop the session, whose run could not be begun."""
        self._sessions.drop(self._kept, None)

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
            here = threading.get_ident()
            # A thread that begins a run holds the session, and is none of its own.
            self._sessions.drop(self._kept, None if here == self._beginning else here)


class _Sessions:
    """The sessions of runs, and the thread that drops each after its run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lasting = 0
        self._left = SimpleQueue[tuple[list[Any], int | None]]()

    def expect(self) -> None:
        """Expect a session to be dropped.

        Raises:
            RuntimeError: No thread can be started.
        """
        with self._lock:
            if not self._lasting:
                threading.Thread(target=self._drop_all).start()
            self._lasting += 1

    def drop(self, kept: list[Any], thread: int | None) -> None:
        """Empty a list in another thread.

        Args:
            kept: What holds the session.
            thread: The thread that ran the session, and has to leave Python first.
        """
        self._left.put((kept, thread))

    def _drop_all(self) -> None:
        """Drop sessions until none is expected.

        To drop one waits for its threads, while this thread holds the lock of the interpreter.
        """
        while True:
            kept, thread = self._left.get()
            while thread in sys._current_frames():  # noqa: SLF001 - nothing else tells it
                time.sleep(_SECONDS_BETWEEN_LOOKS)
            kept.clear()
            with self._lock:
                self._lasting -= 1
                if not self._lasting:
                    return


_sessions = _Sessions()


def _begin_anew() -> None:
    """Forget the runs of the process that this one is a fork of, whose threads it does not have."""
    global _sessions  # noqa: PLW0603 - there is one for each process
    _sessions = _Sessions()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)
