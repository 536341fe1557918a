"""The examples: scripts and C++."""

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import onnx
import onnxruntime
import pytest
from real_models.packages import CACHE

import sonnx_ort
from sonnx_ort import models
from support.child import TESTS, ChildResult, run_program, run_python
from support.compiled import HEADER
from support.graphs import binary_model, parse
from support.pages import blocks

EXAMPLES = TESTS.parent / "examples"
HOOKS = TESTS.parent / ".pre-commit-hooks.yaml"
WORKFLOW = EXAMPLES / "github_actions.yml"
WALK_THROUGH = TESTS.parent / "docs" / "how-to" / "conform.md"
RECIPES = TESTS.parent / "docs" / "how-to" / "recipes.md"
OCR_MODEL = TESTS.parent / CACHE / "rapidocr-onnxruntime" / "ch_ppocr_mobile_v2.0_cls_infer.onnx"
CONFORMING, VIOLATING = "div_example_1_float32", "div_constant_zero_divisor"

ROW_TOO_FEW = (
    "Div 'node_div' breaks Div.float.R1: the shapes (2, 3) and (1, 3) differ; shapes A (2, 3), "
    "B (1, 3). The rule: Tensors A, B and C must have the same shape."
)
MISFIT = (
    "Broadcast 'n0' breaks Broadcast.E1: axis 1 has size 3 in X0 and 2 in X1; shapes X0 'rows' "
    "(2, 3), X1 'mean' (2,). The rule: A dimension is the largest of its axis, or 1."
)
OUTPUTS = {
    "pytorch_export": [
        "as exported: Sub.float.R1 at node_sub: rank 2 is not rank 1",
        "enforced: [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]",
        f"refused: {ROW_TOO_FEW}",
    ],
    "pytorch_cnn": [],
    "pytorch_transformer": [
        "1 x write Gelu by operators of the profile",
        "2 x write LayerNormalization by operators of the profile",
        "violations left: 0",
        "the numbers of PyTorch: True",
    ],
    "mlflow_model": [
        "mean: [4 2]",
        "refused in the run: Div 'ratio' breaks the SONNX profile",
        "refused to log: 1. Div 'scale': Div.float.R1 violated: axis 0 has size 3 in A and 1 in B",
        "refused to load: it differs from its record",
    ],
    "olive_passes": [
        "as it is: 3 violations",
        "SonnxConform: 0 violations",
        "OnnxDynamicQuantization: 16 violations",
        "SonnxConform: 0 violations",
        "SonnxEnforce: 0 violations",
    ],
    "ocr_model": ["1343 violations", "1 left, at MaxPool", "the bits of ONNX Runtime: True"],
    "scikit_learn_pipeline": [
        "write Scaler by operators of the profile",
        "write LinearClassifier by operators of the profile",
        "violations left: 0",
        "the labels of scikit-learn: True",
        "the probabilities of ONNX Runtime: True",
    ],
    "onnxscript_broadcast": [
        "the shapes fit: True",
        *(
            line
            for backend in ("python", "native", "compiled")
            for line in (
                f"{backend}: [[2.0, 2.0, 2.0], [4.0, 4.0, 4.0]]",
                f"{backend}, refused: {MISFIT}",
            )
        ),
    ],
}
FRAMEWORKS = {
    "pytorch_export": ["torch", "onnxscript"],
    "pytorch_cnn": ["torch", "onnxscript"],
    "pytorch_transformer": ["torch", "onnxscript"],
    "mlflow_model": ["mlflow"],
    "olive_passes": ["olive", "requests"],
    "ocr_model": [],
    "scikit_learn_pipeline": ["sklearn", "skl2onnx"],
    "onnxscript_broadcast": ["onnxscript"],
}


@pytest.fixture
def folder(tmp_path):
    """A folder with one model that keeps the profile, `model.onnx`."""
    onnx.save(models.load(CONFORMING), tmp_path / "model.onnx")
    return tmp_path


def violate(folder: Path) -> None:
    onnx.save(models.load(VIOLATING), folder / "model.onnx")


