"""Every pair of int8 and of uint8 through every operator, and every element through the unary ones.

What keeps the rules runs in one tensor, and gives what exact arithmetic gives; what breaks one runs
alone, each pair by itself, and is refused for that rule.
"""

import numpy as np
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from support.elementwise import Single, singles
from support.exact_integers import EXACT, broken
from support.failing_runs import plain_session, rule_broken_by
from support.sessions import on_one_thread
from support.values import all_pairs

EIGHT_BITS = (ElementType.INT8, ElementType.UINT8)
SIXTEEN_BITS = (ElementType.INT16, ElementType.UINT16)
ATTRIBUTES = {
    "Mod fmod=1": {"fmod": 1},
    "BitShift LEFT": {"direction": "LEFT"},
    "BitShift RIGHT": {"direction": "RIGHT"},
}
pytestmark = pytest.mark.usefixtures("without_log")

PRELIMINARY = {"Div.int.C1": "Div.R5"}
"""The rules that have another name in the preliminary edition."""

STEPS = {"BitShift RIGHT": 61}
"""Not every pair is refused by itself here: the rule is that of a shift to the left."""


def cases(element_types, *, unary):
    """Operators in types, under their names in `EXACT`."""
    for single in (Single(s.operator, s.element_type, repeated=2) for s in singles()):
        values = [name for name in single.names if name not in single.operator.operand_types]
        if single.element_type in element_types and (len(values) == 1) is unary:
            own = [name for name in EXACT if name.split(" ")[0] == single.operator.name]
            for name in own or [single.operator.name]:
                yield name, single


def each_case(element_types, *, unary):
    parameters = [
        pytest.param(
            *(backend, name, single, edition),
            id=f"{backend}-{name}-{single}-{edition}".replace(" ", "-"),
            marks=_marks(name),
        )
        for backend in ("python", "native")
        for name, single in cases(element_types, unary=unary)
        for edition in Edition
        if edition is Edition.TYPED or _differs(single)
    ]
    return pytest.mark.parametrize(("backend", "name", "single", "edition"), parameters)


def _differs(single):
    contracts = single.operator.contracts
    return contracts[Edition.TYPED] != contracts[Edition.PRELIMINARY]


def _marks(name):
    return pytest.mark.thorough if name.startswith("BitShift") else ()


def model_of(name, single):
    model = single.model()
    (node,) = model.graph.node
    for key, value in ATTRIBUTES.get(name, {}).items():
        kept = [attribute for attribute in node.attribute if attribute.name != key]
        del node.attribute[:]
        node.attribute.extend([*kept, helper.make_attribute(key, value)])
    return model


def feeds_of(name, single, operands):
    """The operands by name; a condition is the one that the name of the case tells."""
    values = iter(operands)
    condition = np.full(operands[0].shape, name.endswith("true"))
    return {
        operand: condition if operand in single.operator.operand_types else next(values)
        for operand in single.names
    }


def every_value(element_type):
    limits = np.iinfo(element_type.dtype)
    return np.arange(limits.min, limits.max + 1).astype(element_type.dtype)


def assert_exact(backend, name, single, edition, operands):
    """Run what keeps the rules at once, and what breaks one element by element."""
    model, choices = model_of(name, single), {"backend": backend, "edition": edition}
    wide = [operand.astype(np.int64) for operand in operands]
    rules = broken(name, wide, operands[0].dtype)
    kept = ~np.any([np.zeros(wide[0].shape, bool), *rules.values()], axis=0)
    session = sonnx_ort.InferenceSession(model, on_one_thread(), operators="all", **choices)
    (found,) = session.run(None, feeds_of(name, single, [o[kept] for o in operands]))
    expected = EXACT[name](*(operand[kept] for operand in wide)).astype(found.dtype)
    np.testing.assert_array_equal(found, expected)
    failing = plain_session(model, **choices)
    for rule, flags in rules.items():
        told = PRELIMINARY.get(rule, rule) if edition is Edition.PRELIMINARY else rule
        for place in np.flatnonzero(flags)[:: STEPS.get(name, 1)]:
            alone = feeds_of(name, single, [operand[place : place + 1] for operand in operands])
            assert rule_broken_by(failing, alone) == told, alone


@each_case(EIGHT_BITS, unary=False)
def test_every_pair(backend, name, single, edition):
    assert_exact(backend, name, single, edition, all_pairs(every_value(single.element_type)))


@each_case(EIGHT_BITS + SIXTEEN_BITS, unary=True)
def test_every_element(backend, name, single, edition):
    assert_exact(backend, name, single, edition, [every_value(single.element_type)])


def test_table_has_every_operator_that_takes_integers_of_eight_bits():
    taken = [*cases(EIGHT_BITS, unary=False), *cases(EIGHT_BITS, unary=True)]
    assert {name for name, _ in taken} == set(EXACT)
    present = {s.operator.name for s in singles() if s.element_type in EIGHT_BITS}
    assert {single.operator.name for _, single in taken} == present
