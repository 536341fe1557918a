"""ONNX Runtime and the reference evaluator of ONNX against what the oracle says of an operator."""

import numpy as np
import pytest
from restrictions import OPERATORS

import sonnx_ort
from sonnx_ort.oracle import COMPUTED, Undefined
from sonnx_ort.profile.element_type import ElementType
from support import ort_values
from support.backends import BACKENDS
from support.meaning_cases import KNOWN, SORTS, nodes
from support.meanings import by_onnxruntime, by_reference, outside
from support.sessions import enforced

NODES = 25
QUICK = (ElementType.FLOAT, ElementType.INT8, ElementType.INT64, ElementType.BFLOAT16)
"""The types of which no operator waits for the thorough tests."""
KINDS = (ElementType.FLOAT, ElementType.INT32, ElementType.INT8)
"""The types with rules; the first of which an operator has kernels is tried."""

EACH = [
    pytest.param(
        run,
        operator,
        kind,
        id=f"{run.__name__}-{operator}-{kind}",
        marks=() if kind in QUICK else pytest.mark.thorough,
    )
    for operator, sort in SORTS.items()
    for run, kinds in (
        (by_onnxruntime, sort.kernels),
        (by_reference, (*sort.kernels, *sort.further)),
    )
    for kind in kinds
]


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
    kinds = (*SORTS[operator].kernels, *SORTS[operator].further)
    left_out = [
        node
        for kind in (kinds if run is by_reference else SORTS[operator].kernels)
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
@pytest.mark.parametrize("operator", sorted(set(SORTS) - {"LSTM"}))
def test_enforced_results_are_admitted(operator, backend):
    """Of nodes that the rules accept; those of LSTM demand constants."""
    kind = next(k for k in KINDS if k in SORTS[operator].kernels)
    known = KNOWN.get((operator, by_onnxruntime), lambda _: False)
    accepted = 0
    for each in nodes(operator, kind, NODES):
        if known(each):
            continue
        try:
            session = enforced(each.model(), backend, operators=operator)
            found = ort_values.run(session, each.feeds)
        except (sonnx_ort.ModelRejected, sonnx_ort.ContractViolation):
            continue
        assert not outside(each, [np.asarray(result) for result in found]), each
        accepted += 1
    assert accepted


def test_every_new_operator_is_tried():
    assert set(SORTS) == COMPUTED - OPERATORS
