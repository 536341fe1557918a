"""`operators=` chooses whose rules are enforced; `check` tells of all of them."""

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.reporting.text_report import text_report
from support.backends import BACKENDS
from support.graphs import parse

MADE = """
    (float[n] x, float[m] y) => (float[] z) {
        [difference] a = Sub(x, y)
        [kept] b = Relu(a)
        [ratio] z = Div(b, x)
    }"""
CALLING = parse(
    "(float[n] x, float[m] y) => (float[] z) { [call] z = local.f(x, y) }"
    '<domain: "local", opset_import: ["": 17]> f (p, q) => (r) { r = Sub(p, q) }',
    domains={"local": 1},
)


def operators(made, **choices) -> list[str]:
    rewritten = sonnx_ort.rewrite(made, **choices)
    return [f"{n.domain}::{n.op_type}" if n.domain else n.op_type for n in rewritten.graph.node]


@pytest.mark.parametrize(
    ("chosen", "expected"),
    [
        ("default", ["sonnx::CheckedSub", "Reshape", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        ("Sub", ["sonnx::CheckedSub", "Reshape", "Relu", "Div"]),
        (["Div"], ["Sub", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        (("Div", "Sub"), ["sonnx::CheckedSub", "Reshape", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        ("Div, default", ["sonnx::CheckedSub", "Reshape", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        ("all,-Graph", ["sonnx::CheckedSub", "Reshape", "Relu", "sonnx::CheckedDiv", "Reshape"]),
        ([], ["Sub", "Relu", "Div"]),
    ],
    ids=str,
)
def test_only_chosen_operators_are_enforced(chosen, expected) -> None:
    assert operators(parse(MADE), operators=chosen) == expected


@BACKENDS
def test_others_run_as_they_are(backend: str) -> None:
    session = sonnx_ort.InferenceSession(parse(MADE), operators="Div", backend=backend)
    feeds = {"x": np.array([1, 2], np.float32), "y": np.array([1], np.float32)}
    assert session.run(None, feeds)[0].tolist() == [0, 0.5]
    held = sonnx_ort.InferenceSession(parse(MADE), operators="Sub", backend=backend)
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        held.run(None, feeds)
    assert (caught.value.rule, caught.value.node) == ("Sub.float.R1", "difference")


@BACKENDS
def test_function_without_a_chosen_operator_stays_a_call(backend: str) -> None:
    assert operators(CALLING, operators="Div", backend=backend) == ["local::f"]


def test_python_backend_adds_operators_to_an_enforced_model() -> None:
    once = sonnx_ort.rewrite(parse(MADE), operators="Sub")
    assert operators(once) == [
        "sonnx::CheckedSub",
        "Reshape",
        "Relu",
        "sonnx::CheckedDiv",
        "Reshape",
    ]


def test_natively_enforced_model_takes_no_more_operators() -> None:
    once = sonnx_ort.rewrite(parse(MADE), operators="Sub", backend="native")
    with pytest.raises(sonnx_ort.SonnxError) as caught:
        sonnx_ort.rewrite(once)
    assert str(caught.value) == (
        "the model is already rewritten, without Div; rewrite the original model with these "
        "operators as well"
    )
    assert sonnx_ort.rewrite(once, operators="Sub, Broadcast") == once


class TestReport:
    @staticmethod
    def report() -> sonnx_ort.Report:
        return sonnx_ort.check(
            parse("(float[2] x, float[3] y) => (float[] z) { a = Sub(x, x) z = Div(y, x) }"),
            operators="Sub",
        )

    def test_obligations_of_others_are_told_and_marked(self) -> None:
        marked = {(o.operator, o.enforced) for o in self.report().obligations}
        assert marked == {("Sub", True), ("Div", False)}

    def test_others_reject_nothing(self) -> None:
        report = self.report()
        assert report.ok
        assert report.counts == {"proved": 3, "runtime": 0, "violated": 0}
        assert report.operands.count == 2

    def test_text_counts_what_they_would_find(self) -> None:
        lines = text_report(self.report()).splitlines()
        assert lines[-2:] == [
            "  Sub  1  bound by a draft",
            "  Div  1  bound by a draft, not looked at: 2 proved, 0 runtime, 1 violated",
        ]
        assert "1 node not looked at" in " ".join(" ".join(lines[:2]).split())

    def test_of_an_enforced_model_is_that_of_the_original(self) -> None:
        native = sonnx_ort.rewrite(parse(MADE), operators="Sub", backend="native")
        (own, original) = (sonnx_ort.check(m, operators="Sub") for m in (native, parse(MADE)))
        assert own.counts == original.counts
        assert own.coverage == original.coverage

    def test_nothing_is_proved_by_what_is_not_enforced(self) -> None:
        made = parse("(float[n] x, float[m] y) => (float[] z) { a = Sub(x, y) z = Div(a, x) }")
        found = {
            chosen: next(
                o.status
                for o in sonnx_ort.check(made, operators=chosen).obligations
                if o.rule.id == "Div.float.R1"
            )
            for chosen in ("Div", "default")
        }
        assert found == {"Div": "runtime", "default": "proved"}


CHOICES = "'default', 'elementwise', 'profile', or names from "


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ("Foo", f"operators: the profile has no operator 'Foo'; choose {CHOICES}"),
        ("", f"operators: the profile has no operator ''; choose {CHOICES}"),
        (3, "operators=3 is not a list of names; choose 'default', 'elementwise' or 'profile'"),
    ],
)
def test_unknown_operator(chosen, message: str) -> None:
    for function in (sonnx_ort.check, sonnx_ort.rewrite, sonnx_ort.InferenceSession):
        with pytest.raises(sonnx_ort.SonnxError) as caught:
            function(parse(MADE), operators=chosen)
        assert str(caught.value).startswith(message)
