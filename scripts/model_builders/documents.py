"""The numeric examples of the profile's documents, results as printed there.

The `Broadcast` document has no numeric example.
"""

from collections.abc import Iterator

import numpy as np

from model_builders import graphs
from model_builders.bundle import (
    PRELIMINARY,
    TYPED,
    Bundle,
    bundle,
    case,
    float32,
    gives,
    in_both_editions,
    int32,
)
from model_builders.expected import quotients
from sonnx_ort.models import Source

DIV_PRELIMINARY = "SONNX Div, preliminary edition"
DIV_TYPED = "SONNX Div, typed edition"
SUB_PRELIMINARY = "SONNX Sub, preliminary edition"


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    yield from _div_examples_of_both_editions()
    yield from _div_numpy_examples()
    yield from _div_examples_of_the_typed_edition()
    yield from _sub_examples()


def _div_examples_of_both_editions() -> Iterator[Bundle]:
    for number, a, b, c in (
        (1, [6, 9, 35], [3, 3, 5], [2, 3, 7]),
        (2, [[3, 4], [16, 0], [25, 24]], [[3, 2], [4, 1], [5, 4]], [[1, 2], [4, 0], [5, 6]]),
    ):
        for tensor in (float32, int32):
            dtype, shape = tensor(a).dtype.name, tensor(a).shape
            yield bundle(
                f"div_example_{number}_{dtype}",
                f"The quotients of example {number} of both editions, in {dtype}.",
                graphs.binary("Div", dtype, shape, shape),
                in_both_editions(gives(C=tensor(c)), A=tensor(a), B=tensor(b)),
                Source(DIV_PRELIMINARY, f"Example {number}"),
                Source(DIV_TYPED, f"section real, Example {number}"),
            )


def _div_numpy_examples() -> Iterator[Bundle]:
    a = np.array([[1, 3], [5, 7], [9, 12]], np.float64)
    b = np.array([[11, 22], [33, -44], [-55, 66]], np.float64)
    yield bundle(
        "div_numpy_example",
        "The quotients of the document's numpy example, in double as numpy computes them.",
        graphs.binary("Div", np.float64, a.shape, b.shape),
        in_both_editions(gives(C=quotients(a, b)), A=a, B=b),
        Source(DIV_PRELIMINARY, "numpy example"),
    )
    yield bundle(
        "div_numpy_zero_divisor",
        "A positive number divided by 0 is inf in both editions.",
        graphs.binary("Div", np.float64, (1, 3), (1, 3)),
        in_both_editions(
            gives(C=np.array([[2.0, 3.0, np.inf]])),
            A=np.array([[6.0, 9.0, 35.0]]),
            B=np.array([[3.0, 3.0, 0.0]]),
        ),
        Source(DIV_PRELIMINARY, "numpy example with a division by 0"),
    )


def _div_examples_of_the_typed_edition() -> Iterator[Bundle]:
    section = "section FP16, FP32, FP64, BFLOAT16"
    model = graphs.binary("Div", np.float32, (3, 2), (3, 2))
    one, zero = (float32([[3, 4], [16, a], [25, 24]]) for a in (1, 0))
    b = float32([[3, 2], [4, 0], [5, 4]])
    inf = gives(C=float32([[1.0, 2.0], [4.0, np.inf], [5.0, 6.0]]))
    nan = gives(C=float32([[1.0, 2.0], [4.0, np.nan], [5.0, 6.0]]))
    yield bundle(
        "div_zero_divisor",
        "1/0 is inf in both editions.",
        model,
        in_both_editions(inf, A=one, B=b),
        Source(DIV_TYPED, f"{section}, first example"),
    )
    yield bundle(
        "div_zero_by_zero",
        "0/0 is NaN in the typed edition, and inf by the formula of the preliminary one.",
        model,
        [
            case("typed", TYPED, nan, A=zero, B=b),
            case("preliminary", PRELIMINARY, inf, A=zero, B=b),
        ],
        Source(DIV_TYPED, f"{section}, second example"),
        Source(DIV_PRELIMINARY, "formula of C"),
    )


def _sub_examples() -> Iterator[Bundle]:
    for number, a, b, c in (
        (1, [4, 7, 10], [1, 5, 3], [3, 2, 7]),
        (2, [[9, 5], [3, 8], [6, 2]], [[3, 2], [4, 1], [5, 1]], [[6, 3], [-1, 7], [1, 1]]),
    ):
        for tensor in (float32, int32):
            dtype, shape = tensor(a).dtype.name, tensor(a).shape
            yield bundle(
                f"sub_example_{number}_{dtype}",
                f"The differences of the document's example {number}, in {dtype}.",
                graphs.binary("Sub", dtype, shape, shape),
                in_both_editions(gives(C=tensor(c)), A=tensor(a), B=tensor(b)),
                Source(SUB_PRELIMINARY, f"Example {number}"),
            )
    yield bundle(
        "sub_numpy_example",
        "The differences of the document's numpy example, in int64 as numpy computes them.",
        graphs.binary("Sub", np.int64, (3, 2), (3, 2)),
        in_both_editions(
            gives(C=np.array([[-10, -20], [-30, 48], [60, 6]], np.int64)),
            A=np.array([[1, 2], [3, 4], [5, 6]], np.int64),
            B=np.array([[11, 22], [33, -44], [-55, 0]], np.int64),
        ),
        Source(SUB_PRELIMINARY, "numpy example"),
    )
