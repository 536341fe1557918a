"""What a change puts into the place of a node says where that was written."""

import onnx.parser
import pytest

import sonnx_ort
from support.exported_models import OF_DIV, exported

PLACE = {key: value for key, value in OF_DIV.items() if key != "pkg.torch.onnx.fx_node"}


def with_metadata(text: str) -> onnx.ModelProto:
    model = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": 20]> {text}')
    for node in model.graph.node:
        for key, value in OF_DIV.items():
            node.metadata_props.add(key=key, value=value)
    return model


@pytest.mark.parametrize(
    ("model", "operators"),
    [
        # Nodes in front of the one that stays.
        (exported(second="float[3] scale"), ["Shape", "Expand", "Div"]),
        # Nodes in its place.
        (with_metadata("g (float[2,3] x) => (float[2,3] y) { y = Elu(x) }"), None),
        # The steps of a Loop.
        (
            with_metadata(
                """g (float[2] x) => (float[2] y) {
                    n = Constant <value: tensor = int64 {2}> ()
                    c = Constant <value: tensor = bool {1}> ()
                    y = Loop <body: graph = b (int64 i, bool k, float[2] s)
                        => (bool o, float[2] t) {
                        o = Identity(k)
                        t = Add(s, s)
                    }> (n, c, x)
                }"""
            ),
            None,
        ),
    ],
)  # fmt: skip
def test_added_nodes_say_where_the_node_was_written(
    model: onnx.ModelProto, operators: list[str] | None
) -> None:
    conformed = sonnx_ort.conform(model)
    assert conformed.changes
    nodes = conformed.model.graph.node
    if operators is not None:
        assert [node.op_type for node in nodes] == operators
    places = [{e.key: e.value for e in n.metadata_props} for n in nodes if n.op_type != "Constant"]
    assert [found for found in places if PLACE.items() - found.items()] == []


def test_metadata_changes_no_node() -> None:
    nodes = []
    for properties in (None, {}):
        model = sonnx_ort.conform(exported(properties, second="float[3] scale")).model
        for node in model.graph.node:
            del node.metadata_props[:]
        nodes.append([node.SerializeToString() for node in model.graph.node])
    assert nodes[0] == nodes[1]
