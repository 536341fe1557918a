"""The flag of the smallest element keeps its rules, whatever the elements of its type are.

Proved of each flag that one function makes, so of each that the checker of certificates accepts:
for each type, and for all rules that one decision can have. The smallest element of another type,
or above another number, is refuted by elements that show it.
"""

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pytest
import z3

from sonnx_ort.checker.expressions import Expressions, Tree
from sonnx_ort.guards.catalog import deciding_guard
from sonnx_ort.guards.guard import DecidingGuard, GuardedNode
from sonnx_ort.guards.smallest_element import REDUCED_AS, settling_flag
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.terms.operand import Operand

NEAREST = z3.RNE()
DECIDED = ("Div.int.C1", "Div.int.C2")
A, B = ("value", "A"), ("value", "B")


def guard_of(rule: str) -> DecidingGuard:
    found = deciding_guard(RULES[rule].requirement)
    assert found is not None
    return found


def flag_of(kind: ElementType, rules: tuple[str, ...]) -> Tree | None:
    known = GuardedNode([Operand(name, name, "") for name in "AB"], kind, kind)
    flag: Tree | None = settling_flag(Expressions(17), [A, B], known, [*map(guard_of, rules)])
    return flag


def flags() -> Iterator[tuple[ElementType, tuple[str, ...]]]:
    for kind in ElementType:
        for count in (1, 2):
            for rules in combinations(DECIDED, count):
                if flag_of(kind, rules) is not None:
                    yield kind, rules


def is_above(flag: Tree, elements: dict[Tree, z3.BitVecRef]) -> z3.BoolRef:
    """The flag, of a tensor of one element: the smallest of several is one of them."""
    match flag:
        case ("Greater", (), ("ReduceMin", (("keepdims", 0),), taken), ("constant", _, (), (n,))):
            number = n
        case _:
            raise AssertionError(flag)
    match taken:
        case ("value", _):
            return elements[taken] > z3.BitVecVal(number, elements[taken].size())
        case ("Cast", (("to", 6),), operand):
            wide = cast_to_int32(elements[operand])
            return wide > z3.BitVecVal(number, 32)
        case ("Cast", (("to", 1),), operand):
            carried = z3.fpSignedToFP(NEAREST, elements[operand], z3.Float32())
            return z3.fpGT(carried, z3.FPVal(number, z3.Float32()))
    raise AssertionError(taken)


def cast_to_int32(element: z3.BitVecRef) -> z3.BitVecRef:
    bits = element.size()
    return z3.SignExt(32 - bits, element) if bits <= 32 else z3.Extract(31, 0, element)


def breaks(kind: ElementType, rules: tuple[str, ...], flag: Tree) -> z3.ModelRef | None:
    """A pair of elements of which the flag is true, and that breaks a rule."""
    bits = kind.dtype.itemsize * 8
    elements = {A: z3.BitVec("a", bits), B: z3.BitVec("b", bits)}
    smallest = z3.BitVecVal(int(np.iinfo(kind.dtype).min), bits)
    kept = {
        "Div.int.C1": elements[B] != 0,
        "Div.int.C2": z3.Not(z3.And(elements[A] == smallest, elements[B] == -1)),
    }
    solver = z3.Solver()
    solver.add(is_above(flag, elements), z3.Not(z3.And([kept[rule] for rule in rules])))
    return solver.model() if solver.check() == z3.sat else None


FLAGS = [*flags()]


def test_flags_are_made_of_signed_integers_whose_pairs_are_looked_at() -> None:
    assert [
        (kind, rules) for kind in ElementType if kind in REDUCED_AS
        for rules in (("Div.int.C2",), DECIDED)
    ] == FLAGS  # fmt: skip


@pytest.mark.parametrize(("kind", "rules"), FLAGS, ids=str)
def test_true_flag_keeps_its_rules(kind: ElementType, rules: tuple[str, ...]) -> None:
    flag = flag_of(kind, rules)
    assert flag is not None
    assert breaks(kind, rules, flag) is None


def test_smallest_of_the_lowest_bits_is_refuted() -> None:
    """Cast of an int64 to int32 keeps no order: that of the smallest int64 is 0."""
    wrong = ("Cast", (("to", 6),), A)
    limit = ("constant", "int32", (), (-5,))
    flag = ("Greater", (), ("ReduceMin", (("keepdims", 0),), wrong), limit)
    found = breaks(ElementType.INT64, ("Div.int.C2",), flag)
    assert found is not None
    assert found[z3.BitVec("a", 64)].as_signed_long() == np.iinfo(np.int64).min


def below(number: float, carrier: str) -> float:
    """The next smaller number of the type in which the smallest element is found."""
    if carrier == "float32":
        return float(np.nextafter(np.float32(number), np.float32(-np.inf)))
    return number - 1


BELOW_ALL = (ElementType.INT32, ("Div.int.C2",))
"""Where the number is the smallest of its type."""


@pytest.mark.parametrize(("kind", "rules"), [each for each in FLAGS if each != BELOW_ALL], ids=str)
def test_smaller_number_is_refuted(kind: ElementType, rules: tuple[str, ...]) -> None:
    flag = flag_of(kind, rules)
    assert flag is not None
    *compared, (constant, carrier, dims, (number,)) = flag
    flag = (*compared, (constant, carrier, dims, (below(number, carrier),)))
    assert breaks(kind, rules, flag) is not None
