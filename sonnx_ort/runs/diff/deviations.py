"""How far the outputs of a changed model are from those of the original, measured over runs.

The inputs are random, those that are given, samples, and the corners of a contract: all elements at
the smallest or the largest number that it allows, or each at one of both. Both models run without
optimizations in a separate process, so that a death or a run without end is a result.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import onnx
import onnxruntime

from sonnx_ort.errors import SonnxError
from sonnx_ort.errors.remedies import Advice, Option
from sonnx_ort.facts.decimals import at_most
from sonnx_ort.loading.external_data import check_external_data
from sonnx_ort.loading.source import ReadModel
from sonnx_ort.ort.feeds import as_tensors, graph_inputs, what_is_wrong
from sonnx_ort.profile.contract import NO_CONTRACT, Contract, ValueContract
from sonnx_ort.runs.derived_models import has_random_operators, seed_random_operators
from sonnx_ort.runs.diff.difference import Measure, comparable, largest
from sonnx_ort.runs.input_shapes import UNSAID, Sizes
from sonnx_ort.runs.inputs import Inputs, complete_within
from sonnx_ort.runs.isolated_run import UNOPTIMIZED, Array, Failed, IsolatedRuns, Outcome
from sonnx_ort.runs.limits import DEFAULT, Limits
from sonnx_ort.terms.numbers import finite_numbers

SCALES = (1, 1, 1, 1, 100, 100, 0.01, 0.01)
"""What random floats are multiplied by in each run, unless a contract has a range for them.

The seeds of the runs follow one after the other.
"""

CORNERS = 8
"""How many corners of a contract are tried."""


@dataclass(frozen=True, slots=True)
class Deviation:
    """How far an output is at most from that of the original.

    Attributes:
        output: The name of the output.
        absolute: The largest magnitude of a difference; infinite if only one model has NaN or
            infinity there. The number of differing elements if they are no numbers.
        relative: The same in parts of the largest element of the output in its run.
    """

    output: str
    absolute: float
    relative: float

    def __str__(self) -> str:
        """The deviation as a clause."""
        if not self.absolute:
            return f"'{self.output}' is the same"
        if math.isinf(self.absolute):
            return f"'{self.output}' has NaN or infinity in one of both models alone"
        return (
            f"'{self.output}' deviates by up to {at_most(self.absolute, 3)}, "
            f"which is {at_most(self.relative, 3)} of its largest element"
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured over runs of a model and of the changed one.

    Attributes:
        deviations: Those of all outputs of the original; none if there was no run of both.
        runs: How many runs of both models there were, by the kind of their inputs.
        seed: The first seed of random inputs.
        reason: Why nothing was measured, as a clause; empty if something was.
    """

    deviations: tuple[Deviation, ...]
    runs: Mapping[str, int]
    seed: int = 0
    reason: str = ""

    def __str__(self) -> str:
        """The runs, or why there was none."""
        return str(self.in_words)

    @property
    def in_words(self) -> Advice:
        """The runs, or why there was none."""
        if self.reason:
            return Advice("not measured: ", self.reason)
        listed = ", ".join(f"{count} {kind}" for kind, count in self.runs.items() if count)
        count = sum(self.runs.values())
        return Advice(f"measured over {count} {'run' if count == 1 else 'runs'}: {listed}")

    def to_json(self) -> str:
        """The text for the metadata of the changed model."""
        if self.reason:
            return json.dumps({"not_measured": self.reason})
        outputs = {
            each.output: {"absolute": _number(each.absolute), "relative": _number(each.relative)}
            for each in self.deviations
        }
        said = {"onnxruntime": onnxruntime.__version__, "runs": dict(self.runs), "seed": self.seed}
        return json.dumps({**said, "outputs": outputs})


def _number(number: float) -> float | str:
    """A number of JSON, which has no infinity."""
    return number if math.isfinite(number) else "infinity"


def measure(  # noqa: PLR0913 - both models, and each thing that is said of their inputs
    first: ReadModel,
    second: ReadModel,
    given: Mapping[str, Any],
    samples: Sequence[Mapping[str, Any]] = (),
    *,
    seed: int = 0,
    sizes: Sizes = UNSAID,
    contract: Contract = NO_CONTRACT,
    limits: Limits = DEFAULT,
) -> Measured:
    """Run two models, and measure how far the outputs of the second are from those of the first.

    `given` are inputs of each run; the others are random. Each of `samples` is a further run.

    Raises:
        SonnxError: What is given does not fit the model.
    """
    for each in (given, *samples):
        _require_fitting(first, each)
    found = _Deviations([output.name for output in first.proto.graph.output])
    runs = dict[str, int]()
    reason = ""
    try:
        for model in (first, second):
            check_external_data(model.proto, model.folder)
        with IsolatedRuns(limits) as isolated:
            models = _Both(first, second, isolated)
            complete = partial(
                complete_within, first, runs=isolated, contract=contract, sizes=sizes
            )
            inputs = _Inputs(given, complete, seed, contract)
            for kind, feeds in inputs.all(samples):
                before = models.run(0, feeds)
                if isinstance(before, Failed):
                    reason = reason or _unable(kind, before)
                    continue
                after = models.run(1, feeds)
                if isinstance(after, Failed):
                    reason = f"the changed model fails where the original runs: {after.reason}"
                    return Measured((), runs, seed, reason)
                found.add(before, after)
                runs[kind] = runs.get(kind, 0) + 1
    except SonnxError as error:
        reason = reason or error.advice
    return Measured(found.all, runs, seed) if runs else Measured((), runs, seed, reason)


def _unable(kind: str, failed: Failed) -> str:
    """Why nothing is measured; with random inputs, also what to do."""
    said = Advice(f"the original model fails on {kind} inputs (", failed.reason, ")")
    if kind != "random":
        return said
    return Advice(
        said, "; give inputs with ", Option("inputs"), " or ", Option("samples", "--data")
    )


