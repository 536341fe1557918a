"""`benchmark.py contract`: what a contract proves of models, and what that costs in a run."""

import argparse
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import onnx
from benchmarks import report
from benchmarks.turns import Spread, Turn, ratio_of

from real_models.comparison import ModelNotTried, start_session, timed, timed_in_first
from real_models.feeds import DryRun, make_feeds, trials_for
from real_models.table import Measurement
from sonnx_ort import (
    Contract,
    InferenceSession,
    Obligation,
    Report,
    ShapeContract,
    SizeContract,
    SonnxError,
    Status,
    ValueContract,
    check,
)
from sonnx_ort.envelope import propose_contract
from sonnx_ort.profile.rule import Subject

_ORIGINAL, _PLAIN, _UNDER = "original", "enforced", "under a contract"

_MOST_CHECKPOINTS = 5

_TIMES = 3
"""How often an analysis is timed; the shortest counts."""

_OPERATORS = "elementwise,Graph.finite_values"

_EXPLANATION = """\
Each float input is from -1 to 1, lengths are of 400 to 512 samples, ids from 0 to 255, rates are
16000; batches are of 1 to 8, the sides of images of 32 to 1024 in multiples of 32, sounds of 512 to
16384 samples, other sequences of 16 to 16384. Obligations about elements that are proved without a
contract and with it, of all; obligations of any kind that runs check, without it and with it; float
values that are proved to be finite; how many values inside are checked so that all others
are, if at most five do; how many times as long `check` takes with the contract; and how many
times as long as the original the model takes that the native backend enforces for the
element-wise operators and with all floats finite: with the contract and the values inside that
are checked / without: medians turn by turn."""


@dataclass(frozen=True, slots=True)
class ModelUnderContract:
    """What was found of a model."""

    name: str
    before: Report
    after: Report
    finite: tuple[int, int]
    checkpoints: int | None
    analysis: float
    turns: Sequence[Turn]

    def ratio(self, subject: str) -> Spread | None:
        """How many times as long as the original it takes; None if it does not run."""
        return ratio_of(self.turns, subject, _ORIGINAL) if self.turns else None

    def row(self) -> report.Row:
        """Its row in the table."""
        before = Counter(o.status for o in _of_elements(self.before))
        after = Counter(o.status for o in _of_elements(self.after))
        under, plain = self.ratio(_UNDER), self.ratio(_PLAIN)
        times = under and plain and f"{under.median:.2f} / {plain.median:.2f}"
        return {
            "model": self.name,
            "proved": f"{before[Status.PROVED]} -> {after[Status.PROVED]} of {after.total()}",
            "checked": f"{_checked(self.before)} -> {_checked(self.after)}",
            "finite": f"{self.finite[0]} of {self.finite[1]}",
            "checkpoints": "-" if self.checkpoints is None else str(self.checkpoints),
            "check": f"{self.analysis:.2f}",
            "times": times or "-",
        }


def _checked(found: Report) -> int:
    """How many obligations of the profile a run checks."""
    own = ("Graph.", "Contract.")
    open_ones = (o for o in found.obligations if o.status is Status.RUNTIME)
    return sum(not o.rule.id.startswith(own) for o in open_ones)


def _of_elements(found: Report) -> list[Obligation]:
    return [
        o
        for o in found.obligations
        if o.rule.requirement.subject is Subject.ELEMENTS
        and not o.rule.id.startswith(("Graph.", "Contract."))
    ]


def _look_at(name: str, path: Path, options: argparse.Namespace) -> ModelUnderContract:
    contract = _plausible(onnx.load(path, load_external_data=False))
    before, after = check(path), check(path, contract=contract)
    plain = propose_contract(path, contract=contract)
    try:
        checked = propose_contract(path, contract=contract, checkpoints=True)
    except SonnxError:
        checked = plain
    finite = checked.finite == checked.floats
    whole = finite and len(checked.checkpoints) <= _MOST_CHECKPOINTS
    return ModelUnderContract(
        name,
        before,
        after,
        (plain.finite, plain.floats),
        len(checked.checkpoints) if whole else None,
        _shortest(path, contract) / _shortest(path, Contract()),
        timed_in_first(trials_for(onnx.load(path)), _time, path, checked.contract, options.seconds),
    )


