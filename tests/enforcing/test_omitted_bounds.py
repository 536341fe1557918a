"""A bound of a Clip that is left out is what it is in ONNX Runtime, with every backend."""

import numpy as np
import onnxruntime as ort
import pytest

from support.backends import BACKENDS
from support.graphs import parse
from support.sessions import LEVELS, enforced, on_one_thread

CLIPS = {
    "no bound": "y = Clip(x)",
    "no upper bound": "y = Clip(x, low)",
    "no lower bound": "y = Clip(x, , high)",
    "both bounds": "y = Clip(x, low, high)",
}
TYPES = {"float16": np.float16, "float": np.float32, "double": np.float64}
"""Clip of version 11 has no kernel for double."""

NUMBERS = [np.inf, -np.inf, 1, -0.0, 65504, -65504, 3]


@BACKENDS
@pytest.mark.parametrize(
    ("kind", "opset"), [(k, v) for k in TYPES for v in (11, 12, 17) if (k, v) != ("double", 11)]
)
@pytest.mark.parametrize("name", CLIPS)
def test_clip_gives_the_bits_of_onnx_runtime(
    name: str, kind: str, opset: int, backend: str
) -> None:
    bounds = {"low": np.array(-2, TYPES[kind]), "high": np.array(2, TYPES[kind])}
    text = f"({kind}[n] x) => ({kind}[n] y) {{ {CLIPS[name]} }}"
    model = parse(text, opset=opset, constants=bounds)
    feeds = {"x": np.array(NUMBERS, TYPES[kind])}
    for level in LEVELS:
        plain = ort.InferenceSession(model.SerializeToString(), on_one_thread(level))
        found, right = (
            session.run(None, feeds)[0]
            for session in (enforced(model, backend, level, operators="Clip"), plain)
        )
        assert found.tobytes() == right.tobytes(), (level, found, right)
