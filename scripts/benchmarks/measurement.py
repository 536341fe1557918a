"""What is compared: models of Div nodes with their inputs, ways to run them, and measurements."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pkgutil import resolve_name
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from model_builders.graphs import parse

from benchmarks.turns import Run, Spread, Turn, difference_of, ratio_of, seconds_of, take_turns

ELEMENT_TYPES = ("float32", "int32", "int64")
"""The element types that are measured, by their numpy names."""

ELEMENTS = (1, 16, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)
"""The sizes of the operands of a single Div."""

CHAIN_NODES = 100
CHAIN_ELEMENTS = 16
"""A chain on small tensors shows what a node costs, whatever its data."""

_SEED = 0

Feeds = dict[str, npt.NDArray[Any]]
"""The inputs of a model by name."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a model is: the dtype and size of its operands, and how many Div nodes it has in a row.

    `proved`: the model itself shows that every rule is kept. `positive`: the divisors of a single
    Div are positive, not of both signs. `threads`: on how many it runs.
    """

    element_type: str
    elements: int
    nodes: int = 1
    proved: bool = False
    positive: bool = False
    threads: int = 1

    @property
    def divisors(self) -> Sequence[str]:
        """The names of the divisors; each node has its own, unless all are one constant."""
        return ["B"] * self.nodes if self.proved else [f"B_{i}" for i in range(self.nodes)]


def make_model(setting: Setting) -> onnx.ModelProto:
    """Build the model of standard operators, in which each quotient is divided again.

    Args:
        setting: What the model is. Unless it is to be proved, every input has one dimension with a
            symbol of its own, so that shapes and integer divisors are known only in a run.
            Otherwise shapes are static and the divisor is a constant.
    """
    of_type = {"float32": "float"}.get(setting.element_type, setting.element_type)
    values = ["A", *(f"quotient_{index}" for index in range(1, setting.nodes)), "C"]

    def declared(name: str) -> str:
        return f"{of_type}[{setting.elements if setting.proved else f'length_of_{name}'}] {name}"

    inputs = ["A"] if setting.proved else ["A", *setting.divisors]
    ones = ", ".join(["1"] * setting.elements) if setting.proved else ""
    nodes = (
        f"[division_{index}] {quotient} = Div({dividend}, {divisor})"
        for index, ((dividend, quotient), divisor) in enumerate(
            zip(pairwise(values), setting.divisors, strict=True)
        )
    )
    return parse(
        f"({', '.join(map(declared, inputs))}) => ({declared('C')})"
        + (f"<{declared('B')} = {{{ones}}}>" if setting.proved else "")
        + "{"
        + "\n".join(nodes)
        + "}"
    )


def make_feeds(setting: Setting) -> Feeds:
    """Make the inputs; no divisor is zero.

    Returns:
        Random dividends and divisors. Ones for a chain, so that no quotient grows
        or vanishes.
    """
    if setting.proved:
        return {"A": _ones(setting)}
    if setting.nodes > 1:
        return {name: _ones(setting) for name in ("A", *setting.divisors)}
    random = np.random.default_rng(_SEED)
    if setting.element_type == "float32":
        a, b = random.standard_normal((2, setting.elements))
    else:
        a = random.integers(-(2**30), 2**30, setting.elements)
        b = random.integers(1, 1000, setting.elements) * random.choice([-1, 1], setting.elements)
    b = abs(b) if setting.positive else b
    return {"A": a.astype(setting.element_type), "B_0": b.astype(setting.element_type)}


def _ones(setting: Setting) -> npt.NDArray[Any]:
    return np.ones(setting.elements, setting.element_type)


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
        The names of the subjects, and a sentence on those omitted for want of JAX.
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
