"""Paired timing: what is compared takes turns, so that all of it sees the same machine.

pyperf and pytest-benchmark time one thing after the other, and cannot pair the runs of two.
"""

import math
import multiprocessing
import operator
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

FEWEST_TURNS = 5
"""A subject gets these even where they take longer than its share of the time."""

_TURN_SECONDS = 2e-4
"""Runs that are shorter are repeated within a turn for about that long in the reference."""

Run = Callable[[], Any]

Result = TypeVar("Result")

Turn = Mapping[str, float]
"""The seconds of one run of each subject; a slow one sits out when its time is used up."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What several turns give: their minimum and their median."""

    minimum: float
    median: float

    def __format__(self, form: str) -> str:
        return f"{self.minimum:{form}} / {self.median:{form}}"

    def times(self, factor: float) -> "Spread":
        """Both figures in another unit."""
        return Spread(self.minimum * factor, self.median * factor)


def seconds_of(turns: Sequence[Turn], subject: str) -> Spread:
    """The time that a subject took for one run."""
    figures = [turn[subject] for turn in turns if subject in turn]
    return Spread(min(figures), statistics.median(figures))


def ratio_of(turns: Sequence[Turn], subject: str, reference: str) -> Spread:
    """How many times as long a subject took as another: of the shortest, and turn by turn.

    The smallest ratio of a turn would be that of one in which the reference was disturbed.
    """
    return _compare(operator.truediv, turns, subject, reference)


def difference_of(turns: Sequence[Turn], subject: str, reference: str) -> Spread:
    """How many seconds longer a subject took than another: of the shortest, and turn by turn."""
    return _compare(operator.sub, turns, subject, reference)


def take_turns(
    runs: Mapping[str, Run], seconds: float, reference: str, fewest: int = FEWEST_TURNS
) -> list[Turn]:
    """Time the subjects in turns until each but the reference has used up its share.

    Their order changes from turn to turn: whoever runs finds the caches and the heap as another
    has left them.
    """
    others = [name for name in runs if name != reference]
    share = seconds / len(others)
    shortest = _timed(runs[reference], 1)
    if shortest < _TURN_SECONDS:
        shortest = min(_timed(runs[reference], 1) for _ in range(10))
    repetitions = math.ceil(_TURN_SECONDS / shortest)
    spent = dict.fromkeys(others, 0.0)
    random = np.random.default_rng(0)
    turns: list[Turn] = []
    while names := [n for n in others if spent[n] < share or len(turns) < fewest]:
        names = [reference, *names]
        order = [names[index] for index in random.permutation(len(names))]
        turn = {name: _timed(runs[name], repetitions) for name in order}
        for name in names[1:]:
            spent[name] += turn[name] * repetitions
        turns.append({name: turn[name] for name in names})
    return turns


def apart(function: Callable[..., Result], *arguments: Any) -> Result:
    """Call in a process of its own: the heap that one measurement leaves changes the next one.

    Raises:
        BrokenProcessPool: The call ended the process.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
        return executor.submit(function, *arguments).result()


def _compare(
    compare: Callable[[float, float], float], turns: Sequence[Turn], subject: str, reference: str
) -> Spread:
    both = [(turn[subject], turn[reference]) for turn in turns if {subject, reference} <= set(turn)]
    ours, theirs = zip(*both, strict=True)
    median = statistics.median(compare(one, other) for one, other in both)
    return Spread(compare(min(ours), min(theirs)), median)


def _timed(run: Run, repetitions: int) -> float:
    start = time.perf_counter()
    for _ in range(repetitions):
        run()
    return (time.perf_counter() - start) / repetitions
