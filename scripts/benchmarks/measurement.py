"""What is compared, the ways to run one model on the same inputs, and how it is measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pkgutil import resolve_name

import numpy as np

from benchmarks.turns import Run, Spread, Turn, difference_of, ratio_of, seconds_of, take_turns
from benchmarks.workload import Setting, make_feeds

ONNXRUNTIME = "onnxruntime"
COMPILED = "compiled"
NATIVE = "native"
PYTHON = "python"
PLAIN = "plain"
REFERENCE = "reference"
JIT = "jit"
CHECKIFY = "checkify"


@dataclass(frozen=True, slots=True)
class Subject:
    """One way to run a model, which `benchmarks.sessions` makes ready.

    Tables call it `title`, and its time is compared with that of `baseline`. `exact`: its results
    have to be those of ONNX Runtime's own operator. `backend` is the one that it needs, if any.
    `in_jax`: it runs in JAX, which may be missing, and models of one node only.
    """

    title: str
    baseline: str = ONNXRUNTIME
    exact: bool = True
    backend: str = ""
    in_jax: bool = False


SUBJECTS: Mapping[str, Subject] = {
    ONNXRUNTIME: Subject("ONNX Runtime"),
    COMPILED: Subject("compiled", backend="compiled"),
    NATIVE: Subject("native", backend="native"),
    "session": Subject("InferenceSession", backend="native"),
    PYTHON: Subject("python", backend="python"),
    PLAIN: Subject("plain @onnx_op", exact=False),
    REFERENCE: Subject("onnx.reference"),
    JIT: Subject("jit", baseline=JIT, in_jax=True),
    CHECKIFY: Subject("checkify / jit", baseline=JIT, in_jax=True),
}
"""The subjects by name. A new one is one more entry, and a function that makes it ready."""

BASELINES = frozenset(subject.baseline for subject in SUBJECTS.values())
"""The names of the subjects that others are compared with."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """The turns that all subjects took in one setting, in order."""

    setting: Setting
    turns: Sequence[Turn]

    @property
    def subjects(self) -> Sequence[str]:
        """The names of the subjects, in the order in which they took turns."""
        return list(self.turns[0])

    def seconds(self, subject: str) -> Spread:
        """The time that a subject took for one run."""
        return seconds_of(self.turns, subject)

    def ratio(self, subject: str) -> Spread:
        """How many times as long a subject took as its baseline."""
        return ratio_of(self.turns, subject, SUBJECTS[subject].baseline)

    def added_microseconds_per_node(self, subject: str) -> Spread:
        """What a subject took for one node beyond the time of its baseline."""
        added = difference_of(self.turns, subject, SUBJECTS[subject].baseline)
        return added.times(1e6 / self.setting.nodes)


def choose_subjects(
    backends: Iterable[str], find: Callable[[str], object | None] = find_spec
) -> tuple[list[str], str]:
    """Choose what is compared.

    Returns:
        The names of the subjects, and a sentence on those left out for want of JAX.
    """
    chosen = [name for name, subject in SUBJECTS.items() if subject.backend in {"", *backends}]
    if find("jax") is not None:
        return chosen, ""
    return [name for name in chosen if not SUBJECTS[name].in_jax], (
        "The package jax is not installed, so jit and checkify / jit are left out; to measure "
        "them: pip install --group benchmark"
    )


def measure(setting: Setting, names: Sequence[str], seconds: float) -> Measurement:
    """Measure in this process.

    Raises:
        ValueError: A subject's results are not those of ONNX Runtime's own operator.
    """
    feeds = make_feeds(setting)
    # Imported by name where it is timed, because that registers operators.
    runs: dict[str, Run] = {
        name: resolve_name(f"benchmarks.sessions:start_{name}")(setting, feeds)
        for name in names
        if setting.nodes == 1 or not SUBJECTS[name].in_jax
    }
    (expected,) = runs[ONNXRUNTIME]()
    for name, run in runs.items():
        (result,) = run()
        if SUBJECTS[name].exact and not np.array_equal(result, expected):
            raise ValueError(f"{SUBJECTS[name].title} differs from ONNX Runtime")
    del expected, result
    return Measurement(setting, take_turns(runs, seconds, ONNXRUNTIME))
