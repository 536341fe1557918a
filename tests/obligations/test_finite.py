"""The obligations of `Graph.finite`, where it is asked for."""

import pytest

import sonnx_ort
from support.graphs import parse

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


OPEN = "the elements of output are known only in a run"
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


def test_value_of_unknown_type_is_refused_when_it_is_enforced() -> None:
    made = parse(
        "(float[n] x) => (float[n] y) { [custom] h = other.Custom(x) y = Identity(h) }",
        domains={"other": 1},
    )
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(made, operators="Graph.finite_values")
    assert str(caught.value) == (
        "Graph.finite: the element type of 'h', which Custom 'custom' computes, is unknown; "
        "declare it in value_info"
    )
