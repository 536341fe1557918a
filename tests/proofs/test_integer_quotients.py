"""Kernels that divide integers as integers give the quotient without its fraction.

The kernel itself is run, on stand-ins for arrays of any size that take down what is done with them.
"""

import inspect
from types import ModuleType

import numpy as np
import pytest
import z3

from sonnx_ort.custom_ops import arithmetic
from sonnx_ort.custom_ops.arithmetic import SELECTING, by_ufunc
from sonnx_ort.custom_ops.catalog import CUSTOM_OPERATORS
from sonnx_ort.custom_ops.kernel import CustomOperator
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from support.proofs.terms import NotInterpreted
from support.proofs.theorem import prove_formula
from support.proofs.traced_integers import (
    Steps,
    claims_of_quotient,
    computed,
    facts_of_xor,
    multiples_lie_apart,
    seen_as,
)

T = ElementType
KINDS = [T.INT64, T.UINT64, T.UINT32, T.UINT16, T.UINT8]

FAULTS = {
    "a remainder of the divisor's sign": ("np.fmod", "np.remainder", True),
    "a sign left on": (") - sign", ")", False),
    "magnitudes as signed integers": (").view(np.uint64)", ")", False),
    "the last of a block left out": ("start + _BLOCK)", "start + _BLOCK - 1)", False),
    "the last of a block divided twice": ("a.size, _BLOCK)", "a.size, _BLOCK - 1)", False),
}
"""By what is wrong: what stands in the kernel, what instead, and whether of few elements."""

AT_MOST = 3 * 16384
"""The size of arrays that are to show a fault."""


def faulty(text: str, instead: str) -> ModuleType:
    """The kernel's module, with something else in it."""
    source = inspect.getsource(arithmetic)
    assert text in source
    module = ModuleType("faulty")
    exec(source.replace(text, instead), module.__dict__)  # noqa: S102 - our own source
    return module


def refuted(module: ModuleType, *, few: bool) -> z3.ModelRef:
    """A model in which a claim is false."""
    for claim in claims_of_quotient(module, T.INT64, few=few):
        solver = z3.Solver()
        solver.add(z3.Not(claim), z3.Int("size") <= AT_MOST)
        found = solver.check()
        assert found != z3.unknown
        if found == z3.sat:
            return solver.model()
    raise AssertionError("nothing refutes the claims")


def operands(model: z3.ModelRef) -> tuple[int, int, int, int]:
    """The size, a place, and what is divided there; a pair of numbers where none are told."""
    size, place, a, b = (model.eval(z3.Int(name)) for name in ("size", "place", "a", "b"))
    told = all(map(z3.is_int_value, (a, b)))
    pair = (a.as_long(), b.as_long()) if told else (1000, 3)
    return size.as_long(), place.as_long(), *pair


def exact(a: int, b: int) -> int:
    """The quotient of Python's integers without its fraction."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


@pytest.mark.parametrize("few", [True, False], ids=["few", "many"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_quotient_of_integers_is_truncated(kind: ElementType, few: bool) -> None:
    for claim in claims_of_quotient(arithmetic, kind, few=few):
        prove_formula(claim)


@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_refuted_by_numbers_that_show_it(fault: str) -> None:
    text, instead, few = FAULTS[fault]
    broken = faulty(text, instead)
    size, place, a, b = operands(refuted(broken, few=few))
    for module, right in ((broken, False), (arithmetic, True)):
        arrays = [np.full(size, number, np.int64) for number in (a, b)]
        result = module.divide(*arrays, edition=Edition.TYPED)
        assert (int(result[place]) == exact(a, b)) is right


def test_no_other_kernel_of_integers_has_arithmetic_of_its_own() -> None:
    """Max, Min and Where choose among elements."""
    of_numpy = by_ufunc(np.add).__qualname__
    computing = {
        name: custom.arithmetic.__qualname__
        for name, custom in CUSTOM_OPERATORS.items()
        if isinstance(custom, CustomOperator)
        and custom.arithmetic is not None
        and Family.INTEGER in custom.operator.families
    }
    others = {name for name, function in computing.items() if function != of_numpy}
    assert others - SELECTING == {"Div"}


def test_what_is_true_of_bits_is_proved_of_them() -> None:
    x, y = z3.BitVecs("x y", 64)
    prove_formula(z3.And(facts_of_xor(x, y, x ^ y)))


def test_what_is_true_of_multiples_is_proved() -> None:
    prove_formula(multiples_lie_apart(*z3.Ints("x y b")))


@pytest.mark.parametrize("kind", [np.int64, np.uint64])
@pytest.mark.parametrize(
    "function", [np.absolute, np.floor_divide, np.fmod, np.remainder, np.subtract], ids=str
)
def test_what_is_said_of_a_function_is_what_numpy_does(function: np.ufunc, kind: type) -> None:
    random, limits = np.random.default_rng(20), np.iinfo(kind)
    some = [limits.min, limits.max, 0, 1, 7, limits.max - 1, *random.integers(1 << 62, size=6)]
    # The negative numbers, of which unsigned integers have none.
    numbers = np.concatenate([np.array(some, kind), -np.array(some, kind)])
    for _ in range(100):
        values = random.choice(numbers, (function.nin, 1))
        steps = Steps()
        terms = [z3.IntVal(int(value[0])) for value in values]
        found = computed(steps, function, np.dtype(kind), *terms)
        solver = z3.Solver()
        solver.add(*steps.facts(), *steps.requirements)
        if solver.check() == z3.unsat:
            # A zero divisor, or the smallest by -1.
            assert function.nin > 1
            assert values[1, 0] == 0 or values.tolist() == [[limits.min], [-1]]
            continue
        solver.add(found != int(function(*values)[0]))
        assert solver.check() == z3.unsat


def test_what_is_said_of_signs_is_what_numpy_does() -> None:
    kind = np.dtype(np.int64)
    for number in (np.iinfo(kind).min, -8, -1, 0, 1, 12345, np.iinfo(kind).max):
        term, array = z3.IntVal(int(number)), np.array([number], kind)
        shifted = computed(Steps(), np.right_shift, kind, term, z3.IntVal(63))
        assert z3.simplify(shifted).as_long() == int((array >> 63)[0])
        unsigned = seen_as(term, kind, np.dtype(np.uint64))
        assert z3.simplify(unsigned).as_long() == int(array.view(np.uint64)[0])
        again = seen_as(unsigned, np.dtype(np.uint64), kind)
        assert z3.simplify(again).as_long() == int(number)


@pytest.mark.parametrize("few", [True, False], ids=["few", "many"])
def test_what_is_true_of_steps_is_true_of_something(few: bool) -> None:
    *_, claim = claims_of_quotient(arithmetic, T.INT64, few=few)
    for a, b in ((7, -2), (-(1 << 63), 3)):
        solver = z3.Solver()
        solver.add(claim.arg(0), z3.Int("a") == a, z3.Int("b") == b)
        assert solver.check() == z3.sat


@pytest.mark.parametrize(
    ("text", "instead", "few"),
    [
        ("np.fmod(a, b", "np.true_divide(a, b", True),
        ("return flat_a.reshape(a.shape)", "return flat_a", False),
        ("return flat_a.reshape(a.shape)", "return a", False),
        ("flat_b[block])", "flat_b)", False),
        (">> 63", ">> b", False),
    ],
)
def test_what_is_taken_down_has_to_be_understood(text: str, instead: str, few: bool) -> None:
    with pytest.raises(NotInterpreted):
        list(claims_of_quotient(faulty(text, instead), T.INT64, few=few))
