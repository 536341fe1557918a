"""What a contract proves is so in every run that keeps it, and no run that breaks it goes on.

Random graphs get contracts around the inputs of one run: sizes of their names and ranges of their
numbers. The native backend leaves out what is proved, and is verified against the python backend,
which checks all of it. Some are enforced with a certificate as well.
"""

import logging
import os
import random
from collections import Counter
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import numpy_helper

import sonnx_ort
from sonnx_ort import Contract, ContractViolation, SizeContract, SonnxError, ValueContract
from sonnx_ort.kernel.sizes import NAME
from sonnx_ort.knowledge.facts import Provenance
from sonnx_ort.loading.canonical import load_canonical
from support.soundness.isolated import run_attempts
from support.soundness.trials import make_trial

PROCESSES = 2
DEFAULT = 150
GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", str(DEFAULT)))


def attempt(number: int) -> dict[str, int]:
    """Enforce a graph under a contract, and run it on inputs within it and beyond.

    Returns:
        What came of it.

    Raises:
        AssertionError: A proof is wrong, or a broken contract is not noticed.
    """
    ort.set_default_logger_severity(4)
    logging.getLogger("sonnx_ort").disabled = True
    trial, counts = make_trial(number), Counter(graphs=1)
    stored = {t.name: numpy_helper.to_array(t) for t in trial.model.graph.initializer}
    inputs = {value.name for value in trial.model.graph.input}
    defaults = {name: array for name, array in stored.items() if name in inputs}
    nominal, *others = trial.runs
    try:
        graph = load_canonical(trial.model, frozenset()).graph_model
    except SonnxError:
        return counts
    # ONNX Runtime computes nothing, guards neither, that no output depends on.
    read = {str(v.name) for v in Provenance(graph).inputs_behind(graph.graph.outputs)}
    rng = random.Random(number)  # noqa: S311 - no cryptography
    contract = _around(
        rng, trial.model, {n: a for n, a in {**defaults, **nominal}.items() if n in read}
    )
    try:
        session = sonnx_ort.InferenceSession(
            trial.model,
            backend="native",
            edition=trial.edition,
            broadcast=trial.broadcast,
            operators=",".join(sorted(trial.operators)),
            contract=contract,
            verify_proofs=True,
        )
    except Exception:  # noqa: BLE001 - the graph breaks a rule, or ONNX Runtime does not take it
        return counts
    certified = _certified(trial, contract)
    counts["certified"] = certified is not None
    sessions = [session] if certified is None else [session, certified]
    for session, feeds in product(sessions, (nominal, *others)):
        kept = _keeps(contract, trial.model, {**defaults, **feeds})
        outcome = _run(session, feeds)
        counts[f"{'kept' if kept else 'broken'}: {type(outcome).__name__}"] += 1
        if "what the python backend" in str(outcome):
            raise AssertionError(f"{outcome} with {contract}")
        if not kept:
            # ONNX Runtime computes in advance what does not depend on inputs.
            same = isinstance(outcome, Exception) or all(
                map(np.array_equal, outcome, session.run(None, nominal))
            )
            assert same, f"{contract} is broken by {feeds}"
        elif isinstance(outcome, ContractViolation):
            assert not str(outcome.rule).startswith("Contract."), f"{outcome} with {contract}"
    return counts


def _certified(trial: Any, contract: Contract) -> sonnx_ort.InferenceSession | None:
    """A session of the model that is enforced with a certificate; None if there is none."""
    with TemporaryDirectory() as folder:
        source, target, certificate = (Path(folder, name) for name in ("m.onnx", "e.onnx", "c"))
        source.write_bytes(trial.model.SerializeToString())
        demanded = {"edition": trial.edition, "operators": ",".join(sorted(trial.operators))}
        try:
            sonnx_ort.rewrite_file(
                source,
                target,
                backend="native",
                contract=contract,
                certificate=certificate,
                **demanded,
            )
        except SonnxError as error:
            if "cannot be followed" in str(error):
                raise AssertionError(f"{error} with {contract}") from error
            return None
        return sonnx_ort.InferenceSession(target, **demanded)


