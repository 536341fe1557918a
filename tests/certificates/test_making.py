"""Certificates of models: what is certified, the command, and that none is written in vain."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest

import sonnx_ort
from sonnx_ort import models
from sonnx_ort.analysis import certificates
from sonnx_ort.checker import Rejected, check, established, read_certificate
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.options import Edition
from sonnx_ort.profile.rule import Status, Subject
from support.command import command
from support.derived import facts
from support.graphs import binary_model, parse

CERTIFIED = [
    name
    for name in models.names()
    if models.load(name).opset_import[0].version >= 7 and not models.load(name).functions
]


@pytest.mark.parametrize("edition", Edition)
@pytest.mark.parametrize("name", CERTIFIED)
def test_everything_proved_of_bundled_models_is_certified(name: str, edition: Edition) -> None:
    path = models.path(name)
    made = sonnx_ort.certify(path, edition=edition)
    # Where a float divisor is zero, only an enforced model gives what this rule says.
    left = {each.obligation.rule.id for each in made.uncertified} - {"Div.R5"}
    assert not left
    assert check(path.read_bytes(), json.loads(made.to_json()))


@pytest.mark.parametrize("name", ["div_int32", "normalization_broadcast", "digits"])
def test_certificate_and_report_count_the_same(name: str) -> None:
    """What a report has besides is decided by the file alone; a certificate may follow more."""
    made = sonnx_ort.certify(models.path(name))
    report = sonnx_ort.check(models.path(name), backend="native", forecast=False)
    proved = [o for o in report.enforced if o.status is Status.PROVED]
    of_file = [o for o in proved if o.rule.requirement.subject is Subject.GRAPH]
    assert made.by_file == len(of_file) > 0
    assert len(made.obligations) + len(made.uncertified) + made.by_file == len(proved)
    assert made.beyond >= 0


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(("graph", "options", "said"), [
    ("(float[n] x) => (float[n] z) { z = Identity(x) }", ("--operators", "default"),
     ("nothing to certify: no rule of the operators default is proved; --operators profile covers "
      "all")),
    ("(float[n] x) => (float[n] z) { z = Abs(x) }", ("--operators", "Add,Mul,Sin,Exp"),
     ("nothing to certify: no rule of the operators Add,Exp,Mul,Sin is proved; --operators profile "
      "covers all")),
])  # fmt: skip
def test_certificate_of_nothing_says_so(graph: str, options: tuple[str, ...], said: str) -> None:
    onnx.save(parse(graph), "none.onnx")
    done = command("certify", "none.onnx", "-o", "c.json", *options)
    assert (done.returncode, done.stdout) == (0, f"c.json: written; {said}\n")


def test_function_of_a_model_is_not_certified() -> None:
    made = sonnx_ort.certify(models.path("div_in_function"))
    assert not made.obligations
    assert {each.reason for each in made.uncertified} == {"the domain example is not known"}


def test_values_of_bodies_with_equal_names_are_kept_apart(tmp_path: Path) -> None:
    model = parse(
        "(bool c, float[2] x, float[3] y) => (float[n] z) { z = If(c) "
        "<then_branch = t () => (float[2] a) { v = Neg(x) a = Div(v, x) }, "
        "else_branch = e () => (float[3] b) { v = Neg(y) b = Div(v, y) }> }"
    )
    onnx.save(model, tmp_path / "model.onnx")
    made = sonnx_ort.certify(tmp_path / "model.onnx")
    assert not made.uncertified
    found = facts(established(model))
    assert (found["v", "shape"], found["v'", "shape"]) == ([2], [3])
    assert {"a", "b"} <= {output for output, _ in made.content["obligations"]}


def test_rewritten_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    onnx.save(sonnx_ort.rewrite(binary_model("Div", "float", [3], [3])), path)
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.certify(path)
    assert str(caught.value) == "the model is already rewritten; certify the original"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a model, which is the current one."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(models.path("normalization_by_the_profile"), "model.onnx")
    return tmp_path


@pytest.mark.usefixtures("here")
def test_certificate_that_is_written_is_accepted() -> None:
    written = command("certify", "model.onnx", "-o", "certificate.json")
    assert (written.returncode, written.stdout) == (
        0,
        (
            "certificate.json: written; 7 of 7 proved checks of nodes and values\n"
            "  14 proved rules on the graph, which the file alone decides, are in no certificate\n"
            "next: sonnx-ort certify model.onnx --check certificate.json\n"
        ),
    )
    accepted = command("certify", "model.onnx", "--check", "certificate.json")
    assert (accepted.returncode, accepted.stdout) == (
        0,
        (
            "certificate.json: accepted: 7 checks hold in every run\n"
            "next: sonnx-ort rewrite model.onnx -o model.enforced.onnx --backend native "
            "--certificate model.enforced.json\n"
        ),
    )


@pytest.mark.usefixtures("here")
def test_model_of_which_nothing_is_proved_says_so() -> None:
    onnx.save(parse("(float[2] x) => (float[2] y) { y = Softplus(x) }"), "other.onnx")
    done = command("certify", "other.onnx", "-o", "none.json", "--operators", "Div,Sub")
    said = "none.json: written; nothing to certify: no rule of the operators default is proved"
    hint = "; --operators profile covers all"
    assert (done.returncode, done.stdout) == (0, f"{said}{hint}\n")


@pytest.mark.usefixtures("here")
def test_certificate_of_another_model_is_rejected() -> None:
    command("certify", "model.onnx", "-o", "certificate.json")
    done = command("certify", models.path("div_open_sizes"), "--check", "certificate.json")
    assert (done.returncode, done.stderr) == (
        1,
        "certificate.json: rejected: it is the certificate of another model\n",
    )


@pytest.mark.usefixtures("here")
def test_what_is_not_certified_is_listed_on_request() -> None:
    function = '<opset_import: ["" : 17], domain: "local"> f (p) => (r) { [d] r = Div(p, p) }'
    graph = f"(float[n] x) => (float[n] z) {{ [c] z = local.f(x) }} {function}"
    onnx.save(parse(graph, domains={"local": 1}), "called.onnx")
    line = ("certify", "called.onnx", "-o", "c.json", "--operators", "Div")
    counted = "c.json: written; 0 of 3 proved checks of nodes and values\n"
    done = command(*line)
    assert (done.returncode, done.stdout) == (1, counted)
    done = command(*line, "-v")
    assert done.returncode == 1
    assert done.stdout == (
        counted
        + "".join(
            f"Div 'c/d': Div.float.{rule} is not certified: the domain local is not known\n"
            for rule in ("R2", "RG1", "R1")
        )
    )


@pytest.mark.usefixtures("here")
def test_certificate_of_a_part_is_the_exit_status_1_and_is_checked_where_it_lies() -> None:
    function = '<opset_import: ["" : 17], domain: "local"> f (p) => (r) { [d] r = Div(p, p) }'
    graph = f"(float[n] x) => (float[n] z) {{ [c] y = local.f(x) z = Div(x, x) }} {function}"
    onnx.save(parse(graph, domains={"local": 1}), "called.onnx")
    Path("there").mkdir()
    done = command("certify", "called.onnx", "-o", "there/c.json", "--operators", "Div")
    assert (done.returncode, done.stdout) == (
        1,
        (
            "there/c.json: written; 3 of 6 proved checks of nodes and values\n"
            "next: sonnx-ort certify called.onnx --check there/c.json --operators Div\n"
        ),
    )


@pytest.mark.usefixtures("here")
def test_profile_of_which_nothing_is_proved_is_not_advised_again() -> None:
    onnx.save(parse("(float[2] x) => (float[2] y) { y = Softplus(x) }"), "other.onnx")
    first = command("certify", "other.onnx", "-o", "c.json").stdout.splitlines()[0]
    assert first == "c.json: written; nothing to certify: no rule of a node or value is proved"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("line", [
    "none --check certificate.json",
    "model.onnx --check none",
    "model.onnx --check certificate.json --enforced none",
])  # fmt: skip
def test_file_that_is_not_there_is_named(line: str) -> None:
    command("certify", "model.onnx", "-o", "certificate.json")
    done = command("certify", *line.split())
    assert (done.returncode, done.stderr) == (2, "sonnx-ort: none: No such file or directory\n")


UNUSABLE = {
    "neither": ([], "give either -o FILE or --check FILE"),
    "both": (["-o", "a", "--check", "b"], "give either -o FILE or --check FILE"),
    "an enforced model to write one": (["-o", "c.json", "--enforced", "e.onnx"],
        "sonnx-ort: --enforced needs --check; `sonnx-ort rewrite --certificate` writes"),
    "the model itself": (["-o", "model.onnx"],
        "it would replace the input 'model.onnx'; name another file"),
    "no certificate": (["--check", "model.onnx"], "'model.onnx' is no certificate"),
    "no file": (["--check", "missing.json"], "missing.json: No such file or directory"),
}  # fmt: skip


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", UNUSABLE)
def test_unusable_arguments_have_a_sentence(name: str) -> None:
    arguments, message = UNUSABLE[name]
    done = command("certify", "model.onnx", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


MODEL = "(float[n] x, float[m] y) => (float[k] z) { z = Div(x, y) }"


def of_alias(model: onnx.ModelProto) -> None:
    model.graph.node[0].domain = "ai.onnx"


def of_alias_alone(model: onnx.ModelProto) -> None:
    model.opset_import[0].domain = "ai.onnx"


def annotated(model: onnx.ModelProto) -> None:
    model.graph.quantization_annotation.add(tensor_name="x")


def saved(path: Path, *changes: Callable[[onnx.ModelProto], object]) -> Path:
    model = parse(MODEL)
    for change in changes:
        change(model)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(
    "changes", [(), (of_alias,), (of_alias_alone,), (of_alias, of_alias_alone)]
)
def test_written_certificate_is_accepted(
    changes: tuple[Callable[[onnx.ModelProto], object], ...], tmp_path: Path
) -> None:
    model, enforced, certificate = (tmp_path / name for name in ("m.onnx", "e.onnx", "c.json"))
    saved(model, *changes)
    sonnx_ort.rewrite_file(model, enforced, backend="native", certificate=certificate)
    made = read_certificate(certificate.read_bytes())
    assert check(model.read_bytes(), made, enforced.read_bytes()) == (
        "3 checks hold in every run: 2 by proof, 1 by guards"
    )


@pytest.mark.parametrize(("change", "reason"), [
    (annotated, "a GraphProto has a quantization_annotation"),
    (lambda m: m.graph.node[0].MergeFromString(bytes.fromhex("c2b802026162")),
     "a NodeProto has a field that is not known"),
])  # fmt: skip
def test_nothing_is_written_that_is_rejected(
    change: Callable[[onnx.ModelProto], object], reason: str, tmp_path: Path
) -> None:
    model = saved(tmp_path / "m.onnx", change)
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.rewrite_file(
            model, tmp_path / "e.onnx", backend="native", certificate=tmp_path / "c.json"
        )
    assert reason in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_written_certificate_is_checked_as_a_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(*_: object) -> str:
        raise Rejected("it proves less than it says")

    model = saved(tmp_path / "m.onnx")
    monkeypatch.setattr(certificates, "check", reject)
    with pytest.raises(SonnxError, match=r"^the model cannot be certified: it proves less than it"):
        sonnx_ort.certify(model)
    with pytest.raises(SonnxError, match=r"^the model cannot be certified: it proves less than it"):
        sonnx_ort.rewrite_file(
            model, tmp_path / "e.onnx", backend="native", certificate=tmp_path / "c.json"
        )
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_single_operand_of_no_certified_shape_is_compared_with_none(tmp_path: Path) -> None:
    graph = "(int64[n] x) => (int64[k] z) { u = Unique(x) z = Max(u) }"
    onnx.save(parse(graph), tmp_path / "m.onnx")
    made = sonnx_ort.rewrite_file(
        tmp_path / "m.onnx",
        tmp_path / "e.onnx",
        backend="native",
        operators=["Max"],
        certificate=tmp_path / "c.json",
    )
    assert made is not None
    assert made.content["guarded"] == [["z", "Max.int.R1"], ["z", "Max.int.C1"]]


def test_model_that_the_checker_does_not_read_is_unusable(tmp_path: Path) -> None:
    model = saved(tmp_path / "m.onnx", annotated)
    done = command("certify", model, "-o", tmp_path / "c.json")
    assert (done.returncode, done.stderr) == (
        2,
        "sonnx-ort: the model cannot be certified: a GraphProto has a quantization_annotation\n",
    )
    assert not (tmp_path / "c.json").exists()
