"""One obligation for each rule at each node, wherever the node stands; none is dropped."""

from collections.abc import Iterable

import pytest

import sonnx_ort
from sonnx_ort import Contract, ValueContract
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.profile.rule import Status
from support.graphs import binary_model, parse

DOMAINS = {"sonnx": 1, "local": 1}
FUNCTION = '<opset_import: ["" : 17, "local" : 1], domain: "local">'


def obligations(graph: str, functions: str = "", **choices: str) -> tuple[Obligation, ...]:
    made = parse(f"{graph} {functions}", domains=DOMAINS)
    return sonnx_ort.check(made, **{"operators": "default", **choices}).obligations


def shape_rules(found: Iterable[Obligation]) -> list[Obligation]:
    return [o for o in found if o.rule.id.endswith(".R1")]


@pytest.mark.parametrize(
    ("operator", "element_type", "edition", "rules"),
    [
        ("Div", "float", "typed", "Div.float.R2 Div.float.RG1 Div.float.R1"),
        (*("Div", "int32", "typed"), "Div.int.R2 Div.int.RG1 Div.int.R1 Div.int.C1 Div.int.C2"),
        ("Div", "bfloat16", "preliminary", "Div.R3 Div.R2 Div.R1 Div.R4 Div.R5"),
        ("Div", "uint8", "preliminary", "Div.R3 Div.R2 Div.R1 Div.R4 Div.R5 Div.int.C2"),
        ("Sub", "double", "typed", "Sub.float.R2 Sub.float.RG1 Sub.float.R1"),
        ("Sub", "int64", "typed", "Sub.int.R2 Sub.int.RG1 Sub.int.R1"),
        ("Sub", "int8", "preliminary", "Sub.R3 Sub.R2 Sub.R1"),
    ],
)
def test_every_rule_that_binds_a_node_is_there_once(
    operator: str, element_type: str, edition: str, rules: str
) -> None:
    made = binary_model(operator, element_type, ["n"], ["n"], c_shape=["n"])
    found = sonnx_ort.check(made, operators="default", edition=edition).obligations
    assert [o.rule.id for o in found] == rules.split()
    assert {(o.operator, o.node) for o in found} == {(operator, "the_node")}


def test_rules_of_all_families_bind_a_node_of_unknown_type() -> None:
    found = obligations("(float[2] x) => (float[] z) { a = local.Mystery(x) z = Div(a, a) }")
    assert [o.rule.id for o in found] == [
        *("Div.float.R2", "Div.float.RG1", "Div.float.R1"),
        *("Div.int.R2", "Div.int.RG1", "Div.int.R1", "Div.int.C1", "Div.int.C2"),
    ]
    assert {o.rule.id for o in found if o.status is Status.PROVED} == {
        *("Div.float.RG1", "Div.int.RG1"),
        # Both operands are one value.
        *("Div.float.R1", "Div.int.R1"),
    }


@pytest.mark.parametrize(
    ("graph", "path", "place"),
    [
        (
            (
                "(float[n] x, bool c) => (float[] z) { [choose] z = If(c) <"
                "then_branch = t () => (float[] p) { [inner] p = Div(x, x) },"
                " else_branch = e () => (float[] q) { q = Relu(x) }> }"
            ),
            ("If 'choose' then_branch",),
            "Div 'inner' in If 'choose' then_branch",
        ),
        (
            (
                '(float[n] x, int64 t) => (float[] z) { [again] z = Loop(t, "", x) <body = b'
                " (int64 i, bool go, float[] s) => (bool still, float[] o)"
                " { still = Identity(go) [inner] o = Div(s, s) }> }"
            ),
            ("Loop 'again' body",),
            "Div 'inner' in Loop 'again' body",
        ),
        (
            (
                "(float[n] x, float[r, n] y) => (float[] z) { [over] a, z = Scan<"
                "num_scan_inputs = 1,"
                " body = b (float[n] s, float[n] e) => (float[n] o, float[n] k)"
                " { o = Identity(s) [inner] k = Div(e, s) }>(x, y) }"
            ),
            ("Scan 'over' body",),
            "Div 'inner' in Scan 'over' body",
        ),
        (
            (
                "(float[n] x, bool c) => (float[] z) { [outer] z = If(c) <"
                "then_branch = t () => (float[] p) { [choose] p = If(c) <"
                "then_branch = tt () => (float[] pp) { pp = Relu(x) },"
                " else_branch = ee () => (float[] qq) { [inner] qq = Sub(x, x) }> },"
                " else_branch = e () => (float[] q) { q = Relu(x) }> }"
            ),
            ("If 'outer' then_branch", "If 'choose' else_branch"),
            "Sub 'inner' in If 'choose' else_branch in If 'outer' then_branch",
        ),
    ],
    ids=["If", "Loop", "Scan", "nested"],
)
def test_node_in_a_body_is_there_with_its_path(
    graph: str, path: tuple[str, ...], place: str
) -> None:
    (found,) = shape_rules(obligations(graph))
    assert (found.path, found.place) == (path, place)


