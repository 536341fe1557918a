"""The oracle of element-wise operators: by hand, and against numpy."""

import itertools

import numpy as np
import pytest
from restrictions import OPERATORS, Violation, outcome

from sonnx_ort.meaning import COMPUTED
from sonnx_ort.profile import catalog
from sonnx_ort.profile.element_type import NUMERIC_TYPES, ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.vectors.applied import special_values
from support.values import (
    FLOATS,
    INTEGERS,
    SIGNED_INTEGERS,
    all_pairs,
    assert_same_bits,
    random_pairs,
)

INF, NAN = np.inf, np.nan
BOOL = ElementType.BOOL
BY_THE_PROCESSOR = (ElementType.FLOAT, ElementType.DOUBLE)


def computed(operator, element_type, *operands, **attributes):
    result = outcome(operator, operands, element_type, Edition.TYPED, attributes)
    assert not isinstance(result, Violation)
    return result


def on_scalars(operator, element_type, *values, **attributes):
    operands = (np.array(v, element_type.dtype) for v in values)
    return computed(operator, element_type, *operands, **attributes)


@pytest.mark.satisfies(
    "Add.draft.float.function Mul.draft.float.function Max.draft.function Max.draft.float.nan",
    "Max.draft.float.order Sub.preliminary.difference Sub.draft.float.difference",
)
@pytest.mark.parametrize(
    ("operator", "a", "b", "expected"),
    [
        ("Add", 0.0, 0.0, 0.0),
        ("Add", 0.0, -0.0, 0.0),
        ("Add", -0.0, 0.0, 0.0),
        ("Add", -0.0, -0.0, -0.0),
        ("Add", 1.0, -1.0, 0.0),
        ("Add", 1.5, 2.0, 3.5),
        ("Add", INF, INF, INF),
        ("Add", INF, -INF, NAN),
        ("Add", -INF, -INF, -INF),
        ("Add", 1.0, -INF, -INF),
        ("Add", INF, NAN, NAN),
        ("Sub", 0.0, 0.0, 0.0),
        ("Sub", 0.0, -0.0, 0.0),
        ("Sub", -0.0, 0.0, -0.0),
        ("Sub", -0.0, -0.0, 0.0),
        ("Sub", 1.0, 1.0, 0.0),
        ("Sub", -1.0, -1.0, 0.0),
        ("Sub", -0.0, 1.0, -1.0),
        ("Sub", INF, INF, NAN),
        ("Sub", -INF, -INF, NAN),
        ("Sub", INF, -INF, INF),
        ("Sub", -INF, INF, -INF),
        ("Sub", 1.0, INF, -INF),
        ("Sub", 1.0, -INF, INF),
        ("Sub", -INF, 1.0, -INF),
        ("Sub", NAN, 1.0, NAN),
        ("Sub", INF, NAN, NAN),
        ("Mul", 0.0, -0.0, -0.0),
        ("Mul", -0.0, -3.0, 0.0),
        ("Mul", 3.0, -0.0, -0.0),
        ("Mul", -1.5, 2.0, -3.0),
        ("Mul", INF, 0.0, NAN),
        ("Mul", -0.0, INF, NAN),
        ("Mul", INF, -2.0, -INF),
        ("Mul", -INF, -INF, INF),
        ("Mul", NAN, 0.0, NAN),
        ("PRelu", -2.0, 0.5, -1.0),
        ("PRelu", -2.0, 0.0, -0.0),
        ("PRelu", -2.0, -0.0, 0.0),
        ("PRelu", -INF, 0.0, NAN),
        ("PRelu", -INF, -1.0, INF),
        ("PRelu", -1.0, NAN, NAN),
        ("PRelu", 2.0, NAN, 2.0),
        ("PRelu", 0.0, -1.0, 0.0),
        ("PRelu", -0.0, -1.0, -0.0),
        ("PRelu", INF, 0.0, INF),
        ("PRelu", NAN, 1.0, NAN),
        ("Max", -1.0, 2.0, 2.0),
        ("Max", -INF, 1.0, 1.0),
        ("Max", 0.0, -0.0, 0.0),
        ("Max", -0.0, 0.0, 0.0),
        ("Max", -0.0, -0.0, -0.0),
        ("Max", INF, NAN, NAN),
        ("Max", NAN, INF, NAN),
        ("Min", -1.0, 2.0, -1.0),
        ("Min", INF, 1.0, 1.0),
        ("Min", 0.0, -0.0, -0.0),
        ("Min", -0.0, 0.0, -0.0),
        ("Min", -INF, NAN, NAN),
    ],
)
@pytest.mark.parametrize("element_type", FLOATS)
def test_float_results_at_the_edges(element_type, operator, a, b, expected):
    result = on_scalars(operator, element_type, a, b)
    assert_same_bits(result, np.array(expected, element_type.dtype))


