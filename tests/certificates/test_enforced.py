"""A certified model is its original and guards; what is not certified is checked in each run."""

import copy
import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper

import sonnx_ort
from sonnx_ort.checker import FORMAT, Rejected, check
from sonnx_ort.checker.enforced import Enforced
from sonnx_ort.errors import SonnxError
from sonnx_ort.guards.guard import OLDEST_FORMAT
from support.command import command
from support.derived import derived
from support.examined import enforced_with_certificate
from support.graphs import parse

MODELS: Mapping[str, tuple[str, str]] = {
    "equal ranks": ("(float[n, 4] x, float[m, 4] y) => (float[n, 4] z) { z = Sub(x, y) }",
        "3 checks hold in every run: 2 by proof, 1 by guards"),
    "unknown ranks": ("""(float[n] w, float[m] y, int64[2] s, int64[k] t) => (float[p, q] z)
        { a = Reshape(w, s) b = Reshape(y, t) z = Div(a, b) }""",
        "3 checks hold in every run: 2 by proof, 1 by guards"),
    "integers": ("(int32[n] x, int32[m] y) => (int32[n] z) { z = Div(x, y) }",
        "5 checks hold in every run: 2 by proof, 3 by guards"),
    "integers of eight bits": ("(int8[n] x, int8[m] y) => (int8[n] z) { z = Div(x, y) }",
        "5 checks hold in every run: 2 by proof, 3 by guards"),
    "three operands": ("(float[n] x, float[m] y, float[k] w) => (float[n] z) { z = Max(x, y, w) }",
        "3 checks hold in every run: 2 by proof, 1 by guards"),
    "signs of zeros": (
        """(bool[n] c, float[m] x, double[k] y) => (float[n] z, double[k] w) {
        a = Where(c, x, x) b = Max(x, a, x) z = Div(a, b) d = Neg(y) w = Min(y, d) }""",
        "14 checks hold in every run: 11 by proof, 3 by guards"),
    "a branch": ("""(bool c, float[n] x, float[m] y) => (float[p] z) { z = If(c) <
        then_branch = t () => (float[q] a) { a = Div(x, y) },
        else_branch = e () => (float[r] b) { b = Sub(y, x) }> }""",
        "6 checks hold in every run: 4 by proof, 2 by guards"),
    "a window": (
        """(float[1, 1, n, m] x) => (float[1, 1, p, q] y) { y = MaxPool<auto_pad = "NOTSET",
        ceil_mode = 0, dilations = [1, 1], kernel_shape = [2, 2], pads = [0, 0, 0, 0],
        storage_order = 0, strides = [1, 1]>(x) }""",
        "17 checks hold in every run: 15 by proof, 2 by guards"),
    "nothing to guard": ("(float[n] x) => (float[n] z) { a = Neg(x) z = Div(x, a) }",
        "5 checks hold in every run: 5 by proof, 0 by guards"),
}  # fmt: skip
OPERATORS = "elementwise,MaxPool"


@pytest.mark.parametrize("name", MODELS)
def test_certified_model_is_accepted(name: str) -> None:
    text, sentence = MODELS[name]
    content = parse(text).SerializeToString()
    enforced, certificate = enforced_with_certificate(content, operators=OPERATORS)
    assert not certificate.unknown
    assert check(content, json.loads(certificate.to_json()), enforced) == sentence


def test_guard_of_a_form_that_the_checker_does_not_know_is_told_with_the_reason() -> None:
    """That an operand of any rank is no scalar is known of the other one alone."""
    text = "(int32[] x, int32[n] y) => (int32[n] z) { [divide] z = Div(x, y) }"
    content = parse(text).SerializeToString()
    enforced, certificate = enforced_with_certificate(content)
    told = [(each.obligation.rule.id, each.reason) for each in certificate.unknown]
    assert told == [
        ("Div.int.C1", "Div.int.C1 of the node of 'z' is not guarded"),
        ("Div.int.C2", "Div.int.C2 of the node of 'z' is not guarded"),
    ]
    document = json.loads(certificate.to_json())
    assert document["unknown"] == [["z", "Div.int.C1"], ["z", "Div.int.C2"]]
    assert check(content, document, enforced) == (
        "3 checks hold in every run: 2 by proof, 1 by guards; 2 are left to guards of unknown form"
    )


CONTENT = parse(MODELS["integers"][0]).SerializeToString()


