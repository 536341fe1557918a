"""Copies of a model: with all values as outputs, and without the names and texts of its author."""

import zlib
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import sonnx_ort
from sonnx_ort import Contract, SonnxError, ValueContract
from sonnx_ort.backends import BackendChoice
from sonnx_ort.loading.source import read
from sonnx_ort.profile.contract import NO_CONTRACT
from sonnx_ort.runs.derived_models import (
    contract_for_runs,
    count_inner_nodes,
    enforced_natively,
    exposed,
    has_random_operators,
    seed_random_operators,
    unseeded,
    whole,
)
from sonnx_ort.runs.parts import body_as_model, declared, names_read, part, without_names
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


def in_a_file(folder: Path) -> Path:
    """A model whose constant is in a file beside it."""
    model = parse("(float[3] x) => (float[3] y) { y = Add(x, k) }")
    model.graph.initializer.append(numpy_helper.from_array(np.arange(3, dtype=np.float32), "k"))
    path = folder / "model.onnx"
    onnx.save(model, path, save_as_external_data=True, location="k.bin", size_threshold=0)
    return path


def test_whole_model_has_its_external_data_inside(tmp_path: Path) -> None:
    source = read(in_a_file(tmp_path))
    made = whole(source)
    assert made.folder is None
    assert numpy_helper.to_array(made.proto.graph.initializer[0]).tolist() == [0, 1, 2]
    assert source.proto.graph.initializer[0].data_location == onnx.TensorProto.EXTERNAL


def test_model_whose_external_data_is_too_short_is_refused(tmp_path: Path) -> None:
    source = read(in_a_file(tmp_path))
    (tmp_path / "k.bin").write_bytes(b"short")
    with pytest.raises(SonnxError) as caught:
        whole(source)
    assert "k.bin" in str(caught.value)


DIV = "(float[n] x, float[m] y) => (float[] z) { z = Div(x, y) }"


@pytest.mark.parametrize(("backend", "natively"), [
    ("native", True), ("compiled", True), ("python", False), (None, False),
])  # fmt: skip
def test_optimizers_could_remove_guards_of_backends_that_use_operators_of_onnx(
    backend: BackendChoice, natively: bool
) -> None:
    model = parse(DIV)
    enforced = model if backend is None else sonnx_ort.rewrite(model, backend=backend)
    assert enforced_natively(enforced) == natively


def within(name: str, most: int) -> Contract:
    return Contract((ValueContract(name, (1, most)),))


def enforced(*values: ValueContract) -> onnx.ModelProto:
    return sonnx_ort.rewrite(parse(DIV), backend="native", contract=Contract(values))


OF_X, OF_Y, INSIDE = (ValueContract(name, (1, 5)) for name in "xyz")
CONFORMED = sonnx_ort.conform(parse(DIV), contract=Contract((OF_Y,))).model


@pytest.mark.parametrize(("model", "other", "given", "contract"), [
    (parse(DIV), None, NO_CONTRACT, NO_CONTRACT),
    (parse(DIV), None, within("x", 3), within("x", 3)),
    (enforced(OF_X), None, NO_CONTRACT, within("x", 5)),
    (enforced(OF_X, INSIDE), None, NO_CONTRACT, within("x", 5)),
    (enforced(OF_X), None, within("y", 3), within("y", 3)),
    (parse(DIV), enforced(OF_X), NO_CONTRACT, within("x", 5)),
    (enforced(OF_X), enforced(OF_Y), NO_CONTRACT, within("x", 5)),
    (enforced(OF_X), parse(DIV), NO_CONTRACT, within("x", 5)),
    (CONFORMED, None, NO_CONTRACT, within("y", 5)),
    (parse(DIV), CONFORMED, NO_CONTRACT, within("y", 5)),
    (parse(DIV), CONFORMED, within("x", 3), Contract((ValueContract("x", (1, 3)), OF_Y))),
])  # fmt: skip
def test_contract_of_a_run_is_what_is_given_or_else_what_was_enforced(
    model: onnx.ModelProto, other: onnx.ModelProto | None, given: Contract, contract: Contract
) -> None:
    found = contract_for_runs(read(model), given, None if other is None else read(other))
    assert found == contract


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
    node, (function,) = model.graph.node[0], model.functions
    node.metadata_props.add(key="secret", value="secret")
    node.device_configurations.add(configuration_id="secret")
    node.overload = function.overload = "secret"
    model.graph.input[0].type.denotation = "secret"
    model.graph.quantization_annotation.add(tensor_name="secret_x")
    function.opset_import.add(domain="secret.unused", version=1)
    default = function.attribute_proto.add(name="b", type=onnx.AttributeProto.STRING)
    default.s = b"secret"
    return model


def test_no_name_or_text_of_the_author_is_left() -> None:
    assert b"secret" in secret().SerializeToString()
    made = without_names(secret())
    assert b"secret" not in made.SerializeToString()
    assert not made.graph.value_info
    assert not made.graph.quantization_annotation


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
    made = without_names(model)
    node, (function,) = made.graph.node[-1], made.functions
    assert (node.domain, node.op_type) == ("secret", "Own")
    assert (function.domain, function.name) == ("secret", made.graph.node[0].op_type)
    assert function.name.startswith("function")


