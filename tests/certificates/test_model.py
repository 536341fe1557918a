"""The checker reads of a file what ONNX Runtime holds, and believes nothing else of it."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from sonnx_ort.checker import Model, Rejected, check, with_unique_names
from sonnx_ort.checker.__main__ import main
from sonnx_ort.checker.graphs import on_the_way, read_for
from sonnx_ort.checker.strict_reading import defined_in
from sonnx_ort.profile.catalog import OPERATORS
from support.derived import Found, alone, concluded, derived, followed
from support.graphs import parse

DIVISION = alone("Div(x, x)", "float[n] x")


def of_versions(*versions: int) -> onnx.ModelProto:
    proto = parse(DIVISION)
    del proto.opset_import[:]
    proto.opset_import.extend(helper.make_opsetid("", version) for version in versions)
    return proto


@pytest.mark.parametrize("versions", [(), (6,), (24,)])
def test_model_of_an_unknown_version_is_rejected(versions: tuple[int, ...]) -> None:
    with pytest.raises(Rejected, match=r"^the version of the opset is not known$"):
        Model(of_versions(*versions))


@pytest.mark.parametrize("version", [7, 23])
def test_model_of_a_known_version_is_read(version: int) -> None:
    assert Model(of_versions(version)).version == version


def test_functions_of_other_domains_are_let_be() -> None:
    proto = parse(DIVISION)
    proto.functions.add(name="Div", domain="com.example")
    assert concluded(proto, "Div.float.R1") is None


def changed(text: str, change: Callable[[onnx.GraphProto], object]) -> onnx.ModelProto:
    proto = parse(text, domains={"com.example": 1})
    change(proto.graph)
    return proto


def declared(name: str, *sizes: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes)


def declaring(name: str, *sizes: int) -> Callable[[onnx.GraphProto], object]:
    return lambda graph: graph.value_info.append(declared(name, *sizes))


def external(graph: onnx.GraphProto) -> None:
    tensor = graph.initializer[0]
    tensor.ClearField("int64_data")
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value="c.bin")


def open_at_first(graph: onnx.GraphProto) -> None:
    graph.input[0].type.tensor_type.shape.dim[0].dim_value = -1


def without_a_name(graph: onnx.GraphProto) -> None:
    """Have the node of y omit its first result."""
    graph.node[-1].output.insert(0, "")


def in_a_domain(graph: onnx.GraphProto) -> None:
    graph.node[-1].domain = "com.example"


def stored(graph: onnx.GraphProto) -> None:
    """Have an initializer, which an input may replace."""
    graph.initializer.append(numpy_helper.from_array(np.array([2, 3]), "c"))


CONSTANT = "(int64[n] x) => (int64[n] y) <int64[1] c = {2}> { y = Div(x, c) }"
BEHIND = "(float[n] x) => (float[n] y) { a = Neg(x) y = Div(a, a) }"
RECURRENT = alone("LSTM<hidden_size = 1>(x, x, x)", "float[1, 1, 1] x")
LOOPED = """(int64 m, bool b, double[n] x, float[k] f) => (double[n] y, float[k] g) {
    y, g = Loop <body = step (int64 i, bool c, double[n] s, float[k] r)
    => (bool d, double[n] t, float[k] u) { d = Identity(c) t = Neg(s) u = Neg(r) }>
    (m, b, x, f) }"""
SCANNED = """(double[n] x, float[k] f) => (double[n] y, float[k] g) {
    y, g = Scan <num_scan_inputs = 1, body = step (double[n] s, float r)
    => (double[n] t, float u) { t = Neg(s) u = Neg(r) }> (x, f) }"""
BRANCHED = """(bool c, double[n] x) => (double[n] y) { y = If(c) <
    then_branch = t () => (double[n] a) { a = Neg(x) },
    else_branch = e () => (double[n] b) { b = Abs(x) }> }"""

FOLLOWED: Mapping[str, tuple[onnx.ModelProto, str, str, Found]] = {
    "a size below 0": (changed(alone("Neg(x)"), open_at_first), "y", "shape", ["?", 3]),
    "an input without a shape": (
        changed(alone("Neg(x)"), lambda graph: graph.input[0].type.tensor_type.ClearField("shape")),
        *("x", "shape", "its rank is not declared, or it is declared as a scalar")),
    "an input of a type that ONNX does not have": (
        changed(alone("Neg(x)"),
            lambda graph: setattr(graph.input[0].type.tensor_type, "elem_type", 999)),
        *("y", "type", "no rule says that it is a tensor, and of which type")),
    "an initializer of a type that ONNX does not have": (
        changed("(float[n] x) => (float[n] y) <float[1] c = {1}> { y = Neg(c) }",
            lambda graph: setattr(graph.initializer[0], "data_type", 999)),
        *("y", "type", "the tensor 'c' is not known")),
    "a value without a name": (changed(RECURRENT, without_a_name),
        *("", "shape", "no node computes it")),
    "a value that nothing computes": (parse(BEHIND), "b", "shape", "no node computes it"),
    "a result behind one without a name": (changed(RECURRENT, without_a_name),
        *("y", "type", "float")),
    "a constant": (parse(CONSTANT), "c", "elements", [2]),
    "a constant that an input may replace": (changed(alone("Div(c, c)", "int64[2] c"), stored),
        *("c", "elements", "no node computes it")),
    "a constant in another file": (changed(CONSTANT, external),
        *("c", "elements", "its elements lie in another file, which no digest covers")),
    "the value of a Constant": (
        parse("() => (int64[1] y) { y = Constant<value = int64[1] {7}>() }"),
        *("y", "elements", [7])),
    "another value of a Constant": (
        parse("() => (int64[1] y) { y = Constant<value_ints = [7]>() }"),
        *("y", "type", "int64")),
    "the value of a Constant of another domain": (
        changed("() => (int64[1] y) { y = Constant<value = int64[1] {7}>() }", in_a_domain),
        *("y", "shape", "the domain com.example is not known")),
    "a result of a Loop": (parse(LOOPED), "y", "type", "double"),
    "another result of a Loop": (parse(LOOPED), "g", "type", "float"),
    "the step of a Loop": (parse(LOOPED), "i", "type", "int64"),
    "the step of a Loop without a number of steps": (
        changed(LOOPED, lambda graph: graph.node[-1].input.__setitem__(0, "")),
        *("i", "type", "int64")),
    "the condition of a Loop": (parse(LOOPED), "c", "type", "bool"),
    "a state of a Loop": (parse(LOOPED), "s", "type", "double"),
    "another state of a Loop": (parse(LOOPED), "r", "type", "float"),
    "a shape of a state": (parse(LOOPED), "s", "shape", ["n"]),
    "a state of a Loop of another domain": (changed(LOOPED, in_a_domain),
        *("s", "type", "no rule says that it is a tensor, and of which type")),
    "a state without an operand": (changed(LOOPED, lambda graph: graph.node[-1].input.pop()),
        *("r", "type", "no rule says that it is a tensor, and of which type")),
    "a state of a Scan": (parse(SCANNED), "s", "type", "double"),
    "a state of a Scan behind the lengths of sequences": (
        parse(SCANNED.replace("(x, f)", "(, x, f)"), opset=8),
        *("r", "type", "float")),
    "a state of a Scan of another domain": (changed(SCANNED, in_a_domain),
        *("s", "type", "no rule says that it is a tensor, and of which type")),
    "an element of a Scan": (parse(SCANNED), "r", "type", "float"),
    "a result of a Scan": (parse(SCANNED), "g", "type", "float"),
    "the shape of a state of a Scan": (parse(SCANNED), "t", "shape", ["n"]),
    "the shape of an element of a Scan": (parse(SCANNED), "u", "shape", []),
    "the shape of the last state of a Scan": (parse(SCANNED), "y", "shape", ["n"]),
    "the shape of what a Scan collects": (parse(SCANNED), "g", "shape", ["?"]),
    "an input of another body": (
        changed(BRANCHED,
            lambda graph: graph.node[0].attribute[0].g.input.append(declared("given", 1))),
        *("given", "type", "no rule says that it is a tensor, and of which type")),
    "a Shape behind a true claim": (
        changed("(float[2, 3] x) => (int64[1] y) { a = Neg(x) y = Shape(a) }",
            declaring("a", 2, 3)),
        *("y", "elements", [2, 3])),
    "a Shape behind a value of no known shape": (
        parse(
            "(float[n] x) => (int64[1] y) <int64[2] c = {2, 3}> "
            "{ i = NonZero(x) a = Reshape(i, c) y = Shape(a) }"
        ),
        *("y", "elements", [2, 3])),
    "a Shape behind a claim that says nothing": (
        changed("(float[n] x) => (int64[1] y) { a = Neg(x) y = Shape(a) }", declaring("a", -1)),
        *("y", "elements", ["n"])),
    "a Shape behind a false claim": (
        changed("(float[n] x) => (int64[1] y) { a = Neg(x) y = Shape(a) }", declaring("a", 2)),
        *("y", "elements", "the file says that 'a' has the shape [2]")),
    "a Shape behind a claim of another rank": (
        changed("(float[n] x) => (int64[1] y) { a = Neg(x) y = Shape(a) }", declaring("a")),
        *("y", "elements", "the file says that 'a' has the shape []")),
    "a Shape behind a claim of more sizes": (
        changed("(float[2] x) => (int64[1] y) { a = Neg(x) y = Shape(a) }", declaring("a", 2, 2)),
        *("y", "elements", "the file says that 'a' has the shape [2, 2]")),
    "what only looks like a Shape behind a claim": (
        changed("(float[n] x) => (int64[1] y) { s = Shape(x) y = Concat<axis = 0>(s, s) }",
            declaring("s", 7)),
        *("y", "elements", ["n", "n"])),
    "an element step of another kind of node": (
        parse("(int64[2] x) => (int64[2] y) { y = Neg(x) }"),
        *("y", "elements", "the elements of a Neg have no rule")),
}  # fmt: skip


@pytest.mark.parametrize("name", FOLLOWED)
def test_step_follows_from_what_is_held(name: str) -> None:
    proto, value, kind, expected = FOLLOWED[name]
    assert followed(proto, kind, value) == expected


CONSTANTS: Mapping[str, tuple[onnx.ModelProto, str, bool]] = {
    "an initializer": (parse(CONSTANT), "c", True),
    "an initializer in another file": (changed(CONSTANT, external), "c", True),
    "an input": (parse(CONSTANT), "x", False),
    "a computed value": (parse(CONSTANT), "y", False),
    "a Constant": (parse("() => (int64[1] y) { y = Constant<value = int64[1] {7}>() }"),
        *("y", True)),
    "a Constant of integers": (parse("() => (int64[1] y) { y = Constant<value_ints = [7]>() }"),
        *("y", True)),
    "a Constant of another domain": (
        changed("() => (int64[1] y) { y = Constant<value_ints = [7]>() }", in_a_domain),
        *("y", False)),
    "a value that there is not": (parse(CONSTANT), "z", False),
}  # fmt: skip


@pytest.mark.parametrize("name", CONSTANTS)
def test_constants_are_initializers_and_results_of_constants(name: str) -> None:
    proto, value, expected = CONSTANTS[name]
    assert Model(proto).is_constant(value) is expected


def test_names_of_a_graph_are_those_of_its_values() -> None:
    proto = changed(alone("Div(x, c)", "int64[2] x, int64[2] c"), stored)
    without_a_name(proto.graph)
    assert defined_in(proto.graph) == ["x", "c", "y"]


def test_model_whose_values_have_names_of_their_own_is_not_copied() -> None:
    proto = parse(BEHIND)
    assert with_unique_names(proto)[0] is proto


def test_names_of_bodies_become_unique() -> None:
    branch = "{ v = Neg(x) w = Abs(v) }"
    text = (
        "(bool c, double[n] x, double[n] v') => (double[n] y) { y = If(c) "
        f"<then_branch = t () => (double[n] w) {branch}, "
        f"else_branch = e () => (double[n] w) {branch}> }}"
    ).replace("v'", "u")
    proto = parse(text)
    proto.graph.input[2].name = "v'"
    for each in proto.graph.node[0].attribute:
        each.g.value_info.append(declared("v", 1))
    renamed, names = with_unique_names(proto)
    assert (names["v"], names["w"]) == (["v", "v''"], ["w", "w'"])
    bodies = [each.g for each in renamed.graph.node[0].attribute]
    assert [list(body.node[1].input) for body in bodies] == [["v"], ["v''"]]
    assert [body.output[0].name for body in bodies] == ["w", "w'"]
    assert [body.value_info[0].name for body in bodies] == ["v", "v''"]


class Counted(dict[str, list[str]]):
    """What is read for each value, which counts how often each is asked for."""

    def __init__(self, read: Mapping[str, list[str]]) -> None:
        super().__init__(read)
        self.asked = Counter[str]()

    def get(self, name: str, default: Any = None) -> Any:
        self.asked[name] += 1
        return super().get(name, default)


NODES = parse("(float[n] x) => (float[n] z) { a = Neg(x) b = Abs(a) c = Exp(a) z = Div(b, c) }")
READ = dict(read_for(NODES.graph.node))


def test_each_value_on_the_way_is_looked_at_once() -> None:
    read = Counted(READ)
    assert sorted(on_the_way("z", read)) == ["a", "b", "c", "x", "z"]
    assert max(read.asked.values()) == 1


def test_known_values_end_the_way() -> None:
    assert sorted(on_the_way("z", READ, {"a"})) == ["b", "c", "z"]


def certificate(proto: onnx.ModelProto, **said: Any) -> tuple[bytes, dict[str, Any]]:
    """A model that is its own enforced one, and a certificate that proves nothing."""
    content = proto.SerializeToString()
    digest = hashlib.sha256(content).hexdigest()
    lists = ("obligations", "guarded", "waived", "unknown", "operators")
    head = {"format": "sonnx_ort.certificate/3", "model": digest, "enforced": digest}
    return content, {**head, **{name: [] for name in lists}, "edition": "typed", **said}


def test_certificate_says_what_is_waived_and_unknown() -> None:
    proto = parse(DIVISION)
    rules_of_div = ["Div.float.R1", "Div.float.R2", "Div.float.RG1"]
    unknown = [["y", rule] for rule in rules_of_div[1:]]
    content, made = certificate(
        proto, operators=["Div"], waived=[["y", rules_of_div[0]]], unknown=unknown
    )
    assert check(content, made, content) == (
        "0 checks hold in every run: 0 by proof, 0 by guards; 1 are waived; "
        "2 are left to guards of unknown form"
    )


def test_certificate_of_nothing_says_so() -> None:
    content, made = certificate(parse(DIVISION))
    assert check(content, made, content) == ("0 checks hold in every run: 0 by proof, 0 by guards")


def test_operators_of_other_domains_are_bound_by_no_rules() -> None:
    proto = changed(DIVISION, in_a_domain)
    content, made = certificate(proto, operators=["Div"])
    assert check(content, made, content).startswith("0 checks")


def test_other_name_of_the_domain_of_onnx_changes_nothing() -> None:
    """ONNX Runtime runs the node."""
    proto = parse(DIVISION)
    proto.graph.node[0].domain = proto.opset_import[0].domain = "ai.onnx"
    content, made = certificate(
        proto, operators=["Div"],
        unknown=[["y", f"Div.float.{tag}"] for tag in ("R1", "R2", "RG1")],
    )  # fmt: skip
    assert check(content, made, content).endswith("3 are left to guards of unknown form")


def test_node_is_named_by_its_first_output_with_a_name() -> None:
    proto = parse(RECURRENT)
    without_a_name(proto.graph)
    bound = [rule.id for rule in OPERATORS["LSTM"].all_rules() if rule.binds_version(17)]
    content, made = certificate(proto, operators=["LSTM"], unknown=[["y", rule] for rule in bound])
    assert "left to guards of unknown form" in check(content, made, content)


UNUSABLE: Mapping[str, tuple[dict[str, Any], str]] = {
    "a node of no operator": ({"unknown": [["y", "Div.float.R1"]]},
        "no node of the operators has the outputs ['y']"),
    "an enforced model that is not named": ({"enforced": ""},
        "it is the certificate of another enforced model"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNUSABLE)
def test_certificate_that_says_something_else_is_rejected(name: str) -> None:
    said, message = UNUSABLE[name]
    content, made = certificate(parse(DIVISION), **said)
    with pytest.raises(Rejected) as caught:
        check(content, made, content)
    assert str(caught.value) == message


def of_model_alone(made: Mapping[str, Any]) -> dict[str, Any]:
    return {name: made[name] for name in ("format", "model", "obligations")}


def test_certificate_of_a_model_alone_is_none_of_an_enforced_one() -> None:
    content, made = certificate(parse(DIVISION))
    made = of_model_alone(made)
    with pytest.raises(Rejected, match=r"^it is no certificate of an enforced model$"):
        check(content, made, content)


def test_steps_of_bodies_are_taken() -> None:
    (size,) = derived(parse(BRANCHED)).known("shape", "a")
    assert str(size) == "n"


@pytest.mark.parametrize("enforced", [False, True])
def test_program_reads_the_files_that_are_given(
    enforced: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content, made = certificate(parse(DIVISION))
    files = [tmp_path / name for name in ("model.onnx", "certificate.json", "enforced.onnx")]
    files[0].write_bytes(content)
    files[2].write_bytes(content)
    if not enforced:
        made = of_model_alone(made)
        del files[2]
    files[1].write_text(json.dumps(made), encoding="utf-8")
    assert main([str(file) for file in files]) == 0
    assert capsys.readouterr().out.startswith("0 checks hold in every run")
