"""The checker accepts what follows, and nothing else; it runs with onnx alone."""

import json
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest

from sonnx_ort import checker, models
from sonnx_ort.api.files import certify
from sonnx_ort.checker import Rejected, check, established
from sonnx_ort.checker.obligations import conclude
from support.child import run_program, run_python
from support.derived import fact
from support.graphs import parse

MODEL = parse(
    """(float[n, 4] x, float[4, 8] w, int32[n] i) => (float[n, 2, 4] z, int32[n] k)
    <int64[3] sizes = {0, 2, 4}, int32[1] two = {2}, int32 one = {1}> {
        p = MatMul(x, w)
        a = Reshape(p, sizes)
        b = Relu(a)
        z = Div(a, b)
        q = Mul(i, i)
        k = Sub(q, i)
        h = Div(one, one)
    }"""
)
Certified = tuple[bytes, dict[str, Any]]


@pytest.fixture
def certified(tmp_path: Path) -> Certified:
    """The file of a model, and its certificate."""
    path = tmp_path / "model.onnx"
    onnx.save(MODEL, path)
    made = certify(path, operators="default")
    assert not made.uncertified
    return path.read_bytes(), json.loads(made.to_json())


def test_certificate_has_obligations_and_no_proofs(certified: Certified) -> None:
    _, certificate = certified
    assert certificate.keys() == {"format", "model", "obligations"}
    assert {output for output, _ in certificate["obligations"]} == {"z", "k", "h"}


def test_sentence_says_how_much_holds(certified: Certified) -> None:
    assert check(*certified) == "11 checks hold in every run"


def test_nothing_is_derived_from_the_certificate(certified: Certified) -> None:
    content, certificate = certified
    assert check(content, certificate | {"obligations": []}) == "0 checks hold in every run"
    for entry in certificate["obligations"]:
        alone = certificate | {"obligations": [entry]}
        assert check(content, alone) == "1 checks hold in every run"


FALSE = {
    "another rule": (["z", "Div.float.C1"], "the rule does not bind the node"),
    "a rule of another operator": (["z", "Sub.float.R1"], "the node is a Div"),
    "a rule of another type": (["z", "Div.int.R2"], "the rule does not bind the node"),
    "an output that there is not": (["y", "Div.float.R1"], "no node computes it"),
}


@pytest.mark.parametrize("name", FALSE)
def test_obligation_that_does_not_follow_is_rejected(name: str, certified: Certified) -> None:
    content, certificate = certified
    (output, rule), reason = FALSE[name]
    certificate["obligations"].append([output, rule])
    with pytest.raises(Rejected) as caught:
        check(content, certificate)
    assert str(caught.value) == f"{rule} of the node of '{output}' does not follow: {reason}"


HEADS: Mapping[str, tuple[dict[str, Any], str]] = {
    "another format": ({"format": "another/1"},
        "the format is not sonnx_ort.certificate/3; certify the model again"),
    "an older format": ({"format": "sonnx_ort.certificate/2"},
        "the format is not sonnx_ort.certificate/3; certify the model again"),
    "model": ({"model": "0" * 64}, "it is the certificate of another model"),
}  # fmt: skip


@pytest.mark.parametrize("name", HEADS)
def test_certificate_of_something_else_is_rejected(name: str, certified: Certified) -> None:
    content, certificate = certified
    change, message = HEADS[name]
    with pytest.raises(Rejected) as caught:
        check(content, certificate | change)
    assert str(caught.value) == message


REJECTED: Mapping[str, tuple[str, str, str, str]] = {
    "a size that a run decides": (
        "(float[n, m] x) => (float[k] y) { i = Unique(x) y = Cast<to = 1>(i) }",
        *("i", "shape", "the shape of 'i' does not follow: a Unique has no rule")),
    "attributes that are not known": (
        "(float[1, 1, n] x) => (float[1, 1, m] y) {y = MaxPool<kernel_shape=[2], ceil_mode=2>(x)}",
        *("y", "shape", "the shape of 'y' does not follow: ceil_mode is not verified")),
    "an operator of another domain": ("(float[n] x) => (float[n] y) { y = com.example.Twice(x) }",
        *("y", "shape", "the shape of 'y' does not follow: the domain com.example is not known")),
    "shapes that do not fit": ("(float[2] x, float[3, 1] y) => (float[n] z) { z = Gemm(x, y) }",
        *("z", "shape", "the shape of 'z' does not follow: an operand is no matrix")),
}  # fmt: skip


