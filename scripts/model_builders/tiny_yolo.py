"""A network with the layers of Tiny YOLO v2; its weights are made up, and detect nothing.

The network is that of J. Redmon and A. Farhadi (2016), YOLO9000, as the ONNX model zoo has it:
eight times Conv, BatchNormalization and LeakyRelu, with a MaxPool after each of the first six, and
a Conv of 1 by 1 that gives 125 numbers for each cell: five boxes, each with four coordinates, a
score and twenty classes. The last MaxPool has stride 1, and pads one row and one column at the
end to keep the size. The image has 64 by 64 pixels here in the place of 416 by 416, and the
layers have 4 to 32 channels in the place of 16 to 1024. The scaling of the pixels, which
broadcasts, is omitted.
"""

from collections.abc import Iterator, Mapping

import numpy as np
import onnx

from model_builders.bundle import Bundle, Use, bundle
from model_builders.convolutional_network import blocks, convolved
from model_builders.graphs import parse
from model_builders.outcome import Array
from sonnx_ort.models import Approximation

_SEED = 0
_SIZE = 64
_CHANNELS = (4, 8, 8, 16, 16, 32, 32, 32)
_POOLED = 6
"""The last layer with a MaxPool, the only one of stride 1."""

_NUMBERS = 125
_ALPHA, _EPSILON = 0.1, 1e-5
_NORMALIZATION = f"epsilon = {_EPSILON:f}, momentum = 0.9, training_mode = 0"
_STATISTICS = ("scale", "bias", "mean", "variance")
_TOLERANCE = 1e-4


def bundles() -> Iterator[Bundle]:
    """Give the model; what it has to compute is computed in double."""
    draw = np.random.RandomState(_SEED)
    constants = _drawn(draw)
    image = draw.uniform(size=(1, 3, _SIZE, _SIZE)).astype(np.float32)
    grid = _computed(constants, image).astype(np.float32)
    expected = Approximation({"grid": grid}, _TOLERANCE)
    yield bundle(
        "tiny_yolo_v2",
        "The layers of Tiny YOLO v2 with made-up weights, made to keep all rules of operators.",
        _model(constants),
        [Use("a made-up image", arrays={"image": image}, expected=expected)],
        operators="profile,-Graph",
    )


def _drawn(draw: np.random.RandomState) -> dict[str, Array]:
    """Draw weights by which numbers neither vanish nor grow from layer to layer."""
    drawn: dict[str, Array] = {}
    inputs = 3
    for layer, outputs in enumerate(_CHANNELS, 1):
        deviation = np.sqrt(2 / (9 * inputs))
        drawn |= {
            f"kernels_{layer}": draw.normal(scale=deviation, size=(outputs, inputs, 3, 3)),
            f"scale_{layer}": draw.uniform(0.5, 1.5, outputs),
            f"bias_{layer}": draw.normal(scale=0.1, size=outputs),
            f"mean_{layer}": draw.normal(scale=0.1, size=outputs),
            f"variance_{layer}": draw.uniform(0.5, 1.5, outputs),
        }
        inputs = outputs
    drawn["kernels_9"] = draw.normal(scale=np.sqrt(1 / inputs), size=(_NUMBERS, inputs, 1, 1))
    drawn["bias_9"] = draw.normal(scale=0.1, size=_NUMBERS)
    return {name: array.astype(np.float32) for name, array in drawn.items()}


def _computed(constants: Mapping[str, Array], image: Array) -> Array:
    """Compute the network in double."""
    given = {name: array.astype(np.float64) for name, array in constants.items()}
    # The file holds both attributes in float.
    alpha, epsilon = np.array([_ALPHA, _EPSILON], np.float32).astype(np.float64)
    found = image.astype(np.float64)
    for layer in range(1, len(_CHANNELS) + 1):
        found = convolved(found, given[f"kernels_{layer}"], np.zeros(1))
        scale, bias, mean, variance = (
            given[f"{name}_{layer}"][:, None, None] for name in _STATISTICS
        )
        found = scale * (found - mean) / np.sqrt(variance + epsilon) + bias
        found = np.where(found < 0, alpha * found, found)
        if layer < _POOLED:
            found = blocks(found).max((3, 5))
        elif layer == _POOLED:
            padded = np.pad(found, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=-np.inf)
            rows = np.maximum(padded[:, :, :-1], padded[:, :, 1:])
            found = np.maximum(rows[..., :-1], rows[..., 1:])
    return convolved(found, given["kernels_9"], given["bias_9"])


def _model(constants: Mapping[str, Array]) -> onnx.ModelProto:
    values, nodes = [], []
    read, size = "image", _SIZE

    def add(value: str, channels: int, node: str) -> str:
        values.append(f"float[1,{channels},{size},{size}] {value}")
        nodes.append(f"[make_{value}] {value} = {node}")
        return value

    for layer, channels in enumerate(_CHANNELS, 1):
        node = f"Conv <{_convolution(3)}> ({read}, kernels_{layer})"
        read = add(f"convolved_{layer}", channels, node)
        statistics = ", ".join(f"{name}_{layer}" for name in _STATISTICS)
        node = f"BatchNormalization <{_NORMALIZATION}> ({read}, {statistics})"
        read = add(f"normalized_{layer}", channels, node)
        read = add(f"active_{layer}", channels, f"LeakyRelu <alpha = {_ALPHA}> ({read})")
        if layer <= _POOLED:
            last = layer == _POOLED
            size = size if last else size // 2
            read = add(f"pooled_{layer}", channels, f"MaxPool <{_pool(last=last)}> ({read})")
    add("grid", _NUMBERS, f"Conv <{_convolution(1)}> ({read}, kernels_9, bias_9)")
    *others, grid = values
    return parse(
        f"(float[1,3,{_SIZE},{_SIZE}] image) => ({grid}) <{', '.join(others)}> "
        f"{{ {' '.join(nodes)} }}",
        opset=22,
        ir_version=10,
        constants=constants,
    )


def _convolution(size: int) -> str:
    pads = ", ".join([str(size // 2)] * 4)
    return (
        f'auto_pad = "NOTSET", dilations = [1, 1], group = 1, kernel_shape = [{size}, {size}], '
        f"pads = [{pads}], strides = [1, 1]"
    )


def _pool(*, last: bool) -> str:
    pads, strides = ("0, 0, 1, 1", "1, 1") if last else ("0, 0, 0, 0", "2, 2")
    return (
        'auto_pad = "NOTSET", ceil_mode = 0, dilations = [1, 1], kernel_shape = [2, 2], '
        f"pads = [{pads}], storage_order = 0, strides = [{strides}]"
    )
