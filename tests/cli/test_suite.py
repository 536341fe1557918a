"""`sonnx-ort suite`: writing, running, exit status."""

import json
from pathlib import Path
from typing import Any

import pytest

from support.child import run_python
from support.command import command, output, refusal


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_vectors_are_written_and_an_engine_runs_them(folder: Path) -> None:
    shown = output("suite", "-o", "vectors", "--operators", "Shape,Flatten", "--seed", "3")
    count = len(json.loads((folder / "vectors" / "manifest.json").read_text("utf-8"))["cases"])
    assert shown == f"{count} cases in 'vectors'\nnext: sonnx-ort suite --run vectors\n"
    run = command("suite", "--run", "vectors", "--engine", "sonnx_ort")
    assert run.returncode == 0
    assert run.stdout.splitlines()[-1] == f"| all | {count} | {count} |  |  |  |  |  |"


def manifest(name: str, *options: str) -> dict[str, Any]:
    """What the suite of some operators says of itself, once it is written."""
    output("suite", "-o", name, *options)
    found: dict[str, Any] = json.loads(Path(name, "manifest.json").read_text("utf-8"))
    return found


def test_seed_chooses_the_random_elements(folder: Path) -> None:
    del folder
    one, other, same = (
        manifest(name, "--operators", "Relu", "--seed", seed)
        for name, seed in (("a", "3"), ("b", "4"), ("c", "3"))
    )
    assert (one["seed"], other["seed"]) == (3, 4)
    assert one["cases"] == same["cases"] != other["cases"]


def test_edition_is_that_of_every_case(folder: Path) -> None:
    del folder
    made = manifest("made", "--operators", "Div", "--edition", "preliminary")
    assert {each["edition"] for each in made["cases"]} == {"preliminary"}


def test_operators_are_those_that_are_named_when_they_are_written_and_run(folder: Path) -> None:
    del folder
    made = manifest("made", "--operators", "Shape, Flatten")
    of_flatten = [each for each in made["cases"] if each["operator"] == "Flatten"]
    assert {each["operator"] for each in made["cases"]} == {"Flatten", "Shape"}
    run = command("suite", "--run", "made", "--engine", "sonnx_ort", "--operators", "Flatten")
    last = f"| all | {len(of_flatten)} | {len(of_flatten)} |  |  |  |  |  |"
    assert (run.returncode, run.stdout.splitlines()[-1]) == (0, last)


def test_engine_runs_the_vectors_of_an_archive(folder: Path) -> None:
    (folder / "there").mkdir()
    shown = output("suite", "-o", "there/vectors.zip", "--operators", "Shape")
    run = command("suite", "--run", "there/vectors.zip", "--engine", "sonnx_ort")
    assert shown == (
        f"{run.stdout.splitlines()[-1].split()[3]} cases in 'there/vectors.zip'\n"
        "next: sonnx-ort suite --run there/vectors.zip\n"
    )
    assert run.returncode == 0


def test_archive_in_a_folder_that_does_not_exist_is_refused(folder: Path) -> None:
    told = "'none/vectors.zip' cannot be written: there is no folder 'none'"
    assert refusal("suite", "-o", "none/vectors.zip", "--operators", "Shape") == (
        f"sonnx-ort: {told}\n"
    )
    assert not [*folder.iterdir()]


def test_case_that_is_not_right_is_listed_and_the_exit_status(folder: Path) -> None:
    del folder
    command("suite", "-o", "vectors", "--operators", "Neg")
    done = command("suite", "--run", "vectors", "-v")
    assert (done.returncode, done.stderr) == (1, "")
    assert "refused/neg_float_rg1_broken/0: computes what it should refuse: Neg.float.RG1: " in (
        done.stdout
    )


def test_what_needs_python_flint_is_left_out_with_a_word_where_it_is_not_installed() -> None:
    done = run_python("""
        import sys
        sys.modules["flint"] = None
        from sonnx_ort.cli import main
        sys.argv = ["sonnx-ort", "suite", "-o", "vectors", "--operators", "Exp,Pow"]
        main()
    """)
    assert (done.exit_status, done.stderr) == (0, "")
    first, second, _ = done.stdout.splitlines()
    assert first.endswith(" cases in 'vectors'")
    assert second == (
        "79 cases are not written, because their results need python-flint: Exp 46, Pow 33. To "
        "write them too: pip install python-flint"
    )


@pytest.mark.parametrize(("line", "message"), [
    ("", "give either -o FOLDER or --run FOLDER"),
    ("-o other --run vectors", "give either -o FOLDER or --run FOLDER"),
    ("-o other --operators Sub,div",
     "the profile has no rules for an operator 'div' (did you mean 'Div'?)"),
    ("-o other --operators sub,mul,add,div",
     "the profile has no rules for an operator 'add' (did you mean 'Add'?)"),
    ("--run vectors --engine tensorrt",
     ("there is no engine 'tensorrt'; the engines are onnxruntime, onnx.reference, sonnx_ort, "
      "sonnx_ort:python, sonnx_ort:native, sonnx_ort:compiled, onnxruntime:PROVIDER and "
      "module:Class")),
])  # fmt: skip
def test_unusable_arguments(folder: Path, line: str, message: str) -> None:
    command("suite", "-o", "vectors", "--operators", "Shape")
    assert refusal("suite", *line.split()) == f"sonnx-ort: {message}\n"
    assert not (folder / "other").exists()
