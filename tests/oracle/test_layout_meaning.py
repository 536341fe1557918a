"""What the oracle says of operators that move elements: the drafts' examples and constraints."""

import numpy as np
import pytest

from sonnx_ort.oracle import Undefined, meaning
from sonnx_ort.profile.element_type import ElementType
from support.meanings import Verdict, verdicts

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
EMPTY = np.zeros((0, 3, 8), np.int8)


def sizes(values):
    return np.array(values, np.int64)


def only(operator, operands, version=21, **attributes):
    found = meaning(operator, version, attributes, operands)
    assert isinstance(found, tuple), found
    (result,) = found
    return result


def reason(operator, operands, version=21, **attributes):
    found = meaning(operator, version, attributes, operands)
    assert isinstance(found, Undefined)
    return found.reason


@pytest.mark.satisfies(
    "Reshape.draft.elements",
    "Reshape.draft.zero",
    "Reshape.draft.examples",
    "Flatten.draft.elements",
    "Flatten.draft.examples",
    "Unsqueeze.draft.elements",
)
@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "shape"),
    [
        ("Reshape", [X, sizes([6, 4])], {}, (6, 4)),
        ("Reshape", [X.ravel()[:10].reshape(2, 5), sizes([5, 2])], {}, (5, 2)),
        ("Reshape", [X, sizes([0, 6, -1])], {}, (2, 6, 2)),
        ("Reshape", [X[:1, :1, :1], sizes([])], {}, ()),
        ("Reshape", [np.float32(3), sizes([1, 1])], {}, (1, 1)),
        ("Reshape", [EMPTY, sizes([1, 2, 0])], {"allowzero": 1}, (1, 2, 0)),
        ("Reshape", [EMPTY, sizes([0, 24])], {}, (0, 24)),
        ("Flatten", [X], {}, (2, 12)),
        ("Flatten", [X], {"axis": 0}, (1, 24)),
        ("Flatten", [X], {"axis": 2}, (6, 4)),
        ("Flatten", [X], {"axis": 3}, (24, 1)),
        ("Flatten", [X], {"axis": -1}, (6, 4)),
        ("Flatten", [np.float32(3)], {"axis": 0}, (1, 1)),
        ("Squeeze", [X[:1, :, :1]], {}, (3,)),
        ("Squeeze", [X[:1, :, :1], sizes([-1])], {}, (1, 3)),
        ("Squeeze", [X[:1], sizes([])], {}, (1, 3, 4)),
        ("Unsqueeze", [X, sizes([0, 1])], {}, (1, 1, 2, 3, 4)),
        ("Unsqueeze", [X, sizes([-1, 1])], {}, (2, 1, 3, 4, 1)),
        ("Unsqueeze", [np.float32(3), sizes([0])], {}, (1,)),
    ],
)
def test_elements_keep_their_order(operator, operands, attributes, shape):
    operands = [np.asarray(operand) for operand in operands]
    result = only(operator, operands, **attributes)
    assert result.nearest.shape == shape
    assert result.nearest.ravel().tolist() == operands[0].ravel().tolist()


@pytest.mark.satisfies(
    "Reshape.draft.example_3",
)
@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "told"),
    [
        ("Reshape", [X, sizes([-1, -1])], {}, "a size below -1, or two of -1"),
        ("Reshape", [X, sizes([-2, 12])], {}, "a size below -1, or two of -1"),
        ("Reshape", [X, sizes([24, 1, 1, 0])], {}, "a 0 for an axis that X does not have"),
        ("Reshape", [EMPTY, sizes([0, -1])], {}, "-1, and X no elements"),
        ("Reshape", [EMPTY, sizes([0, -1])], {"allowzero": 1}, "0 and -1, and allowzero is 1"),
        ("Reshape", [X[0], sizes([0, -1])], {"allowzero": 1}, "0 and -1, and allowzero is 1"),
        ("Reshape", [X, sizes([0, 24])], {"allowzero": 1}, "X has 24 elements, and the result 0"),
        ("Reshape", [X, sizes([5, -1])], {}, "X has 24 elements, and the result 20"),
        ("Reshape", [X, sizes([])], {}, "X has 24 elements, and the result 1"),
        ("Reshape", [X, sizes([24])], {"allowzero": 2}, "allowzero is neither 0 nor 1"),
        ("Flatten", [X], {"axis": 4}, "axis 4 is not in [-3, 3]"),
        ("Squeeze", [X, sizes([0])], {}, "not all of the axes [0] of (2, 3, 4) have size 1"),
        ("Squeeze", [X[:1], sizes([0, -3])], {}, "the axes [0, -3] name one twice"),
        ("Unsqueeze", [X, sizes([4])], {}, "not all of the axes [4] are in [-4, 3]"),
        ("Unsqueeze", [X, sizes([0, -5])], {}, "the axes [0, -5] name one twice"),
        ("Concat", [X, X[0]], {"axis": 0}, "scalars, or their ranks differ"),
        ("Concat", [np.array(1.0)], {"axis": 0}, "scalars, or their ranks differ"),
        ("Concat", [X, X[:, :2]], {"axis": 0}, "the sizes differ on other axes than 0"),
        ("Concat", [X], {"axis": 3}, "axis 3 is not in [-3, 2]"),
        ("Constant", [], {}, "one attribute"),
        ("Constant", [], {"value_int": 1, "value_float": 1.0}, "one attribute"),
    ],
)
def test_broken_constraint_leaves_nothing_defined(operator, operands, attributes, told):
    assert told in reason(operator, operands, **attributes)


