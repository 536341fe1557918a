"""Every option that names a file to write takes a pipe or a device, and leaves it there."""

import json
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from support.command import command, refusal
from support.forks import run
from support.graphs import parse

MODEL = "(float[n] x) => (float[n] y) { [divide] y = Div(x, x) }"

OPTIONS = [
    "rewrite m.onnx -o {}",
    "rewrite m.onnx -o e.onnx --record {}",
    "rewrite m.onnx --backend native -o e.onnx --certificate {}",
    "conform m.onnx -o {}",
    "certify m.onnx -o {}",
    "check m.onnx --format json -o {}",
    "check m.onnx --format html -o {}",
    "check m.onnx --record {}",
    "check m.onnx --quiet --annotate {}",
    "audit m.onnx -o {}",
    "audit m.onnx --record {}",
]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(parse(MODEL), "m.onnx")


def through_pipe(line: str, name: str = "pipe") -> tuple[subprocess.CompletedProcess[str], bytes]:
    """Run a command that writes to a pipe, and read it."""
    os.mkfifo(name)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(Path(name).read_bytes()), daemon=True)
    reader.start()
    done = command(*line.split())
    reader.join(timeout=10)
    assert stat.S_ISFIFO(Path(name).stat().st_mode)
    return done, b"".join(read)


@pytest.mark.parametrize("line", OPTIONS)
def test_pipe_is_written_through(line: str) -> None:
    through, content = through_pipe(line.format("pipe"))
    beside = command(*line.format("file").split())
    assert (through.returncode, through.stderr) == (beside.returncode, beside.stderr)
    assert len(content) == pytest.approx(Path("file").stat().st_size, abs=200)


REPORTS = ["check m.onnx --format html -o r", "check m.onnx -o r", "audit m.onnx -o r"]


@pytest.mark.parametrize("line", REPORTS)
def test_report_in_a_file_is_told(line: str) -> None:
    told = command(*line.split())
    assert (told.stdout, told.stderr) == ("r: written\n", "")
    written = Path("r").stat().st_size
    Path("r").unlink()
    quiet = command(*line.split(), "--quiet")
    assert (quiet.stdout, quiet.stderr) == ("", "")
    assert Path("r").stat().st_size == pytest.approx(written, abs=200)


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="there is no device that is full")
@pytest.mark.parametrize("line", OPTIONS)
def test_full_device_is_told_and_stays(line: str) -> None:
    said = refusal(*line.format("/dev/full").split())
    assert "'/dev/full' cannot be written: No space left on device" in said
    assert stat.S_ISCHR(Path("/dev/full").stat().st_mode)
    assert sorted(path.name for path in Path().iterdir()) == ["m.onnx"]


@pytest.mark.parametrize(("line", "work"), [
    ("audit m.onnx -o {}", "sonnx_ort.cli.comparing.audit_model"),
    ("audit m.onnx --record {}", "sonnx_ort.cli.comparing.audit_model"),
    ("certify m.onnx -o {}", "sonnx_ort.api.files.certify"),
    ("check m.onnx -o {}", "sonnx_ort.cli.check.check_models"),
    ("check m.onnx --record {}", "sonnx_ort.cli.check.check_models"),
    ("check m.onnx --annotate {}", "sonnx_ort.cli.check.check_models"),
    ("contract m.onnx -o {}", "sonnx_ort.samples.propose_contract"),
    ("reduce m.onnx --dies -o {}", "sonnx_ort.runs.reduce.reduction.reduce"),
    ("self-check -o {}", "sonnx_ort.cli.explaining.check_installation"),
])  # fmt: skip
def test_place_that_cannot_be_written_is_told_before_the_work(
    monkeypatch: pytest.MonkeyPatch, line: str, work: str
) -> None:
    monkeypatch.setattr(work, None)
    said = refusal(*line.format("none/file").split())
    assert said == "sonnx-ort: 'none/file' cannot be written: there is no folder 'none'\n"


def test_outputs_of_a_run_are_written_through() -> None:
    np.save("x.npy", np.float32([1, 2]))
    Path("outputs").mkdir()
    _, content = through_pipe("run m.onnx --input x=x.npy --output-dir outputs", "outputs/y.npy")
    command("run", "m.onnx", "--input", "x=x.npy", "--output-dir", "others")
    assert content == Path("others/y.npy").read_bytes()