@pytest.mark.satisfies("Graph.draft.functions")
def test_node_in_a_function_is_there_once_for_each_call() -> None:
    found = obligations(
        "(float[n] x, float[m] y) => (float[] z, float[] w)"
        " { [first] z = local.outer(x, x) [second] w = local.outer(x, y) }",
        f"{FUNCTION} outer (a, b) => (c) {{ [call] c = local.fun(a, b) }}"
        f"{FUNCTION} fun (a, b) => (c) {{ [inner] c = Div(a, b) }}",
    )
    assert [(o.node, o.status) for o in shape_rules(found)] == [
        ("first/call/inner", Status.PROVED),
        ("second/call/inner", Status.RUNTIME),
    ]


def test_unnamed_node_is_spoken_of_by_its_output() -> None:
    (found,) = shape_rules(obligations("(float[n] x) => (float[] z) { z = Div(x, x) }"))
    assert (found.node, found.place) == ("(output z)", "Div '(output z)'")


def test_operands_are_told_with_where_they_come_from() -> None:
    found = obligations(
        "(float[n, 3] x) => (float[] z) <float[3, 2] w = {1, 2, 3, 4, 5, 6}>"
        " { c = Constant<value = float[2] {1, 2}>() [m] a = MatMul(x, w) [d] z = Div(a, c) }"
    )
    (rule,) = (o for o in found if o.rule.id == "Div.float.R1")
    assert [str(operand) for operand in rule.operands] == [
        "A 'a' float (n, 2) [MatMul 'm']",
        "B 'c' float (2,) [Constant]",
    ]


@pytest.mark.parametrize(("divisor", "rule", "status", "evidence"), [
    ("d = Constant<value = int32[2] {1, 2}>()", "Div.int.C1", Status.PROVED,
     "every element of B 'd' lies in 1 to 2"),
    ("d = Constant<value = int32[2] {-1, 2}>()", "Div.int.C1", Status.PROVED,
     "no element of the constant B 'd' is zero"),
    ("d = Constant<value = int32[2] {3, 0}>()", "Div.int.C1", Status.VIOLATED,
     "the constant B 'd' is zero at [1]"),
    ("d = Neg(y)", "Div.int.C1", Status.RUNTIME,
     "the elements of B depend on the inputs"),
    ("d = Constant<value = int32[2] {-1, 2}>()", "Div.int.C2", Status.RUNTIME,
     "the elements depend on the inputs"),
])  # fmt: skip
def test_constant_and_its_index_or_the_interval_of_elements_is_the_evidence(
    divisor: str, rule: str, status: Status, evidence: str
) -> None:
    graph = f"(int32[2] a, int32[2] y) => (int32[] z) {{ {divisor} z = Div(a, d) }}"
    (found,) = [o for o in obligations(graph) if o.rule.id == rule]
    assert (found.status, found.evidence) == (status, evidence)


