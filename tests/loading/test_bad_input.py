"""What is no usable model is refused with a sentence."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from support.graphs import binary_model, parse


def valid() -> onnx.ModelProto:
    return binary_model("Div", "float", ["n"], ["n"], c_shape=["n"])


def refusal(source: object) -> str:
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(source)  # type: ignore[call-overload]
    return str(caught.value)


def test_missing_file() -> None:
    assert refusal("nowhere.onnx") == "there is no file 'nowhere.onnx'"


def test_folder(tmp_path: Path) -> None:
    assert refusal(tmp_path) == f"'{tmp_path}' is a folder; give the model's file"


def test_file_that_is_no_model(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(b"\x0a\xff no model")
    message = refusal(path)
    assert message.startswith(f"'{path}' is not a complete ONNX model (11 bytes: ")
    assert message.endswith("); copy or export it again")


def test_file_that_is_too_large_for_a_model_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    with path.open("wb") as file:
        file.truncate(1 << 31)
    assert refusal(path) == f"'{path}' is not an ONNX model: it is larger than 2 GiB"


@pytest.mark.parametrize("kept", [1, 20, 60, -1])
def test_truncated_file(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(valid().SerializeToString()[:kept])
    assert refusal(path).startswith(f"'{path}' is not a complete ONNX model (")


def test_empty_bytes() -> None:
    assert refusal(b"") == "the bytes are empty; copy or export the model again"


def test_bytes_that_are_no_model() -> None:
    assert refusal(b"\xff\xff").startswith("the bytes are not a complete ONNX model (2 bytes: ")


@pytest.mark.parametrize("version", [0, -1, 9999])
def test_unknown_opset(version: int) -> None:
    made = valid()
    made.opset_import[0].version = version
    newest = onnx.defs.onnx_opset_version()
    assert refusal(made) == (
        f"the model imports version {version} of the ONNX operators; this installation knows 1 to "
        f"{newest}: upgrade onnx, or export to one of these"
    )


@pytest.mark.parametrize("names", [("", ""), ("", "ai.onnx"), ("ai.onnx", ""), ("d", "d")])
def test_domain_that_is_imported_twice(names: tuple[str, str]) -> None:
    """ONNX Runtime takes the last version."""
    made = valid()
    del made.opset_import[:]
    made.opset_import.extend(helper.make_opsetid(name, 13 + k) for k, name in enumerate(names))
    if "d" in names:
        made.opset_import.add(domain="", version=13)
    name = "d" if "d" in names else "ai.onnx"
    assert refusal(made) == (
        f"the domain '{name}' is imported twice, in the versions 13 and 14; keep one of them"
    )


def test_version_that_is_imported_twice_is_imported_once() -> None:
    """As skl2onnx writes it."""
    made = valid()
    given = made.opset_import[0].version
    made.opset_import.extend(helper.make_opsetid(name, given) for name in ("", "ai.onnx"))
    imported = [(each.domain, each.version) for each in sonnx_ort.rewrite(made).opset_import]
    assert imported == [("", given), ("sonnx", 1)]


def test_domain_that_a_function_imports_twice() -> None:
    made = valid()
    node = helper.make_node("Neg", ["a"], ["b"])
    imports = [helper.make_opsetid("", version) for version in (13, 14)]
    made.functions.append(helper.make_function("d", "F", ["a"], ["b"], [node], imports))
    assert refusal(made) == (
        "the domain 'ai.onnx' is imported twice, in the versions 13 and 14; keep one of them"
    )


@pytest.mark.parametrize("names", [("value", "value_ints"), ("value_ints", "value")])
def test_constant_of_several_values(names: tuple[str, str]) -> None:
    """ONNX Runtime takes the first."""
    made = parse("(int64[2] x) => (int64[2] z) { [c] c = Constant() z = Div(x, c) }")
    values = {"value": numpy_helper.from_array(np.array([3, 3])), "value_ints": [0, 0]}
    for name in names:
        made.graph.node[0].attribute.append(helper.make_attribute(name, values[name]))
    assert refusal(made) == f"Constant 'c' has several values: {' and '.join(names)}; keep one"


def test_no_opset() -> None:
    made = valid()
    del made.opset_import[:]
    assert refusal(made) == (
        "the model is not valid ONNX: model with IR version >= 3 must specify opset_import for ONNX"
    )


def test_unknown_operator() -> None:
    made = valid()
    made.graph.node[0].op_type = "Quotient"
    assert refusal(made) == (
        "the model is not valid ONNX: No Op registered for Quotient with domain_version of 17 "
        "==> Context: Bad node spec for node. Name: the_node OpType: Quotient"
    )


def test_duplicate_value_name() -> None:
    made = valid()
    made.graph.node.append(helper.make_node("Div", ["A", "B"], ["C"], name="again"))
    assert refusal(made).startswith("the model is not valid ONNX: Graph must be in single static")


@pytest.mark.parametrize(
    "name",
    ["given", "size", "result", "computed", "fixed", "the_node", "inner", "inner_node", "claimed"],
)
def test_name_that_is_no_text(name: str) -> None:
    made = parse("""(bool p, float[size] given) => (float[size] result) <float[1] fixed = {1}> {
        [the_node] computed = Neg(given)
        chosen = If (p) <
            then_branch = then () => (float[size] inner) { [inner_node] inner = Abs(computed) },
            else_branch = else () => (float[size] other) { other = Add(computed, fixed) }
        >
        result = Div(chosen, given)
    }""")
    made.graph.value_info.append(helper.make_tensor_value_info("claimed", 1, None))
    content = made.SerializeToString()
    broken = content.replace(name.encode(), b"\xff" * len(name))
    assert broken != content
    odd = bytes([0xFF]) * len(name)
    assert refusal(broken) == f"the name {odd!r} is not valid UTF-8; give it another"


def test_reference_to_the_parameter_of_no_function() -> None:
    made = parse("(float[2] x) => (float[2] y) { [scale] y = Elu<alpha = 2.0>(x) }")
    (alpha,) = made.graph.node[0].attribute
    alpha.ref_attr_name = "slope"
    assert refusal(made) == (
        "Elu 'scale': its alpha refers to a parameter 'slope' of a function, but the node is in "
        "no function; write the value"
    )


def test_function_with_a_graph_as_a_parameter() -> None:
    made = onnx.parser.parse_model("""<ir_version: 10, opset_import: ["" : 18, "local" : 1]>
        agraph (bool c, float[2] x) => (float[2] y) {
            y = local.choose<body: graph = then () => (float[2] t) { t = Neg(x) }>(c, x)
        }
        <domain: "local", opset_import: ["" : 18]> choose <body> (c, x) => (y) {
            [branch] y = If(c) <
                then_branch: graph = @body, else_branch: graph = other () => (e) { e = Neg(x) }
            >
        }""")
    assert refusal(made) == (
        "If 'branch' in the model-local function 'choose': its then_branch is a graph that each "
        "call passes; inline the function"
    )


def test_unknown_element_type_of_an_initializer() -> None:
    made = valid()
    made.graph.initializer.append(onnx.numpy_helper.from_array(np.ones(1, np.float32), "w"))
    made.graph.initializer[0].data_type = 77
    assert refusal(made) == (
        "tensor 'w' has the element type 77, which this installation does not know; upgrade onnx "
        "and onnx-ir, or export the model again"
    )
