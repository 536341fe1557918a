"""Which backend an installation takes, and what it says of those that it does not have."""

import platform
import tomllib
import warnings
from pathlib import Path

import numpy as np
import pytest
from packaging.requirements import Requirement

import sonnx_ort
from sonnx_ort import backends
from sonnx_ort.backends import without_extensions
from sonnx_ort.custom_ops.compiled.library import LIBRARY
from sonnx_ort.errors import BackendUnavailable
from support.child import run_python
from support.graphs import parse
from support.package_copy import REPOSITORY, PackageCopy

MODEL = parse("(int32[n] x, int32[m] y) => (int32[k] z) { [ratio] z = Div(x, y) }")

MISSING = (
    "the python backend needs onnxruntime-extensions, which is not installed. Run `pip install "
    'onnxruntime-extensions`, or use the backend "native" or "compiled" for the original model'
)
NO_PACKAGE = (
    "the python backend needs onnxruntime-extensions, which has no package for {}. Use the backend "
    '"native" or "compiled" for the original model'
)
if (LACKING := without_extensions()) is not None:
    MISSING = NO_PACKAGE.format(LACKING)

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]

WITHOUT_EXTENSIONS = """
import sys
sys.modules["onnxruntime_extensions"] = None
from importlib import metadata
import numpy as np
import onnx
import onnxruntime as ort
import sonnx_ort
from sonnx_ort.cli import main

def version(package, found=metadata.version):
    if package == "onnxruntime-extensions":
        raise metadata.PackageNotFoundError(package)
    return found(package)

metadata.version = version

def caught(call):
    try:
        call()
    except Exception as error:
        print(type(error).__name__, error, sep=": ")
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, what the python backend makes of it, and an input.

    What Python imports first there hides the extensions from the process that runs models.
    """
    folder = tmp_path_factory.mktemp("models")
    (folder / "model.onnx").write_bytes(MODEL.SerializeToString())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it may be missing here
        python = sonnx_ort.rewrite(MODEL, backend="python")
    (folder / "python.onnx").write_bytes(python.SerializeToString())
    np.save(folder / "x.npy", np.int32([6, 9]))
    hiding = 'import sys\nsys.modules["onnxruntime_extensions"] = None\n'
    (folder / "sitecustomize.py").write_text(hiding)
    return folder


def printed(folder: Path, code: str, before: str = WITHOUT_EXTENSIONS) -> str:
    child = run_python(f"import os\nos.chdir({str(folder)!r})", before, code, fresh=True)
    assert child.exit_status == 0, child
    return child.stdout


def command(folder: Path, *arguments: str, before: str = "") -> tuple[int, str, str]:
    code = f"{before}\nsys.argv = ['sonnx-ort', *{arguments!r}]\nmain()"
    there = f"import os\nos.chdir({str(folder)!r})\nos.environ['PYTHONPATH'] = os.getcwd()"
    child = run_python(there, WITHOUT_EXTENSIONS, code, fresh=True)
    return child.exit_status, child.stdout, child.stderr


DEFAULTS = """
model = sonnx_ort.rewrite("model.onnx")
print({node.domain for node in model.graph.node})
session = ort.InferenceSession(model.SerializeToString(), sonnx_ort.register())
x, short = np.int32([6, 9]), np.int32([3])
print(session.run(None, {"x": x, "y": x})[0])
session = sonnx_ort.InferenceSession("model.onnx")
print(session)
caught(lambda: session.run(None, {"x": x, "y": short}))
report = sonnx_ort.check("model.onnx")
print(report.backend, report.to_document()["backend"])
"""


def test_without_the_extensions_the_compiled_backend_is_taken_everywhere(folder: Path) -> None:
    assert printed(folder, DEFAULTS).splitlines() == [
        "{'sonnx.compiled'}",
        "[1 1]",
        "<sonnx_ort.InferenceSession: model 'model.onnx', backend 'compiled', operators 'default'>",
        (
            "ContractViolation: Div 'ratio' breaks Div.int.R1: the shapes (2,) and (1,) differ; "
            "shapes A (2,), B (1,). The rule: Tensors A, B and C must have the same shape."
        ),
        "compiled compiled",
    ]


