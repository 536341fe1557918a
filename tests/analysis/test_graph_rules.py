"""The rules on graphs and on finite values, where they are asked for."""

import datetime as dt

import onnx
import pytest
from onnx import helper

import sonnx_ort
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.backends import BackendChoice
from sonnx_ort.errors import InvalidModel
from sonnx_ort.profile.graph import GRAPH_RULES
from sonnx_ort.profile.rule import Status
from support.backends import on_each_backend
from support.graphs import parse

KEPT = """(float[2] x) => (float[2] y) <float[2] w = {1, 2}, float[2] h> {
    [a] h = Add(x, w)
    [b] y = Sub(h, w)
}"""


def graph_obligations(made: onnx.ModelProto) -> list[Obligation]:
    obligations = sonnx_ort.check(made, operators="profile").obligations
    return [o for o in obligations if o.rule in GRAPH_RULES]


def violations(made: onnx.ModelProto, rule: str) -> list[tuple[str, str]]:
    """The places that violate a rule, each with the evidence."""
    found = [o for o in graph_obligations(made) if o.rule.id == rule]
    assert {o.status for o in found} == {Status.VIOLATED}
    return [(o.place, o.evidence) for o in found]


def test_graph_that_keeps_every_rule_has_one_proved_obligation_for_each() -> None:
    found = graph_obligations(parse(KEPT))
    assert [o.rule for o in found] == list(GRAPH_RULES)
    assert {(o.status, o.place) for o in found} == {(Status.PROVED, "the graph")}


LAYER = """(float[5,2,3] x, float[1,16,3] w, float[1,16,4] r, float[1,32] b, int32[2] s,
    float[1,2,4] i, float[1,12] p) => (float[] {}) {{
    [l] {} = LSTM<hidden_size = 4>(x, w, r, b, s, i, i, p)
}}"""
"""A layer that has all inputs, with an output of the graph and the outputs of the node."""