def _plausible(model: onnx.ModelProto) -> Contract:
    """Floats from -1 to 1, usual lengths, ids and rates; usual batches, images and sequences."""
    stored = {tensor.name for tensor in model.graph.initializer}
    given = [value for value in model.graph.input if value.name not in stored]
    values = [ValueContract(value.name, ends) for value in given if (ends := _range_of(value))]
    shapes, sizes = [], dict[str, SizeContract]()
    for number, value in enumerate(given):
        declared = value.type.tensor_type
        if not declared.HasField("shape"):
            continue
        axes: list[int | str] = []
        for place, axis in enumerate(declared.shape.dim):
            if axis.dim_value > 0:
                axes.append(axis.dim_value)
                continue
            own = re.sub(r"\W", "_", axis.dim_param).strip("_")
            name = f"size_{own or f'{number}_{place}'}"
            rank = len(declared.shape.dim) if declared.elem_type in _FLOATS else 0
            sizes.setdefault(name, SizeContract(name, *_SIZES.get(rank if place else 1, _ANY)))
            axes.append(name)
        shapes.append(ShapeContract(value.name, tuple(axes)))
    return Contract(tuple(values), tuple(shapes), tuple(sizes.values()))


def _range_of(value: onnx.ValueInfoProto) -> tuple[float, float] | None:
    """The usual numbers of an input; of integers a scalar is a rate, a vector has lengths."""
    declared = value.type.tensor_type
    if declared.elem_type in _FLOATS:
        return -1.0, 1.0
    is_integer = declared.elem_type in {onnx.TensorProto.INT32, onnx.TensorProto.INT64}
    return _OF_INTEGERS.get(len(declared.shape.dim)) if is_integer else None


_OF_INTEGERS = {0: (16000, 16000), 1: (400, 512), 2: (0, 255)}
"""The usual rates, lengths and ids, by the rank of the input."""

_SIZES = {1: (1, 8, 1), 2: (512, 16384, 1), 4: (32, 1024, 32)}
"""The usual sizes of batches, and of the other axes of sounds and of images, by their rank."""

_ANY = (16, 16384, 1)

_FLOATS = {onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16}


def _shortest(path: Path, contract: Contract) -> float:
    """The seconds of an analysis without a forecast of changes."""
    found = []
    for _ in range(_TIMES):
        start = perf_counter()
        check(path, contract=contract, operators=_OPERATORS)
        found.append(perf_counter() - start)
    return min(found)


def _time(path: Path, contract: Contract, seconds: float, trial: DryRun) -> list[Turn]:
    feeds = make_feeds(onnx.load(path), trial)
    ranges = {entry.value: entry.ranges[0] for entry in contract.values}
    feeds = {n: np.clip(a, *ranges[n]) if n in ranges else a for n, a in feeds.items()}

    def sessions() -> dict[str, Any]:
        enforced = partial(
            InferenceSession, path, backend="native", broadcast="explicit", operators=_OPERATORS
        )
        return {
            _ORIGINAL: start_session(path, optimized=True, enforcing=True),
            _PLAIN: enforced(),
            _UNDER: enforced(contract=contract),
        }

    return timed(sessions, feeds, seconds, _ORIGINAL)


def _sum(found: Sequence[ModelUnderContract], name: str) -> int:
    return sum(_checked(getattr(each, name)) for each in found)


def summary(found: Sequence[ModelUnderContract]) -> str:
    """The sums over all models, in lines."""
    before, after = (
        Counter(o.status for each in found for o in _of_elements(getattr(each, name)))
        for name in ("before", "after")
    )
    open_before, open_after = before[Status.RUNTIME], after[Status.RUNTIME]
    throughout = sum(each.finite[0] == each.finite[1] for each in found)
    reached = sum(each.checkpoints is not None for each in found)
    total = after.total()
    lines = [
        f"{len(found)} models with {total:,} obligations about elements.",
        f"Checked in runs without a contract {open_before:,}, with one {open_after:,}.",
        f"Violated in every run {before[Status.VIOLATED]:,}, with one {after[Status.VIOLATED]:,}.",
        f"Of any kind {_sum(found, 'before'):,}, with one {_sum(found, 'after'):,}.",
        f"Models of which every float is proved finite: {throughout}.",
        f"The same with at most {_MOST_CHECKPOINTS} values checked inside: {reached}.",
        f"check takes {median(each.analysis for each in found):.2f} times as long (median).",
    ]
    for subject in (_UNDER, _PLAIN):
        ratios = [ratio for each in found if (ratio := each.ratio(subject)) is not None]
        if ratios:
            lines.append(
                f"Geometric means of the times {subject} over {len(ratios)} models: "
                f"{report.means(ratios)}."
            )
    return "\n".join(lines)


run = Measurement(
    "contract",
    "Prove the models of other people's packages under a contract, and time them.",
    1.0,
    _EXPLANATION,
    _look_at,
    (SonnxError, ModelNotTried),
    summary,
).run