@pytest.fixture(scope="module")
def certified() -> tuple[bytes, dict[str, Any]]:
    """A model that enforces the rules of an integer division, and its certificate."""
    enforced, certificate = enforced_with_certificate(CONTENT)
    return enforced, json.loads(certificate.to_json())


Change = Callable[[onnx.ModelProto], object]


def node_of(model: onnx.ModelProto, output: str) -> NodeProto:
    return next(node for node in model.graph.node if output in node.output)


def with_constant(output: str, *elements: int) -> Change:
    def change(model: onnx.ModelProto) -> None:
        tensor = node_of(model, output).attribute[0].t
        kind = helper.tensor_dtype_to_np_dtype(tensor.data_type)
        array = np.array(elements, kind).reshape(tuple(tensor.dims))
        tensor.CopyFrom(numpy_helper.from_array(array, tensor.name))

    return change


def exchanged(model: onnx.ModelProto) -> None:
    branch = node_of(model, "z_settled")
    branch.op_type = "Less"


def declared(model: onnx.ModelProto) -> None:
    kind = helper.make_tensor_type_proto(TensorProto.INT64, [7])
    model.graph.value_info.append(helper.make_value_info("z_operand_shape", kind))


CHANGES: Mapping[str, tuple[Change, str]] = {
    "no guard": (lambda m: node_of(m, "z").input.__setitem__(0, "x"),
        "Div.int.R1 of the node of 'z' is not guarded"),
    "no code": (with_constant("z_code", 5), "reads 'z_defined', not 'x': it is no decision"),
    "another limit": (with_constant("z_too_small", -5), "is not guarded"),
    "another comparison": (exchanged, "is not guarded"),
    "a declaration": (declared, "'z_operand_shape' is declared"),
    "a false declaration": (
        lambda m: m.graph.output[0].type.tensor_type.shape.dim[0].__setattr__("dim_value", 7),
        "the file says that 'z' has the shape [7]"),
    "a constant of two kinds": (
        lambda m: node_of(m, "z_code").attribute.append(helper.make_attribute("value_int", 3)),
        "the Constant of ['z_code'] has 2 values"),
    "another operator": (lambda m: setattr(node_of(m, "z"), "op_type", "Mod"),
        "the Div of ['z'] is another"),
    "a node that is gone": (lambda m: m.graph.node.pop(),
        "nothing in its graph computes the output 'z'"),
    "a node that does more": (
        lambda m: m.graph.node.append(helper.make_node("NonZero", ["x"], ["more"])),
        "a NonZero was added"),
    "another version": (lambda m: setattr(m.opset_import[0], "version", 19),
        "the versions of the opset differ"),
    "an initializer": (
        lambda m: m.graph.initializer.append(numpy_helper.from_array(np.ones(1), "w")),
        "the initializers differ"),
    "an output": (lambda m: m.graph.output.append(helper.ValueInfoProto(name="z_defined")),
        "the outputs ['z'] became ['z', 'z_defined']"),
    "an input": (lambda m: m.graph.input[0].type.tensor_type.ClearField("shape"),
        "the inputs are declared differently"),
    "a circle": (lambda m: node_of(m, "z_equal").input.__setitem__(0, "z_defined"),
        "'z_equal' is computed from itself"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_changed_model_is_rejected(name: str, certified: tuple[bytes, dict[str, Any]]) -> None:
    change, message = CHANGES[name]
    enforced, certificate = certified
    model = onnx.load_model_from_string(enforced)
    change(model)
    content = model.SerializeToString()
    claimed = certificate | {"enforced": hashlib.sha256(content).hexdigest()}
    with pytest.raises(Rejected) as caught:
        check(CONTENT, claimed, content)
    assert message in str(caught.value)


SIGNED = parse(
    "(bool[n] c, float[n] x, float[n] y) => (float[n] z, float[n] w) "
    "{ z = Min(x, y) w = Where(c, x, y) }"
).SerializeToString()
SIGNED_MIN = "(float[n] x, float[n] y) => (float[n] z) { z = Min(x, y) }"
OTHER_SIGNS: Mapping[str, tuple[Change, str]] = {
    "another zero": (with_constant("z_minus_zero", 0), "z"),
    "another comparison": (lambda m: setattr(node_of(m, "z_has_the_sign"), "op_type", "Greater"),
        "z"),
    "another operand": (lambda m: node_of(m, "z_reciprocal_2").input.__setitem__(1, "x"), "z"),
    "another limit": (with_constant("w_limit", -1), "w"),
    "another factor": (with_constant("w_sign", -2), "w"),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHER_SIGNS)
def test_other_signs_of_zeros_are_rejected(name: str) -> None:
    change, value = OTHER_SIGNS[name]
    enforced, certificate = enforced_with_certificate(SIGNED, operators=OPERATORS)
    model = onnx.load_model_from_string(enforced)
    change(model)
    content = model.SerializeToString()
    claimed = json.loads(certificate.to_json())
    claimed["enforced"] = hashlib.sha256(content).hexdigest()
    with pytest.raises(Rejected) as caught:
        check(SIGNED, claimed, content)
    said = f"'{value}' gets other signs of zeros"
    assert str(caught.value) == f"the outputs ['z', 'w'] became ['z', 'w']: {said}"


def test_results_of_another_domain_get_no_signs() -> None:
    """What a Min of another domain gives for zeros is not known."""
    original = parse(SIGNED_MIN)
    content, _ = enforced_with_certificate(original.SerializeToString(), operators="Min")
    enforced = onnx.load_model_from_string(content)
    Enforced(derived(original), enforced)
    for model in (original, enforced):
        next(node for node in model.graph.node if node.op_type == "Min").domain = "com.example"
        model.opset_import.add(domain="com.example", version=1)
    with pytest.raises(Rejected) as caught:
        Enforced(derived(original), enforced)
    assert str(caught.value) == "the outputs ['z'] became ['z']: they are different values"


def test_another_enforced_model_is_rejected(certified: tuple[bytes, dict[str, Any]]) -> None:
    with pytest.raises(Rejected, match=r"^it is the certificate of another enforced model$"):
        check(CONTENT, certified[1], CONTENT)


def test_enforced_model_has_to_be_given(certified: tuple[bytes, dict[str, Any]]) -> None:
    with pytest.raises(Rejected, match=r"^the enforced model is missing$"):
        check(CONTENT, certified[1])


@pytest.mark.parametrize("kind", ["obligations", "guarded"])
def test_nothing_can_be_left_unsaid(kind: str, certified: tuple[bytes, dict[str, Any]]) -> None:
    enforced, certificate = copy.deepcopy(certified)
    output, rule = certificate[kind].pop()
    with pytest.raises(Rejected) as caught:
        check(CONTENT, certificate, enforced)
    assert str(caught.value) == f"nothing is said of {rule} of the node of '{output}'"


def test_guard_is_no_proof(certified: tuple[bytes, dict[str, Any]]) -> None:
    enforced, certificate = copy.deepcopy(certified)
    certificate["obligations"].append(certificate["guarded"].pop())
    with pytest.raises(Rejected, match=r"^Div\.int\.C2 of the node of 'z' does not follow"):
        check(CONTENT, certificate, enforced)


GUARDED_BEFORE = parse(
    "(int32[n] x, int32[m] y) => (int32[k] z) { t = Sub(x, y) z = Div(t, y) }"
).SerializeToString()


def test_what_a_node_before_checks_is_checked_again_with_a_certificate() -> None:
    plain = sonnx_ort.rewrite(GUARDED_BEFORE, backend="native")
    enforced, certificate = enforced_with_certificate(GUARDED_BEFORE)
    assert ["z", "Div.int.R1"] in certificate.content["guarded"]
    added = len(onnx.load_model_from_string(enforced).SerializeToString())
    assert added > len(plain.SerializeToString())


def test_certified_model_is_recognized() -> None:
    enforced, _ = enforced_with_certificate(GUARDED_BEFORE)
    again = sonnx_ort.rewrite(enforced, backend="native")
    assert again == onnx.load_model_from_string(enforced)


def test_certified_model_runs() -> None:
    enforced, _ = enforced_with_certificate(CONTENT)
    session = ort.InferenceSession(enforced)
    x, y = np.array([6, -7], np.int32), np.array([3, 2], np.int32)
    np.testing.assert_array_equal(session.run(None, {"x": x, "y": y})[0], [2, -3])
    with pytest.raises(Exception, match=r"24 Div\.int\.C1"):
        session.run(None, {"x": x, "y": np.zeros(2, np.int32)})


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, which is the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.onnx").write_bytes(CONTENT)
    return tmp_path


REWRITE = ("rewrite", "model.onnx", "-o", "enforced.onnx", "--certificate", "certificate.json")
CHECK = ("certify", "model.onnx", "--check", "certificate.json", "--enforced", "enforced.onnx")


@pytest.mark.usefixtures("here")
def test_command_writes_and_checks_a_certificate() -> None:
    written = command(*REWRITE, "--backend", "native")
    assert written.returncode == 0
    first, _, _, *rest = written.stdout.splitlines()
    assert [first, *rest] == [
        "enforced.onnx: written; it enforces the profile in every run",
        "certificate.json: written; 2 checks by proof, 3 by guards",
        f"next: sonnx-ort {' '.join(CHECK)}",
    ]
    accepted = command(*CHECK)
    assert (accepted.returncode, accepted.stdout) == (
        0,
        "certificate.json: accepted: 5 checks hold in every run: 2 by proof, 3 by guards\n",
    )


NATIVE = ("--backend", "native")
UNUSABLE: Mapping[str, tuple[str, Sequence[str], str]] = {
    "the python backend": ("c.json", [],
        "a certificate needs backend 'native' and broadcast 'reject'"),
    "explicit broadcasting": (*("c.json", [*NATIVE, "--broadcast", "explicit"]),
        "a certificate needs backend 'native' and broadcast 'reject'"),
    "conform": (*("c.json", [*NATIVE, "--conform"]),
        "conform the model first, write it, and rewrite that file"),
    "the place of the model": (*("model.onnx", NATIVE),
        "'model.onnx' is a file of the model; give the certificate"),
    "the place of the enforced model": (*("enforced.onnx", NATIVE),
        "give the certificate another file"),
    "the place of the record": (*("r.json", [*NATIVE, "--record", "r.json"]),
        "'r.json' is also the file of the certificate; give the record another file"),
}  # fmt: skip


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_options_have_a_sentence(name: str) -> None:
    place, options, message = UNUSABLE[name]
    done = command(*REWRITE[:-1], place, *options)
    assert done.returncode == 2
    assert message in " ".join(done.stderr.split())
    assert not Path("enforced.onnx").exists()


def test_rewritten_model_gets_no_certificate(here: Path) -> None:
    onnx.save(sonnx_ort.rewrite(CONTENT, backend="native"), here / "once.onnx")
    with pytest.raises(SonnxError, match=r"^the model is already rewritten; certify the original$"):
        sonnx_ort.rewrite_file("once.onnx", "twice.onnx", backend="native", certificate="c.json")


def test_record_has_the_certificate_and_verify_checks_it(here: Path) -> None:
    sonnx_ort.rewrite_file(
        "model.onnx",
        "enforced.onnx",
        backend="native",
        certificate="certificate.json",
        record="record.json",
    )
    assert sonnx_ort.verify("model.onnx", "record.json", original=True).differences == ()
    assert sonnx_ort.verify("enforced.onnx", "record.json").differences == ()
    record = json.loads((here / "record.json").read_text(encoding="utf-8"))
    evidence = {e["bom-ref"]: e for e in record["declarations"]["evidence"]}
    attached = evidence["certificate:1"]["data"][0]["contents"]["attachment"]["content"]
    certificate = json.loads((here / "certificate.json").read_text(encoding="utf-8"))
    assert json.loads(attached) == certificate


FURTHER: Mapping[str, tuple[list[str], str]] = {
    "twice": (["z", "Div.int.R1"], "Div.int.R1 of the node of 'z' is named twice"),
    "another family": (["z", "Div.float.RG1"], "Div.float.RG1 of the node of 'z' does not bind it"),
}


@pytest.mark.parametrize("name", FURTHER)
def test_nothing_further_can_be_said(name: str, certified: tuple[bytes, dict[str, Any]]) -> None:
    entry, message = FURTHER[name]
    enforced, certificate = copy.deepcopy(certified)
    certificate["waived"].append(entry)
    with pytest.raises(Rejected) as caught:
        check(CONTENT, certificate, enforced)
    assert str(caught.value) == message


def test_edition_of_the_certificate_decides_what_has_to_be_said() -> None:
    enforced, made = enforced_with_certificate(CONTENT, edition="preliminary")
    certificate = json.loads(made.to_json())
    assert check(CONTENT, certificate, enforced) == (
        "6 checks hold in every run: 2 by proof, 4 by guards"
    )
    with pytest.raises(Rejected) as caught:
        check(CONTENT, certificate | {"edition": "typed"}, enforced)
    assert str(caught.value) == (
        "nothing is said of Div.int.C1 Div.int.R1 Div.int.R2 Div.int.RG1 of the node of 'z'"
    )


UNSAID: Mapping[str, tuple[str, list[str], str]] = {
    "a node of our domain": (
        "(float[2] x, float[2] y) => (float[2] a) { a, b = sonnx.Broadcast(x, y) }", ["Broadcast"],
        "nothing is said of Broadcast.C1 Broadcast.E1 of the node of 'a'"),
    "a value of an unknown type": (
        "(float[2] x) => (int32[2] y) { v = local.Other(x) y = Cast<to = 6>(v) }",
        ["Graph.finite_values"], "nothing is said of Graph.finite of 'v'"),
    "integers": (
        "(int32[2] x) => (int32[2] y) { v = Neg(x) y = Abs(v) }", ["Graph.finite_values"],
        "0 checks hold in every run: 0 by proof, 0 by guards"),
    "an output": (
        "(float[2] x) => (float[2] y) { v = Neg(x) y = Abs(v) }", ["Graph.finite"],
        "nothing is said of Graph.finite of 'y'"),
    "an output that is an input, beside values": (
        "(float[2] x, int32[2] w) => (float[2] x, int32[2] y) { y = Neg(w) }",
        ["Graph.finite", "Graph.finite_values"], "nothing is said of Graph.finite of 'x'"),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSAID)
def test_certificate_that_says_nothing_is_of_a_model_that_needs_nothing_said(name: str) -> None:
    """The product makes no such certificates; a reader may be given one."""
    text, operators, expected = UNSAID[name]
    model = parse(text, domains={"sonnx": 1, "local": 1}, ir_version=OLDEST_FORMAT)
    content = model.SerializeToString()
    digest = hashlib.sha256(content).hexdigest()
    certificate = {
        "format": FORMAT, "model": digest, "enforced": digest, "edition": "typed",
        "operators": operators, "obligations": [], "guarded": [], "waived": [], "unknown": [],
    }  # fmt: skip
    try:
        said = check(content, certificate, content)
    except Rejected as reason:
        said = str(reason)
    assert said == expected


def test_no_rule_of_a_contract_is_waived_without_a_contract(
    certified: tuple[bytes, dict[str, Any]],
) -> None:
    enforced, certificate = copy.deepcopy(certified)
    certificate["waived"].append(["x", "Contract.range"])
    with pytest.raises(Rejected) as caught:
        check(CONTENT, certificate, enforced)
    assert str(caught.value) == "the rule does not bind the value"


OTHER_DIV = (
    "the enforced model cannot be certified (the Div of ['z_result'] has other operands than in a "
    "guard); rewrite without a certificate"
)
NOT_CERTIFIED: Mapping[str, tuple[str, str, str]] = {
    "conversions of float16": ("typed",
        "(float16[n] x, float16[m] y) => (float16[n] z) { z = Div(x, y) }",
        OTHER_DIV),
    "infinity by division": ("preliminary",
        "(float[n] x, float[m] y) => (float[n] z) { z = Div(x, y) }",
        OTHER_DIV),
}  # fmt: skip


@pytest.mark.parametrize("name", NOT_CERTIFIED)
def test_model_that_is_more_than_guards_is_not_certified(name: str) -> None:
    edition, text, message = NOT_CERTIFIED[name]
    with pytest.raises(SonnxError) as caught:
        enforced_with_certificate(parse(text).SerializeToString(), edition=edition)
    assert str(caught.value) == message


def test_values_of_one_name_in_two_branches_declare_no_shape() -> None:
    """A certificate tells values by their names: that of one says nothing of the other."""
    model = parse("""(float[2] x, float[m] y, bool c) => (float[?] z) { z = If(c) <
        then_branch = t () => (float[?] a) <float[2] u> { u = Abs(x) a = Div(u, u) },
        else_branch = e () => (float[?] b) <float[2] u> { u = Abs(y) b = Div(u, u) }> }""")
    enforced, _ = enforced_with_certificate(model.SerializeToString(), operators="Div")
    (choice,) = [
        node for node in onnx.load_from_string(enforced).graph.node if node.op_type == "If"
    ]
    declared = [value for branch in choice.attribute for value in branch.g.value_info]
    types = [value.type.tensor_type for value in declared if value.name == "u"]
    assert [each.HasField("shape") for each in types] == [False, False]
