"""A pipeline of scikit-learn, converted, conformed and run: needs `scikit-learn` and `skl2onnx`."""

import numpy as np
import onnxruntime as ort
from skl2onnx import to_onnx
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sonnx_ort


def main() -> None:
    """Train and convert the pipeline, and compare it with what is enforced."""
    random = np.random.default_rng(0)
    rows = random.normal(size=(100, 3)).astype(np.float32)
    pipeline = make_pipeline(StandardScaler(), GaussianNB()).fit(rows, rows.sum(axis=1) > 0)

    model = to_onnx(pipeline, rows[:1])
    print("with Scaler:", len(sonnx_ort.conform(model).remaining), "violations left")
    model = to_onnx(pipeline, rows[:1], black_op={"Scaler"})
    conformed = sonnx_ort.conform(model)
    print("with Sub and Div:", len(conformed.remaining), "violations left")
    for violation, _ in conformed.remaining:
        print(f"  {violation.rule.id} at {violation.operator} '{violation.node}'")

    enforced = sonnx_ort.InferenceSession(
        model, operators="profile,-Graph", broadcast="explicit", backend="native", conform=True
    )
    labels, probabilities = enforced.run(None, {"X": rows})
    print("the labels of scikit-learn:", np.array_equal(labels, pipeline.predict(rows)))
    plain = ort.InferenceSession(model.SerializeToString())
    print("the bits of ONNX Runtime:", probabilities == plain.run(None, {"X": rows})[1])


if __name__ == "__main__":
    main()
