"""The numeric examples of the profile's documents and of the ONNX page on `Div`.

Results are as printed there, where they are printed; the `Broadcast` document has no numeric
example. The random tensors of the ONNX page are drawn from a fixed seed.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from model_builders.bundle import (
    PRELIMINARY,
    Array,
    Bundle,
    binary,
    bundle,
    case,
    explicit_runs,
    float32,
    in_both_editions,
    int32,
    rejections,
)
from model_builders.expected import quotients
from sonnx_ort.models import Citation

ONNX_DIV = "ONNX, operator Div"
_DIV_PRELIMINARY = "SONNX Div, preliminary edition"
_DIV_TYPED = "SONNX Div, typed edition"
_SUB_PRELIMINARY = "SONNX Sub, preliminary edition"

_PRINTED: Mapping[str, Sequence[Sequence[npt.ArrayLike]]] = {
    "Div": (
        ([6, 9, 35], [3, 3, 5], [2, 3, 7]),
        ([[3, 4], [16, 0], [25, 24]], [[3, 2], [4, 1], [5, 4]], [[1, 2], [4, 0], [5, 6]]),
    ),
    "Sub": (
        ([4, 7, 10], [1, 5, 3], [3, 2, 7]),
        ([[9, 5], [3, 8], [6, 2]], [[3, 2], [4, 1], [5, 1]], [[6, 3], [-1, 7], [1, 1]]),
    ),
}
"""A, B and C of the examples that are numbered."""

_SEED = 0


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    yield from _div_examples()
    yield from _sub_examples()
    yield from _onnx_div_examples()


def _example(
    name: str, shows: str, operator: str, operands: Sequence[Array], c: Array, *sources: Citation
) -> Bundle:
    """Give the model of an example that has one result in both editions."""
    a, b = operands
    cases = in_both_editions(c, A=a, B=b)
    return bundle(name, shows, binary(operator, c), cases, *sources)


def _div_examples() -> Iterator[Bundle]:
    for number, numbers in enumerate(_PRINTED["Div"], start=1):
        for *operands, c in (map(float32, numbers), map(int32, numbers)):
            yield _example(
                f"div_example_{number}_{c.dtype}",
                f"The quotients of example {number} of both editions, in {c.dtype}.",
                *("Div", operands, c),
                Citation(_DIV_PRELIMINARY, f"Example {number}"),
                Citation(_DIV_TYPED, f"section real, Example {number}"),
            )
    a = np.array([[1, 3], [5, 7], [9, 12]], np.float64)
    b = np.array([[11, 22], [33, -44], [-55, 66]], np.float64)
    yield _example(
        "div_numpy_example",
        "The quotients of the document's numpy example, in double as numpy computes them.",
        *("Div", (a, b), quotients(a, b)),
        Citation(_DIV_PRELIMINARY, "numpy example"),
    )
    a, b = np.array([[6.0, 9.0, 35.0]]), np.array([[3.0, 3.0, 0.0]])
    yield _example(
        "div_numpy_zero_divisor",
        "A positive number divided by 0 is inf in both editions.",
        *("Div", (a, b), np.array([[2.0, 3.0, np.inf]])),
        Citation(_DIV_PRELIMINARY, "numpy example with a division by 0"),
    )
    section = "section FP16, FP32, FP64, BFLOAT16"
    one, zero = (float32([[3, 4], [16, a], [25, 24]]) for a in (1, 0))
    b = float32([[3, 2], [4, 0], [5, 4]])
    inf, nan = (float32([[1.0, 2.0], [4.0, c], [5.0, 6.0]]) for c in (np.inf, np.nan))
    yield _example(
        "div_zero_divisor",
        "1/0 is inf in both editions.",
        *("Div", (one, b), inf),
        Citation(_DIV_TYPED, f"{section}, first example"),
    )
    yield bundle(
        "div_zero_by_zero",
        "0/0 is NaN in the typed edition, and inf by the formula of the preliminary one.",
        binary("Div", b),
        [
            case("typed", nan, A=zero, B=b),
            case("preliminary", inf, PRELIMINARY, A=zero, B=b),
        ],
        Citation(_DIV_TYPED, f"{section}, second example"),
        Citation(_DIV_PRELIMINARY, "formula of C"),
    )


def _sub_examples() -> Iterator[Bundle]:
    for number, numbers in enumerate(_PRINTED["Sub"], start=1):
        for *operands, c in (map(float32, numbers), map(int32, numbers)):
            yield _example(
                f"sub_example_{number}_{c.dtype}",
                f"The differences of the document's example {number}, in {c.dtype}.",
                *("Sub", operands, c),
                Citation(_SUB_PRELIMINARY, f"Example {number}"),
            )
    a, b = [[1, 2], [3, 4], [5, 6]], [[11, 22], [33, -44], [-55, 0]]
    yield _example(
        "sub_numpy_example",
        "The differences of the document's numpy example, in int64 as numpy computes them.",
        *("Sub", (np.array(a), np.array(b)), np.array([[-10, -20], [-30, 48], [60, 6]])),
        Citation(_SUB_PRELIMINARY, "numpy example"),
    )


def _onnx_div_examples() -> Iterator[Bundle]:
    a, b, c = map(float32, ([3, 4], [1, 2], [3, 2]))
    yield _example(
        "onnx_div_example",
        "The quotients of the ONNX page's first example.",
        *("Div", (a, b), c),
        Citation(ONNX_DIV, "test_div_example"),
    )
    draw, shape = np.random.RandomState(_SEED), (3, 4, 5)
    a, b = float32(draw.randn(*shape)), float32(draw.rand(*shape)) + np.float32(1)
    yield _example(
        "onnx_div_random",
        "Sixty random quotients in float32, each the nearest to the exact one.",
        *("Div", (a, b), quotients(a, b)),
        Citation(ONNX_DIV, "test_div"),
    )
    a, b = (draw.randint(24, size=shape, dtype=np.uint8) + np.uint8(least) for least in (0, 1))
    yield _example(
        "onnx_div_uint8",
        "Sixty random quotients in uint8, truncated.",
        *("Div", (a, b), quotients(a, b)),
        Citation(ONNX_DIV, "test_div_uint8"),
    )
    a, b = float32(draw.randn(*shape)), float32(draw.rand(shape[-1])) + np.float32(1)
    yield bundle(
        "onnx_div_broadcast",
        "ONNX broadcasts (5,) to (3, 4, 5); the profile rejects it, or has it written out.",
        binary("Div", a, a.shape, b.shape),
        [
            *rejections("Div.float.R1", "Div.R1 Div.R4"),
            *explicit_runs("Div", a, b),
        ],
        Citation(ONNX_DIV, "test_div_bcast"),
    )
