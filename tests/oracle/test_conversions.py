"""Cast: by hand, and against numpy where that rounds once."""

import itertools

import numpy as np
import pytest
from restrictions import Violation, outcome

from sonnx_ort.oracle.numbers import TYPES
from sonnx_ort.profile.element_type import ElementType, Family
from sonnx_ort.profile.options import Edition
from sonnx_ort.suite.applied import special_values
from support.values import assert_same_bits, from_bits, random_pairs

INF, NAN = np.inf, np.nan
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