GRAPH_BREACHES = [
    ("Graph.operator_set", "(float[2] x) => (float[2] y) { [h] y = HardSigmoid(x) }",
     ("HardSigmoid 'h'", "HardSigmoid is not in the operator set, and no draft covers it")),
    (
        "Graph.operator_set",
        """(int64 n, bool c, float[2] x) => (float[2] y) {
            [turn] y = Loop(n, c, x) <body = g (int64 i, bool d, float[2] s) => (bool e, float[2] t)
                { e = Identity(d) t = Neg(s) }>
        }""",
        ("Loop 'turn'", "Loop is not in the operator set, and no draft covers it"),
    ),
    (
        "Graph.operator_set",
        """(float[3,2] x) => (float[3,2] y) {
            [scan] y = Scan <num_scan_inputs = 1, body = g (float[2] s) => (float[2] t)
                { t = Neg(s) }> (x)
        }""",
        ("Scan 'scan'", "Scan is not in the operator set, and no draft covers it"),
    ),
    ("Graph.operator_set", "(float[2] x) => (float[2] y) { [o] y = my.Add(x) }",
     ("Add 'o'", "my::Add is not in the operator set, and no draft covers it")),
    (
        "Graph.operator_set",
        """(bool c, float[2] x) => (float[2] y) {
            [choose] y = If(c) <
                then_branch = g () => (float[2] t) { [h] t = HardSigmoid(x) },
                else_branch = g () => (float[2] e) { e = Neg(x) }
            >
        }""",
        ("If 'choose'", "If is not in the operator set, and no draft covers it"),
        ("HardSigmoid 'h' in If 'choose' then_branch",
         "HardSigmoid is not in the operator set, and no draft covers it"),
    ),
    ("Graph.types", "(complex64[2,3] x) => (complex64[3,2] y) { [t] y = Transpose(x) }",
     ("Transpose 't'", "'x' is of type complex64, which SONNX does not allow"),
     ("Transpose 't'", "'y' is of type complex64, which SONNX does not allow")),
    ("Graph.types", "(float[2] x) => (float8e4m3fn[2] y) { [c] y = Cast<to = 17>(x) }",
     ("Cast 'c'", "'y' is of type float8e4m3fn, which SONNX does not allow")),
    ("Graph.types", "() => (bool[2] y) { [c] y = Constant<value = bool[2] {0, 1}>() }",
     ("Constant 'c'", "'y' is of type bool, which its draft does not list")),
    ("Graph.types", "() => (string[1] y) { [c] y = Constant<value = string[1] {\"a\"}>() }",
     ("Constant 'c'", "'y' is of type string, which its draft does not list")),
    ("Graph.deterministic", "() => (float[2] y) { [r] y = RandomNormal<shape = [2]>() }",
     ("RandomNormal 'r'", "RandomNormal draws random numbers")),
    ("Graph.deterministic",
     "(float[2] x, bool t) => (float[2] y) <float r = {0.5}> { [d] y = Dropout(x, r, t) }",
     ("Dropout 'd'", "Dropout draws random numbers")),
    ("Graph.deterministic", "(float[2] x) => (float[2] y) { [o] y = my.Add(x) }",
     ("Add 'o'", "whether my::Add is deterministic is not known")),
    ("Graph.inference", "(float[2] x) => (float[2] y) { [o] y = my.Add(x) }",
     ("Add 'o'", "whether my::Add trains is not known")),
    ("Graph.inference", "(float[2] x) => (float[2] y) { [d] y = Dropout(x) }",
     ("Dropout 'd'", "it is an operator for training")),
    (
        "Graph.inference",
        """(float[1,2] x, float[2] s) => (float[1,2] y) {
            [n] y, m, v = BatchNormalization<training_mode = 1>(x, s, s, s, s)
        }""",
        ("BatchNormalization 'n'", "it is in training mode"),
    ),
    ("Graph.dead_node", "(float[2] x) => (float[2] y) { [d] a = Neg(x) y = Abs(x) }",
     ("Neg 'd'", "none of its outputs contributes to an output of the graph")),
    ("Graph.unused_input", "(float[2] x, float[2] u) => (float[2] y) { y = Abs(x) }",
     ("input 'u'", "nothing reads it")),
    ("Graph.edges",
     "(float[1,1,4,4] x, float[1,1,2,2] w) => (float[1,1,3,3] y) { [c] y = Conv(x, w) }",
     ("Conv 'c'", "the input 'B' is left out")),
    ("Graph.edges", "(float[2] x, float h) => (float[2] y) { [c] y = Clip(x, , h) }",
     ("Clip 'c'", "the input 'min' is left out")),
    ("Graph.edges",
     "(float[1,1,4,4] x) => (float[1,1,3,3] y) { [m] y = MaxPool<kernel_shape = [2, 2]>(x) }",
     ("MaxPool 'm'", "the output 'Indices' is left out")),
    ("Graph.edges",
     """(float[1,2] x, float[2] s) => (float[1,2] y) {
         [n] y, m, v = BatchNormalization<training_mode = 1>(x, s, s, s, s) }""",
     ("BatchNormalization 'n'",
      "the output 'running_mean' is given, and the draft does not define it"),
     ("BatchNormalization 'n'",
      "the output 'running_var' is given, and the draft does not define it")),
    ("Graph.edges", LAYER.format("h", "y, h"),
     ("LSTM 'l'", "the output 'Y_h' is given, and the draft does not define it")),
    ("Graph.edges", LAYER.format("h", ", h"),
     ("LSTM 'l'", "the output 'Y' is left out"),
     ("LSTM 'l'", "the output 'Y_h' is given, and the draft does not define it")),
    (
        "Graph.edges",
        """(bool c, float[2] x) => (float[2] y) {
            [choose] y = If(c) <
                then_branch = g () => (float[2] t) { [s] t = Clip(x) },
                else_branch = g () => (float[2] e) { e = Neg(x) }
            >
        }""",
        ("Clip 's' in If 'choose' then_branch", "the input 'min' is left out"),
        ("Clip 's' in If 'choose' then_branch", "the input 'max' is left out"),
    ),
    ("Graph.unread",
     "(float[1,1,4,4] x) => (float[1,1,3,3] y) { y, i = MaxPool<kernel_shape = [2, 2]>(x) }",
     ("value 'i'", "nothing reads it, and it is no output of the graph")),
    ("Graph.unread", "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { y = Abs(x) }",
     ("initializer 'w'", "nothing reads it, and it is no output of the graph")),
    ("Graph.false_claim", "(float[2] x) => (float[2] y) <float[3] a> { a = Neg(x) y = Abs(a) }",
     ("value 'a'", "declared (3,), is (2,)")),
    ("Graph.implicit_shape", "(float[2] x) => (float[2] y) <float[] a> { a = Neg(x) y = Abs(a) }",
     ("value 'a'", "the file gives no shape")),
    ("GR2", "(float[2] x) => (float[2] y) { a = Neg(x) y = Abs(a) }",
     ("value 'a'", "the file gives no type")),
    ("GR3", "(float[2] x, int64[2] n) => (float[2] y) { [p] y = Pow(x, n) }",
     ("Pow 'p'", "X is float and Y is int64; one is converted")),
    ("GR4", "(int32[2] x) => (int32[2] y) { [m] y = Mod(x, x) }",
     ("Mod 'm'", "'fmod' is left out; ONNX assumes 0")),
]  # fmt: skip


