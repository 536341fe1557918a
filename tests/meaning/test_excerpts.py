"""Excerpts and operators over the reals mean what nodes do."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sonnx_ort.meaning import Undefined, meaning
from sonnx_ort.meaning.elementwise import OPERATORS as ELEMENTWISE
from sonnx_ort.meaning.excerpts import Excerpt, WrongShapeError, excerpts
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import difference, quotient
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import Applied
from support.elementwise import singles
from support.meaning_cases import LATE, kernels, nodes
from support.meanings import Array

T = ElementType
F = np.float32
COUNT = 4


def every(result: Array, _: int) -> Array:
    return np.arange(result.size)


def applied(operator: str) -> list[Applied]:
    """Random nodes of an operator, in two types if it has them."""
    return [node for kind in kernels(operator)[:2] for node in nodes(operator, kind, COUNT)]


def same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


CUT = sorted([*LATE, "ArgMax", "BatchNormalization", "Clip", "MatMul", "Slice"])


def cut(operator: str) -> Iterator[tuple[Applied, list[Array], Excerpt]]:
    """Random nodes that have a meaning, with their results and excerpts of all elements."""
    for node in applied(operator):
        whole = node.meaning
        if isinstance(whole, Undefined):
            continue
        found = [result.nearest for result in whole][: node.results]
        made = Node(node.opset, node.attributes, tuple(node.operands))
        for excerpt in excerpts(operator, made, found, every):
            yield node, found, excerpt


@pytest.mark.parametrize("operator", CUT)
def test_excerpts_of_all_elements_are_the_node(operator: str) -> None:
    audited = 0
    for node, found, excerpt in cut(operator):
        part = meaning(operator, node.opset, excerpt.attributes, excerpt.operands)
        assert not isinstance(part, Undefined), part
        for position, (array, places) in enumerate(zip(excerpt.found, excerpt.places, strict=True)):
            if array is None or places is None:
                continue
            result = part[position]
            assert same(array.ravel(), found[position].ravel()[places])
            assert (result.exact(array) | result.undefined).all(), (node, excerpt)
            audited += array.size
    assert audited


@pytest.mark.parametrize("operator", CUT)
def test_operands_of_excerpts_are_the_elements_that_they_say_to_read(operator: str) -> None:
    for node, _, excerpt in cut(operator):
        for operand, taken, reads in zip(
            node.operands, excerpt.operands, excerpt.reads, strict=False
        ):
            if operand is None or taken is None or reads is None:
                continue
            inside = reads >= 0
            assert same(taken[inside], operand.ravel()[reads[inside]])
            assert not taken[~inside].any()


ELEMENTS = [
    pytest.param(single, id=str(single))
    for single in singles()
    if single.operator.name in ELEMENTWISE and single.element_type in (T.FLOAT, T.INT32, T.BOOL)
]


@pytest.mark.parametrize("single", ELEMENTS)
def test_elements_of_elementwise_operators_are_cut(single: Any) -> None:
    operands = list(single.operands(12, 1).values())
    whole = meaning(single.operator.name, single.opset, single.attributes, operands)
    assert not isinstance(whole, Undefined)
    found = [whole[0].nearest]
    node = Node(single.opset, single.attributes, tuple(operands))
    (excerpt,) = excerpts(single.operator.name, node, found, lambda *_: np.array([7, 2]))
    part = meaning(single.operator.name, single.opset, excerpt.attributes, excerpt.operands)
    assert not isinstance(part, Undefined)
    assert same(part[0].nearest, found[0].ravel()[[7, 2]])


def test_elements_of_broadcast_operands_are_found() -> None:
    x, y = F([[1], [2], [3]]), F([10, 20])
    node = Node(21, {}, (x, y))
    (excerpt,) = excerpts("Sub", node, [x - y], lambda *_: np.array([5, 0]))
    assert [each.tolist() for each in excerpt.operands if each is not None] == [[3, 1], [20, 10]]


@pytest.mark.parametrize(
    ("operator", "operands", "shape", "expected"),
    [
        ("Sub", (F([[1], [2]]), F([1, 2, 3])), (2, 2), "(2, 3)"),
        ("MatMul", (F([[1, 2]]), F([[1], [2]])), (2,), "(1, 1)"),
        ("Relu", (F([1, 2]),), (3,), "(2,)"),
        (
            "Conv",
            (np.ones((1, 1, 4, 4), F), np.ones((2, 1, 3, 3), F)),
            (1, 2, 3, 3),
            "(1, 2, 2, 2)",
        ),
        ("Softmax", (F([[1, 2]]),), (2,), "(1, 2)"),
    ],
)
def test_wrong_shape_is_told(
    operator: str, operands: tuple[Array, ...], shape: tuple[int, ...], expected: str
) -> None:
    with pytest.raises(WrongShapeError) as caught:
        list(excerpts(operator, Node(21, {}, operands), [np.zeros(shape, F)], every))
    assert str(caught.value) == f"the result has the shape {shape}, and should have {expected}"


def test_node_without_a_result_is_not_cut() -> None:
    node = Node(21, {"kernel_shape": [5, 5]}, (np.ones((1, 1, 2, 2), F),))
    with pytest.raises(ValueError, match=r"^the window does not fit axis 2$"):
        list(excerpts("MaxPool", node, [np.ones((1, 1, 1, 1), F)], every))


def test_only_chosen_lines_of_a_softmax_are_computed() -> None:
    x = np.arange(12, dtype=F).reshape(3, 4)
    found = [np.zeros_like(x)]
    cut = list(excerpts("Softmax", Node(21, {}, (x,)), found, lambda *_: np.array([5, 6, 0])))
    assert [each.places[0].tolist() for each in cut if each.places[0] is not None] == [
        [4, 5, 6, 7],
        [0, 1, 2, 3],
    ]


@pytest.mark.parametrize(("operator", "weights", "step"), [("LSTM", 64, 13), ("GRU", 48, 17)])
def test_long_layer_is_audited_up_to_a_step(operator: str, weights: int, step: int) -> None:
    steps, hidden = 40, 16
    x, w, r = (np.ones(s, F) for s in ((steps, 1, 8), (1, weights, 8), (1, weights, 16)))
    y = np.zeros((steps, 1, 1, hidden), F)
    node = Node(21, {"hidden_size": hidden}, (x, w, r))
    (excerpt,) = excerpts(operator, node, [y], lambda *_: np.arange(3))
    assert excerpt.found[0] is not None
    assert excerpt.found[0].shape == (step, 1, 1, hidden)


@pytest.mark.satisfies(
    "Div.typed.real.elements Div.typed.real.operands Div.typed.real.quotient",
    "Div.typed.real.examples Div.preliminary.real",
)
@pytest.mark.parametrize(
    ("dividends", "divisors", "quotients"),
    [
        pytest.param([6, 9, 35], [3, 3, 5], [2, 3, 7], id="example 1 of both editions"),
        pytest.param(
            [3, 4, 16, 0, 25, 24], [3, 2, 4, 1, 5, 4], [1, 2, 4, 0, 5, 6], id="example 2 of both"
        ),
    ],
)
def test_quotients_are_those_of_the_div_documents(dividends, divisors, quotients):
    pairs = zip(dividends, divisors, strict=True)
    assert [quotient(Fraction(a), Fraction(b)) for a, b in pairs] == quotients


@pytest.mark.satisfies("Div.typed.real.quotient", "Div.preliminary.real")
def test_quotient_is_exact():
    assert quotient(Fraction(1), Fraction(-3)) == Fraction(-1, 3)


@pytest.mark.satisfies("Div.typed.real.undefined", "Div.typed.real.range")
@pytest.mark.parametrize("dividend", [-1, 0, 1])
def test_quotient_by_zero_is_undefined(dividend):
    assert quotient(Fraction(dividend), Fraction(0)) is None


@pytest.mark.satisfies("Sub.preliminary.real Sub.preliminary.difference Sub.preliminary.examples")
@pytest.mark.parametrize(
    ("minuends", "subtrahends", "differences"),
    [
        pytest.param([4, 7, 10], [1, 5, 3], [3, 2, 7], id="example 1"),
        pytest.param([9, 5, 3, 8, 6, 2], [3, 2, 4, 1, 5, 1], [6, 3, -1, 7, 1, 1], id="example 2"),
    ],
)
def test_differences_are_those_of_the_sub_document(minuends, subtrahends, differences):
    pairs = zip(minuends, subtrahends, strict=True)
    assert [difference(Fraction(a), Fraction(b)) for a, b in pairs] == differences
