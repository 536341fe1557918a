"""A Constant stores its tensor as `value`, whatever attribute gave it."""

import onnx.helper as h
import onnxruntime as ort
import pytest
from onnx import ModelProto, TensorProto, numpy_helper

import sonnx_ort
from support.conformed import conformed, require_same_bits, violated

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
