"""The numeric examples of the profile's documents and of the ONNX page on `Div`.

Results are as printed there, where they are printed; the `Broadcast` document has no numeric
example. The random tensors of the ONNX page are drawn from a fixed seed. Behind them stand Div and
Sub of opset 1 and 6, which the page describes, and for which ONNX Runtime has no kernels.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from model_builders import bundle as make
from model_builders.bundle import Array, Bundle, bundle
from model_builders.graphs import parse
from sonnx_ort.models import Citation, Outputs

ONNX_DIV = "ONNX, operator Div"
_DIV_PRELIMINARY = "SONNX Div, preliminary edition"
_DIV_TYPED = "SONNX Div, typed edition"
_SUB_PRELIMINARY = "SONNX Sub, preliminary edition"

_PRINTED: Mapping[str, Sequence[Sequence[npt.ArrayLike]]] = {
    "Div": (
        ([6, 9, 35], [3, 3, 5], [2, 3, 7]),
        ([[3, 4], [16, 0], [25, 24]], [[3, 2], [4, 1], [5, 4]], [[1, 2], [4, 0], [5, 6]]),
    ),
    "Sub": (
        ([4, 7, 10], [1, 5, 3], [3, 2, 7]),
        ([[9, 5], [3, 8], [6, 2]], [[3, 2], [4, 1], [5, 1]], [[6, 3], [-1, 7], [1, 1]]),
    ),
}
"""A, B and C of the examples that are numbered."""

_SEED = 0

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


def examples() -> Iterator[Bundle]:
    """The numeric examples."""
    for number, numbers in enumerate(_PRINTED["Div"], start=1):
        for *operands, c in (map(make.float32, numbers), map(make.int32, numbers)):
            yield _example(
                f"div_example_{number}_{c.dtype}",
                f"The quotients of example {number} of both editions, in {c.dtype}.",
                *("Div", operands, c),
                Citation(_DIV_PRELIMINARY, f"Example {number}"),
                Citation(_DIV_TYPED, f"section real, Example {number}"),
            )
    a = np.array([[1, 3], [5, 7], [9, 12]], np.float64)
    b = np.array([[11, 22], [33, -44], [-55, 66]], np.float64)
    yield _example(
        "div_numpy_example",
        "The quotients of the document's numpy example, in double as numpy computes them.",
        *("Div", (a, b), make.quotients(a, b)),
        Citation(_DIV_PRELIMINARY, "numpy example"),
    )
    a, b = np.array([[6.0, 9.0, 35.0]]), np.array([[3.0, 3.0, 0.0]])
    yield _example(
        "div_numpy_zero_divisor",
        "A positive number divided by 0 is inf in both editions.",
        *("Div", (a, b), np.array([[2.0, 3.0, np.inf]])),
        Citation(_DIV_PRELIMINARY, "numpy example with a division by 0"),
    )
    section = "section FP16, FP32, FP64, BFLOAT16"
    one, zero = (make.float32([[3, 4], [16, a], [25, 24]]) for a in (1, 0))
    b = make.float32([[3, 2], [4, 0], [5, 4]])
    inf, nan = (make.float32([[1.0, 2.0], [4.0, c], [5.0, 6.0]]) for c in (np.inf, np.nan))
    yield _example(
        "div_zero_divisor",
        "1/0 is inf in both editions.",
        *("Div", (one, b), inf),
        Citation(_DIV_TYPED, f"{section}, first example"),
    )
    yield bundle(
        "div_zero_by_zero",
        "0/0 is NaN in the typed edition, and inf by the formula of the preliminary one.",
        make.binary("Div", b),
        [
            make.case("typed", nan, A=zero, B=b),
            make.case("preliminary", inf, make.PRELIMINARY, A=zero, B=b),
        ],
        Citation(_DIV_TYPED, f"{section}, second example"),
        Citation(_DIV_PRELIMINARY, "formula of C"),
    )
    for number, numbers in enumerate(_PRINTED["Sub"], start=1):
        for *operands, c in (map(make.float32, numbers), map(make.int32, numbers)):
            yield _example(
                f"sub_example_{number}_{c.dtype}",
                f"The differences of the document's example {number}, in {c.dtype}.",
                *("Sub", operands, c),
                Citation(_SUB_PRELIMINARY, f"Example {number}"),
            )
    a, b = np.array([[1, 2], [3, 4], [5, 6]]), np.array([[11, 22], [33, -44], [-55, 0]])
    yield _example(
        "sub_numpy_example",
        "The differences of the document's numpy example, in int64 as numpy computes them.",
        *("Sub", (a, b), np.array([[-10, -20], [-30, 48], [60, 6]])),
        Citation(_SUB_PRELIMINARY, "numpy example"),
    )
    a, b, c = map(make.float32, ([3, 4], [1, 2], [3, 2]))
    yield _example(
        "onnx_div_example",
        "The quotients of the ONNX page's first example.",
        *("Div", (a, b), c),
        Citation(ONNX_DIV, "test_div_example"),
    )
    draw, shape = np.random.RandomState(_SEED), (3, 4, 5)
    a, b = make.float32(draw.randn(*shape)), make.float32(draw.rand(*shape)) + np.float32(1)
    yield _example(
        "onnx_div_random",
        "Sixty random quotients in float32, each the nearest to the exact one.",
        *("Div", (a, b), make.quotients(a, b)),
        Citation(ONNX_DIV, "test_div"),
    )
    drawn = (draw.randint(24, size=shape, dtype=np.uint8) for _ in range(2))
    x, y = (array + np.uint8(least) for least, array in enumerate(drawn))
    yield _example(
        "onnx_div_uint8",
        "Sixty random quotients in uint8, truncated.",
        *("Div", (x, y), make.quotients(x, y)),
        Citation(ONNX_DIV, "test_div_uint8"),
    )
    a, b = make.float32(draw.randn(*shape)), make.float32(draw.rand(shape[-1])) + np.float32(1)
    yield bundle(
        "onnx_div_broadcast",
        "ONNX broadcasts (5,) to (3, 4, 5); the profile rejects it, or has it written out.",
        make.binary("Div", a, a.shape, b.shape),
        [
            *make.rejections("Div.float.R1", "Div.R1 Div.R4"),
            *make.explicit_runs("Div", a, b),
        ],
        Citation(ONNX_DIV, "test_div_bcast"),
    )


def _example(
    name: str, shows: str, operator: str, operands: Sequence[Array], c: Array, *sources: Citation
) -> Bundle:
    """Give the model of an example that has one result in both editions."""
    a, b = operands
    cases = make.in_both_editions(c, A=a, B=b)
    return bundle(name, shows, make.binary(operator, c), cases, *sources)


def older_versions() -> Iterator[Bundle]:
    """Div and Sub of opset 1 and 6."""
    for opset in (1, 6):
        for operator, b, c in (("Div", [3, 3, 5], [2, 3, 7]), ("Sub", [1, 5, 3], [5, 4, 32])):
            dropped = "; consumed_inputs is dropped" if opset == 1 else ""
            attributes = "<consumed_inputs = [0, 0]>" if opset == 1 else ""
            yield bundle(
                f"{operator.lower()}_opset_{opset}",
                f"{operator} of opset {opset} on equal shapes runs{dropped}.",
                parse(
                    f"""(float[3] A, float[3] B) => (float[3] C) {{
                        [{make.NODE_NAMES[operator]}] C = {operator} {attributes} (A, B)
                    }}""",
                    opset=opset,
                    ir_version=_IR_VERSION,
                ),
                make.in_both_editions(
                    make.float32(c), A=make.float32([6, 9, 35]), B=make.float32(b)
                ),
            )
        yield _broadcasts(opset)
        misfit = """(float[2,3,4,5] A, float[3,4] B) => (float[?,?,?,?] C) {
            [divide] C = Div <broadcast = 1> (A, B)
        }"""
        yield bundle(
            f"div_opset_{opset}_misfit",
            "With broadcast=1 and no axis, (3, 4) is not the end of (2, 3, 4, 5): always rejected.",
            parse(misfit, opset=opset, ir_version=_IR_VERSION),
            make.in_both_modes(*make.rejections("Div.float.R1")),
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
        make.in_both_editions(
            make.float32([[0.0, 0.5, 0.0], [2.0, 0.0, 0.0]]),
            X=make.float32([[1, 4, -9], [9, 0, 1]]),
            mean=make.float32([[5, 2, 3], [5, 2, 3]]),
            std=make.float32([[2, 4, 8], [2, 4, 8]]),
        ),
    )


def _broadcasts(opset: int) -> Bundle:
    a = make.float32(np.resize(range(1, 8), (2, 3, 4, 5)))
    inputs, outputs = {"A": a}, {}
    for what, (shape, aligned) in _ALIGNED.items():
        b = inputs[f"B_{what}"] = make.float32(np.resize(range(1, 8), shape))
        outputs[f"C_{what}"] = make.quotients(a, b.reshape(aligned))
    return bundle(
        f"div_opset_{opset}_broadcast",
        f"Every shape that Div of opset {opset} takes with broadcast=1: rejected or made explicit.",
        parse(_BROADCASTS, opset=opset, ir_version=_IR_VERSION),
        [
            *make.rejections("Div.float.R1", "Div.R1 Div.R4", nodes=tuple(_ALIGNED)),
            *make.explicit(make.case("typed", Outputs(outputs), **inputs)),
        ],
        Citation(ONNX_DIV, f"Div - {opset}"),
    )
