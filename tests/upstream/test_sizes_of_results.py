"""Sizes of results that are not those of the documents, of large numbers and of empty tensors."""

import numpy as np
import onnxruntime as ort
import pytest

from support.graphs import parse

pytestmark = pytest.mark.upstream


def shape_of(node: str, declared: str, *feeds: np.ndarray) -> tuple[int, ...]:
    """The shape of the result of a node that reads x0, x1 and so on."""
    given = {f"x{k}": array for k, array in enumerate(feeds)}
    model = parse(f"({declared}) => (float[] y) {{ {node} }}")
    model.graph.output[0].type.tensor_type.ClearField("shape")
    return ort.InferenceSession(model.SerializeToString()).run(["y"], given)[0].shape


def test_number_of_windows_is_divided_in_double() -> None:
    """Once it is exact, there is one window: the second would need 2^54 elements and padding."""
    node = f"y = Conv <pads=[{2**54 - 4}, 0], strides=[{2**54}]> (x0, x1)"
    x, w = np.ones((1, 1, 4), np.float32), np.ones((1, 1, 1), np.float32)
    assert shape_of(node, "float[a,b,c] x0, float[d,e,f] x1", x, w) == (1, 1, 2)


def test_top_k_takes_the_lower_half_of_k() -> None:
    """Once it does not, an axis of three elements does not have 2^32 + 1 of them."""
    declared = "float[n] x0, int64[1] x1"
    node = "y, places = TopK(x0, x1)"
    assert shape_of(node, declared, np.ones(3, np.float32), np.int64([2**32 + 1])) == (1,)


def test_resize_rounds_a_size_to_float() -> None:
    """Once it does not, a scale of 1 keeps every size."""
    x, scales = np.empty((0, 2**24 + 1), np.float32), np.ones(2, np.float32)
    node = 'y = Resize(x0, "", x1)'.replace('""', "")
    assert shape_of(node, "float[n,m] x0, float[2] x1", x, scales) == (0, 2**24)


def test_slice_divides_by_its_step_in_double() -> None:
    """Once it is exact, a Slice backwards over all elements keeps the size."""
    x = np.empty((0, 2**53 + 1), np.float32)
    numbers = [np.int64([n]) for n in (-1, -(2**63), 1, -1)]
    declared = "float[n,m] x0, " + ", ".join(f"int64[1] x{k}" for k in range(1, 5))
    assert shape_of("y = Slice(x0, x1, x2, x3, x4)", declared, x, *numbers) == (0, 2**53)


def test_reshape_takes_minus_one_beside_a_zero() -> None:
    """Once it does not, the size for -1 is known where a Reshape runs."""
    node = "y = Reshape <allowzero=1> (x0, x1)"
    declared = "float[n,m] x0, int64[2] x1"
    assert shape_of(node, declared, np.empty((0, 0), np.float32), np.int64([-1, 0])) == (1, 0)
