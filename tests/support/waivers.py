"""Models with a violation that is waived, and what their metadata says of that."""

import datetime as dt
import json
from collections.abc import Sequence

import numpy as np
import onnx

import sonnx_ort
from sonnx_ort.analysis.waiving import WAIVERS
from support.graphs import binary_model


def waiver(rule: str, node: str = "the_node") -> sonnx_ort.Waiver:
    """A waiver of one violation."""
    return sonnx_ort.Waiver(rule, node, "B is one number", "the board", dt.date.max)


def unequal(operator: str = "Div", element_type: str = "float") -> onnx.ModelProto:
    """A model of one node, of which equal shapes are violated."""
    return binary_model(operator, element_type, [3], [1])


SHAPES = waiver("Div.float.R1")
INTEGER_SHAPES = waiver("Div.int.R1")

WAIVED_CONSTANT = "(float[2] y) => (float[2] z) <float[2] x = {2, 0}> { [the_node] z = Acos(x) }"
"""A violation by a constant: `Acos.float.C1`."""

CONSTANT_ZERO = "(int32[1] x) => (int32[1] z) <int32[1] y = {0}> { [the_node] z = Div(x, y) }"
"""A violation that takes no waiver: `Div.int.C1`."""


def run(model: onnx.ModelProto, *feeds: Sequence[float], **choices: object) -> np.ndarray:
    """Run a model, and give its first result.

    Args:
        model: The model.
        feeds: The elements of its inputs, in their order.
        choices: How to enforce it.
    """
    session = sonnx_ort.InferenceSession(model, **choices)
    dtypes = {"tensor(float)": np.float32, "tensor(int32)": np.int32, "tensor(int64)": np.int64}
    dtypes |= {"tensor(float16)": np.float16, "tensor(double)": np.float64}
    arrays = {
        declared.name: np.array(elements, dtypes[declared.type])
        for declared, elements in zip(session.get_inputs(), feeds, strict=True)
    }
    return session.run(None, arrays)[0]


def recorded(model: onnx.ModelProto) -> object:
    """What a model's metadata says of waivers; None if it says nothing."""
    texts = {entry.key: entry.value for entry in model.metadata_props}
    return json.loads(texts[WAIVERS]) if WAIVERS in texts else None
