"""ONNX Runtime and the reference evaluator of ONNX against what the oracle says of an operator."""

from collections.abc import Callable, Mapping
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.meaning import COMPUTED, Undefined
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import Applied
from support import ort_values
from support.backends import BACKENDS
from support.meaning_cases import EARLY, FURTHER, LATE, kernels, nodes
from support.meanings import Array, Run, by_onnxruntime, by_reference, outside
from support.operator_cases import FLOATS
from support.sessions import enforced

T = ElementType


def _any_beyond(applied: Applied, least: float, most: float) -> bool:
    x = applied.operands[0]
    assert x is not None
    with np.errstate(invalid="ignore"):
        return bool((((x < least) | (x > most)) & np.isfinite(x)).any())


def _of_type(applied: Applied, *kinds: ElementType) -> bool:
    x = applied.operands[0]
    return x is not None and x.dtype in {kind.dtype for kind in kinds}


def _holds(applied: Applied, test: Callable[[Array], Any]) -> bool:
    floats = [o for o in applied.operands if o is not None and o.dtype.kind not in "biu"]
    return any(bool(np.any(test(o))) for o in floats)


def _huge(x: Array) -> Any:
    return abs(x.astype(np.float64)) > np.sqrt(float(ml_dtypes.finfo(x.dtype).max))


def _pads_beside_zero_point(applied: Applied) -> bool:
    zero = applied.operands[2] if len(applied.operands) > 2 else None
    return zero is not None and bool(zero) and any(applied.attributes.get("pads", ()))


def _vector_of_zero_points(applied: Applied) -> bool:
    zero = applied.operands[3] if len(applied.operands) > 3 else None
    return zero is not None and zero.size > 1


def _rounds_steps(applied: Applied) -> bool:
    delta = applied.operands[2]
    return _of_type(applied, T.FLOAT, T.DOUBLE) and not (4 * _number(delta)).is_integer()


def _number(operand: Array | None) -> float:
    assert operand is not None
    return float(operand)


def _pools_otherwise(applied: Applied) -> bool:
    said = applied.attributes
    plain = not any((*said.get("pads", ()), said.get("ceil_mode", 0))) and applied.results == 1
    return not plain or not _of_type(applied, *FLOATS) or _holds(applied, np.isnan)


def _beyond_int32(applied: Applied) -> bool:
    x, scale, *_ = applied.operands
    assert x is not None
    assert scale is not None
    largest = float(np.max(abs(x.astype(float)), initial=0, where=np.isfinite(x)))
    return largest / float(np.min(abs(scale.astype(float)))) >= 2**31 or scale.dtype == np.float16


def _may_saturate(applied: Applied) -> bool:
    """Whether sums of two products are cut to 16 bits, on processors with AVX2 alone."""
    x, w, *_ = applied.operands
    return x is not None and w is not None and (x.dtype, w.dtype) == (np.int8, np.uint8)


KNOWN: Mapping[tuple[str, Run], Callable[[Applied], bool]] = {
    ("Sigmoid", by_onnxruntime): lambda a: (
        _of_type(a, T.FLOAT, T.DOUBLE) and _any_beyond(a, -1, np.inf)
    ),
    ("Tanh", by_onnxruntime): lambda a: _of_type(a, T.FLOAT, T.DOUBLE) and _any_beyond(a, -2, 2),
    ("Sin", by_onnxruntime): lambda a: _of_type(a, T.DOUBLE) and _any_beyond(a, -2, 2),
    ("Range", by_onnxruntime): _rounds_steps,
    ("Range", by_reference): _rounds_steps,
    ("QuantizeLinear", by_onnxruntime): lambda a: _of_type(a, T.FLOAT16),
    ("QuantizeLinear", by_reference): _beyond_int32,
    ("DequantizeLinear", by_reference): lambda a: _of_type(a, T.INT32),
    ("MaxPool", by_onnxruntime): lambda a: _holds(a, np.isnan),
    ("MaxPool", by_reference): _pools_otherwise,
    ("Conv", by_reference): lambda a: "dilations" in a.attributes and _holds(a, _huge),
    ("Shape", by_reference): lambda a: a.attributes.get("end", 0) < 0,
    ("ConvInteger", by_onnxruntime): lambda a: (
        _pads_beside_zero_point(a) or _vector_of_zero_points(a) or _may_saturate(a)
    ),
    ("ConvInteger", by_reference): _pads_beside_zero_point,
    ("Gemm", by_reference): lambda a: not _of_type(a, *FLOATS),
    ("LSTM", by_reference): lambda a: len(a.operands) > 4 and a.operands[4] is not None,
    ("Relu", by_reference): lambda a: _holds(a, lambda x: (x == 0) & np.signbit(x)),
    ("Flatten", by_reference): lambda a: bool(a.operands[0] is None or a.operands[0].size == 0),
}
"""Where what computes an operator is known to differ, as `tests/upstream` and findings show."""


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
