"""What follows from constants alone is known before any run, exactly and within limits."""

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.analysis.facts import Facts
from sonnx_ort.loading.canonical import load
from sonnx_ort.profile.judgement import Status
from support.graphs import parse

HEAD = "(int32[2] x) => (int32[2] z) <int32[2] c = {4, -5}, int32[2] e = {3, 2}>"


def divides_by(nodes: str) -> onnx.ModelProto:
    return parse(f"{HEAD} {{ {nodes} [divide] z = Div(x, b) }}")


def known(made: onnx.ModelProto) -> np.ndarray | None:
    graph = load(made).graph_model
    divisor = next(node for node in graph.graph if node.name == "divide").inputs[1]
    assert divisor is not None
    return Facts(graph).constant(divisor)


@pytest.mark.parametrize(
    ("nodes", "expected"),
    [
        ("b = Add(c, e)", [7, -3]),
        ("b = Div(c, e)", [1, -2]),
        ("p = Mul(c, e) q = Sub(p, c) b = Neg(q)", [-8, 5]),
        ("s = Shape(x) t = Cast<to = 6>(s) b = Expand(t, s)", None),
        ("s = Shape(c) t = Cast<to = 6>(s) b = Expand(t, s)", [2, 2]),
        ("p = Less(c, e) b = Where(p, c, e)", [3, -5]),
        ("s = Constant<value = int32 {2}>() b = Div(c, s)", [2, -2]),
        ("s = Constant<value = int32 {0}>() b = Div(c, s)", None),
    ],
)
def test_integers_are_computed_as_in_a_run(nodes: str, expected: list[int] | None) -> None:
    elements = known(divides_by(nodes))
    assert (None if elements is None else elements.tolist()) == expected


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param("b = Sub(x, c)", id="an input"),
        pytest.param("r = RandomNormal<shape = [2]>() b = Cast<to = 6>(r)", id="random numbers"),
        pytest.param("f = Cast<to = 1>(c) g = Sqrt(f) b = Cast<to = 6>(g)", id="floats"),
        pytest.param("p = Sub(c, c) b = Div(e, p)", id="a rule is broken before"),
        pytest.param("b = Mod(c, e)", id="an operator that is not on the list"),
    ],
)
def test_nothing_is_claimed_of(nodes: str) -> None:
    assert known(divides_by(nodes)) is None


def test_broken_rule_is_a_violation_before_any_session_starts() -> None:
    report = sonnx_ort.check(divides_by("p = Sub(c, e) q = Add(p, e) b = Sub(c, q)"))
    (violation,) = report.violations
    assert (violation.rule.id, violation.status) == ("Div.int.C1", Status.VIOLATED)
    assert violation.evidence == "the constant B 'b' is zero at [0]"


@pytest.mark.parametrize("backend", ["native", "python"])
def test_broken_rule_is_rejected_by_each_backend(backend: str) -> None:
    with pytest.raises(sonnx_ort.ModelRejected, match=r"Div\.int\.C1"):
        sonnx_ort.rewrite(divides_by("b = Sub(c, c)"), backend=backend)


def test_large_tensors_are_not_computed() -> None:
    made = parse(
        "(int64[9000] x) => (int64[9000] z) <int64[1] size = {9000}> {"
        " ones = ConstantOfShape<value = int64[1] {1}>(size) b = Neg(ones)"
        " [divide] z = Div(x, b) }"
    )
    assert known(made) is None


@pytest.mark.parametrize(("length", "computed"), [(200, True), (400, False)])
def test_long_chains_are_not_computed(length: int, computed: bool) -> None:
    # Twice as many paths lead to each further value.
    nodes = " ".join(f"v{i + 1} = Sub(v{i}, v{i})" for i in range(length))
    elements = known(divides_by(f"v0 = Identity(c) {nodes} b = Identity(v{length})"))
    assert (elements is not None) is computed
