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
from sonnx_ort import Contract, ContractViolation, SonnxError
from sonnx_ort.analysis.values.provenance import Provenance
from sonnx_ort.loading.canonical import load_canonical
from support.chosen_cases import trials
from support.soundness.contracts import around, keeps
from support.soundness.empty_batches import ends_at_an_lstm
from support.soundness.isolated import run_attempts
from support.soundness.trials import make_trial

PROCESSES = 2
DEFAULT = 150
ENOUGH = 100
"""How many graphs tell whether they are worth looking at."""
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
    read = {str(v.name) for v in Provenance(graph).inputs_affecting(graph.graph.outputs)}
    rng = random.Random(number)  # noqa: S311 - no cryptography
    contract = around(
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
    if "LSTM" not in trial.operators and ends_at_an_lstm(trial.model, nominal):
        return counts
    certified = _certified(trial, contract)
    counts["certified"] = certified is not None
    sessions = [session] if certified is None else [session, certified]
    for session, feeds in product(sessions, (nominal, *others)):
        kept = keeps(contract, trial.model, {**defaults, **feeds})
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


def _run(session: sonnx_ort.InferenceSession, feeds: dict[str, Any]) -> Any:
    try:
        return session.run(None, feeds)
    except Exception as error:  # noqa: BLE001 - whatever the run raises
        return error


@pytest.fixture(scope="module")
def lines(once, part_of_trials):
    place, numbers = "soundness.test_contracted_graphs:attempt", trials(part_of_trials, GRAPHS)
    return once("contracted_graphs", lambda: run_attempts(place, numbers, PROCESSES))


def test_no_proof_under_a_contract_is_wrong(lines):
    failures = [line for line in lines if "result" not in line]
    assert not failures, "\\n\\n".join(map(str, failures[:3]))


@pytest.mark.usefixtures("first_part")
@pytest.mark.skipif(GRAPHS < ENOUGH, reason="too few graphs to tell")
def test_the_graphs_are_worth_looking_at(lines):
    counts = sum((Counter(line["result"]) for line in lines), Counter())
    assert counts["kept: list"] > GRAPHS // 2, counts
    assert counts["broken: ContractViolation"] > GRAPHS // 2, counts
    assert counts["certified"] > GRAPHS // 20, counts
