"""What no rule speaks of is counted, wherever it stands."""

import pytest

import sonnx_ort
from support.graphs import parse

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
        "0 obligations: 0 proved, 0 runtime, 0 violated; "
        "0 findings; 1 node not looked at"
    )
