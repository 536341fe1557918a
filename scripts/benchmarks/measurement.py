"""Measures all subjects in one setting."""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnxruntime

from benchmarks.subject import NATIVE, SUBJECTS, Subject
from benchmarks.turns import Run, Spread, Turn, ratio_of, seconds_of, take_turns
from benchmarks.workload import Feeds, Setting, make_feeds, make_model

Outputs = Sequence[npt.NDArray[Any]]


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
        return seconds_of(self.turns, subject)

    def microseconds_per_node(self, subject: str) -> Spread:
        """The time that a subject took for one node."""
        spread = self.seconds(subject)
        scale = 1e6 / self.setting.nodes
        return Spread(spread.minimum * scale, spread.median * scale)

    def ratio(self, subject: str, reference: str = NATIVE) -> Spread:
        """How many times as long a subject took as another."""
        return ratio_of(self.turns, subject, reference)


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
    return Measurement(setting, take_turns(runs, seconds, NATIVE))


def _run(subject: Subject, setting: Setting, feeds: Feeds) -> Run:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = setting.threads
    session = subject.start(make_model(setting), options)

    def run() -> Outputs:
        outputs: Outputs = session.run(None, feeds)
        return outputs

    return run
