"""The verdict: what it is about, what stands behind it, and what `rewrite` makes of it."""

import pytest

import sonnx_ort
from sonnx_ort.reporting.verdict import verdict
from support.graphs import parse

KEPT = "(float[n] x) => (float[n] y) { [e] e = Exp(x) [h] h = HardSwish(e) [s] y = Min(h, h) }"
DIVIDED = "(float[n, 3] x, float[3] y) => (float[n, 3] z) { [d] d = Div(x, y) [a] z = Add(d, y) }"


@pytest.mark.parametrize(("graph", "options", "word", "detail"), [
    (KEPT, {"make_explicit": True}, "Kept",
     ("20 obligations, proved for every run. Of 3 nodes, 1 is bound by a draft, 1 is bound by "
      "rules of sonnx_ort (Min), 1 is bound by general restrictions alone (HardSwish).")),
    (KEPT, {"operators": "Exp"}, "Kept",
     "Exp keeps its rules: 2 obligations, proved for every run. 2 nodes were not looked at."),
    (KEPT, {"operators": "Div"}, "Not checked",
     "There is no Div here; 3 nodes were not looked at."),
    (KEPT, {"operators": "default"}, "Not checked",
     "There is no Div or Sub here; 3 nodes were not looked at."),
    (DIVIDED, {"operators": "default"}, "Violated",
     ("1 of 3 obligations fails whatever the inputs are. sonnx-ort rewrite refuses the model. "
      "sonnx-ort conform fixes 1. 1 node was not looked at.")),
    (DIVIDED, {}, "Violated",
     ("4 of 21 obligations fail whatever the inputs are. sonnx-ort rewrite, which enforces Div and "
      "Sub by default, refuses the 1 marked [!]. sonnx-ort conform fixes 4.")),
])  # fmt: skip
def test_verdict_says_what_it_is_about(graph, options, word, detail) -> None:
    made = parse(graph)
    if options.pop("make_explicit", False):
        made = sonnx_ort.conform(made).model
    found = verdict(sonnx_ort.check(made, **options))
    assert (found.word, found.detail) == (word, detail)


def test_check_marks_what_rewrite_refuses_by_default() -> None:
    report = sonnx_ort.check(parse(DIVIDED))
    assert {o.rule.id for o in report.violations if o.refused} == {"Div.float.R1"}
    with pytest.raises(sonnx_ort.ModelRejected) as caught:
        sonnx_ort.rewrite(parse(DIVIDED))
    assert [o.rule.id for o in caught.value.report.violations] == ["Div.float.R1"]


def test_rules_of_this_project_can_be_left_out() -> None:
    made = parse("(int32[2] x) => (int32[2] z) <int32[2] y = {1, -1}> { z = Div(y, y) }")
    every = {o.rule.id for o in sonnx_ort.check(made).obligations}
    stated = {o.rule.id for o in sonnx_ort.check(made).selected(rules="stated").obligations}
    assert {o for o in every - stated if o.startswith("Div.")} == {"Div.int.C2"}
    assert {"Div.int.R1", "Div.int.R2", "Div.int.C1", "GR2"} <= stated
    with pytest.raises(
        sonnx_ort.SonnxError, match="rules='ours' is unknown; choose 'all' or 'stated'"
    ):
        sonnx_ort.check(made).selected(rules="ours")