@pytest.mark.satisfies(
    "Graph.false_claim Requirements.operator_set Requirements.operators",
    "Requirements.deterministic Requirements.inference Requirements.defaults",
    "Requirements.shapes Requirements.complete Requirements.tool",
    "Needs.THAV-002 Needs.AI-007 Needs.AI-008 Needs.BOSCH-001 Needs.BOSCH-002",
    "Graph.draft.control_flow Graph.draft.dead_node Graph.draft.edges Graph.draft.operators",
    "Guidelines.types Constant.draft.types",
    "Graph.draft.unread General.GR2 General.GR3 General.GR4 ArgMax.draft.given Slice.draft.R5",
)
@pytest.mark.parametrize(("rule", "graph", "places"), [(r, g, p) for r, g, *p in GRAPH_BREACHES])
def test_place_that_breaks_a_rule_violates_it(
    rule: str, graph: str, places: list[tuple[str, str]]
) -> None:
    assert violations(parse(graph, domains={"my": 1}), rule) == places


@pytest.mark.parametrize(
    ("graph", "remedies"),
    [
        (
            "(float[1,1,4,4] x, float[1,1,2,2] w) => (float[1,1,3,3] y) { y = Conv(x, w) }",
            ["give the input, such as a bias of zeros"],
        ),
        (
            LAYER.format("h", ", h"),
            [
                "conform with name_outputs=True, which makes it an output of the model",
                "leave the output out, and compute from the others what is read of it",
            ],
        ),
    ],
)
def test_edge_is_mended_by_what_it_lacks(graph: str, remedies: list[str]) -> None:
    report = sonnx_ort.check(parse(graph))
    assert [o.hint for o in report.violations if o.rule.id == "Graph.edges"] == remedies


@pytest.mark.parametrize(
    ("rule", "node", "place", "evidence"),
    [
        ("Graph.types", "y = Gather(a, i)", "Gather '(output y)'", "the type of 'a' is not known"),
        ("Graph.types", "y = Gather(a, i)", "Gather '(output y)'", "the type of 'y' is not known"),
        ("GR3", "y = Pow(a, i)", "Pow '(output y)'", "the type of X is not known"),
        ("GR3", "y = Pow(i, a)", "Pow '(output y)'", "the type of Y is not known"),
    ],
)
def test_type_that_is_not_known_is_none_that_a_rule_allows(
    rule: str, node: str, place: str, evidence: str
) -> None:
    graph = f"(float[2] x, int64[2] i) => (float[2] y) {{ a = my.Made(x) {node} }}"
    assert (place, evidence) in violations(parse(graph, domains={"my": 1}), rule)


