"""What ONNX Runtime has no bfloat16 kernel of, and float cannot stand in for, is refused."""

from collections.abc import Sequence

import pytest

import sonnx_ort
from sonnx_ort.profile.catalog import OPERATORS, STANDARD_OPERATORS
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.operator import Operator
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.requirements.attributes import SameNumericType
from support.elementwise import Single


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