def _require_fitting(model: ReadModel, given: Mapping[str, Any]) -> None:
    declared = graph_inputs(model.proto)
    known = {each.name for each in declared}
    arrays = as_tensors(declared, given)
    optional = [replace(each, required=False) for each in declared]
    wrong = what_is_wrong(optional, arrays) if known >= set(arrays) else ""
    if wrong:
        raise SonnxError(*wrong.splitlines())


class _Both:
    """Two models that draw the same random numbers, if they draw any."""

    def __init__(self, first: ReadModel, second: ReadModel, runs: IsolatedRuns) -> None:
        self._models = [(_seeded(each.proto), each.folder) for each in (first, second)]
        self._runs = runs

    def run(self, index: int, feeds: Mapping[str, Array]) -> Outcome:
        proto, folder = self._models[index]
        return self._runs.run(proto, feeds, UNOPTIMIZED, folder=folder)


def _seeded(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model, or a copy of it whose random operators have seeds."""
    if not has_random_operators(model):
        return model
    copy = deepcopy(model)
    seed_random_operators(copy)
    return copy


class _Inputs:
    """The inputs of all runs."""

    def __init__(
        self,
        given: Mapping[str, Any],
        complete: Callable[..., Inputs],
        seed: int,
        contract: Contract,
    ) -> None:
        self._given, self._seed, self._contract = given, seed, contract
        self._complete = complete

    def all(self, samples: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, dict[str, Array]]]:
        """Each with its kind; a kind that has no inputs is left out."""
        for sample in samples:
            yield (
                "from samples",
                dict(self._complete({**self._given, **sample}, seed=self._seed).arrays),
            )
        first = self._complete(self._given, seed=self._seed)
        if not first.random:
            yield "given", dict(first.arrays)
            return
        entries = {name: self._contract.of(name) for name in first.random}
        limited = [each for each in entries.values() if each is not None and each.ranges]
        free = set(first.random) - {each.value for each in limited}
        free = {name for name in free if first.arrays[name].dtype.kind == "f"}
        for number, scale in enumerate(SCALES):
            made = first if not number else self._complete(self._given, seed=self._seed + number)
            kind = f"random times {scale:g}" if free and scale != 1 else "random"
            scaled = {name: np.asarray(made.arrays[name] * made.arrays[name].dtype.type(scale))
                      for name in free}  # fmt: skip
            yield kind, {**made.arrays, **scaled}
        for number in range(CORNERS) if limited else ():
            rng = np.random.default_rng((self._seed, number))
            corner = {each.value: _corner(each, first.arrays[each.value], number, rng)
                      for each in limited}  # fmt: skip
            yield "at corners of the contract", {**first.arrays, **corner}


def _corner(
    entry: ValueContract, like: Array, number: int, generator: np.random.Generator
) -> Array:
    """Elements at the smallest numbers, at the largest ones, or each at one of both."""
    corners = np.zeros(like.shape, bool), np.ones(like.shape, bool)
    mixed = generator.integers(0, 1, like.shape, endpoint=True).astype(bool)
    upper = corners[number] if number < len(corners) else mixed
    ends = np.array([_ends(each, like.dtype, whole=entry.whole) for each in entry.ranges]).T
    if entry.axis is not None:
        along = [1] * like.ndim
        along[entry.axis % like.ndim] = -1
        ends = ends.reshape(2, *along)
    else:
        ends = ends.reshape(2)
    return np.asarray(np.where(upper, ends[1], ends[0]).astype(like.dtype))


def _ends(limits: tuple[float, float], dtype: np.dtype[Any], *, whole: bool) -> list[Any]:
    """The smallest and the largest number of a type within limits."""
    lower, upper = limits
    if dtype.kind in "iub":
        return [math.ceil(lower), math.floor(upper)]
    if whole:
        lower, upper = math.ceil(lower), math.floor(upper)
    first, last = finite_numbers(dtype)
    least, most = (np.asarray(min(max(end, first), last)).astype(dtype) for end in (lower, upper))
    if dtype.kind == "f":
        # What is rounded beyond an end would break the contract.
        least = np.nextafter(least, dtype.type(np.inf)) if float(least) < lower else least
        most = np.nextafter(most, dtype.type(-np.inf)) if float(most) > upper else most
    return [least, most]


class _Deviations:
    """The largest deviations of outputs so far."""

    def __init__(self, names: Sequence[str]) -> None:
        self._found = dict.fromkeys(names, (0.0, 0.0))

    def add(self, before: Mapping[str, Array | None], after: Mapping[str, Array | None]) -> None:
        """Compare the outputs of a run."""
        for name, known in self._found.items():
            found = _deviation(before[name], after.get(name))
            self._found[name] = max(known[0], found[0]), max(known[1], found[1])

    @property
    def all(self) -> tuple[Deviation, ...]:
        """Those of all outputs, in the order of the model."""
        return tuple(Deviation(name, *numbers) for name, numbers in self._found.items())


def _deviation(one: Array | None, other: Array | None) -> tuple[float, float]:
    if one is None or other is None or not comparable(one, other):
        return (0.0, 0.0) if one is None and other is None else (math.inf, math.inf)
    numbers = one.dtype.kind not in "Ob"
    absolute = largest(one, other, Measure.ABSOLUTE if numbers else Measure.BITS)
    if not absolute or not numbers:
        return absolute, absolute
    with np.errstate(all="ignore"):
        size = np.abs(np.where(np.isfinite(one.astype(np.float64)), one, 0).astype(np.float64))
    most = float(size.max(initial=0))
    return absolute, absolute / most if most else math.inf
