"""What to do about a report, in the words of the command."""

import pytest

import sonnx_ort
from sonnx_ort.reporting.remedies import in_commands, next_command
from support.checks import mendable
from support.graphs import binary_model, parse

BROADCAST = binary_model("Div", "float", [3], [1], c_shape=[3])
MISFIT = binary_model("Div", "float", [3], [4])
OPEN = binary_model("Div", "float", ["n"], ["m"], c_shape=["n"])
NONE = parse("(float[2] x) => (float[2] y) { y = Relu(x) }")


@pytest.mark.parametrize(
    ("remedy", "said"),
    [
        ('rewrite with broadcast="explicit"', "rewrite with --broadcast explicit"),
        ("rewrite with make_explicit=True", "rewrite with --make-explicit"),
        ("count the axis from the front", "count the axis from the front"),
    ],
)
def test_options_of_functions_become_those_of_the_command(remedy: str, said: str) -> None:
    assert in_commands(remedy) == said


@pytest.mark.parametrize(
    ("model", "options", "command"),
    [
        (BROADCAST, {}, "rewrite m.onnx -o m.enforced.onnx --broadcast explicit"),
        (
            BROADCAST,
            {"edition": "preliminary", "operators": "elementwise"},
            (
                "rewrite m.onnx -o m.enforced.onnx --edition preliminary --broadcast explicit "
                "--operators elementwise"
            ),
        ),
        (mendable(), {"operators": "profile"}, "conform m.onnx -o m.conforming.onnx"),
        (MISFIT, {}, "explain Div.float.R1"),
        (OPEN, {}, "rewrite m.onnx -o m.enforced.onnx"),
        (OPEN, {"operators": "Div"}, "rewrite m.onnx -o m.enforced.onnx --operators Div"),
        (NONE, {}, "check m.onnx --operators profile"),
        (
            mendable(),
            {"operators": "Concat,Softmax"},
            "conform m.onnx -o m.conforming.onnx --operators Concat,Softmax",
        ),
    ],
)
def test_next_command_fits_the_report(model, options: dict[str, str], command: str) -> None:
    assert (
        next_command(sonnx_ort.check(model, **{"operators": "default", **options}), "m.onnx")
        == f"sonnx-ort {command}"
    )


@pytest.mark.parametrize(
    ("name", "shown"), [("my models/a.onnx", "'my models/a.onnx'"), ("-", "model.onnx")]
)
def test_names_of_files_can_be_typed(name: str, shown: str) -> None:
    command = next_command(sonnx_ort.check(OPEN, operators="default"), name)
    assert command.startswith(f"sonnx-ort rewrite {shown} -o ")
