"""`NumbersUnderCrossedBounds` before a run; `test_single_operands.py` has it in a run."""

import numpy as np
import pytest

from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.requirements.elements import NumbersUnderCrossedBounds
from sonnx_ort.profile.rule import Judgement, Status
from sonnx_ort.terms.operand import Operand

NAN = np.nan
UNKNOWN = "the elements are known only in a run"


def judged(x, lowest, highest, kind=ElementType.FLOAT):
    operands = [
        Operand(
            name,
            name,
            "input",
            kind.value,
            shape,
            constant=None if each is None else np.array(each, kind.dtype),
        )
        for name, each, shape in (("input", x, (2,)), ("min", lowest, ()), ("max", highest, ()))
    ]
    return NumbersUnderCrossedBounds().judge(operands)


@pytest.mark.parametrize(
    ("x", "lowest", "highest", "status", "evidence"),
    [
        (None, 1, 1, "proved", "the constant min 1.0 is not above the constant max 1.0"),
        (None, NAN, 1, "proved", "the constant min nan is not above the constant max 1.0"),
        (None, 5, 1, "runtime", UNKNOWN),
        (None, None, 1, "runtime", UNKNOWN),
        (None, 5, None, "runtime", UNKNOWN),
        ([7, NAN], None, 1, "runtime", UNKNOWN),
        ([7, NAN], 5, 1, "violated", "the constant input 'input' is NaN at [1]"),
        ([7, 8], 5, 1, "proved", "no element of the constant input 'input' is NaN"),
        ([7, 8], None, None, "proved", "no element of the constant input 'input' is NaN"),
    ],
)
def test_constants_decide(x, lowest, highest, status, evidence):
    assert judged(x, lowest, highest) == Judgement(Status(status), evidence)


def test_integers_have_no_nan():
    assert judged(None, None, None, ElementType.INT8) == Judgement(Status.PROVED, "no int8 is NaN")
