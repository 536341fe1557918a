"""What a constrained node says of itself, and what the file declares of its results."""

import onnx
import onnx.helper
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.analysis.ruled_nodes import RuledNode, attribute_value, ruled_nodes
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.loading.traversal import index_of, label_of
from support.graphs import parse


def ruled(text: str, opset: int = 17) -> RuledNode:
    inputs = "float[2] x, float[2] z, bool c, int64 trips"
    made = parse(f"({inputs}) => (float[?] y) {{ {text} }}", opset=opset, domains={"sonnx": 1})
    model = load(made).graph_model
    (found,) = ruled_nodes(model, index_of(model.graph))
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
    found = ruled(f"y = Div{attributes}(x, z)", opset)
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
    found = ruled(text, opset=9 if "Slice" in text else 17)
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
    model = load(made).graph_model
    (found,) = ruled_nodes(model, index_of(model.graph))
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
    found = ruled(text)
    assert (found.path, found.in_branch) == (path, in_branch)


@pytest.mark.parametrize(("name", "outputs", "label"), [
    ("scale", ["y"], "scale"),
    ("", ["y", "z"], "(output y)"),
    ("", ["", "z"], "(output z)"),
    ("", [], "(output none)"),
])  # fmt: skip
def test_node_without_a_name_is_told_by_its_first_output(
    name: str, outputs: list[str], label: str
) -> None:
    values = [ir.Value(name=each) for each in outputs]
    assert label_of(ir.Node("", "Print", [], outputs=values, name=name)) == label
    assert label_of(onnx.helper.make_node("Print", [], outputs, name=name)) == label


DOMAINS = {"sonnx": 1}


def violated(
    made: onnx.ModelProto | str, broadcasting: str = "reject", edition: str = "typed"
) -> list[tuple[str, str, str]]:
    parsed = parse(made, domains=DOMAINS) if isinstance(made, str) else made
    report = sonnx_ort.check(parsed, operators="default", broadcast=broadcasting, edition=edition)
    return [(o.rule.id, o.place, o.evidence) for o in report.obligations if _is_violated(o)]


def _is_violated(obligation: Obligation) -> bool:
    return obligation.status == "violated"


def sparse() -> onnx.ValueInfoProto:
    return onnx.helper.make_sparse_tensor_value_info("c", onnx.TensorProto.FLOAT, [2, 3])


@pytest.mark.satisfies("Div.typed.float.R1.result", "Div.preliminary.R1.result")
@pytest.mark.parametrize(
    ("edition", "rules"), [("typed", ["Div.float.R1"]), ("preliminary", ["Div.R1", "Div.R4"])]
)
@pytest.mark.parametrize("broadcasting", ["reject", "explicit"])
@pytest.mark.parametrize(
    ("declarations", "evidence"),
    [
        ("(float[2, 3] a, float[2, 3] b) => (float[2, 4] c)", "(2, 4), and A has (2, 3)"),
        ("(float[n, 3] a, float[n, 3] b) => (float[m, 4] c)", "(m, 4), and A has (n, 3)"),
        ("(float[2, 3] a, float[2, 3] b) => (float[6] c)", "(6,), and A has (2, 3)"),
    ],
)
def test_result_of_another_shape_is_violated(
    declarations: str, evidence: str, broadcasting: str, edition: str, rules: list[str]
) -> None:
    expected = [(rule, "Div 'd'", f"C is declared with shape {evidence}") for rule in rules]
    assert violated(f"{declarations} {{ [d] c = Div(a, b) }}", broadcasting, edition) == expected


def test_result_of_another_shape_than_the_one_operand_whose_shape_is_known_is_violated() -> None:
    evidence = "C is declared with shape (6,), and B has (2, 3)"
    found = violated("(float[] a, float[2, 3] b) => (float[6] c) { [d] c = Div(a, b) }")
    assert found == [("Div.float.R1", "Div 'd'", evidence)]


@pytest.mark.parametrize("broadcasting", ["reject", "explicit"])
@pytest.mark.parametrize(
    "declarations",
    [
        "(float[2, 3] a, float[2, 3] b) => (float[2, 3] c)",
        "(float[n, 3] a, float[n, 3] b) => (float[4, 3] c)",
        "(float[4, 3] a, float[4, 3] b) => (float[n, m] c)",
        "(float[2, 3] a, float[2, 3] b) => (float[] c)",
        "(float[] a, float[] b) => (float[2, 3] c)",
    ],
)
def test_result_of_a_shape_that_the_operands_may_have_is_no_violation(
    declarations: str, broadcasting: str
) -> None:
    assert violated(f"{declarations} {{ [d] c = Div(a, b) }}", broadcasting) == []


@pytest.mark.satisfies("Sub.preliminary.R1.result")
@pytest.mark.parametrize(
    ("declarations", "evidence"),
    [
        ("(float[2, 3] a, float[3] b) => (float[2, 3] c)", None),
        ("(float[n, 3] a, float[2, 1] b) => (float[m, 3] c)", None),
        ("(float[2, 3] a, float[3] b) => (float[3] c)", "(3,), and the expanded A has (2, 3)"),
        ("(float[n, 3] a, float[3] b) => (float[n, 4] c)", "(n, 4), and the expanded A has (n, 3)"),
    ],
)
def test_result_of_expanded_operands_has_their_common_shape(
    declarations: str, evidence: str | None
) -> None:
    found = violated(f"{declarations} {{ [d] c = Sub(a, b) }}", "explicit")
    expected = ("Sub.float.R1", "Sub 'd'", f"C is declared with shape {evidence}")
    assert found == ([] if evidence is None else [expected])


