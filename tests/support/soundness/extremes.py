"""Attributes and tensors at the ends of what a node takes, and beyond what its document allows."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import defs

from support.soundness.arrays import Array
from support.soundness.makers import Attributes
from support.soundness.nodes import NodeCase

FLOATS = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 0.5, -0.5, -0.75, 2.0, 3.0, 1e-3, -1e-3, 100.0, -100.0),
    *(1e-45, 1e-40, 1.2e-38, -1e-40, 1e-30, 1e30, -1e30, 3.4e38, -3.4e38),
    *(float("nan"), float("inf"), float("-inf")),
)
"""Floats of attributes: of any sign, subnormal, the largest ones, infinite and NaN."""

_MODES = ("half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel", "half_pixel_symmetric")


def with_extremes(rng: random.Random, case: NodeCase) -> NodeCase:
    """The case with attributes and shapes of all kinds."""
    if case.operator in {"AveragePool", "MaxPool"} or (
        case.operator == "Conv" and rng.random() < 0.5
    ):
        case = _with_windows(rng, case)
    attributes = dict(case.attributes)
    if case.operator == "Resize" and case.opset >= 11:
        attributes |= _resizing(rng)
    schema = defs.get_schema(case.operator, case.opset)
    for name, attribute in schema.attributes.items():
        if attribute.type == defs.OpSchema.AttrType.FLOAT and rng.random() < 0.6:
            attributes[name] = rng.choice(FLOATS)
    known = {name: value for name, value in attributes.items() if name in schema.attributes}
    inputs = [_of_any_bytes(rng, each) for each in case.inputs]
    if case.operator == "Concat":
        inputs = [_maybe_empty(rng, each) for each in inputs]
    return replace(case, attributes=known, inputs=inputs)


def _with_windows(rng: random.Random, case: NodeCase) -> NodeCase:
    """Windows that may lie in padding alone: small images, large pads, dilations and strides."""
    rank = rng.choice([1, 1, 2])
    kernel = [rng.choice([1, 2, 2, 3]) for _ in range(rank)]
    attributes: Attributes = {"kernel_shape": kernel}
    draws: Mapping[str, Sequence[int]] = {"strides": [1, 1, 2, 5], "dilations": [1, 2, 3, 4]}
    for name, numbers in draws.items():
        if rng.random() < 0.6:
            attributes[name] = [rng.choice(numbers) for _ in range(rank)]
    if rng.random() < 0.7:
        # Most kernels refuse larger ones.
        attributes["pads"] = [rng.randrange(size) for size in kernel * 2]
    elif rng.random() < 0.6:
        attributes["auto_pad"] = rng.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    attributes |= {name: rng.choice([0, 1]) for name in ("ceil_mode", "count_include_pad")}
    x = np.ones([1, 2, *(rng.choice([1, 1, 2, 3]) for _ in range(rank))], np.float32)
    if case.operator != "Conv":
        return replace(case, inputs=[x], attributes=attributes, outputs=1)
    return replace(case, inputs=[x, np.ones([2, 2, *kernel], np.float32)], attributes=attributes)


def _resizing(rng: random.Random) -> dict[str, Any]:
    found: dict[str, Any] = {"mode": rng.choice(["nearest", "linear", "cubic", "cubic"])}
    if rng.random() < 0.7:
        found["coordinate_transformation_mode"] = rng.choice(_MODES)
    if rng.random() < 0.3:
        found["exclude_outside"] = rng.choice([0, 1])
    if rng.random() < 0.3:
        found["antialias"] = rng.choice([0, 1])
    return found


def _of_any_bytes(rng: random.Random, array: Array | None) -> Array | None:
    """Bools whose bytes may be neither 0 nor 1."""
    if array is None or array.dtype != bool or rng.random() < 0.5:
        return array
    numbers = [rng.choice([0, 1, 2, 128, 255]) for _ in range(array.size)]
    return np.array(numbers, np.uint8).reshape(array.shape).view(bool)


def _maybe_empty(rng: random.Random, array: Array | None) -> Array | None:
    """The tensor, or one that is empty along any axis."""
    if array is None or rng.random() < 0.7:
        return array
    shape = list(array.shape)
    shape[rng.randrange(len(shape))] = 0
    return np.zeros(shape, array.dtype)
