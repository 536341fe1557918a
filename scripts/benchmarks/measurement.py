"""Paired measurement: the subjects take turns, so that all of them see the same machine."""

import math
import multiprocessing
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from benchmarks.subject import NATIVE, SUBJECTS, Subject
from benchmarks.workload import Feeds, Setting, make_feeds, make_model

FEWEST_TURNS = 5
"""A subject gets these even where they take longer than its share of the time."""

_TURN_SECONDS = 2e-4
"""Runs that are shorter are repeated within a turn for about that long in the native session."""

Outputs = Sequence[npt.NDArray[Any]]
Run = Callable[[], Outputs]

Turn = Mapping[str, float]
"""The seconds of one run of each subject; a slow one sits out when its time is used up."""


@dataclass(frozen=True, slots=True)
class Spread:
    """What several turns give: their minimum and their median."""

    minimum: float
    median: float


@dataclass(frozen=True, slots=True)
class Measurement:
    """The turns of all subjects in one setting.

    Attributes:
        setting: What was run.
        turns: What was taken, in order.
    """

    setting: Setting
    turns: Sequence[Turn]

    def count(self, subject: str) -> int:
        """The number of turns that a subject took."""
        return sum(subject in turn for turn in self.turns)

    def seconds(self, subject: str) -> Spread:
        """The time that a subject took for one run."""
        return _spread([turn[subject] for turn in self.turns if subject in turn])

    def microseconds_per_node(self, subject: str) -> Spread:
        """The time that a subject took for one node."""
        spread = self.seconds(subject)
        scale = 1e6 / self.setting.nodes
        return Spread(spread.minimum * scale, spread.median * scale)

    def ratio(self, subject: str, reference: str = NATIVE) -> Spread:
        """How many times as long a subject took as another.

        Returns:
            The quotient of the shortest times, and the median of the quotients turn by turn. The
            smallest of those would be that of a turn in which the reference was disturbed.
        """
        both = [turn for turn in self.turns if subject in turn and reference in turn]
        return Spread(
            min(turn[subject] for turn in both) / min(turn[reference] for turn in both),
            statistics.median(turn[subject] / turn[reference] for turn in both),
        )


def measure_apart(setting: Setting, seconds: float) -> Measurement:
    """Measure in a process of its own: the heap that a setting leaves behind changes the next one.

    Args:
        setting: What to run.
        seconds: The time that the subjects share, apart from the native one.

    Raises:
        ValueError: A subject's results are not those of the native operator.
        BrokenProcessPool: A subject ended the process.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
        return executor.submit(measure, setting, seconds).result()


def measure(setting: Setting, seconds: float) -> Measurement:
    """Measure all subjects in this process.

    Args:
        setting: What to run.
        seconds: The time that the subjects share, apart from the native one.

    Raises:
        ValueError: A subject's results are not those of the native operator.
    """
    feeds = make_feeds(setting)
    runs = {name: _run(subject, setting, feeds) for name, subject in SUBJECTS.items()}
    (expected,) = runs[NATIVE]()
    for name, run in runs.items():
        (result,) = run()
        if SUBJECTS[name].exact and not np.array_equal(result, expected):
            raise ValueError(f"{SUBJECTS[name].title} differs from {SUBJECTS[NATIVE].title}")
    del expected, result
    return Measurement(setting, take_turns(runs, seconds))


def take_turns(runs: Mapping[str, Run], seconds: float) -> list[Turn]:
    """Time the subjects in turns until each but the native one has used up its share.

    Args:
        runs: What is timed, by the subject's name.
        seconds: The time that is shared among all but the native one.
    """
    others = [name for name in runs if name != NATIVE]
    share = seconds / len(others)
    repetitions = math.ceil(_TURN_SECONDS / min(_timed(runs[NATIVE], 1) for _ in range(10)))
    spent = dict.fromkeys(others, 0.0)
    turns: list[Turn] = []
    while True:
        taking_part = [n for n in others if spent[n] < share or len(turns) < FEWEST_TURNS]
        if not taking_part:
            return turns
        turn = {name: _timed(runs[name], repetitions) for name in (NATIVE, *taking_part)}
        for name in taking_part:
            spent[name] += turn[name] * repetitions
        turns.append(turn)


def _run(subject: Subject, setting: Setting, feeds: Feeds) -> Run:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = setting.threads
    session = subject.start(make_model(setting), options)

    def run() -> Outputs:
        outputs: Outputs = session.run(None, feeds)
        return outputs

    return run


def _timed(run: Run, repetitions: int) -> float:
    start = time.perf_counter()
    for _ in range(repetitions):
        run()
    return (time.perf_counter() - start) / repetitions


def _spread(figures: Sequence[float]) -> Spread:
    return Spread(min(figures), statistics.median(figures))