@pytest.mark.satisfies(
    "Concat.draft.elements",
    "Concat.draft.shape",
)
@pytest.mark.parametrize("kind", ElementType)
def test_concat_puts_tensors_one_behind_the_other(kind):
    a, b = (np.arange(k, k + 4).reshape(2, 2).astype(kind.dtype) for k in (0, 4))
    found = only("Concat", [a, b[:, :1]], axis=1).nearest
    assert found.dtype == kind.dtype
    assert found.tolist() == np.array([[0, 1, 4], [2, 3, 6]]).astype(kind.dtype).tolist()


@pytest.mark.satisfies("Concat.draft.example")
def test_concat_takes_the_tensor_and_the_place_that_the_example_computes():
    tensors = [np.full((2, size), size) + np.arange(size) / 8 for size in (3, 2, 4)]
    found = only("Concat", tensors, axis=1).nearest
    assert found[0, 3] == tensors[1][0, 0]
    assert found.shape == (2, 9)


@pytest.mark.satisfies(
    "Shape.draft.clamping",
    "Shape.draft.slicing",
    "Shape.draft.examples",
)
@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({}, [2, 3, 4]),
        ({"start": 1, "end": 2}, [3]),
        ({"start": 2, "end": 2}, []),
        ({"start": -500, "end": 2}, [2, 3]),
        ({"end": 1000}, [2, 3, 4]),
        ({"start": 5}, []),
        ({"start": 2, "end": -2}, []),
    ],
)
def test_shape_is_cut_out_of_the_sizes(attributes, expected):
    found = only("Shape", [X], **attributes).nearest
    assert (found.dtype, found.tolist()) == (np.int64, expected)


@pytest.mark.satisfies(
    "Constant.draft.result",
)
@pytest.mark.parametrize(
    ("attributes", "dtype", "expected"),
    [
        ({"value": X}, np.float32, X.tolist()),
        ({"value_float": 1.5}, np.float32, 1.5),
        ({"value_floats": [1.5, 2.0]}, np.float32, [1.5, 2.0]),
        ({"value_int": 3}, np.int64, 3),
        ({"value_ints": [3, 4]}, np.int64, [3, 4]),
    ],
)
def test_constant_is_its_attribute(attributes, dtype, expected):
    found = only("Constant", [], **attributes).nearest
    assert (found.dtype, found.tolist()) == (dtype, expected)


def test_versions_that_name_shapes_and_axes_by_attributes():
    assert only("Reshape", [X], version=1, shape=[4, 6]).nearest.shape == (4, 6)
    assert only("Squeeze", [X[:1]], version=11, axes=[0]).nearest.shape == (3, 4)
    assert only("Unsqueeze", [X], version=11, axes=[0]).nearest.shape == (1, 2, 3, 4)


def test_moved_elements_have_to_keep_their_bits():
    x = np.array([0.0, np.nan], np.float32)
    other = np.array([0x80000000, 0x7FC00001], np.uint32).view(np.float32)
    result = only("Flatten", [x])
    assert verdicts(result, x.reshape(2, 1)).ravel().tolist() == [Verdict.EXACT] * 2
    assert verdicts(result, other.reshape(2, 1)).ravel().tolist() == [Verdict.OUTSIDE] * 2