CLAIMS = {
    "size of an input's name": (
        "(float[n] x) => (float[n] y) <float[3] a> { a = Neg(x) y = Abs(a) }",
        "'a' is declared (3,), and what is certain is (n,)",
    ),
    "size of an output": (
        "(float[n] x) => (float[3] y) { y = Abs(x) }",
        "'y' is declared (3,), and what is certain is (n,)",
    ),
    "rank that is not known": (
        "(float[n] x, int64[k] s) => (float[] y) <float[p] a> { a = Reshape(x, s) y = Abs(a) }",
        "'a' is declared (p,), and its rank is not known",
    ),
    "shape behind a scalar": (
        "(float x) => (float y) <float a> { a = Neg(x) y = Abs(a) }",
        (
            "'a' is declared (), and an input that it depends on is declared as a scalar, which "
            "may have any shape; the shape of another value is not proved either"
        ),
    ),
    "several values": (
        (
            "(float[n] x) => (float[2] y) <float[2] a, float[2] b>"
            " { a = Neg(x) b = Abs(a) y = Neg(b) }"
        ),
        (
            "'a' is declared (2,), and what is certain is (n,); the shapes of 2 other values are "
            "not proved either"
        ),
    ),
    "value of a body": (
        (
            "(float[n] x, bool[1] c) => (float[n] y) { y = If(c) <"
            "then_branch = t () => (float[3] p) { p = Neg(x) },"
            " else_branch = e () => (float[n] q) { q = Abs(x) }> }"
        ),
        "'p' is declared (3,), and what is certain is (n,)",
    ),
    "state of a Loop": (
        (
            "(int64[1] k, bool[1] c, float[n] x) => (float[n] y) { y = Loop<body = b "
            "(int64 i, bool g, float[3] s) => (bool h, float[n] t) { h = Identity(g) t = Neg(s) }>"
            "(k, c, x) }"
        ),
        "'s' is declared (3,), and what is certain is (n,)",
    ),
}
"""A graph that declares more than is certain, and what a report says of it."""


@pytest.mark.parametrize("case", CLAIMS)
def test_declared_shape_that_is_not_certain_is_not_proved(case: str) -> None:
    graph, evidence = CLAIMS[case]
    (found,) = (o for o in graph_obligations(parse(graph)) if o.rule.id == "Graph.false_claim")
    assert (found.status, found.evidence) == (Status.RUNTIME, evidence)


@pytest.mark.parametrize(
    "graph",
    [
        "(float[n] x) => (float[m] y) <float[k] a> { a = Neg(x) y = Abs(a) }",
        "(float[2, n] x) => (float[2, m] y) <float[2, k] a> { a = Neg(x) y = Abs(a) }",
        "(float[n] x) => (float[m] y) <float[1] a = {1}> { y = Mul(x, a) }",
    ],
    ids=["names alone", "a size that is certain", "an initializer"],
)
def test_declared_shape_that_is_certain_is_proved(graph: str) -> None:
    (found,) = (o for o in graph_obligations(parse(graph)) if o.rule.id == "Graph.false_claim")
    assert found.status is Status.PROVED


def test_node_of_a_function_has_its_standing_too() -> None:
    made = parse("(float[2] x) => (float[2] y) { [call] y = local.f(x) }", domains={"local": 1})
    function = onnx.parser.parse_function(
        '<domain: "local", opset_import: ["": 17]> f (x) => (y) { [inner] y = HardSigmoid(x) }'
    )
    made.functions.append(function)
    evidence = "HardSigmoid is not in the operator set, and no draft covers it"
    assert violations(made, "Graph.operator_set") == [("HardSigmoid 'call/inner'", evidence)]


@pytest.mark.satisfies("Requirements.inference")
def test_training_information_violates_the_rule_of_inference() -> None:
    made = parse(KEPT)
    made.training_info.add().algorithm.name = "sgd"
    evidence = "the file has training information"
    assert violations(made, "Graph.inference") == [("model 'training_info'", evidence)]


@pytest.mark.parametrize(
    "graph",
    [
        """(float[1,1,4,4] x) => (float[1,1,3,3] y, int64[1,1,3,3] i) {
            y, i = MaxPool<kernel_shape = [2, 2]>(x)
        }""",
        """(float[1,2] x, float[2] s) => (float[1,2] y) {
            y = BatchNormalization(x, s, s, s, s)
        }""",
        LAYER.format("y", "y"),
        "(float[2] x) => (float[2] y, float[2] w) <float[2] w = {1, 2}> { y = Abs(x) }",
        "(float[2] x) => (float[2] y) <float[2] w = {1, 2}> { d = Neg(w) y = Abs(x) }",
    ],
)
def test_graph_leaves_out_nothing_and_has_nothing_unread(graph: str) -> None:
    """Outputs are those of the draft, and what a dead node reads is read."""
    rules = {o.rule.id: o.status for o in graph_obligations(parse(graph))}
    assert {rules["Graph.edges"], rules["Graph.unread"]} == {Status.PROVED}