@pytest.mark.parametrize(
    "declarations",
    ["(float[2] a) => (int32[2] c)", "(float[2] a) => (float[3] c)"],
    ids=["type", "shape"],
)
def test_hint_speaks_of_the_declaration(declarations: str) -> None:
    made = parse(f"{declarations} {{ [d] c = Div(a, a) }}", domains=DOMAINS)
    (found,) = filter(_is_violated, sonnx_ort.check(made, operators="default").obligations)
    assert found.hint == "correct the declaration of the result in the file, or remove it"


@pytest.mark.satisfies(
    "Div.typed.float.RG1 Div.preliminary.R2 Div.preliminary.ensures.length Sub.preliminary.R2",
    "Sub.preliminary.ensures.length",
)
@pytest.mark.parametrize(
    ("operator", "edition", "rule"),
    [
        ("Div", "typed", "Div.float.RG1"),
        ("Sub", "typed", "Sub.float.RG1"),
        ("Div", "preliminary", "Div.R2"),
        ("Sub", "preliminary", "Sub.R2"),
    ],
)
@pytest.mark.parametrize("place", ["output", "value_info"])
def test_sparse_result_is_violated(operator: str, edition: str, rule: str, place: str) -> None:
    made = parse(f"""(float[2,3] a) => (float[2,3] z) {{
        [d] c = {operator}(a, a)
        z = Softplus(c)
    }}""")
    (made.graph.value_info if place == "value_info" else made.graph.output).append(sparse())
    expected = (rule, f"{operator} 'd'", "C 'c' is sparse")
    assert violated(made, edition=edition) == [expected]


class TestGeneralRestriction:
    """GR1 speaks of every sparse value that no operator's own rule speaks of."""

    @staticmethod
    def relu() -> onnx.ModelProto:
        return parse("(float[2,3] a) => (float[2,3] z) { c = Softplus(a) z = Softplus(c) }")

    @pytest.mark.parametrize("place", ["output", "value_info"])
    def test_output_and_value_info(self, place: str) -> None:
        made = self.relu()
        (made.graph.value_info if place == "value_info" else made.graph.output).append(sparse())
        assert violated(made) == [("GR1", "the graph", "tensor 'c' is sparse")]

    @pytest.mark.parametrize("wrap", ["optional", "sequence"])
    def test_sparse_element_of_another_type(self, wrap: str) -> None:
        made = self.relu()
        inner = onnx.helper.make_sparse_tensor_type_proto(onnx.TensorProto.FLOAT, [2, 3])
        wrapper = getattr(onnx.helper, f"make_{wrap}_type_proto")
        made.graph.input.append(onnx.helper.make_value_info("o", wrapper(inner)))
        assert violated(made) == [("GR1", "the graph", "tensor 'o' is sparse")]

    def test_initializer_of_a_body(self) -> None:
        values = onnx.helper.make_tensor("s", onnx.TensorProto.FLOAT, [1], [1.0])
        indices = onnx.helper.make_tensor("i", onnx.TensorProto.INT64, [1], [0])
        held = onnx.helper.make_sparse_tensor(values, indices, [6])
        made = parse("""(bool c, float[6] a) => (float[6] z) {
            z = If (c) <
                then_branch = then () => (float[6] r) { r = Softplus(s) },
                else_branch = else () => (float[6] q) { q = Softplus(a) }
            >
        }""")
        made.graph.node[0].attribute[0].g.sparse_initializer.append(held)
        assert violated(made) == [("GR1", "the graph", "tensor 's' is sparse")]


class TestType:
    """A result of another type: ONNX Runtime starts no session then."""

    @staticmethod
    def made(element_type: str) -> onnx.ModelProto:
        return parse(f"({element_type}[2] a) => (int32[2] c) {{ [divide] c = Div(a, a) }}")

    @pytest.mark.parametrize(
        ("element_type", "rule"), [("float", "Div.float.R2"), ("int64", "Div.int.R2")]
    )
    def test_breaks_the_rule_about_types(self, element_type: str, rule: str) -> None:
        report = sonnx_ort.check(self.made(element_type), operators="default")
        assert [(o.rule.id, o.evidence) for o in report.violations] == [
            (rule, f"C is declared as int32, and A is {element_type}")
        ]

    def test_of_the_operands_type_breaks_nothing(self) -> None:
        assert sonnx_ort.check(self.made("int32"), operators="default").ok

    def test_of_a_broadcast_is_held_to_its_own_input(self) -> None:
        made = parse(
            "(float[2] x, int32[1] y) => (float[2] p, float[2] q) { p, q = sonnx.Broadcast(x, y) }",
            domains=DOMAINS,
        )
        (found,) = sonnx_ort.check(made, operators="default").violations
        assert (found.rule.id, found.evidence, found.hint) == (
            "Broadcast.C1",
            "Z1 is declared as float, and X1 is int32",
            "correct the declaration of the result in the file, or remove it",
        )
