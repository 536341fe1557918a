"""Integer division, where C1 and C2 can be broken, and subtraction, which wraps."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnx

from model_builders import graphs
from model_builders.bundle import (
    PRELIMINARY,
    TYPED,
    Array,
    Bundle,
    breaks,
    bundle,
    case,
    gives,
    in_both_editions,
    int32,
    rejected,
)
from model_builders.expected import differences, quotients
from sonnx_ort.models import Case

IntegerType = np.dtype[np.integer[Any]]

SIGNED: tuple[IntegerType, ...] = tuple(np.dtype(f"int{bits}") for bits in (8, 16, 32, 64))
UNSIGNED: tuple[IntegerType, ...] = tuple(np.dtype(f"uint{bits}") for bits in (8, 16, 32, 64))

_DIVIDE = graphs.NODE_NAMES["Div"]
_ANY_LENGTH = ("n",)


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for dtype in SIGNED:
        yield _signed_quotients(dtype)
    for dtype in UNSIGNED:
        yield _unsigned_quotients(dtype)
    for dtype in (*SIGNED, *UNSIGNED):
        yield _wrapping_differences(dtype)
    yield bundle(
        "div_constant_divisor",
        "A constant divisor without zeros keeps C1 in every run.",
        _divided_by(int32([3, -4, 5])),
        in_both_editions(gives(C=int32([3, -2, -2])), A=int32([10, 10, -10])),
    )
    yield bundle(
        "div_constant_zero_divisor",
        "A constant integer divisor with a zero in it is rejected before any run.",
        _divided_by(int32([3, 0, 5])),
        [
            rejected(TYPED, ("Div.int.C1", _DIVIDE)),
            rejected(PRELIMINARY, ("Div.R5", _DIVIDE)),
        ],
    )


def _signed_quotients(dtype: IntegerType) -> Bundle:
    smallest, largest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    a = np.array([-7, 7, -7, 7, smallest, smallest, largest, largest, -1, 0], dtype)
    b = np.array([2, -2, -2, 2, 2, 1, -1, smallest, largest, smallest], dtype)
    x, y = np.array([smallest, -7, smallest], dtype), np.array([1, -1, -1], dtype)
    beyond = breaks("Div.int.C2", _DIVIDE, x, y, (2,))
    return bundle(
        f"div_{dtype.name}",
        f"Quotients in {dtype.name} are truncated towards zero; x/0 and smallest/-1 are refused.",
        graphs.binary("Div", dtype, _ANY_LENGTH, _ANY_LENGTH),
        [
            *in_both_editions(gives(C=quotients(a, b)), A=a, B=b),
            *_zero_divisors(np.array([6, -5, 0], dtype), np.array([3, 0, 0], dtype)),
            case("smallest/-1 typed", TYPED, beyond, A=x, B=y),
            case("smallest/-1 preliminary", PRELIMINARY, beyond, A=x, B=y),
        ],
    )


def _unsigned_quotients(dtype: IntegerType) -> Bundle:
    largest = int(np.iinfo(dtype).max)
    a = np.array([7, 6, 0, largest, largest, largest, largest - 1], dtype)
    b = np.array([2, 7, 5, 1, 2, largest, largest], dtype)
    return bundle(
        f"div_{dtype.name}",
        f"Quotients in {dtype.name} are truncated; x/0 is refused.",
        graphs.binary("Div", dtype, _ANY_LENGTH, _ANY_LENGTH),
        [
            *in_both_editions(gives(C=quotients(a, b)), A=a, B=b),
            *_zero_divisors(np.array([6, 5, 0], dtype), np.array([3, 0, 0], dtype)),
        ],
    )


def _zero_divisors(a: Array, b: Array) -> Iterator[Case]:
    """Give the cases of operands whose first zero divisor stands at index 1."""
    for edition, rule in ((TYPED, "Div.int.C1"), (PRELIMINARY, "Div.R5")):
        yield case(f"x/0 {edition}", edition, breaks(rule, _DIVIDE, a, b, (1,)), A=a, B=b)


def _wrapping_differences(dtype: IntegerType) -> Bundle:
    smallest, largest = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    a = np.array([smallest, largest, smallest, 0, 0, 5, largest], dtype)
    b = np.array([1, smallest, largest, smallest, largest, 3, largest], dtype)
    return bundle(
        f"sub_{dtype.name}",
        f"Differences in {dtype.name} wrap modulo 2^{8 * dtype.itemsize}.",
        graphs.binary("Sub", dtype, _ANY_LENGTH, _ANY_LENGTH),
        in_both_editions(gives(C=differences(a, b)), A=a, B=b),
    )


def _divided_by(divisor: Array) -> onnx.ModelProto:
    return graphs.model(
        graphs.graph(
            [graphs.node("Div", "A B", "C")],
            [graphs.value("A", divisor.dtype, divisor.shape)],
            [graphs.value("C", divisor.dtype, divisor.shape)],
            [graphs.constant("B", divisor)],
        )
    )
