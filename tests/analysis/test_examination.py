"""What a report tells of: operators, sparse tensors, enforced nodes; all else is counted."""

from collections.abc import Sequence

import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.analysis.examination import coverage, examine_model
from sonnx_ort.analysis.obligation import identify
from sonnx_ort.analysis.report import Report, choose_rules
from sonnx_ort.loading.canonical import load_canonical as load
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.demands import Demands
from sonnx_ort.profile.options import Broadcasting, Edition
from sonnx_ort.reporting.text_report import text_report
from support.checks import mixed
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
    found = {
        (each.operator, each.nodes): str(each.extent)
        for each in coverage(model, model.graph, {"Div"})
    }
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
        assert found.hint == found.rule.hint(found.operands) != ""

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


DOMAINS = {"sonnx": 1, "local": 1, "my": 1}
FUNCTION = '<opset_import: ["" : 17, "local" : 1], domain: "local">'
BRANCHES = (
    "If(c) <then_branch = t () => (float[] p) { u = Softplus(x) p = Selu(u) },"
    " else_branch = e () => (float[] q) { q = Softplus(x) }>"
)


def not_covered(graph: str, functions: str = "") -> dict[str, int]:
    made = parse(f"{graph} {functions}", domains=DOMAINS)
    return dict(sonnx_ort.check(made, operators="default").not_covered)


@pytest.mark.parametrize(
    ("graph", "counted"),
    [
        ("(float[2] x) => (float[2] z) { z = Div(x, x) }", {}),
        ("(float[2] x) => (float[2] z) { a = Sub(x, x) z = Div(x, a) }", {}),
        ("(float[2] x) => (float[2] z) { a, b = sonnx.Broadcast(x, x) z = Div(a, b) }", {}),
        ("(float[2] x) => (float[2] z) { z = Softplus(x) }", {"Softplus": 1}),
        ("(float[2] x) => (float[2] z) { z = my.Div(x, x) }", {"my::Div": 1}),
        ("(float[2] x) => (float[2] z) { z = Celu<alpha = 2.0>(x) }", {"Celu": 1}),
        (
            f"(float[2] x, bool c) => (float[] z) {{ z = {BRANCHES} }}",
            {"Softplus": 2, "If": 1, "Selu": 1},
        ),
    ],
    ids=str,
)
def test_nodes_are_counted_by_operator(graph: str, counted: dict[str, int]) -> None:
    assert not_covered(graph) == counted


def test_most_frequent_comes_first() -> None:
    graph = (
        "(float[2] x) => (float[2] z) { a = Selu(x) b = Softplus(a) c = Softplus(b) z = Div(c, c) }"
    )
    assert list(not_covered(graph).items()) == [("Softplus", 2), ("Selu", 1)]


def test_bodies_of_functions_are_counted_once_each() -> None:
    assert not_covered(
        "(float[2] x) => (float[2] z) { a = local.fun(x) z = local.fun(a) }",
        f"{FUNCTION} fun (p) => (q) {{ u = Softplus(p) q = Selu(u) }}",
    ) == {"local::fun": 2, "Softplus": 1, "Selu": 1}


def test_inlined_functions_are_counted_as_what_they_become() -> None:
    assert not_covered(
        "(float[2] x) => (float[2] z) { a = local.fun(x) z = local.fun(a) }",
        f"{FUNCTION} fun (p) => (q) {{ u = Softplus(p) q = Div(u, p) }}",
    ) == {"Softplus": 2}


def test_summary_says_how_much_was_not_looked_at() -> None:
    made = parse("(float[2] x) => (float[2] z) { z = Softplus(x) }", domains=DOMAINS)
    assert sonnx_ort.check(made, operators="default").summary() == (
        "edition typed, broadcast reject, backend python: "
        "0 checks: 0 proved, 0 runtime, 0 violated; "
        "0 findings; 1 node not looked at"
    )


