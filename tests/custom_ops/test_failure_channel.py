"""The names of guards, and what ONNX Runtime says of one that refused."""

import pytest

from sonnx_ort.custom_ops.failure_channel import (
    FailedGuard,
    failed_guards,
    guard_name,
    guarded_node,
    refusing_guard_name,
)
from sonnx_ort.profile.catalog import RULES

R1 = RULES["Div.float.R1"]
GUARD = guard_name("Div", "it's a\nnode", [R1])
REFUSING = refusing_guard_name("Broadcast", "it's a\nnode", RULES["Broadcast.E1"])
RUN = "Non-zero status code returned while running {} node. Name:'{}' Status Message: {}"
IMPOSSIBLE = "A dimension cannot be less than -1, got -{}"


@pytest.mark.parametrize(
    ("remark", "end"), [("", "11 Div.float.R1"), ("B has to fit", "11 Div.float.R1; B has to fit")]
)
def test_guard_bears_the_rules_that_a_run_can_break(remark: str, end: str) -> None:
    rules = [RULES["Div.float.R2"], R1]
    assert guard_name("Div", "n", rules, remark) == (
        "Div 'n' breaks the SONNX profile; the last four digits of the dimension below tell the "
        f"rule: {end}"
    )


def test_guard_bears_its_rules_in_the_order_of_their_codes() -> None:
    rules = [RULES["Div.int.C2"], RULES["Div.int.C1"], RULES["Div.int.R1"]]
    codes = ", ".join(f"{rule.code} {rule.id}" for rule in reversed(rules))
    assert sorted(rule.code for rule in rules) == [rule.code for rule in reversed(rules)]
    assert guard_name("Div", "n", rules).endswith(f"tell the rule: {codes}")


def test_guard_of_one_rule_bears_it() -> None:
    assert refusing_guard_name("Div", "n", R1) == (
        "Div 'n' breaks the SONNX profile; the rule: 11 Div.float.R1"
    )


@pytest.mark.parametrize(
    ("name", "node"),
    [
        (GUARD, "Div 'it's a\\x0anode'"),
        (REFUSING, "Broadcast 'it's a\\x0anode'"),
        ("Div 'n'", None),
        (f"a {GUARD}", None),
        ("", None),
    ],
)
def test_name_of_a_guard_tells_the_node(name: str, node: str | None) -> None:
    assert guarded_node(name) == node


@pytest.mark.parametrize(("message", "guard"), [
    pytest.param(RUN.format("Reshape", GUARD, IMPOSSIBLE.format(50011)),
        FailedGuard(50011, "Div", "it's a\nnode"), id="of a kernel"),
    pytest.param(RUN.format("Reshape", "theirs", IMPOSSIBLE.format(50011)), FailedGuard(50011),
        id="not named"),
    pytest.param(RUN.format("Expand", REFUSING, "invalid expand shape"),
        FailedGuard(71, "Broadcast", "it's a\nnode"), id="of one rule"),
    pytest.param(
        f"Node ({GUARD}) Op (Reshape) [ShapeInferenceError] Invalid dimension value: -11",
        FailedGuard(11, "Div", "it's a\nnode"),
        id="before all runs",
    ),
])  # fmt: skip
def test_message_tells_the_ticket_the_operator_and_the_node(
    message: str, guard: FailedGuard
) -> None:
    assert failed_guards(message) == [guard]


@pytest.mark.parametrize(
    "message",
    [
        f"Name:'{GUARD}' {IMPOSSIBLE.format(11)} Status Message: out of memory",
        f"Node ({GUARD}) Op (Reshape) [ShapeInferenceError] Invalid dimension value: 11",
        f"Node ({GUARD}) Op (Expand) [ShapeInferenceError] Invalid dimension value: -11",
        RUN.format("Expand", GUARD, "invalid expand shape"),
    ],
)
def test_message_of_something_else_tells_of_no_guard(message: str) -> None:
    assert failed_guards(message) == []


@pytest.mark.parametrize(("ticket", "code"), [(11, 11), (50011, 11), (19999, 9999)])
def test_last_four_digits_of_a_ticket_are_the_code(ticket: int, code: int) -> None:
    assert FailedGuard(ticket).code == code
