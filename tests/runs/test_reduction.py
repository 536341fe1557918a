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
from sonnx_ort.runs.reduce.shrinking import Known, Trial, least, shrink, smaller, with_nodes
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
    found = with_nodes(TRIAL, kept, known("a", "b", "d", "two"))
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


@pytest.mark.parametrize(("kept", "values"), [
    pytest.param([], [], id="no output"), pytest.param([1], [], id="unknown types"),
    pytest.param([0, 1, 4], ["a"], id="unknown type of one output"),
])  # fmt: skip
def test_there_is_no_part(kept: list[int], values: list[str]) -> None:
    assert with_nodes(TRIAL, kept, known(*values)) is None


def test_part_has_the_outputs_that_it_reads_itself_and_not_what_nothing_reads() -> None:
    text = "(float[2] x) => (float[1] a, float[1] z) { a, b = Split <axis = 0> (x) z = Neg(a) }"
    found = with_nodes(Trial(parse(text), ({"x": X},)), [0, 1], known("a", "b"))
    assert found is not None
    assert [value.name for value in found.model.graph.output] == ["a", "z"]


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
    assert [feeds["a"].size for feeds in found.runs] == [2, 1]


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


ONE = "(float[4] x) => (float[4] z) {{ {} }}"


@pytest.mark.parametrize(("text", "made"), [
    pytest.param("(float[4] x) => (float[4] z, float[4] w) { z = Neg(x) w = Exp(x) }",
                 "(float[4] x) => (float[4] w) { z = Neg(x) w = Exp(x) }", id="output"),
    pytest.param(ONE.format("z = Neg(x) d = Exp(x)"), ONE.format("z = Neg(x)"),
                 id="node that nothing reads"),
    pytest.param("(float[4] x, float[4] u) => (float[4] z) <float[4] k = {1, 1, 1, 1}> "
                 "{ z = Neg(x) }", ONE.format("z = Neg(x)"), id="values that nothing reads"),
    pytest.param(ONE.format("a = Abs(x) z = Neg(a)"), ONE.format("z = Neg(x)"), id="node"),
    pytest.param(ONE.format("a = Abs(x) z = Neg(a)"),
                 "(float[4] x) => (float[4] a) { a = Abs(x) }", id="node of an output"),
    pytest.param("(float[4] x, bool c) => (float[4] z) { z = If(c) <then_branch = t () => "
                 "(float[4] u) { v = Abs(x) u = Neg(v) }, else_branch = e () => (float[4] w) "
                 "{ w = Sin(x) }> }",
                 "(float[4] x, bool c) => (float[4] z) { _v = Abs(x) z = Neg(_v) }", id="branch"),
    pytest.param("(float[4] x, bool c) => (float[4] z) { z = If(c) <then_branch = t () => "
                 "(float[4] u) { u = Abs(x) }, else_branch = e () => (float[4] w) "
                 "{ w = Sin(x) }> }",
                 "(float[4] x, bool c) => (float[4] z) { z = Sin(x) }", id="other branch"),
    pytest.param("(float[4] x) => (float[4] z) <int64 n = {2}> { [l] z = Loop(n, \"\", x) <body = "
                 "b (int64 i, bool go, float[4] v) => (bool on, float[4] w) "
                 "{ on = Identity(go) w = Abs(v) }> }",
                 "(float[4] x) => (float[4] z) <int64 n = {2}> "
                 "{ l_on = Identity(\"\") z = Abs(x) }", id="body of a loop"),
    pytest.param("(float[4] x, bool c) => (float[4] z) { z = If(c) <then_branch = t () => "
                 "(float[4] u) { d = Exp(x) u = Abs(x) }, else_branch = e () => (float[4] w) "
                 "{ w = Sin(x) }> }",
                 "(float[4] x, bool c) => (float[4] z) { z = If(c) <then_branch = t () => "
                 "(float[4] u) { u = Abs(x) }, else_branch = e () => (float[4] w) "
                 "{ w = Sin(x) }> }", id="node of a branch that nothing reads"),
    pytest.param("(float[4] x, bool c) => (float[4] z) { b = Exp(x) d = If(c) <then_branch = t () "
                 "=> (float[4] u) { u = Abs(b) }, else_branch = e () => (float[4] w) "
                 "{ w = Sin(x) }> z = Neg(d) }",
                 "(float[4] x, bool c) => (float[4] z) { b = Exp(x) d = Abs(b) z = Neg(d) }",
                 id="branch between nodes"),
    pytest.param(ONE.format("k = Constant <value_float = 1.0> () z = Add(x, k)"),
                 ONE.format('z = Add(x, "")'), id="node that reads nothing"),
    pytest.param("(float[4] x, float[4] y) => (float[4] z) { a = Max(x, y) z = Neg(a) }",
                 "(float[4] x, float[4] y) => (float[4] z) { z = Neg(y) }",
                 id="node that reads two values"),
    pytest.param(ONE.format("z = Elu <alpha = 2.0> (x)"), ONE.format("z = Elu(x)"),
                 id="attribute"),
    pytest.param(ONE.format("z = Clip(x, x)"), ONE.format("z = Clip(x)"), id="last input"),
    pytest.param(ONE.format("z = Neg(x)"), "(float[1] x) => (float[1] z) { z = Neg(x) }",
                 id="size that becomes 1"),
    pytest.param(ONE.format("z = Neg(x)"), "(float[2] x) => (float[2] z) { z = Neg(x) }",
                 id="half of a size"),
    pytest.param("(float[4] x, float[9, 9] y) => (float[9, 9] z) { z = Neg(y) }",
                 "(float[4] x, float[4, 4] y) => (float[4, 4] z) { z = Neg(y) }",
                 id="half of a size of two axes"),
    pytest.param(ONE.format("z = Neg(x)"),
                 "() => (float[4] z) <float[4] x = {1, 1, 1, 1}> { z = Neg(x) }",
                 id="input that becomes a constant"),
])  # fmt: skip
def test_one_thing_less_is_tried(text: str, made: str) -> None:
    model = parse(text)
    arrays = {
        value.name: np.ones(
            [dim.dim_value for dim in value.type.tensor_type.shape.dim],
            onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type),
        )
        for value in model.graph.input
    }
    tried = list(smaller(Trial(model, (arrays,))))
    assert onnx.printer.to_text(parse(made)) in [onnx.printer.to_text(t.model) for t in tried]
    for each in tried:
        assert each.runs[0].keys() <= {value.name for value in each.model.graph.input}


