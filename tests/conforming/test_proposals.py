"""`conform` proposes the further options that fix what is left, and none that fixes nothing."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
import pytest

import sonnx_ort
from sonnx_ort.analysis.obligation import Obligation
from sonnx_ort.conforming import conformity
from sonnx_ort.conforming.proposal import propose
from sonnx_ort.errors.remedies import Advice, Remedy
from support.graphs import parse

STACKS = "(float[n,3,4] a, float[n,4,5] b) => (float[n,3,5] y) { [product] y = MatMul(a, b) }"
POOLED = """(float[1,1,4,4] x) => (float[1,1,2,2] y)
    { [pool] y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x) }"""
SHARES = "(float[2,3] x) => (float[2,3] y) { [shares] y = LogSoftmax <axis = 1> (x) }"
CHOOSING = """(float[2] x, int64 rate) => (float[2] y) <int64 fast = {16000}> {
    [known] c = Equal(rate, fast)
    [choose] y = If (c) <
        then_branch = same () => (float[2] t) { [up] t = Abs(x) },
        else_branch = other () => (float[2] e) { [down] e = Neg(x) }> }"""
LOOPING = """(float[2] x) => (float[2] y) <int64 trips = {20}, bool on = {1}> {
    [steps] y = Loop (trips, on, x) <body = b (int64 i, bool c, float[2] s)
        => (bool d, float[2] t) { d = Identity(c) t = Neg(s) }> }"""
ALL = """(float[n,3,4] a, float[n,4,5] b, float[1,1,4,4] x, float[2,3] z)
    => (float[n,3,5] y, float[1,1,2,2] p, float[2,3] l) {
    [product] y = MatMul(a, b)
    [pool] p = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (x)
    [shares] l = LogSoftmax <axis = 1> (z) }"""
SIZES = Remedy("assume_shapes", (1, 3, 4), "a"), Remedy("assume_shapes", (1, 4, 5), "b")


@pytest.mark.parametrize(("text", "expected"), [
    (POOLED, (Remedy("name_outputs"),)),
    (SHARES, (Remedy("rounding"),)),
    (CHOOSING, (Remedy("both_branches"),)),
    (LOOPING, (Remedy("unroll", 20),)),
    (ALL, (SIZES[1], Remedy("name_outputs"), Remedy("rounding"))),
])  # fmt: skip
def test_options_that_fix_what_is_left_are_proposed(
    text: str, expected: tuple[Remedy, ...]
) -> None:
    found = sonnx_ort.conform(parse(text), propose=True, measure=False).proposal
    assert found is not None
    assert (found.remedies, found.remaining) == (expected, ())


def test_what_no_option_fixes_has_no_proposal() -> None:
    found = sonnx_ort.conform(
        parse("(float[2] x) => (int64[1, n] y) { y = NonZero(x) }"), propose=True
    )
    assert found.remaining
    assert found.proposal is None


def test_nothing_is_proposed_unless_that_is_asked_for() -> None:
    assert sonnx_ort.conform(parse(POOLED)).proposal is None


def test_conforming_with_what_is_proposed_leaves_what_it_says() -> None:
    found = sonnx_ort.conform(parse(ALL), propose=True, measure=False).proposal
    assert found is not None
    made = sonnx_ort.conform(
        parse(ALL),
        assume_shapes={"b": (1, 4, 5)},
        name_outputs=True,
        rounding=True,
        measure=False,
    )
    assert made.remaining == found.remaining == ()


def shapes(found: sonnx_ort.Conformed[onnx.ModelProto]) -> list[str]:
    remedies = () if found.proposal is None else found.proposal.remedies
    return [each.in_command for each in remedies]


A, B = np.zeros((2, 3, 4), np.float32), np.zeros((2, 4, 5), np.float32)


@pytest.mark.parametrize(("options", "expected"), [
    ({"inputs": {"a": A, "b": B}}, ["a=2,3,4", "b=2,4,5"]),
    ({"samples": [{"a": A, "b": B}, {"a": A, "b": B}]}, ["a=2,3,4", "b=2,4,5"]),
    ({"sizes": {"n": 3}}, ["a=3,3,4", "b=3,4,5"]),
    ({"input_shapes": {"a": (4, 3, 4), "b": (4, 4, 5)}}, ["a=4,3,4", "b=4,4,5"]),
    ({}, ["a=1,3,4", "b=1,4,5"]),
    ({"samples": [{"a": A, "b": B}, {"a": A[:1], "b": B[:1]}]}, []),
])  # fmt: skip
def test_sizes_are_those_that_are_said(options: dict[str, object], expected: list[str]) -> None:
    found = sonnx_ort.conform(parse(STACKS), propose=True, measure=False, **options)
    assert shapes(found) == [f"--assume-shape {each}" for each in expected]


def test_numbers_are_those_of_all_samples() -> None:
    samples = [{"x": A[0, 0, :2], "rate": np.array(16000)}] * 2
    found = sonnx_ort.conform(parse(CHOOSING), propose=True, samples=samples).proposal
    assert found is not None
    assert found.remedies == (Remedy("both_branches"),)
    (reason,) = {
        reason.in_command
        for o, reason in sonnx_ort.conform(parse(CHOOSING), samples=samples).remaining
        if o.rule.id == "Graph.operator_set"
    }
    assert reason == (
        "its condition 'c' depends on the input; --both-branches may compute both branches; to fix "
        "it: --assume rate=16000"
    )


def test_sizes_of_a_contract_need_no_option_and_are_said(tmp_path: Path) -> None:
    contract = tmp_path / "use.toml"
    contract.write_text("[sizes]\nn = 2\n", encoding="utf-8")
    found = sonnx_ort.conform(parse(STACKS), contract=contract, propose=True)
    assert (found.remaining, found.proposal) == ((), None)
    metadata = {entry.key: entry.value for entry in found.model.metadata_props}
    assert '"n"' in metadata["sonnx_ort.assumed_contract"]
    again = sonnx_ort.conform(found.model, contract=contract)
    assert (again.changes, again.remaining) == ((), ())


def test_number_that_a_contract_fixes_is_proposed_and_can_be_assumed(tmp_path: Path) -> None:
    contract = tmp_path / "use.toml"
    contract.write_text("[inputs.rate]\nrange = [16000, 16000]\n", encoding="utf-8")
    found = sonnx_ort.conform(parse(CHOOSING), contract=contract, propose=True).proposal
    assert found is not None
    assert found.remedies == (Remedy("assume", 16000, "rate"),)
    made = sonnx_ort.conform(parse(CHOOSING), contract=contract, assume={"rate": 16000})
    assert [node.op_type for node in made.model.graph.node if node.op_type != "Equal"] == ["Abs"]


def test_inputs_of_declared_scalars_are_held_to_that() -> None:
    """ONNX Runtime takes any shape for them."""
    model = parse(
        "(float[3] x, float low, float high) => (float[3] y) { h = Add(x, low) y = Mul(h, high) }"
    )
    found = sonnx_ort.conform(model, propose=True, measure=False).proposal
    assert found is not None
    assert [each.in_command for each in found.remedies] == [
        "--assume-shape low=", "--assume-shape high=",
    ]  # fmt: skip
    assert found.statements == (
        "states that low is a scalar in every run",
        "states that high is a scalar in every run",
    )
    assert (found.remaining, found.open_size) == ((), None)


def test_what_rounds_is_measured() -> None:
    found = sonnx_ort.conform(parse(SHARES), propose=True).proposal
    assert found is not None
    (said,) = found.statements
    assert said.startswith("rounds: outputs deviated by at most ") or (
        said == "may round, but no output deviated in 8 runs"
    )


def test_of_what_options_fix_no_reason_says_that_nothing_does() -> None:
    found = sonnx_ort.conform(parse(ALL), propose=True, measure=False)
    assert found.remaining
    assert not [why for _, why in found.remaining if why.startswith("no change fixes it")]


LEFT = sonnx_ort.conform(parse(POOLED)).remaining
OBLIGATION: Obligation = LEFT[0][0]


def attempts(fixing: dict[str, int], tried: list[tuple[str, ...]]):
    """Attempts after which so many violations fewer are left for each option."""

    def attempt(remedies: Sequence[Remedy]):
        tried.append(tuple(each.option for each in remedies))
        fixed = sum(fixing[each.option] for each in remedies)
        return ((OBLIGATION, Advice("it stays")),) * (3 - fixed)

    return attempt


@pytest.mark.parametrize(("fixing", "expected"), [
    ({"name_outputs": 1, "rounding": 2}, ["name_outputs", "rounding"]),
    ({"name_outputs": 0, "rounding": 2}, ["rounding"]),
    ({"name_outputs": 1, "rounding": 0}, ["name_outputs"]),
    ({"name_outputs": 0, "rounding": 0}, []),
])  # fmt: skip
def test_no_option_is_proposed_that_fixes_nothing(
    fixing: dict[str, int], expected: list[str]
) -> None:
    advised = Advice(Remedy("name_outputs"), " or ", Remedy("rounding"), " may fix it")
    left = ((OBLIGATION, advised),) * 3
    found = propose(left, attempts(fixing, []))
    assert [each.option for each in (found.remedies if found else ())] == expected


def test_options_of_a_model_that_cannot_be_conformed_with_them_are_not_proposed() -> None:
    left = ((OBLIGATION, Advice(Remedy("assume_shapes", (1,), "x"))),)
    assert propose(left, lambda _: None) is None


POOLS_OF_IMAGES = """(float[n,3,h,w] x, float[n,2,8] s, float[n,8,2] t)
    => (float[n,3,1,1] y, float[n,2,2] z) {
    y = AveragePool <kernel_shape = [20, 20], strides = [20, 20]> (x)
    z = MatMul(s, t) }"""


def test_sizes_that_nothing_says_are_those_that_help() -> None:
    model = parse(POOLS_OF_IMAGES)
    found = sonnx_ort.conform(model, propose=True, rounding=True, measure=False).proposal
    assert found is not None
    assert found.remaining == ()
    assert Remedy("assume_shapes", (1, 3, 32, 32), "x") in found.remedies
    assert found.open_size == 32


def test_no_size_is_proposed_that_the_model_cannot_have() -> None:
    made = parse(
        """(float[n,3,4] a, float[n,4,5] b, float[n,5,2] c) => (float[?,?] y)
        <int64[2] rows = {7, -1}> {
        d = MatMul(a, b)
        e = MatMul(d, c)
        f = LogSoftmax <axis = 2> (e)
        y = Reshape <allowzero = 1> (f, rows) }"""
    )
    proposal = sonnx_ort.conform(made, propose=True).proposal
    assert proposal is not None
    assert [" ".join(each.words) for each in proposal.remedies] == ["--rounding"]


@pytest.mark.parametrize(("nodes", "trials"), [(10**6, 2), (1, 12)])
def test_trials_of_a_large_model_are_few(
    nodes: int, trials: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []
    changed = conformity._changed

    def counted(*arguments):
        tried.append(arguments)
        return changed(*arguments)

    monkeypatch.setattr(conformity, "_changed", counted)
    monkeypatch.setattr(conformity, "every_node", lambda _: range(nodes))
    sonnx_ort.conform(parse(ALL), propose=True, measure=False)
    assert 2 <= len(tried[1:]) <= trials
