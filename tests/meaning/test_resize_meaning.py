"""What the oracle says of Resize."""

import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from sonnx_ort.meaning import Undefined
from sonnx_ort.meaning.balls import ends, precisely
from sonnx_ort.meaning.documented import followed, meaning_of, operations
from sonnx_ort.meaning.excerpts import excerpts
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.numbers import FLOAT_FORMATS, Array
from sonnx_ort.meaning.results import Copies, Enclosure, Result
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.vectors.applied import Applied
from support.meanings import by_onnxruntime, outside

F = np.float32
LINE = F([1, 2, 3, 4])
IMAGE = np.random.default_rng(0).normal(size=(1, 2, 4, 5)).astype(F)


def node_of(
    x: Array,
    *,
    scales: Sequence[float] | None = None,
    sizes: Sequence[int] | None = None,
    roi: Sequence[float] | None = None,
    version: int = 19,
    **attributes: Any,
) -> Node:
    operands = (
        x,
        None if roi is None else F(roi),
        None if scales is None else F(scales),
        None if sizes is None else np.int64(sizes),
    )
    return Node(version, attributes, operands)


def said(x: Array, version: int = 19, **stated: Any) -> Result:
    found = meaning_of("Resize", node_of(x, version=version, **stated))
    assert not isinstance(found, Undefined)
    return found[0]


