"""No command replaces a file that it reads."""

import os
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from support.command import command, output, refusal
from support.graphs import parse

MODEL = "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { a = Neg(x) y = Div(a, w) }"
OTHER = "name another file"
FORCE = "name another file, or add --force"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    model = parse(MODEL)
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    monkeypatch.chdir(tmp_path)
    onnx.save(model, "m.onnx", save_as_external_data=True, location="w", size_threshold=0)
    np.save("x.npy", np.ones(2, np.float32))
    np.save("y.npy", np.ones(2, np.float32))
    Path("waivers.toml").write_text("", encoding="utf-8")
    Path("there").mkdir()
    Path("symbolic.onnx").symlink_to("m.onnx")
    os.link("m.onnx", "hard.onnx")
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


REFUSED = {
    "rewrite m.onnx -o m.onnx": f"the input 'm.onnx'; {FORCE}",
    "rewrite m.onnx -o there/../m.onnx": f"the input 'm.onnx'; {FORCE}",
    "rewrite m.onnx -o symbolic.onnx": f"the input 'm.onnx'; {FORCE}",
    "rewrite symbolic.onnx -o m.onnx": f"the input 'symbolic.onnx'; {FORCE}",
    "rewrite m.onnx -o hard.onnx": f"the input 'm.onnx'; {FORCE}",
    "rewrite m.onnx -o w": f"the model's external data; {OTHER}",
    "rewrite m.onnx --force -o w": f"the model's external data; {OTHER}",
    "rewrite m.onnx -o there/w": f"the model's external data; {OTHER}",
    "rewrite m.onnx --waivers waivers.toml -o waivers.toml": f"the input 'waivers.toml'; {OTHER}",
    "rewrite m.onnx -o e.onnx --waivers waivers.toml --record waivers.toml": (
        f"the input 'waivers.toml'; {OTHER}"
    ),
    "conform m.onnx -o m.onnx": f"the input 'm.onnx'; {FORCE}",
    "conform m.onnx -o w": f"the model's external data; {OTHER}",
    "conform m.onnx --verify --input x=x.npy -o x.npy": f"the input 'x.npy'; {OTHER}",
    "reduce m.onnx --refused --contract waivers.toml -o waivers.toml": (
        f"the input 'waivers.toml'; {OTHER}"
    ),
    "check m.onnx -o m.onnx": f"the input 'm.onnx'; {OTHER}",
    "check there/../m.onnx -o hard.onnx": f"the input 'there/../m.onnx'; {OTHER}",
    "check m.onnx -o w": f"the model's external data; {OTHER}",
    "check m.onnx --annotate m.onnx": f"the input 'm.onnx'; {OTHER}",
    "check there/../m.onnx --annotate hard.onnx": f"the input 'there/../m.onnx'; {OTHER}",
    "check m.onnx --annotate w": f"the model's external data; {OTHER}",
    "check m.onnx --annotate there/w": f"the model's external data; {OTHER}",
    "check m.onnx --waivers waivers.toml --annotate waivers.toml": (
        f"the input 'waivers.toml'; {OTHER}"
    ),
    "check m.onnx --waivers waivers.toml -o waivers.toml": f"the input 'waivers.toml'; {OTHER}",
    "check m.onnx --waivers waivers.toml --record waivers.toml": (
        f"the input 'waivers.toml'; {OTHER}"
    ),
    "reduce m.onnx --differs -o m.onnx": f"the input 'm.onnx'; {FORCE}",
    "reduce m.onnx --differs -o w": f"the model's external data; {OTHER}",
    "reduce m.onnx --differs --input x=x.npy -o x.npy": f"the input 'x.npy'; {OTHER}",
    "reduce m.onnx --differs --data . -o y.npy": f"the input 'y.npy'; {OTHER}",
    "run m.onnx --input x=y.npy --output-dir .": f"the input 'y.npy'; {OTHER}",
}


@pytest.mark.parametrize("line", REFUSED)
def test_output_that_is_an_input_is_refused(line: str, folder: Path) -> None:
    before = contents(folder)
    done = command(*line.split())
    name = "y.npy" if line.startswith("run") else line.rsplit(maxsplit=1)[-1]
    assert done.stderr == (
        f"sonnx-ort: '{name}' cannot be written: it would replace {REFUSED[line]}\n"
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert contents(folder) == before


@pytest.mark.parametrize(("options", "message"), [
    ("-o both --annotate both", "the report; give the annotated model another file"),
    ("--record both --annotate both", "the record; give the annotated model another file"),
])  # fmt: skip
def test_annotated_model_is_a_file_of_its_own(options: str, message: str) -> None:
    said = refusal("check", "m.onnx", *options.split())
    assert said == f"sonnx-ort: 'both' is also the file of {message}\n"
    assert not Path("both").exists()


def test_report_and_record_are_two_files() -> None:
    assert refusal("check", "m.onnx", "-o", "both.json", "--record", "both.json") == (
        "sonnx-ort: 'both.json' is also the file of the report; give the record another file\n"
    )


def test_record_by_another_name_of_the_model(folder: Path) -> None:
    before = contents(folder)
    assert refusal("rewrite", "m.onnx", "-o", "e.onnx", "--record", "hard.onnx") == (
        "sonnx-ort: 'hard.onnx' is a file of the model; give the record another file\n"
    )
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["rewrite", "conform"])
def test_model_is_replaced_by_force(name: str) -> None:
    shown = output(name, "m.onnx", "-o", "m.onnx", "--force", "--operators", "default")
    assert shown.splitlines()[-1].startswith("m.onnx: written")


def test_report_replaces_an_older_one() -> None:
    Path("report.txt").write_text("old", encoding="utf-8")
    done = command("check", "m.onnx", "broken", "-o", "report.txt", "--operators", "default")
    assert done.stderr == "sonnx-ort: broken: there is no file 'broken'\n"
    assert Path("report.txt").read_text(encoding="utf-8") != "old"
