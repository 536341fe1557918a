"""What `rewrite` changes, and what it leaves alone."""

from unittest.mock import Mock

import numpy as np
import onnx
import onnx_ir as ir
import onnxruntime as ort
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.backends import Backend
from sonnx_ort.loading.serialization import require_serializable
from sonnx_ort.options import Choices
from sonnx_ort.pipeline import enforce
from sonnx_ort.profile.catalog import OPERATORS
from support.backends import on_each_backend, on_python
from support.graphs import binary_model, parse
from support.sessions import quiet

pytestmark = on_each_backend

ELEMENT_TYPES = [
    "float16", "float", "double", "bfloat16",
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip


def simple(**kwargs: object) -> onnx.ModelProto:
    return binary_model("Div", "float", ["n"], ["n"], c_shape=["n"], **kwargs)  # type: ignore[arg-type]


def custom_nodes(made: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in made.graph.node if node.domain == "sonnx"]


@on_python
@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("element_type", ELEMENT_TYPES)
def test_every_type_is_replaced(operator: str, element_type: str) -> None:
    made = sonnx_ort.rewrite(binary_model(operator, element_type, [2], [2], c_shape=[2]))
    assert [node.op_type for node in custom_nodes(made)] == [f"Checked{operator}"]
    assert not any(n.op_type == operator and n.domain == "" for n in made.graph.node)
    onnx.checker.check_model(made, full_check=True)


def test_argument_is_not_modified() -> None:
    made = simple()
    before = made.SerializeToString(deterministic=True)
    sonnx_ort.rewrite(made)
    assert made.SerializeToString(deterministic=True) == before


@on_python
def test_graph_of_onnx_ir_is_not_modified_and_gives_one() -> None:
    made = ir.from_proto(simple())
    rewritten = sonnx_ort.rewrite(made)
    assert isinstance(rewritten, ir.Model)
    assert [node.domain for node in made.graph] == [""]
    assert [node.domain for node in rewritten.graph] == ["sonnx", ""]


def test_path_and_bytes_give_the_same(tmp_path: object) -> None:
    made = simple()
    path = f"{tmp_path}/model.onnx"
    onnx.save(made, path)
    assert sonnx_ort.rewrite(path) == sonnx_ort.rewrite(made.SerializeToString())


@on_python
def test_everything_else_survives() -> None:
    made = parse(
        """(float[n,3] a, float[n,3] b) => (float[n,3] z, float[n,3] s) <float[n,3] q> {
            [relu] r = Relu(a)
            [sub] s = Sub(r, b)
            [div] q = Div(s, b)
            [own] z = their.domain.Custom <depth = 3> (q)
        }""",
        domains={"their.domain": 7},
    )
    for node in made.graph.node[:2]:
        node.doc_string = f"about {node.name}"
    made.doc_string = "about the model"
    made.producer_name = "producer"
    made.producer_version = "1.2"
    made.model_version = 5
    made.graph.doc_string = "about the graph"
    helper.set_model_props(made, {"author": "nobody"})
    made.graph.node[1].metadata_props.add(key="layer", value="first")
    made.graph.output[1].doc_string = "about s"
    rewritten = sonnx_ort.rewrite(made)
    for field in ("doc_string", "producer_name", "producer_version", "model_version"):
        assert getattr(rewritten, field) == getattr(made, field), field
    assert list(rewritten.metadata_props)[:1] == list(made.metadata_props)
    assert [entry.key for entry in rewritten.metadata_props] == ["author", "sonnx_ort.enforced"]
    assert rewritten.graph.doc_string == "about the graph"
    assert rewritten.graph.input == made.graph.input
    assert rewritten.graph.output == made.graph.output
    assert [v for v in rewritten.graph.value_info if v.name == "q"] == list(made.graph.value_info)
    by_name = {node.name: node for node in rewritten.graph.node}
    assert by_name["relu"] == made.graph.node[0]
    assert by_name["own"] == made.graph.node[3]
    assert by_name["sub"].doc_string == "about sub"
    assert {"layer": "first"}.items() <= {
        entry.key: entry.value for entry in by_name["sub"].metadata_props
    }.items()
    assert {o.domain: o.version for o in rewritten.opset_import} == {
        "": 17, "their.domain": 7, "sonnx": 1,
    }  # fmt: skip


def test_denotation_of_declared_axes_survives() -> None:
    made = parse("""(float[n,3] a, float[n,3] b) => (float[] z) <float[n,3] r> {
        r = Relu(a)
        s = Sub(r, b)
        z = Exp(r)
    }""")
    made.graph.value_info[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    (declared,) = [v for v in sonnx_ort.rewrite(made).graph.value_info if v.name == "r"]
    assert declared.type.tensor_type.shape.dim[0].denotation == "DATA_BATCH"


def test_enforced_node_keeps_its_texts_and_metadata() -> None:
    made = binary_model("Div", "float", ["n"], ["m"])
    (divide,) = made.graph.node
    divide.doc_string = "about the node"
    divide.metadata_props.add(key="layer", value="first")
    rewritten = sonnx_ort.rewrite(made)
    (divide,) = [node for node in rewritten.graph.node if node.name == "the_node"]
    assert divide.doc_string == "about the node"
    assert {entry.key: entry.value for entry in divide.metadata_props}["layer"] == "first"


def test_node_keeps_its_further_outputs(backend: str) -> None:
    made = parse(
        """(float[n,3] x, float[3] s) => (float[n,3] y, float[3] m) {
            [normalize] y = BatchNormalization(x, s, s, s, s)
            m = Relu(mean)
        }""",
        opset=9,
    )
    made.graph.node[0].output.extend(["mean", "variance", "saved_mean", "saved_variance"])
    rewritten = sonnx_ort.rewrite(made, operators="BatchNormalization", backend=backend)
    outputs = {node.name: list(node.output) for node in rewritten.graph.node}
    assert outputs["normalize"] == ["y", "mean", "variance", "saved_mean", "saved_variance"]


def test_model_that_was_enforced_natively_is_told_from_others() -> None:
    choices = Choices.of("typed", "reject", "default", "python", make_explicit=False)
    once = sonnx_ort.rewrite(binary_model("Div", "float", ["n"], ["m"]), backend="native")
    enforced = enforce(once, choices)
    assert (enforced.backend, enforced.unchanged) == (Backend.NATIVE, True)
    enforced = enforce(binary_model("Div", "float", ["n"], ["m"]), choices)
    assert (enforced.backend, enforced.unchanged) == (Backend.PYTHON, False)


def test_model_of_more_than_one_message_is_refused() -> None:
    large = Mock(SerializeToString=Mock(side_effect=ValueError("too long")))
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        require_serializable(large)
    assert str(caught.value) == (
        "the model is too large for one message of 2 GiB (too long); keep its tensors as external "
        "data and use rewrite_file"
    )


def test_training_info_survives() -> None:
    made = simple()
    made.training_info.add().algorithm.name = "algorithm"
    assert sonnx_ort.rewrite(made).training_info == made.training_info


def test_new_values_take_no_name_that_is_taken() -> None:
    made = parse("""(float[n] a, float[n] b, float[n] q_result) => (float[n] z) {
        [div] q = Div(a, b)
        z = Concat<axis = 0>(q, q_result)
    }""")
    options = sonnx_ort.register()
    session = ort.InferenceSession(sonnx_ort.rewrite(made).SerializeToString(), options)
    x = np.ones(2, np.float32)
    np.testing.assert_array_equal(
        session.run(None, {"a": x, "b": x, "q_result": x})[0], [1, 1, 1, 1]
    )


@pytest.mark.satisfies("Div.onnx.legacy.consumed_inputs", "Div.onnx.legacy.broadcast")
@pytest.mark.parametrize(
    ("opset", "attributes"),
    [
        (1, {}),
        (1, {"consumed_inputs": [0, 0]}),
        (1, {"broadcast": 0}),
        (5, {}),
        (6, {}),
        (6, {"broadcast": 0, "axis": 1}),
        (7, {}),
        (13, {}),
        (14, {}),
    ],
    ids=str,
)
def test_every_version_runs(opset: int, attributes: dict[str, object]) -> None:
    made = binary_model("Div", "float", [2], [2], c_shape=[2], opset=opset)
    made.graph.node[0].attribute.extend(
        helper.make_attribute(name, value) for name, value in attributes.items()
    )
    x = np.array([3, 4], np.float32)
    options = quiet()
    (result,) = sonnx_ort.InferenceSession(made, options).run(None, {"A": x, "B": x})
    np.testing.assert_array_equal(result, [1, 1])


@on_python
def test_old_version_with_an_operator_that_changed_is_refused() -> None:
    text = "(float[2] a) => (float[2] c) { r = Reshape <shape = [2]> (a) [div] c = Div(r, r) }"
    made = parse(text, opset=1)
    with pytest.raises(sonnx_ort.InvalidModel) as caught:
        sonnx_ort.rewrite(made)
    assert str(caught.value) == (
        "the model imports version 1 of the ONNX operators, but enforcement needs version 5, which "
        "defines Reshape differently; convert the model with onnx.version_converter"
    )


@on_python
def test_all_operators_that_changed_are_told() -> None:
    made = parse(
        """(float[2] a) => (float[] c, float[] d, bool[2] e, bool[2] f) {
            c, d = sonnx.Broadcast(a, a)
            e = Less(a, a)
            f = Greater(a, a)
        }""",
        opset=6,
        domains={"sonnx": 1},
    )
    with pytest.raises(sonnx_ort.InvalidModel, match="which defines Greater, Less differently"):
        sonnx_ort.rewrite(made)


def test_model_without_a_node_to_enforce_is_given_back_as_it_is() -> None:
    made = parse(
        "(float[2] a) => (float[2] c) <float[2] w = {1, 2}> { c = Concat<axis = 0>(a, w) }"
    )
    assert sonnx_ort.rewrite(made) == made


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"edition": "final"}, "edition='final' is unknown; choose 'typed' or 'preliminary'"),
        ({"broadcast": "maybe"}, "broadcast='maybe' is unknown; choose 'reject' or 'explicit'"),
        (
            {"backend": "fast"},
            "backend='fast' is unknown; choose 'python' or 'native' or 'compiled'",
        ),
    ],
    ids=str,
)
def test_unknown_option_is_refused(options: dict[str, str], message: str) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(simple(), **options)
    assert str(caught.value) == message


