"""Values and shapes that `conform` is told: checked as values in files are."""

import math
from collections.abc import Mapping

import numpy as np
import onnx
import onnxruntime as ort
import pytest

import sonnx_ort
from sonnx_ort import SonnxError
from support.command import output, refusal
from support.graphs import parse
from support.sessions import quiet

NUMBERS = """(float[n,m] x, float16 k, bfloat16 b, float[2] v, int8 i, uint64 u, bool f)
    => (float[n,m] z, float16 l, bfloat16 c, float[2] w, int8 j, uint64 t, bool g) {
    z = Abs(x) l = Abs(k) c = Abs(b) w = Abs(v) j = Abs(i) t = Abs(u) g = Not(f) }"""
LARGE = 9223372036854775807


def value_of(name: str, given: object) -> np.ndarray:
    made = sonnx_ort.conform(parse(NUMBERS), assume={name: given}).model
    (tensor,) = (each for each in made.graph.initializer if each.name == name)
    return onnx.numpy_helper.to_array(tensor)


TAKEN = [
    ("k", 65504, 65504), ("k", 0.1, np.float16(0.1)), ("k", -math.inf, -math.inf),
    ("k", 6e-8, 6e-8),
    ("b", 3e38, 3e38), ("i", -128, -128), ("i", 3.0, 3), ("u", 2**64 - 1, 2**64 - 1),
    ("f", True, True), ("f", 0, False), ("i", np.int64(5), 5), ("i", np.array(5), 5),
    ("v", [1, 2], [1, 2]), ("v", 3, [3, 3]), ("v", np.float32([1, 2]), [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "expected"), TAKEN)
def test_number_of_the_type_becomes_the_constant(
    name: str, given: object, expected: object
) -> None:
    found = value_of(name, given)
    assert np.allclose(found.astype(np.float64), np.float64(expected), rtol=1e-2, atol=0)


OF_FLOAT16 = "the type has numbers from -65504 to 65504"
REFUSED = [
    ("k", 1e6, OF_FLOAT16), ("k", -65536, OF_FLOAT16), ("k", 10**400, OF_FLOAT16),
    ("k", 1e-30, "it would be rounded to 0"), ("k", True, "give a number"),
    ("b", 1e39, "the type has numbers from -3.38953139e+38 to 3.38953139e+38"),
    ("v", [1, 1e39], "the type has numbers from -3.40282347e+38 to 3.40282347e+38"),
    ("i", 128, "the type has numbers from -128 to 127"), ("i", 1.5, "give a whole number"),
    ("i", math.nan, "give a whole number"), ("i", math.inf, "give a whole number"),
    ("i", True, "give a whole number"), ("u", -1, f"the type has numbers from 0 to {2**64 - 1}"),
    ("u", 2**64, f"the type has numbers from 0 to {2**64 - 1}"), ("f", 2, "give true or false"),
    ("f", 0.5, "give true or false"), ("f", math.nan, "give true or false"),
    ("k", np.array(1e6), OF_FLOAT16), ("k", "2", "give a number"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "given", "reason"), REFUSED)
def test_number_that_the_type_does_not_have_is_refused(
    name: str, given: object, reason: str
) -> None:
    with pytest.raises(SonnxError) as caught:
        value_of(name, given)
    said = str(caught.value)
    assert said.startswith(f"the assumption does not fit: the input '{name}' is ")
    assert said.endswith(f" is none: {reason}")


def test_message_of_a_number_says_all() -> None:
    with pytest.raises(SonnxError) as caught:
        value_of("k", 1e6)
    assert str(caught.value) == (
        "the assumption does not fit: the input 'k' is float64 of shape (), but the model needs "
        "float16 of shape (); 1000000.0 is none: the type has numbers from -65504 to 65504"
    )


def test_constant_that_no_file_holds_is_refused() -> None:
    model = parse("(float[65536,65536] x) => (float[65536,65536] y) { y = Abs(x) }")
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.conform(model, assume={"x": 1})
    assert str(caught.value) == (
        "the assumption does not fit: the input 'x' is of shape (65536, 65536), and a constant "
        "of it would be larger than 2 GiB"
    )


NO_SIZE = f"{{}} is no size; give a whole number from 0 to {LARGE}"
MANY = "has more than 2,147,483,647 elements"
SHAPES: list[tuple[Mapping[str, object], str]] = [
    ({"x": [-1, 3]}, f"the shape of the input 'x': {NO_SIZE.format(-1)}"),
    ({"x": [2**63, 3]}, f"the shape of the input 'x': {NO_SIZE.format(2**63)}"),
    ({"x": [2**70, 3]}, f"the shape of the input 'x': {NO_SIZE.format(2**70)}"),
    ({"x": [True, 3]}, f"the shape of the input 'x': {NO_SIZE.format(True)}"),
    ({"x": [LARGE, 2]}, f"the shape of the input 'x' {MANY}"),
    ({"x": [3]}, "the shape of the input 'x': it has 2 axes"),
    ({"zz": [3]}, "the shape of the input 'zz': there is none"),
]


@pytest.mark.parametrize(("shapes", "reason"), SHAPES)
def test_shape_that_no_tensor_has_is_refused(shapes: Mapping[str, object], reason: str) -> None:
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.conform(parse(NUMBERS), assume_shapes=shapes)
    assert str(caught.value) == f"the assumption does not fit: {reason}"


def test_shape_of_what_is_no_tensor_is_refused() -> None:
    model = parse("(seq(float[n]) x) => (int64 y) { y = SequenceLength(x) }")
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.conform(model, assume_shapes={"x": [3]})
    assert str(caught.value) == (
        "the assumption does not fit: the shape of the input 'x': it is no tensor"
    )


def test_constant_of_an_early_format_is_a_node() -> None:
    model = parse("(float[2] x, float[2] k) => (float[2] y) { y = Mul(x, k) }", opset=9)
    model.ir_version = 3
    made = sonnx_ort.conform(model, assume={"k": [2, 4]}).model
    session = ort.InferenceSession(made.SerializeToString(), quiet())
    assert session.run(None, {"x": np.float32([1, 1])})[0].tolist() == [2, 4]
    assert sonnx_ort.check(made).premises == ("k is [2.0, 4.0] in every run",)


def test_value_takes_the_place_of_a_shape_that_was_assumed_before() -> None:
    once = sonnx_ort.conform(parse(NUMBERS), assume_shapes={"x": [1, 2]}).model
    again = sonnx_ort.conform(once, assume={"x": 7})
    assert again.report.premises == ("x is [[7.0, 7.0]] in every run",)


COMMANDS = [
    ("conform m.onnx --diff --assume f=maybe",
     "--assume f=maybe: the form is NAME=NUMBER or NAME=FILE.npy, and NAME=true of a boolean"),
    ("conform m.onnx --diff --assume i=1_0", "--assume i=1_0: the form is NAME=NUMBER or"),
    ("conform m.onnx --diff --assume i=0x1", "--assume i=0x1: the form is NAME=NUMBER or"),
    ("conform m.onnx --diff --assume k=1e6",
     "the assumption does not fit: the input 'k' is float"),
    ("conform m.onnx --diff --assume i=true",
     "the assumption does not fit: the input 'i' is bool"),
    ("conform m.onnx --diff --assume-shape x=-1,3",
     "the assumption does not fit: the shape of the input 'x': -1 is no size"),
    ("conform m.onnx --diff --assume-shape x=1_0,3",
     "--assume-shape x=1_0,3: the form is NAME=N,N"),
    (f"audit m.onnx --input-shape x={2**70},3",
     f"shape x={2**70},3: {2**70} is no size; the largest is {LARGE}"),
    (f"reduce m.onnx --differs -o r.onnx --size n={2**63}",
     f"size n={2**63}: {2**63} is no size; the largest is {LARGE}"),
    (f"audit m.onnx --size n={LARGE}", f"the input 'x' would be of shape ({LARGE}, "),
    ("repeat m.onnx --input-shape x=65536,65536",
     "the input 'x' would be of shape (65536, 65536), which has more than 2,147,483,647 elements"),
    ("diff m.onnx m.onnx --size n=1_0", "--size n=1_0: the form is NAME=N"),
    (f"diff m.onnx m.onnx --samples {10**20}", f"--samples {10**20}: give at most 1,000,000"),
    (f"conform m.onnx --diff --assume i={'9' * 5000}", "--assume i=9999"),
    ("conform m.onnx --diff --assume =1", "--assume =1: the form is NAME=NUMBER or"),
    ("conform m.onnx --diff --assume =true", "--assume =true: the form is NAME=NUMBER or"),
    ("conform m.onnx --diff --assume i=1.npy.", "--assume i=1.npy.: the form is NAME=NUMBER or"),
    ("conform m.onnx --diff --assume a=b=1",
     "the assumption does not fit: there is no input 'a=b'"),
    ("conform m.onnx --diff --assume i=1 --assume i=2", "--assume i=2: 'i' is given twice"),
    ("conform m.onnx --diff --assume i=1 --assume i=i.npy",
     "--assume i=i.npy: 'i' is given twice"),
    ("conform m.onnx --diff --assume i=i.npy --assume i=1", "--assume i=1: 'i' is given twice"),
    ("conform m.onnx --diff --assume i=none.npz", "there is no file 'none.npz'"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "message"), COMMANDS)
def test_option_that_cannot_be_is_told_in_a_sentence(
    line: str, message: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    onnx.save(parse(NUMBERS), "m.onnx")
    assert refusal(*line.split()).startswith(f"sonnx-ort: {message}")


@pytest.mark.parametrize(("text", "expected"), [("true", True), ("False", False), ("1", True)])
def test_boolean_is_true_or_false(
    text: str, expected: bool, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    onnx.save(parse("(bool f) => (bool g) { g = Not(f) }"), "m.onnx")
    said = output("conform", "m.onnx", "-o", "c.onnx", "--assume", f"f={text}")
    assert said.startswith(f"assumed: f is {expected} in every run\n")


@pytest.mark.parametrize(("line", "expected"), [
    ("f=-.5", "-0.5"), ("f=5.", "5.0"), ("f=1E3", "1000.0"), ("f=2e+3", "2000.0"),
    ("f=5e-1", "0.5"), ("f=-INF", "-inf"), ("f=NaN", "nan"), ("i=-5", "-5"), ("i=+7", "7"),
    (f"i={-(2**53) - 1}", f"{-(2**53) - 1}"),
])  # fmt: skip
def test_number_is_written_in_decimal_digits(
    line: str, expected: str, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    onnx.save(parse("(float f, int64 i) => (float g, int64 j) { g = Neg(f) j = Neg(i) }"), "m.onnx")
    said = output("conform", "m.onnx", "-o", "c.onnx", "--assume", line)
    assert said.startswith(f"assumed: {line[0]} is {expected} in every run\n")


def test_seed_is_not_negative() -> None:
    model = parse("(float[n] x) => (float[n] y) { y = Abs(x) }")
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.audit(model, seed=-1)
    assert str(caught.value) == "seed=-1 is negative; give a number of 0 or more"
