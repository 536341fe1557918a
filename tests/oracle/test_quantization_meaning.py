"""What the oracle says of QuantizeLinear, DequantizeLinear and Range: the drafts' examples."""

import numpy as np
import pytest

from sonnx_ort.oracle import Undefined, meaning
from sonnx_ort.profile.element_type import ElementType
from support.meanings import Verdict, verdicts

F, H = np.float32, np.float16
INF, NAN = np.inf, np.nan


def only(operator, operands, **attributes):
    found = meaning(operator, 21, attributes, operands)
    assert isinstance(found, tuple), found
    (result,) = found
    return result


def quantized(x, scale, zero, dtype=np.uint8, real=F):
    operands = [np.array(x, real), np.array(scale, real), np.array(zero, dtype)]
    return only("QuantizeLinear", operands)


@pytest.mark.satisfies(
    "QuantizeLinear.draft.quotient",
    "QuantizeLinear.draft.examples",
    "QuantizeLinear.draft.shape",
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
    "DequantizeLinear.draft.product",
    "DequantizeLinear.draft.examples",
    "DequantizeLinear.draft.shape",
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


@pytest.mark.satisfies(
    "Range.draft.formula",
    "Range.draft.examples",
)
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
