"""The standard operators that the native backend puts in front of a node, and when."""

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

import sonnx_ort
from support.backends import on_each_backend, on_native
from support.broadcasting import broadcast_model, operators
from support.graphs import binary_model, model, parse, tensor

pytestmark = [on_each_backend, on_native]

SAME_SHAPE = ["Shape", "Shape", "Constant", "Equal", "Where", "Reshape"]
SAME_RANK_AND_SHAPE = [
    *("Shape", "Shape", "Constant"),
    *("Shape", "Shape", "Equal", "Where", "Reshape"),
    *("Equal", "Where", "Reshape"),
]
SMALL_ZERO = ["Cast", "Constant", "Equal"]
ZERO = {"int32": ["Constant", "Equal"], "int64": ["Constant", "Equal"]}
NONE_ZERO = ["Cast", "ReduceMax", "Cast", "Constant", "Where"]
SETTLED = ["ReduceMin", "Constant", "Greater", "If"]
NO_OVERFLOW = [
    *("Constant", "Equal", "Cast", "ReduceMax", "Cast"),
    *("Cast", "Constant", "Reshape", "Reshape", "Tile", "Reshape", "Tile"),
    *("Constant", "Equal", "And", "Cast", "ReduceMax", "Cast", "Constant", "Where"),
]
INFINITY = [*SMALL_ZERO, "Constant", "Where"]
COMPUTED_THEMSELVES = ["float", "double"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
LARGEST = ["Shape", "Shape", "Less", "Where"]
FITS = ["Equal", "Equal", "Or"]
VERDICT = ["Constant", "Where", "ReduceMin", "Reshape"]
ONE_VERDICT = ["Constant", "Constant", "Where", "Reshape"]
TELLS = "breaks the SONNX profile; the last four digits of the dimension below tell the rule:"


def no_zero(element_type: str) -> list[str]:
    return [*ZERO.get(element_type, SMALL_ZERO), *NONE_ZERO]


def settled(element_type: str) -> list[str]:
    return SETTLED if element_type == "int32" else ["Cast", *SETTLED]


def branches(made: onnx.ModelProto) -> dict[str, list[str]]:
    """The operators in the branches of the only If."""
    (node,) = [node for node in made.graph.node if node.op_type == "If"]
    return {a.name: [n.op_type for n in a.g.node] for a in node.attribute}


def with_constant_divisor(element_type: str, divisor: list[int]) -> onnx.ModelProto:
    made = binary_model("Div", element_type, [3], [3], c_shape=[3])
    del made.graph.input[1]
    array = np.array(divisor, element_type)
    made.graph.initializer.append(numpy_helper.from_array(array, "B"))
    return made


def guards(made: onnx.ModelProto) -> list[str]:
    return [node.name for node in made.graph.node if "breaks the SONNX profile" in node.name]


def metadata(made: onnx.ModelProto, name: str) -> dict[str, str]:
    (node,) = [node for node in made.graph.node if node.name == name]
    return {entry.key: entry.value for entry in node.metadata_props}


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


@pytest.mark.parametrize("operator", ["Div", "Sub"])
@pytest.mark.parametrize("element_type", COMPUTED_THEMSELVES)
def test_shapes_that_are_not_proved_equal_are_compared(operator: str, element_type: str) -> None:
    made = binary_model(operator, element_type, ["n"], ["m"])
    assert operators(sonnx_ort.rewrite(made)) == [*SAME_SHAPE, operator]


@pytest.mark.parametrize("shapes", [(None, None), (None, ["n"]), (["n"], None)], ids=str)
def test_ranks_that_are_not_proved_equal_are_compared_first(shapes: tuple[list[str], ...]) -> None:
    found = operators(sonnx_ort.rewrite(binary_model("Div", "float", *shapes)))
    assert found == [*SAME_RANK_AND_SHAPE, "Div"]


@pytest.mark.parametrize("element_type", SIGNED)
def test_one_pass_over_the_divisor_settles_both_rules_where_it_is_positive(
    element_type: str,
) -> None:
    made = sonnx_ort.rewrite(binary_model("Div", element_type, [2], [2]))
    assert operators(made) == ["Shape", *settled(element_type), "Reshape", "Div"]
    assert branches(made) == {
        "then_branch": ["Identity"],
        "else_branch": [*NO_OVERFLOW, *no_zero(element_type)],
    }


@pytest.mark.parametrize("element_type", UNSIGNED)
def test_unsigned_quotients_cannot_overflow(element_type: str) -> None:
    made = binary_model("Div", element_type, [2], [2])
    assert operators(sonnx_ort.rewrite(made)) == [
        "Shape", *no_zero(element_type), "Reshape", "Div",
    ]  # fmt: skip


@pytest.mark.parametrize("shape", [[], None], ids=str)
def test_code_of_a_scalar_division_takes_the_place_of_the_rank(shape: list[int] | None) -> None:
    found = operators(sonnx_ort.rewrite(binary_model("Div", "uint8", shape, shape)))
    expected = [*no_zero("uint8"), "Reshape", "Reshape", "Div"]
    assert found[-len(expected) :] == expected


def test_constant_divisor_without_zero_and_minus_one_is_not_searched() -> None:
    made = with_constant_divisor("int32", [1, 2, 3])
    assert operators(sonnx_ort.rewrite(made)) == ["Div"]


def test_one_pass_over_the_dividend_settles_what_a_divisor_of_minus_one_leaves() -> None:
    made = sonnx_ort.rewrite(with_constant_divisor("int32", [1, 2, -1]))
    assert operators(made) == ["Shape", *SETTLED, "Reshape", "Div"]
    assert branches(made) == {"then_branch": ["Identity"], "else_branch": NO_OVERFLOW}
    (settling,) = [node for node in made.graph.node if node.op_type == "ReduceMin"]
    assert list(settling.input) == ["A"]


def test_dividend_that_is_never_the_smallest_leaves_one_search_for_zero() -> None:
    made = binary_model("Div", "int64", [2], [2])
    made.graph.node[0].input[0] = "sizes"
    made.graph.node.insert(0, helper.make_node("Shape", ["two_axes"], ["sizes"]))
    made.graph.input.append(tensor("two_axes", "float", ["n", "m"]))
    del made.graph.input[0]
    assert operators(sonnx_ort.rewrite(made))[1:] == ["Shape", *no_zero("int64"), "Reshape", "Div"]


@pytest.mark.parametrize("element_type", SIGNED)
def test_branch_of_an_if_has_all_searches_and_no_if(element_type: str) -> None:
    made = binary_model("Div", element_type, [2], [2])
    (node,) = made.graph.node
    copy = helper.make_node("Identity", ["A"], ["other"])
    branch = helper.make_graph([node], "divides", [], [tensor("C", element_type, [2])])
    other = helper.make_graph([copy], "copies", [], [tensor("other", element_type, [2])])
    chosen = helper.make_node("If", ["yes"], ["D"], then_branch=branch, else_branch=other)
    chosen.name = "choose"
    del made.graph.node[:]
    made.graph.node.append(chosen)
    made.graph.input.append(tensor("yes", "bool", []))
    made.graph.output[0].name = "D"
    (divides,) = [
        [n.op_type for n in a.g.node]
        for rewritten in sonnx_ort.rewrite(made).graph.node
        for a in rewritten.attribute
        if a.name == "then_branch" and rewritten.op_type == "If"
    ]
    assert divides == ["Shape", *NO_OVERFLOW, *no_zero(element_type), "Reshape", "Div"]


@pytest.mark.parametrize("element_type", COMPUTED_THEMSELVES)
def test_preliminary_edition_puts_infinity_where_the_divisor_is_zero(element_type: str) -> None:
    made = sonnx_ort.rewrite(binary_model("Div", element_type, [2], [2]), edition="preliminary")
    assert operators(made) == ["Div", *INFINITY]


def test_bfloat16_is_computed_in_float() -> None:
    made = sonnx_ort.rewrite(binary_model("Div", "bfloat16", ["n"], ["m"]))
    assert operators(made) == ["Cast", "Cast", *SAME_SHAPE, "Div", "Cast"]


def test_float16_is_computed_in_float_and_rounded_where_no_optimizer_can_undo_it() -> None:
    made = sonnx_ort.rewrite(binary_model("Div", "float16", ["n"], ["m"]))
    assert operators(made) == ["Cast", "Cast", *SAME_SHAPE, "Div", "Cast", "Cast", "Cast"]


def test_float16_that_is_only_compared_is_left_as_it_is() -> None:
    text = "(float16[n] a) => (bool[n] c) { c = Less(a, a) }"
    assert operators(sonnx_ort.rewrite(parse(text), operators="Less")) == ["Less"]


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


def test_guards_tell_operator_node_and_rules() -> None:
    made = sonnx_ort.rewrite(binary_model("Div", "int32", ["n"], ["m"], node="scale"))
    assert guards(made) == [f"Div 'scale' {TELLS} 21 Div.int.R1, 24 Div.int.C1, 25 Div.int.C2"]


def test_guard_of_the_rank_has_a_name_of_its_own() -> None:
    made = sonnx_ort.rewrite(binary_model("Sub", "float", None, None))
    assert guards(made) == [
        f"Sub 'the_node' {TELLS} 41 Sub.float.R1 (rank)",
        f"Sub 'the_node' {TELLS} 41 Sub.float.R1",
    ]


def test_unnamed_node_stays_unnamed_and_is_spoken_of_by_its_output() -> None:
    made = sonnx_ort.rewrite(binary_model("Div", "float", ["n"], ["m"], node=""))
    assert guards(made) == [f"Div '(output C)' {TELLS} 11 Div.float.R1"]
    assert [node.name for node in made.graph.node if node.op_type == "Div"] == [""]


def test_node_carries_the_rules_that_bind_it_and_those_that_are_proved() -> None:
    found = metadata(sonnx_ort.rewrite(binary_model("Div", "int32", ["n"], ["m"])), "the_node")
    assert found["sonnx_ort.rules"] == "Div.int.R2 Div.int.RG1 Div.int.R1 Div.int.C1 Div.int.C2"
    assert found["sonnx_ort.proved"] == "Div.int.R2 Div.int.RG1"


def test_proved_node_carries_its_rules_too() -> None:
    found = metadata(sonnx_ort.rewrite(binary_model("Div", "float", [2], [2])), "the_node")
    assert found == {
        "sonnx_ort.rules": "Div.float.R2 Div.float.RG1 Div.float.R1",
        "sonnx_ort.proved": "Div.float.R2 Div.float.RG1 Div.float.R1",
    }


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
        f"{operator} 'unknown': the native backend needs to know the element type of 'm', which "
        "follows from nothing and is not declared; declare it in value_info, or use the python "
        "backend"
    )


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


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([(2, 3), (3,)], ["Constant", "Reshape", "Expand"]),
        (
            [("n", 3), (3,)],
            ["Shape", "Constant", "Less", "Constant", *VERDICT, "Reshape", "Expand"],
        ),
        ([("n",), (1,)], ["Shape", "Constant", "Less", *ONE_VERDICT, "Reshape", "Expand"]),
        (
            [("n", 3), ("m", 3)],
            [
                *LARGEST, "Where", "Constant", "Equal", "Equal", "Or",
                "Constant", *VERDICT, "Expand", "Expand",
            ],
        ),
        (
            [(None, 3), ("m", 3), ("k", 3)],
            [
                "Shape", *LARGEST, "Less", "Where", "Constant", *FITS * 3, "And", "And",
                "Constant", *VERDICT, "Expand", "Expand", "Expand",
            ],
        ),
    ],
    ids=["proved", "one has the common shape", "one axis", "two sides", "three inputs"],
)  # fmt: skip
def test_broadcast_decides_by_what_is_known(
    shapes: list[tuple[int | str | None, ...]], expected: list[str]
) -> None:
    made = sonnx_ort.rewrite(broadcast_model(["float"] * len(shapes), shapes))
    assert operators(made) == expected


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
    ("a_shape", "b_shape", "guarded"), [(["n"], ["m"], "A"), (["n"], [3], "B"), ([3], ["n"], "A")]
)
def test_operand_of_which_all_sizes_are_known_passes_the_guard(
    a_shape: list[int], b_shape: list[int], guarded: str
) -> None:
    made = sonnx_ort.rewrite(binary_model("Div", "float", a_shape, b_shape))
    assert [n.input[0] for n in made.graph.node if n.op_type == "Reshape"] == [guarded]
