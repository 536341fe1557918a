"""What a notebook shows of reports and errors, without one."""

import html
import re
from html.parser import HTMLParser

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.reporting.next_steps import next_call
from support.checks import mendable
from support.graphs import binary_model, parse

_SCALED = "\n".join(f"[n{i}] v{i + 1} = Div(v{i}, w)" for i in range(5))
SCALED = parse(f"(float[n, 3] v0, float[3] w) => (float[?, ?] v5) {{ {_SCALED} }}")
KEPT = binary_model("Div", "float", [3], [3])
MISFIT = binary_model("Div", "float", [3], [4])
NONE = parse("(float[2] x) => (float[2] y) { y = Relu(x) }")

HOSTILE = ["</td><script>alert(1)</script>", "\"'><img src=x onerror=alert(1)>", "&lt;b&gt;"]


def texts(shown: str) -> list[str]:
    return [html.unescape(t) for t in re.split(r"(?:<[^>]*>)+", shown) if t]


class Tags(HTMLParser):
    """Collects the elements that a browser would make."""

    def __init__(self, shown: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(shown)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(f"{tag} {[name for name, _ in attrs]}")


def test_report_shows_verdict_causes_and_next_call() -> None:
    assert texts(sonnx_ort.check(SCALED, operators="default")._repr_html_()) == [
        "SONNX profile, typed edition: violated",
        "5 violated, 0 checked in each run, 10 proved",
        "Violated",
        "Places",
        "Evidence",
        "To fix it",
        "Div.float.R1",
        "Div 'n0'",
        "Div 'n1'",
        "Div 'n2'",
        "and 2 more",
        "rank 2 is not rank 1",
        'rewrite with broadcast="explicit", which expands B from (3,) to (n, 3)',
        "sonnx_ort.conform fixes it: make the broadcast of the operands explicit",
        "Next: ",
        'sonnx_ort.rewrite(model, broadcast="explicit")',
    ]


def test_report_without_violations_shows_no_table() -> None:
    assert texts(sonnx_ort.check(KEPT, operators="default")._repr_html_()) == [
        "SONNX profile, typed edition: no violation found before a run",
        "0 violated, 0 checked in each run, 3 proved",
        "Next: ",
        "sonnx_ort.rewrite(model)",
    ]


@pytest.mark.parametrize(("model", "options", "call"), [
    (NONE, {}, "sonnx_ort.check(model)"),
    (KEPT, {"edition": "preliminary"}, 'sonnx_ort.rewrite(model, edition="preliminary")'),
    (KEPT, {"operators": "profile,-Graph"},
     "sonnx_ort.rewrite(model, operators=report.demands.operators)"),
    (SCALED, {"operators": "elementwise"},
     'sonnx_ort.rewrite(model, broadcast="explicit", operators=report.demands.operators)'),
    (mendable(), {"operators": "profile"}, "sonnx_ort.conform(model)"),
    (MISFIT, {}, "!sonnx-ort explain Div.float.R1"),
])  # fmt: skip
def test_next_call_fits_the_report(
    model: onnx.ModelProto, options: dict[str, str], call: str
) -> None:
    assert next_call(sonnx_ort.check(model, **{"operators": "default", **options})) == call


@pytest.mark.parametrize("operators", ["profile,-Graph", "elementwise", "Div"])
def test_operators_of_a_report_are_an_option(operators: str) -> None:
    report = sonnx_ort.check(KEPT, operators=operators)
    again = sonnx_ort.check(KEPT, operators=report.demands.operators)
    assert again.demands == report.demands


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_text(name: str) -> None:
    shown, plain = (
        sonnx_ort.check(
            binary_model("Div", "float", [3], [1], node=node), operators="default"
        )._repr_html_()
        for node in (name, "plain")
    )
    assert html.escape(name) in shown
    assert Tags(shown).found == Tags(plain).found


def test_as_plain_text_a_report_is_one_line() -> None:
    report = sonnx_ort.check(KEPT, operators="default")
    assert repr(report) == f"<Report: {report.summary()}>"


def rejected() -> sonnx_ort.ModelRejected:
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(SCALED)
    return caught.value


def test_rejection_shows_its_report() -> None:
    error = rejected()
    assert error._repr_html_() == error.report._repr_html_()


def test_traceback_of_a_rejection_is_the_call_and_each_cause_once() -> None:
    call, *told = "\n".join(rejected()._render_traceback_()).split("\n")[1:]
    assert call.strip() == "sonnx_ort.rewrite(SCALED)"
    assert told[0].startswith("ModelRejected: the model breaks the SONNX profile")
    assert [line for line in told if line.startswith(("- ", "next"))] == [
        "- Div 'n0': Div.float.R1 violated: rank 2 is not rank 1",
        'next: sonnx_ort.rewrite(model, broadcast="explicit")',
    ]
    assert "    and 4 more like it" in told


def test_traceback_of_a_violation_is_the_call_and_the_message() -> None:
    session = sonnx_ort.InferenceSession(binary_model("Div", "int32", [2], [2]))
    feeds = {"A": np.ones(2, np.int32), "B": np.zeros(2, np.int32)}
    with pytest.raises(sonnx_ort.ContractViolation) as caught:
        session.run(None, feeds)
    place, message = caught.value._render_traceback_()
    assert place.endswith("session.run(None, feeds)")
    assert message == f"ContractViolation: {caught.value}"


def test_error_that_was_not_raised_has_its_message_alone() -> None:
    error = sonnx_ort.SonnxError("a <b> is wrong")
    assert error._render_traceback_() == ["SonnxError: a <b> is wrong"]
    assert error._repr_html_() == "<strong>SonnxError</strong><pre>a &lt;b&gt; is wrong</pre>"


def test_conformed_model_shows_changes_and_what_is_left() -> None:
    conformed = sonnx_ort.conform(mendable(), operators="Concat,Softmax")
    numbers = "changes: 1; violations: 2 before, 1 now"
    assert repr(conformed) == f"<Conformed: {numbers}>"
    shown = conformed._repr_html_()
    assert texts(shown)[:7] == [
        numbers, "Fixed", "Places", "Change", "Concat.R1", "1", "count the axis from the front",
    ]  # fmt: skip
    assert shown.endswith(conformed.report._repr_html_())
