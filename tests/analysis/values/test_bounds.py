"""Intervals of integers: what follows, and what a wrap-around forbids."""

import logging

import numpy as np
import onnx
import onnx_ir as ir
import pytest

import sonnx_ort
from sonnx_ort.analysis.values.derived import derived
from sonnx_ort.facts.sizes import Bounds
from sonnx_ort.facts.types import Types, tensor_of
from sonnx_ort.profile.rule import Status
from support.graphs import parse


def zero_rule(body: str, inputs: str = "", initializers: str = "") -> tuple[Status, str]:
    made = parse(
        f"(int64[2] a, float[n, m] x, int64[2] y{inputs}) => (int64[2] z)"
        f"{initializers} {{ {body} z = Div(a, d) }}"
    )
    (found,) = [
        o
        for o in sonnx_ort.check(made, operators="default").obligations
        if o.rule.id == "Div.int.C1"
    ]
    return found.status, found.evidence


ONE = "one = Constant<value = int64[2] {1, 2}>()"


@pytest.mark.parametrize(
    ("body", "evidence"),
    [
        (f"{ONE} s = Shape(x) d = Max(s, one)", "1 to 9223372036854775807"),
        (f"{ONE} d = Max(y, one)", "1 to 9223372036854775807"),
        (f"{ONE} n = Neg(one) i = Identity(one) d = Mul(i, one)", "1 to 4"),
        (f"{ONE} p = Min(y, one) d = Max(p, one)", "1 to 9223372036854775807"),
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
        f"{ONE} f = Min(y, one) g = Max(f, one) d = Sub(g, one)",
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


def constant(dtype: str, *values: int) -> str:
    return f"Constant<value = {dtype}[{len(values)}] {{{', '.join(map(str, values))}}}>()"


def bounds_of(nodes: str, dtype: str) -> Bounds | None:
    """The interval of the value d."""
    made = parse(f"({dtype}[2] y, float[m] w) => ({dtype}[] z) {{ {nodes} z = Sub(d, y) }}")
    operands = [
        o.operands
        for o in sonnx_ort.check(made, operators="default").obligations
        if o.operator == "Sub"
    ]
    return operands[-1][0].bounds


ONE_AND_NINE = "p = Constant<value = int32 {1}>() q = Constant<value = int32 {9}>()"


@pytest.mark.parametrize(("dtype", "node", "expected"), [
    ("int8", "d = Add(a, b)", Bounds(2, 105)),
    ("int8", "d = Sub(a, b)", Bounds(-4, 99)),
    ("int8", "d = Mul(b, b)", Bounds(1, 25)),
    ("int8", "d = Max(a, b)", Bounds(1, 100)),
    ("int8", "d = Min(a, b)", Bounds(1, 5)),
    ("int8", "d = Max(a, b, y)", Bounds(1, 127)),
    ("int8", "d = Min(a, b, y)", Bounds(-128, 5)),
    ("uint8", "d = Max(b, y)", Bounds(1, 255)),
    ("uint8", "d = Min(b, y)", Bounds(0, 5)),
    ("int8", "d = Concat<axis = 0>(a, b)", Bounds(1, 100)),
    ("int8", "d = Identity(b)", Bounds(1, 5)),
    ("int8", "i = Constant<value_ints = [0]>() d = Gather(b, i)", Bounds(1, 5)),
    ("int8", "s = Constant<value_ints = [3, 2]>() d = Expand(b, s)", Bounds(1, 5)),
    ("int8", "s = Constant<value_ints = [2, 1]>() d = Reshape(b, s)", Bounds(1, 5)),
    ("int8", "s = Constant<value_ints = [2]>() d = Tile(b, s)", Bounds(1, 5)),
    ("int8", "s = Constant<value_ints = [0]>() d = Unsqueeze(b, s)", Bounds(1, 5)),
    ("int8", "d = Transpose(b)", Bounds(1, 5)),
    ("int8", "d = Flatten<axis = 0>(b)", Bounds(1, 5)),
    ("int8", "d = Neg(a)", Bounds(-100, -1)),
    ("int8", "c = Sub(b, a) d = Abs(c)", Bounds(0, 99)),
    ("int8", "d = Sign(a)", Bounds(1, 1)),
    ("int8", "c = Sub(b, a) d = Sign(c)", Bounds(-1, 1)),
    ("int8", "d = Mod(y, b)", Bounds(0, 4)),
    ("int8", "d = Mod<fmod = 1>(y, b)", Bounds(-4, 4)),
    ("int8", "d = Mod<fmod = 1>(a, b)", Bounds(0, 4)),
    ("int8", "d = Div(a, b)", Bounds(0, 100)),
    ("int8", "i = Constant<value = int8 {7}>() d = Clip(y, i)", Bounds(7, 127)),
    ("int8", 'i = Constant<value = int8 {7}>() d = Clip(y, "", i)', Bounds(-128, 7)),
    ("int8", "d = Relu(y)", Bounds(0, 127)),
    ("int32", f"{ONE_AND_NINE} d = Range(p, q, p)", Bounds(1, 8)),
    ("int32", f"{ONE_AND_NINE} n = Neg(p) d = Range(q, p, n)", Bounds(2, 9)),
    ("int32", "c = Equal(y, a) d = Cast<to = 6>(c)", Bounds(0, 1)),
    ("int32", "c = Equal(y, a) e = Not(c) d = Cast<to = 6>(e)", Bounds(0, 1)),
    ("int32", "c = Cast<to = 9>(y) d = Cast<to = 6>(c)", Bounds(0, 1)),
    ("int32", "c = Equal(y, a) d = Where(c, a, b)", Bounds(1, 100)),
    ("uint8", 'd = BitShift<direction = "RIGHT">(a, y)', Bounds(0, 100)),
    ("int64", "d = Max(y, a)", Bounds(1, 2**63 - 1)),
    ("int64", "d = Max(a, y, b)", None),
    ("int64", "n = Neg(a) d = Min(y, n)", Bounds(-(2**63), -1)),
    ("int64", "d = Min(y, a)", None),
    ("int64", "n = Neg(a) d = Max(y, n)", None),
    ("int64",
     "i = Constant<value = int64 {2}>() j = Constant<value = int64 {7}>() d = Clip(y, i, j)",
     Bounds(2, 7)),
    ("int64", "i = Constant<value = int64 {7}>() d = Clip(y, i)", None),
    ("int64", "i = Constant<value = int64 {3000000000}>() d = Max(y, i)", None),
    ("int64", "c = Mul(a, a) d = Max(c, a)", Bounds(1, 10000)),
    ("int64", "d = Sign(a)", Bounds(1, 1)),
    ("int64", "c = Max(y, a) d = Sign(c)", Bounds(-1, 1)),
    ("int64", "d = ArgMax(y)", Bounds(0, 2**63 - 1)),
    ("int64", "d = NonZero(y)", Bounds(0, 2**63 - 1)),
    ("int64", "k = Constant<value_ints = [1]>() v, d = TopK(y, k)", Bounds(0, 2**63 - 1)),
    ("int64", "u, i, v, d = Unique(y)", Bounds(1, 2**63 - 1)),
    ("int8", "s = Constant<value_ints = [2]>() d = ConstantOfShape<value = int8[1] {3}>(s)",
     Bounds(3, 3)),
    ("int8", "c = Cast<to = 6>(a) k = Mul(c, c) d = Cast<to = 3>(c)", Bounds(1, 100)),
], ids=str)  # fmt: skip
def test_interval_of_operators(dtype: str, node: str, expected: Bounds) -> None:
    nodes = f"a = {constant(dtype, 1, 100)} b = {constant(dtype, 5, 1)} {node}"
    assert bounds_of(nodes, dtype) == expected


@pytest.mark.parametrize(
    ("dtype", "nodes"),
    [
        ("int8", f"a = {constant('int8', 100)} d = Add(a, a)"),
        ("int8", f"a = {constant('int8', -100)} b = {constant('int8', 100)} d = Sub(a, b)"),
        ("int8", f"a = {constant('int8', -128)} b = {constant('int8', -1)} d = Mul(a, b)"),
        ("int8", f"a = {constant('int8', 16)} d = Mul(a, a)"),
        ("uint8", f"a = {constant('uint8', 1)} b = {constant('uint8', 2)} d = Sub(a, b)"),
        ("int8", f"a = {constant('int32', 200)} d = Cast<to = 3>(a)"),
        ("uint8", f"a = {constant('int32', -1)} d = Cast<to = 2>(a)"),
        ("int64", f"s = Shape(w) a = {constant('int64', 1)} d = Add(s, a)"),
        ("int64", "s = Shape(w) d = Mul(s, s)"),
        ("int32", f"a = {constant('int32', 1)} d = Add(y, a)"),
        ("int32", f"a = {constant('int32', 1)} d = Concat<axis = 0>(a, y)"),
        ("int32", "d = Identity(y)"),
        ("int32", f"a = {constant('float', 1)} b = Softsign(a) d = Cast<to = 6>(b)"),
        ("int32", f"a = {constant('bool', 1)} d = Cast<to = 6>(a)"),
        ("int32", f"a = {constant('bool', 1)} b = Or(a, a) d = Cast<to = 6>(b)"),
        ("int32", f"a = {constant('bool', 1)} b = Not(a) d = Cast<to = 6>(b)"),
        ("int8", "d = Neg(y)"),
        ("int8", "d = Abs(y)"),
        ("int8", f"a = {constant('int8', -1, 1)} d = Div(y, a)"),
        ("int8", f"a = {constant('int8', -128)} b = {constant('int8', -1)} d = Div(a, b)"),
        ("int8", f"a = {constant('int8', 3)} d = Mod<fmod = 2>(y, a)"),
        ("uint8", f'a = {constant("uint8", 3)} d = BitShift<direction = "LEFT">(a, y)'),
        (
            "int32",
            f"{ONE_AND_NINE} s = Constant<value = int32 {{-2147483648}}>() d = Range(q, s, s)",
        ),
    ],
    ids=str,
)
def test_what_may_wrap_or_is_unknown_has_no_interval(dtype: str, nodes: str) -> None:
    assert bounds_of(nodes, dtype) is None


@pytest.mark.parametrize("operator", ["Shape", "Size"])
def test_shapes_and_sizes_are_never_negative(operator: str) -> None:
    nodes = f"d = {operator}(y)"
    assert bounds_of(nodes, "int64") == Bounds(0, 2**63 - 1)


def test_divisor_that_is_never_minus_1_keeps_quotients_within_the_type() -> None:
    made = parse("(int64[1] a, float[n] x) => (int64[1] z) { d = Shape(x) z = Div(a, d) }")
    found = {o.rule.id: o for o in sonnx_ort.check(made, operators="default").obligations}
    assert found["Div.int.C1"].status is Status.RUNTIME
    assert (found["Div.int.C2"].status, found["Div.int.C2"].evidence) == (
        Status.PROVED,
        "every element of B 'd' lies in 0 to 9223372036854775807",
    )


def test_dividend_that_is_never_the_smallest_value_keeps_quotients_within_the_type() -> None:
    made = parse("(int64[1] b, float[n] x) => (int64[1] z) { d = Shape(x) z = Div(d, b) }")
    (found,) = [
        o
        for o in sonnx_ort.check(made, operators="default").obligations
        if o.rule.id == "Div.int.C2"
    ]
    assert (found.status, found.evidence) == (
        Status.PROVED,
        "every element of A 'd' lies in 0 to 9223372036854775807",
    )


def test_initializer_of_a_body_that_is_its_input_too_proves_nothing() -> None:
    made = parse(
        '(int32[n] x, int64 t) => (int32[] z) { z = Loop(t, "", x) <body = b'
        " (int64 i, bool go, int32[] s) => (bool still, int32[] o)"
        " { still = Identity(go) o = Div(x, s) }> }"
    )
    (body,) = (a.g for a in made.graph.node[0].attribute if a.name == "body")
    body.initializer.append(onnx.helper.make_tensor("s", onnx.TensorProto.INT32, [1], [1]))
    (found,) = [
        o
        for o in sonnx_ort.check(made, operators="default").obligations
        if o.rule.id == "Div.int.C1"
    ]
    assert found.status is Status.RUNTIME


def test_initializer_of_a_body_proves() -> None:
    made = parse(
        '(int32[n] x, int64 t) => (int32[] z) { z = Loop(t, "", x) <body = b'
        " (int64 i, bool go, int32[] s) => (bool still, int32[] o)"
        " <int32[1] d = {3}> { still = Identity(go) o = Div(s, d) }> }"
    )
    (found,) = [
        o
        for o in sonnx_ort.check(made, operators="default").obligations
        if o.rule.id == "Div.int.C1"
    ]
    assert (found.status, found.operands[1].bounds) == (Status.PROVED, Bounds(3, 3))


class OfOneType(Types):
    """Every value is of one type."""

    def __init__(self, element_type: str) -> None:
        self._type = tensor_of(element_type)

    def of(self, value: ir.Value) -> str:
        del value
        return self._type


def found_in(made: onnx.ModelProto, element_type: str) -> dict[str | None, Bounds]:
    """All that is found where every value is of one type."""
    types = OfOneType(element_type)
    found = derived(ir.from_proto(made), types).established("bounds")
    return {value.name: bounds for value, bounds in found.items()}


@pytest.mark.parametrize(
    ("count", "expected"),
    [(0, {}), (1, {"w": Bounds(3, 3)}), (2**16, {"w": Bounds(3, 3)}), (2**16 + 1, {})],
)
def test_constant_is_read_if_it_has_elements_and_not_too_many(
    count: int, expected: dict[str | None, Bounds]
) -> None:
    made = parse("() => (int8[] z) { z = Neg(w) }", constants={"w": np.full(count, 3, np.int8)})
    found = found_in(made, "int8")
    assert {name: each for name, each in found.items() if name == "w"} == expected


@pytest.mark.parametrize("value", [-1, 2])
def test_interval_beyond_0_and_1_says_nothing_of_bools(value: int) -> None:
    constants = {"w": np.array([value, 1], np.int8)}
    made = parse("() => (int8[] z) { z = Identity(w) }", constants=constants)
    assert "z" not in found_in(made, "bool")


def test_node_that_no_rule_can_read_is_logged_and_ends_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    made = parse("() => (int8[] z) { y = Add(w) z = Neg(w) }", constants={"w": np.array([3])})
    with caplog.at_level(logging.DEBUG, "sonnx_ort"):
        found = found_in(made, "int8")
    assert found["z"] == Bounds(-3, -3)
    (record,) = caplog.records
    assert record.getMessage() == "the bounds of 'y' cannot be followed"
    assert record.exc_info is not None
    assert record.exc_info[0] is ValueError
