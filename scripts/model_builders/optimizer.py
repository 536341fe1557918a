"""What an optimizer would change."""

from collections.abc import Iterator

import numpy as np

from model_builders import graphs
from model_builders.bundle import Bundle, bundle, float32, gives, in_both_editions
from model_builders.expected import quotients


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    one, x, y = float32([1]), float32([49]), float32(range(1, 17))
    # A double holds the product of two float32 exactly, so that the cast is the only rounding.
    product = quotients(one, x).astype(np.float64) * y.astype(np.float64)
    expected = gives(C=product.astype(np.float32))
    main = graphs.graph(
        [graphs.node("Div", "one x", "reciprocal"), graphs.node("Mul", "reciprocal y", "C")],
        [graphs.value("x", np.float32, (1,)), graphs.value("y", np.float32, ("n",))],
        [graphs.value("C", np.float32, ("n",))],
        [graphs.constant("one", one)],
    )
    yield bundle(
        "reciprocal_product",
        "(1/x) * y is rounded twice; ONNX Runtime's optimizer may not make y/x of it.",
        graphs.model(main),
        in_both_editions(expected, x=x, y=y),
    )
