"""A model is reduced to a small one that shows the same: which nodes are left, and how."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

import sonnx_ort
from sonnx_ort.errors import SonnxError
from sonnx_ort.runs.reduce.shrinking import Known, Trial, smaller, with_nodes
from support.graphs import parse

LEAST = np.iinfo(np.int32).min

TEXT = """(float[3] x, float[3] y, int32[2] p, int32[2] q, bool c) => (float[3] z, int32[2] r)
    <float[1] two = {2}> {
        a = Abs(x) b = Exp(a) one = Relu(b) d = Div(one, b) e = Mul(d, y) f = Tanh(e)
        g = If(c) <then_branch = t () => (float[k] u) { v = Sqrt(f) u = Div(v, two) },
                   else_branch = s () => (float[k] w) { w = Neg(f) }>
        z = Sigmoid(g) h = Div(p, q) r = Neg(h)
    }"""


def model() -> onnx.ModelProto:
    return parse(TEXT)


def inputs(p: list[int], q: list[int]) -> Mapping[str, Any]:
    numbers = {"p": np.array(p, np.int32), "q": np.array(q, np.int32)}
    return numbers | {"c": np.array(True)}


GOOD = inputs([1, 2], [1, 2])


@pytest.mark.parametrize(("asked", "given", "operators", "shows"), [
    ({"dies": True}, inputs([1, LEAST], [1, -1]), ["Div"], ("the process is killed by SIGFPE",)),
    ({"violates": "Div.int.C1", "broadcast": "explicit"}, inputs([1, 2], [1, 0]), ["Div"],
     ("Div.int.C1 in a run",)),
    ({"violates": "Div.float.R1"}, GOOD, ["Div"], ("Div.float.R1 in every run",)),
    ({"refused": True, "operators": "Div"}, GOOD, ["Div"], ("Div.float.R1",)),
], ids=["dies", "violates in a run", "violates in every run", "refused"])  # fmt: skip
def test_one_node_is_left_that_shows_it(
    asked: Mapping[str, Any], given: Mapping[str, Any], operators: list[str], shows: tuple[str, ...]
) -> None:
    reduced = sonnx_ort.reduce(model(), given, **asked)
    assert [node.op_type for node in reduced.model.graph.node] == operators
    assert reduced.shows == shows
    assert (reduced.before, reduced.nodes) == (13, len(operators))


@pytest.mark.thorough
def test_nodes_with_results_outside_the_admitted_error_are_left() -> None:
    text = """(float[2] x, float[2] y) => (float[2] z) <float one = {1}> {
        a = Abs(x) c = Div(one, a) d = Mul(c, y) z = Neg(d) }"""
    given = {"x": np.array([3, 41], np.float32), "y": np.array([1, 41], np.float32)}
    reduced = sonnx_ort.reduce(parse(text), given, outside=True)
    assert [node.op_type for node in reduced.model.graph.node] == ["Div", "Mul"]
    assert reduced.shows == ("Mul outside the admitted error",)


def test_random_inputs_are_drawn_within_a_contract(tmp_path: Path) -> None:
    path = tmp_path / "envelope.toml"
    path.write_text("[inputs.q]\nrange = [0, 0]\n", encoding="utf-8")
    text = "(int32[2] p, int32[2] q) => (int32[2] r) { h = Div(p, q) r = Neg(h) }"
    reduced = sonnx_ort.reduce(parse(text), violates="Div.int.C1", contract=path)
    assert reduced.shows == ("Div.int.C1 in a run",)


def test_input_that_breaks_the_contract_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "envelope.toml"
    path.write_text("[inputs.q]\nrange = [1, 9]\n", encoding="utf-8")
    text = "(int32[2] p, int32[2] q) => (int32[2] r) { r = Div(p, q) }"
    given = {"q": np.array([0, 1], np.int32)}
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.reduce(parse(text), given, violates="Div.int.C1", contract=path)
    assert str(caught.value).startswith("the input 'q' breaks Contract.range: q is outside of 1")


def test_nodes_that_an_optimizer_joins_are_left() -> None:
    text = """(float[64] x, float[64] y) => (float[64] z) <float one = {1}> {
        a = Abs(x) b = Exp(a) c = Div(one, b) d = Mul(c, y) e = Tanh(d) z = Neg(e) }"""
    reduced = sonnx_ort.reduce(parse(text), differs=True)
    assert [node.op_type for node in reduced.model.graph.node] == ["Div", "Mul"]
    assert reduced.shows == ("outputs differ",)


@pytest.mark.parametrize(
    ("level", "differs"), [("none", False), ("all", True)], ids=["none", "all"]
)
def test_level_says_how_far_the_optimized_run_is_optimized(level: str, differs: bool) -> None:
    text = """(float[64] x, float[64] y) => (float[64] z) <float one = {1}> {
        c = Div(one, x) z = Mul(c, y) }"""
    if differs:
        assert sonnx_ort.reduce(parse(text), differs=True, level=level).nodes == 2
        return
    with pytest.raises(SonnxError, match="the model does not show this"):
        sonnx_ort.reduce(parse(text), differs=True, level=level)


CHECK = """
import sys, onnx

