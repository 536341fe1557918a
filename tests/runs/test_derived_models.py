"""Copies of a model: with all values as outputs, and without the names and texts of its author."""

import onnx
import pytest

from sonnx_ort.runs.derived_models import count_inner_nodes, exposed, seed_random_operators
from sonnx_ort.runs.parts import without_names
from support.graphs import parse

TEXT = """(float[3] x, bool c) => (float[3] z) {
    a = Relu(x)
    b, d = Split <axis = 0> (a)
    e = If(c) <then_branch = t () => (float[3] p) { p = Relu(x) },
               else_branch = f () => (float[3] q) { q = Neg(x) }>
    z = Abs(e)
}"""


@pytest.fixture
def model() -> onnx.ModelProto:
    return parse(TEXT)


@pytest.mark.parametrize(
    ("count", "names"), [(0, []), (1, ["a"]), (2, ["a", "b", "d"]), (4, ["a", "b", "d", "e", "z"])]
)
def test_first_nodes_have_all_their_values_as_outputs(
    model: onnx.ModelProto, count: int, names: list[str]
) -> None:
    made = exposed(model, count)
    assert len(made.graph.node) == count
    assert [output.name for output in made.graph.output] == names
    assert [value.name for value in made.graph.input] == ["x", "c"]


def test_outputs_that_a_node_leaves_out_are_none() -> None:
    made = parse('(float[3] x) => (float[3] y) { y, "" = Dropout(x) }')
    made.graph.node[0].output[1] = ""
    assert [output.name for output in exposed(made, 1).graph.output] == ["y"]


def test_what_the_file_claims_of_values_is_left_out(model: onnx.ModelProto) -> None:
    model.graph.value_info.add(name="a").type.tensor_type.elem_type = onnx.TensorProto.INT32
    made = exposed(model, 4)
    assert not made.graph.value_info
    assert not any(output.HasField("type") for output in made.graph.output)


def test_model_is_not_modified(model: onnx.ModelProto) -> None:
    before = model.SerializeToString(deterministic=True)
    exposed(model, 2)
    assert model.SerializeToString(deterministic=True) == before


def test_nodes_of_subgraphs_are_counted(model: onnx.ModelProto) -> None:
    assert count_inner_nodes(model) == 2
    assert count_inner_nodes(parse("(float[3] x) => (float[3] y) { y = Relu(x) }")) == 0


NAMED = """(float[secret] secret_x, bool secret_c) => (float[secret_k] secret_z)
    <float[2] secret_w = {2, 2}> {
        [secret_node] a = secret.secret_halved(secret_x)
        z = If(secret_c) <
            then_branch = secret_t () => (float[k] p) { s = Sub(a, secret_w) p = Abs(s) },
            else_branch = secret_e () => (float[k] q) { q = Neg(a) }
        >
        secret_z = Identity(z)
    }
    <opset_import: ["": 17], domain: "secret"> secret_halved (v) => (e) {
        one = Constant<value_float = 1.0>() e = Div(v, one)
    }"""


def secret() -> onnx.ModelProto:
    model = parse(NAMED, domains={"secret": 1})
    model.producer_name = model.doc_string = "secret"
    model.metadata_props.add(key="secret", value="secret")
    model.graph.node[0].doc_string = "secret"
    model.graph.value_info.add(name="secret_a")
    model.graph.initializer[0].doc_string = "secret"
    return model


def test_no_name_or_text_of_the_author_is_left() -> None:
    assert b"secret" in secret().SerializeToString()
    assert b"secret" not in without_names(secret()).SerializeToString()


def test_model_is_valid_and_has_the_same_operators() -> None:
    made = without_names(secret())
    onnx.checker.check_model(made)
    (function,) = made.functions
    assert [node.op_type for node in made.graph.node] == [function.name, "If", "Identity"]
    assert made.graph.node[0].domain == function.domain
    assert made.graph.node[0].input[0] == made.graph.input[0].name


def test_operator_that_the_model_does_not_define_keeps_its_name_and_domain() -> None:
    model = secret()
    model.graph.node.add(op_type="Own", domain="secret", input=["secret_x"], output=["o"])
    node = without_names(model).graph.node[-1]
    assert (node.domain, node.op_type) == ("secret", "Own")


TEXTS = """(string[n] secret_s, float[1, 1, 2, 2] x) => (int64[n] y, float[1, 1, 4, 4] z) <string[1] w = {"secret"}> {
    same = Equal(secret_s, w)
    y = ai.onnx.ml.LabelEncoder<keys_strings = ["secret", "b"], values_int64s = [1, 2]>(secret_s)
    size = Constant<value_ints = [1, 1, 4, 4]>()
    z = Resize<mode = "nearest", nearest_mode = "floor">(x, , , size)
}"""  # noqa: E501 - a line of the text


def test_texts_that_are_data_are_replaced_alike_and_those_that_choose_are_kept() -> None:
    model = parse(TEXTS, domains={"ai.onnx.ml": 4, "secret.unused": 1})
    model.graph.node[3].attribute.add(name="b", type=onnx.AttributeProto.STRING, s=b"secret")
    made = without_names(model)
    encoder, resize = made.graph.node[1], made.graph.node[3]
    keys = next(each for each in encoder.attribute if each.name == "keys_strings")
    assert b"secret" not in made.SerializeToString()
    assert keys.strings[0] == made.graph.initializer[0].string_data[0] == b"text5"
    assert [each.s for each in resize.attribute] == [b"nearest", b"floor", b"text5"]
    assert [entry.domain for entry in made.opset_import] == ["", "ai.onnx.ml"]


def test_texts_of_an_operator_that_nobody_defines_are_data() -> None:
    model = parse(
        '(float[n] x) => (float[n] y) { y = own.Own<mode = "secret">(x) }', domains={"own": 1}
    )
    (node,) = without_names(model).graph.node
    assert (node.domain, node.attribute[0].s) == ("own", b"text1")


def test_model_with_names_is_not_modified() -> None:
    model = secret()
    without_names(model)
    assert model == secret()


@pytest.mark.parametrize(("text", "opset", "seeded"), [
    ("y = Dropout(x)", 7, []),
    ("y = Dropout(x)", 10, []),
    ("y = Dropout(x)", 11, []),
    ("y = Dropout(x)", 12, ["Dropout"]),
    ("y = RandomNormalLike(x)", 7, ["RandomNormalLike"]),
    ("y = RandomNormalLike<seed = 1.0>(x)", 7, []),
    ("y = Bernoulli(x)", 15, ["Bernoulli"]),
    ("y = Relu(x)", 20, []),
])  # fmt: skip
def test_seed_is_given_to_what_has_one_in_its_version(
    text: str, opset: int, seeded: list[str]
) -> None:
    made = parse(f"(float[3] x) => (float[3] y) {{ {text} }}", opset=opset)
    assert [node.op_type for node in seed_random_operators(made)] == seeded


@pytest.mark.parametrize(("opset", "seeded"), [(11, []), (13, ["Dropout"])])
def test_version_in_a_function_is_its_own(opset: int, seeded: list[str]) -> None:
    made = parse(
        f"""(float[3] x) => (float[3] y) {{ y = l.drop(x) }}
        <opset_import: ["": {opset}], domain: "l"> drop (v) => (e) {{ e = Dropout(v) }}""",
        domains={"l": 1},
    )
    assert [node.op_type for node in seed_random_operators(made)] == seeded
