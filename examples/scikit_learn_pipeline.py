"""A pipeline of scikit-learn, converted, conformed and run: needs `scikit-learn` and `skl2onnx`."""

import numpy as np
import onnxruntime as ort
from skl2onnx import to_onnx
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sonnx_ort

NEAR = 1e-6
"""How far a probability may be from that of the model as it was converted."""


def main() -> None:
    """Train and convert the pipeline, and compare it with what is enforced."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(100, 3)).astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    pipeline.fit(rows, rows.sum(axis=1) > 0)

    model = to_onnx(pipeline, rows[:1], options={"zipmap": False})
    conformed = sonnx_ort.conform(model, rounding=True)
    for change in conformed.changes:
        if change.operator in ("Scaler", "LinearClassifier", "Normalizer"):
            print(change.title)
    print("violations left:", len(conformed.remaining))

    enforced = sonnx_ort.InferenceSession(
        conformed.model, operators="profile", broadcast="explicit", backend="native"
    )
    labels, probabilities = enforced.run(None, {"X": rows})
    print("the labels of scikit-learn:", np.array_equal(labels, pipeline.predict(rows)))
    plain = ort.InferenceSession(model.SerializeToString())
    apart = np.abs(probabilities - plain.run(None, {"X": rows})[1]).max()
    print("the probabilities of ONNX Runtime:", bool(apart <= NEAR))


if __name__ == "__main__":
    main()
