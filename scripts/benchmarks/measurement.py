"""Measures all subjects in one setting."""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

import numpy as np

from benchmarks.subject import ONNXRUNTIME, SUBJECTS
from benchmarks.turns import Spread, Turn, difference_of, ratio_of, seconds_of, take_turns
from benchmarks.workload import Setting, make_feeds


@dataclass(frozen=True, slots=True)
class Measurement:
    """The turns of all subjects in one setting.

    Attributes:
        setting: What was run.
        turns: What was taken, in order.
    """

    setting: Setting
    turns: Sequence[Turn]

    @property
    def subjects(self) -> Sequence[str]:
        """The names of the subjects, in the order in which they took turns."""
        return list(self.turns[0])

    def count(self, subject: str) -> int:
        """The number of turns that a subject took."""
        return sum(subject in turn for turn in self.turns)

    def seconds(self, subject: str) -> Spread:
        """The time that a subject took for one run."""
        return seconds_of(self.turns, subject)

    def ratio(self, subject: str, reference: str | None = None) -> Spread:
        """How many times as long a subject took as another, or as its baseline."""
        return ratio_of(self.turns, subject, reference or SUBJECTS[subject].baseline)

    def added_microseconds_per_node(self, subject: str) -> Spread:
        """What a subject took for one node beyond the time of its baseline."""
        added = difference_of(self.turns, subject, SUBJECTS[subject].baseline)
        return added.times(1e6 / self.setting.nodes)


def measure_apart(setting: Setting, subjects: Sequence[str], seconds: float) -> Measurement:
    """Measure in a process of its own: the heap that a setting leaves behind changes the next one.

    Args:
        setting: What to run.
        subjects: The names of those to measure; those that do not run such a model are left out.
        seconds: The time that the subjects share, apart from ONNX Runtime itself.

    Raises:
        ValueError: A subject's results are not those of ONNX Runtime's own operator.
        BrokenProcessPool: A subject ended the process.
    """
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=context) as executor:
        return executor.submit(measure, setting, subjects, seconds).result()


def measure(setting: Setting, subjects: Sequence[str], seconds: float) -> Measurement:
    """Measure in this process.

    Args:
        setting: What to run.
        subjects: The names of those to measure; those that do not run such a model are left out.
        seconds: The time that the subjects share, apart from ONNX Runtime itself.

    Raises:
        ValueError: A subject's results are not those of ONNX Runtime's own operator.
    """
    feeds = make_feeds(setting)
    chosen = {name: SUBJECTS[name] for name in subjects if SUBJECTS[name].runs(setting)}
    runs = {name: subject.ready(setting, feeds) for name, subject in chosen.items()}
    (expected,) = runs[ONNXRUNTIME]()
    for name, run in runs.items():
        (result,) = run()
        if SUBJECTS[name].exact and not np.array_equal(result, expected):
            raise ValueError(f"{SUBJECTS[name].title} differs from {SUBJECTS[ONNXRUNTIME].title}")
    del expected, result
    return Measurement(setting, take_turns(runs, seconds, ONNXRUNTIME))
