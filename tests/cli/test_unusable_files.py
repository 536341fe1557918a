"""Files that cannot be used are named, with what to do; no command ends with a traceback."""

import json
import os
from pathlib import Path

import numpy as np
import onnx
import pytest

from sonnx_ort.loading import source
from support.command import command, refusal
from support.graphs import parse

MODEL = """(int32[n] A, int32[n] B) => (int32[n] C, float[n] s)
    { C = Div(A, B) f = Cast <to = 1> (A) s = Softmax <axis = -1> (f) }"""
RUN = "run model.onnx --operators default --input B=b.npy --input A="
DIFF = "diff model.onnx model.onnx --input A="
CONFORM = "conform model.onnx -o o.onnx --verify --input A="

NO_NUMBERS = "is not a complete .npy file of numbers or text; write it with numpy.save"
FEEDS = {
    "none.npy": "there is no file 'none.npy'",
    "folder": "'folder' cannot be read: Is a directory",
    "empty": f"'empty' {NO_NUMBERS}",
    "text": f"'text' {NO_NUMBERS}",
    "zip": f"'zip' {NO_NUMBERS}",
    "pickled.npy": f"'pickled.npy' {NO_NUMBERS}",
    "cut.npy": f"'cut.npy' {NO_NUMBERS}",
    "float.npy": (
        "the input 'A' is float32 of shape (3,), but the model needs int32 of shape (n,); convert "
        "it, for example with astype('int32')"
    ),
    "matrix.npy": (
        "the input 'A' is int32 of shape (1, 3), but the model needs int32 of shape (n,); give it "
        "1 axis"
    ),
}

LONG = "x" * 300
MODELS = {
    LONG: f"'{LONG}' cannot be read: File name too long",
    "none": "there is no file 'none'",
    "folder": "'folder' is a folder; give the model's file",
    "empty": "'empty' is empty; copy or export the model again",
    "text": "'text' is text; give a model in the binary form of ONNX",
    "cut": "'cut' is not a complete ONNX model (",
    "/dev/null": "'/dev/null' is a device; give the model's file",
    "large": "'large' is not an ONNX model: it is larger than 2 GiB",
}
COMMANDS = [
    "check {}", "rewrite {} -o o.onnx", "conform {} -o o.onnx", "conform {} --diff", "run {}",
    "diff {} model.onnx", "diff model.onnx {}",
]  # fmt: skip


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(MODEL), "model.onnx")
    onnx.save(parse("(float[n] x) => (float[n] y) { [divide] y = Div(x, x) }"), "m.onnx")
    Path("folder").mkdir()
    Path("empty").write_bytes(b"")
    Path("text").write_text("this is no model", encoding="utf-8")
    Path("zip").write_bytes(b"PK\x03\x04")
    Path("cut").write_bytes(Path("model.onnx").read_bytes()[:60])
    Path("large").touch()
    os.truncate("large", source.LARGEST + 1)
    a = np.array([6, 9, 35], np.int32)
    np.save("b.npy", a)
    np.save("float.npy", a.astype(np.float32))
    np.save("matrix.npy", a[None])
    np.save("pickled.npy", np.array([{}], object))
    Path("cut.npy").write_bytes(Path("b.npy").read_bytes()[:-4])


@pytest.mark.parametrize("line", [
    "rewrite model.onnx -o {}",
    "rewrite model.onnx -o o.onnx --operators default --record {}",
    "conform model.onnx -o {}",
    "check model.onnx -o {}",
    "check model.onnx --record {}",
])  # fmt: skip
def test_name_that_no_file_can_have(line: str) -> None:
    said = refusal(*line.format(LONG).split())
    assert said == f"sonnx-ort: '{LONG}' cannot be written: File name too long\n"
    assert not Path("o.onnx").exists()


@pytest.mark.parametrize("line", [RUN, DIFF, CONFORM])
@pytest.mark.parametrize("name", FEEDS)
def test_unusable_input(line: str, name: str) -> None:
    assert refusal(*f"{line}{name}".split()) == f"sonnx-ort: {FEEDS[name]}\n"
    assert not Path("o.onnx").exists()


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize("name", MODELS)
def test_unusable_model(line: str, name: str) -> None:
    done = command(*line.format(name).split())
    told = MODELS[name]
    if (line, name) == ("check {}", "folder"):
        told = "there is no model in the folder 'folder'"
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sonnx-ort: {told}")
    assert done.stderr.count("\n") == 1
    assert not Path("o.onnx").exists()


@pytest.mark.parametrize(("name", "status", "told"), [
    ("none", 2, "sonnx-ort: 'none' cannot be read: No such file or directory\n"),
    ("folder", 2, "sonnx-ort: 'folder' cannot be read: Is a directory\n"),
    ("cut", 1, "this model is not in the record\n"),
])  # fmt: skip
def test_verified_model(name: str, status: int, told: str) -> None:
    command("check", "model.onnx", "--record", "record.json")
    done = command("verify", name, "record.json")
    assert done.returncode == status
    assert f"{done.stderr}{done.stdout}".startswith(told)


