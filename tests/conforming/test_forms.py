"""Axes, constants and scalars get the one form that the profile admits."""

import numpy as np
import onnx.helper as h
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

import sonnx_ort
from support.conformed import (
    TYPES,
    conformed,
    random,
    reasons,
    require_fixed,
    require_same_bits,
    violated,
)
from support.graphs import parse
from support.sessions import on_one_thread

FROM_THE_END = {
    "Softmax": "(float[2,3,4] x) => (float[] y) { [node] y = Softmax <axis = -2> (x) }",
    "ArgMax": "(float[2,3,4] x) => (int64[] y) { [node] y = ArgMax <axis = -1> (x) }",
    "Concat": "(float[2,3,4] x) => (float[] y) { [node] y = Concat <axis = -3> (x, x) }",
}


@pytest.mark.parametrize("name", FROM_THE_END)
def test_axis_is_counted_from_the_front(name: str) -> None:
    before = parse(FROM_THE_END[name])
    assert violated(before)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype(np.float32)
    require_fixed(before, {"x": x})


@pytest.mark.parametrize("name", FROM_THE_END)
def test_axis_stays_where_no_rank_is_known(name: str) -> None:
    model = parse(FROM_THE_END[name].replace("float[2,3,4]", "float[]"))
    remaining = sonnx_ort.conform(model, operators=name).remaining
    assert [reason for _, reason in remaining] == ["the rank of 'x' is not known"]


@pytest.mark.parametrize("opset", [11, 13])
def test_removed_axes_are_named(opset: int) -> None:
    before = parse("(float[1,3,1] x) => (float[] y) { [node] y = Squeeze(x) }")
    before.opset_import[0].version = opset
    assert violated(before)
    require_fixed(before, {"x": np.ones((1, 3, 1), np.float32)})


NOT_NAMED = {
    "which axes of 'x' have the size 1 depends on the input; fix it: assume_shapes={'x': (1, 1)}": (
        "n,1"
    ),
    "it removes no axis, but the profile requires one to be named": "2,3",
}


@pytest.mark.parametrize("reason", NOT_NAMED)
def test_squeeze_stays_where_no_axis_can_be_named(reason: str) -> None:
    text = f"(float[{NOT_NAMED[reason]}] x) => (float[] y) {{ [node] y = Squeeze(x) }}"
    remaining = sonnx_ort.conform(parse(text), operators="Squeeze").remaining
    assert [given for _, given in remaining] == [reason]


FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING

FORMS: dict[str, tuple[object, int, tuple[int, ...]]] = {
    "value_float": (-0.0, FLOAT, ()),
    "value_floats": ([1.5, float("nan"), float("-inf")], FLOAT, (3,)),
    "value_int": (-(2**63), INT64, ()),
    "value_ints": ([2**63 - 1, 0], INT64, (2,)),
    "value_string": ("text", STRING, ()),
    "value_strings": (["", "ü"], STRING, (2,)),
}


def constant(data_type: int, shape: tuple[int, ...], **attributes: object) -> ModelProto:
    """A model of one Constant and an Identity of it."""
    nodes = [
        h.make_node("Constant", [], ["c"], name="node", **attributes),
        h.make_node("Identity", ["c"], ["y"]),
    ]
    result = h.make_tensor_value_info("y", data_type, shape)
    graph = h.make_graph(nodes, "g", [], [result])
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


@pytest.mark.parametrize("name", FORMS)
def test_tensor_is_stored_as_value(name: str) -> None:
    value, data_type, shape = FORMS[name]
    before = constant(data_type, shape, **{name: value})
    assert violated(before) == {"Constant.R1"}
    after = conformed(before)
    assert not violated(after)
    (attribute,) = after.graph.node[0].attribute
    assert (attribute.name, attribute.t.data_type) == ("value", data_type)
    assert numpy_helper.to_array(attribute.t).shape == shape
    if data_type == STRING:
        first, second = (ort.InferenceSession(m.SerializeToString()) for m in (before, after))
        assert first.run(None, {})[0].tolist() == second.run(None, {})[0].tolist()
    else:
        require_same_bits(before, after, {})


def test_change_says_what_it_does() -> None:
    changes = sonnx_ort.conform(constant(INT64, (), value_int=1), operators="Constant").changes
    assert [str(change) for change in changes] == ["Constant 'node': store the tensor as value"]


def test_constant_of_two_values_is_refused() -> None:
    """ONNX Runtime takes the first one, and ONNX says nothing."""
    model = constant(INT64, (), value_int=1, value_ints=[2])
    with pytest.raises(sonnx_ort.InvalidModel, match="has several values: value_int and value_in"):
        sonnx_ort.conform(model, operators="Constant")


