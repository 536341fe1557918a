"""A classifier of scikit-learn, converted and enforced: needs `scikit-learn` and `skl2onnx`."""

import numpy as np
import onnxruntime as ort
from skl2onnx import to_onnx
from sklearn.naive_bayes import GaussianNB

import sonnx_ort


def main() -> None:
    """Train and convert the classifier, and compare it with what is enforced."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(100, 3)).astype(np.float32)
    classifier = GaussianNB().fit(rows, rows.sum(axis=1) > 0)
    model = to_onnx(classifier, rows[:1], options={"zipmap": False})

    print("Div and Sub that broadcast:", len(sonnx_ort.check(model).violations))
    report = sonnx_ort.check(model, broadcast="explicit")
    print("broadcast by the profile's operator, the profile is kept:", report.ok)

    enforced = sonnx_ort.InferenceSession(model, broadcast="explicit", backend="native")
    plain = ort.InferenceSession(model.SerializeToString())
    labels, probabilities = enforced.run(None, {"X": rows})
    print("the labels of scikit-learn:", np.array_equal(labels, classifier.predict(rows)))
    print(
        "the bits of ONNX Runtime:", np.array_equal(probabilities, plain.run(None, {"X": rows})[1])
    )


if __name__ == "__main__":
    main()
