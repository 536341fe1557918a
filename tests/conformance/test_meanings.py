"""ONNX Runtime and the reference evaluator of ONNX against what the oracle says of an operator."""

import pytest

from sonnx_ort.oracle import COMPUTED, Undefined
from sonnx_ort.oracle.operators import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.meaning_cases import KNOWN, SORTS, nodes
from support.meanings import by_onnxruntime, by_reference, outside

NODES = 25
QUICK = (ElementType.FLOAT, ElementType.INT8, ElementType.INT64, ElementType.BFLOAT16)
"""The types of which no operator waits for the thorough tests."""

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


def test_every_new_operator_is_tried():
    assert set(SORTS) == COMPUTED - OPERATORS
