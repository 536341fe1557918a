"""Every pair of 8-bit integers, and every element of 8 and 16 bits through unary operators.

What keeps the rules runs in one tensor, and gives what the oracle gives. What breaks one runs
alone, element by element, and is refused for that rule.
"""

import functools
from collections.abc import Iterator

import numpy as np
import onnxruntime as ort
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import Fail, InvalidArgument
from restrictions import OPERATORS

import sonnx_ort
from sonnx_ort.ort.violations import NOT_RENAMED, violation_of_error
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from support import ort_values
from support.backends import BACKENDS
from support.changes import unneeded
from support.conformity import assert_expected, broken_places, editions_of, expected_of
from support.elementwise import Single, crossings, singles
from support.sessions import enforced, on_one_thread
from support.values import all_combinations, from_bits

FURTHER = {"Mod": [("fmod", 1)], "BitShift": [("direction", "RIGHT")]}
"""Attributes of further nodes."""

pytestmark = pytest.mark.usefixtures("without_log")


def cases() -> Iterator[tuple[Single, Edition]]:
    for single in singles():
        own = [name for name in single.names if name not in single.operator.operand_types]
        small = single.element_type.dtype.itemsize <= (2 if len(own) == 1 else 1)
        if not small or single.element_type is ElementType.BOOL:
            continue
        for said in ((), *(((pair),) for pair in FURTHER.get(single.operator.name, ()))):
            case = Single(single.operator, single.element_type, repeated=2, said=said)
            if single.element_type.family is Family.INTEGER or not said:
                yield from ((case, edition) for edition in editions_of(case))


def takes_long(single: Single) -> bool:
    """Whether there are two shifts of each pair, or the oracle encloses each of 65,536 results."""
    enclosed = single.operator.name not in OPERATORS and single.element_type.family is Family.FLOAT
    return single.operator.name == "BitShift" or enclosed


CASES = list(cases())
BOUNDED = {(each.single.operator.name, each.single.element_type) for each in crossings()}
"""The operators and types with elements that break a rule."""


def each_case(chosen, slow):
    return pytest.mark.parametrize(
        "number",
        [
            pytest.param(
                number, id=f"{single}-{edition}", marks=pytest.mark.thorough if slow(single) else ()
            )
            for number, (single, edition) in enumerate(CASES)
            if chosen(single)
        ],
    )


MOST_ALONE = 9000
"""How many of the elements that violate a rule run alone, at most; these are evenly spread."""


def elements(single: Single) -> list[np.ndarray]:
    """Every element, or every combination; of conditions both."""
    values = [
        np.array([False, True])
        if kind is ElementType.BOOL
        else from_bits(np.arange(1 << 8 * kind.dtype.itemsize), kind)
        for kind in single.types()
    ]
    return all_combinations(*values)


@functools.lru_cache(4)
def tried(number: int):
    """What breaks a rule, place by place; what keeps all, and what the oracle says of that."""
    single, edition = CASES[number]
    operands = elements(single)
    broken = broken_places(single, operands, edition)
    kept = [np.delete(operand, list(broken)) for operand in operands]
    return broken, kept, expected_of(single, kept, edition)


@BACKENDS
@each_case(lambda _: True, takes_long)
def test_what_keeps_the_rules_gives_what_the_oracle_does(number, backend):
    single, edition = CASES[number]
    _, kept, expected = tried(number)
    session = enforced(single.model(), backend, "all", edition=edition)
    (found,) = ort_values.run(session, dict(zip(single.names, kept, strict=True)))
    assert_expected(single, found, expected)


@BACKENDS
@each_case(
    lambda single: (single.operator.name, single.element_type) in BOUNDED,
    lambda single: takes_long(single) or single.element_type.family is Family.FLOAT,
)
def test_what_breaks_a_rule_is_refused_for_it(number, backend):
    single, edition = CASES[number]
    broken, _, _ = tried(number)
    assert broken
    operands, rules = elements(single), list(broken.items())
    # A session of ONNX Runtime's own does not ask why a run failed, which takes long.
    model = sonnx_ort.rewrite(
        single.model(), operators="all,-Graph", backend=backend, edition=edition
    )
    options = sonnx_ort.register(on_one_thread("none"), backend=backend)
    session = ort.InferenceSession(model.SerializeToString(), options)
    for place, rule in rules[:: 1 + len(rules) // MOST_ALONE]:
        if rule in unneeded(backend):
            continue
        alone = [operand[place : place + 1] for operand in operands]
        with pytest.raises((Fail, InvalidArgument)) as caught:
            ort_values.run(session, dict(zip(single.names, alone, strict=True)))
        found = violation_of_error(str(caught.value), NOT_RENAMED)
        assert isinstance(found, sonnx_ort.ContractViolation), caught.value
        assert found.rule == rule, alone
