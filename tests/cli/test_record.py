"""`--record` and `verify`: what they print, and their exit status."""

import json
from pathlib import Path

import onnx
import pytest

from support.command import command, output, refusal
from support.graphs import binary_model, parse


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.onnx"
    onnx.save(binary_model("Div", "int32", ["n"], ["n"], c_shape=["n"], node="divide"), path)
    return path


@pytest.fixture
def record(model: Path) -> Path:
    path = model.with_name("record.json")
    command("rewrite", model, "-o", model.with_name("enforced.onnx"), "--record", path)
    return path


def test_rewrite_says_that_it_wrote_a_record(model: Path) -> None:
    target, record = model.with_name("enforced.onnx"), model.with_name("record.json")
    assert output("rewrite", model, "-o", target, "--record", record) == (
        f"{target}: written; it enforces the profile in every run\n"
        "  a plain session needs `sonnx_ort.register(options)`, which adds custom operators\n"
        f"{record}: written\n"
        f"next: sonnx-ort verify {target} {record}\n"
    )


ORIGINAL = ["model.onnx", "--original"]
REWRITTEN = ["enforced.onnx"]


@pytest.mark.parametrize(
    ("name", "said"), [(ORIGINAL, "the original model"), (REWRITTEN, "the rewritten model")]
)
def test_kept_record(model: Path, record: Path, name: list[str], said: str) -> None:
    file, *options = name
    shown = output("verify", model.with_name(file), record, *options)
    following = "" if options else f"next: sonnx-ort run {model.with_name(file)}\n"
    assert shown == f"this is {said} of the record\nno difference\n{following}"


@pytest.mark.parametrize(("name", "said"), [
    (["model.onnx"],
     ("this is the original model of the record\ndiffers: the model: it is the original, which "
      "enforces nothing; verify the rewritten model, or add --original\n1 difference\n")),
    (["enforced.onnx", "--original"],
     ("this is the rewritten model of the record\ndiffers: the model: it is the rewritten one, but "
      "the original is to be verified\n1 difference\n")),
])  # fmt: skip
def test_the_other_model_of_a_record_differs(
    model: Path, record: Path, name: list[str], said: str
) -> None:
    file, *options = name
    done = command("verify", model.with_name(file), record, *options)
    assert (done.returncode, done.stdout, done.stderr) == (1, said, "")


@pytest.mark.parametrize("options", [[], ["--original"]])
def test_model_without_anything_to_enforce_is_both(tmp_path: Path, options: list[str]) -> None:
    model, target, record = (tmp_path / name for name in ("m.onnx", "e.onnx", "record.json"))
    onnx.save(parse("(float[3] x) => (float[3] y) { y = Relu(x) }"), model)
    command("rewrite", model, "-o", target, "--record", record, "--operators", "default")
    assert command("verify", target, record, *options).returncode == 0


def test_other_model(model: Path, record: Path) -> None:
    onnx.save(binary_model("Sub", "int32", ["n"], ["n"]), model)
    done = command("verify", model, record)
    first, second, third = done.stdout.splitlines()
    assert done.returncode == 1
    assert first == "this model is not in the record"
    assert second.startswith("differs: the model: its SHA-256 is ")
    assert third == "1 difference"


def test_unusable_record(model: Path) -> None:
    assert refusal("verify", model, model).startswith(f"sonnx-ort: '{model}' is not JSON: ")


def test_quiet_verification(model: Path, record: Path) -> None:
    done = command("verify", model, record, "--quiet", "--original")
    assert (done.returncode, done.stdout) == (0, "")


def test_check_writes_a_record(model: Path) -> None:
    record = model.with_name("record.json")
    assert (
        command("check", "--operators", "default", model, "--record", record, "--quiet").returncode
        == 0
    )
    assert command("verify", model, record).returncode == 0


def test_check_of_a_violated_model_writes_a_record_too(tmp_path: Path) -> None:
    model, record = tmp_path / "model.onnx", tmp_path / "record.json"
    onnx.save(binary_model("Div", "float", [3], [1]), model)
    assert (
        command("check", "--operators", "default", model, "--record", record, "--quiet").returncode
        == 1
    )
    assert command("verify", model, record).returncode == 0


def test_record_of_some_rules(model: Path) -> None:
    record = model.with_name("record.json")
    done = command(
        "check", "--operators", "default", model, "--record", record, "--ignore", "Div.int.C1"
    )
    message = "sonnx-ort: a record covers all rules; remove the options that select rules\n"
    assert (done.returncode, done.stderr) == (2, message)
    assert not record.exists()


@pytest.mark.parametrize("models", [["model.onnx", "model.onnx.copy"], ["-"]])
def test_record_of_what_is_no_single_file(model: Path, models: list[str]) -> None:
    model.with_name("model.onnx.copy").write_bytes(model.read_bytes())
    given = [name if name == "-" else model.with_name(name) for name in models]
    done = command(
        "check", "--operators", "default", *given, "--record", model.with_name("record.json")
    )
    assert done.returncode == 2
    assert not model.with_name("record.json").exists()


@pytest.mark.parametrize("settings", ["", 'edition = "preliminary"\n'], ids=["none", "a file"])
def test_report_in_the_record_of_a_rewrite_says_which_files_it_rests_on(
    model: Path, monkeypatch: pytest.MonkeyPatch, settings: str
) -> None:
    monkeypatch.chdir(model.parent)
    Path("use.toml").write_text("[inputs.B]\nrange = [1, 50]\n", encoding="utf-8")
    if settings:
        Path("sonnx-ort.toml").write_text(settings, encoding="utf-8")
    told = []
    for line in (["check", "model.onnx"], ["rewrite", "model.onnx", "-o", "enforced.onnx"]):
        command(*line, "--operators", "Div", "--contract", "use.toml", "--record", "record.json")
        evidence = json.loads(Path("record.json").read_text("utf-8"))["declarations"]["evidence"]
        (data,) = next(each["data"] for each in evidence if each["bom-ref"] == "report:original")
        report = json.loads(data["contents"]["attachment"]["content"])
        told.append((report["settings"], report["contract_file"]))
    of_check, of_rewrite = told
    assert of_rewrite == of_check
    assert of_check[0] == ("sonnx-ort.toml" if settings else None)
    assert of_check[1]["name"] == "use.toml"
    assert output("verify", "enforced.onnx", "record.json", "--quiet") == ""
