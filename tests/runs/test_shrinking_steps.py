"""Each step by which a model shrinks: what it takes away, and what it leaves as it is."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from sonnx_ort.errors import SonnxError
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns
from sonnx_ort.runs.limits import LimitExceeded
from sonnx_ort.runs.reduce import shrinking
from sonnx_ort.runs.reduce.shrinking import Known, Trial, known_values, least, shrink, smaller
from support.graphs import parse

NEG = "(float[4] x) => (float[4] z) { z = Neg(x) }"
X = np.ones(4, np.float32)


def made(text: str, step: str) -> list[onnx.ModelProto]:
    """What one step makes of a model."""
    return list(getattr(shrinking, step)(parse(text)))


def test_trial_is_shown_with_its_values() -> None:
    shown = str(Trial(parse(NEG), ({"x": X[:2]},)))
    assert "Neg" in shown
    assert shown.endswith("\nx = float32[2] [1.0, 1.0]")


BRANCH = """(float[4] x, bool c) => (float[4] z) {
    z = If(c) <then_branch = t () => (float[4] u) { v = Abs(x) u = Neg(v) },
               else_branch = e () => (float[4] w) { w = Neg(x) }> }"""


@pytest.mark.parametrize("inside", [False, True], ids=["graph", "branch"])
def test_claims_are_left_out_of_all_graphs(inside: bool) -> None:
    model = parse(BRANCH)
    branch = model.graph.node[0].attribute[0].g
    (branch if inside else model.graph).value_info.add(name="v")
    (left,) = shrinking._without_claims(model)
    assert not left.graph.value_info
    assert not left.graph.node[0].attribute[0].g.value_info


def test_nothing_is_tried_where_there_are_no_claims() -> None:
    assert made(BRANCH, "_without_claims") == []


def test_one_output_alone_is_not_tried_again() -> None:
    assert made(NEG, "_one_output") == []


def test_model_in_which_all_is_read_is_not_tried_again() -> None:
    assert made(NEG, "_without_unread") == []
    assert made(BRANCH, "_without_unread") == []


def test_function_of_the_name_of_an_operator_is_left_out() -> None:
    model = parse(
        NEG + '<opset_import: ["": 17], domain: "l"> Neg (v) => (e) { e = Abs(v) }',
        domains={"l": 1},
    )
    (left,) = shrinking._without_unread(model)
    assert not left.functions


def test_function_of_the_name_of_an_operator_is_not_put_in_its_place() -> None:
    model = parse(
        NEG + '<opset_import: ["": 17], domain: "l"> Neg (v) => (e) { e = Abs(v) }',
        domains={"l": 1},
    )
    assert list(shrinking._in_line(model)) == []


def test_what_is_omitted_in_a_branch_stays_so_in_line() -> None:
    text = """(float[4] x, bool c) => (float[4] z) {
        [n] z = If(c) <then_branch = t () => (float[4] u) {
                a, "" = Split<axis = 0>(x) u = Clip(x, "", a) },
            else_branch = e () => (float[4] w) { w = Neg(x) }> }"""
    nodes = made(text, "_in_line")[0].graph.node
    assert [[*node.output] for node in nodes] == [["n_a", ""], ["z"]]
    assert [[*node.input] for node in nodes] == [["x"], ["x", "", "n_a"]]


def test_last_nodes_are_left_out_first() -> None:
    text = "(float[4] x) => (float[4] z) { a = Abs(x) z = Neg(a) }"
    operators = [[n.op_type for n in each.graph.node] for each in made(text, "_without_node")]
    assert operators == [["Abs"], ["Neg"]]


def test_output_of_a_branch_is_what_the_node_that_is_left_out_has_read() -> None:
    models = made(BRANCH, "_without_node")
    outputs = [
        [attribute.g.output[0].name for attribute in node.attribute]
        for each in models
        for node in each.graph.node
    ]
    assert ["v", "w"] in outputs
    assert ["u", "x"] in outputs


def test_result_that_is_left_out_is_renamed_nowhere() -> None:
    text = '(float[4] x) => (float[4] z) { a, "" = Dropout(x) z = Clip(a, "", "") }'
    (clip,) = [
        node
        for each in made(text, "_without_node")
        for node in each.graph.node
        if [n.op_type for n in each.graph.node] == ["Clip"]
    ]
    assert list(clip.input) == ["x", "", ""]


@pytest.mark.parametrize(("node", "left"), [
    ("z = LeakyRelu <alpha = 1.0> (x)", ["z = LeakyRelu (x)"]),
    ("z = Own <a = 1, b = 2> (x)", ["z = Own <b: int = 2> (x)", "z = Own <a: int = 1> (x)"]),
    ("z = Max(x, x)", ["z = Max (x)"]),
    ("z = Neg(x)", []),
])  # fmt: skip
def test_attributes_and_all_inputs_but_the_first_are_left_out(node: str, left: list[str]) -> None:
    text = "(float[4] x) => (float[4] z) {{ {} }}"
    expected = [parse(text.format(each.replace(": int", ""))) for each in left]
    assert made(text.format(node), "_without_detail") == expected


def sizes(text: str, feeds: Mapping[str, Any]) -> list[list[int]]:
    """The sizes of the output in trials with smaller sizes."""
    trials = shrinking._with_smaller_sizes(Trial(parse(text), (feeds,)))
    return [
        [dim.dim_value for dim in each.model.graph.output[0].type.tensor_type.shape.dim]
        for each in trials
    ]


@pytest.mark.parametrize(("size", "tried"), [(1, []), (2, [[1]]), (3, [[1]]), (7, [[1], [3]])])
def test_axis_gets_one_element_or_half(size: int, tried: list[list[int]]) -> None:
    text = f"(float[{size}] x) => (float[{size}] z) {{ z = Neg(x) }}"
    assert sizes(text, {"x": np.ones(size, np.float32)}) == tried


def test_smallest_of_nine_sizes_is_not_tried() -> None:
    axes = [2, 3, 4, 5, 6, 7, 8, 9, 10]
    text = f"(float{axes} x) => (float{axes} z) {{ z = Neg(x) }}"
    tried = sizes(text, {"x": np.broadcast_to(np.float32(1), axes)})
    assert [each[0] for each in tried] == [2] * 15
    assert [each[1] for each in tried].count(1) == 1


def test_claims_get_the_smaller_sizes_too() -> None:
    model = parse(NEG)
    model.graph.value_info.add().CopyFrom(model.graph.output[0])
    for each in shrinking._with_smaller_sizes(Trial(model, ({"x": X},))):
        assert each.model.graph.value_info[0].type == each.model.graph.output[0].type


@pytest.mark.parametrize(("array", "left"), [
    (np.array([4, 3, 9]), [1, 3, 9]),
    (np.array([4, 3, 4, 9]), [1]),
    (np.array(4), 1),
    (np.array([4, 3, 9], np.int32), [4, 3, 9]),
    (np.array([[4], [3]]), [[4], [3]]),
], ids=str)  # fmt: skip
def test_sizes_themselves_are_integers_of_64_bits_without_or_with_one_axis(
    array: Any, left: Any
) -> None:
    assert shrinking._shortened(array, 4, 1, counts=True).tolist() == left
    assert shrinking._shortened(array, 5, 1, counts=True).tolist() == array.tolist()


@pytest.mark.parametrize(("elements", "constant"), [(1 << 14, True), ((1 << 14) + 1, False)])
def test_input_of_64_kilobytes_at_most_becomes_a_constant(elements: int, constant: bool) -> None:
    text = f"(float[{elements}] x, float[1] y) => (float[{elements}] z) {{ z = Add(x, y) }}"
    feeds = {"x": np.zeros(elements, np.float32), "y": np.zeros(1, np.float32)}
    tried = shrinking._with_constant(Trial(parse(text), (feeds,)))
    names = [[tensor.name for tensor in each.model.graph.initializer] for each in tried]
    assert names == ([["x"], ["y"]] if constant else [["y"]])


def test_default_of_an_input_gives_way_to_its_value() -> None:
    model = parse(NEG)
    model.graph.initializer.append(numpy_helper.from_array(X * 2, "x"))
    (each,) = shrinking._with_constant(Trial(model, ({"x": X},)))
    (tensor,) = each.model.graph.initializer
    assert numpy_helper.to_array(tensor).tolist() == X.tolist()


def test_inputs_become_no_constants_while_there_are_several_runs() -> None:
    runs = ({"x": X}, {"x": X * 2})
    assert all(each.model.graph.input for each in smaller(Trial(parse(NEG), runs)))


def test_parts_are_left_out_again_of_what_is_left() -> None:
    text = "(float[4] x) => (float[4] z) { a = Abs(x) b = Exp(a) d = Sin(b) z = Neg(d) }"
    asked: list[int] = []

    def known(trial: Trial) -> Known:
        asked.append(len(trial.model.graph.node))
        return Known([dict.fromkeys("abdz", X)])

    def shows(trial: Trial) -> bool:
        operators = [node.op_type for node in trial.model.graph.node]
        return "Sin" in operators and "Exp" in operators

    found = shrink(Trial(parse(text), ({"x": X},)), shows, known)
    assert [node.op_type for node in found.model.graph.node] == ["Exp", "Sin"]
    assert asked == [4, 2]


@pytest.mark.parametrize("tries", [0, -1])
def test_nothing_is_tried_if_that_is_not_allowed(tries: int) -> None:
    trial = Trial(parse("(float[4] x) => (float[4] z) { a = Abs(x) z = Neg(a) }"), ({"x": X},))
    tried: list[Trial] = []
    known = Known([{"a": X}])
    assert (
        shrink(trial, lambda each: bool(tried.append(each)), lambda _: known, most_tries=tries)
        is trial
    )
    assert tried == []


@pytest.mark.parametrize("needed", [[3], [0, 7], [2, 3, 4]], ids=str)
def test_halves_are_tried_before_smaller_parts(needed: list[int]) -> None:
    tried: list[int] = []

    def enough(items: list[int]) -> bool:
        tried.append(len(items))
        return set(needed) <= set(items)

    assert least(range(8), enough) == needed
    assert tried[0] == 4


class Answers(IsolatedRuns):
    """Gives the types of outputs, or raises an error."""

    def __init__(self, types: Any) -> None:
        super().__init__()
        self._types = types

    def run(self, *_: Any, **__: Any) -> Any:
        return Failed("refused", at_a_node=False)

    def call(self, *_: Any) -> Any:
        if isinstance(self._types, Exception):
            raise self._types
        return self._types


TYPES = {"z": onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [4])}


@pytest.mark.parametrize(("answer", "types"), [
    (TYPES, TYPES), (Failed("refused"), {}), (LimitExceeded("too long"), {}),
], ids=["types", "refused", "too long"])  # fmt: skip
def test_types_of_values_are_those_of_the_runtime_if_it_gives_some(answer: Any, types: Any) -> None:
    assert known_values(Trial(parse(NEG), ()), Answers(answer)).types == types


def test_values_of_runs_that_are_refused_are_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise SonnxError("no such inputs")

    monkeypatch.setattr(shrinking, "trace", refuse)
    found = known_values(Trial(parse(NEG), ({"x": X},)), Answers(TYPES))
    assert (found.runs, found.types) == ([], TYPES)