@pytest.mark.parametrize(
    ("activations", "left_out"),
    [
        ("", ["activations"]),
        (', activations = ["Relu", "Tanh", "Tanh"]', []),
        (', activations = ["Sigmoid", "Softsign", "Softplus"]', []),
        (', activations = ["Sigmoid", "Elu", "Tanh"]', ["activation_alpha"]),
        (', activations = ["Sigmoid", "LeakyRelu", "Tanh"]', ["activation_alpha"]),
        (
            ', activations = ["HardSigmoid", "Tanh", "Tanh"]',
            ["activation_alpha", "activation_beta"],
        ),
        (', activations = ["Mine", "Tanh", "Tanh"]', ["activation_alpha", "activation_beta"]),
    ],
)
def test_parameters_of_functions_are_demanded_where_a_function_has_them(
    activations: str, left_out: list[str]
) -> None:
    graph = LAYER.format("y", "y").replace("hidden_size = 4", f"hidden_size = 4{activations}")
    told = [evidence for _, evidence in violations(parse(graph), "GR4") if "activation" in evidence]
    assert sorted(evidence.split("'")[1] for evidence in told) == left_out


@pytest.mark.parametrize(
    "graph",
    [
        "(bfloat16[2,3] x) => (bfloat16[3,2] y) { y = Transpose(x) }",
        "(string[2] x) => (string[2] y) { y = Identity(x) }",
        "(bool[2] x, int64[1] i) => (bool[1] y) { y = Gather(x, i) }",
        "(float[2] x) => (bfloat16[2] y) { y = Cast<to = 16>(x) }",
        "(complex64[2] x) => (int64[1] y) { y = Shape(x) }",
        "() => (uint16[1] y) { y = Constant<value = uint16[1] {3}>() }",
    ],
)
def test_types_that_sonnx_allows_keep_the_rule(graph: str) -> None:
    """An operator with a list of its own has a rule of its own."""
    assert [o.status for o in graph_obligations(parse(graph)) if o.rule.id == "Graph.types"] == [
        Status.PROVED
    ]


@pytest.mark.satisfies("Requirements.versions", "Needs.THAV-001")
@pytest.mark.parametrize("alias", ["", "ai.onnx"])
def test_domain_in_two_versions_is_refused(alias: str) -> None:
    made = parse(KEPT, opset=17)
    made.opset_import.append(helper.make_opsetid(alias, 18))
    with pytest.raises(InvalidModel) as caught:
        graph_obligations(made)
    assert str(caught.value) == (
        "the domain 'ai.onnx' is imported twice, in the versions 17 and 18; keep one of them"
    )


@pytest.mark.satisfies("Requirements.versions", "Needs.THAV-001")
@pytest.mark.parametrize(
    ("graph", "imported", "domain"),
    [
        (KEPT, {"my": 1}, ""),
        ("(float[2] x) => (float[2] y) { y = my.Div(x) }", {"": 17}, "my"),
    ],
)
def test_model_without_a_version_of_an_operator_is_refused(
    graph: str, imported: dict[str, int], domain: str
) -> None:
    made = parse(graph)
    del made.opset_import[:]
    made.opset_import.extend(helper.make_opsetid(*each) for each in imported.items())
    with pytest.raises(InvalidModel) as caught:
        graph_obligations(made)
    assert f"No opset import for domain '{domain}'" in str(caught.value)


def test_every_node_has_one_standing() -> None:
    made = parse(
        "(float[2] x) => (float[2] y) { a = Div(x, x) b = Erf(a) c = Celu(b) y = my.Div(c) }",
        domains={"my": 1},
    )
    assert sonnx_ort.check(made, operators="default").standings == {
        "a draft": 1,
        "rules of sonnx_ort": 0,
        "general restrictions only": 1,
        "outside the profile": 2,
    }


@pytest.mark.parametrize("operators", ["default", "elementwise", "profile,-Graph"])
def test_rules_on_graphs_are_findings_unless_they_are_asked_for(operators: str) -> None:
    made = parse("(float[2] x, float[2] u) => (float[2] y) { a = HardSigmoid(x) y = Abs(a) }")
    report = sonnx_ort.check(made, operators=operators)
    assert report.ok
    assert {f.rule.id for f in report.findings} == {
        *("GR2", "GR4", "Graph.implicit_shape", "Graph.unused_input")
    }


