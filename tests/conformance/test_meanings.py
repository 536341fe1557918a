"""ONNX Runtime and the reference evaluator of ONNX against what the oracle says of an operator."""

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.oracle import COMPUTED, Undefined
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support import ort_values
from support.backends import BACKENDS
from support.known_differences import KNOWN
from support.meaning_cases import EARLY, FURTHER, LATE, kernels, nodes
from support.meanings import by_onnxruntime, by_reference, outside
from support.sessions import enforced

NODES = 25
QUICK = (ElementType.FLOAT, ElementType.INT8, ElementType.INT64, ElementType.BFLOAT16)
"""The types of which no operator waits for the thorough tests."""
KINDS = (ElementType.FLOAT, ElementType.INT32, ElementType.INT8)
"""The types with rules; of late operators the first of which there are kernels is tried."""
QUICK_ENFORCED = (ElementType.FLOAT, ElementType.INT64, ElementType.BOOL)
"""The types of which no early operator waits for the thorough tests."""

EACH = [
    pytest.param(
        run,
        operator,
        kind,
        id=f"{run.__name__}-{operator}-{kind}",
        marks=() if kind in QUICK else pytest.mark.thorough,
    )
    for operator in LATE
    for run, further in ((by_onnxruntime, ()), (by_reference, FURTHER.get(operator, ())))
    for kind in (*kernels(operator), *further)
]

ENFORCED = [
    pytest.param(
        operator,
        kind,
        marks=() if operator in LATE or kind in QUICK_ENFORCED else pytest.mark.thorough,
    )
    for operator in sorted({*EARLY, *LATE} - {"LSTM"})
    if operator == "Cast" or operator in LATE or not OPERATORS[operator].elementwise
    for kind in kernels(operator)
    if operator in EARLY or kind is next(k for k in KINDS if k in kernels(operator))
]
"""Operators and types of which nodes are enforced; those of LSTM demand constants."""


@pytest.mark.parametrize(("run", "operator", "kind"), EACH)
def test_results_are_admitted(run, operator, kind):
    known = KNOWN.get((operator, run), lambda _: False)
    tried = [each for each in nodes(operator, kind, NODES) if not known(each)]
    assert not any(isinstance(each.meaning, Undefined) for each in tried)
    for each in tried:
        assert not outside(each, run(each)), (each.attributes, each.operands)


@pytest.mark.parametrize(("operator", "run"), KNOWN)
def test_nodes_that_are_left_out_do_differ(operator, run):
    """Once none does, the entry of `KNOWN` can go."""
    further = FURTHER.get(operator, ()) if run is by_reference else ()
    left_out = [
        node
        for kind in (*kernels(operator), *further)
        for node in nodes(operator, kind, NODES)
        if KNOWN[operator, run](node)
    ]
    assert any(_differs(run, node) for node in left_out)


def _differs(run, node):
    try:
        return bool(outside(node, run(node)))
    except Exception:  # noqa: BLE001 - an error is another result
        return True


@BACKENDS
@pytest.mark.parametrize(("operator", "kind"), ENFORCED)
def test_enforced_results_are_admitted(operator, kind, backend):
    """Of nodes that the rules accept, as they do those of early operators."""
    known = KNOWN.get((operator, by_onnxruntime), lambda _: False)
    accepted = 0
    for each in nodes(operator, kind, NODES):
        if known(each):
            continue
        try:
            session = enforced(each.model(), backend, operators=operator)
            found = ort_values.run(session, each.feeds)
        except (sonnx_ort.ModelRejected, sonnx_ort.ContractViolation):
            assert operator in LATE, each
            continue
        assert not outside(each, [np.asarray(result) for result in found]), each
        accepted += 1
    assert accepted > (NODES // 2 if operator in EARLY else 0)


def test_every_operator_is_tried_here_or_element_by_element():
    elementwise = {name for name in OPERATORS if OPERATORS[name].elementwise}
    assert {*EARLY, *LATE} | elementwise == OPERATORS.keys() == COMPUTED | {"Broadcast"}
