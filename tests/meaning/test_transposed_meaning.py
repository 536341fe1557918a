"""What the oracle says of ConvTranspose."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from sonnx_ort.meaning import Undefined
from sonnx_ort.meaning.documented import meaning_of, operations
from sonnx_ort.meaning.excerpts import excerpts
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import Array
from sonnx_ort.meaning.results import Enclosure, Result
from sonnx_ort.vectors.applied import Applied
from support.meanings import by_onnxruntime, outside

F = np.float32


def said(operands: Sequence[Array], version: int = 21, **attributes: Any) -> Result:
    found = meaning_of("ConvTranspose", Node(version, attributes, tuple(operands)))
    assert not isinstance(found, Undefined)
    return found[0]


def by_hand(x: Array, w: Array, bias: Array, attributes: dict[str, Any], counts: Any) -> Array:
    """Each product is added where it belongs, in integers."""
    group, strides = attributes.get("group", 1), attributes["strides"]
    dilations, before = attributes["dilations"], attributes["pads"]
    inputs, outputs = x.shape[1] // group, w.shape[1]
    y = np.broadcast_to(bias.reshape(1, -1, 1, 1), (x.shape[0], outputs * group, *counts)).copy()
    for n, c, i, j in np.ndindex(x.shape):
        for m, k, h in np.ndindex(w.shape[1:]):
            row = i * strides[0] + k * dilations[0] - before[0]
            column = j * strides[1] + h * dilations[1] - before[1]
            if 0 <= row < counts[0] and 0 <= column < counts[1]:
                y[n, c // inputs * outputs + m, row, column] += x[n, c, i, j] * w[c, m, k, h]
    return y


BY_HAND: list[tuple[dict[str, Any], tuple[int, int], int]] = [
    ({"strides": [1, 1], "dilations": [1, 1], "pads": [0, 0, 0, 0]}, (4, 4), 2),
    ({"strides": [2, 3], "dilations": [1, 1], "pads": [0, 0, 0, 0]}, (6, 8), 2),
    ({"strides": [1, 2], "dilations": [2, 2], "pads": [1, 0, 0, 2]}, (4, 5), 2),
    ({"strides": [2, 2], "dilations": [1, 3], "pads": [1, 1, 1, 0], "group": 2}, (4, 7), 1),
    ({"strides": [3, 2], "dilations": [1, 1], "pads": [0] * 4, "output_padding": [2, 1]}, (10, 7),
     2),
]  # fmt: skip


@pytest.mark.parametrize(("attributes", "counts", "outputs"), BY_HAND)
def test_elements_are_sums_of_the_products_that_belong_to_them(
    attributes: dict[str, Any], counts: tuple[int, int], outputs: int
) -> None:
    generator = np.random.default_rng(0)
    x, w = (generator.integers(-9, 10, s) for s in ((2, 2, 3, 3), (2, outputs, 2, 2)))
    bias = np.arange(outputs * attributes.get("group", 1)) - 1
    made = said([x.astype(F), w.astype(F), bias.astype(F)], **attributes)
    np.testing.assert_array_equal(made.nearest, by_hand(x, w, bias, attributes, counts))


PADDED: list[tuple[dict[str, Any], list[int]]] = [
    ({"auto_pad": "SAME_UPPER"}, [1, 10, 103, 30]),
    ({"auto_pad": "SAME_LOWER"}, [10, 103, 30, 300]),
    ({"auto_pad": "VALID"}, [1, 10, 103, 30, 300]),
    ({"output_shape": [4]}, [10, 103, 30, 300]),
    ({"output_shape": [3]}, [10, 103, 30]),
    ({"output_shape": [4], "auto_pad": "SAME_UPPER"}, [1, 10, 103, 30]),
    ({"output_shape": [6], "output_padding": [1]}, [1, 10, 103, 30, 300, 0]),
]


@pytest.mark.parametrize(("attributes", "expected"), PADDED)
@pytest.mark.parametrize("version", [1, 11, 22])
def test_padding_follows_from_the_size_that_is_asked_for(
    attributes: dict[str, Any], expected: list[int], version: int
) -> None:
    """Version 1 has the sides exchanged in its equations, and not in its sentence on auto_pad."""
    made = said([F([[[1, 3]]]), F([[[1, 10, 100]]])], version, strides=[2], **attributes)
    assert made.nearest.ravel().tolist() == expected


@pytest.mark.parametrize(("shapes", "attributes", "reason"), [
    ([(1, 2, 3), (3, 1, 1)], {}, "channels of X (1, 2, 3) and W (3, 1, 1) do not fit 1 groups"),
    ([(1, 2, 3), (2, 1)], {}, "X (1, 2, 3) and W (2, 1) do not have the same spatial axes"),
    ([(1, 2, 3), (2, 1, 1), (2,)], {}, "B (2,) has not one element for each of 1"),
    ([(1, 1, 2), (1, 1, 1)], {"strides": [3], "auto_pad": "SAME_UPPER"},
     "the result [6] is larger than all products reach, [4]"),
    ([(1, 1, 2), (1, 1, 1)], {"pads": [2, 1]}, "the pads [2, 1] are larger than the result"),
    ([(1, 1, 2), (1, 1, 1)], {"kernel_shape": [2]}, "kernel_shape is not that of W (1, 1, 1)"),
    ([(1, 1, 2), (1, 1, 1)], {"strides": [0]},
     "strides, dilations and kernel are above 0, and pads not below"),
    ([(1, 1, 2), (1, 1, 1)], {"output_padding": [1, 1]},
     "attributes of lengths (1, 1, 2, 1) do not fit 1 spatial axes"),
    ([(1, 1, 2), (1, 1, 1)], {"output_shape": [2, 2]},
     "output_shape [2, 2] does not fit 1 spatial axes"),
])  # fmt: skip
def test_node_without_a_meaning_says_why(
    shapes: list[tuple[int, ...]], attributes: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        said([np.ones(shape, F) for shape in shapes], **attributes)


def test_sum_may_be_rounded_in_any_order_of_its_own_terms_alone() -> None:
    """With a stride of 2 an element has half of the products that the kernel has."""
    x, w = np.full((1, 3, 4), 0.1, F), np.full((3, 1, 4), 0.3, F)
    result = said([x, w], strides=[2])
    admitted, exact = result.admitted, 6 * float(F(0.1)) * float(F(0.3))
    assert isinstance(admitted, Enclosure)
    width = (admitted.highest - admitted.lowest)[0, 0, 4]
    assert 0 < width < 20 * 2**-24 * exact
    assert result.nearest[0, 0, 4] == F(exact)


def test_excerpts_of_all_elements_are_the_node() -> None:
    generator = np.random.default_rng(1)
    operands = [generator.normal(size=s).astype(F) for s in ((2, 4, 3, 2), (4, 2, 2, 3), (4,))]
    attributes = {"strides": [3, 2], "group": 2, "pads": [0, 1, 1, 0]}
    node = Node(21, attributes, tuple(operands))
    found = said(operands, **attributes).nearest
    cut = [*excerpts("ConvTranspose", node, [found], lambda result, _: np.arange(result.size))]
    assert len(cut) == found.size
    for excerpt in cut[::7]:
        (part,) = meaning_of("ConvTranspose", Node(21, excerpt.attributes, tuple(excerpt.operands)))
        assert part.nearest.ravel() == found.ravel()[excerpt.places[0]]


def test_multiplications_are_counted() -> None:
    operands = (np.ones((2, 4, 3, 2), F), np.ones((4, 2, 2, 3), F))
    assert operations("ConvTranspose", Node(21, {"group": 2}, operands)) == 48 * 12


@pytest.mark.parametrize("attributes", [
    {"strides": [2, 1], "output_padding": [1, 0], "group": 2},
    {"auto_pad": "SAME_LOWER", "strides": [2, 2]},
    {"auto_pad": "SAME_UPPER", "strides": [2, 2]},
    {"output_shape": [4, 5], "strides": [2, 2]},
    {"dilations": [2, 1], "pads": [1, 0, 2, 1]},
], ids=str)  # fmt: skip
def test_onnxruntime_computes_what_is_admitted(attributes: dict[str, Any]) -> None:
    generator = np.random.default_rng(2)
    outputs = 4 // attributes.get("group", 1)
    shapes = ((1, 2, 3, 3), (2, outputs, 3, 3), (4,))
    operands = [generator.normal(size=shape).astype(F) for shape in shapes]
    node = Applied("ConvTranspose", operands, attributes)
    assert not outside(node, by_onnxruntime(node))
