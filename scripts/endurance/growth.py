"""Whether the memory of this process grows with repetitions of one thing."""

import gc
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

_PARTS = 5
_SAMPLES = 50

ALLOWANCE = 4096
"""KiB by which the memory may seem to have grown: allocators keep pieces of about 1 MiB in some
runs and not in others. So 4,000 repetitions show what leaves 2 KiB each, and 100,000 what leaves 70
bytes."""


@dataclass(frozen=True, slots=True)
class Growth:
    """The memory in use, of which the first fifth of the repetitions is left out as a warm-up.

    Attributes:
        repetitions: How many there were.
        before: The most KiB in the second fifth.
        after: The least KiB in the last fifth.
    """

    repetitions: int
    before: int
    after: int

    @property
    def grown(self) -> int:
        """KiB by which every sample at the end is above every one at the beginning; 0 if none is.

        What leaks with each repetition shows here, whatever is freed and taken in between.
        """
        return max(0, self.after - self.before)

    def exceeds(self, each: int = 0) -> bool:
        """Whether it is more than allocators need.

        Args:
            each: KiB that are known to be left behind by each repetition.
        """
        return self.grown > ALLOWANCE + each * self.repetitions


def measure(repeated: Callable[[int], object], repetitions: int) -> Growth:
    """Repeat something, and look at the memory of the process."""
    distance = max(1, repetitions // _SAMPLES)
    samples = []
    for number in range(repetitions):
        repeated(number)
        if number % distance == distance - 1:
            gc.collect()
            samples.append(_resident())
    part = len(samples) // _PARTS
    return Growth(repetitions, max(samples[part : 2 * part]), min(samples[-part:]))


def _resident() -> int:
    """KiB of memory that the process holds."""
    status = Path("/proc/self/status").read_text("ascii")
    (line,) = (line for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(line.split()[1])
