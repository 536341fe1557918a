"""What a change does to a model: what is still violated, and whether results keep their bits."""

from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime as ort

import sonnx_ort
from sonnx_ort.models.example import differing_elements
from support.sessions import on_one_thread

TYPES = {
    "float": np.float32,
    "double": np.float64,
    "float16": np.float16,
    "int32": np.int32,
    "int64": np.int64,
}

CONVERT = "convert the model to a later version with onnx.version_converter"
"""The end of a reason that names the version of the model."""


def random(element_type: str, *shape: int) -> np.ndarray:
    """Numbers of a type, small and large, and what is special of floats."""
    rng = np.random.default_rng((7, *shape))
    if element_type.startswith("int"):
        return rng.integers(-9, 9, shape).astype(TYPES[element_type])
    scale = rng.choice([1, 1, 100, 0.01], shape)
    numbers = (rng.standard_normal(shape) * scale).astype(TYPES[element_type])
    special = rng.choice([np.nan, np.inf, -np.inf, 0.0, -0.0], shape)
    return np.where(rng.random(shape) < 0.05, special, numbers).astype(TYPES[element_type])


def violated(model: onnx.ModelProto, **choices: object) -> set[str]:
    """The ids of the rules on operators that a model violates."""
    options = {"operators": "profile,-Graph", "backend": "native", "forecast": False}
    report = sonnx_ort.check(model, **options, **choices)
    return {obligation.rule.id for obligation in report.violations}


def conformed(model: onnx.ModelProto, **choices: object) -> onnx.ModelProto:
    """The conformed model, which the ONNX checker accepts and which is not changed again."""
    made = sonnx_ort.conform(model, **choices)
    onnx.checker.check_model(made.model, full_check=True)
    again = sonnx_ort.conform(made.model, **choices)
    assert again.changes == ()
    return made.model


def require_same_bits(
    before: onnx.ModelProto, after: onnx.ModelProto, *runs: Mapping[str, np.ndarray]
) -> None:
    """Run both without optimizations: every output has the same type, shape and bits."""
    first, second = (
        ort.InferenceSession(m.SerializeToString(), on_one_thread("none")) for m in (before, after)
    )
    for feeds in runs:
        for name, one, other in zip(
            [o.name for o in first.get_outputs()],
            first.run(None, feeds),
            second.run(None, feeds),
            strict=True,
        ):
            assert (one.dtype, one.shape) == (other.dtype, other.shape), name
            assert not differing_elements(one, other).any(), name


def require_fixed(
    model: onnx.ModelProto, *runs: Mapping[str, np.ndarray], rules: set[str] | None = None
) -> onnx.ModelProto:
    """The conformed model, which violates nothing and keeps all bits.

    `rules` are those that the model violates before; None if the test is about others.
    """
    assert rules is None or violated(model) == rules
    made = conformed(model)
    assert violated(made) == set()
    require_same_bits(model, made, *runs)
    return made


def reasons(model: onnx.ModelProto, **choices: object) -> dict[str, str]:
    """Why each rule that stays violated does."""
    return {o.rule.id: reason for o, reason in sonnx_ort.conform(model, **choices).remaining}
