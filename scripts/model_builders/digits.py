"""Two classifiers of handwritten digits, trained on real data.

`digits` standardizes the pixels with Sub and Div, whose constants are written out to the shape of
the pixels with Expand, so that nothing is broadcast implicitly.

`digits_convolutional` is made to keep the whole profile: every attribute is set, the type and shape
of every value stand in the file, and the bias of Add has as many rows as there are images. Its
MaxPools omit their indices, against Graph.edges: nothing would read them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from model_builders import convolutional_network
from model_builders.bundle import Bundle, Use, bundle
from model_builders.graphs import parse
from model_builders.outcome import Array
from sonnx_ort.models import Citation, Classification
from sonnx_ort.profile.options import Edition

TRAINED = Path(__file__).resolve().parents[2] / "models" / "training" / "digits.npz"
"""What training left: mean, std, weights, and the held-out part with scikit-learn's predictions."""

CONVOLUTIONAL = TRAINED.with_name("digits_convolutional.npz")
"""What training left of the convolutional classifier: its parameters."""

SOURCE = Citation(
    "E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine "
    "Learning Repository, https://doi.org/10.24432/C50P49",
    "test part, as scikit-learn distributes it",
    "CC BY 4.0",
)

CONSTANTS = ("mean", "std", "weights_1", "bias_1", "weights_2", "bias_2")
WHITE = 16
"""The largest value of a pixel."""


def bundles() -> Iterator[Bundle]:
    """Give both models."""
    trained, convolutional = _read(TRAINED), _read(CONVOLUTIONAL)
    pixels, labels, predicted = (trained[name] for name in ("pixels", "labels", "predicted"))
    accuracy = Classification("label", labels, int(np.sum(predicted == labels)))
    yield bundle(
        "digits",
        "A classifier trained on real digits: standardization with Sub and Div, then two layers.",
        _model(trained),
        [
            *(Use(e.value, e, {"pixels": pixels}, expected=accuracy) for e in Edition),
            Use("predictions of scikit-learn", arrays={"pixels": pixels, "label": predicted}),
        ],
        SOURCE,
    )
    images = _images(pixels)
    scores = convolutional_network.scores(convolutional, images)
    accuracy = Classification("probabilities", labels, int(np.sum(scores.argmax(1) == labels)))
    yield bundle(
        "digits_convolutional",
        "A classifier trained on real digits that keeps all rules of operators: two convolutions.",
        _convolutional(convolutional, len(images)),
        [Use("held-out images", arrays={"pixels": images}, expected=accuracy)],
        SOURCE,
        operators="profile,-Graph",
    )


def _read(file: Path) -> dict[str, Array]:
    with np.load(file) as arrays:
        return dict(arrays)


def _images(pixels: Array) -> Array:
    """Give each row of pixels as an image of one channel."""
    size = convolutional_network.SIZE
    return pixels.reshape(-1, 1, size, size).astype(np.float32)


def _model(trained: Mapping[str, Array]) -> onnx.ModelProto:
    return parse(
        """(uint8[N,64] pixels) => (float[N,10] probabilities, int64[N] label) {
            x = Cast <to = 1> (pixels)
            x_shape = Shape(x)
            means = Expand(mean, x_shape)
            [centre] centred = Sub(x, means)
            stds = Expand(std, x_shape)
            [scale] standardized = Div(centred, stds)
            hidden = Gemm(standardized, weights_1, bias_1)
            active = Relu(hidden)
            scores = Gemm(active, weights_2, bias_2)
            probabilities = Softmax <axis = 1> (scores)
            label = ArgMax <axis = 1, keepdims = 0> (scores)
        }""",
        constants={name: trained[name] for name in CONSTANTS},
    )


