"""Div and Sub of opset 1 and 6, for which ONNX Runtime has no kernels."""

from collections.abc import Iterator

import numpy as np

from model_builders import graphs
from model_builders.bundle import (
    PRELIMINARY,
    TYPED,
    Array,
    Bundle,
    bundle,
    explicit,
    float32,
    gives,
    in_both_editions,
    rejected,
    rejected_even_explicitly,
)
from model_builders.expected import quotients, spread
from model_builders.onnx_page import ONNX_DIV
from sonnx_ort.models import Source

SHAPE = (2, 3, 4, 5)
BROADCASTS: tuple[tuple[str, tuple[int, ...], dict[str, int]], ...] = (
    ("scalar", (), {}),
    ("one_element", (1, 1), {}),
    ("last_axis", (5,), {}),
    ("last_axes", (4, 5), {}),
    ("axis_1", (3, 4), {"axis": 1}),
    ("axis_0", (2,), {"axis": 0}),
)
"""The shapes of B that the ONNX page lists for an A of `SHAPE`, with what they show."""


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for opset in (1, 6):
        legacy = {"consumed_inputs": [0, 0]} if opset == 1 else {}
        yield from _equal_shapes(opset, **legacy)
        yield _broadcasts(opset)
        yield _misfit(opset)
    yield _chain()


def _equal_shapes(opset: int, **attributes: graphs.Attribute) -> Iterator[Bundle]:
    dropped = "; consumed_inputs is dropped" if attributes else ""
    for operator, b, c in (("Div", [3, 3, 5], [2, 3, 7]), ("Sub", [1, 5, 3], [5, 4, 32])):
        yield bundle(
            f"{operator.lower()}_opset_{opset}",
            f"{operator} of opset {opset} on equal shapes runs{dropped}.",
            graphs.binary(operator, np.float32, (3,), (3,), opset, **attributes),
            in_both_editions(gives(C=float32(c)), A=float32([6, 9, 35]), B=float32(b)),
        )


def _broadcasts(opset: int) -> Bundle:
    a = _numbers(SHAPE)
    inputs, outputs = {"A": a}, {}
    for what, shape, attributes in BROADCASTS:
        b = inputs[f"B_{what}"] = _numbers(shape)
        dividends, divisors = spread(a, _lined_up(b, attributes.get("axis")))
        outputs[f"C_{what}"] = quotients(dividends, divisors)
    main = graphs.graph(
        [
            graphs.node("Div", f"A B_{what}", f"C_{what}", what, broadcast=1, **axis)
            for what, _, axis in BROADCASTS
        ],
        [graphs.value(name, np.float32, array.shape) for name, array in inputs.items()],
        [graphs.value(name, np.float32, SHAPE) for name in outputs],
    )
    return bundle(
        f"div_opset_{opset}_broadcast",
        f"Every shape that Div of opset {opset} takes with broadcast=1: rejected or made explicit.",
        graphs.model(main, opset=opset),
        [
            rejected(TYPED, *(("Div.float.R1", what) for what, _, _ in BROADCASTS)),
            rejected(
                PRELIMINARY,
                *((rule, what) for what, _, _ in BROADCASTS for rule in ("Div.R1", "Div.R4")),
            ),
            explicit(TYPED.value, TYPED, gives(**outputs), **inputs),
        ],
        Source(ONNX_DIV, f"Div - {opset}"),
    )


def _numbers(shape: tuple[int, ...]) -> Array:
    return float32(np.resize(range(1, 8), shape))


def _lined_up(b: Array, axis: int | None) -> Array:
    """Put sizes of 1 behind the own ones, so that the shape starts at the axis of `SHAPE`."""
    if axis is None:
        return b.reshape(()) if b.size == 1 else b
    return b.reshape(b.shape + (1,) * (len(SHAPE) - axis - b.ndim))


def _misfit(opset: int) -> Bundle:
    node = graphs.NODE_NAMES["Div"]
    return bundle(
        f"div_opset_{opset}_misfit",
        "With broadcast=1 and no axis, (3, 4) is not the end of (2, 3, 4, 5): always rejected.",
        graphs.binary("Div", np.float32, SHAPE, (3, 4), opset, broadcast=1),
        [
            rejected(TYPED, ("Div.float.R1", node)),
            rejected_even_explicitly(TYPED, ("Div.float.R1", node)),
        ],
        Source(ONNX_DIV, f"Div - {opset}"),
    )


def _chain() -> Bundle:
    inputs = {
        "X": float32([[1, 4, -9], [9, 0, 1]]),
        "mean": float32([[5, 2, 3], [5, 2, 3]]),
        "std": float32([[2, 4, 8], [2, 4, 8]]),
    }
    main = graphs.graph(
        [
            graphs.node("Sub", "X mean", "centred"),
            graphs.node("Div", "centred std", "scaled"),
            graphs.node("Relu", "scaled", "C"),
        ],
        [graphs.value(name, np.float32, (2, 3)) for name in inputs],
        [graphs.value("C", np.float32, (2, 3))],
    )
    expected = gives(C=float32([[0.0, 0.5, 0.0], [2.0, 0.0, 0.0]]))
    return bundle(
        "normalization_opset_6",
        "Sub, Div and another operator of opset 6 in one model.",
        graphs.model(main, opset=6),
        in_both_editions(expected, **inputs),
    )
