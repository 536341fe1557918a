"""What a node that the profile constrains says of itself."""

import onnx_ir as ir
import pytest

from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.obligations.targets import Target, attribute_value, label_of, targets
from support.graphs import parse


def target(text: str, opset: int = 17) -> Target:
    inputs = "float[2] x, float[2] z, bool c, int64 trips"
    made = parse(f"({inputs}) => (float[?] y) {{ {text} }}", opset=opset, domains={"sonnx": 1})
    (found,) = targets(load(made).graph_model)
    return found


@pytest.mark.parametrize(
    ("opset", "attributes", "broadcasts", "asks", "axis"),
    [
        (6, "", False, False, None),
        (6, "<broadcast = 0>", False, False, None),
        (6, "<broadcast = 1>", True, True, None),
        (6, "<axis = 0, broadcast = 1>", True, True, 0),
        (6, "<axis = -1, broadcast = 1>", True, True, -1),
        (7, "", True, False, None),
        (17, "", True, False, None),
    ],
)
def test_broadcasting_is_asked_for_before_version_7(
    opset: int, attributes: str, axis: int | None, *, broadcasts: bool, asks: bool
) -> None:
    found = target(f"y = Div{attributes}(x, z)", opset)
    assert (found.broadcasts, found.asks_for_broadcasting) == (broadcasts, asks)
    limits = found.limited_broadcasting
    assert (limits is not None) is asks
    assert limits is None or limits.axis == axis
    assert found.further_attributes == ()


@pytest.mark.parametrize(
    ("text", "further"),
    [
        ("y = ArgMax<axis = 0, keepdims = 0>(x)", {"axis": 0, "keepdims": 0, "none": None}),
        ("y = Slice<axes = [0], starts = [0], ends = [1]>(x)", {"axes": (0,), "starts": (0,)}),
        ("y = Cast<to = 6>(x)", {"to": 6}),
    ],
)
def test_attributes_are_told_that_are_numbers_or_texts(
    text: str, further: dict[str, object]
) -> None:
    found = target(text, opset=9 if "Slice" in text else 17)
    assert {name: found.attributes.get(name) for name in further} == further
    given = [name for name in further if name != "none"]
    assert set(given) <= set(found.further_attributes)


def test_attribute_that_a_call_decides_says_nothing() -> None:
    attribute = ir.RefAttr("axis", "k", ir.AttributeType.INT)
    node = ir.Node("", "ArgMax", [ir.Value(name="x")], [attribute], num_outputs=1)
    assert attribute_value(node, "axis") is None


def test_results_are_what_the_file_declares() -> None:
    made = parse(
        "(float[2] x, int32[n] w) => (float[3] p, int32[n] q, int32[] r)"
        " { p, q, r = sonnx.Broadcast(x, w, w) }",
        domains={"sonnx": 1},
    )
    made.graph.node[0].output[1] = ""
    del made.graph.output[1]
    (found,) = targets(load(made).graph_model)
    assert [str(result) for result in found.declared_results] == [
        "Z0 'p' float (3,) [declared]",
        "Z1 '' unknown type (rank unknown) [declared]",
        "Z2 'r' int32 (rank unknown) [declared]",
    ]


@pytest.mark.parametrize(
    ("text", "path", "in_branch"),
    [
        ("y = Div(x, z)", (), False),
        (
            (
                "[If] y = Loop(trips, c) <body = body (int64 i, bool g) => (bool still, float[?] u)"
                " { still = Identity(g) u = Div(x, z) }>"
            ),
            ("Loop 'If' body",),
            False,
        ),
        (
            (
                "y = Loop(trips, c) <body = body (int64 i, bool g) => (bool still, float[?] u)"
                " { still = Identity(g) [choose] u = If(g) <"
                "then_branch = t () => (float[?] p) { p = Div(x, z) },"
                " else_branch = e () => (float[?] q) { q = Softplus(x) }> }>"
            ),
            ("Loop '(output y)' body", "If 'choose' then_branch"),
            True,
        ),
        (
            (
                "[choose] y = If(c) <"
                "then_branch = t () => (float[?] p) { p = Softplus(x) },"
                " else_branch = e () => (float[?] q) { q = Loop(trips, c) <"
                "body = body (int64 i, bool g) => (bool still, float[?] u)"
                " { still = Identity(g) u = Div(x, z) }> }>"
            ),
            ("If 'choose' else_branch", "Loop '(output q)' body"),
            True,
        ),
    ],
    ids=["main graph", "loop", "branch in a loop", "loop in a branch"],
)
def test_node_lies_in_a_branch_at_any_depth(
    text: str, path: tuple[str, ...], *, in_branch: bool
) -> None:
    found = target(text)
    assert (found.path, found.in_branch) == (path, in_branch)


def test_node_without_a_name_and_an_output_is_told_by_that() -> None:
    assert label_of(ir.Node("", "Print", [], num_outputs=0)) == "(output none)"
