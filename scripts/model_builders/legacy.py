"""Div and Sub of opset 1 and 6, for which ONNX Runtime has no kernels."""

from collections.abc import Iterator, Mapping

import numpy as np

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
from model_builders.graphs import parse
from sonnx_ort.models import Citation, Outputs

_IR_VERSION = 3
"""The version of the file format that models of opset 1 and 6 were written in."""

_BROADCASTS = """(
    float[2,3,4,5] A, float B_scalar, float[1,1] B_one_element, float[5] B_last_axis,
    float[4,5] B_last_axes, float[3,4] B_axis_1, float[2] B_axis_0
) => (
    float[2,3,4,5] C_scalar, float[2,3,4,5] C_one_element, float[2,3,4,5] C_last_axis,
    float[2,3,4,5] C_last_axes, float[2,3,4,5] C_axis_1, float[2,3,4,5] C_axis_0
) {
    [scalar] C_scalar = Div <broadcast = 1> (A, B_scalar)
    [one_element] C_one_element = Div <broadcast = 1> (A, B_one_element)
    [last_axis] C_last_axis = Div <broadcast = 1> (A, B_last_axis)
    [last_axes] C_last_axes = Div <broadcast = 1> (A, B_last_axes)
    [axis_1] C_axis_1 = Div <broadcast = 1, axis = 1> (A, B_axis_1)
    [axis_0] C_axis_0 = Div <broadcast = 1, axis = 0> (A, B_axis_0)
}"""
"""The shapes of B that the ONNX page lists for an A of (2, 3, 4, 5)."""

_ALIGNED: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = {
    "scalar": ((), ()),
    "one_element": ((1, 1), ()),
    "last_axis": ((5,), (5,)),
    "last_axes": ((4, 5), (4, 5)),
    "axis_1": ((3, 4), (3, 4, 1)),
    "axis_0": ((2,), (2, 1, 1, 1)),
}
"""The same shapes, and behind each the one that numpy aligns with A's."""


def bundles() -> Iterator[Bundle]:
    """Give the models."""
    for opset in (1, 6):
        for operator, b, c in (("Div", [3, 3, 5], [2, 3, 7]), ("Sub", [1, 5, 3], [5, 4, 32])):
            dropped = "; consumed_inputs is dropped" if opset == 1 else ""
            attributes = "<consumed_inputs = [0, 0]>" if opset == 1 else ""
            yield bundle(
                f"{operator.lower()}_opset_{opset}",
                f"{operator} of opset {opset} on equal shapes runs{dropped}.",
                parse(
                    f"""(float[3] A, float[3] B) => (float[3] C) {{
                        [{NODE_NAMES[operator]}] C = {operator} {attributes} (A, B)
                    }}""",
                    opset=opset,
                    ir_version=_IR_VERSION,
                ),
                in_both_editions(float32(c), A=float32([6, 9, 35]), B=float32(b)),
            )
        yield _broadcasts(opset)
        misfit = """(float[2,3,4,5] A, float[3,4] B) => (float[?,?,?,?] C) {
            [divide] C = Div <broadcast = 1> (A, B)
        }"""
        yield bundle(
            f"div_opset_{opset}_misfit",
            "With broadcast=1 and no axis, (3, 4) is not the end of (2, 3, 4, 5): always rejected.",
            parse(misfit, opset=opset, ir_version=_IR_VERSION),
            in_both_modes(*rejections("Div.float.R1")),
            Citation(ONNX_DIV, f"Div - {opset}"),
        )
    chain = """(float[2,3] X, float[2,3] mean, float[2,3] std) => (float[2,3] C) {
        [subtract] centred = Sub(X, mean)
        [divide] scaled = Div(centred, std)
        C = Relu(scaled)
    }"""
    yield bundle(
        "normalization_opset_6",
        "Sub, Div and another operator of opset 6 in one model.",
        parse(chain, opset=6, ir_version=_IR_VERSION),
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
    for what, (shape, aligned) in _ALIGNED.items():
        b = inputs[f"B_{what}"] = float32(np.resize(range(1, 8), shape))
        outputs[f"C_{what}"] = quotients(a, b.reshape(aligned))
    return bundle(
        f"div_opset_{opset}_broadcast",
        f"Every shape that Div of opset {opset} takes with broadcast=1: rejected or made explicit.",
        parse(_BROADCASTS, opset=opset, ir_version=_IR_VERSION),
        [
            *rejections("Div.float.R1", "Div.R1 Div.R4", nodes=tuple(_ALIGNED)),
            *explicit(case("typed", Outputs(outputs), **inputs)),
        ],
        Citation(ONNX_DIV, f"Div - {opset}"),
    )
