"""Integers divided as doubles, and numbers of 16 bits computed in float, are rounded once.

The kernel itself is run, on arrays that take down what is done with them.

The claim is about the emitted graph, from its first Cast to its last. Bitwuzla decides it for
float16; for bfloat16, which it does not take, Z3 does where it can.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import z3
from exhaustive import differing, expected_result

from sonnx_ort.custom_ops import arithmetic
from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.proofs import decisions
from support.proofs.guards import outcome
from support.proofs.rounding import DEFINED, Rounding, by_way_of, counterexample, digest
from support.proofs.terms import NEAREST, NotInterpreted, bits_of, nearest_float
from support.proofs.theorem import NotProved, prove_formula, value_of

PRECISIONS = {np.dtype(np.float32): 24, np.dtype(np.float64): 53}
"""The bits of the significands of the types that integers are divided in."""

_TYPES = {np.dtype(np.float32): ElementType.FLOAT, np.dtype(np.float64): ElementType.DOUBLE}


@dataclass(frozen=True)
class Quotient:
    """A quotient of two operands in a type of floats, of which the fraction is cut off.

    Attributes:
        computed_in: The type that they are converted to, and divided in.
        dividend: The name of the dividend.
        divisor: The name of the divisor.
    """

    computed_in: np.dtype[Any]
    dividend: str
    divisor: str


class TracedArray:
    """Stands for an array of integers: it takes down what is done with it."""

    def __init__(self, dtype: np.dtype[Any], content: str | Quotient | None) -> None:
        """Stand for an operand of that name, or for an array in which nothing is yet."""
        self.dtype = dtype
        self.content = content

    def __getattr__(self, name: str) -> Any:
        """Refuse whatever else a kernel may ask."""
        raise NotInterpreted(f"what a kernel does by way of {name}")

    def __array_function__(self, function: object, types: object, args: Any, kwargs: Any) -> Any:
        """Take a function down."""
        del types
        if function is np.empty_like and args == (self,) and not kwargs:
            return TracedArray(self.dtype, None)
        raise NotInterpreted(f"{function}")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """Take an operation down."""
        (out,) = options.pop("out", (None,))
        known = ufunc is np.divide and method == "__call__" and out is not None
        if not known or options.pop("casting", None) != "unsafe" or set(options) != {"dtype"}:
            raise NotInterpreted(f"{ufunc.__name__} with {options}")
        out.content = Quotient(np.dtype(options["dtype"]), *(one.content for one in inputs))
        return out


def trace(kernel: Callable[..., Any], element_type: ElementType) -> Quotient:
    """Run a kernel of two operands, and give what it computes.

    Args:
        kernel: The kernel.
        element_type: The type of its operands and its result.

    Raises:
        NotInterpreted: It does what nobody said the meaning of.
    """
    dtype = element_type.dtype
    result = kernel(TracedArray(dtype, "a"), TracedArray(dtype, "b"))
    if result.dtype != dtype or not isinstance(result.content, Quotient):
        raise NotInterpreted(f"a result {result.content} in {result.dtype}")
    return result.content


def is_truncated_quotient(quotient: Quotient, element_type: ElementType) -> z3.BoolRef:
    """That it is the quotient without its fraction, over the reals with what is true of rounding.

    Nearest rounding is off by at most the half of a unit in the last place, relatively, and gives
    an integer of as many bits as the significand has as it is. No number here is subnormal or
    beyond the type. Everything is said of numbers multiplied by b, which is positive: then it is
    linear, and Z3 decides it at once.
    """
    precision = PRECISIONS[quotient.computed_in]
    most = 1 << (bits_of(element_type) - 1)
    # Rounding and cutting off are symmetric in the sign, so that magnitudes are enough.
    a, b, whole = z3.Ints("a b whole_times_b")
    found = z3.Real("found_times_b")
    given = [a >= 0, a <= most, b >= 1, b <= most]
    # The quotient of integers without its fraction, by its definition.
    given += [whole >= 0, whole <= a, a < whole + b]
    if most <= 1 << precision:
        # The operands are held as they are, and so is a quotient that is an integer.
        unit = z3.Q(1, 1 << precision)
        exact = z3.ToReal(a)
        given += [found - exact <= unit * exact, exact - found <= unit * exact]
        given.append(z3.Implies(a == whole, found == exact))
    return z3.Implies(z3.And(*given), z3.And(whole <= found, found < whole + b))


def is_bitwise_quotient(quotient: Quotient, element_type: ElementType) -> z3.BoolRef:
    """The same, bit by bit in the theory of floats: for `a` and `b` that keep the rules."""
    bits = bits_of(element_type)
    a, b = z3.BitVecs("a b", bits)
    kind = _TYPES[quotient.computed_in]
    wide = [nearest_float(x, element_type, kind) for x in (a, b)]
    found = z3.fpToSBV(z3.RTZ(), z3.fpDiv(NEAREST, *wide), z3.BitVecSort(bits))
    smallest = z3.BitVecVal(1 << (bits - 1), bits)
    keeps = z3.And(b != 0, z3.Not(z3.And(a == smallest, b == -1)))
    return z3.Implies(keeps, found == a / b)


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


FLOAT16, BFLOAT16 = ElementType.FLOAT16, ElementType.BFLOAT16
DECIDED_AT_ONCE = [Rounding("Mul", FLOAT16)]
DECIDED_SOON = [Rounding(operator, FLOAT16) for operator in ("Add", "Reciprocal", "Sqrt", "Sub")]
ALL = [Rounding(operator, kind) for operator in DEFINED for kind in (FLOAT16, BFLOAT16)]


@pytest.mark.parametrize(
    "rounding",
    [
        *DECIDED_AT_ONCE,
        *(pytest.param(rounding, marks=pytest.mark.thorough) for rounding in DECIDED_SOON),
    ],
    ids=str,
)
def test_float16_is_rounded_as_if_once(rounding: Rounding) -> None:
    assert counterexample(rounding.claim()) is None


@pytest.mark.thorough
@pytest.mark.parametrize("operator", ["Sub", "Div", "Mul", "Sqrt"])
def test_rounding_to_fewer_bits_on_the_way_is_refuted(operator: str) -> None:
    rounding = Rounding(operator, FLOAT16)
    broken = by_way_of(rounding.emitted, BFLOAT16)
    solver = z3.Solver()
    solver.add(z3.Not(rounding.claim(broken)))
    assert solver.check() == z3.sat
    model, names = solver.model(), OPERATORS[operator].operands
    feeds = {
        name: np.array([value_of(model, number, FLOAT16)])
        for name, number in zip(names, rounding.numbers, strict=True)
    }
    defined = value_of(model, DEFINED[operator](*rounding.numbers), FLOAT16)
    (right,), (false,) = outcome(rounding.emitted, feeds), outcome(broken, feeds)
    np.testing.assert_array_equal(right, [defined])
    assert not np.array_equal(false, right, equal_nan=True)


EVERY = np.arange(1 << 16).astype(np.uint16)
"""The bits of every number."""


@pytest.mark.parametrize("operator", ["Sqrt", "Reciprocal"])
@pytest.mark.parametrize("kind", [FLOAT16, BFLOAT16], ids=str)
def test_every_number_is_rounded_as_if_once(operator: str, kind: ElementType) -> None:
    every = EVERY.view(kind.dtype)
    (found,) = outcome(Rounding(operator, kind).emitted, {"X": every})
    if operator == "Reciprocal":
        expected = expected_result("Div", np.ones_like(every), every, kind, Edition.TYPED)
    else:
        # The root of a number of 16 bits in double is so precise that no mean lies between it and
        # the exact root, and where it is a mean it is exact.
        with np.errstate(invalid="ignore"):
            expected = np.sqrt(every.astype(np.float64)).astype(kind.dtype)
    assert not differing(found, expected, kind).any()


@pytest.mark.parametrize("rounding", ALL, ids=str)
def test_graph_computes_in_float_and_rounds_at_the_end(rounding: Rounding) -> None:
    claim = rounding.claim()
    names = {str(each) for each in z3.z3util.get_vars(claim)}
    assert names == {name.lower() for name in OPERATORS[rounding.operator].operands}


def test_what_is_recorded_is_of_the_graphs_that_are_emitted() -> None:
    for case, entry in decisions.recorded().items():
        operator, kind = case.split()
        assert entry["graph"] == digest(Rounding(operator, ElementType(kind)).emitted)


def test_a_formula_that_is_false_is_not_proved() -> None:
    x = z3.FP("x", z3.Float16())
    assert counterexample(z3.fpEQ(x, x)) is not None
    prove_formula(x == x)  # noqa: PLR0124 - of terms, it is a formula
