"""Which sizes of results are certain, and what follows if a contract says what sizes may be."""

import logging
import re

import onnx
import onnx_ir as ir
import pytest

from sonnx_ort import Contract, SizeContract
from sonnx_ort.analysis.values.derived import Derived, derived
from sonnx_ort.analysis.values.value_facts import Facts
from sonnx_ort.analysis.values.value_types import ValueTypes
from sonnx_ort.facts import deriving
from sonnx_ort.loading.canonical import load_canonical
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.terms.operand import format_shape
from support.graphs import parse

INPUTS = "float[n, 4, 8] x, float[8] c, int64[k] many, bool cond, int64 trips"
SCALARS = ("cond", "trips")
CONSTANTS = (
    "int64[1] zero = {0}, int64[1] two = {2}, int64[2] both = {0, 1}, int64[1] rest = {-1},"
    " int64[2] rows = {0, -1}, int64[3] repeats = {1, 2, 1}, float[1] one = {1.0},"
    " int64 start = {0}, int64 limit = {7}, int64 step = {2}, int64[3] next = {1, 2, 1},"
    " int64[1] large = {1099511627776}, float[0, 4] empty = {}"
)
SIZES = {
    "shape": "shape = Shape(x)",
    "to_first": "shape = Shape(x) first = Gather(shape, zero)"
    " to_first = Concat<axis = 0>(first, rest)",
    "written": "written = Constant<value_ints = [0, -1]>()",
    "grown": "shape = Shape(x) grown = Mul(shape, repeats)",
    "longer": "shape = Shape(x) longer = Add(shape, next)",
    "narrow": "shape = Shape(x) cut = Cast<to = 6>(shape) narrow = Cast<to = 7>(cut)",
    "narrow_grown": "shape = Shape(x) cut = Cast<to = 6>(shape) sum = Add(cut, cut)"
    " narrow_grown = Cast<to = 7>(sum)",
    "out_of_range": "out_of_range = Mul(large, large)",
    "counted": "size = Size(x) counted = Unsqueeze(size, zero)",
    "out_of_matrix": "shape = Shape(x) matrix = Unsqueeze(shape, zero)"
    " out_of_matrix = Squeeze(matrix, zero)",
    "floating": "shape = Shape(x) float = Cast<to = 1>(shape) floating = Cast<to = 7>(float)",
    "miscounted": "reduced = ReduceSum(empty, rest) size = Size(reduced)"
    " miscounted = Unsqueeze(size, zero)",
    "misread": "reduced = ReduceSum(empty, rest) misread = Shape(reduced)",
    # As PyTorch writes `x.expand(sizes)`, in which -1 keeps a size.
    "expanded": "shape = Shape(x) some = Gather(shape, next) wanted = Concat<axis = 0>(some, rest)"
    " rank = Shape(wanted) ones = ConstantOfShape<value = int64[1] {1}>(rank)"
    " minus = Mul(ones, rest) kept = Equal(wanted, minus) expanded = Where(kept, ones, wanted)",
    "expanded_open": "shape = Shape(x) rank = Shape(shape)"
    " ones = ConstantOfShape<value = int64[1] {1}>(rank) minus = Mul(ones, rest)"
    " kept = Equal(shape, minus) expanded_open = Where(kept, ones, shape)",
    "less": "shape = Shape(x) smaller = Less(shape, next) less = Where(smaller, next, shape)",
}