@pytest.mark.parametrize(
    ("a", "b", "floored", "truncated"),
    [
        (7.0, 3.0, 1.0, 1.0),
        (-7.0, 3.0, 2.0, -1.0),
        (7.0, -3.0, -2.0, 1.0),
        (-7.0, -3.0, -1.0, -1.0),
        (5.5, -2.0, -0.5, 1.5),
        (6.0, 3.0, 0.0, 0.0),
        (-6.0, 3.0, 0.0, -0.0),
        (6.0, -3.0, -0.0, 0.0),
        (0.0, -3.0, -0.0, 0.0),
        (-0.0, 3.0, 0.0, -0.0),
        (0.0, -INF, -0.0, 0.0),
        (-0.0, INF, 0.0, -0.0),
        (1.0, INF, 1.0, 1.0),
        (-1.0, INF, INF, -1.0),
        (1.0, -INF, -INF, 1.0),
        (-1.0, -INF, -1.0, -1.0),
        (INF, 3.0, NAN, NAN),
        (-INF, INF, NAN, NAN),
        (1.0, 0.0, NAN, NAN),
        (1.0, -0.0, NAN, NAN),
        (0.0, 0.0, NAN, NAN),
        (NAN, 1.0, NAN, NAN),
        (1.0, NAN, NAN, NAN),
        # The number next to the divisor is farther away than the remainder is from it.
        (-(2.0**-20), 3.0, 3.0, -(2.0**-20)),
    ],
)
@pytest.mark.parametrize("element_type", [ElementType.FLOAT16, ElementType.BFLOAT16])
def test_remainders_of_floats(element_type, a, b, floored, truncated):
    for attributes, expected in (({}, floored), ({"fmod": 0}, floored), ({"fmod": 1}, truncated)):
        result = on_scalars("Mod", element_type, a, b, **attributes)
        assert_same_bits(result, np.array(expected, element_type.dtype))


@pytest.mark.parametrize("element_type", SIGNED_INTEGERS)
def test_shift_of_signed_integers_keeps_their_sign_to_the_right(element_type):
    bits = 8 * element_type.dtype.itemsize
    x, y = [-7, -1, -7, 7, 1, -1], [1, 1, bits - 1, 2, bits - 1, bits - 1]
    smallest = np.iinfo(element_type.dtype).min
    right = on_scalars("BitShift", element_type, x, y, direction="RIGHT")
    assert right.tolist() == [-4, -1, -1, 1, 0, -1]
    left = on_scalars("BitShift", element_type, x, y, direction="LEFT")
    assert left.tolist() == [-14, -2, smallest, 28, smallest, smallest]


@pytest.mark.parametrize("element_type", SIGNED_INTEGERS)
def test_shift_by_a_negative_number_breaks_the_rule(element_type):
    operands = np.array([1, 1], element_type.dtype), np.array([0, -1], element_type.dtype)
    found = outcome("BitShift", operands, element_type, Edition.TYPED)
    assert found == Violation("BitShift.int.C1", (1,), (1, -1))


@pytest.mark.satisfies("Less.draft.function", "Less.draft.float.nan", "Less.draft.float.zeros")
@pytest.mark.parametrize(
    ("a", "b", "truths"),
    [
        (1.0, 2.0, "Less LessOrEqual"),
        (2.0, 1.0, "Greater GreaterOrEqual"),
        (-2.0, -1.0, "Less LessOrEqual"),
        (1.0, 1.0, "Equal LessOrEqual GreaterOrEqual"),
        (0.0, -0.0, "Equal LessOrEqual GreaterOrEqual"),
        (INF, INF, "Equal LessOrEqual GreaterOrEqual"),
        (-INF, INF, "Less LessOrEqual"),
        (-INF, -1.0, "Less LessOrEqual"),
        (INF, 1.0, "Greater GreaterOrEqual"),
        (NAN, 1.0, ""),
        (1.0, NAN, ""),
        (NAN, NAN, ""),
        (NAN, INF, ""),
    ],
)
@pytest.mark.parametrize("element_type", FLOATS)
def test_float_comparisons_at_the_edges(element_type, a, b, truths):
    names = ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]
    results = [on_scalars(name, element_type, a, b) for name in names]
    assert [result.dtype for result in results] == [np.bool_] * 5
    assert [name for name, result in zip(names, results, strict=True) if result] == truths.split()


