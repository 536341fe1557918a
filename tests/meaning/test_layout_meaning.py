"""What the oracle says of operators that move, convert or quantize elements."""

import itertools

import numpy as np
import pytest
from restrictions import Violation, outcome

from sonnx_ort.meaning import Undefined, meaning
from sonnx_ort.meaning.numbers import TYPES
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import special_values
from support.meanings import Verdict, verdicts
from support.values import assert_same_bits, from_bits, random_pairs

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
    "Reshape.draft.elements Reshape.draft.zero Reshape.draft.examples Flatten.draft.elements",
    "Flatten.draft.examples Unsqueeze.draft.elements",
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


@pytest.mark.satisfies("Reshape.draft.example_3")
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


@pytest.mark.satisfies("Concat.draft.elements", "Concat.draft.shape")
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


@pytest.mark.satisfies("Shape.draft.clamping", "Shape.draft.slicing", "Shape.draft.examples")
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


@pytest.mark.satisfies("Constant.draft.result")
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


F, H = np.float32, np.float16
INF, NAN = np.inf, np.nan


def quantized(x, scale, zero, dtype=np.uint8, real=F):
    operands = [np.array(x, real), np.array(scale, real), np.array(zero, dtype)]
    return only("QuantizeLinear", operands)


@pytest.mark.satisfies(
    "QuantizeLinear.draft.quotient QuantizeLinear.draft.examples QuantizeLinear.draft.shape"
)
@pytest.mark.parametrize(
    ("x", "scale", "zero", "dtype", "expected"),
    [
        ([6.1, -3.5, 130.2], 2.0, 10, np.uint8, [13, 8, 75]),
        ([300.0, -50.0], 1.0, 0, np.uint8, [255, 0]),
        ([0.5, 1.5, 2.5, -0.5, -1.5], 1.0, 0, np.int8, [0, 2, 2, 0, -2]),
        ([3e38, -3e38], 1e-10, 3, np.int16, [32767, -32768]),
        ([1e10, -1e10], -1.0, 3, np.uint16, [0, 65535]),
        ([254.5, 255.5], 1.0, 1, np.uint8, [255, 255]),
        # Adding one half and cutting off would give 1.
        ([0.5 - 2**-25, 8388609.5], 1.0, 0, np.uint16, [0, 65535]),
    ],
)
def test_quotients_are_rounded_to_even_and_clamped(x, scale, zero, dtype, expected):
    found = quantized(x, scale, zero, dtype).nearest
    assert (found.dtype, found.tolist()) == (dtype, expected)


def test_quotient_is_rounded_in_the_type_of_the_scale_first():
    x, scale = H(0.25), H(0.0999755859375)
    assert float(x) / float(scale) > 2.5
    assert quantized([x], scale, 0, real=H).nearest.tolist() == [2]


def test_no_level_is_defined_for_nan_and_infinities():
    result = quantized([INF, -INF, NAN, 1.0], 1.0, 0)
    assert result.undefined.tolist() == [True, True, True, False]
    assert result.reason == "X / y_scale is NaN, or X infinite"
    assert verdicts(result, np.uint8([9, 9, 9, 9])).tolist() == [*["undefined"] * 3, "outside"]


def test_scales_along_an_axis():
    x = np.float32([[1, 2], [3, 4]])
    operands = [x, np.float32([1, 0.5])]
    assert only("QuantizeLinear", operands, axis=0).nearest.tolist() == [[1, 2], [6, 8]]
    assert only("QuantizeLinear", operands, axis=-1).nearest.tolist() == [[1, 4], [3, 8]]


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "reason"),
    [
        ("QuantizeLinear", [F([1]), F(0)], {}, "y_scale is 0"),
        ("QuantizeLinear", [F([[1]]), F([1, 2])], {}, "scales (2,) do not belong to axis 1"),
        ("Range", [F(0), F(1), F(0)], {}, "delta is 0"),
        ("Range", [F(0), F(INF), F(1)], {}, "start, limit and delta are not all finite"),
        ("Range", [F([0, 1]), F(3), F(1)], {}, "start, limit and delta are not all scalars"),
    ],
)
def test_operands_without_any_result(operator, operands, attributes, reason):
    found = meaning(operator, 21, attributes, [np.asarray(operand) for operand in operands])
    assert isinstance(found, Undefined)
    assert found.reason.startswith(reason)


def test_scales_for_blocks_are_an_error():
    with pytest.raises(ValueError, match=r"^scales for blocks are not computed$"):
        only("QuantizeLinear", [np.ones((2, 2), F), np.ones((2, 1), F)], block_size=2)


@pytest.mark.satisfies(
    "DequantizeLinear.draft.product DequantizeLinear.draft.examples DequantizeLinear.draft.shape",
    "DequantizeLinear.draft.overflow",
)
@pytest.mark.parametrize(
    ("x", "scale", "zero", "dtype", "expected"),
    [
        ([0, 10, 50, 100, 128, 255], 0.02, 128, np.int32, [-2.56, -2.36, -1.56, -0.56, 0, 2.54]),
        ([0, 10, 50, 100, 128, 255], 0.5, 128, np.int32, [-64, -59, -39, -14, 0, 63.5]),
        ([-(2**31), 2**31 - 1], 1.0, 100, np.int32, [2147483548, 2147483547]),
        ([2**24 + 1], 1.0, 0, np.int32, [2**24]),
        ([2**24 + 1], 1.0, 2**24, np.int32, [1]),
        ([-128, 127], 2.0, 127, np.int8, [-510, 0]),
        ([127], 3e38, 1, np.int8, [INF]),
    ],
)
def test_differences_are_rounded_and_scaled(x, scale, zero, dtype, expected):
    operands = [np.array(x, dtype), F(scale), np.array(zero, dtype)]
    result = only("DequantizeLinear", [np.asarray(operand) for operand in operands])
    assert result.nearest.dtype == F
    assert result.nearest.tolist() == F(expected).tolist()
    assert result.admitted.admits(F(expected)).all()


