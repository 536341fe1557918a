"""A published OCR model of Paddle, conformed with a waiver and run.

pip download --no-deps rapidocr-onnxruntime
unzip rapidocr_onnxruntime-*.whl '*.onnx'
python ocr_model.py rapidocr_onnxruntime/models/ch_ppocr_mobile_v2.0_cls_infer.onnx
"""

import datetime as dt
import sys

import numpy as np
import onnxruntime as ort

import sonnx_ort

MODEL = "ch_ppocr_mobile_v2.0_cls_infer.onnx"
"""Tells whether a line of text stands on its head."""


def main(path: str) -> None:
    """Conform the model, waive the rest, and run it on two lines of noise."""
    left = sonnx_ort.conform(path).remaining
    print(f"{len(sonnx_ort.check(path, operators='profile').violations)} violations")
    print(
        f"{len(left)} left, at {', '.join(sorted({violation.operator for violation, _ in left}))}"
    )

    accepted = sonnx_ort.Waiver(
        rule="Graph.edges",
        node=None,
        operator="MaxPool",
        count=1,
        reason="nobody needs its indices",
        who="safety board",
        until=dt.date(9999, 12, 31),
    )
    session = sonnx_ort.InferenceSession(
        path,
        without_optimizations(),
        operators="profile",
        broadcast="explicit",
        backend="native",
        conform=True,
        waivers=[accepted],
    )
    lines = np.random.default_rng(0).uniform(-1, 1, (2, 3, 48, 192)).astype(np.float32)
    [enforced] = session.run(None, {"x": lines})
    plain = ort.InferenceSession(path, without_optimizations())
    print("the bits of ONNX Runtime:", np.array_equal(enforced, plain.run(None, {"x": lines})[0]))


def without_optimizations() -> ort.SessionOptions:
    """Options of a session in which each node computes what the file says."""
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return options


if __name__ == "__main__":
    main(*sys.argv[1:])
