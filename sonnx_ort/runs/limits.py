"""How long a run of a model may take, and how much memory: what exceeds it is ended.

A file may ask for a loop without an end, or for more memory than a machine has. So each run of a
model that is done in a process of its own has both limits.
"""

import math
import os
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice, Remedy

SECONDS = 60
"""How long a run may take if nobody says otherwise, with the start of its session."""

_SHARE = 0.75
"""The share of the machine's memory that a run may take if nobody says otherwise."""

_MEGABYTE = 1_000_000

_BETWEEN = 0.05
"""The seconds between two looks at the memory of a process."""


class LimitExceeded(SonnxError):  # noqa: N818 - reads as what happened
    """A run of a model takes longer, or more memory, than it may."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How much a run of a model may take.

    Attributes:
        seconds: How long it may take.
        megabytes: How many millions of bytes of memory its process may have; None stands for three
            quarters of the machine's memory.
    """

    seconds: float = SECONDS
    megabytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what is no limit.

        Raises:
            SonnxError: A limit is not above 0, or not finite.
        """
        if not 0 < self.seconds < math.inf:
            raise SonnxError(
                Advice(
                    Remedy("time_limit", self.seconds),
                    " is no limit; give seconds above 0, such as ",
                    Remedy("time_limit", SECONDS),
                )
            )
        if self.megabytes is not None and self.megabytes < 1:
            raise SonnxError(
                Advice(
                    Remedy("memory_limit", self.megabytes),
                    " is no limit; give MB of 1 or more, such as ",
                    Remedy("memory_limit", 8000),
                )
            )

    @property
    def bytes(self) -> float:
        """How many bytes of memory the process of a run may have."""
        return _MEGABYTE * self.megabytes if self.megabytes else _of_machine() * _SHARE


DEFAULT = Limits()


class Watched:
    """A block in which a process is ended as soon as it exceeds limits.

    Attributes:
        exceeded: What the process exceeded, and what allows more; empty if it did not.
    """

    def __init__(self, process: subprocess.Popen[bytes], limits: Limits) -> None:
        self.exceeded = ""
        self._process, self._limits = process, limits
        self._done = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Watched":
        """Begin to watch."""
        self._watcher.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Watch no longer."""
        self._done.set()
        self._watcher.join()

    def _watch(self) -> None:
        """Kill the process when it exceeds a limit, unless it ends before."""
        limits = self._limits
        end = time.monotonic() + min(limits.seconds, threading.TIMEOUT_MAX / 2)
        most = limits.bytes
        while not self.exceeded:
            left = end - time.monotonic()
            if left <= 0:
                more = Remedy("time_limit", math.ceil(limits.seconds * 10))
                self.exceeded = _exceeded(f"longer than {limits.seconds:g} s", more)
            elif _memory(self._process.pid) > most:
                megabytes = most / _MEGABYTE
                more = Remedy("memory_limit", math.ceil(megabytes * 2))
                self.exceeded = _exceeded(f"more than {megabytes:.0f} MB of memory", more)
            elif self._done.wait(min(left, _BETWEEN)):
                return
        self._process.kill()


def _exceeded(limit: str, more: Remedy) -> Advice:
    return Advice(f"takes {limit}; ", more, " allows more")


def _memory(process: int) -> int:
    """The bytes of memory that a process has; 0 where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path(f"/proc/{process}/statm").read_text("ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    return 0


_CONTAINERS = (
    Path("/sys/fs/cgroup/memory.max"),
    Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
)
"""Where Linux says how much memory a container has."""


def _of_machine() -> float:
    """The bytes of memory that this machine or container has; infinite where it does not tell."""
    found = math.inf
    with suppress(OSError, ValueError, AttributeError):
        found = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for path in _CONTAINERS:
        with suppress(OSError, ValueError):  # "max" is no number
            found = min(found, int(path.read_text("ascii")))
    return found