FUNCTIONS = """(float[4] x) => (float[4] z) {{ {} }}
    <opset_import: ["": 17], domain: "l"> f (v) => (e) {{ a = Abs(v) e = Neg(a) }}
    <opset_import: ["": 17], domain: "l"> g (v) => (e) {{ e = Neg(v) }}"""


def test_function_that_nothing_calls_is_left_out_and_others_are_put_in_line() -> None:
    model = parse(FUNCTIONS.format("[n] z = l.f(x)"), domains={"l": 1})
    made = [each.model for each in smaller(Trial(model, ({},)))]
    assert ["f"] in [[function.name for function in each.functions] for each in made]
    in_line = ONE.format("n_a = Abs(x) z = Neg(n_a)")
    assert parse(in_line).graph in [each.graph for each in made]
    for function in (f for each in made for f in each.functions if f.name == "f"):
        computed = {name for node in function.node for name in node.output}
        assert {*function.output} <= computed | {*function.input}
    # Within functions nodes are left out as well.
    assert any([len(f.node) for f in each.functions] == [1, 1] for each in made)


def test_function_that_another_one_calls_stays() -> None:
    text = FUNCTIONS.replace("e = Neg(v)", "e = l.f(v)")
    model = parse(text.format("z = l.g(x)"), domains={"l": 1})
    for entry in model.functions:
        entry.opset_import.add(domain="l", version=1)
    made = [each.model for each in smaller(Trial(model, ({},)))]
    assert ["g"] not in [[function.name for function in each.functions] for each in made]


