"""`sonnx-ort check` of several models, on terminals and quietly; completion and help."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import onnx
import pytest

from support.command import command, refusal
from support.forks import ForkedPython, run
from support.graphs import binary_model


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "models").mkdir()
    onnx.save(binary_model("Div", "float", [3], [3]), tmp_path / "models/kept.onnx")
    onnx.save(binary_model("Div", "float", ["n"], ["m"]), tmp_path / "models/open.onnx")
    onnx.save(binary_model("Div", "float", [3], [1]), tmp_path / "broken.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("arguments", "status"), [
    (["models"], 0),
    (["models", "--fail-on", "runtime"], 1),
    (["models", "broken.onnx"], 1),
    (["broken.onnx", "none.onnx", "models"], 2),
    (["models", "none.onnx"], 2),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("report_format", ["text", "json", "sarif", "junit"])
def test_exit_status(folder: Path, arguments: list[str], status: int, report_format: str) -> None:
    del folder
    done = command("check", "--operators", "default", *arguments, "--format", report_format)
    assert done.returncode == status
    unusable = "sonnx-ort: none.onnx: there is no file 'none.onnx'\n"
    assert done.stderr == (unusable if "none.onnx" in arguments else "")


TOLD_OF_BOTH = """\
sonnx-ort: none.onnx: there is no file 'none.onnx'
sonnx-ort: 'w.toml', entry 1: the waiver of Div.float.R1 at node 'other' matches no violation: \
no such node has this rule; correct or remove the waiver
"""


@pytest.mark.parametrize(("names", "said"), [
    (["none.onnx"], "sonnx-ort: there is no file 'none.onnx'\n"),
    (["none.onnx", "broken.onnx"], TOLD_OF_BOTH),
], ids=["alone", "together"])  # fmt: skip
def test_unusable_model_is_told_of_before_its_waiver(
    folder: Path, names: list[str], said: str
) -> None:
    fields = 'rule = "Div.float.R1"\nnode = "other"\nreason = "r"\nwho = "w"\nuntil = 9999-12-31'
    (folder / "w.toml").write_text(f"[[waiver]]\n{fields}\n", encoding="utf-8")
    done = command("check", "--operators", "default", *names, "--waivers", "w.toml")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)


OTHER_NUMBER = """\
sonnx-ort: 'w.toml', entry 1: the waiver of Div.float.R1 at nodes of Div matches 2 violations, but \
its 'count' is 3: Div 'the_node', Div 'the_node'; review them, and correct the waiver or the model
"""


@pytest.mark.parametrize(("count", "status", "said"), [(2, 0, ""), (3, 2, OTHER_NUMBER)])
def test_waiver_of_many_nodes_counts_those_of_all_models(
    folder: Path, count: int, status: int, said: str
) -> None:
    onnx.save(binary_model("Div", "float", [4], [1]), folder / "models/broken.onnx")
    fields = f'rule = "Div.float.R1"\noperator = "Div"\ncount = {count}\n'
    fields += 'reason = "r"\nwho = "w"\nuntil = 9999-12-31'
    (folder / "w.toml").write_text(f"[[waiver]]\n{fields}\n", encoding="utf-8")
    done = command(
        "check", "--operators", "default", "broken.onnx", "models", "--waivers", "w.toml", "--quiet"
    )
    assert (done.returncode, done.stdout, done.stderr) == (status, "", said)


def test_whole_text_has_each_model_under_its_name(folder: Path) -> None:
    del folder
    done = command("check", "--operators", "default", "broken.onnx", "none.onnx", "models", "-v")
    alone = command("check", "--operators", "default", "broken.onnx", "-v").stdout
    assert done.stdout.startswith(f"== broken.onnx\n{alone}\n\n== none.onnx\n")
    names = [line for line in done.stdout.splitlines() if line.startswith("== ")]
    assert names == [
        "== broken.onnx",
        "== none.onnx",
        f"== {Path('models/kept.onnx')}",
        f"== {Path('models/open.onnx')}",
    ]
    assert "cannot be used: there is no file 'none.onnx'" in done.stdout


def test_folder_of_one_model_is_a_list_of_one(folder: Path) -> None:
    (folder / "models/open.onnx").unlink()
    document = json.loads(
        command("check", "--operators", "default", "models", "--format", "json").stdout
    )
    assert [model["name"] for model in document["models"]] == [str(Path("models/kept.onnx"))]


def test_one_document_for_all(folder: Path) -> None:
    done = command(
        "check",
        "--operators",
        "default",
        "models",
        "broken.onnx",
        "-o",
        folder / "r.xml",
        "--format",
        "junit",
    )
    assert done.stdout == f"{folder / 'r.xml'}: written\n"
    root = ET.parse(folder / "r.xml").getroot()  # noqa: S314 - our own document
    assert [suite.attrib["failures"] for suite in root] == ["0", "0", "1"]


@pytest.mark.parametrize(("name", "status"), [("models/kept.onnx", 0), ("broken.onnx", 1)])
def test_quiet_check_says_it_by_its_status_alone(folder: Path, name: str, status: int) -> None:
    done = command("check", "--operators", "default", name, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (status, "", "")
    assert command("check", "--operators", "default", name, "-q", "-o", "report.txt").stdout == ""
    assert (folder / "report.txt").stat().st_size > 0


def test_quiet_still_says_what_is_unusable(folder: Path) -> None:
    del folder
    said = refusal("check", "--operators", "default", "none.onnx", "--quiet")
    assert said == "sonnx-ort: there is no file 'none.onnx'\n"


def test_quiet_rewrite_and_run(folder: Path) -> None:
    done = command("rewrite", "models/kept.onnx", "-o", "enforced.onnx", "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (folder / "enforced.onnx").exists()


def _process(
    *arguments: str, stdin: bytes = b"", **variables: str
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "sonnx_ort", *arguments]
    return run(command, stdin, env=os.environ | variables)


def test_model_on_standard_input(folder: Path) -> None:
    content = (folder / "broken.onnx").read_bytes()
    done = _process("check", "--operators", "default", "-", "--format", "json", stdin=content)
    assert (done.returncode, done.stderr) == (1, b"")
    assert json.loads(done.stdout)["counts"] == {"proved": 2, "runtime": 0, "violated": 1}


@pytest.mark.parametrize("option", ["--record", "--annotate"])
def test_model_on_standard_input_is_no_file_to_write_of(folder: Path, option: str) -> None:
    content = (folder / "broken.onnx").read_bytes()
    done = _process("check", "-", option, "new", stdin=content)
    said = f"sonnx-ort: {option} needs exactly one model, given as a file\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", said)


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo terminals")
@pytest.mark.parametrize(
    ("variables", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colours_are_for_terminals_that_want_them(
    folder: Path, variables: dict[str, str], coloured: bool
) -> None:
    del folder
    import pty  # noqa: PLC0415 - there is none on Windows

    master, slave = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    with ForkedPython(
        [sys.executable, "-m", "sonnx_ort", "check", "broken.onnx"],
        stdout=slave,
        stderr=subprocess.PIPE,
        env=kept | {"TERM": "xterm-256color"} | variables,
    ) as process:
        os.close(slave)
        written = b""
        while chunk := _read(master):
            written += chunk
        process.wait(timeout=120)
    os.close(master)
    text = written.decode()
    assert "broken.onnx: violated" in text
    assert ("\x1b[1;31mbroken.onnx: violated" in text) == coloured
    assert ("\x1b" in text) == coloured


def test_colours_can_be_asked_for_where_there_is_no_terminal(folder: Path) -> None:
    del folder
    done = _process("check", "broken.onnx", FORCE_COLOR="1", TERM="xterm", NO_COLOR="")
    assert b"\x1b[1;31mbroken.onnx: violated" in done.stdout


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:
        # This is how a terminal ends where nothing has the other side open.
        return b""


@pytest.mark.parametrize(("words", "position", "expected"), [
    ("sonnx-ort ", 1, {"check", "explain", "rewrite", "run", "demo"}),
    ("sonnx-ort ch", 1, {"check"}),
    ("sonnx-ort check --fo", 2, {"--format"}),
    ("sonnx-ort check --format ", 3, {"text", "json", "sarif", "junit"}),
])  # fmt: skip
def test_bash_completes(words: str, position: int, expected: set[str]) -> None:
    name = f"_{Path(sys.executable).with_name('sonnx-ort').name}_COMPLETE"
    done = subprocess.run(
        [Path(sys.executable).with_name("sonnx-ort")],
        capture_output=True,
        check=False,
        encoding="utf-8",
        env=os.environ
        | {
            name.replace("-", "_").upper(): "complete_bash",
            "COMP_WORDS": words,
            "COMP_CWORD": str(position),
        },
        timeout=120,
    )
    assert set(done.stdout.split()) >= expected


@pytest.mark.parametrize("name", ["check", "explain", "rewrite", "run", "diff", "demo"])
def test_help_has_examples(name: str) -> None:
    done = command(name, "--help")
    assert done.returncode == 0
    examples = done.stdout[done.stdout.index("Examples:") :]
    assert f"sonnx-ort {name} " in examples or f"sonnx-ort {name}\n" in examples


def test_model_on_standard_input_is_read_beside_others_at_once(folder: Path) -> None:
    line = ["check", "-", "models/kept.onnx", "--operators", "default", "--jobs", "2"]
    content = (folder / "broken.onnx").read_bytes()
    done = run([sys.executable, "-m", "sonnx_ort", *line], content)
    assert (done.returncode, done.stderr) == (1, b"")
    verdicts = [text.split()[:2] for text in done.stdout.decode().splitlines()[:2]]
    assert verdicts == [["-", "violated"], ["models/kept.onnx", "kept"]]
