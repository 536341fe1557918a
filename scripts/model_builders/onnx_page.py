"""The examples of the ONNX page on `Div`, its random tensors drawn from a fixed seed."""

from collections.abc import Iterator

import numpy as np

from model_builders import graphs
from model_builders.bundle import (
    PRELIMINARY,
    TYPED,
    Bundle,
    broadcast_cases,
    bundle,
    float32,
    gives,
    in_both_editions,
    rejected,
)
from model_builders.expected import quotients
from sonnx_ort.models import Source

ONNX_DIV = "ONNX, operator Div"
SHAPE = (3, 4, 5)
SEED = 0


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    yield bundle(
        "onnx_div_example",
        "The quotients of the ONNX page's first example.",
        graphs.binary("Div", np.float32, (2,), (2,)),
        in_both_editions(gives(C=float32([3, 2])), A=float32([3, 4]), B=float32([1, 2])),
        Source(ONNX_DIV, "test_div_example"),
    )
    draw = np.random.RandomState(SEED)
    yield from _random_examples(draw)
    a, b = float32(draw.randn(*SHAPE)), float32(draw.rand(SHAPE[-1])) + np.float32(1)
    node = graphs.NODE_NAMES["Div"]
    yield bundle(
        "onnx_div_broadcast",
        "ONNX broadcasts (5,) to (3, 4, 5); the profile rejects it, or has it written out.",
        graphs.binary("Div", np.float32, SHAPE, SHAPE[-1:]),
        [
            rejected(TYPED, ("Div.float.R1", node)),
            rejected(PRELIMINARY, ("Div.R1", node), ("Div.R4", node)),
            *broadcast_cases("Div", a, b),
        ],
        Source(ONNX_DIV, "test_div_bcast"),
    )


def _random_examples(draw: np.random.RandomState) -> Iterator[Bundle]:
    a, b = float32(draw.randn(*SHAPE)), float32(draw.rand(*SHAPE)) + np.float32(1)
    yield bundle(
        "onnx_div_random",
        "Sixty random quotients in float32, each the nearest to the exact one.",
        graphs.binary("Div", np.float32, SHAPE, SHAPE),
        in_both_editions(gives(C=quotients(a, b)), A=a, B=b),
        Source(ONNX_DIV, "test_div"),
    )
    x = draw.randint(24, size=SHAPE, dtype=np.uint8)
    y = draw.randint(24, size=SHAPE, dtype=np.uint8) + np.uint8(1)
    yield bundle(
        "onnx_div_uint8",
        "Sixty random quotients in uint8, truncated.",
        graphs.binary("Div", np.uint8, SHAPE, SHAPE),
        in_both_editions(gives(C=quotients(x, y)), A=x, B=y),
        Source(ONNX_DIV, "test_div_uint8"),
    )
