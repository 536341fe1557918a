"""Nodes in the bodies of If, Loop and Scan are audited on the values of the run."""

from typing import Any

import numpy as np
import pytest

import sonnx_ort
from sonnx_ort.comparing import bodies
from sonnx_ort.comparing.verdicts import Verdict
from support.graphs import parse

F = np.float32
X, Y = F([1, 2, 3]), F([7, 5, 3])

BRANCHES = parse(
    "(bool c, float[n] x, float[n] y) => (float[n] z) { [choose] z = If(c) "
    "<then_branch = t () => (float[n] a) { [divide] a = Div(x, y) }, "
    "else_branch = e () => (float[n] b) { [subtract] b = Sub(x, y) }> }"
)
LOOP = parse(
    "(int64 n, float[m] x, float[m] y) => (float[m] z, float[k, m] s) <bool t = {1}> "
    "{ [repeat] z, s = Loop(n, t, x) <body = b (int64 i, bool c, float[m] v) "
    "=> (bool d, float[m] w, float[m] u) "
    "{ d = Identity(c) [divide] w = Div(v, y) [subtract] u = Sub(w, y) }> }"
)
SCAN = parse(
    "(float[m] x, float[k, m] y) => (float[m] z, float[k, m] s) "
    "{ [scan] z, s = Scan <num_scan_inputs = 1, body = b (float[m] v, float[m] q) "
    "=> (float[m] w, float[m] u) { [divide] w = Div(v, q) [subtract] u = Sub(w, q) }> (x, y) }"
)
CASES = [
    pytest.param(BRANCHES, {"c": np.array(True), "x": X, "y": Y},
        ["If 'choose' then_branch / Div 'divide'", "If 'choose'"], 1, id="then_branch"),
    pytest.param(BRANCHES, {"c": np.array(False), "x": X, "y": Y},
        ["If 'choose' else_branch / Sub 'subtract'", "If 'choose'"], 1, id="else_branch"),
    pytest.param(
        LOOP,
        {"n": np.array(3), "x": X, "y": Y},
        [
            "Loop 'repeat' body / Identity '(output d)'",
            "Loop 'repeat' body / Div 'divide'",
            "Loop 'repeat' body / Sub 'subtract'",
            "Loop 'repeat'",
        ],
        0,
        id="Loop",
    ),
    pytest.param(LOOP, {"n": np.array(0), "x": X, "y": Y}, ["Loop 'repeat'"], 3,
        id="Loop without a step"),
    pytest.param(SCAN, {"x": X, "y": np.stack([Y, X])},
        ["Scan 'scan' body / Div 'divide'", "Scan 'scan' body / Sub 'subtract'", "Scan 'scan'"], 0,
        id="Scan"),
]  # fmt: skip


@pytest.mark.parametrize("level", ["none", "all"])
@pytest.mark.parametrize(("model", "feeds", "labels", "not_run"), CASES)
def test_nodes_of_bodies_are_exact(
    model: Any, feeds: Any, labels: list[str], not_run: int, level: str
) -> None:
    audit = sonnx_ort.audit(model, feeds, level=level)
    assert {node.label: str(node.verdict) for node in audit.nodes} == dict.fromkeys(labels, "exact")
    assert audit.not_run == not_run


def test_every_step_is_audited_on_request() -> None:
    feeds = {"n": np.array(9), "x": X, "y": Y}
    some, every = (sonnx_ort.audit(LOOP, feeds, exhaustive=each) for each in (False, True))
    audited = [
        next(node.audited for node in audit.nodes if node.node == "divide")
        for audit in (some, every)
    ]
    assert audited == [4 * 3, 9 * 3]


def test_fault_in_a_body_is_found() -> None:
    model = parse(
        "(bool c, float16[n] x, float16[n] y) => (float16[n] z) { [choose] z = If(c) "
        "<then_branch = t () => (float16[n] a) { q = Div(x, y) [subtract] a = Sub(q, y) }, "
        "else_branch = e () => (float16[n] b) { b = Identity(x) }> }"
    )
    generator = np.random.default_rng(5)
    x, y = (generator.uniform(1, 2, 50).astype(np.float16) for _ in range(2))
    audit = sonnx_ort.audit(model, {"c": np.array(True), "x": x, "y": y})
    assert [n.label for n in audit.outside] == ["If 'choose' then_branch / Sub 'subtract'"]


def test_body_with_too_many_steps_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_MOST_STEPS", 2)
    audit = sonnx_ort.audit(LOOP, {"n": np.array(3), "x": X, "y": Y})
    assert [(str(n.verdict), n.reason) for n in audit.nodes] == [
        ("not known", "it has more than 2 steps")
    ]
    assert audit.counts[Verdict.NOT_KNOWN] == 1


def test_branch_that_cannot_take_these_sizes_is_not_run() -> None:
    model = parse(
        "(bool c, float[n] x) => (float[m] z) <int64[1] first = {0}> { s = Abs(x) "
        "[choose] z = If(c) <then_branch = t () => (float[m] a) { a = Neg(s) }, "
        "else_branch = e () => (float[k] b) { b = Squeeze(s, first) }> }"
    )
    audit = sonnx_ort.audit(model, {"c": np.array(True), "x": X})
    assert audit.ok
    assert audit.not_run == 1
