"""A model without the names and texts of its author."""

import onnx

from sonnx_ort.comparing.derived_models import without_names
from support.graphs import parse

TEXT = """(float[secret] secret_x, bool secret_c) => (float[secret_k] secret_z)
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
    model = parse(TEXT, domains={"secret": 1})
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


def test_model_is_not_modified() -> None:
    model = secret()
    without_names(model)
    assert model == secret()