def test_without_the_kernels_either_the_native_backend_is_taken(tmp_path: Path) -> None:
    copy = PackageCopy.in_folder(tmp_path)
    copy.path(f"custom_ops/compiled/{LIBRARY.name}").unlink()
    (tmp_path / "model.onnx").write_bytes(MODEL.SerializeToString())
    child = copy.run(f"import os\nos.chdir({str(tmp_path)!r})", WITHOUT_EXTENSIONS, DEFAULTS)
    assert child.stdout.splitlines() == [
        "{''}",
        "[1 1]",
        "<sonnx_ort.InferenceSession: model 'model.onnx', backend 'native', operators 'default'>",
        (
            "ContractViolation: Div 'ratio' breaks Div.int.R1. The rule: Tensors A, B and C must "
            "have the same shape."
        ),
        "native native",
    ], child


@pytest.mark.parametrize(
    "call",
    [
        'sonnx_ort.register(backend="python")',
        'sonnx_ort.InferenceSession("model.onnx", backend="python")',
        'sonnx_ort.InferenceSession("python.onnx")',
        'sonnx_ort.InferenceSession("model.onnx", backend="native", verify_proofs=True)',
    ],
)
def test_function_that_needs_the_extensions_says_how_to_get_them(folder: Path, call: str) -> None:
    said = printed(folder, f"caught(lambda: {call})")
    assert said == f"BackendUnavailable: {MISSING}\n"


def test_model_of_the_python_backend_stays_as_it_is(folder: Path) -> None:
    code = """
    model = sonnx_ort.rewrite("python.onnx")
    print(model == onnx.load("python.onnx"), sonnx_ort.check("python.onnx").backend)
    """
    assert printed(folder, code) == "True python\n"


def test_function_that_rewrites_for_the_python_backend_warns(folder: Path) -> None:
    code = """
    import warnings
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sonnx_ort.rewrite("model.onnx", backend="python")
    print(*(warning.message for warning in caught))
    """
    assert printed(folder, code) == f"{MISSING}\n"


INPUTS = ("--input", "x=x.npy", "--input", "y=x.npy")


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "model.onnx", "--backend", "python", *INPUTS),
        ("run", "python.onnx", *INPUTS),
        ("run", "model.onnx", "--verify-proofs", *INPUTS),
        ("demo", "--backend", "python"),
    ],
    ids=" ".join,
)
def test_command_that_needs_the_extensions_says_how_to_get_them(
    folder: Path, arguments: tuple[str, ...]
) -> None:
    assert command(folder, *arguments) == (2, "", f"sonnx-ort: {MISSING}\n")


def test_version_says_which_backend_is_taken(folder: Path) -> None:
    version = f"sonnx-ort {sonnx_ort.__version__}\n"
    assert command(folder, "--version") == (0, f"{version}backend: compiled\n{MISSING}\n", "")


EVERY_FOURTH = """
from sonnx_ort import models
shown = models.examples()[::4]
models.examples = lambda: shown
"""


@pytest.mark.parametrize(
    "before",
    [EVERY_FOURTH, pytest.param("", marks=pytest.mark.thorough)],
    ids=["every fourth", "all"],
)
def test_demo_counts_errors_without_details(folder: Path, before: str) -> None:
    status, out, _ = command(folder, "demo", before=before)
    *_, cases, backend, short, _, following = out.splitlines()
    assert status == 0
    assert cases.endswith(" as expected, 0 not")
    assert backend == "backend: compiled"
    number, words = short.split(" ", 1)
    assert int(number) > 10
    assert words == "errors without the shapes and values that the python backend adds"
    assert following.startswith("next: ")


