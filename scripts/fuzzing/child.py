"""Calls of which any may end the process, hang or take all memory, each in a fork of this one."""

import faulthandler
import multiprocessing
import os
import resource
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from multiprocessing.connection import Connection

Say = Callable[[str], None]
"""Takes the name of the stage that begins."""

Attempt = Callable[[Say], list[str]]

MEMORY = 6 << 30
"""Bytes of addresses that a fork may have, of which a process with ONNX Runtime has one already."""

SECONDS = 10
"""How long the processor may work on one call; on most it works for less than a tenth."""

_PATIENCE = 12
"""How many times that a call may take where others use the processor, or it waits for nothing."""

_FORK = multiprocessing.get_context("fork")


class Fault(Exception):  # noqa: N818 - reads as what it is
    """Something other than a result or a `SonnxError` came out; it is the cause."""


class End(StrEnum):
    """How a call ended."""

    RESULT = "result"
    FAULT = "fault"
    DEATH = "death"
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a call.

    `outcomes` are those of its stages, if it gave a result; else `stage` is the one in which it
    ended, and `detail` the signal or the error.
    """

    end: End
    outcomes: tuple[str, ...] = ()
    stage: str = ""
    detail: str = ""


def call_in_child(attempt: Attempt, seconds: float = SECONDS) -> Ended:
    """Make a call in a fork, and say how it ended; it may compute for so many seconds."""
    receiver, sender = _FORK.Pipe(duplex=False)
    process = _FORK.Process(target=_work, args=(attempt, sender, seconds))
    process.start()
    sender.close()
    stage, deadline = "", time.monotonic() + _PATIENCE * seconds
    try:
        while receiver.poll(max(0.0, deadline - time.monotonic())):
            match receiver.recv():
                case str(begun):
                    stage = begun
                case list(outcomes):
                    return Ended(End.RESULT, tuple(outcomes))
                case Fault() as fault:
                    return Ended(End.FAULT, stage=stage, detail=str(fault))
        process.kill()
        return Ended(End.HANG, stage=stage, detail="it waits")
    except EOFError:
        process.join()
        status = process.exitcode or 0
        if status == -signal.SIGPROF:
            return Ended(End.HANG, stage=stage, detail="it works on and on")
        detail = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return Ended(End.DEATH, stage=stage, detail=detail)
    finally:
        process.join()
        receiver.close()


def limit(seconds: float = SECONDS) -> None:
    """Let this process have so much memory, and compute for so many seconds from now on."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # Its signal ends the process, whatever it is at.
    signal.setitimer(signal.ITIMER_PROF, seconds)


def _work(attempt: Attempt, sender: Connection, seconds: float) -> None:
    faulthandler.disable()
    # What libraries say when they end the process.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    limit(seconds)
    try:
        sender.send(attempt(sender.send))
    except Fault as fault:
        sender.send(Fault(str(fault)))
    except BaseException as error:  # noqa: BLE001 - whatever comes out is what is looked for
        sender.send(Fault(f"{type(error).__name__}: {error}"))
    # Nothing of the parent's is to be ended here.
    os._exit(0)