class TestExplicitBroadcasting:
    """A Broadcast in front has an obligation of its own, and takes over the one about shapes."""

    @pytest.mark.parametrize(
        ("b", "shape", "e1", "evidence"),
        [
            ("float[3] b", Status.PROVED, Status.RUNTIME, "axis 0 is n against 1"),
            ("float[m] b", Status.PROVED, Status.RUNTIME, "axis 0 is n against 1"),
            ("float[4] b", Status.PROVED, Status.VIOLATED, "axis 1 has size 3 in A and 4 in B"),
            ("float[] b", Status.PROVED, Status.RUNTIME, "the rank of B is unknown"),
        ],
        ids=str,
    )
    def test_shapes_that_differ(self, b: str, shape: Status, e1: Status, evidence: str) -> None:
        found = obligations(
            f"(float[n, 3] a, {b}) => (float[] z) {{ z = Div(a, b) }}", broadcast="explicit"
        )
        by_rule = {o.rule.id: o for o in found}
        assert by_rule["Div.float.R1"].status is shape
        broadcast = by_rule["Broadcast.E1"]
        assert (broadcast.operator, broadcast.node) == ("Broadcast", "(output z)")
        assert (broadcast.status, broadcast.evidence) == (e1, evidence)

    def test_equal_shapes_need_no_broadcast(self) -> None:
        found = obligations(
            "(float[n, 3] a) => (float[] z) { z = Div(a, a) }", broadcast="explicit"
        )
        assert [o.rule.id for o in found] == ["Div.float.R2", "Div.float.RG1", "Div.float.R1"]

    def test_result_of_legacy_broadcasting_has_the_shape_of_the_first_operand(self) -> None:
        made = parse(
            "(float[3, 1] x, float[3] y) => (float[] z)"
            " { d = Div<broadcast = 1, axis = 0>(x, y) z = Sub(d, x) }",
            opset=6,
        )
        found = {
            o.rule.id: o
            for o in sonnx_ort.check(made, operators="default", broadcast="explicit").obligations
        }
        assert found["Sub.float.R1"].evidence == "both shapes are (3, 1)"


def test_own_broadcast_of_a_model_has_obligations() -> None:
    found = obligations(
        "(float[2, 3] x, float[2] y) => (float[] z) { z, w = sonnx.Broadcast(x, y) }"
    )
    assert [(o.rule.id, o.operator, o.status) for o in found] == [
        ("Broadcast.E1", "Broadcast", Status.VIOLATED),
        ("Broadcast.C1", "Broadcast", Status.PROVED),
    ]


def test_obligations_stand_in_the_order_of_the_graph() -> None:
    graph = "(float[n] x) => (float[] z) { [a] a = Sub(x, x) [b] b = Div(x, a) [c] z = Sub(b, a) }"
    assert list(dict.fromkeys(o.node for o in obligations(graph))) == ["a", "b", "c"]


def test_obligation_in_words() -> None:
    (found,) = shape_rules(
        obligations("(float[2, 3] x, float[3] y) => (float[] z) { [ratio] z = Div(x, y) }")
    )
    assert str(found) == (
        "Div 'ratio': Div.float.R1 violated: rank 2 is not rank 1\n"
        "    A 'x' float (2, 3) [input]\n"
        "    B 'y' float (3,) [input]\n"
        "    the rule: Tensors A, B and C must have the same shape. "
        "(SONNX Div, typed edition, section FP16, FP32, FP64, BFLOAT16 [R1])\n"
        '    to fix it: rewrite with broadcast="explicit", which expands B from '
        "(3,) to (2, 3)"
    )


def test_integer_to_the_power_of_a_constant_float_breaks_the_rule_of_types() -> None:
    report = sonnx_ort.check(
        parse("(int32[2] x) => (int32[2] z) <float[2] y = {0.5, 2}> { z = Pow(x, y) }"),
        operators="default",
    )
    assert [o.rule.id for o in report.obligations if o.status == "violated"] == ["Pow.int.R2"]


@pytest.mark.parametrize(
    ("kind", "contract", "told"),
    [
        ("int32", Contract((ValueContract("x", (0, 5)),)), {"least": 0, "most": 5}),
        ("float", Contract((ValueContract("x", (0, 5)),)), {"least": 0.0, "most": 5.0}),
        ("float", Contract(), None),
    ],
    ids=["integers", "floats", "nothing known"],
)
def test_interval_of_integers_or_of_floats_stands_in_the_document(
    kind: str, contract: Contract, told: dict[str, float] | None
) -> None:
    model = parse(f"({kind}[n] x) => ({kind}[n] z) {{ z = Div(x, x) }}")
    document = sonnx_ort.check(model, operators="Div", contract=contract).to_document()
    (found,) = (o for o in document["obligations"] if o["rule"].endswith(".R1"))
    assert [operand.get("range") for operand in found["operands"]] == [told, told]