@pytest.fixture(scope="module")
def whole() -> Report:
    return sonnx_ort.check(mixed(), operators="default")


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("Div.int.C1", ["Div.int.C1"]),
        (" div.INT.c1 ", ["Div.int.C1"]),
        (["Broadcast", "GR1"], ["Broadcast.C1", "Broadcast.E1", "GR1"]),
        ("Div", [r for r in sorted(set(RULES)) if r.startswith("Div.")]),
        ((), []),
    ],
    ids=str,
)
def test_rules_are_chosen_by_what_they_begin_with(
    names: str | Sequence[str], expected: list[str]
) -> None:
    assert sorted(choose_rules(names)) == expected


@pytest.mark.parametrize("name", ["Di", "GR", "Div.int.C", "Div.int.C1.x", "*"])
def test_part_of_a_name_chooses_nothing(name: str) -> None:
    with pytest.raises(sonnx_ort.SonnxError, match=f"there is no rule '{name.replace('*', '.')}'"):
        choose_rules(name)


@pytest.mark.parametrize("name", ["Broadcast.R1", "broadcast.int.C1", "Broadcast.E1.x"])
def test_rules_of_the_operator_are_named_where_one_is_not_there(name: str) -> None:
    with pytest.raises(sonnx_ort.SonnxError) as refused:
        choose_rules(name)
    assert str(refused.value) == (
        f"there is no rule '{name}'; choose from Broadcast.C1, Broadcast.E1, or their beginnings"
    )


def test_what_rules_begin_with_is_named_where_an_operator_is_not_there() -> None:
    with pytest.raises(sonnx_ort.SonnxError) as refused:
        choose_rules("Unheard.C1")
    beginnings = sorted({rule.split(".")[0] for rule in set(RULES)})
    assert str(refused.value) == (
        f"there is no rule 'Unheard.C1'; choose from {', '.join(beginnings)}; "
        "`sonnx-ort explain` lists all rules"
    )


@pytest.mark.parametrize("name", sorted(set(RULES)))
def test_every_rule_can_be_chosen(name: str) -> None:
    assert name in choose_rules(name)


def test_nothing_chosen_is_the_whole_report(whole: Report) -> None:
    assert whole.selected() == whole


def test_only_selected_rules_are_told_of(whole: Report) -> None:
    report = whole.selected("Div.int, GR4")
    assert {o.rule.id for o in report.obligations} == {
        *("Div.int.R1", "Div.int.R2", "Div.int.RG1", "Div.int.C1", "Div.int.C2")
    }
    assert {f.rule.id for f in report.findings} == {"GR4"}
    assert report.ok


def test_ignored_rules_are_not_told_of(whole: Report) -> None:
    report = whole.selected(ignore=["Div.int", "GR4"])
    assert {o.rule.id.rpartition(".")[0] for o in report.obligations} == {"Div.float"}
    assert {f.rule.id for f in report.findings} == {"GR2", "Graph.implicit_shape"}
    assert report.violations == whole.violations


@pytest.mark.parametrize(
    ("select", "ignore"),
    [("Div.int", ()), (None, "Div.float.R1"), ("Div", "Div.float"), (None, "GR4"), ("Sub", ())],
)
def test_what_is_left_out_is_counted(
    whole: Report, select: str | None, ignore: str | Sequence[str]
) -> None:
    report = whole.selected(select, ignore)
    for status, count in whole.counts.items():
        assert report.counts[status] + report.left_out.counts[status] == count
    assert len(report.findings) + report.left_out.findings == len(whole.findings)


def test_choosing_twice_counts_all(whole: Report) -> None:
    assert whole.selected("Div").selected(ignore="Div.float").left_out == (
        whole.selected("Div", "Div.float").left_out
    )


def test_summary_says_what_is_left_out(whole: Report) -> None:
    assert "left out" not in whole.summary()
    report = whole.selected(ignore="Div.float.R1,GR4")
    assert report.summary().endswith(
        "; left out: 2 rules with 0 proved, 0 runtime, 2 violated, 1 finding"
    )
    assert "\nrules left out: Div.float.R1, GR4\n" in text_report(report)


def test_operators_that_are_not_enforced_are_filtered_and_not_counted() -> None:
    whole = sonnx_ort.check(sonnx_ort.models.load("add_of_one_size"), operators="default")
    report = whole.selected(ignore="Add")
    assert whole.obligations
    assert not report.obligations
    assert report.left_out.counts == {"proved": 0, "runtime": 0, "violated": 0}
