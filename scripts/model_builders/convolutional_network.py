"""Convolution in numpy, and a small classifier made of it: what it computes, and its training.

The classifier has two convolutions of 3 by 3, each with Relu and a maximum of 2 by 2, then a dense
layer. One seed gives one network; sums of products may differ in the last bit elsewhere.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Parameters = Mapping[str, Array]
"""What is trained: kernels_1, bias_1, kernels_2, bias_2, weights, bias."""

SIZE = 8
"""Images have as many rows and columns."""

_SEED = 0
_CHANNELS = (8, 32)
_CLASSES = 10
_EPOCHS = 20
_BATCH = 32
_RATE, _MOMENTUM = 0.05, 0.9


def scores(parameters: Parameters, images: Array) -> Array:
    """Compute a score for each class; that of the highest is predicted.

    Args:
        parameters: Of the network.
        images: Of shape (images, 1, 8, 8).

    Returns:
        An array of shape (images, classes).
    """
    return _layers(parameters, images)[-1]


def train(images: Array, labels: Array, epochs: int = _EPOCHS) -> Parameters:
    """Train by gradient descent with momentum on the cross-entropy of Softmax.

    The rate falls from epoch to epoch.

    Args:
        images: Of shape (images, 1, 8, 8).
        labels: The class of each image, from 0.
        epochs: How often each image is shown.
    """
    draw = np.random.RandomState(_SEED)
    parameters = _drawn(draw)
    changes = {name: np.zeros_like(array) for name, array in parameters.items()}
    for epoch in range(epochs):
        rate = _RATE * (1 - epoch / epochs)
        for batch in np.array_split(draw.permutation(len(images)), -(-len(images) // _BATCH)):
            for name, gradient in _gradients(parameters, images[batch], labels[batch]).items():
                changes[name] = _MOMENTUM * changes[name] - rate * gradient
                parameters[name] += changes[name]
    return parameters


def convolved(images: Array, kernels: Array, bias: Array) -> Array:
    """Convolve images, with a border of zeros that keeps their size.

    Args:
        images: Of shape (images, inputs, rows, columns).
        kernels: Of shape (outputs, inputs, size, size); the size is odd.
        bias: Of shape (outputs,).
    """
    products = np.tensordot(_windows(images, kernels.shape[-1]), kernels, ((1, 4, 5), (1, 2, 3)))
    return np.moveaxis(products + bias, -1, 1)


def blocks(images: Array) -> Array:
    """View blocks of 2 by 2: their elements lie along the axes 3 and 5."""
    count, channels, rows, columns = images.shape
    return images.reshape(count, channels, rows // 2, 2, columns // 2, 2)


def _drawn(draw: np.random.RandomState) -> dict[str, Array]:
    """Draw weights of a variance of two over the number of inputs; biases are 0."""
    first, second = _CHANNELS
    features = second * (SIZE // 4) ** 2
    return {
        "kernels_1": draw.normal(scale=np.sqrt(2 / 9), size=(first, 1, 3, 3)),
        "bias_1": np.zeros(first),
        "kernels_2": draw.normal(scale=np.sqrt(2 / (9 * first)), size=(second, first, 3, 3)),
        "bias_2": np.zeros(second),
        "weights": draw.normal(scale=np.sqrt(2 / features), size=(features, _CLASSES)),
        "bias": np.zeros(_CLASSES),
    }


def _layers(parameters: Parameters, images: Array) -> tuple[Array, Array, Array, Array, Array]:
    """Compute both convolutions after Relu, their maxima, and the scores."""
    active_1 = np.maximum(convolved(images, parameters["kernels_1"], parameters["bias_1"]), 0)
    pooled_1 = blocks(active_1).max((3, 5))
    active_2 = np.maximum(convolved(pooled_1, parameters["kernels_2"], parameters["bias_2"]), 0)
    pooled_2 = blocks(active_2).max((3, 5))
    scored = pooled_2.reshape(len(images), -1) @ parameters["weights"] + parameters["bias"]
    return active_1, pooled_1, active_2, pooled_2, scored


def _gradients(parameters: Parameters, images: Array, labels: Array) -> dict[str, Array]:
    """Differentiate the mean cross-entropy by each parameter."""
    active_1, pooled_1, active_2, pooled_2, scored = _layers(parameters, images)
    by_scores = np.exp(scored - scored.max(1, keepdims=True))
    by_scores /= by_scores.sum(1, keepdims=True)
    by_scores[np.arange(len(labels)), labels] -= 1
    by_scores /= len(labels)
    by_pooled_2 = (by_scores @ parameters["weights"].T).reshape(pooled_2.shape)
    by_convolved_2 = _unpooled(by_pooled_2, pooled_2, active_2)
    turned = parameters["kernels_2"].swapaxes(0, 1)[:, :, ::-1, ::-1]
    by_pooled_1 = convolved(by_convolved_2, turned, np.zeros(len(turned)))
    by_convolved_1 = _unpooled(by_pooled_1, pooled_1, active_1)
    return {
        "kernels_1": _by_kernels(by_convolved_1, images),
        "bias_1": by_convolved_1.sum((0, 2, 3)),
        "kernels_2": _by_kernels(by_convolved_2, pooled_1),
        "bias_2": by_convolved_2.sum((0, 2, 3)),
        "weights": pooled_2.reshape(len(images), -1).T @ by_scores,
        "bias": by_scores.sum(0),
    }


def _by_kernels(by_convolved: Array, images: Array) -> Array:
    return np.tensordot(by_convolved, _windows(images, 3), ((0, 2, 3), (0, 2, 3)))


def _unpooled(by_pooled: Array, pooled: Array, active: Array) -> Array:
    """Give the gradient to the elements that are their block's maximum and that Relu let pass."""
    chosen: Array = (blocks(active) == pooled[:, :, :, None, :, None]) & (blocks(active) > 0)
    # Where nothing is drawn, a block has several maxima: they share the gradient.
    shares: Array = chosen / np.maximum(chosen.sum((3, 5), keepdims=True), 1)
    return (shares * by_pooled[:, :, :, None, :, None]).reshape(active.shape)


def _windows(images: Array, size: int) -> Array:
    """View the elements around each, so many by so many, as two more axes."""
    border = ((0, 0), (0, 0), (size // 2, size // 2), (size // 2, size // 2))
    return np.lib.stride_tricks.sliding_window_view(np.pad(images, border), (size, size), (2, 3))
