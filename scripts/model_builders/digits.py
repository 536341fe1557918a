"""A classifier of handwritten digits, trained on real data.

The graph standardizes the pixels with Sub and Div, whose constants are written out to the shape of
the pixels with Expand, so that nothing is broadcast implicitly.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx

from model_builders.bundle import Bundle, Use, bundle
from model_builders.graphs import parse
from model_builders.outcome import Array
from sonnx_ort.models import Citation, Classification
from sonnx_ort.profile.options import Edition

TRAINED = Path(__file__).resolve().parents[2] / "models" / "training" / "digits.npz"
"""What training left: mean, std, weights, and the held-out part with scikit-learn's predictions."""

SOURCE = Citation(
    "E. Alpaydin and C. Kaynak (1998), Optical Recognition of Handwritten Digits, UCI Machine "
    "Learning Repository, https://doi.org/10.24432/C50P49",
    "test part, as scikit-learn distributes it",
    "CC BY 4.0",
)

CONSTANTS = ("mean", "std", "weights_1", "bias_1", "weights_2", "bias_2")


def bundles() -> Iterator[Bundle]:
    """Give the model."""
    with np.load(TRAINED) as arrays:
        trained = dict(arrays)
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


def train() -> str:
    """Train on scikit-learn's digits and write what `bundles` builds from.

    Raises:
        ImportError: scikit-learn is not installed.
    """
    from sklearn.datasets import load_digits  # noqa: PLC0415 - an optional dependency
    from sklearn.model_selection import train_test_split  # noqa: PLC0415
    from sklearn.neural_network import MLPClassifier  # noqa: PLC0415

    pixels, labels = load_digits(return_X_y=True)
    learnt, held_out, learnt_labels, held_out_labels = train_test_split(
        pixels.astype(np.float32), labels, test_size=0.2, random_state=0, stratify=labels
    )
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
    TRAINED.parent.mkdir(exist_ok=True)
    np.savez(TRAINED, **dict(zip(CONSTANTS, (mean, std, *parameters), strict=True)), **data)
    correct = int(np.sum(predicted == held_out_labels))
    return f"trained on {len(learnt)} images; {correct} of {len(held_out)} held-out ones are right"