@pytest.mark.satisfies("Range.draft.formula", "Range.draft.examples")
@pytest.mark.parametrize(
    ("start", "limit", "delta", "expected"),
    [
        (0, 10, 1, list(range(10))),
        (10, 2, -3, [10, 7, 4]),
        (10, 10, -3, []),
        (30, 10, 3, []),
        (-5, 6, 5, [-5, 0, 5]),
    ],
)
@pytest.mark.parametrize("kind", ["int16", "int32", "int64", "float", "double"])
def test_range_goes_up_to_before_the_limit(kind, start, limit, delta, expected):
    dtype = ElementType(kind).dtype
    found = only("Range", [np.array(each, dtype) for each in (start, limit, delta)]).nearest
    assert (found.dtype, found.tolist()) == (dtype, expected)


def test_range_may_round_some_times_and_not_at_every_step():
    steps = np.full(1000, F(0.1))
    steps[0] = 0
    result = only("Range", [np.asarray(F(each)) for each in (0, 100, 0.1)])
    products = F(0.1) * np.arange(1000, dtype=F)
    assert Verdict.OUTSIDE not in verdicts(result, products)
    assert (verdicts(result, np.cumsum(steps, dtype=F)) == Verdict.OUTSIDE).sum() > 900


def test_range_knows_the_ends_of_integers():
    operands = [np.array(each, np.int64) for each in (-(2**63), 2**63 - 1, 2**62)]
    assert only("Range", operands).nearest.tolist() == [-(2**63), -(2**62), 0, 2**62]


def test_range_of_too_many_elements_is_an_error():
    with pytest.raises(ValueError, match=r"^100000000 elements are too many to compute$"):
        only("Range", [np.asarray(F(each)) for each in (0, 1e8, 1)])


NUMBERS = {element_type: number for number, element_type in TYPES.items()}
BFLOAT16 = ElementType.BFLOAT16


def cast(values, source, target):
    operand = np.array(values, source.dtype)
    return outcome("Cast", [operand], source, Edition.TYPED, {"to": NUMBERS[target]})


@pytest.mark.parametrize(
    ("source", "target", "values", "expected"),
    [
        ("float", "int8", [-0.9, 2.9, -128.9, 127.9], [0, 2, -128, 127]),
        ("float", "uint8", [-0.9, 255.9], [0, 255]),
        ("double", "int64", [-(2.0**63), 0.5], [-(2**63), 0]),
        ("int32", "int8", [128, -129, 511], [-128, 127, -1]),
        ("int8", "uint16", [-1], [65535]),
        ("uint64", "int64", [2**64 - 1], [-1]),
        ("int64", "float", [2**24 + 1, 2**24 + 3, -(2**24) - 3], [2**24, 2**24 + 4, -(2**24) - 4]),
        ("uint64", "double", [2**64 - 1], [2.0**64]),
        ("float", "bool", [0.0, -0.0, 0.5, NAN, -INF], [False, False, True, True, True]),
        ("int8", "bool", [0, -7], [False, True]),
        ("bool", "float16", [False, True], [0.0, 1.0]),
        ("bool", "uint8", [False, True], [0, 1]),
        ("float", "float16", [65519.0, 65520.0, -INF], [65504.0, INF, -INF]),
        ("double", "float16", [2049.0000001, 2049.0], [2050.0, 2048.0]),
        ("double", "float", [1e39, -1e-50], [INF, -0.0]),
        ("int32", "float16", [65520, -70000], [INF, -INF]),
    ],
)
def test_elements_in_another_type(source, target, values, expected):
    target = ElementType(target)
    result = cast(values, ElementType(source), target)
    assert_same_bits(result, np.array(expected, target.dtype))


def test_integer_becomes_the_nearest_bfloat16_at_once():
    result = cast([2**24 + 2**16 + 1], ElementType.INT32, BFLOAT16)
    assert_same_bits(result, from_bits([0x4B81], BFLOAT16))


@pytest.mark.parametrize("value", [NAN, INF, -INF, 128.0, -129.0])
def test_float_that_the_integer_type_does_not_hold_is_a_violation(value):
    found = cast([1.0, value], ElementType.FLOAT, ElementType.INT8)
    assert isinstance(found, Violation)
    assert (found.rule, found.index, str(found.values)) == ("Cast.float.C1", (1,), f"({value},)")


ONCE = [
    (source, target)
    for source, target in itertools.product(ElementType, ElementType)
    if BFLOAT16 not in (source, target)
    and not (source.family is Family.FLOAT and target.family is Family.INTEGER)
]


@pytest.mark.parametrize(("source", "target"), ONCE)
def test_results_agree_with_numpy(source, target):
    operand = special_values(source)
    if source is not ElementType.BOOL:
        operand = np.concatenate([operand, random_pairs(source, 200)[0]])
    with np.errstate(all="ignore"):
        expected = operand.astype(target.dtype)
    assert_same_bits(cast(operand, source, target), expected)