def test_rules_on_graphs_can_be_asked_for_alone() -> None:
    report = sonnx_ort.check(parse(KEPT), operators="Graph")
    assert {o.rule for o in report.enforced} == set(GRAPH_RULES)


def test_profile_and_all_are_names_of_the_same() -> None:
    reports = [sonnx_ort.check(parse(KEPT), operators=name) for name in ("profile", "all")]
    assert reports[0].demands == reports[1].demands


def test_name_behind_a_hyphen_is_left_out() -> None:
    report = sonnx_ort.check(parse(KEPT), operators="profile,-Add,-Graph")
    assert {o.operator for o in report.enforced} == {"Sub"}


BROKEN_BESIDE_A_DIV = {
    "GR2 and Graph.implicit_shape": (
        "(float[3] x, float[3] w) => (float[3] y) { t = Abs(x) y = Div(t, w) }"
    ),
    "Graph.implicit_shape": (
        "(float[n] x, float[n] w) => (float[n] y) <float[] t> { t = Div(x, w) y = Abs(t) }"
    ),
    "GR4": "(int32[n] x, int32[n] w) => (int32[n] y) <int32[n] t> { t = Div(x, w) y = Mod(t, w) }",
    "Graph.edges": (
        "(float[n] x, float[n] w) => (float[n] y) <float[n] t> { t = Div(x, w) y = Clip(t) }"
    ),
    "Graph.unread": (
        "(float[n] x, float[n] w) => (float[n] y) <float[1] u = {1}> { y = Div(x, w) }"
    ),
    "Graph.false_claim of a size": (
        "(float[2] x, float[2] w) => (float[2] y) <float[3] t> { t = Abs(x) y = Div(t, w) }"
    ),
    "Graph.false_claim of a rank": (
        "(float[n] x, float[n] w) => (float[n] y) <float[n,n] t> { t = Abs(x) y = Div(t, w) }"
    ),
    "what a Loop collects has no shape": (
        "(int64 k, bool c, float[2] x, float[2] w) => (float[?,?] y) { y = Loop<body = b "
        "(int64 i, bool g) => (bool h, float[] o) { h = Identity(g) o = Div(x, w) }>(k, c) }"
    ),
    "what a branch gives has no shape": (
        "(bool c, float[2] x, float[2] w) => (float[2] y) { y = If(c) <then_branch = t () => "
        "(float[] p) { p = Div(x, w) }, else_branch = e () => (float[] q) { q = Sub(x, w) }> }"
    ),
}
"""Models that a rewrite of Div and Sub accepts, and whose file breaks a rule on graphs."""


@on_each_backend
class TestRewriting:
    def test_graph_that_breaks_a_rule_is_rejected(self, backend: str) -> None:
        made = parse("(float[2] x) => (float[2] y) { [h] y = HardSigmoid(x) }")
        with pytest.raises(sonnx_ort.ModelRejected) as caught:
            sonnx_ort.rewrite(made, operators="profile", backend=backend)
        assert "HardSigmoid 'h': Graph.operator_set violated" in str(caught.value)

    def test_twice_changes_nothing(self, backend: str) -> None:
        once = sonnx_ort.rewrite(parse(KEPT), operators="profile", backend=backend)
        twice = sonnx_ort.rewrite(once, operators="profile", backend=backend)
        assert twice == once

    def test_waived_breach_has_to_be_waived_again(self, backend: str) -> None:
        made = parse("(float[n] x) => (float[n] y) { [h] y = HardSigmoid<alpha=0.5, beta=0.5>(x) }")
        waiver = sonnx_ort.Waiver(
            "Graph.operator_set", "h", "it is piecewise linear", "a reviewer", dt.date(2999, 1, 1)
        )
        choices = {"operators": "profile", "backend": backend}
        once = sonnx_ort.rewrite(made, waivers=[waiver], **choices)
        assert sonnx_ort.rewrite(once, waivers=[waiver], **choices) == once
        with pytest.raises(sonnx_ort.ModelRejected):
            sonnx_ort.rewrite(once, **choices)

    def test_values_that_rewrite_adds_violate_no_rule(self, backend: str) -> None:
        made = sonnx_ort.rewrite(
            parse("(float[n] x, float[n] w) => (float[m] y) { [d] y = Div(x, w) }"),
            operators="profile",
            backend=backend,
        )
        found = graph_obligations(made)
        assert [(o.rule, o.status) for o in found] == [(r, Status.PROVED) for r in GRAPH_RULES]

    @pytest.mark.parametrize("graph", BROKEN_BESIDE_A_DIV.values(), ids=BROKEN_BESIDE_A_DIV)
    def test_rewritten_model_breaks_the_rules_that_its_original_breaks(
        self, graph: str, backend: str
    ) -> None:
        made = parse(graph)
        before, after = (
            [(o.rule.id, o.place, o.status, o.evidence) for o in graph_obligations(each)]
            for each in (made, sonnx_ort.rewrite(made, backend=backend))
        )
        assert after == before
        assert any(status is Status.VIOLATED for *_, status, _ in before)

    def test_make_explicit_writes_down_what_the_rules_want(self, backend: str) -> None:
        made = parse("(float[2] x) => (float[2] y) { a = Neg(x) y = Abs(a) }")
        rewritten = sonnx_ort.rewrite(
            made, operators="profile", make_explicit=True, backend=backend
        )
        assert [value.name for value in rewritten.graph.value_info] == ["a"]