def _around(rng: random.Random, proto: Any, feeds: dict[str, Any]) -> Contract:
    """A contract that one run keeps."""
    declared = {value.name: value.type.tensor_type.shape.dim for value in proto.graph.input}
    values = [
        _entry(rng, name, array, [axis.dim_value for axis in declared.get(name, ())])
        for name, array in feeds.items()
        if array.dtype.kind in "iuf" and array.size and np.isfinite(array).all()
    ]
    sizes: dict[str, set[int | None]] = {}
    for declared in proto.graph.input:
        for index, axis in enumerate(declared.type.tensor_type.shape.dim):
            if NAME.fullmatch(axis.dim_param):
                size = feeds[declared.name].shape[index] if declared.name in feeds else None
                sizes.setdefault(axis.dim_param, set()).add(size)
    return Contract(
        tuple(value for value in values if rng.random() < _SHARE),
        sizes=tuple(
            _size(rng, name, *seen)
            for name, seen in sizes.items()
            if len(seen) == 1 and None not in seen and rng.random() < _SHARE
        ),
    )


_SHARE = 0.8


def _entry(
    rng: random.Random, name: str, array: np.ndarray[Any, Any], declared: list[int]
) -> ValueContract:
    """The range of an array, or that of each index of an axis with a declared size."""
    whole = array.dtype.kind == "f" and bool((array == np.floor(array)).all())
    axes = [axis for axis, size in enumerate(declared) if size > 0]
    if not axes or rng.random() < _SHARE / 2:
        return ValueContract(name, (array.min().item(), array.max().item()), whole=whole)
    axis = rng.choice(axes)
    parts = [array.take(index, axis) for index in range(array.shape[axis])]
    ranges = tuple((part.min().item(), part.max().item()) for part in parts)
    axis -= len(declared) * rng.choice([0, 1])
    return ValueContract(name, ranges, axis=axis, whole=whole)


def _size(rng: random.Random, name: str, size: int) -> SizeContract:
    factor = rng.choice([1, 1, 2, 3]) if size else 1
    factor = factor if size % factor == 0 else 1
    least = max(size - factor * rng.choice([0, 0, 1]), 0)
    return SizeContract(name, least, size + factor * rng.choice([0, 0, 1, 2]), factor)


def _keeps(contract: Contract, proto: Any, feeds: dict[str, Any]) -> bool:
    for entry in contract.values:
        array = feeds[entry.value]
        parts = np.moveaxis(array, entry.axis, 0) if entry.axis is not None else [array]
        for part, (lower, upper) in zip(parts, entry.limits(array.dtype), strict=True):
            if not ((part >= lower) & (part <= upper)).all():
                return False
        if entry.whole and not (array == np.floor(array)).all():
            return False
    sizes = {entry.name: entry.sizes for entry in contract.sizes}
    seen: dict[str, int] = {}
    for declared in proto.graph.input:
        axes = declared.type.tensor_type.shape.dim
        for axis, size in zip(axes, feeds[declared.name].shape, strict=False):
            name = axis.dim_param
            if name in sizes and (size not in sizes[name] or seen.setdefault(name, size) != size):
                return False
    return True


def _run(session: sonnx_ort.InferenceSession, feeds: dict[str, Any]) -> Any:
    try:
        return session.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - whatever the run raises
        return error


@pytest.fixture(scope="module")
def lines(once):
    place = "soundness.test_contracted_graphs:attempt"
    return once("contracted_graphs", lambda: run_attempts(place, range(GRAPHS), PROCESSES))


def test_no_proof_under_a_contract_is_wrong(lines):
    failures = [line for line in lines if "result" not in line]
    assert not failures, "\\n\\n".join(map(str, failures[:3]))


@pytest.mark.skipif(GRAPHS < DEFAULT, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(lines):
    counts = sum((Counter(line["result"]) for line in lines), Counter())
    assert counts["kept: list"] > GRAPHS // 2, counts
    assert counts["broken: ContractViolation"] > GRAPHS // 2, counts
    assert counts["certified"] > GRAPHS // 20, counts