def _convolutional(trained: Mapping[str, Array], images: int) -> onnx.ModelProto:
    convolution = (
        'auto_pad = "NOTSET", dilations = [1, 1], group = 1, kernel_shape = [3, 3], '
        "pads = [1, 1, 1, 1], strides = [1, 1]"
    )
    pool = (
        'auto_pad = "NOTSET", ceil_mode = 0, dilations = [1, 1], kernel_shape = [2, 2], '
        "pads = [0, 0, 0, 0], storage_order = 0, strides = [2, 2]"
    )
    biases = np.tile(trained["bias"], (images, 1))
    return parse(
        f"""(float[{images},1,8,8] pixels) => (float[{images},10] probabilities) <
            float[{images},8,8,8] convolved_1, float[{images},8,8,8] active_1,
            float[{images},8,4,4] pooled_1,
            float[{images},32,4,4] convolved_2, float[{images},32,4,4] active_2,
            float[{images},32,2,2] pooled_2, float[{images},128] features,
            float[{images},10] products, float[{images},10] scores
        > {{
            [convolve_1] convolved_1 = Conv <{convolution}> (pixels, kernels_1, bias_1)
            [activate_1] active_1 = Relu(convolved_1)
            [pool_1] pooled_1 = MaxPool <{pool}> (active_1)
            [convolve_2] convolved_2 = Conv <{convolution}> (pooled_1, kernels_2, bias_2)
            [activate_2] active_2 = Relu(convolved_2)
            [pool_2] pooled_2 = MaxPool <{pool}> (active_2)
            [flatten] features = Flatten <axis = 1> (pooled_2)
            [weigh] products = MatMul(features, weights)
            [shift] scores = Add(products, biases)
            [normalize] probabilities = Softmax <axis = 1> (scores)
        }}""",
        opset=22,
        ir_version=10,
        constants={
            **{name: array for name, array in trained.items() if name != "bias"},
            "biases": biases,
        },
    )


def train() -> str:
    """Train both on scikit-learn's digits and write what `bundles` builds from.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    from sklearn.datasets import load_digits  # noqa: PLC0415 - an optional dependency
    from sklearn.model_selection import train_test_split  # noqa: PLC0415

    pixels, labels = load_digits(return_X_y=True)
    parts = train_test_split(
        pixels.astype(np.float32), labels, test_size=0.2, random_state=0, stratify=labels
    )
    TRAINED.parent.mkdir(exist_ok=True)
    return "\n".join(
        f"{file.name}: trained on {len(parts[0])} images; "
        f"{right} of {len(parts[1])} held-out ones are right"
        for file, right in (
            (TRAINED, _train(*parts)),
            (CONVOLUTIONAL, _train_convolutional(*parts)),
        )
    )


def _train(learnt: Array, held_out: Array, learnt_labels: Array, held_out_labels: Array) -> int:
    """Train the classifier of two layers; give the number of held-out images that are right."""
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415 - an optional dependency

    mean, std = learnt.mean(axis=0), learnt.std(axis=0)
    # A pixel that is the same in every image carries nothing; dividing it by 1 keeps it finite.
    std[std == 0] = 1
    classifier = MLPClassifier((32,), random_state=0, max_iter=400)
    classifier.fit((learnt - mean) / std, learnt_labels)
    predicted = classifier.predict((held_out - mean) / std)
    layers = zip(classifier.coefs_, classifier.intercepts_, strict=True)
    parameters = [array.astype(np.float32) for layer in layers for array in layer]
    data = {
        "pixels": held_out.astype(np.uint8),
        "labels": held_out_labels.astype(np.int64),
        "predicted": predicted.astype(np.int64),
    }
    np.savez(TRAINED, **dict(zip(CONSTANTS, (mean, std, *parameters), strict=True)), **data)
    return int(np.sum(predicted == held_out_labels))


def _train_convolutional(
    learnt: Array, held_out: Array, learnt_labels: Array, held_out_labels: Array
) -> int:
    """Train the convolutional classifier likewise."""
    parameters = dict(convolutional_network.train(_images(learnt) / WHITE, learnt_labels))
    # The model takes pixels as they are: the first kernels hold their scale.
    parameters["kernels_1"] /= WHITE
    trained: dict[str, Any] = {name: array.astype(np.float32) for name, array in parameters.items()}
    np.savez(CONVOLUTIONAL, **trained)
    predicted = convolutional_network.scores(trained, _images(held_out)).argmax(1)
    return int(np.sum(predicted == held_out_labels))
