"""Sparse tensors are stored densely: initializers, and those of Constants."""

import numpy as np
import onnx
import onnx.helper as h
import pytest

import sonnx_ort
from sonnx_ort.conforming import constants as storing
from support.conformed import conformed, require_same_bits

FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


def tensor(name: str, *, by_axes: bool = False) -> onnx.SparseTensorProto:
    """[[0, -0, 0], [0, 0, NaN]], of which -0 and NaN are stored."""
    values = h.make_tensor(name, FLOAT, [2], [-0.0, float("nan")])
    places = [0, 1, 1, 2] if by_axes else [1, 5]
    shape = [2, 2] if by_axes else [2]
    return h.make_sparse_tensor(values, h.make_tensor("places", INT64, shape, places), [2, 3])


def model(sparse: onnx.SparseTensorProto | None = None, *nodes: onnx.NodeProto) -> onnx.ModelProto:
    """Softmax of a tensor times a sparse one."""
    made = [
        *nodes,
        h.make_node("Mul", ["x", "s"], ["z"], name="product"),
        h.make_node("Softmax", ["z"], ["y"], name="shares", axis=-1),
    ]
    x, y = (h.make_tensor_value_info(name, FLOAT, [2, 3]) for name in "xy")
    stored = [] if sparse is None else [sparse]
    graph = h.make_graph(made, "g", [x], [y], sparse_initializer=stored)
    return h.make_model(graph, opset_imports=[h.make_opsetid("", 17)], ir_version=8)


MODELS = {
    "initializer": model(tensor("s")),
    "indices of each axis": model(tensor("s", by_axes=True)),
    "Constant": model(None, h.make_node("Constant", [], ["s"], "c", sparse_value=tensor("v"))),
}


@pytest.mark.parametrize("name", MODELS)
def test_sparse_tensor_becomes_a_dense_initializer(name: str) -> None:
    after = conformed(MODELS[name])
    assert [i.name for i in after.graph.input] == ["x"]
    assert [(i.name, list(i.dims)) for i in after.graph.initializer] == [("s", [2, 3])]
    assert not after.graph.sparse_initializer


def test_results_keep_their_bits() -> None:
    x = np.asarray([[1, 2, np.inf], [-1, 0, 3]], np.float32)
    before = MODELS["initializer"]
    require_same_bits(before, conformed(before), {"x": x})


@pytest.mark.parametrize("name", MODELS)
def test_what_is_violated_for_it_is_mended(name: str) -> None:
    changes = sonnx_ort.conform(MODELS[name]).changes
    fixed = [(change.rules, change.title) for change in changes if change.node == "product"]
    assert (("Mul.float.RG1",), "store the sparse tensor densely") in fixed
    report = sonnx_ort.check(MODELS[name], operators="Mul")
    assert [o.mendable for o in report.violations] == ["store the sparse tensor densely"]


def test_tensor_of_too_many_elements_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "MOST_ELEMENTS", 5)
    expected = (
        "^the sparse tensor 's' cannot be stored densely: it has 6 elements; store it densely$"
    )
    with pytest.raises(sonnx_ort.SonnxError, match=expected):
        sonnx_ort.conform(MODELS["initializer"])
