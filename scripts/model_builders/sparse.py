"""Sparse tensors, which the profile does not support."""

from collections.abc import Iterator

import numpy as np
from onnx import helper

from model_builders import graphs
from model_builders.bundle import PRELIMINARY, TYPED, Bundle, bundle, float32, rejected
from model_builders.graphs import NODE_NAMES

_DIVIDE = NODE_NAMES["Div"]


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    elements = graphs.constant("B", float32([3, 5]))
    indices = graphs.constant("B_indices", np.array([0, 2], np.int64))
    main = graphs.graph(
        [graphs.node("Div", "A B", "C")],
        [graphs.value("A", np.float32, (3,))],
        [graphs.value("C", np.float32, (3,))],
    )
    main.sparse_initializer.append(helper.make_sparse_tensor(elements, indices, [3]))
    yield bundle(
        "div_sparse_initializer",
        "A sparse divisor is rejected before any run.",
        graphs.model(main),
        [
            rejected(TYPED, ("Div.float.RG1", _DIVIDE)),
            rejected(PRELIMINARY, ("Div.R2", _DIVIDE)),
        ],
    )
