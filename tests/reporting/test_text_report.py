"""The report as a person reads it."""

import onnx.parser
import pytest

import sonnx_ort
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.catalog import RULES
from sonnx_ort.profile.general import RESTRICTIONS
from sonnx_ort.reporting.explanation import explain, list_rules
from sonnx_ort.reporting.text_report import text_report

MADE = onnx.parser.parse_model("""
    <ir_version: 8, opset_import: ["" : 17]>
    g (float[3] x, float[1] y, int32[2] i, int32[2] j) => (float[3] z, int32[2] k) {
        r = Relu(x)
        z = Div(r, y)
        k = Sub(i, j)
    }""")


def test_violations_come_first() -> None:
    text = text_report(sonnx_ort.check(MADE))
    places = [text.index(word) for word in ("violated: these", "proved: these", "findings:")]
    assert places == sorted(places)


def test_lines_have_at_most_100_columns() -> None:
    assert max(map(len, text_report(sonnx_ort.check(MADE)).splitlines())) <= 100


def test_violation_is_told_with_evidence_operands_and_hint() -> None:
    assert (
        "  Div.float.R1 at Div '(output z)'\n"
        "      axis 0 has size 3 in A and 1 in B\n"
        "      A 'r' float (3,) [Relu]\n"
        "      B 'y' float (1,) [input]\n"
        '      to mend it: rewrite with broadcast="explicit", which inserts a Broadcast of B from '
        "(1,) to\n"
        "        (3,)\n"
    ) in text_report(sonnx_ort.check(MADE))


def test_what_no_rule_covers_is_counted() -> None:
    text = text_report(sonnx_ort.check(MADE))
    assert text.endswith(
        "not covered: no rule speaks of these operators, and nothing was checked of them "
        "(1 nodes)\n  Relu 1"
    )


@pytest.mark.parametrize("identifier", [*RULES, *RESTRICTIONS])
def test_every_rule_is_explained(identifier: str) -> None:
    lines = explain(identifier.lower()).splitlines()
    assert lines[0].startswith(f"{identifier}: ")
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "source",
        "keeps",
        "breaks",
        "to mend",
    ]


def test_every_rule_is_listed() -> None:
    assert [line.split()[0] for line in list_rules().splitlines()] == [*RULES, *RESTRICTIONS]


def test_unknown_rule() -> None:
    with pytest.raises(SonnxError) as caught:
        explain("Div.R9")
    assert str(caught.value) == "there is no rule 'Div.R9'; `sonnx-ort explain` lists all rules"