@pytest.mark.parametrize("opset", [11, 13, 17])
@pytest.mark.parametrize("bounds", ["(X, L, H)", "(X, L)", "(X, , H)", "(X, L, D)"])
def test_bounds_of_one_element_become_scalars(bounds: str, opset: int) -> None:
    model = parse(
        f"(float[n] X, float[1] D) => (float[n] Y, float[1] Z) {{ Y = Clip{bounds}  Z = Neg(D) }}",
        constants={"L": np.array([-0.5], np.float32), "H": np.array([0.5], np.float32)},
        opset=opset,
    )
    given = np.array([0.3], np.float32)
    require_fixed(
        model, *({"X": random("float", n), "D": given} for n in (0, 1, 50)), rules={"Clip.C1"}
    )


def test_a_bound_of_unknown_length_gives_the_reason() -> None:
    model = parse("(float[n] X, float[m] H) => (float[n] Y) { Y = Clip(X, , H) }")
    given = reasons(model)["Clip.C1"]
    assert given == (
        "how many elements 'H' has depends on the input; fix it: assume_shapes={'H': (1,)}"
    )


@pytest.mark.parametrize("element_type", ["float", "int64"])
def test_start_limit_and_step_of_one_element_become_scalars(element_type: str) -> None:
    model = parse(
        f"({element_type}[1] L) => ({element_type}[n] Y) {{ Y = Range(S, L, D) }}",
        constants={
            "S": np.array([1], TYPES[element_type]),
            "D": np.array([2], TYPES[element_type]),
        },
    )
    require_fixed(
        model, *({"L": np.array([n], TYPES[element_type])} for n in (0, 9)), rules={"Range.scalars"}
    )


SCALE, ZERO = np.array([0.02], np.float32), np.array([7], np.uint8)


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("shape", [(1, 5), (5, 1), (4, 5), (0, 5)])
def test_one_scale_of_an_axis_becomes_a_scalar_that_has_no_axis(
    shape: tuple[int, int], axis: int, opset: int
) -> None:
    model = parse(
        f"(float[n,m] X) => (uint8[n,m] Y) {{ Y = QuantizeLinear<axis={axis}>(X, S, Z) }}",
        constants={"S": SCALE, "Z": ZERO},
        opset=opset,
    )
    wrong_axis = {"QuantizeLinear.R1"} if axis != 1 else set()
    require_fixed(
        model, {"X": random("float", *shape)}, rules={"QuantizeLinear.signature", *wrong_axis}
    )


@pytest.mark.parametrize("opset", [10, 13, 17])
def test_scales_that_a_run_gives_are_squeezed(opset: int) -> None:
    model = parse(
        "(int32[n,m] X, float[1] S) => (float[n,m] Y) { Y = DequantizeLinear(X, S) }", opset=opset
    )
    require_fixed(
        model, {"X": random("int32", 4, 5), "S": SCALE}, rules={"DequantizeLinear.signature"}
    )


@pytest.mark.parametrize("scale", ["S", "D"])
def test_a_zero_point_that_is_left_out_is_0_of_uint8(scale: str) -> None:
    model = parse(
        "(float[n] X, float[1] D) => (uint8[n] Y, float[1] N)"
        f" {{ Y = QuantizeLinear(X, {scale})  N = Neg(D) }}",
        constants={"S": np.array(0.02, np.float32)},
    )
    assert "QuantizeLinear.given" in violated(model)
    require_fixed(model, {"X": random("float", 99), "D": SCALE})


@pytest.mark.parametrize(("attributes", "rule", "reason"), [
    ("axis=0", "signature", "'S' is not a vector of one element"),
    ("axis=0", "R1", "the axis is that of its scales"),
    ("axis=0, block_size=2", "signature", "it has one scale for each block of elements"),
    ("axis=0, output_dtype=3", "given", "its results are not uint8, which the profile requires"),
])  # fmt: skip
def test_scales_of_an_axis_give_the_reason(attributes: str, rule: str, reason: str) -> None:
    result = "int8" if "output" in attributes else "uint8"
    scale = (
        np.full((2, 3), 0.5, np.float32) if "block" in attributes else np.array([1, 2], np.float32)
    )
    model = parse(
        f"(float[{4 if 'block' in attributes else 2},3] X) => ({result}[n,m] Y)"
        f" {{ Y = QuantizeLinear<{attributes}>(X, S) }}",
        constants={"S": scale},
        opset=21,
    )
    assert reasons(model)[f"QuantizeLinear.{rule}"].startswith(reason)


def test_a_zero_point_of_more_axes_than_arrays_have_gives_the_reason() -> None:
    scale = ", ".join(["1"] * 100)
    model = parse(
        f"(float[n] X, float[{scale}] S) => (uint8[n] Y) {{ Y = QuantizeLinear(X, S) }}", opset=21
    )
    assert reasons(model)["QuantizeLinear.given"] == "the tensor to give would have 100 axes"


def test_a_scalar_has_no_axis_also_for_a_vector() -> None:
    model = parse(
        "(int32[n] X) => (float[n] Y) { Y = DequantizeLinear<axis=0>(X, S) }",
        constants={"S": np.array(0.5, np.float32)},
    )
    made = conformed(model)
    session = ort.InferenceSession(made.SerializeToString(), on_one_thread("none"))
    np.testing.assert_array_equal(session.run(None, {"X": np.array([3], np.int32)})[0], [1.5])