def test_versions_are_kept_of_the_standard_domain_and_of_functions_that_nobody_calls() -> None:
    model = secret()
    model.graph.node[0].CopyFrom(onnx.helper.make_node("Own", ["secret_x"], ["a"], domain="own"))
    del model.graph.node[1:]
    model.opset_import.add(domain="own", version=1)
    made = without_names(model)
    (function,) = made.functions
    assert {entry.domain for entry in made.opset_import} == {"", "own", function.domain}


PARTED = """(float[3] x, bool c) => (float[3] z) <float[3] k = {1, 2, 3}, float[3] l = {1, 2, 3}> {
    a, b = Split <axis = 0> (x) d = Add(b, k)
    z = If(c) <then_branch = t () => (float[3] p) { p = Sub(d, l) },
               else_branch = f () => (float[3] q) { q = Neg(a) }>
}"""


@pytest.mark.parametrize(("nodes", "read_there"), [
    ((0,), ["x"]), ((1,), ["b", "k"]), ((2,), ["c", "a", "d", "l"]), ((0, 1), ["x", "k"]),
    ((0, 1, 2), ["x", "k", "c", "l"]),
])  # fmt: skip
def test_part_reads_what_its_nodes_do_not_compute(
    nodes: tuple[int, ...], read_there: list[str]
) -> None:
    model = parse(PARTED, ir_version=10, opset=13)
    chosen = [model.graph.node[at] for at in nodes]
    assert names_read(chosen) == read_there
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    made = part(
        model,
        chosen,
        model.graph.output,
        lambda name: None if name in constants else onnx.ValueInfoProto(name=name),
        constants,
    )
    inputs = [value.name for value in made.graph.input]
    assert inputs == [name for name in read_there if name not in constants]
    assert [tensor.name for tensor in made.graph.initializer] == [
        name for name in read_there if name in constants
    ]
    assert (made.ir_version, made.opset_import[0].version) == (10, 13)


@pytest.mark.parametrize(("sized", "sizes"), [(False, ["", ""]), (True, [2, 3])])
def test_sizes_are_declared_if_they_are_asked_for(sized: bool, sizes: list[object]) -> None:
    made = declared("x", np.zeros((2, 3), np.int64), sized=sized).type.tensor_type
    assert made.elem_type == onnx.TensorProto.INT64
    found = [dim.dim_value if dim.HasField("dim_value") else "" for dim in made.shape.dim]
    assert found == sizes


def test_body_as_a_model_has_all_that_it_gets_or_captures_as_inputs() -> None:
    model = parse("""(float[3] x, float[3] y) => (float[3] z) <int64 n = {2}> {
        a = Abs(y)
        z = Loop(n, "", x) <body = b (int64 i, bool go, float[3] v) => (bool on, float[3] w) {
            on = Identity(go) s = Add(v, a) w = Sub(s, absent) }>
    }""")
    body = model.graph.node[1].attribute[0].g
    feeds = {
        "i": np.array(1), "go": np.array(True), "v": np.zeros(3, np.float32),
        "a": np.zeros(3, np.float32), "x": np.zeros(3, np.float32),
    }  # fmt: skip
    made = body_as_model(model, body, feeds)
    assert [value.name for value in made.graph.input] == ["i", "go", "v", "a"]
    assert [node.op_type for node in made.graph.node] == ["Identity", "Add", "Sub"]
    assert len(body.input) == 3


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
    assert list(resize.input[1:3]) == ["", ""]
    assert keys.strings[0] == made.graph.initializer[0].string_data[0] == b"text5"
    assert [each.s for each in resize.attribute] == [b"nearest", b"floor", b"text5"]
    assert [entry.domain for entry in made.opset_import] == ["", "ai.onnx.ml"]


def test_texts_of_an_operator_that_nobody_defines_are_data() -> None:
    model = parse(
        '(float[n] x) => (float[n] y) { y = own.Own<mode = "secret">(x) }', domains={"own": 1}
    )
    made = without_names(model)
    (node,) = made.graph.node
    assert (node.domain, node.attribute[0].s) == ("own", b"text1")
    assert [entry.domain for entry in made.opset_import] == ["", "own"]


