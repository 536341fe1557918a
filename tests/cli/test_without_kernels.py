"""What an installation says of the compiled backend that was made without a compiler."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.custom_ops.compiled.library import LIBRARY
from support.graphs import parse
from support.package_copy import PackageCopy

MODEL = parse("(int32[n] x, int32[n] y) => (int32[n] z) { [ratio] z = Div(x, y) }")

COMMAND = """
import os
os.chdir(FOLDER)
from sonnx_ort.cli import main
sys.argv = ["sonnx-ort", *ARGUMENTS]
main()
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> PackageCopy:
    """An installation without the library, with a model and what the library would run."""
    copy = PackageCopy.in_folder(tmp_path_factory.mktemp("installed"))
    copy.path(f"custom_ops/compiled/{LIBRARY.name}").unlink()
    (copy.folder / "model.onnx").write_bytes(MODEL.SerializeToString())
    compiled = sonnx_ort.rewrite(MODEL, backend="compiled")
    (copy.folder / "compiled.onnx").write_bytes(compiled.SerializeToString())
    np.save(copy.folder / "x.npy", np.int32([6, 9]))
    return copy


def reason(installed: PackageCopy) -> str:
    library = installed.path(f"custom_ops/compiled/{LIBRARY.name}")
    return (
        f"the compiled backend cannot run here, because its kernels are not there ('{library}'): "
        "install a C++17 compiler, such as g++ or clang++, and install sonnx_ort again with pip's "
        "option --no-binary=sonnx_ort, or use another backend for the original model"
    )


def command(installed: PackageCopy, *arguments: str) -> tuple[int, str, str]:
    given = f"FOLDER, ARGUMENTS = {str(installed.folder)!r}, {arguments!r}"
    child = installed.run(given, COMMAND)
    return child.exit_status, child.stdout, child.stderr


@pytest.mark.parametrize("arguments", [
    ("run", "model.onnx", "--backend", "compiled", "--input", "x=x.npy", "--input", "y=x.npy"),
    ("run", "compiled.onnx", "--input", "x=x.npy", "--input", "y=x.npy"),
    ("diff", "model.onnx", "compiled.onnx"),
    ("audit", "compiled.onnx"),
    ("demo", "--backend", "compiled"),
], ids=" ".join)  # fmt: skip
def test_command_that_cannot_run_a_model_says_why(
    installed: PackageCopy, arguments: tuple[str, ...]
) -> None:
    assert command(installed, *arguments) == (2, "", f"sonnx-ort: {reason(installed)}\n")


@pytest.mark.parametrize(
    ("arguments", "enforced"),
    [
        (("model.onnx", "--backend", "compiled"), "the profile"),
        (("compiled.onnx",), "the rules of Div and Sub"),
    ],
)
def test_model_is_rewritten_for_others(
    installed: PackageCopy, arguments: tuple[str, ...], enforced: str
) -> None:
    status, written, warning = command(installed, "rewrite", *arguments, "-o", "made.onnx")
    first, *_, last = written.splitlines()
    assert (status, warning) == (0, f"sonnx-ort: {reason(installed)}\n")
    assert first == f"made.onnx: written; it enforces {enforced} in every run"
    assert last == "next: sonnx-ort run made.onnx"
    said = command(installed, "rewrite", *arguments, "-o", "made.onnx", "--quiet")
    assert said == (0, "", warning)


def test_version_says_what_is_missing(installed: PackageCopy) -> None:
    version = f"sonnx-ort {sonnx_ort.__version__}\nbackend: python\n"
    assert command(installed, "--version") == (0, f"{version}{reason(installed)}\n", "")


@pytest.mark.thorough
def test_self_check_says_what_is_missing(installed: PackageCopy) -> None:
    status, out, _ = command(installed, "self-check")
    assert status == 0
    # A long path is broken at the width.
    said = f"not checked compiled backend: {reason(installed)}"
    assert "".join(said.split()) in "".join(out.split())


CALLS = """
import sonnx_ort
try:
    CALL
except sonnx_ort.SonnxError as error:
    print(error)
"""


@pytest.mark.parametrize("call", [
    "sonnx_ort.kernels_library()",
    'sonnx_ort.register(backend="compiled")',
    'sonnx_ort.InferenceSession("MODEL", backend="compiled")',
    'sonnx_ort.InferenceSession("COMPILED")',
    'sonnx_ort.audit("COMPILED")',
])  # fmt: skip
def test_function_that_cannot_run_a_model_says_why(installed: PackageCopy, call: str) -> None:
    for name in ("model", "compiled"):
        call = call.replace(name.upper(), str(installed.folder / f"{name}.onnx"))
    child = installed.run(CALLS.replace("CALL", call))
    assert child.stdout == f"{reason(installed)}\n", child


WARNED = """
import sonnx_ort, warnings
from pathlib import Path
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    CALL
print(*(f"{Path(w.filename).name}: {w.message}" for w in caught), sep="\\n")
"""

REWRITES: dict[str, Callable[[Path], str]] = {
    "rewrite": lambda folder: f"sonnx_ort.rewrite('{folder}/model.onnx', backend='compiled')",
    "rewrite_file": lambda folder: (
        f"sonnx_ort.rewrite_file('{folder}/model.onnx', '{folder}/made.onnx', backend='compiled')"
    ),
}


@pytest.mark.parametrize("function", REWRITES)
def test_function_that_rewrites_warns_its_caller(installed: PackageCopy, function: str) -> None:
    child = installed.run(WARNED.replace("CALL", REWRITES[function](installed.folder)))
    assert child.stdout == f"<string>: {reason(installed)}\n", child


def test_other_backends_are_rewritten_without_a_word(installed: PackageCopy) -> None:
    said = command(installed, "rewrite", "model.onnx", "-o", "made.onnx", "--backend", "native")
    status, written, complaint = said
    assert (status, complaint) == (0, "")
    assert written.startswith("made.onnx: written; it enforces the profile in every run\n")
