"""The operators that have no result for some elements, and those that have one for all of them."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from model_builders.bundle import Array, Bundle, bundle, case, float32, int32
from model_builders.elementwise import model, one_node
from model_builders.expected import NODE_NAMES, elementwise_outcome, node_outcome
from model_builders.graphs import parse
from sonnx_ort.models import Case, Outputs

_SMALLEST = -(2**31)
_INF, _NAN = np.inf, np.nan
_FLOATS = float32([1, 0, -0.0, -1, _INF, -_INF, _NAN])
"""None with an irrational logarithm is among them: machines differ in the last bit of those."""


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    yield _magnitudes()
    yield _shifts()
    yield _remainders()
    yield _powers()
    yield _compared("Max", "0 is the larger")
    yield _compared("Min", "3000000000 the smaller")
    yield _functions_of_floats()
    yield _angles()
    yield _conversions()


def _magnitudes() -> Bundle:
    x = int32([-7, 7, 0, _SMALLEST + 1])
    return bundle(
        "abs_int32",
        "The smallest integer has no magnitude in its type: ONNX Runtime gives it back, negative.",
        model("Abs", x),
        [one_node("in the type", "Abs", x), one_node("smallest", "Abs", int32([1, _SMALLEST]))],
    )


def _shifts() -> Bundle:
    x, y = _uint8([1, 1, 255, 0]), _uint8([0, 7, 4, 7])
    return bundle(
        "bit_shift_uint8",
        "A shift by all bits or more is refused: versions of ONNX Runtime differ in its result.",
        model("BitShift", x, y, attributes='<direction = "LEFT">'),
        [
            one_node("within the width", "BitShift", x, y),
            one_node("by the width", "BitShift", x, _uint8([0, 7, 8, 9])),
            one_node("n and 1", "BitShift", x, y[:1]),
        ],
    )


def _remainders() -> Bundle:
    a, b = int32([7, -7, 7, -7, _SMALLEST, -1]), int32([3, 3, -3, -3, 10, _SMALLEST])
    return bundle(
        "mod_int32",
        "x % 0 and smallest % -1 are refused; ONNX Runtime up to 1.31.1 dies of the latter.",
        model("Mod", a, b),
        [
            one_node("sign of the divisor", "Mod", a, b),
            one_node("x % 0", "Mod", int32([7, 8, 9]), int32([3, 0, 0])),
            one_node("smallest % -1", "Mod", int32([7, _SMALLEST]), int32([-1, -1])),
            one_node("n and 1", "Mod", a, b[:1]),
        ],
    )


def _powers() -> Bundle:
    x, y = int32([2, -3, 7, 0, -1]), int32([10, 3, 0, 0, 31])
    return bundle(
        "pow_int32",
        "Of 0 to the power -1 ONNX Runtime makes -2147483648; negative exponents are refused.",
        model("Pow", x, y),
        [
            one_node("small", "Pow", x, y),
            one_node("0 to the power -1", "Pow", int32([3, 2, 0]), int32([1, 0, -1])),
            one_node("n and 1", "Pow", x, y[:1]),
        ],
    )


def _compared(operator: str, mistake: str) -> Bundle:
    within = np.array([5, -6, 2**31 - 1]), np.array([3, 0, _SMALLEST])
    beyond = np.array([5, 3_000_000_000]), np.array([3, 0])
    return bundle(
        f"{operator.lower()}_int64",
        f"Of 3000000000 and 0, {mistake} up to ONNX Runtime 1.31.1; beyond int32 is refused.",
        model(operator, *within),
        [
            one_node("within int32", operator, *within),
            one_node("beyond int32", operator, *beyond),
        ],
    )


def _functions_of_floats() -> Bundle:
    results = {
        "Negative": _result("Neg"),
        "Inverse": _result("Reciprocal"),
        "Root": _result("Sqrt"),
        "Logarithm": _result("Log"),
    }
    made = case("zeros, below zero, infinite, NaN", Outputs(results), X=_FLOATS)
    declared = ", ".join(f"float[n] {name}" for name in results)
    text = f"""(float[n] X) => ({declared}) {{
        [{NODE_NAMES["Neg"]}] Negative = Neg(X)
        [{NODE_NAMES["Reciprocal"]}] Inverse = Reciprocal(X)
        [{NODE_NAMES["Sqrt"]}] Root = Sqrt(X)
        [{NODE_NAMES["Log"]}] Logarithm = Log(X)
    }}"""
    return bundle(
        "functions_of_every_float",
        "Neg, Reciprocal, Sqrt and Log have a result for every float; none is refused.",
        parse(text),
        [replace(made, operators="Neg,Reciprocal,Sqrt,Log")],
    )


def _angles() -> Bundle:
    x = float32([1, _NAN])
    return bundle(
        "acos_float",
        "1.5 is no cosine: ONNX Runtime makes NaN of it without a word.",
        model("Acos", x),
        [
            one_node("cosines", "Acos", x),
            one_node("no cosine", "Acos", float32([0.5, 1.5])),
        ],
    )


def _conversions() -> Bundle:
    return bundle(
        "cast_float_to_int32",
        "ONNX leaves undefined what int32 cannot hold; 2^31 becomes -2147483648 on one machine.",
        parse(f"(float[n] X) => (int32[n] Y) {{ [{NODE_NAMES['Cast']}] Y = Cast <to = 6> (X) }}"),
        [
            _to_int32("in the type", float32([-0.5, 2.75, -(2.0**31), 2147483520])),
            _to_int32("2^31", float32([1, 2147483648])),
            _to_int32("-3e9", float32([-3.0e9, 1])),
        ],
    )


def _to_int32(name: str, x: Array) -> Case:
    return replace(case(name, node_outcome("Cast", {"X": x}, {"to": 6}), X=x), operators="Cast")


def _result(operator: str) -> Array:
    """What the oracle computes of the floats, in the typed edition."""
    found = elementwise_outcome(operator, _FLOATS)
    if isinstance(found, Outputs):
        return next(iter(found.values.values()))
    raise ValueError(f"the operands break {found.rule}")


def _uint8(elements: npt.ArrayLike) -> Array:
    return np.array(elements, np.uint8)