def test_first_elements_stay_and_numbers_of_data_that_are_a_size_by_chance() -> None:
    text = "(int64[4, 3] x, int64[4] y) => (int64[4] z) <float[1] k = {4}> { z = Neg(y) }"
    arrays = {"x": np.arange(12).reshape(4, 3), "y": np.array([4, 3, 4, 3])}
    halves = [
        each
        for each in smaller(Trial(parse(text), (arrays,)))
        if each.runs[0].keys() == arrays.keys() and each.runs[0]["y"].size == 2
    ]
    (half,) = halves
    assert half.runs[0]["x"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert half.runs[0]["y"].tolist() == [4, 3]
    assert numpy_helper.to_array(half.model.graph.initializer[0]).tolist() == [4]


def test_largest_sizes_become_smaller_first() -> None:
    text = "(float[2] x, float[9] y) => (float[9] z) { z = Add(x, y) }"
    arrays = {"x": X, "y": np.ones(9, np.float32)}
    shapes = [
        (each.runs[0]["x"].size, each.runs[0]["y"].size)
        for each in smaller(Trial(parse(text), (arrays,)))
        if each.runs[0].keys() == arrays.keys()
    ]
    assert list(dict.fromkeys(shapes)) == [(2, 9), (2, 1), (2, 4), (1, 9)]


def test_constant_takes_the_place_of_the_default_of_an_input() -> None:
    model = parse(ONE.format("z = Neg(x)"), constants={"x": np.zeros(4, np.float32)})
    arrays = {"x": np.ones(4, np.float32)}
    (made,) = (e.model for e in smaller(Trial(model, (arrays,))) if not e.model.graph.input)
    assert [numpy_helper.to_array(each).tolist() for each in made.graph.initializer] == [[1] * 4]


def test_what_is_said_of_values_between_is_left_out() -> None:
    model = parse(ONE.format("a = Abs(x) z = Neg(a)"))
    model.graph.value_info.add(name="a")
    assert any(
        len(each.model.graph.node) == 2 and not each.model.graph.value_info
        for each in smaller(Trial(model, ({},)))
    )


def test_one_of_several_runs_is_tried_before_anything_else() -> None:
    runs = tuple({"x": np.full(4, number, np.float32)} for number in range(2))
    tried = [each.runs for each in smaller(Trial(parse(ONE.format("z = Neg(x)")), runs))]
    assert tried[:2] == [(runs[0],), (runs[1],)]
    assert all(len(each) == 2 for each in tried[2:])


def test_large_inputs_become_no_constants() -> None:
    model = parse("(float[99999] x) => (float[99999] z) { z = Neg(x) }")
    runs = ({"x": np.ones(99999, np.float32)},)
    assert all(each.model.graph.input for each in smaller(Trial(model, runs)))


@pytest.mark.parametrize("needed", [[], [0], [7], [2, 5], [0, 1, 6], list(range(8))], ids=str)
def test_items_that_are_needed_remain(needed: list[int]) -> None:
    tried: list[list[int]] = []

    def enough(items: list[int]) -> bool:
        tried.append(items)
        return set(needed) <= set(items)

    found = least(range(8), enough)
    assert set(found) == set(needed) or (not needed and len(found) == 1)
    assert len(tried) < 32


def test_what_is_known_of_a_value_comes_from_all_runs_or_from_the_runtime() -> None:
    of_int = onnx.helper.make_tensor_type_proto(onnx.TensorProto.INT64, [7])
    runs = [{"a": np.ones((2, 3), np.float32), "b": X}, {"a": np.ones((2, 5), np.float32)}]
    known = Known(runs, {"b": of_int, "c": of_int})
    a, b, c = (known.declaration(name) for name in "abc")
    assert a is not None
    assert [dim.dim_value for dim in a.type.tensor_type.shape.dim] == [2, 0]
    assert (b and b.type, c and c.type) == (of_int, of_int)
    assert known.declaration("d") is None
    assert Known([{"a": X}, {"a": X[None]}]).declaration("a") == onnx.helper.make_tensor_value_info(
        "a", onnx.TensorProto.FLOAT, None
    )
    assert known.feeds(1, {}, ["a"])["a"].shape == (2, 5)
    given = {"b": X * 2}
    assert known.feeds(1, given, ["a", "b", "c"]).keys() == {"a", "b"}
    assert known.feeds(0, given, ["b"])["b"] is given["b"]


def test_functions_and_metadata_stay_in_a_part() -> None:
    model = parse(FUNCTIONS.format("a = l.f(x) z = Neg(a)"), domains={"l": 1})
    model.metadata_props.add(key="k", value="v")
    found = with_nodes(Trial(model, ({"x": np.ones(4, np.float32)},)), [0], known("a"))
    assert found is not None
    assert [function.name for function in found.model.functions] == ["f", "g"]
    assert [entry.value for entry in found.model.metadata_props] == ["v"]


def test_no_more_is_tried_than_is_allowed_and_nothing_of_what_shows_nothing() -> None:
    tried: list[Trial] = []

    def shows(trial: Trial) -> bool:
        tried.append(trial)
        return False

    trial = Trial(parse(ONE.format("a = Abs(x) b = Exp(a) z = Neg(b)")), ({},))
    assert shrink(trial, shows, lambda _: Known(), most_tries=2) is trial
    assert len(tried) == 2
    assert shrink(trial, shows, lambda _: Known()) is trial
    assert len(tried) == 2 + 3
    assert shrink(trial, shows, lambda _: known("a", "b"), most_tries=1) is trial
    assert len(tried) == 2 + 3 + 1


def test_one_thing_after_the_other_is_left_out_as_long_as_it_shows() -> None:
    trial = Trial(parse(ONE.format("a = Abs(x) b = Exp(a) d = Sin(b) z = Neg(d)")), ({},))

    def shows(trial: Trial) -> bool:
        return any(node.op_type == "Sin" for node in trial.model.graph.node)

    found = shrink(trial, shows, lambda _: Known())
    assert [node.op_type for node in found.model.graph.node] == ["Sin"]
    found = shrink(trial, shows, lambda _: known("a", "b", "d"))
    assert [tensor.name for tensor in found.model.graph.initializer] == ["b"]
    assert [value.name for value in found.model.graph.output] == ["d"]