def operators(graph):
    for node in graph.node:
        yield node.op_type
        for attribute in node.attribute:
            yield from operators(attribute.g)

model = onnx.load(sys.argv[1])
onnx.checker.check_model(model)
sys.exit("Sqrt" not in operators(model.graph))
"""


@pytest.fixture
def check(tmp_path: Path) -> str:
    """Give a command that accepts valid models with a Sqrt."""
    program = tmp_path / "check.py"
    program.write_text(CHECK, encoding="utf-8")
    return f"'{sys.executable}' '{program}'"


def with_branches() -> onnx.ModelProto:
    return parse("""(float[3] x, bool c) => (float[3] z) {
        f = Abs(x) z = If(c) <then_branch = t () => (float[k] u) { v = Sqrt(f) u = Neg(v) },
                              else_branch = s () => (float[k] w) { w = Neg(f) }> }""")


@pytest.mark.thorough
def test_command_gets_valid_models(check: str) -> None:
    reduced = sonnx_ort.reduce(with_branches(), {"c": np.array(True)}, check=check)
    assert [node.op_type for node in reduced.model.graph.node] == ["Sqrt"]
    assert reduced.shows == ("exit status 0",)


def test_command_names_the_place_of_the_model() -> None:
    given = {"c": np.array(True)}
    reduced = sonnx_ort.reduce(with_branches(), given, check="grep Sqrt {} /dev/null")
    assert [node.op_type for node in reduced.model.graph.node] == ["Sqrt"]


def test_values_at_a_cut_become_inputs_with_what_the_run_gave_them() -> None:
    text = """(int32[2] x) => (int32[2] z) <int32[2] one = {1, 1}> {
        a = Add(x, one) b = Sub(a, one) c = Sub(b, one) d = Div(one, c) z = Neg(d) }"""
    given = {"x": np.array([3, 1], np.int32)}
    reduced = sonnx_ort.reduce(parse(text), given, violates="Div.int.C1")
    assert [node.op_type for node in reduced.model.graph.node] == ["Div"]
    assert [value.name for value in reduced.model.graph.input] == ["c"]
    assert reduced.inputs["c"].tolist() == [2, 0]


def test_axes_become_shorter() -> None:
    text = "(float[64, 8] x, float[8, 4] w) => (float[64, 4] z) { y = MatMul(x, w) z = Sqrt(y) }"
    reduced = sonnx_ort.reduce(parse(text), check="grep -q Sqrt")
    (declared,) = reduced.model.graph.output
    assert [dim.dim_value for dim in declared.type.tensor_type.shape.dim] == [1, 1]


def test_names_are_replaced_on_request() -> None:
    reduced = sonnx_ort.reduce(model(), GOOD, violates="Div.float.R1", anonymous=True)
    assert reduced.anonymous
    (node,) = reduced.model.graph.node
    assert (node.name, reduced.model.graph.name) == ("node0", "graph")
    assert all(name.startswith("value") for name in (*node.input, *node.output))


LABELS = """(string[2] x, int64[2] q) => (int64[2] y) {
    a = ai.onnx.ml.LabelEncoder<keys_strings = ["secret", "b"], values_int64s = [4, 0]>(x)
    b = Div(q, a) y = Neg(b)
}"""


def test_texts_of_inputs_are_replaced_as_those_of_attributes() -> None:
    given = {"x": np.array(["b", "secret"], object), "q": np.array([1, 2], np.int64)}
    made = parse(LABELS, domains={"ai.onnx.ml": 4, "secret.domain": 1})
    reduced = sonnx_ort.reduce(made, given, check="grep -q values_int64s", anonymous=True, tries=1)
    assert reduced.anonymous
    assert b"secret" not in reduced.model.SerializeToString()
    encoder = reduced.model.graph.node[0]
    keys = next(each for each in encoder.attribute if each.name == "keys_strings")
    (texts,) = (a for a in reduced.inputs.values() if a.dtype == object)
    assert [text.encode() for text in texts] == keys.strings[::-1]


def test_no_model_is_tried_whose_declared_types_are_not_inferred(tmp_path: Path) -> None:
    text = "(float[1] x) => (int64[1] q) <float[1] w = {2}> { q = Shape(w) }"
    keep = f'sh -c \'cp "$0" "$(mktemp -p {tmp_path})"\''
    reduced = sonnx_ort.reduce(parse(text), check=keep)
    tried = [*tmp_path.iterdir()]
    for path in tried:
        onnx.checker.check_model(onnx.load(path), full_check=True)
    assert len(tried) > 1
    assert [node.op_type for node in reduced.model.graph.node] == ["Shape"]


def test_model_is_not_modified() -> None:
    given = model()
    sonnx_ort.reduce(given, GOOD, violates="Div.float.R1")
    assert given == model()


def test_number_of_tries_is_limited() -> None:
    reduced = sonnx_ort.reduce(model(), GOOD, violates="Div.float.R1", tries=2)
    assert reduced.tried == 2
    assert reduced.nodes > 1


ONE_THING = (
    "ask for one thing that the smaller model still has to show: violates=, refused=, dies=, "
    "differs=, outside= or check="
)


@pytest.mark.parametrize(("asked", "told"), [
    ({}, ONE_THING),
    ({"dies": True, "differs": True}, ONE_THING),
    ({"dies": True}, "the model does not show this; there is nothing to reduce"),
    ({"level": "most", "differs": True}, "level='most' is unknown; choose "),
    ({"violates": "Dvi"}, "there is no rule 'Dvi'"),
    ({"check": "no-such-command"}, "the command of check= cannot be run: "),
], ids=["nothing", "two things", "not shown", "level", "rule", "command"])  # fmt: skip
def test_what_cannot_be_asked(asked: Mapping[str, Any], told: str) -> None:
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.reduce(model(), GOOD, **asked)
    assert str(caught.value).startswith(told)


CHAIN = """(float[2] x, bool c) => (float[2] z, float[2] w) <float[2] two = {2, 2}> {
    a = Abs(x) b = Exp(a) d = Mul(b, two) z = Neg(d) w = Neg(a) }"""

X, C = np.array([1, 2], np.float32), np.array(True)
TRIAL = Trial(parse(CHAIN), ({"x": X, "c": C},))


def known(*names: str) -> Known:
    return Known([dict.fromkeys(names, X * 3)])


@pytest.mark.parametrize(("kept", "inputs", "outputs", "constants"), [
    ([0], ["x"], ["a"], []),
    ([1, 2], ["a"], ["d"], ["two"]),
    ([3, 4], ["d", "a"], ["z", "w"], []),
    ([0, 1, 4], ["x"], ["b", "w"], []),
])  # fmt: skip
def test_part_reads_inputs_and_gives_what_the_rest_reads(
    kept: list[int], inputs: list[str], outputs: list[str], constants: list[str]
) -> None:
    found = with_nodes(TRIAL, kept, known("a", "b", "d"))
    assert found is not None
    graph = found.model.graph
    assert [value.name for value in graph.input] == inputs
    assert [value.name for value in graph.output] == outputs
    assert [tensor.name for tensor in graph.initializer] == constants
    assert found.runs[0].keys() == set(inputs)
    onnx.checker.check_model(found.model, full_check=True)


def test_value_at_a_cut_has_what_the_run_gave_it() -> None:
    found = with_nodes(TRIAL, [1], known("a", "b"))
    assert found is not None
    assert found.runs[0]["a"].tolist() == [3, 6]


@pytest.mark.parametrize("kept", [[], [1]], ids=["no output", "unknown type"])
def test_there_is_no_part(kept: list[int]) -> None:
    assert with_nodes(TRIAL, kept, Known()) is None


def test_sizes_that_differ_between_runs_are_open() -> None:
    runs = ({"x": X, "c": C}, {"x": X[:1], "c": C})
    found = with_nodes(
        Trial(parse(CHAIN), runs), [1], Known([{"a": X, "b": X}, {"a": X[:1], "b": X}])
    )
    assert found is not None
    dims = [
        value.type.tensor_type.shape.dim[0]
        for value in (*found.model.graph.input, *found.model.graph.output)
    ]
    assert [dim.dim_value for dim in dims] == [0, 2]


def test_axes_become_shorter_with_the_constants_that_say_their_size() -> None:
    text = """(float[6, 1] x, float k) => (float[6] y) <int64[1] shape = {6}> {
        r = Reshape(x, shape) y = Add(r, k) }"""
    feeds = {"x": np.ones((6, 1), np.float32), "k": np.array(1, np.float32)}
    found = [
        (each.runs[0]["x"].shape, numpy_helper.to_array(each.model.graph.initializer[0]).tolist())
        for each in smaller(Trial(parse(text), (feeds,)))
        if each.runs[0].keys() == feeds.keys() and each.runs[0]["x"].size < feeds["x"].size
    ]
    assert found == [((1, 1), [1]), ((3, 1), [3])]


def test_text_without_axes_stays_text() -> None:
    model = parse("(float[2] x) => (float[2] y) { y = Neg(x) }")
    model.graph.initializer.append(numpy_helper.from_array(np.array("t", object), "t"))
    for each in smaller(Trial(model, ({"x": X},))):
        for tensor in each.model.graph.initializer:
            assert tensor.name == "x" or list(tensor.string_data) == [b"t"]


def test_input_that_is_omitted_stays_so() -> None:
    text = """(float[1, 1, 2] x, float most) => (float[1, 1, 1, 2] z) {
        "", h = LSTM<hidden_size = 2>(x, w, r) a = Abs(h) b = Clip(a, "", most)
        z = Unsqueeze(b, zero) }"""
    model = parse(text)
    arrays = {"w": np.ones((1, 8, 2), np.float32), "r": np.ones((1, 8, 2), np.float32)}
    for name, array in {**arrays, "zero": np.array([0])}.items():
        model.graph.initializer.append(numpy_helper.from_array(array, name))
    feeds = {"x": np.ones((1, 1, 2), np.float32), "most": np.array(1, np.float32)}
    clips = [
        node
        for each in smaller(Trial(model, (feeds,)))
        for node in each.model.graph.node
        if node.op_type == "Clip"
    ]
    assert clips
    assert [clip for clip in clips if len(clip.input) > 1 and clip.input[1]] == []
