"""`benchmark.py contract`: what a contract proves of models, and what that costs in a run."""

import argparse
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import onnx
from benchmarks.turns import Turn, ratio_of

from real_models.comparison import ModelNotTried, start_session, timed, timed_in_first
from real_models.feeds import DryRun, make_feeds, trials_for
from real_models.table import Figures, Measurement, means, total
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
from sonnx_ort.profile.rule import Subject
from sonnx_ort.samples import propose_contract

_ORIGINAL, _PLAIN, _UNDER = "original", "enforced", "under a contract"
_COMPILED = "under a contract by the compiled backend"
_SUBJECTS = (_UNDER, _COMPILED, _PLAIN)

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


def _measure(path: Path, options: argparse.Namespace) -> Figures:
    contract = _plausible(onnx.load(path, load_external_data=False))
    analyze = partial(check, path, forecast=False)
    reports = analyze(), analyze(contract=contract)
    plain = propose_contract(path, contract=contract)
    try:
        checked = propose_contract(path, contract=contract, checkpoints=True)
    except SonnxError:
        checked = plain
    finite = checked.finite == checked.floats
    whole = finite and len(checked.checkpoints) <= _MOST_CHECKPOINTS
    trials = trials_for(onnx.load(path))
    turns = timed_in_first(trials, _time, path, checked.contract, options.seconds)
    ratios = {s: ratio_of(turns, s, _ORIGINAL) if turns else None for s in _SUBJECTS}
    under, unsaid = ratios[_UNDER], ratios[_PLAIN]
    return {
        "before": Counter(o.status for o in _of_elements(reports[0])),
        "after": Counter(o.status for o in _of_elements(reports[1])),
        "obligations": len(_of_elements(reports[1])),
        "checked": [_checked(made) for made in reports],
        "finite": plain.finite,
        "floats": plain.floats,
        "checkpoints": len(checked.checkpoints) if whole else None,
        "check": _shortest(path, contract) / _shortest(path, Contract()),
        "times": under and unsaid and f"{under.median:.2f} / {unsaid.median:.2f}",
        **ratios,
    }


def _of_elements(found: Report) -> list[Obligation]:
    return [o for o in _of_profile(found) if o.rule.requirement.subject is Subject.ELEMENTS]


def _of_profile(found: Report) -> list[Obligation]:
    own = ("Graph.", "Contract.")
    return [o for o in found.obligations if not o.rule.id.startswith(own)]


def _checked(found: Report) -> int:
    """How many obligations of the profile a run checks."""
    return sum(o.status is Status.RUNTIME for o in _of_profile(found))


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
        check(path, contract=contract, operators=_OPERATORS, forecast=False)
        found.append(perf_counter() - start)
    return min(found)


def _time(path: Path, contract: Contract, seconds: float, trial: DryRun) -> list[Turn]:
    feeds = make_feeds(onnx.load(path), trial)
    ranges = {entry.value: entry.ranges[0] for entry in contract.values}
    feeds = {n: np.clip(a, *ranges[n]) if n in ranges else a for n, a in feeds.items()}

    def sessions() -> dict[str, Any]:
        enforced = partial(InferenceSession, path, broadcast="explicit", operators=_OPERATORS)
        return {
            _ORIGINAL: start_session(path, optimized=True, enforcing=True),
            _PLAIN: enforced(backend="native"),
            _UNDER: enforced(backend="native", contract=contract),
            _COMPILED: enforced(backend="compiled", contract=contract),
        }

    return timed(sessions, feeds, seconds, _ORIGINAL)


def summary(found: Sequence[Figures]) -> Iterator[str]:
    """The sums over all models, in lines."""
    before, after = total(found, "before"), total(found, "after")
    of_any = [sum(each["checked"][place] for each in found) for place in (0, 1)]
    whole = sum(each["finite"] == each["floats"] for each in found)
    reached = sum(each["checkpoints"] is not None for each in found)
    runtime, violated = Status.RUNTIME, Status.VIOLATED
    yield f"{len(found)} models with {after.total():,} obligations about elements."
    yield f"Checked in runs without a contract {before[runtime]:,}, with one {after[runtime]:,}."
    yield f"Violated in every run {before[violated]:,}, with one {after[violated]:,}."
    yield f"Of any kind {of_any[0]:,}, with one {of_any[1]:,}."
    yield f"Models of which every float is proved finite: {whole}."
    yield f"The same with at most {_MOST_CHECKPOINTS} values checked inside: {reached}."
    yield f"check takes {median(each['check'] for each in found):.2f} times as long (median)."
    for subject in _SUBJECTS:
        models, ratios = means(found, subject)
        if models:
            yield f"Geometric means of the times {subject} over {models} models: {ratios}."


MEASUREMENT = Measurement(
    "contract",
    "Prove the models of other people's packages under a contract, and time them.",
    1.0,
    _EXPLANATION,
    {
        "proved": "{before[proved]} -> {after[proved]} of {obligations}",
        "checked": "{checked[0]} -> {checked[1]}",
        "finite": "{finite} of {floats}",
        "checkpoints": "{checkpoints}",
        "check": "{check:.2f}",
        "times": "{times}",
    },
    _measure,
    (SonnxError, ModelNotTried),
    summary,
)
run = MEASUREMENT.run
