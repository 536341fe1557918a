"""What the checker knows of the lengths of vectors, and of ranks, from what computes them."""

from collections.abc import Mapping

import numpy as np
import pytest

from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.checker.expressions import Facts, Tree
from sonnx_ort.facts.sizes import Symbolic
from support.derived import derived
from support.graphs import parse

X, Y = ("value", "x"), ("value", "y")
S, T = ("Shape", (), X), ("Shape", (), Y)
OF_OPEN = ("value", "a")
SHAPES = """(float[n, 3] x, float[m, k] y, float[3] v, float[1] u, int64[p] i, float[0] w,
    float[1, 1, 1] r) => (float[q] z) {
    a = Unique(x) o = ReduceSum<keepdims = 0>(v) z = Div(x, y) }"""
SCALAR, U, V, W, OPEN, R = (("value", name) for name in "ouvwir")


def constant(*dims: int) -> Tree:
    return ("constant", "int64", dims, (1,) * int(np.prod(dims)))


def shape(tree: Tree) -> Tree:
    return ("Shape", (), tree)


def some(tree: Tree) -> Tree:
    return ("Cast", (("to", 9),), ("ReduceMax", (("keepdims", 0),), ("Cast", (("to", 2),), tree)))


def any_above(tree: Tree) -> Tree:
    reduced = ("ReduceMax", (("keepdims", 0),), ("Cast", (("to", 1),), tree))
    return ("Greater", (), reduced, ("constant", "float32", (), (0.0,)))


def equal(one: Tree, other: Tree) -> Tree:
    return ("Equal", (), one, other)


LENGTHS: Mapping[str, tuple[Tree, object]] = {
    "a shape": (S, 2),
    "a shape of no known rank": (shape(OF_OPEN), shape(OF_OPEN)),
    "a rank": (shape(S), 1),
    "a vector": (V, 3),
    "a vector of an open size": (OPEN, Symbolic.named("p")),
    "a matrix": (X, None),
    "a scalar": (SCALAR, "scalar"),
    "a value of no known shape": (OF_OPEN, None),
    "a constant vector": (constant(4), 4),
    "a constant scalar": (constant(), "scalar"),
    "a constant matrix": (constant(2, 2), None),
    "sizes at constant places": (("Gather", (("axis", 0),), S, constant(2)), 2),
    "sizes along another axis": (("Gather", (("axis", 1),), S, constant(2)), None),
    "a flag whether any is true": (some(X), "scalar"),
    "another flag whether any is true": (any_above(X), "scalar"),
    "a number of a vector": (("Neg", (), V), 3),
    "a number of what has no known length": (("Neg", (), OF_OPEN), None),
    "what is not calculated one by one": (("Tile", (), V, constant(1)), None),
    "a vector and a number": (("Add", (), V, U), 3),
    "a number and a vector": (("Add", (), U, V), 3),
    "a vector and a scalar": (("Add", (), V, SCALAR), 3),
    "scalars": (("Add", (), SCALAR, SCALAR), "scalar"),
    "numbers": (("Add", (), U, constant(1)), 1),
    "vectors of two lengths": (("Add", (), V, OPEN), None),
    "vectors of one length": (("Add", (), V, constant(3)), 3),
    "a number and nothing": (("Add", (), U, W), 0),
    "shapes of equal rank": (equal(S, T), 2),
    "shapes of a vector and a matrix": (equal(S, shape(V)), 2),
    "shapes of values of other ranks": (equal(S, shape(R)), None),
    "shapes whose ranks are compared": (equal(S, shape(OF_OPEN)), 2),
    "three vectors": (("Where", (), V, V, U), 3),
    "three vectors of two lengths": (("Where", (), V, OPEN, V), None),
}
COMPARED_RANKS = frozenset({equal(shape(S), shape(shape(OF_OPEN)))})


def beside_itself() -> Enforced:
    proto = parse(SHAPES)
    return Enforced(derived(proto), proto)


@pytest.mark.parametrize("name", LENGTHS)
def test_length_of_a_vector_is_known_from_what_it_is_made_of(name: str) -> None:
    tree, expected = LENGTHS[name]
    assert beside_itself()._length(tree, Facts(COMPARED_RANKS)) == expected


RANKS_OF: Mapping[str, tuple[Tree, Tree, bool]] = {
    "the same rank": (S, T, True),
    "another rank": (S, shape(V), False),
    "a rank that is compared": (S, shape(OF_OPEN), True),
    "a rank that is compared, the other way round": (shape(OF_OPEN), S, True),
    "a rank that is not known": (T, shape(OF_OPEN), False),
    "a rank that is not known, the other way round": (shape(OF_OPEN), T, False),
    "ranks": (shape(S), shape(shape(OF_OPEN)), True),
    "a rank and a shape": (shape(S), S, False),
    "something else": (X, Y, False),
}


@pytest.mark.parametrize("name", RANKS_OF)
def test_ranks_are_equal_if_they_are_known_or_compared(name: str) -> None:
    one, other, expected = RANKS_OF[name]
    assert beside_itself().equal_ranks(one, other, Facts(COMPARED_RANKS)) is expected
