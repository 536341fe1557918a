"""What a report tells of: which operators, which sparse tensors, which nodes that are enforced."""

import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.obligations.examination import coverage, examine_model
from sonnx_ort.obligations.obligation import identify
from sonnx_ort.profile.options import Broadcasting, Demands, Edition
from support.examined import examined as examine
from support.graphs import parse, tensor

DIV_ALONE = Demands(Edition.TYPED, Broadcasting.REJECT, frozenset({"Div"}))


def test_operators_that_are_not_to_be_enforced_are_told_of_only_where_all_are() -> None:
    made = parse("(float[2] x) => (float[2] y) { a = Div(x, x) y = Add(a, x) }")
    told = examine(made, DIV_ALONE).report.obligations
    assert [(o.operator, o.enforced) for o in told] == [("Div", True)] * 3
    told = examine(made, DIV_ALONE, complete=True).report.obligations
    assert [(o.operator, o.enforced) for o in told] == [("Div", True)] * 3 + [("Add", False)] * 3


@pytest.mark.parametrize(
    ("shape", "complete", "told"), [(2, False, False), (2, True, True), (3, False, True)]
)
def test_findings_are_told_in_a_complete_report_and_where_a_rule_is_broken(
    shape: int, *, complete: bool, told: bool
) -> None:
    made = parse(f"(float[2] x, float[{shape}] z, float[1] u) => (float[2] y) {{ y = Div(x, z) }}")
    report = examine(made, DIV_ALONE, complete=complete).report
    assert [f.place for f in report.findings] == ["input 'u'"] * told


def test_coverage_tells_what_is_enforced_from_what_is_not_asked_for_and_without_rules() -> None:
    graph = "(float[2] x) => (float[2] y) { a = Div(x, x) b = Add(a, x) c = Celu(b) y = my.Div(c) }"
    model = load(parse(graph, domains={"my": 1})).graph_model
    found = {(each.operator, each.nodes): str(each.extent) for each in coverage(model, {"Div"})}
    assert found == {
        ("Div", 1): "enforced",
        ("Add", 1): "not asked for",
        ("Celu", 1): "no rules",
        ("my::Div", 1): "no rules",
    }


@pytest.mark.parametrize(
    ("outputs", "inputs", "message"),
    [
        (
            ["y"],
            ["x", "x", "x"],
            (
                "Div 'd' has too many operands; correct it, or the function that contains it and "
                "its calls"
            ),
        ),
        (
            ["y"],
            ["x", ""],
            "Div 'd' has no operand B; correct it, or the function that contains it and its calls",
        ),
        ([""], ["x", "x"], "Div 'd' has no output; name one"),
    ],
)
def test_node_that_no_checker_looked_at(
    outputs: list[str], inputs: list[str], message: str
) -> None:
    made = parse("(float[2] x) => () { [d] y = Div(x, x) }")
    made.graph.node[0].input[:] = inputs
    made.graph.node[0].output[:] = outputs
    identity = identify("0" * 64, made)
    with pytest.raises(sonnx_ort.InvalidModel) as refused:
        examine_model(ir.from_proto(made), DIV_ALONE, identity)
    assert str(refused.value) == message


class TestSparseTensor:
    """GR1 speaks of those that no operator's own rule speaks of."""

    def made(self, graph: str) -> onnx.ModelProto:
        made = parse(graph, domains={"sonnx": 1})
        sparse = onnx.helper.make_sparse_tensor_value_info("c", onnx.TensorProto.FLOAT, [2])
        made.graph.input.append(sparse)
        return made

    def test_of_the_graph(self) -> None:
        (found,) = sonnx_ort.check(
            self.made("() => (float[2] y) { y = Softplus(c) }"), operators="default"
        ).violations
        assert (found.rule.id, found.operator, found.node) == ("GR1", "", "")
        assert (found.place, found.evidence) == ("the graph", "tensor 'c' is sparse")
        assert [operand.value for operand in found.operands] == ["c"]
        assert found.hint == found.rule.requirement.hint(found.operands) != ""

    @pytest.mark.parametrize(
        ("node", "rule"), [("y = Div(c, c)", "Div.float.RG1"), ("y = sonnx.Broadcast(c)", "GR1")]
    )
    def test_that_a_node_reads(self, node: str, rule: str) -> None:
        found = sonnx_ort.check(
            self.made(f"() => (float[2] y) {{ {node} }}"), operators="default"
        ).violations
        assert [o.rule.id for o in found] == [rule]


def test_declared_tensor_is_not_sparse() -> None:
    made = parse("(float[2] x) => (float[2] y) { y = Softplus(x) }")
    made.graph.value_info.append(tensor("x", "float", [2]))
    assert sonnx_ort.check(made, operators="default").ok