@pytest.mark.satisfies(
    "Add.draft.int.signed Add.draft.int.unsigned Add.draft.int.overflow Mul.draft.int.signed",
    "Mul.draft.int.unsigned Mul.draft.int.overflow Sub.draft.int.difference",
)
@pytest.mark.parametrize(
    ("operator", "a", "b", "expected"),
    [
        ("Add", "largest", 1, "smallest"),
        ("Sub", "smallest", 1, "largest"),
        ("Mul", "smallest", 3, "smallest"),
        ("Mul", "largest", 2, "2^n - 2"),
    ],
)
@pytest.mark.parametrize("element_type", INTEGERS)
def test_integer_results_are_taken_modulo_two_to_the_width(element_type, operator, a, b, expected):
    limits = np.iinfo(element_type.dtype)
    values = {
        "smallest": limits.min,
        "largest": limits.max,
        "2^n - 2": -2 if element_type in SIGNED_INTEGERS else limits.max - 1,
    }
    assert int(on_scalars(operator, element_type, values[a], b)) == values[expected]


@pytest.mark.parametrize("element_type", SIGNED_INTEGERS)
def test_integer_p_relu_wraps_below_zero_and_changes_nothing_else(element_type):
    smallest = int(np.iinfo(element_type.dtype).min)
    x, slope = ([smallest, -3, 0, 5], [-1, 4, 9, 9])
    assert on_scalars("PRelu", element_type, x, slope).tolist() == [smallest, -12, 0, 5]


@pytest.mark.parametrize(
    ("operator", "signed", "unsigned"),
    [
        ("BitwiseAnd", [4, 0, -8], [4, 0, 8]),
        ("BitwiseOr", [14, -1, -1], [14, 7, 15]),
        ("BitwiseXor", [10, -1, 7], [10, 7, 7]),
    ],
)
def test_bits_are_those_of_twos_complement(operator, signed, unsigned):
    for element_type in INTEGERS:
        below_zero = element_type in SIGNED_INTEGERS
        a, b = ([12, 7, -8], [6, -8, -1]) if below_zero else ([12, 7, 8], [6, 0, 15])
        expected = signed if below_zero else unsigned
        assert on_scalars(operator, element_type, a, b).tolist() == expected


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("And", [False, False, False, True]),
        ("Or", [False, True, True, True]),
        ("Xor", [False, True, True, False]),
        ("Equal", [True, False, False, True]),
    ],
)
def test_conditions_have_their_truth_tables(operator, expected):
    a, b = all_pairs(np.array([False, True]))
    result = computed(operator, BOOL, a, b)
    assert_same_bits(result, np.array(expected))


@pytest.mark.satisfies("Where.accuracy.introduced Where.draft.function Where.draft.float.special")
@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
def test_where_chooses_bit_for_bit(element_type):
    x = special_values(element_type)
    y = x[::-1].copy()
    condition = np.arange(x.size) % 3 == 0
    result = computed("Where", element_type, condition, x, y)
    assert_same_bits(result, np.where(condition, x, y))


@pytest.mark.satisfies("Max.draft.function")
@pytest.mark.parametrize("operator", ["Max", "Min"])
@pytest.mark.parametrize("element_type", NUMERIC_TYPES)
def test_largest_and_smallest_of_any_number(element_type, operator):
    columns = np.array([[1, 2, 3], [3, 1, 2], [2, 3, 1]], element_type.dtype)
    end = {"Max": 3, "Min": 1}[operator]
    assert on_scalars(operator, element_type, *columns).tolist() == [end] * 3
    assert on_scalars(operator, element_type, columns[0]).tolist() == [1, 2, 3]


NUMPY = {
    "Add": np.add,
    "Div": np.divide,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Max": np.maximum,
    "Min": np.minimum,
    "PRelu": lambda x, slope: np.where(x < 0, x * slope, x),
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "Equal": np.equal,
    "Less": np.less,
    "LessOrEqual": np.less_equal,
    "Greater": np.greater,
    "GreaterOrEqual": np.greater_equal,
}


@pytest.mark.parametrize(
    ("operator", "element_type"),
    [
        (operator, element_type)
        for operator, element_type in itertools.product(NUMPY, (*BY_THE_PROCESSOR, *INTEGERS))
        if element_type.family in catalog.OPERATORS[operator].families
        and not (operator in ("Max", "Min") and element_type is ElementType.INT64)
        and not (operator == "Div" and element_type.family is Family.INTEGER)
    ],
)
def test_results_agree_with_numpy(operator, element_type):
    random, special = random_pairs(element_type, 500), all_pairs(special_values(element_type))
    a, b = (np.concatenate(both) for both in zip(random, special, strict=True))
    with np.errstate(all="ignore"):
        expected = NUMPY[operator](a, b)
    result = computed(operator, element_type, a, b)
    if operator in ("Max", "Min"):
        # numpy gives the second of two zeros.
        result, expected = (
            np.where(array == 0, 0, array).astype(array.dtype) for array in (result, expected)
        )
    assert_same_bits(result, expected)


