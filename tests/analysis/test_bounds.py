"""Intervals of integers: what follows, and what a wrap-around forbids."""

import onnx.parser
import pytest

import sonnx_ort
from sonnx_ort.profile.judgement import Status

HEAD = '<ir_version: 8, opset_import: ["" : 17]>'


def zero_rule(body: str, inputs: str = "", initializers: str = "") -> tuple[Status, str]:
    made = onnx.parser.parse_model(
        f"{HEAD} g (int64[2] a, float[n, m] x, int64[2] y{inputs}) => (int64[2] z)"
        f"{initializers} {{ {body} z = Div(a, d) }}"
    )
    (found,) = [o for o in sonnx_ort.check(made).obligations if o.rule.id == "Div.int.C1"]
    return found.status, found.evidence


ONE = "one = Constant<value = int64[2] {1, 2}>()"


@pytest.mark.parametrize(
    ("body", "evidence"),
    [
        (f"{ONE} s = Shape(x) d = Max(s, one)", "1 to 9223372036854775807"),
        (f"{ONE} d = Max(y, one)", "1 to 9223372036854775807"),
        (f"{ONE} n = Neg(one) i = Identity(one) d = Mul(i, one)", "1 to 4"),
        (f"{ONE} p = Min(y, one) d = Max(p, one)", "1 to 2"),
        (f"{ONE} c = Cast<to = 6>(one) d = Cast<to = 7>(c)", "1 to 2"),
        (f"{ONE} d = Add(one, one)", "2 to 4"),
    ],
    ids=lambda value: value,
)
def test_divisor_that_is_never_zero_is_proved(body: str, evidence: str) -> None:
    assert zero_rule(body) == (Status.PROVED, f"every element of B 'd' lies in {evidence}")


@pytest.mark.parametrize(
    "body",
    [
        "d = Shape(x)",
        f"{ONE} s = Shape(x) d = Add(s, one)",
        f"{ONE} d = Add(y, one)",
        f"{ONE} d = Sub(one, one)",
        f"{ONE} d = Min(y, one)",
        "d = Abs(y)",
    ],
    ids=lambda value: value,
)
def test_divisor_that_may_be_zero_or_wrap_is_left_to_the_run(body: str) -> None:
    assert zero_rule(body)[0] is Status.RUNTIME


def test_initializer_that_an_input_can_override_proves_nothing() -> None:
    status, _ = zero_rule("d = Identity(w)", ", int64[2] w", " <int64[2] w = {1, 2}>")
    assert status is Status.RUNTIME


def test_initializer_proves() -> None:
    assert zero_rule("d = Identity(w)", "", " <int64[2] w = {1, 2}>") == (
        Status.PROVED,
        "every element of B 'd' lies in 1 to 2",
    )
