"""In the preliminary edition a zero divisor gives +inf, and every other one the quotient."""

import numpy as np
import onnx
import pytest
import z3

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.elementwise import Single
from support.proofs.guards import outcome
from support.proofs.interpreter import interpret
from support.proofs.mutation import number
from support.proofs.nodes import Guarded, Ranks
from support.proofs.tensors import operand
from support.proofs.terms import NEAREST
from support.proofs.theorem import NotProved, prove_formula, value_of

KINDS = pytest.mark.parametrize("kind", [ElementType.FLOAT, ElementType.DOUBLE], ids=str)


def emitted(kind: ElementType) -> onnx.ModelProto:
    single = Single(OPERATORS["Div"], kind)
    return Guarded(single, Ranks.EQUAL, edition=Edition.PRELIMINARY).emitted


def claim(model: onnx.ModelProto, kind: ElementType) -> tuple[z3.BoolRef, list[z3.ExprRef]]:
    operands = {name: operand(name, kind, 1, sizes=(1,)).tensor for name in "AB"}
    values, _ = interpret(model, operands)
    a, b = (tensor.elements.at(z3.IntVal(0)) for tensor in operands.values())
    infinity = z3.fpPlusInfinity(a.sort())
    defined = z3.If(z3.fpIsZero(b), infinity, z3.fpDiv(NEAREST, a, b))
    return values["y"].elements.at(0) == defined, [a, b]


@KINDS
def test_zero_divisors_alone_give_infinity(kind: ElementType) -> None:
    prove_formula(claim(emitted(kind), kind)[0])


@KINDS
def test_other_infinity_is_refuted_by_numbers_that_show_it(kind: ElementType) -> None:
    broken = number("infinity", -np.inf).of(emitted(kind))
    formula, numbers = claim(broken, kind)
    with pytest.raises(NotProved):
        prove_formula(formula)
    solver = z3.Solver()
    solver.add(z3.Not(formula))
    assert solver.check() == z3.sat
    a, b = (np.array([value_of(solver.model(), each, kind)]) for each in numbers)
    (found,), (right,) = (outcome(m, {"A": a, "B": b}) for m in (broken, emitted(kind)))
    assert not np.array_equal(found, right, equal_nan=True)
    assert np.array_equal(right, np.where(b == 0, np.inf, right), equal_nan=True)