CERTAIN = {
    "Relu(x)": "(n, 4, 8)",
    "Add(x, c)": "(n, 4, 8)",
    "Transpose(x)": "(8, 4, n)",
    "Concat<axis = 0>(x, x)": "(2*n, 4, 8)",
    "Flatten(x)": "(n, 32)",
    "MatMul(x, c)": "(n, 4)",
    "Gather<axis = 1>(x, both)": "(n, 2, 8)",
    "ReduceSum<keepdims = 0>(x, both)": "(8,)",
    "ReduceSum(x, many)": "(?1, ?2, ?3)",
    "ReduceSum<keepdims = 2>(x, both)": "(rank unknown)",
    "Reshape(x, rows)": "(n, 32)",
    "Reshape(x, to_first)": "(n, 32)",
    "Expand(one, shape)": "(n, 4, 8)",
    "Expand(x, many)": "(rank unknown)",
    "Slice(x, zero, two)": "(min(n, 2), 4, 8)",
    "Slice(x, zero, many)": "(?1, ?2, ?3)",
    "Unsqueeze(x, zero)": "(1, n, 4, 8)",
    "Squeeze(x)": "(rank unknown)",
    "Range(start, limit, step)": "(4,)",
    "Range(start, trips, step)": "(?1,)",
    "NonZero(x)": "(3, ?1)",
    "Tile(x, repeats)": "(n, 8, 8)",
    "Shape(x)": "(3,)",
    "Size(x)": "()",
    "If(cond) <then_branch = t () => (float[] p) { p = Relu(x) },"
    " else_branch = e () => (float[] q) { q = Neg(x) }>": "(n, 4, 8)",
    "If(cond) <then_branch = t () => (float[] p) { p = Relu(x) },"
    " else_branch = e () => (float[] q) { q = Concat<axis = 0>(x, x) }>": "(?1, 4, 8)",
    "If(cond) <then_branch = t () => (float[] p) { p = Relu(x) },"
    " else_branch = e () => (float[] q) { q = Det(x) }>": "(rank unknown)",
    'Loop(trips, "", x) <body = b (int64 i, bool go, float[] s) => (bool still, float[] o)'
    " { still = Identity(go) o = Relu(s) }>": "(n, 4, 8)",
    'Loop(trips, "", x) <body = b (int64 i, bool go, float[] s) => (bool still, float[] o)'
    " { still = Identity(go) o = Concat<axis = 0>(s, s) }>": "(?2, 4, 8)",
    'Loop(trips, "", x) <body = b (int64 i, bool go, float[] s) => (bool still, float[] o)'
    " { still = Identity(go) o = Unsqueeze(s, zero) }>": "(rank unknown)",
    "Det(x)": "(rank unknown)",
    "Reshape(x, written)": "(n, 32)",
    "ConstantOfShape(grown)": "(n, 8, 8)",
    "ConstantOfShape(longer)": "(n + 1, 6, 9)",
    "ConstantOfShape(narrow)": "(int32(n), 4, 8)",
    "ConstantOfShape(narrow_grown)": "(?1, ?2, ?3)",
    "ConstantOfShape(out_of_range)": "(?1,)",
    "ConstantOfShape(counted)": "(32*n,)",
    "ConstantOfShape(out_of_matrix)": "(?1, ?2, ?3)",
    "ConstantOfShape(floating)": "(?1, 4, 8)",
    "ConstantOfShape(misread)": "(?2, ?3)",
    "ConstantOfShape(miscounted)": "(?2,)",
    "Expand(one, expanded)": "(4, 8, 4, 1)",
    "Expand(one, expanded_open)": "(?1, 4, 8)",
    "Expand(one, less)": "(?1, ?2, ?3)",
}


def sizes_in(node: str) -> str:
    """The nodes that compute the sizes which a node takes."""
    return "".join(nodes for name, nodes in SIZES.items() if re.search(rf"\b{name}\b", node))


@pytest.mark.parametrize(("node", "expected"), CERTAIN.items(), ids=lambda text: text[:60])
def test_shape_is_as_certain_as_the_operator_makes_it(node: str, expected: str) -> None:
    made = parse(
        f"({INPUTS}) => (float[] z) <{CONSTANTS}> {{ {sizes_in(node)} z = {node} }}", opset=18
    )
    for value in made.graph.input:
        if value.name in SCALARS:
            value.type.tensor_type.shape.SetInParent()
    loaded = load(made).graph_model
    (z,) = loaded.graph.outputs
    assert format_shape(Facts(loaded).shape(z)) == expected


def test_rank_of_what_a_scan_collects_follows_from_a_state_that_grows() -> None:
    made = parse(
        "(float[n, 4] x) => (float[] z) { a, z = Scan<num_scan_inputs = 1, body = b"
        " (float[] s, float[] e) => (float[] o, float[] c)"
        " { o = Concat<axis = 0>(s, s) c = Relu(o) }>(x, x) }"
    )
    loaded = load(made).graph_model
    (z,) = loaded.graph.outputs
    shape = Facts(loaded).shape(z)
    assert shape is not None
    assert len(shape) == 3


