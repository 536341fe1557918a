"""Integers of up to 32 bits that are divided as doubles give the quotient without its fraction.

The kernel itself is run, on arrays that take down what is done with them.
"""

import functools
import inspect
from types import ModuleType

import numpy as np
import pytest
import z3

from sonnx_ort.custom_ops import arithmetic
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.proofs.bit_solver import counterexample
from support.proofs.terms import NotInterpreted
from support.proofs.theorem import NotProved, prove_formula
from support.proofs.traced import is_bitwise_quotient, is_truncated_quotient, trace

T = ElementType


def kernel(module: ModuleType = arithmetic):
    """The kernel of a module, and of the typed edition."""
    return functools.partial(module.divide, edition=Edition.TYPED)


def by_way_of_float() -> ModuleType:
    """The kernel's module, with a narrower type in it."""
    source = inspect.getsource(arithmetic)
    assert source.count("np.float64") == 1
    module = ModuleType("narrower")
    exec(source.replace("np.float64", "np.float32"), module.__dict__)  # noqa: S102 - our own source
    return module


@pytest.mark.parametrize("kind", [T.INT8, T.INT16, T.INT32], ids=str)
def test_quotient_by_way_of_double_has_its_fraction_cut_off(kind: ElementType) -> None:
    quotient = trace(kernel(), kind)
    assert quotient.computed_in == np.float64
    prove_formula(is_truncated_quotient(quotient, kind))


@pytest.mark.thorough
def test_quotient_of_bytes_is_right_bit_by_bit() -> None:
    assert counterexample(is_bitwise_quotient(trace(kernel(), T.INT8), T.INT8)) is None


def test_quotient_by_way_of_float_is_refuted_by_numbers_that_show_it() -> None:
    narrower = kernel(by_way_of_float())
    quotient = trace(narrower, T.INT32)
    assert quotient.computed_in == np.float32
    with pytest.raises(NotProved):
        prove_formula(is_truncated_quotient(quotient, T.INT32))
    found = counterexample(is_bitwise_quotient(quotient, T.INT32))
    a, b = (np.array([found[name]], np.uint32).view(np.int32) for name in "ab")
    exact = abs(int(a[0])) // abs(int(b[0])) * (1 if (a[0] < 0) == (b[0] < 0) else -1)
    assert narrower(a, b).tolist() != [exact]
    assert kernel()(a, b).tolist() == [exact]


def test_what_is_taken_down_has_to_be_understood() -> None:
    with pytest.raises(NotInterpreted):
        trace(kernel(), T.INT64)


def test_what_is_true_of_rounding_is_true_of_something() -> None:
    quotient = trace(kernel(), T.INT32)
    formula = is_truncated_quotient(quotient, T.INT32)
    solver = z3.Solver()
    solver.add(formula.arg(0), z3.Int("a") == 7, z3.Int("b") == 2)
    assert solver.check() == z3.sat
