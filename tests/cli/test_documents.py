"""Documents that others wrote, in any form: a sentence and exit status 2, and never a traceback."""

import json
from pathlib import Path

import onnx
import pytest

from support.command import command
from support.graphs import parse

LEVELS = 200_000
FOLDER = "is a folder; give a file"
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


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse("(float[n] x) => (float[n] y) { [divide] y = Div(x, x) }"), "m.onnx")


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
    (".", FOLDER),
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
