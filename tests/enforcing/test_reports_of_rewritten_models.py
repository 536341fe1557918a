"""The report of a rewritten model is that of its original: the added nodes are known."""

import pytest

import sonnx_ort
from support.backends import BACKENDS
from support.graphs import parse

MODELS = {
    "elements": "(float[n] x, float[n] w) => (float[n] y) { a = Div(x, w) y = Sub(a, w) }",
    "broadcast": "(float[n,m] x, float[m] w) => (float[n,m] y) { y = Div(x, w) }",
    "many operands": "(float[n] x, float[m] w, float[k] u) => (float[n] y) { y = Max(x, w, u) }",
    "standard node": "(bool[n] c, float[n] x, float[m] w) => (float[n] y) { y = Where(c, x, w) }",
    "shapes": "(float[n,k] x, float[k,m] w) => (float[n,m] y) { y = MatMul(x, w) }",
    "scalars": "(float[n] x, float l, float h) => (float[n] y) { y = Clip(x, l, h) }",
    "Broadcast": "(float[n] x) => (float[n] y) { a, b = sonnx.Broadcast(x, x) y = Div(a, b) }",
    "branch": (
        "(float[n] x, float[n] w, bool c) => (float[n] y) { y = If(c) <then_branch = t () => "
        "(float[n] p) { p = Div(x, w) }, else_branch = e () => (float[n] q) { q = Sub(x, w) }> }"
    ),
}


def counted(report: sonnx_ort.Report) -> dict[str, tuple[int, str]]:
    return {each.operator: (each.nodes, str(each.extent)) for each in report.coverage}


@BACKENDS
@pytest.mark.parametrize("name", MODELS)
def test_nodes_are_those_of_the_original(name: str, backend: str) -> None:
    choices = {"operators": "profile,-Graph", "broadcast": "explicit"}
    original = parse(MODELS[name], domains={"sonnx": 1})
    rewritten = sonnx_ort.rewrite(original, backend=backend, **choices)
    assert counted(sonnx_ort.check(rewritten, **{"operators": "default", **choices})) == counted(
        sonnx_ort.check(original, **{"operators": "default", **choices})
    )


@BACKENDS
@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_found_that_rewrite_made(name: str, backend: str) -> None:
    rewritten = sonnx_ort.rewrite(
        parse(MODELS[name], domains={"sonnx": 1}), backend=backend, broadcast="explicit"
    )
    assert sonnx_ort.check(rewritten, operators="default", broadcast="explicit").findings == ()


@BACKENDS
@pytest.mark.parametrize("name", ["elements", "broadcast", "many operands", "shapes", "scalars"])
def test_whole_profile_is_kept_by_what_rewrite_made(name: str, backend: str) -> None:
    choices = {"operators": "profile", "broadcast": "explicit"}
    original = parse(MODELS[name], domains={"sonnx": 1})
    rewritten = sonnx_ort.rewrite(original, backend=backend, make_explicit=True, **choices)
    assert sonnx_ort.check(rewritten, **{"operators": "default", **choices}).violations == ()
    assert sonnx_ort.rewrite(rewritten, backend=backend, **choices) == rewritten
