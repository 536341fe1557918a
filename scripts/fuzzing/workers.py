"""Calls of which any may end the process, hang or take all memory, in forks of this process."""

import faulthandler
import json
import os
import resource
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TextIO

from fuzzing.attempt import Fault, Say

_WAITS = "it waits"
_WORKS = "it works on and on"

Attempt = Callable[[int, Say], list[str]]

MEMORY = 6 << 30
"""Bytes of addresses that a fork may have, of which a process with ONNX Runtime has one already."""

SECONDS = 10
"""How long the processor may work on one call; on most it works for less than a tenth."""

_PATIENCE = 12
"""How many times that a call may take where others use the processor, or it waits for nothing."""


class End(StrEnum):
    """How a call ended."""

    RESULT = "result"
    FAULT = "fault"
    DEATH = "death"
    HANG = "hang"


@dataclass(frozen=True, slots=True)
class Ended:
    """What came of a call.

    Attributes:
        number: The number that it was made with.
        end: How it ended.
        outcomes: What came of each stage, of a call that gave a result.
        stage: The stage in which another one ended.
        detail: The signal that ended it, or the traceback.
    """

    number: int
    end: End
    outcomes: tuple[str, ...] = ()
    stage: str = ""
    detail: str = ""


@dataclass(slots=True)
class _Fork:
    """A fork that works on numbers, the first of which it is at.

    Attributes:
        process: Its process id.
        results: Where it writes to.
        numbers: The numbers that it has not ended yet.
        stage: The stage that it is in.
        since: When it began with the current number.
        partial: What it has written of a line.
    """

    process: int
    results: int
    numbers: list[int]
    stage: str = ""
    since: float = field(default_factory=time.monotonic)
    partial: bytes = b""


def run_in_forks(
    attempt: Attempt, numbers: Sequence[int], processes: int, seconds: float = SECONDS
) -> Iterator[Ended]:
    """Make calls in forks, each of many calls until one ends it.

    Args:
        attempt: What is called, with a number and with what is to be told of stages.
        numbers: The numbers.
        processes: How many forks work at once.
        seconds: How long the processor may work on a call.

    Yields:
        What came of each call, in any order.
    """
    forks = [
        _started(attempt, list(numbers[first::processes]), seconds)
        for first in range(min(processes, len(numbers)))
    ]
    while forks:
        ready, _, _ = select.select([fork.results for fork in forks], [], [], 1)
        for fork in list(forks):
            end = None
            if fork.results in ready:
                content = os.read(fork.results, 1 << 16)
                yield from _read(fork, content)
                if not content:
                    end = _buried(fork)
            elif time.monotonic() - fork.since > _PATIENCE * seconds:
                os.kill(fork.process, signal.SIGKILL)
                _buried(fork)
                end = Ended(fork.numbers[0], End.HANG, stage=fork.stage, detail=_WAITS)
            else:
                continue
            if end is None and content:
                continue
            forks.remove(fork)
            if end is not None:
                yield end
                fork.numbers.pop(0)
            if fork.numbers:
                forks.append(_started(attempt, fork.numbers, seconds))


def _started(attempt: Attempt, numbers: list[int], seconds: float) -> _Fork:
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            _work(attempt, numbers, writing, seconds)
        finally:
            os._exit(0)
    os.close(writing)
    return _Fork(process, reading, numbers)


def _work(attempt: Attempt, numbers: Sequence[int], writing: int, seconds: float) -> None:
    faulthandler.disable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # What libraries say when they end the process.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    with os.fdopen(writing, "w", encoding="utf-8") as results:
        for number in numbers:
            # Its signal ends the process, whatever it is at.
            signal.setitimer(signal.ITIMER_PROF, seconds)
            _write(results, _called(attempt, number, results))


def _called(attempt: Attempt, number: int, results: TextIO) -> dict[str, object]:
    def say(stage: str) -> None:
        _write(results, {"stage": stage})

    try:
        return {"number": number, "outcomes": attempt(number, say)}
    except Fault as fault:
        return {"number": number, "fault": str(fault)}
    except BaseException as error:  # noqa: BLE001 - whatever comes out is what is looked for
        return {"number": number, "fault": f"{type(error).__name__}: {error}"}


def _write(results: TextIO, line: dict[str, object]) -> None:
    results.write(json.dumps(line) + "\n")
    results.flush()


def _read(fork: _Fork, content: bytes) -> Iterator[Ended]:
    *lines, fork.partial = (fork.partial + content).split(b"\n")
    for line in map(json.loads, lines):
        if "stage" in line:
            fork.stage = line["stage"]
            continue
        number = fork.numbers.pop(0)
        fork.since = time.monotonic()
        if "fault" in line:
            yield Ended(number, End.FAULT, stage=fork.stage, detail=line["fault"])
        else:
            yield Ended(number, End.RESULT, tuple(line["outcomes"]))


def _buried(fork: _Fork) -> Ended | None:
    """Wait for a fork that has ended; how its call ended, if it was at one."""
    os.close(fork.results)
    _, status = os.waitpid(fork.process, 0)
    if not fork.numbers:
        return None
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        return Ended(fork.numbers[0], End.HANG, stage=fork.stage, detail=_WORKS)
    if os.WIFSIGNALED(status):
        detail = signal.Signals(os.WTERMSIG(status)).name
    else:
        detail = f"exit status {os.WEXITSTATUS(status)}"
    return Ended(fork.numbers[0], End.DEATH, stage=fork.stage, detail=detail)
