"""A function in a process of its own, with limits, so that whatever it does ends with it."""

import os
import resource
import select
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from enum import StrEnum

_MEMORY = 8 << 30
_SLOWNESS = 8
"""How many times longer than it computes a process may take: others use the machine too."""


class Outcome(StrEnum):
    """What came of a mutant."""

    KILLED = "killed"
    SURVIVED = "survived"
    TIMEOUT = "timeout"
    NOT_TRIED = "not tried"


_STATUS = {Outcome.SURVIVED: 0, Outcome.KILLED: 1, Outcome.NOT_TRIED: 3}


def outcome_in_child(attempt: Callable[[], Outcome], seconds: int) -> Outcome:
    """Try something in a fork of this process.

    Args:
        attempt: Gives the outcome; whatever it raises, or ends by, counts as killed.
        seconds: How long it may compute.
    """
    sys.stdout.flush()
    sys.stderr.flush()
    folder = tempfile.mkdtemp(prefix="mutant-")
    child = os.fork()
    if child == 0:
        _end_with(attempt, seconds, folder)
    try:
        return _outcome(child, seconds * _SLOWNESS)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _end_with(attempt: Callable[[], Outcome], seconds: int, folder: str) -> None:
    """End this process with the status that says what came of it."""
    status = _STATUS[Outcome.KILLED]
    try:
        os.setsid()
        silence = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silence, 1)
        os.dup2(silence, 2)
        os.environ["PYTEST_DEBUG_TEMPROOT"] = folder
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        status = _STATUS[attempt()]
    finally:
        os._exit(status)


def _outcome(child: int, patience: float) -> Outcome:
    """Wait for a process; one that takes too long is ended."""
    handle = os.pidfd_open(child)
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        late = not poll.poll(patience * 1000)
    finally:
        os.close(handle)
    if late:
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU):
        return Outcome.TIMEOUT
    known = {number: outcome for outcome, number in _STATUS.items()}
    return known.get(os.waitstatus_to_exitcode(status), Outcome.KILLED)
