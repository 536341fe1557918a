"""What `conform` says: how many violations there were, and how many are left."""

import pytest

import sonnx_ort
from sonnx_ort.reporting.conformity_report import conformity_report
from support.graphs import parse

FIXED = "z = Div(x, y)"
LEFT = "c = Acos(two)"


@pytest.mark.parametrize(("nodes", "summary"), [
    (FIXED, "1 violation before, 0 now; 1 change, safe, with 1 new node"),
    (f"{FIXED} {LEFT}", "2 violations before, 1 now; 1 change, safe, with 1 new node"),
    (LEFT, "nothing to change; 1 violation"),
])  # fmt: skip
def test_summary_has_the_violations_before_and_those_that_are_left(
    nodes: str, summary: str
) -> None:
    text = f"(float[3] x, float[1] y) => (float[3] x) <float[2] two = {{2, 2}}> {{ {nodes} }}"
    conformed = sonnx_ort.conform(parse(text), operators="Div,Acos")
    assert conformity_report(conformed).splitlines()[-1] == summary
