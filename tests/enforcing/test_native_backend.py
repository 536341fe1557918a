"""The standard operators that the native backend puts in front of a node, and when."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from support.backends import on_each_backend, on_native
from support.broadcasting import broadcast_model
from support.graphs import binary_model, model, operators, parse, tensor

pytestmark = [on_each_backend, on_native]

SAME_SHAPE = ["Shape", "Shape", "Constant", "Equal", "Where", "Reshape"]
SMALL_ZERO = ["Cast", "Constant", "Equal"]
ZERO = {"int32": ["Constant", "Equal"], "int64": ["Constant", "Equal"]}
NONE_ZERO = ["Cast", "ReduceMax", "Cast", "Constant", "Where"]
COMPUTED_THEMSELVES = ["float", "double"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
TELLS = "breaks the SONNX profile; the last four digits of the dimension below tell the rule:"


def no_zero(element_type: str) -> list[str]:
    return [*ZERO.get(element_type, SMALL_ZERO), *NONE_ZERO]


def with_constant_divisor(element_type: str, divisor: list[int]) -> onnx.ModelProto:
    made = binary_model("Div", element_type, [3], [3], c_shape=[3])
    del made.graph.input[1]
    array = np.array(divisor, element_type)
    made.graph.initializer.append(numpy_helper.from_array(array, "B"))
    return made


def guards(made: onnx.ModelProto) -> list[str]:
    return [node.name for node in made.graph.node if "breaks the SONNX profile" in node.name]


@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("element_type", COMPUTED_THEMSELVES)
def test_proved_node_stays_as_it_is_and_nothing_is_added(operator: str, element_type: str) -> None:
    made = binary_model(operator, element_type, ["n", 2], ["n", 2], c_shape=["n", 2])
    made.graph.input[1].CopyFrom(made.graph.input[0])
    del made.graph.input[1]
    made.graph.node[0].input[1] = "A"
    rewritten = sonnx_ort.rewrite(made)
    for node in rewritten.graph.node:
        del node.metadata_props[:]
    assert rewritten.graph == made.graph


@pytest.mark.parametrize("element_type", [*SIGNED, *UNSIGNED])
def test_difference_of_integers_needs_no_look_at_the_data(element_type: str) -> None:
    made = binary_model("Sub", element_type, ["n"], ["m"])
    assert operators(sonnx_ort.rewrite(made)) == [*SAME_SHAPE, "Sub"]


@pytest.mark.parametrize("shape", [[], None], ids=str)
def test_code_of_a_scalar_division_takes_the_place_of_the_rank(shape: list[int] | None) -> None:
    found = operators(sonnx_ort.rewrite(binary_model("Div", "uint8", shape, shape)))
    expected = [*no_zero("uint8"), "Reshape", "Reshape", "Div"]
    assert found[-len(expected) :] == expected


def test_constant_divisor_without_zero_and_minus_one_is_not_searched() -> None:
    made = with_constant_divisor("int32", [1, 2, 3])
    assert operators(sonnx_ort.rewrite(made)) == ["Div"]


def test_dividend_that_is_never_the_smallest_leaves_one_search_for_zero() -> None:
    made = binary_model("Div", "int64", [2], [2])
    made.graph.node[0].input[0] = "sizes"
    made.graph.node.insert(0, helper.make_node("Shape", ["two_axes"], ["sizes"]))
    made.graph.input.append(tensor("two_axes", "float", ["n", "m"]))
    del made.graph.input[0]
    assert operators(sonnx_ort.rewrite(made))[1:] == ["Shape", *no_zero("int64"), "Reshape", "Div"]


def test_float16_that_is_only_compared_is_left_as_it_is() -> None:
    text = "(float16[n] a) => (bool[n] c) { c = Less(a, a) }"
    assert operators(sonnx_ort.rewrite(parse(text), operators="Less")) == ["Less"]


EXPLICIT, PRELIMINARY = {"broadcast": "explicit"}, {"edition": "preliminary"}
CONCAT = {"operators": "Concat"}


@pytest.mark.parametrize(
    ("shapes", "opset", "raised"),
    [
        (([2], [2]), 6, 7),
        (([2], [2]), 8, 8),
        ((["n"], ["m"]), 6, 9),
        ((["n"], ["m"]), 8, 9),
        ((["n"], ["m"]), 10, 10),
    ],
    ids=str,
)
def test_opset_is_raised_as_far_as_the_operators_need(
    shapes: tuple[list[int], list[int]], opset: int, raised: int
) -> None:
    made = sonnx_ort.rewrite(binary_model("Div", "float", *shapes, opset=opset))
    assert [(entry.domain, entry.version) for entry in made.opset_import] == [("", raised)]


@pytest.mark.parametrize(
    ("graph", "opset", "raised", "choices"),
    [
        ("(float[3] a, float[1] b) => (float[] c) { c = Div(a, b) }", 7, 9, EXPLICIT),
        ("(float[3] a, float[3] b) => (float[] c) { c = Div(a, b) }", 7, 9, PRELIMINARY),
        ("(float[n] a, float[n] b) => (float[] c) { c = Concat<axis = 0>(a, b) }", 7, 7, CONCAT),
        ("(float[n,k] a, float[m,k] b) => (float[] c) { c = Concat<axis=0>(a, b) }", 7, 9, CONCAT),
        ("(float[] a, float[] b) => (float[] c) { c = Concat<axis = 0>(a, b) }", 7, 11, CONCAT),
        (
            "(float[n] a) => (float[] c) { m = own.M(a) d = Exp(m) c = own.M(d) }",
            7,
            7,
            {"operators": "Exp"},
        ),
    ],
)
def test_opset_is_raised_as_far_as_rules_left_to_a_run_need(
    graph: str, opset: int, raised: int, choices: dict[str, str]
) -> None:
    made = parse(graph, opset=opset, domains={"own": 1})
    rewritten = sonnx_ort.rewrite(made, backend="native", **choices)
    assert [entry.version for entry in rewritten.opset_import if not entry.domain] == [raised]


@pytest.mark.parametrize(
    ("operator", "declared"), [("Div", []), ("Less", [tensor("d", "bool", None)])]
)
def test_unknown_element_type_is_refused(
    operator: str, declared: list[onnx.ValueInfoProto]
) -> None:
    made = model(
        [
            helper.make_node("Mystery", ["a"], ["m"], domain="their.domain"),
            helper.make_node("Mystery", ["m"], ["other"], domain="their.domain"),
            helper.make_node(operator, ["m", "other"], ["d"], name="unknown"),
            helper.make_node("Mystery", ["d"], ["c"], domain="their.domain"),
        ],
        [tensor("a", "float", [2])],
        [tensor("c", "float", [2])],
        value_info=declared,
        domains={"their.domain": 1},
    )
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(made, operators=operator)
    assert str(caught.value) == (
        f"{operator} 'unknown': the native backend needs the element type of 'm', which "
        "is unknown; declare it in value_info, or use the python "
        "backend"
    )


def test_unknown_element_type_is_refused_where_it_decides_the_result_alone() -> None:
    """The preliminary quotient of floats by zero is infinite; no rule is left to the run."""
    made = parse(
        "(float[2] a) => (float[2] c) { m = local.Mystery(a) [unknown] d = Div(m, m)"
        " c = local.Mystery(d) }",
        domains={"local": 1},
    )
    with pytest.raises(sonnx_ort.SonnxError, match="the native backend needs the element type"):
        sonnx_ort.rewrite(made, backend="native", edition="preliminary")


@pytest.mark.parametrize("edition", ["typed", "preliminary"])
@pytest.mark.parametrize("shapes", [([2, 3], [2, 3]), (["n", 3], ["m", 3])], ids=str)
@pytest.mark.parametrize(
    "element_type", [*COMPUTED_THEMSELVES, "float16", "bfloat16", *SIGNED, *UNSIGNED]
)
def test_result_is_standard_onnx(
    element_type: str, shapes: tuple[list[int], list[int]], edition: str
) -> None:
    made = sonnx_ort.rewrite(binary_model("Div", element_type, *shapes), edition=edition)
    onnx.checker.check_model(made, full_check=True)
    assert [entry.domain for entry in made.opset_import] == [""]
    assert {node.domain for node in made.graph.node} == {""}


def test_broadcast_of_unknown_ranks_pads_shapes_in_the_run() -> None:
    made = sonnx_ort.rewrite(broadcast_model(["float"] * 2, [None, None]))
    assert operators(made).count("ConstantOfShape") == 2
    assert guards(made) == [f"Broadcast 'the_node' {TELLS} 71 Broadcast.E1"]
    assert [entry.domain for entry in made.opset_import] == [""]


def test_broadcast_of_one_tensor_is_not_checked() -> None:
    made = sonnx_ort.rewrite(broadcast_model(["float"], [None]))
    assert guards(made) == []


def test_input_that_is_declared_as_a_scalar_passes_a_loop_that_hides_the_declaration() -> None:
    made = sonnx_ort.rewrite(binary_model("Div", "float", [], []))
    assert operators(made)[:4] == ["Constant", "Constant", "Loop", "Loop"]
    assert [entry.name for entry in made.graph.input] == ["A", "B"]


@pytest.mark.parametrize(
    ("a_shape", "b_shape"), [(["n"], ["m"]), (["n"], [3]), ([3], ["n"]), (None, None)], ids=str
)
def test_first_operand_alone_passes_the_guard_of_equal_shapes(
    a_shape: list[int] | None, b_shape: list[int] | None
) -> None:
    made = sonnx_ort.rewrite(binary_model("Div", "float", a_shape, b_shape))
    passed = [n.input[0] for n in made.graph.node if n.output[0].endswith("of_equal_shape")]
    assert passed == ["A"]
