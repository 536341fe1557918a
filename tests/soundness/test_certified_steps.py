"""No kernel of ONNX Runtime contradicts a step of a certificate.

`SONNX_ORT_GRAPHS=10000 pytest tests/soundness/test_certified_steps.py` tries more graphs than the
default, `SONNX_ORT_RUNS=500` each operator more often.
"""

import os
from collections.abc import Callable
from typing import Any

import pytest

from support.soundness.certified_runs import ATTEMPTS, OPERATORS
from support.soundness.isolated import run_attempts, run_often_enough

GRAPHS = int(os.environ.get("SONNX_ORT_GRAPHS", "300"))
NEEDED = int(os.environ.get("SONNX_ORT_RUNS", "40"))
MODULE = "support.soundness.certified_runs"
Lines = list[dict[str, Any]]


def confirmed(lines: Lines) -> Lines:
    """The runs that confirm or contradict a step."""
    results = (line.get("result") or {} for line in lines)
    return [result for result in results if result.get("steps")]


@pytest.fixture(scope="module")
def operators(once: Callable[..., Any]) -> dict[str, Lines]:
    asked = f"{MODULE}:attempt_of_operator", OPERATORS, ATTEMPTS, NEEDED, confirmed
    found: dict[str, Lines] = once("certified_operators", lambda: run_often_enough(*asked))
    return found


@pytest.fixture(scope="module")
def graphs(once: Callable[..., Any]) -> Lines:
    attempt = f"{MODULE}:attempt_of_graph"
    found: Lines = once("certified_graphs", lambda: run_attempts(attempt, range(GRAPHS), 2))
    return found


def test_no_attempt_fails(operators: dict[str, Lines], graphs: Lines) -> None:
    lines = [line for group in (*operators.values(), graphs) for line in group]
    assert [line["error"] for line in lines if "error" in line] == []


def test_no_kernel_contradicts_a_step_of_its_operator(operators: dict[str, Lines]) -> None:
    misfits = [run["misfit"] for lines in operators.values() for run in confirmed(lines)]
    assert "\n\n".join(filter(None, misfits)) == ""


def test_every_operator_has_run_often_enough(operators: dict[str, Lines]) -> None:
    counts = {operator: len(confirmed(lines)) for operator, lines in operators.items()}
    assert {o: count for o, count in counts.items() if count < NEEDED} == {}


def test_no_run_of_a_graph_contradicts_a_step(graphs: Lines) -> None:
    assert "\n\n".join(filter(None, (run["misfit"] for run in confirmed(graphs)))) == ""


def test_the_graphs_are_worth_looking_at(graphs: Lines) -> None:
    assert sum(run["steps"] for run in confirmed(graphs)) > 2 * GRAPHS
