"""Small models with what exporters write into nodes, in the forms of the real ones.

The texts are those of PyTorch 2.13.0 for this network, with other paths:

    class Scale(torch.nn.Module):
        def forward(self, rows, scale):
            return rows / scale

    class Net(torch.nn.Module):
        def forward(self, rows, scale):
            return self.scaling(self.first(rows) - 1, scale)
"""

import onnx
import onnx.parser

NET = (
    'File "/home/me/net.py", line 17, in forward\n'
    "    return self.scaling(self.first(rows) - 1, scale)"
)
LINEAR = (
    '  File "/venv/lib/python3.11/site-packages/torch/nn/modules/linear.py", line 134, in forward\n'
    "    return F.linear(input, self.weight, self.bias)"
)
SCALE = '  File "/home/me/net.py", line 7, in forward\n    return rows / scale'

OF_LINEAR = {
    "namespace": (": net.Net/first: torch.nn.modules.linear.Linear/linear: aten.linear.default"),
    "pkg.torch.onnx.class_hierarchy": (
        "['net.Net', 'torch.nn.modules.linear.Linear', 'aten.linear.default']"
    ),
    "pkg.torch.onnx.fx_node": "%linear : [num_users=1] = call_function[...]",
    "pkg.torch.onnx.name_scopes": "['', 'first', 'linear']",
    "pkg.torch.onnx.stack_trace": f"{NET}\n{LINEAR}",
}
OF_SUB = {
    "namespace": ": net.Net/sub_1: aten.sub.Tensor",
    "pkg.torch.onnx.class_hierarchy": "['net.Net', 'aten.sub.Tensor']",
    "pkg.torch.onnx.fx_node": "%sub_1 : [num_users=1] = call_function[...]",
    "pkg.torch.onnx.name_scopes": "['', 'sub_1']",
    "pkg.torch.onnx.stack_trace": NET,
}
OF_DIV = {
    "namespace": ": net.Net/scaling: net.Scale/div: aten.div.Tensor",
    "pkg.torch.onnx.class_hierarchy": "['net.Net', 'net.Scale', 'aten.div.Tensor']",
    "pkg.torch.onnx.fx_node": "%div : [num_users=1] = call_function[...]",
    "pkg.torch.onnx.name_scopes": "['', 'scaling', 'div']",
    "pkg.torch.onnx.stack_trace": f"{NET}\n{SCALE}",
}

WRITTEN = "written at /home/me/net.py:7 in Scale.forward, scope 'scaling'"
"""Where the Div was written."""

DOC_STRING = (
    "/home/me/net.py(7): forward\n"
    "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py(1768): _slow_forward\n"
    "/venv/lib/python3.11/site-packages/torch/nn/modules/module.py(1789): _call_impl\n"
    "/home/me/net.py(17): forward\n"
    "/venv/lib/python3.11/site-packages/torch/onnx/__init__.py(334): export\n"
    "/home/me/export.py(5): <module>\n"
)
"""The doc string of the Div that `dynamo=False` and `verbose=True` write."""


def exported(
    properties: dict[str, str] | None = None,
    *,
    name: str = "node_div",
    doc_string: str = "",
    producer: str = "pytorch",
    second: str = "float[m,k] scale",
) -> onnx.ModelProto:
    """A Div of `rows`, of shape (n, 3), with metadata; that of the network by default."""
    model = onnx.parser.parse_model(
        f'<ir_version: 10, opset_import: ["": 20]> g (float[n,3] rows, {second})'
        " => (float[n,3] y) { y = Div(rows, scale) }"
    )
    (node,) = model.graph.node
    node.name, node.doc_string = name, doc_string
    for key, value in (OF_DIV if properties is None else properties).items():
        node.metadata_props.add(key=key, value=value)
    model.producer_name = producer
    return model
