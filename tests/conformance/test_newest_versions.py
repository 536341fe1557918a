"""BitShift, Mod and Cast of version 28: the results are the oracle's, and the rules are the same.

Version 28 shifts signed integers, and takes floats modulo others without `fmod=1`.
"""

import numpy as np
import onnx
import pytest

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import special_values
from support import ort_values
from support.backends import BACKENDS
from support.conformity import assert_conforms, keeping_the_rules
from support.elementwise import Single, singles
from support.operator_cases import NEWEST
from support.sessions import enforced
from support.values import all_combinations

VERSION = 28
OPERATORS_OF_IT = ("BitShift", "Mod", "Cast")

T = ElementType
WIDE = (T.INT64, T.UINT64)
CONVERTED_TO = (T.INT8, T.UINT64, T.FLOAT16, T.DOUBLE, T.BOOL)

pytestmark = pytest.mark.skipif(NEWEST < VERSION, reason="a package knows no such version")


def said_of(single: Single):
    """The attributes with which an operator is tried in a type."""
    match single.operator.name:
        case "BitShift":
            return [{"direction": "LEFT"}, {"direction": "RIGHT"}]
        case "Cast":
            # To its own type it hands on every NaN as it is.
            others = [to for to in CONVERTED_TO if to is not single.element_type]
            return [{"to": onnx.TensorProto.DataType.Value(to.upper())} for to in others]
    # ONNX Runtime computes what C does with wide integers by way of double.
    return [{"fmod": 0}] if single.element_type in WIDE else [{"fmod": 0}, {"fmod": 1}]


def cases():
    for single in singles():
        if single.operator.name in OPERATORS_OF_IT:
            for said in said_of(single):
                yield Single(single.operator, single.element_type, said=tuple(said.items()))


@BACKENDS
@pytest.mark.parametrize("single", list(cases()), ids=str)
def test_results_are_the_oracles(single: Single, backend: str) -> None:
    session = enforced(single.model(opset=VERSION), backend)
    special = all_combinations(*map(special_values, single.types()))
    random = list(single.operands(300, seed=28).values())
    together = [np.concatenate(both) for both in zip(special, random, strict=True)]
    operands = keeping_the_rules(single, together, Edition.TYPED)
    (found,) = ort_values.run(session, dict(zip(single.names, operands, strict=True)))
    assert_conforms(single, found, operands, Edition.TYPED)


@BACKENDS
@pytest.mark.parametrize("kind", [T.FLOAT16, T.FLOAT, T.DOUBLE])
def test_remainder_has_the_sign_of_the_divisor_where_no_attribute_says_otherwise(
    kind: ElementType, backend: str
) -> None:
    single = Single(OPERATORS["Mod"], kind, said=(("fmod", 0),))
    model = single.model(opset=VERSION)
    del model.graph.node[0].attribute[:]
    a, b = (np.array(x, kind.dtype) for x in ([-7, 7, -0.0], [3, -3, 2]))
    (found,) = ort_values.run(enforced(model, backend), {"A": a, "B": b})
    np.testing.assert_array_equal(found, [2, -2, 0])
    np.testing.assert_array_equal(np.signbit(found), [False, True, False])