def test_it_knows_every_operator_of_the_profile():
    assert set(catalog.STANDARD_OPERATORS) == COMPUTED


@pytest.mark.parametrize(
    "operator", sorted(o for o in OPERATORS if catalog.OPERATORS[o].elementwise)
)
def test_it_knows_the_types_that_the_profile_names(operator):
    known = set()
    for element_type in ElementType:
        count = len(catalog.OPERATORS[operator].operand_names(2))
        operands = [np.ones(1, element_type.dtype)] * count
        if operator == "Where":
            operands[0] = np.zeros(1, np.bool_)
        try:
            outcome(operator, operands, element_type, Edition.TYPED, {"to": 1})
        except ValueError:
            continue
        known.add(element_type)
    families = catalog.OPERATORS[operator].families
    assert known == {t for t in ElementType if t.family in families}


def test_operator_without_meaning_in_a_type_is_an_error():
    operands = np.zeros(1, np.float32), np.zeros(1, np.float32)
    with pytest.raises(ValueError, match=r"^BitwiseAnd of float has no meaning$"):
        outcome("BitwiseAnd", operands, ElementType.FLOAT, Edition.TYPED)


@pytest.mark.satisfies(
    "Div.typed.real.R1 Div.typed.float.R1 Div.preliminary.R1 Sub.preliminary.R1 Div.draft.float.R1",
    "Div.draft.int.R1 Sub.draft.float.R1 Sub.draft.int.R1",
)
@pytest.mark.parametrize("edition", Edition)
@pytest.mark.parametrize(
    ("operator", "element_type", "rule", "preliminary"),
    [
        ("Div", "float", "Div.float.R1", "Div.R1"),
        ("Div", "int32", "Div.int.R1", "Div.R1"),
        ("Sub", "float", "Sub.float.R1", "Sub.R1"),
        ("Sub", "int32", "Sub.int.R1", "Sub.R1"),
        ("Add", "float", "Add.float.R1", "Add.float.R1"),
        ("Mul", "uint8", "Mul.int.R1", "Mul.int.R1"),
        ("And", "bool", "And.bool.R1", "And.bool.R1"),
        ("Equal", "bool", "Equal.bool.R1", "Equal.bool.R1"),
        ("Less", "double", "Less.float.R1", "Less.float.R1"),
    ],
)
@pytest.mark.parametrize("shapes", [((3,), (1,)), ((3,), ()), ((0,), (1,)), ((2, 3), (3, 2))])
def test_unequal_shapes_are_a_violation(  # noqa: PLR0917 - a table of cases
    operator, element_type, edition, rule, preliminary, shapes
):
    chosen = ElementType(element_type)
    operands = [np.zeros(shape, chosen.dtype) for shape in shapes]
    expected = preliminary if edition is Edition.PRELIMINARY else rule
    assert outcome(operator, operands, chosen, edition) == Violation(expected)


@pytest.mark.parametrize("odd", range(3))
@pytest.mark.parametrize(("operator", "rule"), [("Max", "Max.int.R1"), ("Where", "Where.int.R1")])
def test_one_unequal_shape_of_three_is_a_violation(operator, rule, odd):
    operands = [
        np.zeros(2, np.bool_ if operator == "Where" and i == 0 else np.int8) for i in range(3)
    ]
    operands[odd] = operands[odd][:1]
    assert outcome(operator, operands, ElementType.INT8, Edition.TYPED) == Violation(rule)


@pytest.mark.satisfies(
    "Div.typed.real.R1 Div.typed.float.R1.result Div.preliminary.type Div.preliminary.size",
    "Div.preliminary.ensures.dims Div.preliminary.ensures.length Sub.preliminary.type",
    "Sub.preliminary.size Sub.preliminary.ensures.dims Sub.preliminary.ensures.length",
    "Div.onnx.result",
)
@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1, 1, 1, 1, 1)])
@pytest.mark.parametrize("element_type", ElementType)
def test_results_keep_the_shape_and_the_dtype(element_type, shape):
    operand = np.ones(shape, element_type.dtype)
    assert computed("Equal", element_type, operand, operand).shape == shape
    for operator in ("Div", "Sub") if element_type in NUMERIC_TYPES else ():
        result = computed(operator, element_type, operand, operand)
        assert (result.shape, result.dtype) == (shape, element_type.dtype)
