"""Models that broadcast, and what comes of running them."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime as ort
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy
from onnx import helper

import sonnx_ort
from support import ort_values
from support.graphs import OPSET, Dimensions, binary, declared, parse
from support.sessions import quiet

Shape = tuple[int, ...]


def lines_up(a: Shape, b: Shape, axis: int | None) -> Shape | None:
    """The shape by which numpy aligns B with A; None if the document does not allow B.

    "The second tensor can either be of element size 1 (including a scalar tensor and any tensor
    with rank equal to or smaller than the first tensor), or having its shape as a contiguous
    subset of the first tensor's shape. The starting of the mutually equal shape is specified by
    the argument "axis", and if it is not set, suffix matching is assumed."

    Args:
        a: The shape of A.
        b: The shape of B.
        axis: The attribute; None if it is not set. It counts from the end if it is negative.
    """
    if math.prod(b) == 1 and len(b) <= len(a):
        return ()
    if axis is None:
        starts = [len(a) - len(b)]
    else:
        starts = [start for start in range(len(a) + 1) if axis in (start, start - len(a))]
    for start in starts:
        before, behind = a[: max(start, 0)], a[max(start, 0) + len(b) :]
        if before + b + behind == a:
            return b + (1,) * len(behind)
    return None


Array = npt.NDArray[Any]
Outcome = list[Array] | sonnx_ort.ContractViolation


@st.composite
def shapes_of_tensors(draw: st.DrawFn, count: int) -> list[tuple[int, ...]]:
    """Some shapes that mostly have a common one, with sizes of 0 and 1 among them, or any."""
    sizes = {"min_side": 0, "max_side": 3}
    if draw(st.integers(0, 3)):
        fitting = hypothesis_numpy.mutually_broadcastable_shapes(
            num_shapes=count, max_dims=4, **sizes
        )
        return list(draw(fitting).input_shapes)
    shape = hypothesis_numpy.array_shapes(min_dims=0, max_dims=3, **sizes)
    return draw(st.lists(shape, min_size=count, max_size=count))


def broadcast_model(
    element_types: Sequence[str],
    shapes: Sequence[Dimensions],
    *,
    outputs: Sequence[str] | None = None,
    node: str = "the_node",
    opset: int = OPSET,
) -> onnx.ModelProto:
    """Make a model of one node: `x0, x1, ... -> sonnx::Broadcast -> z0, z1, ...`.

    Args:
        element_types: The ONNX element type of each input, and of its output.
        shapes: The declared shape of each input.
        outputs: The names of the node's outputs, all of which but "" are graph outputs.
        node: The name of the node.
        opset: The version of the default domain.
    """
    xs = [f"x{index}" for index in range(len(shapes))]
    zs = [f"z{index}" for index in range(len(shapes))] if outputs is None else outputs
    types = map(declared, element_types, shapes)
    inputs = ", ".join(f"{what} {x}" for what, x in zip(types, xs, strict=True))
    given = ", ".join(f"{t}[] {z}" for t, z in zip(element_types, zs, strict=False) if z)
    text = f"""({inputs}) => ({given}) {{
        ["{node}"] {", ".join(zs)} = sonnx.Broadcast({", ".join(xs)})
    }}"""
    made = parse(text, domains={"sonnx": 1}, opset=opset)
    # The parser drops a last output that is left out.
    made.graph.node[0].output[:] = zs
    return made


def legacy_model(
    operator: str, a_shape: Dimensions, b_shape: Dimensions, opset: int, **attributes: int
) -> onnx.ModelProto:
    """Make a model of one node of opset 1 or 6: `A, B -> operator -> C`, C of A's shape.

    Args:
        operator: "Div" or "Sub".
        a_shape: The declared shape of A.
        b_shape: The declared shape of B.
        opset: The version of the default domain.
        **attributes: The attributes, such as `broadcast` and `axis`.
    """
    made = binary(operator, "float", (a_shape, b_shape, a_shape), "the_node", opset=opset)
    made.graph.node[0].attribute.extend(map(helper.make_attribute, attributes, attributes.values()))
    return made


def run(session: sonnx_ort.InferenceSession, feeds: Mapping[str, Array]) -> Outcome:
    """Run a session on arrays of any numeric type or bool: the outputs, or the violation."""
    try:
        return ort_values.run(session, feeds)
    except sonnx_ort.ContractViolation as violation:
        return violation


def outcome(
    made: onnx.ModelProto,
    feeds: Mapping[str, Array],
    options: ort.SessionOptions | None = None,
    **choices: str,
) -> Outcome:
    """Rewrite and run a model: its outputs, or the violation."""
    return run(sonnx_ort.InferenceSession(made, options or quiet(), **choices), feeds)


def results(made: onnx.ModelProto, *how: Any, **choices: str) -> list[Array]:
    """Rewrite and run a model that keeps its rules; arguments as for `outcome`."""
    found = outcome(made, *how, **choices)
    assert isinstance(found, list), found
    return found


def violation(made: onnx.ModelProto, *how: Any, **choices: str) -> sonnx_ort.ContractViolation:
    """Rewrite and run a model that breaks a rule; arguments as for `outcome`."""
    found = outcome(made, *how, **choices)
    assert isinstance(found, sonnx_ort.ContractViolation), found
    return found


def broadcast_guards(made: onnx.ModelProto) -> list[str]:
    """The names of the guards of Broadcasts in a model's main graph."""
    return [node.name for node in made.graph.node if node.name.startswith("Broadcast '")]


def numbered(shape: Sequence[int], dtype: npt.DTypeLike, first: int = 1) -> Array:
    """A tensor of positive numbers from the first, that differ as far as the dtype allows."""
    count = int(np.prod(shape, dtype=np.int64))
    return (np.arange(count) % 100 + first).reshape(tuple(shape)).astype(dtype)


def assert_identical(actual: Array, expected: Array) -> None:
    """Assert equal dtype, shape and bits, those of NaNs included."""
    assert (actual.dtype, actual.shape) == (expected.dtype, expected.shape)
    assert actual.tobytes() == expected.tobytes(), (actual, expected)
