"""Where ONNX Runtime has no kernel of bfloat16, float stands in, or the node is refused."""

from collections.abc import Sequence

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import SameNumericType
from support.backends import BACKENDS
from support.elementwise import Single
from support.graphs import parse


def _kinds(operator: Operator) -> Sequence[ElementType]:
    """The types that its rules about floats admit."""
    rules = operator.contracts[Edition.TYPED].get(Family.FLOAT, ())
    kinds = (r.requirement.kinds for r in rules if isinstance(r.requirement, SameNumericType))
    return next(kinds, ())


OF_FLOATS = [
    operator
    for name, operator in sorted(OPERATORS.items())
    if name in STANDARD_OPERATORS
    and operator.elementwise
    and ElementType.BFLOAT16 in _kinds(operator)
]
FIRST_OF_ALL = 22
"""The first version in which all of them take bfloat16."""
REASONS = {
    "python": "the python backend has no kernel for it in bfloat16, and ONNX Runtime has none "
    "either",
    "native": "ONNX Runtime has no kernel for it in bfloat16; convert its operands with Cast",
}


@pytest.mark.parametrize("backend", REASONS)
@pytest.mark.parametrize(
    "operator", [o for o in OF_FLOATS if not o.rounds_once], ids=lambda o: o.name
)
def test_what_no_float_can_carry_is_refused(operator, backend: str) -> None:
    model = Single(operator, ElementType.BFLOAT16).model(opset=FIRST_OF_ALL)
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(model, backend=backend, operators="all,-Graph")
    assert str(caught.value) == f"{operator.name} 'the_node': {REASONS[backend]}"


BEHIND_AN_INSPECTION = {
    "Clip": "(float[n] x) => (float[n] y) { b = Cast<to = 16>(x) l = Cast<to = 16>(low)"
    " h = Cast<to = 16>(high) c = Clip(b, l, h) y = Cast<to = 1>(c) }",
    "ArgMax": "(float[n] x) => (int64[1] y) { b = Cast<to = 16>(x) y = ArgMax<axis = 0>(b) }",
}


@BACKENDS
@pytest.mark.parametrize(("operator", "expected"), [("Clip", [-1.0, 0.5, 2.0]), ("ArgMax", [2])])
def test_operator_behind_an_inspection_computes_bfloat16(
    operator: str, expected: list[float], backend: str
) -> None:
    """ONNX Runtime has no kernel of it in this type: it is computed in float, and rounded."""
    limits = {"low": np.array(-1, np.float32), "high": np.array(2, np.float32)}
    made = parse(BEHIND_AN_INSPECTION[operator], constants=limits if operator == "Clip" else {})
    session = sonnx_ort.InferenceSession(made, operators=operator, backend=backend)
    x = np.array([-4, 0.5, 8], np.float32)
    assert session.run(None, {"x": x})[0].tolist() == expected
