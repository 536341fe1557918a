"""No command and no function replaces a file that it reads."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import sonnx_ort
from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.cli.options import values_below
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
    for name in ("waivers.toml", "contract.toml", "sonnx-ort.toml"):
        Path(name).write_text("", encoding="utf-8")
    for name in ("there", "data", "values"):
        Path(name).mkdir()
    for name in ("data/x.npy", "values/y.npy"):
        np.save(name, np.ones(2, np.float32))
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
    "conform m.onnx --verify --input a=x=x.npy -o x.npy": f"the input 'x.npy'; {OTHER}",
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
    "run m.onnx --operators default --input x=y.npy --output-dir .": f"the input 'y.npy'; {OTHER}",
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
    ("-o both --annotate both", "the annotated model; give the report another file"),
    ("--record both --annotate both", "the annotated model; give the record another file"),
])  # fmt: skip
def test_annotated_model_is_a_file_of_its_own(options: str, message: str) -> None:
    said = refusal("check", "m.onnx", *options.split())
    assert said == f"sonnx-ort: 'both' is also the file of {message}\n"
    assert not Path("both").exists()


def test_report_and_record_are_two_files() -> None:
    assert refusal("check", "m.onnx", "-o", "both.json", "--record", "both.json") == (
        "sonnx-ort: 'both.json' is also the file of the report; give the record another file\n"
    )


def test_two_files_are_one_by_another_name_too() -> None:
    Path("other.json").write_text("{}", encoding="utf-8")
    Path("same.json").symlink_to("other.json")
    assert refusal("check", "m.onnx", "-o", "other.json", "--record", "same.json") == (
        "sonnx-ort: 'same.json' is also the file of the report; give the record another file\n"
    )


def test_record_by_another_name_of_the_model(folder: Path) -> None:
    before = contents(folder)
    assert refusal(
        "rewrite", "m.onnx", "-o", "e.onnx", "--record", "hard.onnx", "--operators", "default"
    ) == ("sonnx-ort: 'hard.onnx' is a file of the model; give the record another file\n")
    assert contents(folder) == before


@pytest.mark.parametrize("name", ["rewrite", "conform"])
def test_model_is_replaced_by_force(name: str) -> None:
    shown = output(name, "m.onnx", "-o", "m.onnx", "--force", "--operators", "default")
    assert "\nm.onnx: written" in f"\n{shown}"


def test_values_of_a_folder_have_three_endings_and_lie_below_it_as_well(folder: Path) -> None:
    for name in ("a.npz", "there/b.pb", "c.txt", "d.onnx"):
        (folder / "data" / name).parent.mkdir(exist_ok=True)
        (folder / "data" / name).touch()
    found = sorted(path.as_posix() for path in values_below(Path("data")))
    assert found == ["data/a.npz", "data/there/b.pb", "data/x.npy"]
    assert [*values_below(None)] == []


def test_file_beside_samples_is_no_input() -> None:
    for _ in range(2):
        done = command("contract", "m.onnx", "--data", "data", "-o", "data/envelope.toml")
        assert done.stderr == ""
    assert Path("data/envelope.toml").is_file()


def test_report_replaces_an_older_one() -> None:
    Path("report.txt").write_text("old", encoding="utf-8")
    done = command("check", "m.onnx", "broken", "-o", "report.txt", "--operators", "default")
    assert done.stderr == "sonnx-ort: broken: there is no file 'broken'\n"
    assert Path("report.txt").read_text(encoding="utf-8") != "old"


READ: Mapping[str, tuple[str, str]] = {
    "model": ("m.onnx", ""),
    "models": ("m.onnx", ""),
    "inputs": ("x.npy", "--input x=x.npy"),
    "assume": ("x.npy", "--assume x=x.npy"),
    "data": ("data/x.npy", "--data data"),
    "values": ("values/y.npy", "--values values"),
    "waivers": ("waivers.toml", "--waivers waivers.toml"),
    "contract": ("contract.toml", "--contract contract.toml"),
    "external data": ("w", ""),
    "settings": ("sonnx-ort.toml", ""),
}
"""A file that a command reads because of each parameter, and the option that names it."""

WRITTEN = {
    "output": "-o",
    "record": "--record",
    "certificate": "--certificate",
    "annotate": "--annotate",
}
"""The option of each parameter that names a file to write."""

LINES = {
    "rewrite": "rewrite m.onnx --operators default --backend native -o new.onnx",
    "check": "check m.onnx",
    "conform": "conform m.onnx -o new.onnx",
    "certify": "certify m.onnx",
    "audit": "audit m.onnx",
    "reduce": "reduce m.onnx --refused -o new.onnx",
    "contract": "contract m.onnx",
}
"""How each command is called that reads files and writes one."""

OTHER_PATHS = {
    "certify check", "certify enforced",  # then no file is written
    "verify model", "verify record", "repeat model", "repeat inputs", "repeat data",
    "repeat contract", "diff inputs", "diff data", "diff contract", "diff saved", "suite folder",
    "diff save", "audit save_values", "suite output",  # a new folder
    "check cache", "rewrite cache", "run cache",  # a folder for results alone
    "run model", "run inputs", "run waivers", "run contract", "run output_dir",  # as listed above
    "show file", "show output",  # see test_show.py
    "self-check output",  # it reads no file that is named
}  # fmt: skip
"""The other parameters that are paths: of commands that write no file, and folders to write."""


def parameters(name: str) -> dict[str, Any]:
    """The parameters of a command that name files or folders."""
    paths = ("FILE", "FOLDER", "FILE.npy", "RECORD")
    return {
        parameter.name: parameter
        for parameter in load(name).params
        if str(parameter.metavar).rpartition("=")[2] in paths
        or parameter.name in (*READ, *WRITTEN, "output_dir")
    }


def pairs() -> Iterator[tuple[str, str, str]]:
    for name in LINES:
        of_settings = any(each.name == "show_settings" for each in load(name).params)
        more = ["external data", *(["settings"] if of_settings else [])]
        read = [each for each in (*parameters(name), *more) if each in READ]
        written = [each for each in parameters(name) if each in WRITTEN]
        yield from ((name, one, other) for one in written for other in read)


def test_every_parameter_that_is_a_path_is_tried() -> None:
    tried = {f"{name} {each}" for name in LINES for each in (*READ, *WRITTEN)}
    there = {f"{name} {each}" for name in COMMANDS for each in parameters(name)}
    assert there - tried == OTHER_PATHS


@pytest.mark.parametrize(("name", "written", "read"), list(pairs()))
def test_no_output_of_a_command_is_a_file_that_it_reads(
    name: str, written: str, read: str, folder: Path
) -> None:
    before = contents(folder)
    file, option = READ[read]
    line = f"{LINES[name]} {option} {WRITTEN[written]} {file}"
    done = command(*line.split())
    assert (done.returncode, done.stdout) == (2, ""), line
    assert done.stderr.startswith(f"sonnx-ort: '{file}' "), line
    assert contents(folder) == before


@pytest.mark.parametrize(("kept", "line"), [
    ("m.onnx", "run y.npy --output-dir ."),
    ("contract.toml", "run m.onnx --output-dir . --contract y.npy"),
    ("waivers.toml", "run m.onnx --output-dir . --waivers y.npy"),
    ("w", "run there/m.onnx --output-dir there"),
])  # fmt: skip
def test_no_output_of_a_run_is_a_file_that_it_reads(kept: str, line: str, folder: Path) -> None:
    replaced = Path("there" if "there" in line else "", "y.npy")
    replaced.write_bytes(Path(kept).read_bytes())
    model = onnx.load("m.onnx", load_external_data=False)
    (place,) = (each for each in model.graph.initializer[0].external_data if each.value == "w")
    place.value = "y.npy"
    onnx.save(model, "there/m.onnx")
    before = contents(folder)
    said = refusal(*line.split(), "--operators", "default")
    start = f"sonnx-ort: '{replaced}' cannot be written: it would replace the input '{replaced}'"
    assert said == f"{start}; {OTHER}\n"
    assert contents(folder) == before


CALLS: Mapping[str, Any] = {
    "rewrite_file": lambda **given: sonnx_ort.rewrite_file(
        "m.onnx", **{"target": "new.onnx", "backend": "native", **given}
    ),
    "conform_file": lambda **given: sonnx_ort.conform_file(
        "m.onnx", **{"target": "new.onnx", **given}
    ),
    "check": lambda **given: sonnx_ort.check("m.onnx", **given),
}


FILES = ("m.onnx", "w", "contract.toml")


@pytest.mark.parametrize(("name", "written", "file"), [
    *(("rewrite_file", written, file)
      for written in ("target", "record", "certificate") for file in (*FILES, "waivers.toml")),
    *(("conform_file", "target", file) for file in FILES),
    *(("check", "record", file) for file in (*FILES, "waivers.toml")),
])  # fmt: skip
def test_no_output_of_a_function_is_a_file_that_it_reads(
    name: str, written: str, file: str, folder: Path
) -> None:
    before = contents(folder)
    options = {each.removesuffix(".toml"): each for each in ("contract.toml", "waivers.toml")}
    if name == "conform_file":
        del options["waivers"]
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        CALLS[name](**options, **{written: file})
    assert str(caught.value).startswith(f"'{file}' ")
    assert contents(folder) == before
