"""The oracle of Broadcast, and what it says where ONNX broadcasts or the profile has no rule."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from restrictions import Violation, broadcast

from sonnx_ort.meaning import Result, Undefined, meaning
from sonnx_ort.profile.element_type import ElementType
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import special_values
from support.broadcasting import assert_identical, shapes_of_tensors
from support.values import all_pairs, assert_same_bits, from_bits

F, U8, I8, I32, I64 = np.float32, np.uint8, np.int8, np.int32, np.int64
LEAST = -(2**31)
INF, NAN = np.inf, np.nan
GRID = np.arange(30, dtype=F).reshape(5, 6)


def only(operator, *operands, version=21, **attributes) -> Result:
    given = [None if o is None else np.asarray(o) for o in operands]
    found = meaning(operator, version, attributes, given)
    assert isinstance(found, tuple), found
    (result,) = found
    return result


def reason(operator, *operands, version=21, **attributes) -> str:
    found = meaning(operator, version, attributes, [np.asarray(o) for o in operands])
    assert isinstance(found, Undefined)
    return found.reason


@pytest.mark.parametrize(
    ("operator", "compute"),
    [("Add", np.add), ("Mul", np.multiply), ("Max", np.maximum), ("Less", np.less)],
)
@pytest.mark.parametrize(
    "shapes", [((2, 1, 3), (4, 1)), ((), (2, 2)), ((1,), (0,)), ((0, 3), (3,)), ((2, 3), (2, 3))]
)
def test_operands_are_broadcast_to_each_other(operator, compute, shapes):
    a, b = (np.arange(np.prod(s, dtype=int), dtype=F).reshape(s) - 2 for s in shapes)
    assert_same_bits(only(operator, a, b).nearest, np.asarray(compute(a, b)))


def test_three_operands_are_broadcast_together():
    found = only("Where", np.array([[True], [False]]), I8([1, 2]), I8(9))
    assert found.nearest.tolist() == [[1, 2], [9, 9]]
    assert only("Min", F([[3], [1]]), F([2]), F(2.5)).nearest.tolist() == [[2], [1]]


@pytest.mark.parametrize(
    ("operator", "operands", "told"),
    [
        ("Add", [F([1, 2]), F([1, 2, 3])], "operands of shapes [(2,), (3,)] cannot be broadcast"),
        ("Add", [np.zeros((0,), F), F([1, 2])], "shapes [(0,), (2,)] cannot be broadcast"),
        ("PRelu", [F([1]), F([1, 2])], "operands of shapes [(1,), (2,)] cannot be broadcast"),
        ("MatMul", [F(1), F([1])], "A () or B (1,) has no axis"),
        ("MatMul", [F([1, 2]), F([1])], "(2,) and (1,) have no product"),
        ("MatMul", [np.ones((2, 1, 1), F), np.ones((3, 1, 1), F)], "have no product"),
        ("Slice", [GRID, [0, 0], [1], [0], [1]], "starts, ends, axes and steps differ"),
        ("Slice", [GRID, [0], [1], [2]], "not all of the axes [2] are in [-2, 1]"),
        ("Slice", [GRID, [0, 0], [1, 1], [1, -1]], "the axes [1, -1] name one twice"),
        ("Slice", [GRID, [0], [1], [0], [0]], "a step is 0"),
        ("ArgMax", [np.zeros((0, 2), F)], "axis 0 has no elements"),
        ("ArgMax", [F(1)], "axis 0 is not in [0, -1]"),
        ("Clip", [F([1]), F([0, 1])], "min of shape (2,) has not one element"),
        ("BatchNormalization", [GRID, *[F([1])] * 4], "one element for each of 6 channels"),
    ],
)
def test_operands_that_do_not_fit_each_other_have_no_result(operator, operands, told):
    assert told in reason(operator, *operands)


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3), (3, 4)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((3,), (3,)),
        ((5, 2, 3), (3, 4)),
        ((5, 1, 2, 3), (2, 3, 1)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((2, 0), (0, 3)),
        ((0, 2, 3), (3, 4)),
    ],
)
@pytest.mark.parametrize("dtype", [F, I8])
def test_products_of_any_rank_are_those_of_numpy(shapes, dtype):
    generator = np.random.default_rng(1)
    a, b = (generator.integers(-9, 9, shape).astype(dtype) for shape in shapes)
    result = only("MatMul", a, b)
    assert_same_bits(result.nearest, np.asarray(a @ b))
    assert result.exact(np.asarray(a @ b)).all()


def test_product_of_infinities_is_that_of_the_pairs_that_are_not_finite():
    a, b = F([[INF, 1, 0], [1, 2, NAN], [INF, -INF, 1]]), F([[1, 0], [1, 1], [1, 1]])
    np.testing.assert_array_equal(
        only("MatMul", a, b).nearest, F([[INF, NAN], [NAN] * 2, [NAN] * 2])
    )


@pytest.mark.parametrize("element_type", [ElementType.FLOAT16, ElementType.DOUBLE])
def test_products_of_the_smallest_and_the_largest_are_exact(element_type):
    values = special_values(element_type)
    values = values[np.isfinite(values)]
    a, b = (each[:, None] for each in all_pairs(values))
    with np.errstate(all="ignore"):
        expected = np.concatenate([x * y for x, y in zip(a, b, strict=True)])
    found = [only("MatMul", x[None], y[None]).nearest for x, y in zip(a[::7], b[::7], strict=True)]
    assert [x.item() for x in found] == expected[::7].tolist()


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        (([1], [3]), GRID[1:3]),
        (([1, 2], [3, 4]), GRID[1:3, 2:4]),
        (([1], [3], [1]), GRID[:, 1:3]),
        (([1], [3], [-1]), GRID[:, 1:3]),
        (([0], [99], [0], [2]), GRID[::2]),
        (([-99], [2]), GRID[:2]),
        (([3], [1]), GRID[:0]),
        (([-1], [-99], [0], [-1]), GRID[::-1]),
        (([99], [-99], [1], [-2]), GRID[:, ::-2]),
        (([2**63 - 1], [-(2**63)], [1], [-(2**63)]), GRID[:, 5:]),
        (([1], [2], [0], [-1]), GRID[:0]),
        (([], []), GRID),
    ],
)
def test_places_beyond_the_ends_of_a_slice_are_moved_to_them(indices, expected):
    result = only("Slice", GRID, *(np.array(index, I64) for index in indices))
    assert_same_bits(result.nearest, expected)


def test_slice_may_leave_out_its_axes_alone():
    result = only("Slice", GRID, I64([0, 1]), I64([5, 6]), None, I64([2, 3]))
    assert_same_bits(result.nearest, GRID[::2, 1::3])


def test_oldest_versions_have_attributes():
    result = only("Slice", GRID, version=1, starts=[1, -2], ends=[3, 1000], axes=[0, 1])
    assert_same_bits(result.nearest, GRID[1:3, -2:])
    assert only("Clip", F([-1, 0.5, 7]), version=6, min=0.0, max=6.0).nearest.tolist() == [
        0,
        0.5,
        6,
    ]
    assert only("Clip", F([-1, 0.5, 7]), version=6).nearest.tolist() == [-1, 0.5, 7]


@pytest.mark.parametrize(
    ("x", "attributes", "expected"),
    [
        ([[1, 9, 3], [4, 2, 6]], {"axis": -1}, [[1], [2]]),
        ([[1, 9, 3], [4, 2, 6]], {"axis": -2, "keepdims": 0}, [1, 0, 1]),
        (np.zeros((2, 0, 3)), {"axis": 2, "keepdims": 0}, np.zeros((2, 0))),
    ],
)
def test_axes_of_arg_max_count_from_the_end(x, attributes, expected):
    found = only("ArgMax", F(x), **attributes).nearest
    assert_same_bits(found, np.array(expected, I64))


def test_arg_max_of_a_line_with_a_nan_is_not_defined():
    result = only("ArgMax", F([[1, NAN], [1, 2]]), axis=1)
    assert result.undefined.tolist() == [[True], [False]]
    assert result.reason == "the operands break ArgMax.float.C1"


def test_bounds_of_clip_may_have_axes():
    assert only("Clip", I8([-3, 3]), I8([-1]), I8([[2]])).nearest.tolist() == [-1, 2]


def test_normalization_of_a_vector_has_one_channel():
    found = only("BatchNormalization", F([1, 5]), F([2]), F([1]), F([1]), F([3]), epsilon=1.0)
    assert found.nearest.tolist() == [1, 5]


@pytest.mark.parametrize("variance", [-0.5, NAN])
def test_channel_of_a_variance_below_zero_is_not_defined(variance):
    ones = F([1, 1])
    result = only("BatchNormalization", F([[1, 2]]), ones, ones, ones, F([1, variance]))
    assert result.undefined.tolist() == [[False, True]]
    assert result.reason == "the operands break BatchNormalization.C3"


@pytest.mark.parametrize(
    ("operator", "operands", "attributes", "undefined", "rules"),
    [
        ("Div", (I32([6, 1, LEAST]), I32([3, 0, -1])), {}, [0, 1, 1], ["Div.int.C1", "Div.int.C2"]),
        ("Mod", (I32([7, 1, LEAST]), I32([3, 0, -1])), {}, [0, 1, 0], ["Mod.int.C1"]),
        ("Acos", (F([0.5, 1.5, -INF, NAN]),), {}, [0, 1, 1, 0], ["Acos.float.C1"]),
        ("Cast", (F([3.7, 300, NAN, INF]),), {"to": 3}, [0, 1, 1, 1], ["Cast.float.C1"]),
        ("Cast", (F([3.7, 300, NAN, INF]),), {"to": 10}, [0, 0, 0, 0], []),
        ("Pow", (I32([2, 2, 3]), I32([3, -1, 40])), {}, [0, 1, 1], ["Pow.int.C1", "Pow.int.C2"]),
        ("BitShift", (U8([1, 1]), U8([7, 8])), {"direction": "LEFT"}, [0, 1], ["BitShift.int.C1"]),
        ("Abs", (I8([-127, -128]),), {}, [0, 1], ["Abs.int.C1"]),
        ("Max", (I64([2**40, 1]), I64([1, -(2**40)])), {}, [0, 0], []),
    ],
)
def test_elements_outside_the_domain_alone_are_not_defined(
    operator, operands, attributes, undefined, rules
):
    result = only(operator, *operands, **attributes)
    assert result.undefined.tolist() == [bool(each) for each in undefined]
    assert result.reason == (f"the operands break {' and '.join(rules)}" if rules else "")
    inside = ~result.undefined
    alone = only(operator, *(operand[inside] for operand in operands), **attributes)
    assert_same_bits(result.nearest[inside], alone.nearest)
    assert result.exact(result.nearest).tolist() == inside.tolist()


def test_rules_have_their_names_of_the_edition():
    zero = np.zeros(1, I32)
    (result,) = meaning("Div", 14, {}, [zero, zero], Edition.PRELIMINARY)
    assert result.reason == "the operands break Div.R5"


def test_exponent_may_have_another_type():
    assert only("Pow", F([2, 0.5]), I64([10, -1])).nearest.tolist() == [1024, 2]
    assert only("Pow", I32([2, -3]), I64([10, 3])).nearest.tolist() == [1024, -27]
    assert only("Pow", np.float64([2]), F([0.5])).nearest.tolist() == [np.sqrt(2)]


@pytest.mark.parametrize(
    ("operator", "operands"), [("Pow", (I32([2]), F([2]))), ("Add", (I32([2]), I64([2])))]
)
def test_other_operands_have_one_type(operator, operands):
    with pytest.raises(ValueError, match=r"^operands of int32 and \w+ have no meaning$"):
        meaning(operator, 21, {}, operands)


@pytest.mark.parametrize("number", [8, 17])
def test_types_beyond_the_profile_have_no_meaning(number):
    with pytest.raises(ValueError, match=rf"^type {number} of ONNX has no meaning$"):
        meaning("Cast", 21, {"to": number}, [F([1])])
    with pytest.raises(ValueError, match=rf"^type {number} of ONNX has no meaning$"):
        meaning("QuantizeLinear", 21, {"output_dtype": number}, [F([1]), np.array(F(1))])


def test_training_has_no_meaning():
    with pytest.raises(ValueError, match=r"for inference by channels alone$"):
        meaning("BatchNormalization", 15, {"training_mode": 1}, [F([1])] * 5)


@pytest.mark.parametrize(
    ("operator", "operands", "bound"),
    [
        (
            "Log",
            [F([2])],
            "3 units in the last place, measured of ONNX Runtime with each float (ours)",
        ),
        ("Add", [F([2]), F([3])], "exact: no other result is admitted"),
        ("MatMul", [F([[0.0]]), F([[1.0]])], "exact: no other result is admitted"),
        ("Cast", [np.float64([2049.0000001])], "a float may be rounded before (ours)"),
        ("Cast", [np.float64([2049])], "exact: no other result is admitted"),
    ],
)
def test_bound_says_what_is_admitted(operator, operands, bound):
    assert only(operator, *operands, to=10).bound == bound


@pytest.mark.satisfies(
    "Broadcast.one_shape Broadcast.repeated Broadcast.condition_1 Broadcast.prepended",
    "Broadcast.prepended.ones Broadcast.step_1 Broadcast.step_1.prepended",
    "Broadcast.step_1.elements Broadcast.step_2.first Broadcast.step_2.function",
    "Broadcast.step_2.elements",
)
@pytest.mark.parametrize(
    ("x0", "x1", "z0", "z1"),
    [
        (1, 2, 1, 2),
        ([1, 2, 3], 4, [1, 2, 3], [4, 4, 4]),
        ([[1, 2], [3, 4]], [5, 6], [[1, 2], [3, 4]], [[5, 6], [5, 6]]),
        ([[1], [2]], [[3, 4]], [[1, 1], [2, 2]], [[3, 4], [3, 4]]),
        ([1, 2], [[3], [4]], [[1, 2], [1, 2]], [[3, 3], [4, 4]]),
        ([7], [[[8]]], [[[7]]], [[[8]]]),
    ],
)
def test_elements_are_repeated(x0, x1, z0, z1):
    first, second = broadcast(np.int32(x0), np.int32(x1))
    assert (first.tolist(), second.tolist()) == (z0, z1)


@pytest.mark.satisfies("Broadcast.C1")
def test_each_result_has_the_type_of_its_own_tensor():
    results = broadcast(np.float32([1, 2]), np.array(True), np.int8([[3]]))
    assert [result.dtype.name for result in results] == ["float32", "bool", "int8"]


def test_tensor_alone_stays_as_it_is():
    (result,) = broadcast(np.int32([[1, 2, 3]]))
    assert result.tolist() == [[1, 2, 3]]


def test_nan_keeps_its_payload():
    payload = from_bits([0x7F81], ElementType.BFLOAT16)
    result, _ = broadcast(payload, np.zeros(2))
    assert_identical(result, from_bits([0x7F81, 0x7F81], ElementType.BFLOAT16))


@pytest.mark.satisfies("Broadcast.condition_2", "Broadcast.errors")
@pytest.mark.parametrize(
    "shapes",
    [
        ((3,), (2,)),
        ((0,), (1,)),
        ((0,), ()),
        ((0, 3), (3,)),
        ((2, 0), (2, 1)),
        ((2,), (1,), (3,)),
        ((1,), (2, 3), (2,)),
    ],
    ids=str,
)
def test_size_that_is_neither_the_largest_nor_1_is_a_violation(shapes):
    assert broadcast(*map(np.zeros, shapes)) == Violation("Broadcast.E1")


@given(st.integers(1, 4).flatmap(shapes_of_tensors))
def test_it_agrees_with_numpy_except_on_a_size_of_0_against_1(shapes):
    tensors = [np.arange(np.prod(shape, dtype=int)).reshape(shape) for shape in shapes]
    rank = max(map(len, shapes))
    axes = list(zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True))
    try:
        expected = np.broadcast_arrays(*tensors)
    except ValueError:
        expected = None
    if expected is None or any({0, 1} <= set(sizes) for sizes in axes):
        assert broadcast(*tensors) == Violation("Broadcast.E1")
        return
    for result, by_numpy in zip(broadcast(*tensors), expected, strict=True):
        assert_identical(result, np.array(by_numpy))
