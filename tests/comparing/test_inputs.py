"""Random inputs: of the declared types and shapes, the same for the same seed."""

import numpy as np
import pytest

from sonnx_ort.comparing.difference import complete
from sonnx_ort.errors import SonnxError
from support.graphs import parse

TYPES = [
    *("float", "double", "float16", "bfloat16", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
]


@pytest.mark.parametrize("element_type", TYPES)
def test_random_inputs_have_the_declared_type_and_shape(element_type: str) -> None:
    model = parse(f"({element_type}[2, n, ?] x) => ({element_type}[] y) {{ y = Identity(x) }}")
    made = complete(model, {}, 0)["x"]
    assert made.dtype.name == {"float": "float32", "double": "float64"}.get(
        element_type, element_type
    )
    assert made.shape == (2, 3, 3)


def test_negative_size_is_an_open_one() -> None:
    model = parse("(float[2, n] x) => (float[2, n] y) { y = Identity(x) }")
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -1
    assert complete(model, {}, 0)["x"].shape == (2, 3)


def two() -> object:
    return parse("(float[4] x, int32[50] y) => (float[4] z) { z = Identity(x) }")


def test_same_seed_gives_the_same_inputs() -> None:
    first, again, other = (complete(two(), {}, seed) for seed in (1, 1, 2))
    for name in ("x", "y"):
        np.testing.assert_array_equal(first[name], again[name])
        assert (first[name] != other[name]).any()


def test_zeros_and_negative_integers_come_up() -> None:
    elements = set(complete(two(), {}, 0)["y"].tolist())
    assert {0, -1} <= elements


def test_given_inputs_stay() -> None:
    given = np.arange(4, dtype=np.float32)
    assert complete(two(), {"x": given}, 0)["x"] is given


def test_inputs_with_an_initializer_are_left_to_it() -> None:
    model = parse(
        "(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
    )
    assert list(complete(model, {}, 0)) == ["x"]
    assert list(complete(model, {"w": np.ones(2, np.float32)}, 0)) == ["x", "w"]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("string[3] x", "no random tensor can be made for the input 'x'; give it with inputs="),
        ("seq(float[3]) x", "the input 'x' has no declared shape; give it with inputs="),
    ],
)
def test_inputs_that_cannot_be_made_up(declared: str, message: str) -> None:
    with pytest.raises(SonnxError) as caught:
        complete(parse(f"({declared}) => (float[3] y) {{ y = Identity(x) }}"), {}, 0)
    assert str(caught.value) == message


def test_unknown_input() -> None:
    with pytest.raises(SonnxError) as caught:
        complete(two(), {"w": np.ones(2)}, 0)
    assert str(caught.value) == "there is no input 'w'; the model's inputs are x, y"
