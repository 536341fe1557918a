"""Which zeros the oracle admits: the one that a document decides, or both where it does not."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from sonnx_ort.meaning import COMPUTED, Result, meaning
from sonnx_ort.meaning.documented import OPERATIONS, SIGNS, meaning_of
from sonnx_ort.meaning.node import Node
from sonnx_ort.meaning.zeros import SIGNS_OF_ZEROS, Signs
from sonnx_ort.profile.element_type import ElementType

F = np.float32
INF = np.inf
PLUS, MINUS, EITHER = "+0", "-0", "either"


def zeros_of(result: Result) -> list[str]:
    """Which zeros are admitted of each element; empty for one that is no zero."""
    found = []
    for zero in (0.0, -0.0):
        made = np.full(result.nearest.shape, zero).astype(result.nearest.dtype)
        found.append(np.ravel(~result.outside(made)).tolist())
    names = {(True, True): EITHER, (True, False): PLUS, (False, True): MINUS}
    return [names.get(pair, "") for pair in zip(*found, strict=True)]


def floats(*operands: Sequence[float], dtype: Any = F) -> list[Any]:
    return [np.array(operand).astype(dtype) for operand in operands]


CASES: dict[str, tuple[str, Mapping[str, Any], list[Any], list[str]]] = {
    "Abs": ("Abs", {}, floats([0, -0.0, 1]), [PLUS, PLUS, ""]),
    "Neg": ("Neg", {}, floats([0, -0.0]), [MINUS, PLUS]),
    "Add": ("Add", {}, floats([0, -0.0, 1, -0.0], [-0.0, -0.0, -1, 0]), [PLUS, MINUS, PLUS, PLUS]),
    "Sub": ("Sub", {}, floats([0, -0.0, -0.0], [0, 0, -0.0]), [PLUS, MINUS, PLUS]),
    "Mul": ("Mul", {}, floats([-1, -1, 1e-30], [0, -0.0, -1e-30]), [MINUS, PLUS, MINUS]),
    "Div": ("Div", {}, floats([-1, -0.0, 1], [INF, 3, -INF]), [MINUS, MINUS, MINUS]),
    "Reciprocal": ("Reciprocal", {}, floats([INF, -INF]), [PLUS, MINUS]),
    "Sqrt": ("Sqrt", {}, floats([0, -0.0]), [PLUS, MINUS]),
    "Pow": ("Pow", {}, floats([0, -0.0, -0.0, -INF], [3, 3, 2, -1]), [PLUS, MINUS, PLUS, MINUS]),
    "Log": ("Log", {}, floats([1]), [PLUS]),
    "Acos": ("Acos", {}, floats([1]), [EITHER]),
    "Exp": ("Exp", {}, floats([-INF, -9999]), [PLUS, EITHER]),
    "Sigmoid": ("Sigmoid", {}, floats([-INF]), [PLUS]),
    "Sin": ("Sin", {}, floats([0, -0.0]), [PLUS, MINUS]),
    "Tanh": ("Tanh", {}, floats([0, -0.0]), [EITHER, EITHER]),
    "Softmax": ("Softmax", {"axis": 0}, floats([-INF, 0]), [EITHER, ""]),
    "Relu": ("Relu", {}, floats([0, -0.0, -1, -INF, 1]), [PLUS, MINUS, EITHER, EITHER, ""]),
    "LeakyRelu": ("LeakyRelu", {"alpha": 0.0}, floats([0, -0.0, -1]), [PLUS, MINUS, EITHER]),
    "PRelu": ("PRelu", {}, floats([0, -0.0, -1], [1, 1, 0]), [PLUS, MINUS, EITHER]),
    "Max": ("Max", {}, floats([0, -0.0, -0.0], [-0.0, 0, -1]), [PLUS, PLUS, MINUS]),
    "Min": ("Min", {}, floats([0, -0.0, 0, 0], [-0.0, 0, 0, 1]), [MINUS, MINUS, PLUS, PLUS]),
    "Max of three": ("Max", {}, floats([-0.0], [-1], [0]), [PLUS]),
    "Clip": ("Clip", {}, [*floats([-1, -0.0, 0, 1]), F(0), F(-0.0)], [PLUS, MINUS, PLUS, MINUS]),
    "Where": ("Where", {}, [np.array([True, False]), *floats([-0.0, 1], [1, -0.0])], [MINUS] * 2),
    "Mod": ("Mod", {"fmod": 1}, floats([-2], [1]), [EITHER]),
    "Cast": ("Cast", {"to": 1}, floats([0, -0.0], dtype=np.float64), [PLUS, MINUS]),
    "Cast of integers": ("Cast", {"to": 1}, [np.int32([0])], [PLUS]),
    "DequantizeLinear": ("DequantizeLinear", {}, [np.int8([3, 3]), F(-2), np.int8(3)], [MINUS] * 2),
    "MatMul": ("MatMul", {}, floats([[-0.0, -0.0]], [[1], [1]]), [EITHER]),
    "Gemm": ("Gemm", {}, floats([[-0.0]], [[1]]), [EITHER]),
    "Range": ("Range", {}, [F(-0.0), F(1), F(1)], [EITHER]),
    "Reshape": ("Reshape", {}, [*floats([0, -0.0]), np.int64([2])], [PLUS, MINUS]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_zeros_are_those_of_the_documents(name: str) -> None:
    operator, attributes, operands, expected = CASES[name]
    (result,) = meaning(operator, 21, attributes, operands)
    assert isinstance(result, Result)
    assert zeros_of(result) == expected
    assert result.zeros == str(SIGNS[operator])


@pytest.mark.parametrize(
    ("operator", "x", "expected"),
    [
        ("Erf", [0, -0.0, 1e-40, 1], [EITHER, EITHER, "", ""]),
        ("Softplus", [-INF, -9999, 0], [EITHER, EITHER, ""]),
        ("HardSwish", [0, -0.0, -3, -9, 1], [EITHER, EITHER, EITHER, EITHER, ""]),
    ],
)
def test_zeros_of_functions_that_onnx_alone_has_are_open(
    operator: str, x: Sequence[float], expected: list[str]
) -> None:
    (result,) = meaning_of(operator, Node(22, {}, (F(x),)))
    assert zeros_of(result) == expected
    assert result.zeros == "open: ONNX has the function over the reals, where 0 has no sign"


@pytest.mark.parametrize("element_type", ["float16", "bfloat16", "double"])
def test_zeros_of_other_types_have_signs_too(element_type: str) -> None:
    dtype = ElementType(element_type).dtype
    (largest,) = meaning("Max", 21, {}, floats([0, -0.0], [-0.0, -0.0], dtype=dtype))
    (rectified,) = meaning("Relu", 21, {}, floats([-0.0, -1], dtype=dtype))
    assert [zeros_of(each) for each in (largest, rectified)] == [[PLUS, MINUS], [MINUS, EITHER]]


@pytest.mark.parametrize(
    ("window", "expected"), [([0, -0.0], EITHER), ([-0.0, -0.0], MINUS), ([-1, 0], PLUS)]
)
def test_zero_of_a_window_is_open_if_it_has_both(window: list[float], expected: str) -> None:
    (largest, _) = meaning("MaxPool", 21, {"kernel_shape": [2]}, floats([[window]]))
    assert zeros_of(largest) == [expected]


def test_source_is_said_of_each_operator_that_may_give_floats() -> None:
    assert set(SIGNS) <= set(OPERATIONS)
    computed = {name for name in COMPUTED if name in SIGNS_OF_ZEROS or OPERATIONS[name].moves}
    without_floats = {
        *("And", "ArgMax", "BitShift", "BitwiseAnd", "BitwiseOr", "BitwiseXor", "ConvInteger"),
        *("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Not", "Or"),
        *("QuantizeLinear", "Shape", "Xor"),
    }
    assert computed == COMPUTED - without_floats | {"Shape"}


@pytest.mark.parametrize("operator", sorted(SIGNS_OF_ZEROS))
def test_source_is_a_clause(operator: str) -> None:
    told = SIGNS_OF_ZEROS[operator]
    assert told.source
    assert not told.source.endswith(".")
    assert str(told) == f"{told.signs.value}: {told.source}"
    assert told.signs in Signs


def test_integers_have_no_signs_of_zeros() -> None:
    (result,) = meaning("Mul", 21, {}, [np.int32([0]), np.int32([-1])])
    assert result.zeros == ""


def test_nearest_zero_is_exact_and_another_one_only_where_it_is_open() -> None:
    (decided,) = meaning("Abs", 21, {}, floats([-0.0]))
    (opened,) = meaning("Relu", 21, {}, floats([-1]))
    (within_its_bound,) = meaning("Pow", 21, {}, floats([2.0**-75], [2]))
    found = F([-0.0])
    assert [each.exact(found).item() for each in (decided, opened, within_its_bound)] == [
        *(False, True, False)
    ]
    assert [each.outside(found).item() for each in (decided, opened, within_its_bound)] == [
        *(True, False, False)
    ]
