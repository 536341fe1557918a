"""A classifier of handwritten digits, trained on real data by `training.py`.

The graph standardizes the pixels with Sub and Div, whose constants are written out to the shape of
the pixels with Expand, so that nothing is broadcast implicitly.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx

from model_builders import graphs
from model_builders.bundle import TYPED, Array, Bundle, bundle, case, gives, in_both_editions
from sonnx_ort.models import Classification, Source

TRAINED = Path(__file__).resolve().parents[2] / "models" / "training" / "digits.npz"
"""What training left: mean, std, weights, and the held-out part with scikit-learn's predictions."""

SOURCE = Source(
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
    pixels, labels, predicted = (trained[n] for n in ("pixels", "labels", "predicted"))
    accuracy = Classification("label", labels, int(np.sum(predicted == labels)))
    yield bundle(
        "digits",
        "A classifier trained on real digits: standardization with Sub and Div, then two layers.",
        _model(trained),
        [
            *in_both_editions(accuracy, pixels=pixels),
            case("predictions of scikit-learn", TYPED, gives(label=predicted), pixels=pixels),
        ],
        SOURCE,
    )


def _model(trained: Mapping[str, Array]) -> onnx.ModelProto:
    classes = trained["bias_2"].size
    main = graphs.graph(
        [
            graphs.node("Cast", "pixels", "x", to=onnx.TensorProto.FLOAT),
            graphs.node("Shape", "x", "x_shape"),
            graphs.node("Expand", "mean x_shape", "means"),
            graphs.node("Sub", "x means", "centred", "centre"),
            graphs.node("Expand", "std x_shape", "stds"),
            graphs.node("Div", "centred stds", "standardized", "scale"),
            graphs.node("Gemm", "standardized weights_1 bias_1", "hidden"),
            graphs.node("Relu", "hidden", "active"),
            graphs.node("Gemm", "active weights_2 bias_2", "scores"),
            graphs.node("Softmax", "scores", "probabilities", axis=1),
            graphs.node("ArgMax", "scores", "label", axis=1, keepdims=0),
        ],
        [graphs.value("pixels", np.uint8, ("N", trained["mean"].size))],
        [
            graphs.value("probabilities", np.float32, ("N", classes)),
            graphs.value("label", np.int64, ("N",)),
        ],
        [graphs.constant(name, trained[name]) for name in CONSTANTS],
    )
    return graphs.model(main)
