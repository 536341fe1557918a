"""Every float16 and every bfloat16 through every operator of one operand.

What keeps the rules runs in one tensor; one in seven elements that break one runs alone.
"""

import functools

import numpy as np
import pytest
from every_pair.rounding import rounded

import sonnx_ort
from sonnx_ort.oracle import enclosure
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support import ort_values
from support.conformity import assert_admitted
from support.elementwise import singles
from support.failing_runs import plain_session, rule_broken_by
from support.sessions import on_one_thread
from support.values import assert_same_bits, from_bits

pytestmark = pytest.mark.usefixtures("without_log")

SIXTEEN_BITS = (ElementType.FLOAT16, ElementType.BFLOAT16)
BACKENDS = pytest.mark.parametrize("backend", ["python", "native"])
LIMIT = 2.0**31
"""The smallest float that int32, to which Cast converts here, does not hold."""

EXACT = {
    "Abs": np.abs,
    "Neg": np.negative,
    "Reciprocal": lambda x: 1 / x,
    "Sqrt": np.sqrt,
}
"""In double. What double rounds of a reciprocal or a root has 53 bits, more than twice those of the
16-bit types and two more, so that rounding it once more gives what rounding once would."""

ENCLOSED = {"Acos", "Log"}
"""The operators of which the oracle says what is admitted, element by element."""

RULES = {
    "Acos": ("Acos.float.C1", lambda x: abs(x) > 1),
    "Cast": ("Cast.float.C1", lambda x: ~(abs(np.trunc(x)) < LIMIT) & (x != -LIMIT)),
}
"""The rules about elements, and what breaks them."""

STEP = 7
"""One in so many elements that break a rule runs by itself: there are 60,000 of them."""

CASES = [s for s in singles() if len(s.names) == 1 and s.element_type in SIXTEEN_BITS]
each_case = pytest.mark.parametrize("single", CASES, ids=str)


def every_element(element_type):
    return from_bits(np.arange(1 << 16), element_type)


def breaking(single):
    """Every element, and which of them break a rule."""
    elements = every_element(single.element_type)
    _, breaks = RULES.get(single.operator.name, ("", lambda x: np.zeros(x.shape, bool)))
    with np.errstate(invalid="ignore"):
        return elements, breaks(elements.astype(np.float64))


@np.errstate(all="ignore")
def expected_of(single, elements):
    """The exact results, rounded once."""
    name, kind = single.operator.name, single.element_type
    if name == "Cast":
        return elements.astype(np.float64).astype(np.int32)
    return rounded(EXACT[name](elements.astype(np.float64)), kind).astype(kind.dtype)


@functools.cache
def admitted_of(operator, element_type):
    """What the oracle admits of every element that keeps the rules."""
    (single,) = (s for s in CASES if (s.operator.name, s.element_type) == (operator, element_type))
    elements, breaks = breaking(single)
    return enclosure(operator, [elements[~breaks]], element_type, Edition.TYPED)


@each_case
@BACKENDS
def test_every_element_that_keeps_the_rules(single, backend):
    elements, breaks = breaking(single)
    session = sonnx_ort.InferenceSession(
        single.model(), on_one_thread(), backend=backend, operators="all"
    )
    kept = elements[~breaks]
    (found,) = ort_values.run(session, {single.names[0]: kept})
    if single.operator.name in ENCLOSED:
        assert_admitted(found, admitted_of(single.operator.name, single.element_type))
        return
    expected = expected_of(single, kept)
    if single.operator.name in {"Abs", "Neg"}:
        # These may give a signalling NaN as it is.
        found = np.where(np.isnan(found) & np.isnan(expected), expected, found)
    assert_same_bits(found, expected)


@pytest.mark.thorough
@pytest.mark.parametrize("single", [s for s in CASES if s.operator.name in RULES], ids=str)
@BACKENDS
def test_elements_that_break_a_rule(single, backend):
    elements, breaks = breaking(single)
    (name,), (rule, _) = single.names, RULES[single.operator.name]
    session = plain_session(single.model(), backend=backend)
    for place in np.flatnonzero(breaks)[::STEP]:
        alone = {name: elements[place : place + 1]}
        assert rule_broken_by(session, alone) == rule, alone
    assert breaks.any()


def test_every_operator_is_held_to_something():
    held = EXACT.keys() | ENCLOSED | {"Cast"}
    assert {single.operator.name for single in CASES} == held
