"""What is added to a report where a file only claims to be enforced, and where it can be fixed."""

import sonnx_ort
from support.graphs import binary_model, parse


def test_claim_of_a_file_that_is_not_enforced_stands_before_all_obligations() -> None:
    made = binary_model("Div", "float", [3], [3])
    known = sonnx_ort.check(made, operators="Div").obligations
    made.metadata_props.extend(sonnx_ort.rewrite(made, backend="native").metadata_props)
    first, *others = sonnx_ort.check(made, operators="Div").obligations
    assert (first.rule.id, first.status.value) == ("Graph.false_claim", "violated")
    assert [each.rule.id for each in others] == [each.rule.id for each in known]


def test_violation_that_conform_fixes_says_so() -> None:
    made = parse("(float[2, 3] x) => (float[2, 3] y) { y = Softmax<axis = -1>(x) }")
    (violation,) = sonnx_ort.check(made, operators="Softmax").violations
    assert violation.rule.id == "Softmax.R4"
    assert violation.mendable == "count the axis from the front"
