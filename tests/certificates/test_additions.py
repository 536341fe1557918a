"""Added nodes that may end the process, or go on for long, have the operands of guards alone."""

from collections.abc import Mapping, Sequence

import pytest
from onnx import helper

from sonnx_ort.checker import Rejected
from sonnx_ort.checker.additions import require_bounded
from sonnx_ort.checker.expressions import Tree

X: Tree = ("value", "x")


def number(element: float, *dims: int, kind: str = "int64") -> Tree:
    return ("constant", kind, dims, (element,))


def reshaped(tree: Tree, *to: int) -> Tree:
    return ("Reshape", (), tree, ("constant", "int64", (len(to),), to))


def cast(to: int, tree: Tree) -> Tree:
    return ("Cast", (("to", to),), tree)


ZERO, ONE = number(0), number(1)
COUNT = reshaped(("Shape", (), X))
FLAG = cast(9, X)
GREATER = ("Greater", (), X, ZERO)
KEPT: Mapping[str, tuple[str, Sequence[Tree]]] = {
    "a positive divisor": ("Div", [X, number(2, 1)]),
    "floats": ("Div", [number(1.0, kind="float32"), X]),
    "places of sizes": ("Range", [ZERO, COUNT, ONE]),
    "no copy or one": ("Tile", [X, reshaped(cast(7, FLAG), -1)]),
    "no copy or one, by a comparison": ("Tile", [X, reshaped(cast(7, GREATER), -1)]),
    "another operator": ("Add", [X, X]),
}
OTHERS: Mapping[str, tuple[str, Sequence[Tree]]] = {
    "a divisor of zero": ("Div", [X, number(0, 1)]),
    "a divisor that a run decides": ("Div", [X, X]),
    "integers by integers": ("Div", [number(1), X]),
    "places from another number on": ("Range", [ONE, COUNT, ONE]),
    "places in steps of nothing": ("Range", [ZERO, COUNT, ZERO]),
    "as many places as an element says": ("Range", [ZERO, reshaped(X), ONE]),
    "as many places as a number says": ("Range", [ZERO, number(1 << 40), ONE]),
    "as many copies as an element says": ("Tile", [X, reshaped(cast(7, X), -1)]),
    "as many copies as another sum says": ("Tile", [X, reshaped(cast(7, ("Add", (), X, X)), -1)]),
    "copies by a number of bytes": ("Tile", [X, reshaped(cast(3, FLAG), -1)]),
    "copies in another form": ("Tile", [X, reshaped(cast(7, FLAG), 1)]),
    "copies by a number": ("Tile", [X, number(1 << 40, 1)]),
}


def require(operator: str, operands: Sequence[Tree]) -> None:
    names = [f"n{index}" for index in range(len(operands))]
    node = helper.make_node(operator, names, ["y"])
    require_bounded(node, dict(zip(names, operands, strict=True)).__getitem__)


@pytest.mark.parametrize("name", KEPT)
def test_operands_of_a_guard_are_taken(name: str) -> None:
    require(*KEPT[name])


@pytest.mark.parametrize("name", OTHERS)
def test_other_operands_are_rejected(name: str) -> None:
    with pytest.raises(Rejected) as caught:
        require(*OTHERS[name])
    operator = OTHERS[name][0]
    assert str(caught.value) == f"the {operator} of ['y'] has other operands than in a guard"
