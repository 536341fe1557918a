"""What a type checker sees of the public interface."""

import sys
from pathlib import Path

import pytest

from support.child import run_program
from support.package_copy import PackageCopy

PROGRAM = """
from typing import assert_type

import onnx
import onnx_ir as ir
import onnxruntime

import sonnx_ort


def paths(path: str, model: ir.Model) -> None:
    assert_type(sonnx_ort.rewrite(path), onnx.ModelProto)
    assert_type(sonnx_ort.conform(path).model, onnx.ModelProto)
    assert_type(sonnx_ort.conform(model).model, ir.Model)
    assert_type(sonnx_ort.conform_file(path, path).model, onnx.ModelProto)


def choices(path: str, names: list[str]) -> None:
    sonnx_ort.rewrite(path, backend="native", operators="Div,Sub")
    sonnx_ort.rewrite(path, backend=sonnx_ort.Backend.NATIVE, operators=names)
    sonnx_ort.InferenceSession(path, None, ["CPUExecutionProvider"], [{}], enable_fallback=False)
    sonnx_ort.rewrite(path, backend="nativ")  # wrong
    sonnx_ort.rewrite(path, operator="Div")  # wrong
    sonnx_ort.rewrite_file(path, path, external_data="move")  # wrong
    sonnx_ort.rewrite_file(path, path, edition="type")  # wrong
    sonnx_ort.check(path, broadcast="implicit")  # wrong
    sonnx_ort.certify(path, edition="tped")  # wrong
    sonnx_ort.conform(path, edition="tped")  # wrong
    sonnx_ort.conform_file(path, path, external_data="move")  # wrong
    sonnx_ort.audit(path, level="most")  # wrong
    sonnx_ort.register(backend="nativ")  # wrong
    sonnx_ort.InferenceSession(path, backend="nativ")  # wrong
    sonnx_ort.InferenceSession(path, operator="Div")  # wrong
"""


@pytest.mark.thorough
@pytest.mark.time_limit(600)
def test_type_checker_sees_wrong_choices_and_the_kind_of_model(tmp_path: Path) -> None:
    PackageCopy.in_folder(tmp_path)
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    options = ("--config-file", "", "--follow-imports", "silent", "--no-error-summary")
    command = [sys.executable, "-m", "mypy", "--strict", "--hide-error-context", *options]
    untyped = ["--ignore-missing-imports", "program.py"]
    child = run_program([*command, *untyped], folder=str(tmp_path), timeout=600, fresh=True)
    reported = {line.split(":")[1] for line in child.stdout.splitlines() if ": error: " in line}
    lines = enumerate(PROGRAM.split("\n"), start=1)
    assert reported == {str(number) for number, line in lines if line.endswith("# wrong")}, child
