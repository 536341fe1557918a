"""Which operands an explicit broadcast expands: those that may lack the common shape."""

from dataclasses import replace

import pytest

from sonnx_ort.analysis.examined_node import (
    Alignment,
    BroadcastPlan,
    plan_broadcast,
    with_single_operands,
)
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.div_and_sub import DIV
from sonnx_ort.profile.requirements.limited_broadcasting import LimitedBroadcasting
from sonnx_ort.profile.rule import proved
from sonnx_ort.terms.operand import Operand


def operands(*shapes):
    return tuple(
        Operand(f"X{i}", f"x{i}", "input", "float", shape) for i, shape in enumerate(shapes)
    )


def expanded(*shapes):
    return "".join("-x"[each] for each in plan_broadcast(operands(*shapes), checked=True).expanded)


@pytest.mark.parametrize(
    ("shapes", "which"),
    [
        # Known sizes.
        ([()], "-"),
        ([(2, 3)], "-"),
        ([(2, 3), (2, 3)], "--"),
        ([(2, 3), ()], "-x"),
        ([(), (2, 3)], "x-"),
        ([(2, 3), (3,)], "-x"),
        ([(2, 3), (2, 1)], "-x"),
        ([(2, 1), (1, 3)], "xx"),
        ([(1, 1), (1,)], "-x"),
        ([(1,), ()], "-x"),
        ([(0, 3), (0, 1)], "-x"),
        ([(2, 3), (3,), ()], "-xx"),
        ([(2, 1), (2, 3), (3,)], "x-x"),
        # Symbols.
        ([("n", "m"), ()], "-x"),
        ([("n", 3), (3,)], "-x"),
        ([("n", 3), ("n", 1)], "-x"),
        ([("n", "m"), ("n", "m")], "--"),
        ([("n", "m"), ("m",)], "-x"),
        ([("n",), ("m",)], "xx"),
        ([("n",), (3,)], "x-"),
        ([("n",), (0,)], "x-"),
        ([("n", 1), ("n", "m")], "x-"),
        ([("n", 1), (1, "m")], "xx"),
        ([("n",), ("n",), ("m",)], "xxx"),
        # Sizes and ranks of which nothing is known.
        ([(None,), (None,)], "xx"),
        ([(None,), (3,)], "x-"),
        ([None, None], "xx"),
        ([None, (3,)], "xx"),
        ([None, (1,)], "xx"),
        # Only sizes of 1 stand against an operand, which has the common shape.
        ([(None, None), ()], "-x"),
        ([(None, 3), (3,)], "-x"),
        ([(None,), (1,)], "-x"),
        ([None, ()], "-x"),
        ([(), None], "x-"),
        ([(None,)], "-"),
        ([None], "-"),
    ],
    ids=str,
)
def test_operands_that_may_lack_the_common_shape_are_expanded(shapes, which):
    assert expanded(*shapes) == which


@pytest.mark.parametrize(
    ("shapes", "trailing", "nothing"),
    [
        ([(2, 3), (2, 3)], 0, True),
        ([("n",), ("n",)], 0, True),
        ([(2, 3), (3,)], 0, False),
        ([(2, 1), (2, 1)], 1, False),
        ([(2, 1), (2, 1)], None, False),
    ],
    ids=str,
)
def test_there_is_nothing_to_do_where_nothing_is_expanded_or_lined_up(shapes, trailing, nothing):
    known = operands(*shapes)
    alignment = Alignment(
        DIV, RULES["Div.float.R1"], LimitedBroadcasting(0), proved("by hand"), trailing
    )
    plan = BroadcastPlan(known, plan_broadcast(known, checked=True).expanded, alignment=alignment)
    assert plan.nothing_to_do is nothing


@pytest.mark.parametrize(
    ("shapes", "scalar_inputs", "checked", "which"),
    [
        ([("n",), ("n",)], False, True, "--"),
        ([("n",), ("n",)], False, False, "xx"),
        ([("m",), ("m",)], False, False, "--"),
        ([("n", 3), (3,)], False, False, "-x"),
        ([(), ()], True, True, "--"),
        ([(), ()], True, False, "xx"),
        ([(2, 3), (2, 3)], True, False, "xx"),
        ([()], True, False, "-"),
    ],
    ids=str,
)
def test_what_nothing_checks_is_no_common_shape(shapes, scalar_inputs, checked, which):
    known = tuple(
        replace(each, shared_symbols=frozenset({"n"}), scalar_inputs=scalar_inputs)
        for each in operands(*shapes)
    )
    plan = plan_broadcast(known, checked=checked)
    assert ("".join("-x"[each] for each in plan.expanded), plan.operands) == (which, known)


class TestSingleOperands:
    """An operator may read one element instead of an operand that is expanded from it."""

    @pytest.mark.parametrize(
        ("shapes", "names", "single"),
        [
            ([(2, 3), (1,)], "X0 X1", (False, True)),
            ([(2, 3), ()], "X0 X1", (False, True)),
            ([(2, 3), (1, 1)], "X1", (False, True)),
            ([(2, 3), (1, 3)], "X1", (False, False)),
            ([(2, 3), (2, 1)], "X1", (False, False)),
            ([(2, 3), (2,)], "X1", (False, False)),
            ([(2, 3), ("n",)], "X1", (False, False)),
            ([(2, 3), None], "X1", (False, False)),
            ([(2, 3), (1,)], "X0", (False, False)),
            ([(1,), (1,)], "X0 X1", (False, False)),
            ([(1,), (2, 3), (1, 1)], "X0 X2", (True, False, True)),
        ],
        ids=str,
    )
    def test_have_one_element_for_certain(self, shapes, names, single):
        plan = plan_broadcast(operands(*shapes), checked=True)
        assert with_single_operands(plan, names.split()).single == single

    def test_are_none_where_a_declared_scalar_may_be_none(self):
        known = [replace(each, scalar_inputs=True) for each in operands((2, 3), ())]
        plan = plan_broadcast(known, checked=True)
        assert with_single_operands(plan, ["X1"]).single == (False, False)

    def test_are_none_where_an_operand_is_lined_up(self):
        alignment = Alignment(
            DIV, RULES["Div.float.R1"], LimitedBroadcasting(None), proved("by hand"), 0
        )
        plan = replace(plan_broadcast(operands((2, 3), (1,)), checked=True), alignment=alignment)
        assert with_single_operands(plan, ["X1"]) == plan
