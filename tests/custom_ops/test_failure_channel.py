"""The failure channel: errors by ticket, names of guards, and what ONNX Runtime says of one."""

import concurrent.futures
import contextlib
import logging
from unittest.mock import Mock

import numpy as np
import pytest

from sonnx_ort.custom_ops.failure_channel import (
    CODE_BASE,
    KERNEL_FAILURE,
    LOG,
    FailedGuard,
    ViolationLog,
    failed_guards,
    guard_name,
    guarded_node,
    kernel_failed,
    refusing_guard_name,
)
from sonnx_ort.profile.catalog import RULES

R1 = RULES["Div.float.R1"]
GUARD = guard_name("Div", "it's a\nnode", [R1])
REFUSING = refusing_guard_name("Broadcast", "it's a\nnode", RULES["Broadcast.E1"])
RUN = "Non-zero status code returned while running {} node. Name:'{}' Status Message: {}"
IMPOSSIBLE = "A dimension cannot be less than -1, got -{}"


@pytest.mark.parametrize(
    ("logged", "which"),
    [
        (False, "the number at the end tells the rule: -11 Div.float.R1"),
        (True, "the last four digits of this message tell the rule: 0011 Div.float.R1"),
    ],
)
@pytest.mark.parametrize(("remark", "end"), [("", ""), ("B has to fit", "; B has to fit")])
def test_guard_bears_the_rules_that_a_run_can_break(
    logged: bool, which: str, remark: str, end: str
) -> None:
    rules = [RULES["Div.float.R2"], R1]
    assert guard_name("Div", "n", rules, remark, logged=logged) == (
        f"Div 'n' breaks the SONNX profile; {which}{end}"
    )


def test_guard_bears_its_rules_in_the_order_of_their_codes() -> None:
    rules = [RULES["Div.int.C2"], RULES["Div.int.C1"], RULES["Div.int.R1"]]
    codes = ", ".join(f"-{rule.code} {rule.id}" for rule in reversed(rules))
    assert sorted(rule.code for rule in rules) == [rule.code for rule in reversed(rules)]
    assert guard_name("Div", "n", rules).endswith(f"tells the rule: {codes}")


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
        RUN.format("Expand", REFUSING, "invalid expand shape") + " Status Message: out of memory",
    ],
)
def test_message_of_something_else_tells_of_no_guard(message: str) -> None:
    assert failed_guards(message) == []


@pytest.mark.parametrize(("ticket", "code"), [(11, 11), (50011, 11), (19999, 9999)])
def test_last_four_digits_of_a_ticket_are_the_code(ticket: int, code: int) -> None:
    assert FailedGuard(ticket).code == code


def test_ticket_ends_in_the_code():
    assert ViolationLog().record(21, ValueError("first")) % CODE_BASE == 21


def test_smallest_ticket_is_an_impossible_dimension():
    smallest_code = min(rule.code for rule in RULES.values())
    assert -ViolationLog().record(smallest_code, ValueError("first")) < -1


def test_same_error_gets_a_ticket_of_its_own_each_time():
    log, error = ViolationLog(), ValueError("again")
    assert len({log.record(21, error) for _ in range(100)}) == 100


def test_error_is_handed_out_under_its_ticket():
    log = ViolationLog()
    errors = [ValueError(str(i)) for i in range(5)]
    given = [log.record(21, error) for error in errors]
    assert [log.take(ticket) for ticket in reversed(given)] == errors[::-1]


def test_error_is_handed_out_once():
    log = ViolationLog()
    ticket = log.record(21, ValueError("once"))
    log.take(ticket)
    assert log.take(ticket) is None


@pytest.mark.parametrize("ticket", [-121, 0, 1, 121])
def test_unknown_ticket_has_no_error(ticket):
    assert ViolationLog().take(ticket) is None


def test_oldest_errors_go_when_the_log_is_full():
    log = ViolationLog(capacity=3)
    errors = [ValueError(str(i)) for i in range(5)]
    given = [log.record(21, error) for error in errors]
    assert [log.take(ticket) for ticket in given] == [None, None, *errors[2:]]


def test_error_is_written_to_the_logger(caplog):
    with caplog.at_level(logging.ERROR, "sonnx_ort"):
        ViolationLog().record(21, ValueError("100% wrong: %s"))
    assert caplog.record_tuples == [("sonnx_ort", logging.ERROR, "100% wrong: %s")]


def logged(caplog):
    return [record.message for record in caplog.records]


def test_error_that_a_run_raises_is_not_logged(caplog):
    log = ViolationLog()
    with log.errors_raised():
        log.take(log.record(21, ValueError("raised")))
    assert logged(caplog) == []


def test_error_that_a_run_leaves_is_logged_after_it(caplog):
    log = ViolationLog()
    with log.errors_raised():
        log.record(21, ValueError("of another session"))
        assert logged(caplog) == []
    assert logged(caplog) == ["of another session"]


