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
    child = run_python(code, IMPORTED)
    assert set(json.loads(child.stdout)).isdisjoint(never), child


@pytest.mark.parametrize("name", sonnx_ort.__all__)
def test_public_name_is_there_at_its_first_use(name: str) -> None:
    child = run_python(f"import sonnx_ort\nprint(sonnx_ort.{name}.__name__)")
    assert child.stdout.strip().rpartition(".")[2] == name, child


def test_public_names_are_listed_before_they_are_used() -> None:
    child = run_python("import sonnx_ort\nprint(*dir(sonnx_ort))")
    assert set(sonnx_ort.__all__) <= set(child.stdout.split())


def test_other_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError) as caught:
        sonnx_ort.rewrit  # noqa: B018 - looked for alone
    assert str(caught.value) == "module 'sonnx_ort' has no attribute 'rewrit'"


def test_star_import_gives_all_public_names() -> None:
    child = run_python("from sonnx_ort import *\nprint(rewrite.__name__, models.__name__)")
    assert child.stdout == "rewrite sonnx_ort.models\n", child