def test_sizes_that_two_inputs_declare_with_one_name_do_not_cancel_out() -> None:
    made = parse(
        "(float[n, 4, 8] x, float[n] y) => (float[] z)"
        " <int64[1] rest = {-1}> { s = Shape(y) t = Concat<axis = 0>(s, rest) z = Reshape(x, t) }",
        opset=18,
    )
    loaded = load(made).graph_model
    assert Facts(loaded).shape(loaded.graph.outputs[0]) == ("n", "?1")


def test_operator_of_another_domain_is_not_the_standard_one_of_its_name() -> None:
    made = parse("(float[2, 3] x) => (float[] z) { z = my.Div(x, x) }", opset=6, domains={"my": 1})
    loaded = load(made).graph_model
    assert Facts(loaded).shape(loaded.graph.outputs[0]) is None


def test_open_size_has_a_name_that_no_file_can_give() -> None:
    made = parse("(float[n] x) => (int64[] z) { z = NonZero(x) }", opset=18)
    made.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "?1"
    loaded = load(made).graph_model
    facts = Facts(loaded)
    values = ir.convenience.create_value_mapping(loaded.graph)
    assert facts.shape(values["x"]) == ("?1",)
    assert facts.shape(values["z"]) == (1, "?2")


def shapes_in(made: onnx.ModelProto) -> dict[str, str]:
    """What is certain of each value of a model, in its bodies too."""
    loaded = load(made).graph_model
    facts = Facts(loaded)
    values = ir.convenience.create_value_mapping(loaded.graph, include_subgraphs=True)
    return {name: format_shape(facts.shape(value)) for name, value in values.items()}


def test_initializer_that_an_input_can_override_is_no_target() -> None:
    made = parse(
        "(float[n] x, int64[k] t) => (float[] z) <int64[2] t = {1, -1}> { z = Reshape(x, t) }"
    )
    assert shapes_in(made)["z"] == "(rank unknown)"


@pytest.mark.parametrize(("opset", "expected"), [(6, "(1,)"), (7, "(n,)")])
def test_first_operand_has_the_shape_of_the_result_before_operators_broadcast_both_ways(
    opset: int, expected: str
) -> None:
    made = parse("(float[1] x, float[n] y) => (float[] z) { z = Add(x, y) }", opset=opset)
    assert shapes_in(made)["z"] == expected


def test_input_without_elements_says_so() -> None:
    made = parse("(float[0, n] x) => (float[] z) { z = Relu(x) }")
    assert shapes_in(made)["z"] == "(0, n)"


def test_sizes_are_followed_through_verified_operators_alone() -> None:
    made = parse(
        "(float[n, 2] x) => (float[] z) { s = Shape(x) t = Add(s, s) z = Reshape(x, t) }", opset=6
    )
    assert shapes_in(made)["z"] == "(?1, ?2)"


def loop(body: str) -> onnx.ModelProto:
    return parse(
        '(float[n, 4] x, int64 t) => (float[] z, float[] all) { z, all = Loop(t, "", x) <body = b'
        " (int64 i, bool go, float[] s) => (bool still, float[] o, float[] e)"
        f" <int64[1] zero = {{0}}> {{ still = Identity(go) {body} }}> }}",
        opset=18,
    )


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ([], "()"),
        ([1], "(1,)"),
        (["k"], "(1,)"),
        ([1, 1], "(rank unknown)"),
        (None, "(rank unknown)"),
    ],
    ids=str,
)
def test_counter_has_one_element_and_the_rank_that_the_body_declares(
    declared: list[int | str] | None, expected: str
) -> None:
    made = loop("o = Relu(s) e = Identity(i)")
    (body,) = (a.g for a in made.graph.node[0].attribute)
    counter = onnx.helper.make_tensor_value_info("i", onnx.TensorProto.INT64, declared)
    body.input[0].CopyFrom(counter)
    assert shapes_in(made)["e"] == expected


def test_nothing_is_certain_of_what_a_loop_collects() -> None:
    found = shapes_in(loop("o = Relu(s) e = Relu(s)"))
    assert (found["z"], found["e"], found["all"]) == ("(n, 4)", "(n, 4)", "(rank unknown)")


