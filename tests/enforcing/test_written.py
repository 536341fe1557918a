"""What is put into the place of a node says where that was written, and changes nothing else."""

import onnx
import pytest

import sonnx_ort
from support.backends import BACKENDS
from support.exported_models import OF_DIV, exported

PLACE = {key: value for key, value in OF_DIV.items() if key != "pkg.torch.onnx.fx_node"}


def metadata_of(node: onnx.NodeProto) -> dict[str, str]:
    found = {entry.key: entry.value for entry in node.metadata_props}
    return {key: value for key, value in found.items() if not key.startswith("sonnx_ort.")}


@BACKENDS
@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
def test_each_node_of_a_guard_says_where_its_node_was_written(backend: str, broadcast: str) -> None:
    model = sonnx_ort.rewrite(exported(), backend=backend, broadcast=broadcast)
    found = [metadata_of(node) for node in model.graph.node]
    assert [each for each in found if each not in (PLACE, OF_DIV)] == []


@BACKENDS
@pytest.mark.parametrize("broadcast", ["reject", "explicit"])
def test_rewriting_again_changes_nothing(backend: str, broadcast: str) -> None:
    first = sonnx_ort.rewrite(exported(), backend=backend, broadcast=broadcast)
    again = sonnx_ort.rewrite(first, backend=backend, broadcast=broadcast)
    assert again.SerializeToString() == first.SerializeToString()


@BACKENDS
def test_model_without_metadata_is_rewritten_as_before(backend: str) -> None:
    model = sonnx_ort.rewrite(exported({}, producer=""), backend=backend)
    assert [metadata_of(node) for node in model.graph.node if metadata_of(node)] == []


@BACKENDS
def test_metadata_changes_no_node(backend: str) -> None:
    nodes = []
    for properties in (None, {}):
        model = sonnx_ort.rewrite(exported(properties), backend=backend)
        for node in model.graph.node:
            del node.metadata_props[:]
        nodes.append([node.SerializeToString() for node in model.graph.node])
    assert nodes[0] == nodes[1]
