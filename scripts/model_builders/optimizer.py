"""What an optimizer would change."""

from collections.abc import Iterator

import numpy as np

from model_builders.bundle import Bundle, bundle, float32, in_both_editions
from model_builders.expected import quotients
from model_builders.graphs import parse


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    one, x, y = float32([1]), float32([49]), float32(range(1, 17))
    # A double holds the product of two float32 exactly, so that the cast is the only rounding.
    product = quotients(one, x).astype(np.float64) * y.astype(np.float64)
    text = """(float[1] x, float[n] y) => (float[n] C) {
        [divide] reciprocal = Div(one, x)
        C = Mul(reciprocal, y)
    }"""
    yield bundle(
        "reciprocal_product",
        "(1/x) * y is rounded twice; ONNX Runtime's optimizer may not make y/x of it.",
        parse(text, constants={"one": one}),
        in_both_editions(product.astype(np.float32), x=x, y=y),
    )