@pytest.mark.thorough
def test_self_check_passes_over_what_is_not_installed(folder: Path) -> None:
    code = """
    found = sonnx_ort.self_check()
    for check in found.checks:
        print(check.outcome, check.name, check.detail, sep="; ")
    print(found.ok, "onnxruntime-extensions" in found.versions)
    """
    said = printed(folder, code).splitlines()
    assert f"not checked; python backend; {MISSING}" in said
    name = "version of onnxruntime-extensions"
    assert f"not checked; {name}; onnxruntime-extensions is not installed, and not needed" in said
    assert said[-1] == "True True"


def test_record_names_no_package_that_is_not_installed(folder: Path) -> None:
    said = printed(folder, "from sonnx_ort.evidence.record import versions\nprint(*versions())")
    packages = "ml_dtypes numpy onnx onnx-ir onnxruntime protobuf python-flint sympy"
    assert said == f"sonnx_ort {packages} Python\n"


def test_extensions_that_cannot_be_loaded_are_said_to_be_so(folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "onnxruntime_extensions.py"
    broken.write_text('raise ImportError("libexample.so.1 is missing")\n', encoding="utf-8")
    before = WITHOUT_EXTENSIONS.replace(
        'sys.modules["onnxruntime_extensions"] = None', f"sys.path.insert(0, {str(tmp_path)!r})"
    )
    call = 'sonnx_ort.InferenceSession("model.onnx")'
    assert printed(folder, f"caught(lambda: {call})", before) == (
        "BackendUnavailable: the python backend cannot run here, because onnxruntime-extensions "
        "cannot be loaded: libexample.so.1 is missing; install it again, or use the backend "
        '"native" or "compiled" for the original model\n'
    )


@pytest.fixture
def elsewhere(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Another machine without the extensions, as `platform` tells it."""
    python, system, machine = request.param
    monkeypatch.setattr(platform, "python_version_tuple", lambda: (*python.split("."), "0"))
    monkeypatch.setattr(platform, "system", lambda: system)
    monkeypatch.setattr(platform, "machine", lambda: machine)
    monkeypatch.setattr(backends, "find_spec", lambda _: None)
    return f"{python} {system} {machine}"


@pytest.mark.parametrize(
    ("elsewhere", "said"),
    [
        (("3.14", "Linux", "x86_64"), NO_PACKAGE.format("Python 3.14")),
        (("3.13", "Windows", "ARM64"), NO_PACKAGE.format("Windows on ARM")),
    ],
    indirect=["elsewhere"],
)
def test_installation_is_advised_only_where_there_is_a_package(elsewhere: str, said: str) -> None:
    with pytest.raises(BackendUnavailable) as refused:
        backends.require_installed(backends.Backend.PYTHON)
    assert str(refused.value) == said, elsewhere


@pytest.mark.parametrize(
    "elsewhere",
    [
        *(("3.11", system, "x86_64") for system in ("Linux", "Darwin", "Windows")),
        ("3.13", "Linux", "ARM64"),
        ("3.13", "Windows", "ARM64"),
        ("3.14", "Linux", "x86_64"),
        ("3.15", "Darwin", "arm64"),
    ],
    indirect=True,
)
def test_project_asks_for_the_extensions_where_there_is_a_package(elsewhere: str) -> None:
    python, system, machine = elsewhere.split()
    here = {
        "python_version": python,
        "sys_platform": {"Linux": "linux", "Darwin": "darwin", "Windows": "win32"}[system],
        "platform_machine": machine,
    }
    [marker] = [
        requirement.marker
        for requirement in map(Requirement, PROJECT["dependencies"])
        if requirement.name == "onnxruntime-extensions"
    ]
    assert marker is not None
    assert marker.evaluate(here) is (backends.without_extensions() is None)


def test_backend_without_kernels_is_not_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise BackendUnavailable("no kernels")

    monkeypatch.setattr(backends, "require_kernels_built", missing)
    assert backends.other_backends() == 'the backend "native"'
