"""What to do about a report, in the words of the command."""

import onnx
import pytest

import sonnx_ort
from sonnx_ort.cli.application import COMMANDS, load
from sonnx_ort.reporting.formats import ReportFormat
from sonnx_ort.reporting.verdict import OPTIONS, in_commands, next_command
from support.checks import mendable
from support.command import command
from support.graphs import binary_model, parse

BROADCAST = binary_model("Div", "float", [3], [1], c_shape=[3])
MISFIT = binary_model("Div", "float", [3], [4])
OPEN = binary_model("Div", "float", ["n"], ["m"], c_shape=["n"])
NONE = parse("(float[2] x) => (float[2] y) { y = Relu(x) }")


@pytest.mark.parametrize(("remedy", "said"), [
    ('rewrite with broadcast="explicit"', "rewrite with --broadcast explicit"),
    ("rewrite with make_explicit=True", "rewrite with --make-explicit"),
    ("exclude some rules with ignore=", "exclude some rules with --ignore"),
    ("give it with inputs=, or not at all", "give it with --input, or not at all"),
    ("count the axis from the front", "count the axis from the front"),
    ("the attribute broadcast=1 requests it", "the attribute broadcast=1 requests it"),
])  # fmt: skip
def test_options_of_functions_become_those_of_the_command(remedy: str, said: str) -> None:
    assert in_commands(remedy) == said


@pytest.mark.parametrize("function", OPTIONS)
def test_each_option_of_a_function_is_one_of_the_command(function: str) -> None:
    commands = map(load, COMMANDS)
    assert OPTIONS[function] in {o for command in commands for p in command.params for o in p.opts}


@pytest.mark.parametrize("report_format", sorted({*ReportFormat} - {ReportFormat.OVERLAY}))
def test_every_format_of_the_command_names_its_options(report_format, tmp_path) -> None:
    omitted = "(float[2, 3] x, float[3] y) => (float[2, 3] z) { a = Div(x, y) z = Softmax(a) }"
    onnx.save(parse(omitted), tmp_path / "model.onnx")
    options = ["--operators", "profile", "--format", report_format]
    written = command("check", tmp_path / "model.onnx", *options).stdout
    assert "--broadcast explicit" in written
    assert "--make-explicit" in written
    assert "make_explicit=True" not in written


def test_errors_of_the_command_name_its_options(tmp_path) -> None:
    onnx.save(BROADCAST, tmp_path / "model.onnx")
    error = command("rewrite", tmp_path / "model.onnx", "-o", tmp_path / "out.onnx").stderr
    assert "to fix it: rewrite with --broadcast explicit, which inserts a Broadcast" in error


def test_explanations_of_the_command_name_its_options() -> None:
    assert "rewrite with --make-explicit, which writes" in command("explain", "GR2").stdout


def test_functions_name_their_own_options() -> None:
    assert 'rewrite with broadcast="explicit", which' in str(
        sonnx_ort.check(BROADCAST).violations[0]
    )


@pytest.mark.parametrize(("model", "options", "next_one"), [
    (BROADCAST, {}, "rewrite m.onnx -o m.enforced.onnx --broadcast explicit"),
    (BROADCAST, {"edition": "preliminary", "operators": "elementwise"},
     ("rewrite m.onnx -o m.enforced.onnx --edition preliminary --broadcast explicit --operators "
      "elementwise")),
    (mendable(), {"operators": "profile"}, "conform m.onnx -o m.conforming.onnx"),
    (MISFIT, {}, "explain Div.float.R1"),
    (OPEN, {}, "rewrite m.onnx -o m.enforced.onnx"),
    (OPEN, {"operators": "Div"}, "rewrite m.onnx -o m.enforced.onnx --operators Div"),
    (NONE, {}, "check m.onnx --operators profile"),
    (mendable(), {"operators": "Concat,Softmax"},
     "conform m.onnx -o m.conforming.onnx --operators Concat,Softmax"),
])  # fmt: skip
def test_next_command_fits_the_report(model, options: dict[str, str], next_one: str) -> None:
    report = sonnx_ort.check(model, **{"operators": "default", **options})
    assert next_command(report, "m.onnx") == f"sonnx-ort {next_one}"


@pytest.mark.parametrize(
    ("name", "shown"), [("my models/a.onnx", "'my models/a.onnx'"), ("-", "model.onnx")]
)
def test_names_of_files_can_be_typed(name: str, shown: str) -> None:
    command = next_command(sonnx_ort.check(OPEN, operators="default"), name)
    assert command.startswith(f"sonnx-ort rewrite {shown} -o ")