@pytest.mark.parametrize(("operator", "attribute"), [
    ("LSTM", "direction"), ("Conv", "auto_pad"), ("Einsum", "equation"), ("Pad", "mode"),
    ("ScatterND", "reduction"), ("Resize", "coordinate_transformation_mode"),
    ("Resize", "nearest_mode"), ("Resize", "keep_aspect_ratio_policy"), ("Gelu", "approximate"),
    ("GridSample", "padding_mode"), ("ImageDecoder", "pixel_format"), ("Cast", "to"),
    ("StringNormalizer", "case_change_action"), ("StringNormalizer", "locale"),
    ("ai.onnx.ml.Normalizer", "norm"), ("ai.onnx.ml.CastMap", "cast_to"),
    ("ai.onnx.ml.CastMap", "map_form"), ("ai.onnx.ml.SVMRegressor", "kernel_type"),
    ("ai.onnx.ml.SVMRegressor", "post_transform"),
    ("ai.onnx.ml.TreeEnsembleRegressor", "aggregate_function"),
    ("com.microsoft.FusedConv", "activation"),
])  # fmt: skip
def test_texts_that_choose_what_an_operator_computes_are_kept(
    operator: str, attribute: str
) -> None:
    text = f'(float[n] x) => (float[n] y) {{ y = {operator} <{attribute} = "kept"> (x) }}'
    domains = {"ai.onnx.ml": 4, "com.microsoft": 1}
    made = without_names(parse(text, domains=domains))
    assert made.graph.node[0].attribute[0].s == b"kept"


@pytest.mark.parametrize(("operator", "attribute"), [
    ("LSTM", "activations"), ("ai.onnx.ml.TreeEnsembleRegressor", "nodes_modes"),
])  # fmt: skip
def test_lists_of_such_texts_are_kept(operator: str, attribute: str) -> None:
    text = f'(float[n] x) => (float[n] y) {{ y = {operator} <{attribute} = ["kept"]> (x) }}'
    made = without_names(parse(text, domains={"ai.onnx.ml": 4}))
    assert list(made.graph.node[0].attribute[0].strings) == [b"kept"]


def test_text_that_is_no_utf_8_is_replaced() -> None:
    model = parse(TEXTS, domains={"ai.onnx.ml": 4})
    model.graph.initializer[0].string_data[0] = b"\xff"
    assert without_names(model).graph.initializer[0].string_data[0].startswith(b"text")


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


def test_seed_follows_from_the_result_in_the_type_of_the_operator() -> None:
    made = parse("""(float[3] x, bool c) => (float[3] z) {
        [a] u = RandomNormalLike <dtype = 1> (x) [b] "", v = Dropout(u)
        z = If(c) <then_branch = t () => (float[3] p) { [c] p = Bernoulli(x) },
                   else_branch = f () => (float[3] q) { q = RandomUniformLike <seed = 1.0> (x) }>
    }""")
    seeds = {
        node.name: node.attribute[-1] for node in (*unseeded(made), *seed_random_operators(made))
    }
    results = {"a": b"u", "b": b"v", "c": b"p"}
    assert {name: (each.name, each.type) for name, each in seeds.items()} == {
        "a": ("seed", onnx.AttributeProto.FLOAT),
        "b": ("seed", onnx.AttributeProto.INT),
        "c": ("seed", onnx.AttributeProto.FLOAT),
    }
    assert {name: each.f or each.i for name, each in seeds.items()} == {
        name: zlib.crc32(result) % 2**24 for name, result in results.items()
    }
    assert unseeded(made) == ()
    assert has_random_operators(made)


@pytest.mark.parametrize("version", [0, 1 << 24, (1 << 63) - 1])
def test_nothing_is_random_in_a_version_that_cannot_be(version: int) -> None:
    model = parse("(float[3] x) => (float[3] y) { y = Dropout(x) }", opset=version)
    assert not has_random_operators(model)


@pytest.mark.parametrize(("operator", "opset"), [("own.Dropout", 13), ("Dropout", 11)])
def test_versions_of_other_domains_say_nothing(operator: str, opset: int) -> None:
    text = f"(float[3] x) => (float[3] y) {{ y = {operator}(x) }}"
    assert not has_random_operators(parse(text, opset=opset, domains={"own": 13}))


def test_other_name_of_the_standard_domain_is_known() -> None:
    model = parse("(float[3] x) => (float[3] y) { y = ai.onnx.Bernoulli(x) }", opset=15)
    model.opset_import[0].domain = "ai.onnx"
    assert has_random_operators(model)


def test_function_without_versions_has_those_of_the_model() -> None:
    made = parse(
        """(float[3] x) => (float[3] y) { y = l.drop(x) }
        <opset_import: ["": 11], domain: "l"> drop (v) => (e) { e = Dropout(v) }""",
        opset=13,
        domains={"l": 1},
    )
    del made.functions[0].opset_import[:]
    assert has_random_operators(made)


def test_exposed_nodes_draw_the_same_numbers_each_time() -> None:
    made = exposed(parse("(float[3] x) => (float[3] y) { y = Bernoulli(x) }", opset=15), 1)
    assert [each.name for each in made.graph.node[0].attribute] == ["seed"]


@pytest.mark.parametrize(("opset", "seeded"), [(11, []), (13, ["Dropout"])])
def test_version_in_a_function_is_its_own(opset: int, seeded: list[str]) -> None:
    made = parse(
        f"""(float[3] x) => (float[3] y) {{ y = l.drop(x) }}
        <opset_import: ["": {opset}], domain: "l"> drop (v) => (e) {{ e = Dropout(v) }}""",
        domains={"l": 1},
    )
    assert [node.op_type for node in seed_random_operators(made)] == seeded