def test_what_rests_on_the_shape_of_a_state_that_does_not_stay_is_forgotten() -> None:
    body = "k = Shape(s) r = Relu(s) e = ConstantOfShape(k) o = Unsqueeze(s, zero)"
    found = shapes_in(loop(body))
    unknown = "(rank unknown)"
    assert {name: found[name] for name in "sreoz"} == dict.fromkeys("sreoz", unknown)


@pytest.mark.parametrize(
    ("axis", "expected"),
    [
        (0, "(4, 8)"),
        (1, "(n, 8)"),
        (2, "(n, 4)"),
        (-1, "(n, 4)"),
        (-3, "(4, 8)"),
        (3, "(rank unknown)"),
        (-4, "(rank unknown)"),
    ],
)
def test_part_that_a_scan_takes_has_the_other_axes(axis: int, expected: str) -> None:
    made = parse(
        "(float[n, 4, 8] x, float[n] y) => (float[] z, float[] all) { z, all = Scan"
        f"<num_scan_inputs = 1, scan_input_axes = [{axis}], body = b"
        " (float[] s, float[] e) => (float[] o, float[] c)"
        " { o = Concat<axis = 0>(s, s) c = Relu(e) }>(y, x) }"
    )
    found = shapes_in(made)
    assert (found["e"], found["c"]) == (expected, expected)


def test_node_that_no_rule_can_read_is_logged_and_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = parse('(float[2, 3] x) => (float[] z) { y = Flatten<axis = "a">(x) z = Neg(x) }')
    model = ir.from_proto(made)
    with caplog.at_level(logging.DEBUG, "sonnx_ort"):
        found = derived(model, ValueTypes(model)).established("shape")
    assert {value.name: shape for value, shape in found.items()} == {"x": (2, 3), "z": (2, 3)}
    (record,) = caplog.records
    assert record.getMessage() == "the shape of 'y' cannot be followed"
    assert record.exc_info is not None
    assert record.exc_info[0] is TypeError


@pytest.mark.parametrize(
    ("operand", "expected"),
    [("y", ("(n, 4)", "(n, 4)")), ("z", ("(?1, 4)", "(?1, 4)")), ("u", ("(rank unknown)",) * 2)],
)
def test_outputs_of_a_broadcast_have_one_common_shape(
    operand: str, expected: tuple[str, str]
) -> None:
    made = parse(
        "(float[n, 1] x, float[4] y, float[m, 4] z, float[] t) => (float[] a, float[] b)"
        f" {{ u = Det(t) a, b = sonnx.Broadcast(x, {operand}) }}",
        domains={"sonnx": 1},
    )
    model = ir.from_proto(made)
    facts = Facts(model)
    a, b = (format_shape(facts.shape(value)) for value in model.graph.outputs)
    assert (a, b) == expected


CONTRACT = Contract(
    sizes=(
        SizeContract("n", 1, 8),
        SizeContract("c", 4, 4),
        SizeContract("h", 32, 64, 16),
        SizeContract("w", 32, 64, 16),
    )
)

NUMBERS = """
    zero = Constant<value = int64[1] {0}>()
    one = Constant<value = int64[1] {1}>()
    two = Constant<value = int64[1] {2}>()
    ten = Constant<value = int64[1] {10}>()
    rest = Constant<value = int64[1] {-1}>()
    many = Constant<value = int64[1] {100}>()
    s = Shape(x)
    n = Gather(s, zero)
    h = Gather(s, two)
"""


def shape_of_y(nodes):
    graph = f"(float[n, c, h, w] x) => (float[k] z) {{ {NUMBERS} {nodes} z = Identity(y) }}"
    model = load_canonical(parse(graph, opset=18)).graph_model
    (y,) = [v for node in model.graph for v in node.outputs if v.name == "y"]
    shape = Facts(model, CONTRACT).shape(y)
    return None if shape is None else ", ".join(map(str, shape))


