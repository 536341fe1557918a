"""`sonnx-ort reduce`: the files that it writes, what it says, and its exit status."""

import shutil
import time
from pathlib import Path

import numpy as np
import onnx
import pytest

from support.command import command
from support.graphs import parse

TEXT = """(int32[2] x, float[2] f) => (int32[2] z) <int32[2] one = {1, 1}> {
    a = Add(x, one) c = Sub(a, one) [division] d = Div(one, c) z = Neg(d) }"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(parse(TEXT), tmp_path / "model.onnx")
    (tmp_path / "data").mkdir()
    np.save(tmp_path / "data" / "x.npy", np.array([3, 0], np.int32))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def reduce(*arguments: str) -> tuple[int, str, str]:
    done = command("reduce", "model.onnx", "-o", "small.onnx", *arguments)
    return done.returncode, done.stdout, done.stderr


SHOWS = ("--violates", "Div.int.C1", "--data", "data")


def test_model_and_its_inputs_are_written(folder: Path) -> None:
    status, output, error = reduce(*SHOWS)
    assert (status, error) == (0, "")
    assert output.splitlines() == [
        "small.onnx: written, with 1 of 4 nodes",
        "small.inputs: its inputs c",
        "it shows: Div.int.C1 in a run",
        "smaller models tried: 13",
        "next: sonnx-ort run small.onnx --input c=small.inputs/c.npy",
    ]
    small = onnx.load(folder / "small.onnx")
    onnx.checker.check_model(small)
    assert [node.name for node in small.graph.node] == ["division"]
    assert np.load(folder / "small.inputs" / "c.npy").tolist() == [3, 0]
    again = command("reduce", "small.onnx", "-o", "smaller.onnx", *SHOWS[:3], "small.inputs")
    assert again.returncode == 0


def test_inputs_of_the_line_replace_those_of_a_folder(folder: Path) -> None:
    np.save(folder / "given.npy", np.array([0, 5], np.int32))
    assert reduce(*SHOWS, "--input", "x=given.npy")[0] == 0
    assert np.load(folder / "small.inputs" / "c.npy").tolist() == [0]


def test_model_without_inputs_gets_no_folder_and_its_next_command_the_options(folder: Path) -> None:
    misfit = "(int32[2] x, int32[3] y) => (int32[?] z) { a = Neg(x) b = Neg(a) z = Div(b, y) }"
    onnx.save(parse(misfit), folder / "model.onnx")
    status, output, error = reduce("--violates", "Div", "--edition", "preliminary")
    assert (status, error) == (0, "")
    assert output.splitlines() == [
        "small.onnx: written, with 1 of 3 nodes",
        "it shows: Div.R1 in every run, Div.R4 in every run",
        "smaller models tried: 24",
        "next: sonnx-ort check small.onnx --edition preliminary",
    ]
    assert not (folder / "small.inputs").exists()


def test_model_is_replaced_by_force_and_an_empty_folder_is_taken(folder: Path) -> None:
    (folder / "model.inputs").mkdir()
    arguments = ("reduce", "model.onnx", "-o", "model.onnx", *SHOWS)
    assert command(*arguments).returncode == 2
    assert command(*arguments, "--force").returncode == 0
    assert len(onnx.load(folder / "model.onnx").graph.node) == 1
    assert [path.name for path in (folder / "model.inputs").iterdir()] == ["c.npy"]


def test_quiet_says_nothing(folder: Path) -> None:
    del folder
    assert reduce(*SHOWS, "--quiet") == (0, "", "")


def test_anonymous_model_has_no_name_of_the_original(folder: Path) -> None:
    status, output, _ = reduce(*SHOWS, "--anonymous")
    assert (status, "its names and texts are kept" in output) == (0, False)
    assert b"division" not in (folder / "small.onnx").read_bytes()
    assert [path.name for path in (folder / "small.inputs").iterdir()] == ["value2.npy"]


@pytest.mark.skipif(shutil.which("grep") is None, reason="there is no grep")
def test_names_that_the_thing_needs_are_kept_with_a_word(folder: Path) -> None:
    status, output, error = reduce("--check", "grep -q division {}", "--anonymous")
    assert (status, error) == (0, "")
    assert output.splitlines()[-1] == (
        "its names and texts are kept, because it does not show it without them"
    )
    assert b"division" in (folder / "small.onnx").read_bytes()


@pytest.mark.parametrize(("arguments", "told"), [
    ((), ("ask for one thing that the smaller model still has to show: --violates, --refused, "
          "--dies, --differs, --outside or --check")),
    (("--differs",), "the model does not show this; there is nothing to reduce"),
    (("--dies", "--data", "none"), "'none' cannot be read: No such file or directory"),
    (("--dies", "--data", "sets"), "'sets' has 2 samples; name the folder of one: a, b"),
    (("--dies", "-o", "model.onnx"), "'model.onnx' cannot be written: it would replace the "),
    (("--dies", "-o", "none/small.onnx"), "'none/small.onnx' cannot be written: there is no "),
    (("--dies", "-o", "full.onnx"), "the folder of its inputs, 'full.inputs', is not empty; "),
    (("--dies", "-o", "data.onnx"), "the folder of its inputs, 'data.inputs', is not empty; "),
], ids=" ".join)  # fmt: skip
def test_unusable_arguments(folder: Path, arguments: tuple[str, ...], told: str) -> None:
    for name in ("sets/a", "sets/b", "full.inputs"):
        (folder / name).mkdir(parents=True)
        np.save(folder / name / "x.npy", np.array([3, 0], np.int32))
    (folder / "data.inputs").touch()
    status, output, error = reduce(*arguments)
    assert (status, output) == (2, "")
    assert error.startswith(f"sonnx-ort: {told}")
    assert not (folder / "small.onnx").exists()


END = "end what it quotes, as in grep -q 'two words' {}"


@pytest.mark.parametrize(("line", "said"), [
    ('grep -q "Abs', f'cannot be read: no closing quotation: grep -q "Abs; {END}'),
    ("echo \\", f"cannot be read: no escaped character: echo \\; {END}"),
    ("", "is empty; give one, such as python fails.py {}"),
    ("  ", "is empty; give one, such as python fails.py {}"),
])  # fmt: skip
def test_command_that_cannot_be_read_is_refused(folder: Path, line: str, said: str) -> None:
    status, shown, error = reduce("--check", line)
    assert (status, shown, error) == (2, "", f"sonnx-ort: the command of --check {said}\n")
    assert not (folder / "small.onnx").exists()


@pytest.mark.thorough
def test_command_that_starts_others_ends_with_them(folder: Path) -> None:
    started = time.monotonic()
    line = "sh -c 'sleep 300; true'"
    status, _, error = reduce("--check", line, "--time-limit", "10")
    assert (status, error.startswith("sonnx-ort: the model does not show")) == (2, True)
    assert time.monotonic() - started < 200
    assert not (folder / "small.onnx").exists()
