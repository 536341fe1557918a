"""Div and Sub of opset 1 and 6, for which ONNX Runtime has no kernels."""

from collections.abc import Iterator

import numpy as np
import onnx

from model_builders.bundle import (
    Bundle,
    bundle,
    case,
    explicit,
    float32,
    in_both_editions,
    in_both_modes,
    rejections,
)
from model_builders.documents import ONNX_DIV
from model_builders.expected import NODE_NAMES, quotients
from model_builders.graphs import declared, parse
from sonnx_ort.models import Outputs, Source

_IR_VERSION = 3
"""The version of the file format that models of opset 1 and 6 were written in."""

_WHOLE = "float[2,3,4,5]"
_BROADCASTS = (
    ("scalar", (), (), ""),
    ("one_element", (1, 1), (), ""),
    ("last_axis", (5,), (5,), ""),
    ("last_axes", (4, 5), (4, 5), ""),
    ("axis_1", (3, 4), (3, 4, 1), ", axis = 1"),
    ("axis_0", (2,), (2, 1, 1, 1), ", axis = 0"),
)
"""The shapes of B that the ONNX page lists for an A of (2, 3, 4, 5), and the attribute axis.

Behind the shape stands the one that numpy aligns with A's.
"""


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for opset in (1, 6):
        for operator, b, c in (("Div", [3, 3, 5], [2, 3, 7]), ("Sub", [1, 5, 3], [5, 4, 32])):
            dropped, attributes = "", ""
            if opset == 1:
                dropped, attributes = "; consumed_inputs is dropped", "<consumed_inputs = [0, 0]>"
            node = f"[{NODE_NAMES[operator]}] C = {operator} {attributes} (A, B)"
            yield bundle(
                f"{operator.lower()}_opset_{opset}",
                f"{operator} of opset {opset} on equal shapes runs{dropped}.",
                _model("(float[3] A, float[3] B) => (float[3] C)", node, opset),
                in_both_editions(float32(c), A=float32([6, 9, 35]), B=float32(b)),
            )
        yield _broadcasts(opset)
        types = f"({_WHOLE} A, float[3,4] B) => (float[?,?,?,?] C)"
        yield bundle(
            f"div_opset_{opset}_misfit",
            "With broadcast=1 and no axis, (3, 4) is not the end of (2, 3, 4, 5): always rejected.",
            _model(types, "[divide] C = Div <broadcast = 1> (A, B)", opset),
            in_both_modes(*rejections("Div.float.R1")),
            Source(ONNX_DIV, f"Div - {opset}"),
        )
    yield bundle(
        "normalization_opset_6",
        "Sub, Div and another operator of opset 6 in one model.",
        _model(
            "(float[2,3] X, float[2,3] mean, float[2,3] std) => (float[2,3] C)",
            "[subtract] centred = Sub(X, mean) "
            "[divide] scaled = Div(centred, std) C = Relu(scaled)",
            opset=6,
        ),
        in_both_editions(
            float32([[0.0, 0.5, 0.0], [2.0, 0.0, 0.0]]),
            X=float32([[1, 4, -9], [9, 0, 1]]),
            mean=float32([[5, 2, 3], [5, 2, 3]]),
            std=float32([[2, 4, 8], [2, 4, 8]]),
        ),
    )


def _broadcasts(opset: int) -> Bundle:
    a = float32(np.resize(range(1, 8), (2, 3, 4, 5)))
    inputs, outputs = {"A": a}, {}
    types, nodes = [f"{_WHOLE} A"], ""
    for what, shape, aligned, axis in _BROADCASTS:
        b = inputs[f"B_{what}"] = float32(np.resize(range(1, 8), shape))
        outputs[f"C_{what}"] = quotients(a, b.reshape(aligned))
        types.append(f"{declared('float', shape)} B_{what}")
        nodes += f"[{what}] C_{what} = Div <broadcast = 1{axis}> (A, B_{what}) "
    results = ", ".join(f"{_WHOLE} {name}" for name in outputs)
    whats = [what for what, *_ in _BROADCASTS]
    return bundle(
        f"div_opset_{opset}_broadcast",
        f"Every shape that Div of opset {opset} takes with broadcast=1: rejected or made explicit.",
        _model(f"({', '.join(types)}) => ({results})", nodes, opset),
        [
            *rejections("Div.float.R1", "Div.R1 Div.R4", nodes=whats),
            *explicit(case("typed", Outputs(outputs), **inputs)),
        ],
        Source(ONNX_DIV, f"Div - {opset}"),
    )


def _model(types: str, nodes: str, opset: int) -> onnx.ModelProto:
    return parse(f"{types} {{ {nodes} }}", opset=opset, ir_version=_IR_VERSION)