@pytest.mark.parametrize("name", REJECTED)
def test_fact_that_does_not_follow_has_a_sentence(name: str) -> None:
    text, value, kind, message = REJECTED[name]
    proto = parse(text)
    proto.opset_import.add(domain="com.example", version=1)
    model = checker.Model(proto)
    for given in proto.graph.input:
        model.derive(given.name, "shape")
    with pytest.raises(Rejected) as caught:
        model.derive(value, kind)
    assert str(caught.value) == message


FALSE_CLAIM = """(int64 last, float[n] x) => (int64[k] s, float[n] z)
    <int64 first = {1}, int64 step = {1}, int64[3] v, float[4] a> {
        v = Range(first, last, step)
        s = Shape(v)
        a = Neg(x)
        b = Abs(a)
        z = Div(b, b)
    }"""


def test_shape_of_a_value_of_which_the_file_says_another_shape_is_rejected() -> None:
    """ONNX Runtime computes the Shape from what the file says."""
    model = checker.Model(parse(FALSE_CLAIM))
    model.derive("v", "shape")
    model.derive("s", "shape")
    with pytest.raises(Rejected) as caught:
        model.derive("s", "elements")
    assert str(caught.value) == (
        "the elements of 's' does not follow: the file says that 'v' has the shape [3]"
    )


def test_shapes_behind_a_false_claim_are_not_concluded() -> None:
    model = checker.Model(parse(FALSE_CLAIM))
    for value in ("x", "a", "b"):
        model.derive(value, "type")
        model.derive(value, "shape")
    with pytest.raises(Rejected, match=r"the file says that 'a' has the shape \[4\]"):
        conclude(model, "z", "Div.float.R1")


BEHIND_A_CLAIM = {
    "what a Scan hands to its body": (
        ("(float[n, k] x) => (float[] y, float[] z) <float[n, 4] a, float zero = {0}> { a = Neg(x)"
        " y, z = Scan<num_scan_inputs = 1, body = b (float[] s, float[] e)"
        " => (float[] t, float[] o) { t = Identity(s) o = Add(e, e) }>(zero, a) }"),
        *("o", "Add.float.R1")),
    "the state of a Scan": (
        ("(float[n, k] x) => (float[] y, float[] z) <float[n, 4] a> { a = Neg(x)"
        " y, z = Scan<num_scan_inputs = 1, body = b (float[] s, float[] e)"
        " => (float[] t, float[] o) { t = Neg(s) o = Add(s, s) }>(a, x) }"),
        *("o", "Add.float.R1")),
    "what a body says of a value around it": (
        ("(bool c, float[n, k] x) => (float[] z) { a = Neg(x) z = If(c) <"
        "then_branch = t () => (float[] o) <float[n, 4] a> { o = Add(a, a) },"
        " else_branch = e () => (float[] p) { p = Identity(x) }> }"),
        *("o", "Add.float.R1")),
    "bounds of integers": (
        ("(int32[n, k] x) => (int32[] z) <int32[n, 4] a, int32 low = {1}> {"
        " a = Neg(x) b = Clip(a, low) z = Div(a, b) }"),
        *("z", "Div.int.C1")),
    "the numbers of floats": (
        "(int32[n, k] x) => (float[] z) <int32[n, 4] a> { a = Neg(x) z = Cast<to = 1>(a) }",
        *("z", "Graph.finite")),
}  # fmt: skip
"""Values behind a declared shape that is not established, and a rule that would hold of them."""


@pytest.mark.parametrize("name", BEHIND_A_CLAIM)
def test_nothing_is_concluded_behind_a_false_claim(name: str) -> None:
    text, output, rule = BEHIND_A_CLAIM[name]
    with pytest.raises(Rejected, match="does not follow"):
        conclude(established(parse(text)), output, rule)
    conclude(established(parse(text.replace("[n, 4] a", "[n, k] a"))), output, rule)


def test_state_of_a_loop_has_no_shape_that_is_claimed_around_it() -> None:
    """ONNX Runtime gives a Loop's body no shapes of its states."""
    text = (
        "(int64 m, bool c, float[n, k] x) => (float[] z) <float[n, 4] a> { a = Neg(x)"
        " z = Loop<body = b (int64 i, bool d, float[] s) => (bool e, float[] t)"
        " { e = Identity(d) t = Add(s, s) }>(m, c, a) }"
    )
    conclude(established(parse(text)), "t", "Add.float.R1")


