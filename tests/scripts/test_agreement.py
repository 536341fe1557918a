"""The group's models, C code and test data are compared with the profile and the oracle."""

import json
import re

import agreement
import pytest
from environment import captured

from support.graphs import binary_model

HEADER = """
#include <math.h>
struct tensor { int rank; int *sizes; double *elements; };
"""
CODE = {
    "add": "void ctensor_add(T a, T b, T r) { EACH R = A + B; }",
    "mul": "void ctensor_mul(T a, T b, T r) { EACH R = A + B; }",
    "relu": "void ctensor_relu(T x, T r) { *(volatile int *)0 = 0; }",
    "tanh": "void ctensor_tanh(T a, T r) { EACH R = unknown(A); }",
}
SHORT = {
    "T ": "struct tensor ",
    "EACH": "for (int i = 0; i < r.sizes[0]; ++i)",
    **{name: f"{name.lower()}.elements[i]" for name in "ABR"},
}


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@b")
    return captured(["git", *identity, "-C", folder, *arguments], check=True).stdout.strip()


def write(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    """A clone of a repository with a good and a bad model, four functions and two cases of Clip."""
    profile = tmp_path / "safety-related-profile"
    for name, code in CODE.items():
        folder = profile / "sonnx/ops/code" / name / "generated_code/c_code"
        content = HEADER + re.sub("|".join(SHORT), lambda found: SHORT[found[0]], code)
        write(folder / f"ctensor{name}.c", content)
        write(folder / "README.md", "")
    write(profile / "sonnx/ops/code/add_int/generated_code/c_code/ctensoradd.c", "int add;")
    write(profile / "good.onnx", binary_model("Div", "float", [2], [2]).SerializeToString())
    write(profile / "same.onnx", binary_model("Div", "float", [2], [2]).SerializeToString())
    write(profile / "bad.onnx", binary_model("Div", "float", [2], [1]).SerializeToString())
    write(profile / "none.onnx", b"no model")
    clips = {
        "size_input_axis": [[2, 3], [4]],
        "l_tensor": [[-1.0, "float32"], [3, "int16"]],
        "m_tensor": [[2.0, "float32"], [4, "int16"]],
    }
    write(tmp_path / agreement._CLIPS, json.dumps(clips))
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "--message=Add it")
    monkeypatch.setattr(agreement, "_COMMIT", git(tmp_path, "rev-parse", "HEAD"))
    functions = tuple(f for f in agreement.FUNCTIONS if f.folder in CODE)
    monkeypatch.setattr(agreement, "FUNCTIONS", functions)
    return tmp_path


def test_table_says_of_each_what_was_seen(checkout, capsys):
    assert agreement.run(["--against", str(checkout)]) == 0
    lines = capsys.readouterr().out.splitlines()
    rows = dict(
        line.removeprefix("| ").split(" | ", 1) for line in lines[2:-1] if "C code" not in line
    )
    functions = [line.split(" | ")[1:] for line in lines if "C code" in line]
    assert lines[-1] == "3 of 9 agree"
    assert rows["test data"] == (
        "`clip` | yes | 1 cases, 3 runs: 0 with other results; "
        "1 cases of types without a kernel of ONNX Runtime: int16 |"
    )
    assert functions == [
        ["`add`", "yes", "exact, 100 elements |"],
        [
            "`mul`",
            "**no**",
            "outside, 100 elements: 1.7e+308 for -1.7e+308 at A = 1.7e+308, B = -1 |",
        ],
        ["`relu`", "**no**", "the process dies in the call |"],
        ["`tanh`", "**no**", "does not compile: it calls `unknown`, which it does not declare |"],
        ["`add_int`", "**no**", "not compared yet |"],
    ]
    models = [line for line in lines if line.startswith("| model")]
    assert [line.split(" | ")[1:3] for line in models] == [
        ["`bad.onnx`", "**no**"],
        ["`good.onnx`", "yes"],
        ["`none.onnx`", "**no**"],
    ]
    assert "violates `Div.float.R1`" in models[0]


def test_table_is_written_between_the_marks_of_a_page(checkout, tmp_path, monkeypatch):
    monkeypatch.setattr(agreement, "FUNCTIONS", ())
    page = tmp_path / "page.md"
    page.write_text(
        "Before\n<!-- table -->\nold\n<!-- end of the table -->\nafter\n", encoding="utf-8"
    )
    assert agreement.run(["--against", str(checkout), "--record", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert text.startswith("Before\n<!-- table -->\n| what | name |")
    assert text.endswith(" |\n<!-- end of the table -->\nafter\n")
    assert "old" not in text


def test_clone_without_the_commit_is_an_error(tmp_path, capsys):
    git(tmp_path, "init", "--quiet")
    assert agreement.run(["--against", str(tmp_path)]) == 2
    assert capsys.readouterr().err.startswith(f"error: {tmp_path}: fatal: ")
