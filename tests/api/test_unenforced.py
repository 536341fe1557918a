"""A call without `operators` says which rules it leaves; one that names operators says nothing."""

import warnings
from collections.abc import Callable
from pathlib import Path

import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from support.graphs import parse

MANY = """(float[2] x) => (float[2] z) {
    a = Abs(x) b = Abs(a) c = Neg(b) d = Sqrt(c) e = Exp(d) f = Sin(e) z = Div(f, x) }"""
THREE = "(float[2] x) => (float[2] z) { a = Abs(x) b = Neg(a) z = Sqrt(b) }"
FOUR = "(float[2] x) => (float[2] z) { a = Abs(x) b = Neg(a) c = Sqrt(b) z = Exp(c) }"
ENDING = (
    'rules that are not enforced: operators="profile" enforces them, operators="default" leaves '
    "them"
)

Call = Callable[..., object]


def rewrite_file(model: onnx.ModelProto, **options: object) -> object:
    onnx.save(model, "model.onnx")
    return sonnx_ort.rewrite_file("model.onnx", "enforced.onnx", **options)  # type: ignore[arg-type]


CALLS: dict[str, Call] = {
    "rewrite": sonnx_ort.rewrite,
    "rewrite_file": rewrite_file,
    "session": sonnx_ort.InferenceSession,
}


def warned(call: Call, model: onnx.ModelProto, **options: object) -> list[tuple[str, str]]:
    """The warnings of a call, each with the file that it is told of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(model, **options)
    return [(str(each.message), Path(each.filename).name) for each in caught]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize(("graph", "nodes"), [
    ("(float[2] x) => (float[2] z) { z = Abs(x) }", "1 node of Abs has"),
    ("(float[2] x) => (float[2] z) { y = Abs(x) z = Abs(y) }", "2 nodes of Abs have"),
    ("(float[2] x) => (float[2] z) { y = Abs(x) z = Neg(y) }", "2 nodes of Abs and Neg have"),
    (THREE, "3 nodes of Abs, Neg and Sqrt have"),
    (FOUR, "4 nodes of Abs, Neg, Sqrt and 1 other operator have"),
    (MANY, "6 nodes of Abs, Neg, Sqrt and 2 other operators have"),
])  # fmt: skip
def test_call_without_operators_warns_once(name: str, graph: str, nodes: str) -> None:
    assert warned(CALLS[name], parse(graph)) == [(f"{nodes} {ENDING}", Path(__file__).name)]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("operators", ["default", "profile,-Graph", "Abs"])
def test_call_that_names_operators_does_not_warn(name: str, operators: str) -> None:
    assert warned(CALLS[name], parse(MANY), operators=operators) == []


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("graph", [
    "(float[2] x) => (float[2] z) { z = Div(x, x) }",
    "(float[2] x) => (float[2] z) { z = Identity(x) }",
])  # fmt: skip
def test_model_without_other_operators_that_have_rules_does_not_warn(name: str, graph: str) -> None:
    assert warned(CALLS[name], parse(graph)) == []


@pytest.mark.parametrize("operators", ["default", "profile,-Graph"])
def test_whoever_rewrote_a_model_chose_its_operators(operators: str) -> None:
    made = sonnx_ort.rewrite(parse(MANY), operators=operators)
    assert warned(sonnx_ort.rewrite, made) == []
    assert warned(sonnx_ort.InferenceSession, made) == []


def test_none_is_no_choice_of_operators() -> None:
    (found,) = warned(sonnx_ort.rewrite, parse(MANY), operators=None)
    assert found[0].endswith(ENDING)


def test_session_with_options_of_its_caller_warns_as_well() -> None:
    made = parse(MANY)
    with pytest.warns(UserWarning, match="6 nodes of Abs, Neg, Sqrt and 2 other operators have"):
        sonnx_ort.InferenceSession(made.SerializeToString(), ort.SessionOptions())
