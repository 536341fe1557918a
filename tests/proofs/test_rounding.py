"""Numbers of 16 bits that are computed by way of float are rounded as if they were rounded once.

The claim is about the emitted graph, from its first Cast to its last. Bitwuzla decides it for
float16; for bfloat16, which it does not take, Z3 does where it can.
"""

from types import ModuleType

import numpy as np
import pytest
import z3

from sonnx_ort.profile.catalog import OPERATORS
from sonnx_ort.profile.element_type import ElementType
from support.proofs import decisions, trials
from support.proofs.guards import outcome
from support.proofs.rounding import DEFINED, Rounding, by_way_of, counterexample
from support.proofs.theorem import prove_formula, value_of
from support.proofs.trials import PATTERNS, numbers, wrong

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


@pytest.mark.parametrize("operator", ["Sqrt", "Reciprocal"])
@pytest.mark.parametrize("kind", [FLOAT16, BFLOAT16], ids=str)
def test_every_number_is_rounded_as_if_once(operator: str, kind: ElementType) -> None:
    rounding = Rounding(operator, kind)
    every = numbers(np.arange(PATTERNS), kind)
    (found,) = outcome(rounding.emitted, {"X": every})
    if operator == "Reciprocal":
        assert not wrong("Div", np.ones_like(every), every, found).any()
        return
    # The root of a number of 16 bits in double is so precise that no mean lies between it and the
    # exact root, and where it is a mean it is exact.
    with np.errstate(invalid="ignore"):
        expected = np.sqrt(every.astype(np.float64)).astype(kind.dtype)
    np.testing.assert_array_equal(found.astype(np.float64), expected.astype(np.float64))


@pytest.mark.parametrize("rounding", ALL, ids=str)
def test_graph_computes_in_float_and_rounds_at_the_end(rounding: Rounding) -> None:
    claim = rounding.claim()
    names = {str(each) for each in z3.z3util.get_vars(claim)}
    assert names == {name.lower() for name in OPERATORS[rounding.operator].operands}


@pytest.mark.parametrize("operator", ["Div", "Mul", "Sub"])
@pytest.mark.parametrize("kind", [FLOAT16, BFLOAT16], ids=str)
def test_comparison_with_the_nearest_number_tells_every_other_one(
    operator: str, kind: ElementType
) -> None:
    generator = np.random.default_rng(7)
    a, b = (numbers(generator.integers(0, PATTERNS, 20_000), kind) for _ in range(2))
    (found,) = outcome(Rounding(operator, kind).emitted, {"A": a, "B": b})
    assert not wrong(operator, a, b, found).any()
    number = ~np.isnan(found.astype(np.float64))
    for step in (1, -1):
        other = numbers((found.view(np.uint16).astype(int) + step) % PATTERNS, kind)
        assert wrong(operator, a, b, other)[number].all()


@pytest.mark.parametrize("record", [decisions, trials], ids=["decisions", "trials"])
def test_what_is_recorded_is_of_the_graphs_that_are_emitted(record: ModuleType) -> None:
    for case, entry in record.recorded().items():
        operator, kind = case.split()
        emitted = Rounding(operator, ElementType(kind)).emitted
        assert entry["graph"] == trials.digest(emitted)


def test_a_formula_that_is_false_is_not_proved() -> None:
    x = z3.FP("x", z3.Float16())
    assert counterexample(z3.fpEQ(x, x)) is not None
    prove_formula(x == x)  # noqa: PLR0124 - of terms, it is a formula