GRAPH = """(float[n] x, bool c) => (float[n] y, int64[1] s, float[2] w) {
    [relu] h = Relu(x)
    s = Shape(h)
    [unread] u = Exp(x)
    [if] z = If(c) <
        then_branch = t () => (float[n] a) { [log] a = Log(h) },
        else_branch = e () => (float[n] b) { [neg] b = Neg(h) }
    >
    [out] y = Identity(z)
    [c] w = Constant<value = float[2] {1.0, 2.0}>()
}"""


def finite_obligations(operators: str, graph: str = GRAPH) -> list[tuple[str, str, str]]:
    found = sonnx_ort.check(parse(graph), operators=operators).obligations
    return [(o.place, o.status, o.evidence) for o in found if o.rule.id == "Graph.finite"]


OPEN = "the elements of output depend on the inputs"
CONSTANT = ("Constant 'c'", "proved", "every element of output 'w' lies in 1 to 2")


def test_float_outputs_have_one_each() -> None:
    assert finite_obligations("Graph.finite") == [("Identity 'out'", "runtime", OPEN), CONSTANT]


def test_every_float_that_is_read_has_one() -> None:
    assert finite_obligations("Graph.finite_values") == [
        ("Relu 'relu'", "runtime", OPEN),
        ("If 'if'", "runtime", OPEN),
        ("Log 'log' in If 'if' then_branch", "runtime", OPEN),
        ("Neg 'neg' in If 'if' else_branch", "runtime", OPEN),
        ("Identity 'out'", "runtime", OPEN),
        CONSTANT,
    ]


@pytest.mark.parametrize("operators", ["default", "elementwise", "profile", "all", "Graph"])
def test_it_is_part_of_no_group(operators: str) -> None:
    assert not finite_obligations(operators)


def test_it_can_be_left_out_again() -> None:
    assert not finite_obligations("Graph.finite_values,-Graph.finite_values")


def test_constant_tells_its_first_element_that_is_not_finite() -> None:
    graph = "() => (float[2] w) { [c] w = Constant<value = float[2] {1.0, inf}>() }"
    assert finite_obligations("Graph.finite", graph) == [
        ("Constant 'c'", "violated", "the constant output 'w' is NaN or infinite at [1]")
    ]


@pytest.mark.parametrize("backend", ["python", "native", "compiled"])
def test_value_of_unknown_type_is_refused_when_it_is_enforced(backend: BackendChoice) -> None:
    made = parse(
        "(float[n] x) => (float[n] y) { [custom] h = other.Custom(x) y = Identity(h) }",
        domains={"other": 1},
    )
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(made, operators="Graph.finite_values", backend=backend)
    assert str(caught.value) == (
        "Graph.finite: the element type of 'h', which Custom 'custom' computes, is unknown; "
        "declare it in value_info"
    )