@pytest.mark.parametrize(
    ("nodes", "shape"),
    [
        ("y = Relu(x)", "n, 4, h, w"),
        ("y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(x)", "n, 4, h/2, w/2"),
        ("y = MaxPool<kernel_shape = [3, 3], strides = [2, 2]>(x)", "n, 4, h/2 - 1, w/2 - 1"),
        (
            "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(x)",
            "n, 4, h/2, w/2",
        ),
        (
            "y = MaxPool<kernel_shape = [3, 3], strides = [3, 3]>(x)",
            "n, 4, trunc((h - 3)/3) + 1, trunc((w - 3)/3) + 1",
        ),
        ("y = SpaceToDepth<blocksize = 2>(x)", "n, 16, h/2, w/2"),
        ("y, other = Split<axis = 2, num_outputs = 2>(x)", "n, 4, h/2, w"),
        ("y = Slice(x, zero, ten, two)", "n, 4, 10, w"),
        ("y = Slice(x, ten, many, two)", "n, 4, h - 10, w"),
        ("y = Slice(x, rest, many, two)", "n, 4, 1, w"),
        ("y = Slice(x, one, rest, two)", "n, 4, h - 2, w"),
        ("y = Slice(x, zero, many, two, two)", "n, 4, h/2, w"),
        ("t = Concat<axis = 0>(n, rest) y = Reshape(x, t)", "n, 4*h*w"),
        ("t = Concat<axis = 0>(rest, h) y = Reshape(x, t)", "4*n*w, h"),
        ("t = Concat<axis = 0>(n, rest) y = Reshape<allowzero = 1>(x, t)", "n, 4*h*w"),
        ("a = ReduceSum(x, rest) y = Squeeze(a, rest)", "n, 4, h"),
        ("d = Sub(many, h) y = ConstantOfShape(d)", "-h + 100"),
        ("d = Div(h, two) y = ConstantOfShape(d)", "h/2"),
        ("d = Max(h, ten) y = ConstantOfShape(d)", "h"),
        ("d = Min(h, ten) y = ConstantOfShape(d)", "10"),
        ("d = Cast<to = 6>(h) e = Cast<to = 7>(d) y = ConstantOfShape(e)", "h"),
        ("d = Cast<to = 6>(h) e = Add(d, d) f = Cast<to = 7>(e) y = ConstantOfShape(f)", "2*h"),
        ("d = ReduceProd<keepdims = 1>(s) y = ConstantOfShape(d)", "4*h*n*w"),
        (
            "a = Squeeze(zero) b = Squeeze(h) c = Squeeze(two) y = Range(a, b, c)",
            "h/2",
        ),
        (
            'r = Constant<value = float[4] {1, 1, 2, 0.25}>() y = Resize<mode = "nearest">(x, , r)',
            "n, 4, 2*h, w/4",
        ),
        ("m = MatMul(x, x) y = Identity(m)", "n, 4, h, w"),
    ],
)
def test_shape_follows_from_the_sizes_of_inputs(nodes, shape):
    assert shape_of_y(nodes) == shape


@pytest.mark.parametrize(
    "nodes",
    [
        # Less than 0 is a size that follows, or that is counted from the end.
        "d = Sub(h, many) t = Concat<axis = 0>(d, rest) y = Reshape(x, t)",
        "a = Sub(h, many) y = Slice(x, zero, a, two)",
        "y, other, third = Split<axis = 2, num_outputs = 3>(x)",
        "d = Div(h, n) y = ConstantOfShape(d)",
        "w = Gather(s, rest) d = Max(h, w) y = ConstantOfShape(d)",
    ],
)
def test_what_does_not_follow_is_open(nodes):
    found = shape_of_y(nodes)
    assert found is None or "?" in found


@pytest.mark.parametrize(
    ("kind", "of_type"), [("intervals_by", "float"), ("bounds_by", "int64"), ("_shapes", "float")]
)
def test_a_rule_is_asked_once_for_all_results_of_a_node(
    monkeypatch: pytest.MonkeyPatch, kind: str, of_type: str
) -> None:
    asked = []

    def noted(*arguments: object) -> object:
        asked.append(arguments)
        return rule(*arguments)

    if kind == "_shapes":
        rule = Derived._shapes_of
        monkeypatch.setattr(Derived, "_shapes_of", noted)
    else:
        rule = getattr(deriving, kind)
        monkeypatch.setattr(deriving, kind, noted)
    results = ", ".join(f"r{number}" for number in range(8))
    graph = load(parse(f"({of_type}[8] x) => ({of_type}[1] r0) {{ {results} = Split(x) }}"))
    assert Facts(graph.graph_model).shape(graph.graph_model.graph.outputs[0]) == (1,)
    assert len(asked) == 1