def test_failed_write_leaves_no_part_of_an_output(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(file: object, array: object, **options: object) -> None:
        del array, options
        file.write(b"a part")  # type: ignore[attr-defined]
        raise OSError(28, "No space left on device")

    np.save("x.npy", np.float32([1, 2]))
    monkeypatch.setattr(np, "save", fail)
    for line in ("run m.onnx --input x=x.npy --output-dir o", "audit m.onnx --save-values o"):
        assert refusal(*line.split()).endswith("No space left on device\n")
        assert list(Path("o").iterdir()) == []


def test_nothing_is_written_beside_a_device() -> None:
    model = parse("(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Div(x, w) }")
    model.graph.initializer[0].CopyFrom(numpy_helper.from_array(np.ones(2, np.float32), "w"))
    onnx.save(model, "m.onnx", save_as_external_data=True, location="weights", size_threshold=0)
    done, content = through_pipe("rewrite m.onnx -o there/pipe", _made("there/pipe"))
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in Path("there").iterdir()] == ["pipe"]
    (weights,) = onnx.load_model_from_string(content).graph.initializer
    assert weights.external_data[0].value == "weights"


def _made(path: str) -> str:
    Path(path).parent.mkdir()
    return path


@pytest.mark.parametrize("line", ["rewrite m.onnx -o {}", "conform m.onnx -o {}"])
def test_model_on_standard_output_is_alone_there(line: str) -> None:
    done = process(*line.format("/dev/stdout").split())
    assert done.returncode == 0
    assert onnx.load_model_from_string(done.stdout).graph.node
    assert b"/dev/stdout: written" in done.stderr


POOL = """(float[1,1,4,4] x) => (float[1,1,2,2] y) {
    y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"""


def test_model_that_violates_something_still_is_alone_on_standard_output() -> None:
    onnx.save(parse(POOL), "m.onnx")
    done = process("conform", "m.onnx", "-o", "/dev/stdout")
    (node,) = onnx.load_model_from_string(done.stdout).graph.node
    assert (done.returncode, node.op_type) == (1, "MaxPool")
    assert done.stderr.splitlines()[-1].startswith(b"next: sonnx-ort conform m.onnx -o ")


@pytest.mark.parametrize(("line", "key"), [
    ("certify m.onnx -o {}", "obligations"),
    ("rewrite m.onnx -o e.onnx --backend native --certificate {}", "obligations"),
    ("rewrite m.onnx -o e.onnx --record {}", "declarations"),
])  # fmt: skip
def test_certificate_or_record_on_standard_output_is_alone_there(line: str, key: str) -> None:
    done = process(*line.format("/dev/stdout").split())
    assert json.loads(done.stdout)[key]
    assert b"/dev/stdout: written" in done.stderr
    following = [told for told in done.stderr.splitlines() if told.startswith(b"next: ")]
    assert not [told for told in following if b"/dev/stdout" in told]


@pytest.mark.skipif(not os.access("/dev/full", os.W_OK), reason="there is no device that is full")
@pytest.mark.parametrize("line", ["check m.onnx", "explain Div", "rewrite m.onnx -o e.onnx"])
def test_full_standard_output_is_no_violation(line: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = process(*line.split(), stdout=full)
    assert done.returncode == 2
    assert done.stderr == (
        b"sonnx-ort: a file or standard output cannot be used: [Errno 28] No space left on device\n"
    )


def test_reader_that_goes_away_is_no_violation() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as pipe:
        assert process("check", "m.onnx", stdout=pipe).returncode == 2


def process(
    *arguments: str, stdout: object = subprocess.PIPE
) -> subprocess.CompletedProcess[bytes]:
    """Run the command in a process of its own, which has its own standard output."""
    return run([sys.executable, "-m", "sonnx_ort", *arguments], stdout=stdout)


@pytest.mark.parametrize("line", [
    "rewrite m.onnx -o {}", "rewrite m.onnx --backend native -o {}", "conform m.onnx -o {}",
])  # fmt: skip
def test_dash_is_standard_output_of_a_model(line: str) -> None:
    done = run([sys.executable, "-m", "sonnx_ort", *line.format("-").split()])
    command(*line.format("file").split())
    assert done.stdout == Path("file").read_bytes()
    assert b"-: written" in done.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["file", "m.onnx"]


@pytest.mark.parametrize("line", ["certify m.onnx -o {}", "contract m.onnx -o {}"])
def test_dash_is_standard_output_of_a_text(line: str) -> None:
    done = command(*line.format("-").split())
    command(*line.format("file").split())
    assert done.stdout == Path("file").read_text()
    assert "-: written" in done.stderr
    assert sorted(path.name for path in Path().iterdir()) == ["file", "m.onnx"]


@pytest.mark.parametrize(("line", "said"), [
    ("reduce m.onnx -o - --violates Div",
     "no folder of inputs can be written beside '-'; name a file to write"),
    ("reduce m.onnx -o /dev/null --violates Div",
     "no folder of inputs can be written beside '/dev/null'; name a file to write"),
    ("suite -o - --operators Shape", "'-' is standard output, and no folder; name a new folder"),
])  # fmt: skip
def test_dash_is_refused_where_more_than_a_file_is_written(line: str, said: str) -> None:
    assert refusal(*line.split()) == f"sonnx-ort: {said}\n"
    assert sorted(path.name for path in Path().iterdir()) == ["m.onnx"]