LEVELS = 200_000
DEEP = "is nested more than 200 levels deep"

TOML = {
    "deep list": (b"a = " + b"[" * LEVELS, DEEP),
    "deep table": (b"a = " + b"{b = " * 5000, DEEP),
    "deep key": (b"a" + b".a" * LEVELS + b" = 1", DEEP),
    "huge integer": (b"a = " + b"9" * 5000, "is not TOML: Exceeds the limit"),
    "key twice": (b"a = 1\na = 2", "is not TOML: Cannot overwrite a value"),
    "Latin-1": (b"a = '\xe4'", "is not TOML: it is not in UTF-8 ("),
    "UTF-16": ("a = 1".encode("utf-16"), "is not TOML: it is not in UTF-8 ("),
    "binary": (bytes(range(32)), "is not TOML: "),
}
JSON = {
    "empty": (b"", "is not JSON: Expecting value"),
    "deep list": (b"[" * LEVELS, DEEP),
    "deep object": (b'{"a":' * LEVELS, DEEP),
    "less deep": (b"[" * 300 + b"]" * 300, DEEP),
    "huge integer": (b"9" * 5000, "is not JSON: Exceeds the limit"),
    "key twice": (b'{"a": 1, "a": 2}', "is not JSON: an object has the key 'a' twice"),
    "Latin-1": (b'"\xe4"', "is not JSON: it is not in UTF-8 ("),
    "UTF-16": ("{}".encode("utf-16"), "is not JSON: it is not in UTF-8 ("),
    "another": (b"[1, 2]", "is not a record of sonnx_ort"),
}


def refused(*arguments: str) -> str:
    done = command(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    return done.stderr.removeprefix("sonnx-ort: ")


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize("line", ["check m.onnx", "rewrite m.onnx -o e.onnx", "run m.onnx"])
def test_waivers(name: str, line: str) -> None:
    content, told = TOML[name]
    Path("w.toml").write_bytes(content)
    assert refused(*line.split(), "--waivers", "w.toml").startswith(f"'w.toml' {told}")
    assert not Path("e.onnx").exists()


@pytest.mark.parametrize("name", TOML)
@pytest.mark.parametrize("file", ["sonnx-ort.toml", "pyproject.toml"])
def test_settings(name: str, file: str) -> None:
    content, told = TOML[name]
    Path(file).write_bytes(content)
    said = refused("check", "m.onnx")
    assert said.startswith(f"settings in '{file}' cannot be read: '{file}' {told}")


@pytest.mark.parametrize("tool", ["5", "'sonnx-ort'", "['sonnx-ort']"])
def test_project_whose_tools_are_no_table(tool: str) -> None:
    Path("pyproject.toml").write_text(f"tool = {tool}", encoding="utf-8")
    assert command("check", "m.onnx").returncode == 0


@pytest.mark.parametrize("name", JSON)
def test_record(name: str) -> None:
    content, told = JSON[name]
    Path("r.json").write_bytes(content)
    assert refused("verify", "m.onnx", "r.json").startswith(f"'r.json' {told}")


@pytest.mark.parametrize(("name", "told"), [
    (".", "is a folder; give a file"),
    ("/dev/null", "is a device; give a file"),
    ("none", "there is no file 'none'"),
    ("x" * 300, "cannot be read: File name too long"),
])  # fmt: skip
@pytest.mark.parametrize("line", ["verify m.onnx {}", "check m.onnx --waivers {}"])
def test_what_is_no_file(line: str, name: str, told: str) -> None:
    assert told in refused(*line.format(name).split())


def test_byte_order_mark_is_no_fault() -> None:
    command("check", "m.onnx", "--record", "r.json")
    for file in ("r.json", "sonnx-ort.toml", "w.toml"):
        path = Path(file)
        path.write_bytes(b"\xef\xbb\xbf" + (path.read_bytes() if path.exists() else b""))
    assert command("check", "m.onnx", "--waivers", "w.toml").returncode == 0
    assert command("verify", "m.onnx", "r.json").returncode == 0


def test_key_twice_in_a_record_that_is_complete() -> None:
    command("check", "m.onnx", "--record", "r.json")
    text = Path("r.json").read_text(encoding="utf-8")
    assert json.loads(text)["bomFormat"] == "CycloneDX"
    Path("r.json").write_text('{"bomFormat": "other",' + text.removeprefix("{"), encoding="utf-8")
    assert refused("verify", "m.onnx", "r.json") == (
        "'r.json' is not JSON: an object has the key 'bomFormat' twice\n"
    )
