"""Integer division, where C1 and C2 can be broken, and subtraction, which wraps."""

from collections.abc import Iterator

import numpy as np
import onnx

from model_builders.bundle import (
    Array,
    Bundle,
    binary,
    bundle,
    in_both_editions,
    int32,
    rejections,
    runs,
)
from model_builders.graphs import parse

_BITS = (8, 16, 32, 64)


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for bits in _BITS:
        yield _signed_quotients(np.iinfo(f"int{bits}"))
    for bits in _BITS:
        yield _unsigned_quotients(np.iinfo(f"uint{bits}"))
    for sign in ("", "u"):
        for bits in _BITS:
            yield _wrapping_differences(np.iinfo(f"{sign}int{bits}"))
    yield bundle(
        "div_constant_divisor",
        "A constant divisor without zeros keeps C1 in every run.",
        _divided_by(int32([3, -4, 5])),
        in_both_editions(int32([3, -2, -2]), A=int32([10, 10, -10])),
    )
    yield bundle(
        "div_constant_zero_divisor",
        "A constant integer divisor with a zero in it is rejected before any run.",
        _divided_by(int32([3, 0, 5])),
        rejections("Div.int.C1", "Div.R5"),
    )


def _signed_quotients(limits: np.iinfo) -> Bundle:
    dtype, smallest, largest = limits.dtype, limits.min, limits.max
    a = np.array([-7, 7, -7, 7, smallest, smallest, largest, largest, -1, 0], dtype)
    b = np.array([2, -2, -2, 2, 2, 1, -1, smallest, largest, smallest], dtype)
    return bundle(
        f"div_{dtype}",
        f"Quotients in {dtype} are truncated towards zero; x/0 and smallest/-1 are refused.",
        binary("Div", a, ("n",)),
        [
            *runs("Div", a, b),
            *runs("Div", np.array([6, -5, 0], dtype), np.array([3, 0, 0], dtype), "x/0"),
            *runs(
                "Div",
                np.array([smallest, -7, smallest], dtype),
                np.array([1, -1, -1], dtype),
                "smallest/-1",
            ),
        ],
    )


def _unsigned_quotients(limits: np.iinfo) -> Bundle:
    dtype, largest = limits.dtype, limits.max
    a = np.array([7, 6, 0, largest, largest, largest, largest - 1], dtype)
    b = np.array([2, 7, 5, 1, 2, largest, largest], dtype)
    return bundle(
        f"div_{dtype}",
        f"Quotients in {dtype} are truncated; x/0 is refused.",
        binary("Div", a, ("n",)),
        [
            *runs("Div", a, b),
            *runs("Div", np.array([6, 5, 0], dtype), np.array([3, 0, 0], dtype), "x/0"),
        ],
    )


def _wrapping_differences(limits: np.iinfo) -> Bundle:
    dtype, smallest, largest = limits.dtype, limits.min, limits.max
    a = np.array([smallest, largest, smallest, 0, 0, 5, largest], dtype)
    b = np.array([1, smallest, largest, smallest, largest, 3, largest], dtype)
    return bundle(
        f"sub_{dtype}",
        f"Differences in {dtype} wrap modulo 2^{limits.bits}.",
        binary("Sub", a, ("n",)),
        runs("Sub", a, b),
    )


def _divided_by(divisor: Array) -> onnx.ModelProto:
    text = "(int32[3] A) => (int32[3] C) { [divide] C = Div(A, B) }"
    return parse(text, constants={"B": divisor})
