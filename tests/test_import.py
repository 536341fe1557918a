"""What is imported when: a program that runs enforced models waits for no graph library."""

import json

import pytest

import sonnx_ort
from support.child import run_python

HEAVY = ["onnx_ir", "sympy", "onnxruntime_extensions", "onnxruntime", "onnx", "numpy"]

IMPORTED = f"""
import json, sys
print(json.dumps([name for name in {HEAVY} if name in sys.modules]))
"""


@pytest.mark.parametrize(
    ("code", "never"),
    [
        ("import sonnx_ort", HEAVY),
        ("import sonnx_ort\nsonnx_ort.SonnxError", HEAVY),
        ("import sonnx_ort\nsonnx_ort.register()", ["onnx_ir", "sympy"]),
    ],
)
def test_nothing_is_imported_before_it_is_needed(code: str, never: list[str]) -> None:
    child = run_python(code, IMPORTED, fresh=True)
    assert set(json.loads(child.stdout)).isdisjoint(never), child


CHECK = """
import gc, json, sys

import sonnx_ort.models
from sonnx_ort.cli import main

sys.argv = ["sonnx-ort", "check", "--quiet", str(sonnx_ort.models.path("digits"))]
try:
    main()
except SystemExit:
    pass
print(json.dumps([*sys.modules]), gc.get_freeze_count() > 0)
"""


@pytest.fixture(scope="module")
def of_a_check() -> str:
    return run_python(CHECK, fresh=True).stdout


@pytest.mark.parametrize(
    "name",
    [
        *("sympy", "torch", "flint", "onnxruntime_extensions"),
        *("onnx.reference", "rich"),
        *("sonnx_ort.meaning", "sonnx_ort.analysis.certificates", "sonnx_ort.ort.session"),
        *("sonnx_ort.reporting.explanation", "sonnx_ort.reporting.html_report"),
    ],
)
def test_check_does_not_import_what_takes_long_and_what_it_does_not_need(
    of_a_check: str, name: str
) -> None:
    assert '"sonnx_ort.pipeline"' in of_a_check
    assert f'"{name}"' not in of_a_check


def test_what_a_command_imports_is_not_searched_for_garbage_again(of_a_check: str) -> None:
    assert of_a_check.endswith("True\n")


REWRITE = """
import sys
import onnx.parser
import sonnx_ort
model = onnx.parser.parse_model(
    '<ir_version: 10, opset_import: ["": 17]> g (float[n] x) => (float[n] y) { y = Div(x, x) }'
)
sonnx_ort.rewrite(model)
assert not {"sympy", "onnx_ir._symbolic_shapes"} & sys.modules.keys()
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("use", "shown"),
    [
        ("print(onnx_ir.SymbolicDim('n') + 1)", "n + 1"),
        ("import sympy\nprint(onnx_ir.SymbolicDim(sympy.Symbol('x')) + 1)", "x + 1"),
        ("from sympy.core import Symbol\nprint(onnx_ir.SymbolicDim(Symbol('x')).value)", "x"),
    ],
)
def test_sympy_is_not_imported_and_is_there_at_its_first_use(use: str, shown: str) -> None:
    child = run_python(REWRITE, "import onnx_ir", use, fresh=True)
    assert (child.exit_status, child.stdout) == (0, f"{shown}\n"), child


MEANWHILE = """
import sys
import sonnx_ort

def imports_sympy_meanwhile(event, arguments):
    if event == "import" and arguments[0] == "onnx_ir._core":
        import sympy.core
        print("meanwhile", end=" ")

sys.addaudithook(imports_sympy_meanwhile)
import onnx_ir
import sympy
print(type(sympy).__name__, onnx_ir.SymbolicDim(sympy.Symbol("x")) + 1)
"""


def test_sympy_that_is_imported_together_with_the_graph_library_is_the_only_one() -> None:
    child = run_python(MEANWHILE, fresh=True)
    assert (child.exit_status, child.stdout) == (0, "meanwhile module x + 1\n"), child


FIRST_USES = f"""
import importlib, json, sys

import numpy, onnx, onnx_ir, onnxruntime

names = {{}}
for name in {sonnx_ort.__all__}:
    for module in [module for module in sys.modules if module.partition(".")[0] == "sonnx_ort"]:
        del sys.modules[module]
    names[name] = getattr(importlib.import_module("sonnx_ort"), name).__name__
print(json.dumps(names))
"""
"""Uses each public name first of all, in one process: what others need is imported once."""


@pytest.fixture(scope="module")
def first_uses() -> dict[str, str]:
    child = run_python(FIRST_USES, fresh=True)
    assert child.exit_status == 0, child
    names: dict[str, str] = json.loads(child.stdout)
    return names


@pytest.mark.parametrize("name", sonnx_ort.__all__)
def test_public_name_is_there_at_its_first_use(first_uses: dict[str, str], name: str) -> None:
    assert first_uses[name].rpartition(".")[2] == name


@pytest.mark.parametrize("used", ["", "sonnx_ort.register()"])
def test_public_names_alone_are_listed_at_any_time(used: str) -> None:
    child = run_python("import sonnx_ort", used, "print(*dir(sonnx_ort))", fresh=True)
    assert child.stdout.split() == sorted([*sonnx_ort.__all__, "__version__"])


def test_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError) as caught:
        sonnx_ort.rewrit  # noqa: B018 - looked for alone
    assert str(caught.value) == "module 'sonnx_ort' has no attribute 'rewrit'"


def test_star_import_gives_all_public_names() -> None:
    child = run_python(
        "from sonnx_ort import *\nprint(rewrite.__name__, models.__name__)", fresh=True
    )
    assert child.stdout == "rewrite sonnx_ort.models\n", child