ALIKE = {
    "one value": "z = Sub(x, x)",
    "elements of one value": "a = Relu(x) b = Exp(a) z = Sub(x, b)",
}


@pytest.mark.parametrize("name", ALIKE)
def test_operands_of_unknown_rank_are_alike_that_are_computed_of_one_value(name: str) -> None:
    model = f"(float[n] y, int64[k] s) => (float[] z) {{ x = Reshape(y, s) {ALIKE[name]} }}"
    conclude(established(parse(model)), "z", "Sub.float.R1")


@pytest.mark.parametrize("other", ["Transpose(x)", "Reshape(y, s)", "Add(x, y)"])
def test_operands_of_unknown_rank_are_not_alike_by_other_operators(other: str) -> None:
    model = (
        f"(float[n] y, int64[k] s) => (float[] z) {{ x = Reshape(y, s) b = {other} z = Sub(x, b) }}"
    )
    with pytest.raises(Rejected, match=r"the rank of A (and B )?is unknown"):
        conclude(established(parse(model)), "z", "Sub.float.R1")


def test_shape_that_the_runtime_infers_wrongly_is_no_element() -> None:
    """ONNX Runtime infers the shape of x for y, and computes the Shape from it."""
    model = established(
        parse("""(float[1, 2] x, float[k, 2] s, float[1, 1] z) => (float[p, q] o) {
            y = PRelu(x, s) h = Shape(y) e = Expand(z, h) o = Add(y, e)
        }""")
    )
    with pytest.raises(Rejected) as caught:
        model.derive("h", "elements")
    assert str(caught.value) == (
        "the elements of 'h' does not follow: ONNX Runtime may infer another shape of 'y'"
    )
    with pytest.raises(Rejected, match="it is not proved"):
        conclude(model, "o", "Add.float.R1")


def test_names_of_sizes_cannot_be_forged() -> None:
    """A name that looks like an open size, or like an expression, is a new size."""
    model = checker.Model(parse("(float[n] x, float[m] y) => (float[k] z) { z = Add(x, y) }"))
    for name, text in (("x", "?1"), ("y", "(n + 1)")):
        declared = model.inputs[name].type.tensor_type.shape.dim[0]
        declared.dim_param = text
    assert [fact(model, name, "shape") for name in "xyz"] == [["?1"], ["?2"], ["?3"]]


@pytest.mark.parametrize(
    "inputs", ["float[n] x, float[n] y", "float[n, n] x", "float x, float y", "float[?] x"]
)
def test_sizes_that_the_runtime_does_not_hold_are_open(inputs: str) -> None:
    model = checker.Model(parse(f"({inputs}) => (float[k] z) {{ z = Div(x, x) }}"))
    names = [given.name for given in model.proto.graph.input]
    if inputs == "float x, float y":
        with pytest.raises(Rejected, match=r"or it is declared as a scalar$"):
            model.derive("x", "shape")
    else:
        sizes = [size for name in names for size in fact(model, name, "shape")]
        assert len({*sizes}) == len(sizes)


def test_operator_of_another_domain_is_no_constant() -> None:
    text = "(int32[1] x) => (int32[1] z) { c = com.example.Constant() z = Div(x, c) }"
    proto = parse(text, domains={"com.example": 1})
    tensor = onnx.helper.make_tensor("", onnx.TensorProto.INT32, [1], [2])
    proto.graph.node[0].attribute.append(onnx.helper.make_attribute("value", tensor))
    model = checker.Model(proto)
    with pytest.raises(Rejected, match=r"^'c' is no constant$"):
        model.array("c")


BARE = "print(json.dumps([name.partition('.')[0] for name in sys.modules]))"
IMPORTS = """
import json, sys
from sonnx_ort.checker.__main__ import main
print(json.dumps([name.partition(".")[0] for name in sys.modules]))
"""
NEEDED = {"google", "ml_dtypes", "numpy", "onnx", "sonnx_ort", "typing_extensions"}
"""What onnx needs, and the numbers of its types."""


def test_checker_imports_onnx_and_what_onnx_needs_only() -> None:
    child = run_python(IMPORTS, fresh=True)
    assert child.exit_status == 0, child
    standard = {*sys.stdlib_module_names, *sys.builtin_module_names, "__main__"}
    before = {*json.loads(run_python("import json, sys", BARE, fresh=True).stdout)}
    assert {*json.loads(child.stdout)} - standard - before <= NEEDED