def command_in(folder: Path, *arguments: str) -> ChildResult:
    """Run a command of this environment."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return run_program(list(arguments), folder=str(folder), timeout=120, PATH=path)


@pytest.mark.parametrize("example", OUTPUTS)
def test_example_writes_what_it_shows(example, tmp_path):
    for framework in FRAMEWORKS[example]:
        if importlib.util.find_spec(framework) is None:
            pytest.skip(f"{framework} is not installed")
    script = str(EXAMPLES / f"{example}.py")
    done = run_program(
        [sys.executable, script, *arguments_of(example)], folder=str(tmp_path), timeout=300
    )
    assert done.exit_status == 0, done
    assert done.stdout.splitlines() == OUTPUTS[example]


@pytest.mark.skipif(
    importlib.util.find_spec("onnxscript") is None, reason="onnxscript is not installed"
)
def test_refused_run_is_told_once(tmp_path):
    done = run_program(
        [sys.executable, str(EXAMPLES / "onnxscript_broadcast.py")],
        folder=str(tmp_path),
        timeout=300,
    )
    assert not done.stderr, done


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_stored_network_is_what_the_example_exports(tmp_path):
    done = run_program(
        [sys.executable, str(EXAMPLES / "pytorch_cnn.py")], folder=str(tmp_path), timeout=300
    )
    assert done.exit_status == 0, done
    exported, stored = onnx.load(tmp_path / "cnn.onnx"), onnx.load(EXAMPLES / "data" / "cnn.onnx")
    kinds = [[node.op_type for node in model.graph.node] for model in (exported, stored)]
    assert kinds[0] == kinds[1]


def arguments_of(example: str) -> list[str]:
    """What the example is called with: a published model, if it is about one."""
    if example != "ocr_model":
        return []
    if not OCR_MODEL.is_file():
        pytest.skip(f"{OCR_MODEL} is not there; scripts/test.py --models downloads it")
    return [str(OCR_MODEL)]


def test_every_script_is_among_those_that_are_run():
    scripts = {file.stem for file in EXAMPLES.glob("*.py")}
    elsewhere = {"hub_model_card"}  # tests/examples/test_recipes.py
    assert scripts == {*OUTPUTS, "test_model_file", *elsewhere}


def test_page_shows_what_an_example_writes():
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"```text\n(.*?)```", page, re.DOTALL)
    assert shown.splitlines() == OUTPUTS["pytorch_export"]


@pytest.mark.parametrize("example", ["pytorch_transformer", "scikit_learn_pipeline", "ocr_model"])
def test_walk_through_shows_the_example(example):
    script = (EXAMPLES / f"{example}.py").read_text(encoding="utf-8")
    about_it = [block for block in blocks(WALK_THROUGH) if f"examples/{example}.py" in block.title]
    [shown] = [block.text for block in about_it if block.language == "text"]
    assert shown.splitlines() == OUTPUTS[example]
    codes = [block.text for block in about_it if block.language == "python"]
    assert codes
    for code in codes:
        assert any(textwrap.indent(code, " " * depth) in script for depth in (0, 4, 8)), code


def test_recipe_shows_what_the_example_for_mlflow_writes():
    about_it = [b for b in blocks(RECIPES) if "examples/mlflow_model.py" in b.title]
    [shown] = [block.text for block in about_it if block.language == "text"]
    assert shown.splitlines() == OUTPUTS["mlflow_model"]


def test_fixture_passes_a_model_that_keeps_the_profile(folder):
    done = pytest_in(folder)
    assert done.exit_status == 0, done


def test_fixture_fails_a_test_with_what_the_model_violates(folder):
    violate(folder)
    done = pytest_in(folder)
    assert done.exit_status == 1, done
    assert "model.onnx breaks the SONNX profile:\nDiv.int.C1 at Div 'divide'" in done.stdout, done


def pytest_in(folder: Path) -> ChildResult:
    example = str(EXAMPLES / "test_model_file.py")
    options = ("-q", "-p", "no:cacheprovider", "--rootdir", str(folder), "-c", os.devnull)
    return command_in(folder, sys.executable, "-m", "pytest", *options, example)


@pytest.mark.thorough
@pytest.mark.parametrize("violating", [False, True])
def test_workflow_writes_the_report_that_it_uploads(violating, folder):
    (folder / "models").mkdir()
    (folder / "model.onnx").rename(folder / "models" / "model.onnx")
    if violating:
        violate(folder / "models")
    workflow = WORKFLOW.read_text(encoding="utf-8")
    [command] = re.findall(r"- run: (sonnx-ort .*)", workflow)
    [report] = re.findall(r"sarif_file: (.*)", workflow)
    done = command_in(folder, *shlex.split(command))
    assert done.exit_status == violating, done
    assert '"version": "2.1.0"' in (folder / report).read_text(encoding="utf-8")


@pytest.mark.thorough
@pytest.mark.parametrize("violating", [False, True])
def test_hook_refuses_a_commit_where_a_model_violates_the_profile(violating, folder):
    if violating:
        violate(folder)
    [entry] = re.findall(r"entry: (.*)", HOOKS.read_text(encoding="utf-8"))
    done = command_in(folder, *shlex.split(entry), "model.onnx")
    assert done.exit_status == violating, done


def test_hook_looks_at_models_only():
    [pattern] = re.findall(r"files: (.*)", HOOKS.read_text(encoding="utf-8"))
    assert re.search(pattern, "models/model.onnx")
    assert not re.search(pattern, "models/model.onnx.md")


def test_native_model_is_served_without_this_package(tmp_path):
    model = binary_model("Div", "int32", ["n"], ["m"], node="normalize/div")
    onnx.save(sonnx_ort.rewrite(model, backend="native"), tmp_path / "model.onnx")
    done = run_python(
        f"""
        import runpy
        import sys
        runpy.run_path({str(TESTS / "plain_python" / "run_models.py")!r})  # refuses our packages
        sys.argv = ["plain_session.py", {str(tmp_path / "model.onnx")!r}]
        runpy.run_path({str(EXAMPLES / "serving" / "plain_session.py")!r}, run_name="__main__")
        assert "sonnx_ort" not in sys.modules
        """,
        fresh=True,
    )
    assert done.exit_status == 0, done
    quotients, refusal = done.stdout.splitlines()[:2]
    assert quotients == "quotients: [4, 3]"
    assert "Div 'normalize/div' breaks the SONNX profile" in refusal


ROOT = Path(__file__).resolve().parents[2]
LIBRARIES = sorted(Path(onnxruntime.__file__).parent.glob("capi/libonnxruntime.so.1.*"))
"""The shared library of ONNX Runtime that its package for Python has on Linux."""


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
@pytest.mark.skipif(not HEADER.is_file(), reason="needs the header of ONNX Runtime")
@pytest.mark.skipif(not LIBRARIES, reason="needs the shared library of ONNX Runtime")
def test_example_divides_and_says_what_is_violated(tmp_path):
    program, model = tmp_path / "divide", tmp_path / "enforced.onnx"
    original = parse("(int32[n] A, int32[n] B) => (int32[n] C) { [ratio] C = Div(A, B) }")
    onnx.save(sonnx_ort.rewrite(original, backend="compiled"), model)
    (tmp_path / "libonnxruntime.so.1").symlink_to(LIBRARIES[-1])
    command = ["g++", "-std=c++17", "-Wall", "-Wextra", "-Werror", "-isystem", HEADER.parent]
    command += [ROOT / "examples/cpp/divide.cc", "-L", tmp_path, "-l:libonnxruntime.so.1"]
    command += [f"-Wl,-rpath,{tmp_path}", "-o", program]
    subprocess.run(command, check=True)

    def run(*arguments: object) -> tuple[int, list[str], str]:
        done = subprocess.run(
            [program, *map(str, arguments)], capture_output=True, check=False, text=True
        )
        return done.returncode, done.stdout.splitlines(), done.stderr

    said = (
        "  Non-zero status code returned while running CheckedDiv node. Name:'ratio' Status "
        "Message: SONNX: Div 'ratio' breaks Div.int.C1: a zero divisor: A[1] = 9, B[1] = 0; "
        "shapes A (2,), B (2,). The rule: No element of B is zero."
    )
    library = sonnx_ort.kernels_library()
    assert run(model, library) == (0, ["4 3", "violated: Div.int.C1", said], "")
    assert run(model) == (2, [], "usage: divide MODEL LIBRARY\n")
    status, shown, error = run(tmp_path / "none.onnx", library)
    assert (status, shown) == (2, [])
    assert error.startswith("divide: Load model from ")