def test_error_waits_only_for_runs_that_had_begun(caplog):
    log, later = ViolationLog(), contextlib.ExitStack()
    with later:
        with log.errors_raised():
            log.record(21, ValueError("of another session"))
            later.enter_context(log.errors_raised())
        assert logged(caplog) == ["of another session"]


def test_error_of_the_older_of_two_runs_waits_for_it(caplog):
    log = ViolationLog()
    with log.errors_raised():
        ticket = log.record(21, ValueError("of the older run"))
        with log.errors_raised():
            log.record(22, ValueError("of the newer run"))
        assert logged(caplog) == []
        log.take(ticket)
    assert logged(caplog) == ["of the newer run"]


def test_error_that_the_log_drops_during_a_run_is_logged_at_once(caplog):
    log = ViolationLog(capacity=1)
    with log.errors_raised():
        for text in ("first", "second"):
            log.record(21, ValueError(text))
        assert logged(caplog) == ["first"]


def test_error_after_a_run_is_logged_once(caplog):
    log = ViolationLog()
    with log.errors_raised():
        pass
    log.record(21, ValueError("later"))
    assert logged(caplog) == ["later"]


def test_each_thread_finds_its_own_errors():
    log = ViolationLog()

    def record_and_take(thread):
        errors = [ValueError(f"{thread}/{i}") for i in range(200)]
        given = [log.record(21, error) for error in errors]
        return [log.take(ticket) for ticket in given] == errors

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert all(pool.map(record_and_take, range(8)))


def test_log_that_threads_overfill_keeps_to_its_capacity():
    log = ViolationLog(capacity=10)

    def record(thread):
        return [log.record(21, ValueError(f"{thread}/{i}")) for i in range(200)]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        given = [ticket for part in pool.map(record, range(8)) for ticket in part]
    assert sum(log.take(ticket) is not None for ticket in given) == 10


@pytest.mark.parametrize(
    ("message", "found"),
    [
        pytest.param("A dimension cannot be less than -1, got -1424", [1424], id="one"),
        pytest.param("nothing of the kind", [], id="none"),
        pytest.param("requested_shape[i] >= -1 was false. got -12", [], id="another message"),
        pytest.param(
            "If: A dimension cannot be less than -1, got -121\n"
            "inner: A dimension cannot be less than -1, got -211\n",
            [121, 211],
            id="several, in order",
        ),
    ],
)
def test_tickets_are_read_from_an_error_message(message, found):
    assert [guard.ticket for guard in failed_guards(message)] == found


ONE_RULE = "Name:'Broadcast 'n' breaks the SONNX profile; the rule: 71 Broadcast.E1"
EXPANDING = f"Non-zero status code returned while running Expand node. {ONE_RULE}' Status Message: "


@pytest.mark.parametrize(
    ("message", "found"),
    [
        pytest.param(f"{EXPANDING}invalid expand shape", [71], id="an Expand"),
        pytest.param(
            f"while running If node. Name:'i' Status Message: {EXPANDING}invalid expand shape",
            [71],
            id="in a branch",
        ),
        pytest.param(
            f"{EXPANDING.replace('Expand', 'Reshape')}The input tensor cannot be reshaped to the "
            "requested shape. Input shape:{0}, requested shape:{1}",
            [71],
            id="a Reshape",
        ),
        pytest.param(f"{EXPANDING}Failed to allocate memory", [], id="another failure"),
        pytest.param(
            f"{EXPANDING.replace('Expand', 'Conv')}invalid expand shape", [], id="another operator"
        ),
        pytest.param(
            f"{EXPANDING}while running Expand node. Name:'their own' Status Message: "
            "invalid expand shape",
            [],
            id="another node within",
        ),
    ],
)
def test_refusal_of_a_guard_of_one_rule_is_read_from_its_name(message, found):
    assert [guard.code for guard in failed_guards(message)] == found


class Unprintable(Exception):  # noqa: N818 - what it is matters, not that it is an error
    def __str__(self):
        raise ValueError("no text")


def test_error_that_cannot_be_printed_is_told_by_its_type():
    _, shape = kernel_failed(np.dtype(np.int8), "Div", "n", Unprintable())
    assert str(LOG.take(-int(shape[0]))) == (
        "sonnx::Div, node 'n': the kernel could not finish: Unprintable: "
        "(an error that cannot be printed)"
    )


def test_nothing_is_given_in_the_type_of_the_result_where_nothing_can_be_recorded(monkeypatch):
    monkeypatch.setattr(ViolationLog, "record", Mock(side_effect=MemoryError))
    result, shape = kernel_failed(np.dtype(np.int8), "Div", "n", ValueError())
    assert (result.dtype, result.size, shape.tolist().tolist()) == (np.int8, 0, [-KERNEL_FAILURE])
