"""Functions of a model: what stands in the place of a call, and what it is named by."""

import numpy as np
import onnx
import onnx.parser
import pytest

import sonnx_ort


def calling(name: str) -> onnx.ModelProto:
    """A model that calls a function, which divides its inputs and gives the first one back too."""
    return onnx.parser.parse_model(f"""<ir_version: 10, opset_import: ["": 18, "local": 1]>
        g (float[n] x, float[n] k) => (float[n] z, float[n] y) {{ {name} z, y = local.f(x, k) }}
        <domain: "local", opset_import: ["": 18]> f (a, b) => (c, a) {{ c = Div(a, b) }}""")


@pytest.mark.parametrize(
    ("name", "node"), [("", "f/Div"), ("[outer]", "outer/Div")], ids=["no name", "name"]
)
def test_node_of_a_function_is_named_by_its_call(name: str, node: str) -> None:
    report = sonnx_ort.check(calling(name), operators="default")
    assert {each.node for each in report.obligations} == {node}


def test_input_that_a_function_gives_back_is_a_result_of_its_call() -> None:
    session = sonnx_ort.InferenceSession(calling(""))
    x, k = np.float32([6, 8]), np.float32([2, 4])
    quotients, passed = session.run(None, {"x": x, "k": k})
    assert (quotients.tolist(), passed.tolist()) == ([3, 2], [6, 8])


@pytest.mark.parametrize("domain", ["", "ai.onnx"])
def test_function_that_replaces_a_standard_operator_is_refused(domain: str) -> None:
    model = calling("")
    model.functions[0].domain, model.functions[0].name = domain, "Relu"
    with pytest.raises(sonnx_ort.InvalidModel) as refused:
        sonnx_ort.check(model)
    assert str(refused.value) == (
        "the model-local function 'Relu' replaces the standard operator of that name; move it to "
        "another domain"
    )
