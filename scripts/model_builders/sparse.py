"""Sparse tensors, which the profile does not support."""

from collections.abc import Iterator

import numpy as np
from onnx import helper, numpy_helper

from model_builders.bundle import Bundle, bundle, float32, rejections
from model_builders.graphs import parse


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    model = parse("(float[3] A) => (float[3] C) { [divide] C = Div(A, B) }")
    elements = numpy_helper.from_array(float32([3, 5]), "B")
    indices = numpy_helper.from_array(np.array([0, 2], np.int64), "B_indices")
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(elements, indices, [3]))
    yield bundle(
        "div_sparse_initializer",
        "A sparse divisor is rejected before any run.",
        model,
        rejections("Div.float.RG1", "Div.R2"),
    )