OF_ENFORCED_MODELS = """
import json, sys
from sonnx_ort.checker.__main__ import main
status = main(sys.argv[1:])
loaded = [name for name in sys.modules if ".guards" in name or ".enforce" in name]
print(json.dumps([status, loaded]))
"""


def test_certificate_of_one_model_is_checked_without_what_compares_models(tmp_path: Path) -> None:
    model, certificate = models.path("normalization_by_the_profile"), tmp_path / "certificate.json"
    certificate.write_text(certify(model).to_json(), encoding="utf-8")
    program = [sys.executable, "-c", OF_ENFORCED_MODELS, str(model), str(certificate)]
    done = run_program(program, timeout=60, fresh=True)
    assert json.loads(done.stdout.splitlines()[-1]) == [0, []]


Run = Callable[..., tuple[int, str, str]]


FOLDERS = ("checker", "facts", "guards", "profile", "terms")
"""All that the checker is, as the help of `certify` and docs/certificates.md say."""

LEFT_OUT = ("__pycache__", "texts", "texts.csv", "wording.py", "source.py")
"""What of these the checker does not read: the texts of rules among them."""


ALONE = """
import runpy, sys
from importlib.machinery import BuiltinImporter, FrozenImporter, PathFinder
# An installation for development finds other modules of the package by a finder of its own.
sys.meta_path[:] = [BuiltinImporter, FrozenImporter, PathFinder]
runpy.run_module("sonnx_ort.checker", run_name="__main__", alter_sys=True)
"""


@pytest.fixture
def alone(tmp_path: Path) -> Run:
    """Runs the checker of a package that has these folders without texts, and nothing else."""
    package = tmp_path / "alone" / "sonnx_ort"
    for folder in FOLDERS:
        source = Path(checker.__file__).parents[1] / folder
        shutil.copytree(source, package / folder, ignore=shutil.ignore_patterns(*LEFT_OUT))
    (package / "__init__.py").touch()

    def run(*arguments: Path) -> tuple[int, str, str]:
        program = [sys.executable, "-c", ALONE, *arguments]
        done = run_program(program, folder=str(package.parent), timeout=60, fresh=True)
        return done.exit_status, done.stdout, done.stderr

    return run


def test_checker_runs_alone(alone: Run, tmp_path: Path) -> None:
    model, certificate = models.path("normalization_by_the_profile"), tmp_path / "certificate.json"
    certificate.write_text(certify(model).to_json(), encoding="utf-8")
    status, stdout, stderr = alone(model, certificate)
    assert (status, stderr) == (0, "")
    assert stdout == "7 checks hold in every run\n"


def test_missing_arguments_have_a_usage(alone: Run) -> None:
    status, stdout, stderr = alone(models.path("normalization_by_the_profile"))
    assert (status, stdout) == (2, "")
    assert stderr.startswith("usage: sonnx_ort.checker")


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "sonnx_ort.certificate/3"}'])
def test_unusable_certificate_is_rejected_in_a_sentence(
    text: str, alone: Run, tmp_path: Path
) -> None:
    certificate = tmp_path / "certificate.json"
    certificate.write_text(text, encoding="utf-8")
    status, stdout, stderr = alone(models.path("normalization_by_the_profile"), certificate)
    assert (status, stdout) == (1, "")
    assert stderr.startswith("rejected: ")
    assert "Traceback" not in stderr


@pytest.mark.parametrize(("shapes", "proved"), [
    ("float[1, 4] x, float[3, 4] y", True),
    ("float[4] x, float[3, 4] y", True),
    ("float[4] x, float[4] y", True),
    ("float[n] x, float[1] y", False),
    ("float[0] x, float[1] y", False),
])  # fmt: skip
def test_sizes_are_the_largest_or_one(shapes: str, proved: bool) -> None:
    proto = parse(f"({shapes}) => (float[p] a, float[q] b) {{ a, b = sonnx.Broadcast(x, y) }}")
    proto.opset_import.add(domain="sonnx", version=1)
    model = checker.Model(proto)
    for name in "xyab":
        model.derive(name, "shape")
    if proved:
        conclude(model, "a", "Broadcast.E1")
    else:
        with pytest.raises(Rejected, match="it is not proved: axis 0 "):
            conclude(model, "a", "Broadcast.E1")