def test_unknown_operator_is_refused_with_the_names_of_all() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(simple(), operators=["Div", "Quotient"])
    message, names = str(caught.value).split(", or names from ")
    assert message == (
        "operators: the profile has no operator 'Quotient'; choose 'default', 'elementwise', "
        "'profile'"
    )
    assert names.split(", ") == sorted({"Graph", "Graph.finite", "Graph.finite_values", *OPERATORS})


def test_inputs_and_outputs_without_a_shape_are_accepted() -> None:
    session = sonnx_ort.InferenceSession(binary_model("Div", "float", None, None))
    x = np.ones(2, np.float32)
    np.testing.assert_array_equal(session.run(None, {"A": x, "B": x})[0], [1, 1])


@on_python
def test_unknown_types_are_left_to_the_session() -> None:
    text = """(float[2] a) => (float[2] c) {
        m = their.domain.Mystery(a) [div] d = Div(m, m) c = their.domain.Mystery(d)
    }"""
    made = parse(text, domains={"their.domain": 1})
    rewritten = sonnx_ort.rewrite(made)
    assert not rewritten.graph.value_info
    (node,) = custom_nodes(rewritten)
    assert {entry.key: entry.value for entry in node.metadata_props}["sonnx_ort.rules"] == (
        "Div.float.R2 Div.float.RG1 Div.float.R1 "
        "Div.int.R2 Div.int.RG1 Div.int.R1 Div.int.C1 Div.int.C2"
    )