NEAREST: list[tuple[dict[str, Any], list[float]]] = [
    ({"scales": [2], "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
     [1, 1, 2, 2, 3, 3, 4, 4]),
    ({"scales": [2], "coordinate_transformation_mode": "asymmetric", "nearest_mode": "ceil"},
     [1, 2, 2, 3, 3, 4, 4, 4]),
    ({"scales": [2]}, [1, 1, 2, 2, 3, 3, 4, 4]),
    ({"scales": [0.5], "nearest_mode": "round_prefer_floor"}, [1, 3]),
    ({"scales": [0.5], "nearest_mode": "round_prefer_ceil"}, [2, 4]),
    ({"sizes": [1], "coordinate_transformation_mode": "pytorch_half_pixel"}, [1]),
    ({"sizes": [7], "coordinate_transformation_mode": "align_corners"}, [1, 1, 2, 2, 3, 3, 4]),
    ({"sizes": [7], "coordinate_transformation_mode": "align_corners",
      "nearest_mode": "round_prefer_ceil"}, [1, 2, 2, 3, 3, 4, 4]),
    ({"sizes": [1], "coordinate_transformation_mode": "align_corners"}, [1]),
    ({"scales": [1], "coordinate_transformation_mode": "tf_half_pixel_for_nn", "version": 11,
      "nearest_mode": "ceil"}, [1, 2, 3, 4]),
    ({"scales": [2], "coordinate_transformation_mode": "tf_half_pixel_for_nn", "version": 11,
      "nearest_mode": "floor"}, [1, 1, 2, 2, 3, 3, 4, 4]),
    ({"sizes": [3], "roi": [0, 1.5], "coordinate_transformation_mode": "tf_crop_and_resize",
      "extrapolation_value": 9.0}, [1, 3, 9]),
    ({"sizes": [1], "roi": [0.25, 0.75], "coordinate_transformation_mode": "tf_crop_and_resize"},
     [2]),
]  # fmt: skip


@pytest.mark.parametrize(("stated", "expected"), NEAREST)
def test_nearest_elements_are_those_of_the_formulas(
    stated: dict[str, Any], expected: list[float]
) -> None:
    result = said(LINE, **stated)
    assert result.nearest.tolist() == expected
    assert result.is_single


def test_nearest_elements_keep_their_bits() -> None:
    x = F([-0.0, np.nan, np.inf])
    result = said(x, scales=[2])
    assert isinstance(result.admitted, Copies)
    assert result.nearest.view(np.uint32).tolist() == np.repeat(x, 2).view(np.uint32).tolist()
    assert result.outside(np.repeat(F([0, np.nan, np.inf]), 2)).tolist() == [True] * 2 + [False] * 4


def test_other_element_is_admitted_where_float_may_round_to_it() -> None:
    x = np.arange(3, dtype=F)
    result = said(x, sizes=[7], coordinate_transformation_mode="asymmetric", nearest_mode="floor")
    assert result.nearest.tolist() == [0, 0, 0, 1, 1, 2, 2]
    assert result.is_single
    tie = said(np.arange(6, dtype=F), scales=[1 / 3], nearest_mode="floor",
               coordinate_transformation_mode="asymmetric")  # fmt: skip
    # In float 1 / (1 / 3) is 3, and the exact quotient by the float next to a third is below it.
    assert tie.nearest.tolist() == [0, 2]
    assert not tie.is_single
    assert [tie.outside(F([0, k])).tolist()[1] for k in (1, 2, 3, 4)] == [True, False, False, True]
    assert tie.exact(F([0, 3])).tolist() == [True, False]
    assert tie.admitted_units(F([0, 3])).tolist()[1] == F(3).view(np.int32) - F(2).view(np.int32)
    assert tie.bound == "any of several elements, for the document leaves the choice open"


MEANS: list[tuple[dict[str, Any], list[float]]] = [
    ({"scales": [2]}, [1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4]),
    ({"scales": [2], "exclude_outside": 1}, [1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4]),
    ({"scales": [0.6]}, [1.3333333, 3]),
    ({"sizes": [7], "coordinate_transformation_mode": "align_corners"},
     [1, 1.5, 2, 2.5, 3, 3.5, 4]),
    ({"scales": [0.6], "coordinate_transformation_mode": "align_corners"}, [1, 4]),
    ({"scales": [0.625], "coordinate_transformation_mode": "half_pixel_symmetric"}, [1.7, 3.3]),
    ({"sizes": [2], "roi": [0.5, 1.25], "coordinate_transformation_mode": "tf_crop_and_resize",
      "extrapolation_value": 9.0}, [2.5, 9]),
]  # fmt: skip


@pytest.mark.parametrize(("stated", "expected"), MEANS)
def test_linear_elements_are_means_of_two(stated: dict[str, Any], expected: list[float]) -> None:
    np.testing.assert_allclose(said(LINE, mode="linear", **stated).nearest, expected, rtol=1e-6)


def by_keys(line: Array, scale: float, a: float, *, inside: bool) -> list[float]:
    """A line whose elements are weighted by Keys' kernel, in double."""
    made = []
    for place in range(int(len(line) * scale)):
        x = (place + 0.5) / scale - 0.5
        taps = range(int(np.floor(x)) - 1, int(np.floor(x)) + 3)
        weights = {}
        for tap in taps:
            s = abs(x - tap)
            inner, outer = (a + 2) * s**3 - (a + 3) * s**2 + 1, a * (s**3 - 5 * s**2 + 8 * s - 4)
            weights[tap] = inner if s <= 1 else outer
        kept = [k for k in taps if not inside or 0 <= k < len(line)]
        total = sum(weights[k] for k in kept)
        made.append(sum(weights[k] / total * line[min(max(k, 0), len(line) - 1)] for k in kept))
    return made


@pytest.mark.parametrize("a", [-0.75, -0.5])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("scale", [2, 1.5])
def test_cubic_elements_are_weighted_by_keys(a: float, scale: float, *, inside: bool) -> None:
    line = F([1, 5, -3, 2, 4])
    stated = {"cubic_coeff_a": a, "exclude_outside": int(inside), "scales": [scale]}
    expected = by_keys(line, scale, a, inside=inside)
    np.testing.assert_allclose(said(line, mode="cubic", **stated).nearest, expected, rtol=1e-6)


@pytest.mark.parametrize(("policy", "shape"), [
    ("stretch", (1, 2, 8, 5)), ("not_larger", (1, 2, 4, 5)), ("not_smaller", (1, 2, 8, 10)),
])  # fmt: skip
def test_policies_keep_the_ratio(policy: str, shape: tuple[int, ...]) -> None:
    stated: dict[str, Any] = {"sizes": [8, 5], "axes": [2, -1], "keep_aspect_ratio_policy": policy}
    assert said(IMAGE, **stated).nearest.shape == shape


@pytest.mark.parametrize(("stated", "reason"), [
    ({"scales": [2], "sizes": [8]}, "it has 1 scales and 1 sizes of 1"),
    ({}, "it has 0 scales and 0 sizes of 1"),
    ({"scales": [2, 2]}, "it has 2 scales and 0 sizes of 1"),
    ({"scales": [0]}, "a scale is not above 0"),
    ({"sizes": [-1]}, "the axes of sizes [4] are resized to [-1]"),
    ({"scales": [2], "axes": [1]}, "not all of the axes [1] are in [-1, 0], each once"),
    ({"scales": [2], "version": 10}, "no document says where its elements lie before version 11"),
    ({"scales": [2], "mode": "linear", "antialias": 1},
     "ONNX has no formula of its antialiasing filter"),
    ({"scales": [2], "mode": "none"}, "there is no mode none"),
    ({"scales": [2], "nearest_mode": "none"}, "there is no nearest_mode none"),
    ({"scales": [2], "coordinate_transformation_mode": "none"},
     "there is no coordinate_transformation_mode none"),
    ({"scales": [2], "roi": [0, 0.5], "coordinate_transformation_mode": "tf_crop_and_resize"},
     "ONNX says two sizes for a region with scales"),
    ({"sizes": [2], "coordinate_transformation_mode": "tf_crop_and_resize"},
     "it has 0 numbers for a region of 1 axes"),
    ({"sizes": [2], "x": LINE[:0]}, "the axes of sizes [0] are resized to [2]"),
    ({"scales": [2], "mode": "linear", "x": np.array([True])},
     "no document says what a mean of these elements is"),
])  # fmt: skip
def test_node_without_a_meaning_says_why(stated: dict[str, Any], reason: str) -> None:
    x = stated.get("x", LINE)
    stated = {name: value for name, value in stated.items() if name != "x"}
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        said(x, **stated)


def test_size_that_float_rounds_to_another_one_is_not_known() -> None:
    reason = "10 by 0.699999988079071 rounds to either of [6, 7]"
    with pytest.raises(ValueError, match=f"^{re.escape(reason)}$"):
        said(np.zeros(10, F), scales=[0.7])


@pytest.mark.parametrize("found", [[10, 11, 13, 15], [10, 12, 14, 15]])
def test_means_of_integers_are_rounded_up_or_down(found: list[int]) -> None:
    result = said(np.uint8([10, 15]), mode="linear", scales=[2])
    assert not result.outside(np.uint8(found)).any()
    assert result.outside(np.uint8([10, 13, 14, 15])).tolist() == [False, True, False, False]


def test_nearest_elements_of_bools_are_moved_too() -> None:
    assert said(np.array([True, False]), scales=[2]).nearest.tolist() == [True, True, False, False]


CUT: list[dict[str, Any]] = [
    {"mode": "linear", "scales": [1, 1, 2, 0.5]},
    {"mode": "cubic", "scales": [1, 1, 1.5, 2], "exclude_outside": 1},
    {"mode": "nearest", "sizes": [1, 2, 3, 3], "roi": [0, 0, 0.3, 0.3, 1, 1, 0.9, 1.4],
     "coordinate_transformation_mode": "tf_crop_and_resize", "extrapolation_value": 5.0},
]  # fmt: skip


@pytest.mark.parametrize("stated", CUT, ids=str)
def test_excerpts_of_elements_are_the_node(stated: dict[str, Any]) -> None:
    node, whole = node_of(IMAGE, **stated), said(IMAGE, **stated)
    cut = [*excerpts("Resize", node, [whole.nearest], lambda r, _: np.arange(0, r.size, 7))]
    assert isinstance(whole.admitted, Enclosure)
    for excerpt in cut:
        (part,) = meaning_of("Resize", Node(19, excerpt.attributes, tuple(excerpt.operands)))
        assert isinstance(part.admitted, Enclosure)
        for one, other in (
            (part.nearest, whole.nearest),
            (part.admitted.lowest, whole.admitted.lowest),
            (part.admitted.highest, whole.admitted.highest),
        ):
            assert one.ravel() == other.ravel()[excerpt.places[0]]


def test_elements_that_are_read_are_counted() -> None:
    assert operations("Resize", node_of(IMAGE, mode="cubic", scales=[1, 1, 2, 1])) == 2 * 32 * 5


def test_uncertain_choice_is_not_followed_in_a_format_and_is_the_exact_one_over_the_reals() -> None:
    node = node_of(np.arange(6, dtype=F), scales=[1 / 3], nearest_mode="floor",
                   coordinate_transformation_mode="asymmetric")  # fmt: skip
    reason = "ONNX leaves open which element is the nearest one"
    with pytest.raises(ValueError, match=f"^{reason}$"):
        followed("Resize", node, FLOAT_FORMATS[ElementType.FLOAT])
    (found,) = followed("Resize", node)
    assert [float(each) for each in found] == [0, 2]


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_means_over_the_reals_are_known_closely(mode: str) -> None:
    node = node_of(LINE, sizes=[7], mode=mode, exclude_outside=1)
    with precisely():
        widths = [high - low for low, high in map(ends, followed("Resize", node)[0])]
    assert max(widths) < Fraction(1, 2**200)


RUN: list[dict[str, Any]] = [
    {"scales": [1, 1, 1.75, 0.6], "coordinate_transformation_mode": mode, **chosen}
    for mode in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
    for chosen in (
        {"mode": "nearest", "nearest_mode": "round_prefer_floor"},
        {"mode": "nearest", "nearest_mode": "ceil"},
        {"mode": "linear"},
        {"mode": "cubic"},
    )
] + [
    {"scales": [1, 1, 2.6, 0.7], "coordinate_transformation_mode": "half_pixel_symmetric"},
    {"scales": [1, 1, 2.6, 0.7], "coordinate_transformation_mode": "half_pixel_symmetric",
     "mode": "linear"},
    {"sizes": [1, 2, 5, 4], "coordinate_transformation_mode": "tf_crop_and_resize",
     "roi": [0, 0, 0.25, -0.1, 1, 1, 0.75, 1.2], "mode": "linear", "extrapolation_value": 3.0},
]  # fmt: skip


@pytest.mark.parametrize("stated", RUN, ids=str)
def test_onnxruntime_computes_what_is_admitted(stated: dict[str, Any]) -> None:
    made = node_of(IMAGE, **stated)
    operands = [*made.operands]
    while operands[-1] is None:
        operands.pop()
    stored = frozenset({"scales", "sizes"})
    node = Applied("Resize", operands, made.attributes, opset=19, constants=stored)
    assert not outside(node, by_onnxruntime(node))
