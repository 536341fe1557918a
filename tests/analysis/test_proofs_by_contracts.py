"""What follows from a contract: what is proved behind its guards, and what is left to runs."""

import datetime as dt
import math

import pytest

import sonnx_ort
from sonnx_ort import (
    Contract,
    ShapeContract,
    SizeContract,
    SonnxError,
    ValueContract,
    Waiver,
)
from support.graphs import LIMITED, PARTS_OF_AN_AXIS, parse


def found(*entries, graph=LIMITED, rule="Contract", operators="default,Graph.finite_values"):
    report = sonnx_ort.check(parse(graph), contract=Contract(entries), operators=operators)
    return {
        o.place: (str(o.status), o.evidence)
        for o in report.obligations
        if o.rule.id.startswith(rule)
    }


OPEN = "the elements of {} depend on the inputs"


def test_each_index_of_an_axis_has_an_interval():
    """One range for all would reach 0 behind the Add."""
    graph = """(float[n, 2] x) => (float[n, 2] y) {
        k = Constant<value = float[1, 2] {3, -1}>()
        s = Add(x, k) [inverse] y = Reciprocal(s) }"""
    entry = ValueContract("x", ((-1, 1), (2, 4)), axis=1)
    assert found(entry, graph=graph, rule="Graph.finite")["Reciprocal 'inverse'"] == (
        "proved",
        "every element of output 'y' lies in 0.249999 to 1.00001",
    )


def test_whole_numbers_end_at_whole_ends():
    """Of the whole numbers from 0.5 on none is below 1."""
    graph = "(float[n] x) => (float[n] y) { [inverse] y = Reciprocal(x) }"
    entry = ValueContract("x", (0.5, 8.5), whole=True)
    assert found(entry, graph=graph, rule="Graph.finite")["Reciprocal 'inverse'"] == (
        "proved",
        "every element of output 'y' lies in 0.124999 to 1.00001",
    )


def test_input_and_value_are_checked_in_each_run():
    assert found(ValueContract("x", (-1, 1)), ValueContract("a")) == {
        "Input 'x'": ("runtime", OPEN.format("x")),
        "Add 'sum'": ("proved", "every element of a 'a' lies in -2.00001 to 2.00001"),
    }


def test_range_that_the_type_ensures_is_proved():
    assert found(ValueContract("u", (0, 255))) == {
        "Input 'u'": ("proved", "no uint8 is outside of 0 to 255")
    }


def test_range_of_integers_may_reach_infinity():
    assert found(ValueContract("i", (0, math.inf)))["Input 'i'"] == ("runtime", OPEN.format("i"))
    assert found(ValueContract("i", (-math.inf, math.inf))) == {
        "Input 'i'": ("proved", "no int32 is outside of -inf to inf")
    }


def test_value_is_finite_that_follows_from_its_operands():
    entries = ValueContract("x", (-1, 1)), ValueContract("d", (0.5, 4))
    assert found(*entries, rule="Graph.finite") == {
        "Add 'sum'": ("proved", "every element of output 'a' lies in -2.00001 to 2.00001"),
        "Div 'quotient'": ("proved", "every element of output 'y' lies in -4.00001 to 4.00001"),
    }


def test_divisor_that_may_be_zero_leaves_the_quotient_open():
    entries = ValueContract("x", (-1, 1)), ValueContract("d", (0, 4))
    assert found(*entries, rule="Graph.finite")["Div 'quotient'"] == (
        "runtime",
        OPEN.format("output"),
    )


def test_checkpoint_is_a_premise_behind_it_and_not_of_itself():
    entries = ValueContract("d", (1, 2)), ValueContract("a", (-3, 3))
    assert found(*entries)["Add 'sum'"] == ("runtime", OPEN.format("a"))
    assert found(*entries, rule="Graph.finite") == {
        "Add 'sum'": ("proved", "every element of output 'a' lies in -3 to 3"),
        "Div 'quotient'": ("proved", "every element of output 'y' lies in -3.00001 to 3.00001"),
    }


INTEGERS = """(int32[2] a, int32[2] b) => (int32[2] c) { c = Div(a, b) }"""


@pytest.mark.parametrize(
    ("range_of_b", "zero", "overflow"),
    [
        ((1, 9), "proved", "proved"),
        ((-9, -2), "proved", "proved"),
        ((-1, 9), "runtime", "runtime"),
        ((0, 9), "runtime", "proved"),
    ],
)
def test_rules_of_integer_division_follow_from_the_divisor(range_of_b, zero, overflow):
    entry = ValueContract("b", range_of_b)
    statuses = found(entry, graph=INTEGERS, rule="Div.int.C1", operators="default")
    assert [status for status, _ in statuses.values()] == [zero]
    statuses = found(entry, graph=INTEGERS, rule="Div.int.C2", operators="default")
    assert [status for status, _ in statuses.values()] == [overflow]


def test_report_has_the_contract():
    report = sonnx_ort.check(parse(LIMITED), contract=READ_OF_GRAPH)
    assert report.to_document()["contract"] == [
        {"value": "x", "range": [0.5, "inf"], "message": "a gain"},
        {"value": "d"},
    ]


READ_OF_GRAPH = Contract((ValueContract("x", (0.5, math.inf), "a gain"), ValueContract("d")))


def test_violated_contract_cannot_be_waived():
    """What follows from it is proved, and would be false."""
    made = parse("() => (float[2] y) { [c] k = Constant<value = float[2] {1, 7}>() y = Exp(k) }")
    contract = Contract((ValueContract("k", (0, 1)),))
    (violation,) = [o for o in sonnx_ort.check(made, contract=contract).violations if o.node == "c"]
    assert violation.evidence == "the constant k 'k' is outside of 0 to 1 at [1]"
    waiver = Waiver("Contract.range", "c", "it is known", "board", dt.date(9999, 12, 31))
    with pytest.raises(SonnxError, match=r"Contract\.range at Constant .* has no effect"):
        sonnx_ort.rewrite(made, contract=contract, waivers=[waiver], backend="native")


SIZES = """(float[n, c, h, w] x, float[n, c, h, w] z, int64[1] s)
    => (float[n, c, k, l] y, float[a, b] f, float[n, d, h, w] p, float[n, c, e, w] r)
{
    [sum] a = Add(x, z)
    [half] y = MaxPool<auto_pad = "NOTSET", ceil_mode = 0, dilations = [1, 1],
        kernel_shape = [2, 2], pads = [0, 0, 0, 0], storage_order = 0, strides = [2, 2]>(a)
    [lines] flat = Constant<value = int64[2] {-1, 16}>()
    f = Reshape<allowzero = 0>(a, flat)
    [from] zero = Constant<value = int64[4] {0, 0, 0, 0}>()
    [upto] ends = Constant<value = int64[4] {1, 2, 32, 8}>()
    [axes] all = Constant<value = int64[4] {0, 1, 2, 3}>()
    [by] one = Constant<value = int64[4] {1, 1, 1, 1}>()
    [cut] q = Slice(a, zero, ends, all, one)
    p = Identity(a)
    r = Identity(q)
}"""


OF_SIZES = Contract(
    sizes=(
        SizeContract("n", 1, 4),
        SizeContract("c", 2, 2),
        SizeContract("h", 32, 64, 16),
        SizeContract("w", 8, 99),
    )
)


@pytest.mark.parametrize(
    ("rule", "evidence"),
    [
        ("Add.float.R1", "both shapes are (n, 2, h, w)"),
        ("MaxPool.fits", "axis 2 of X (n, 2, h, w) is 32 to 64 and axis 3 of X is 8 to 99"),
        ("Reshape.X.C1", "X (n, 2, h, w) has the elements of [-1, 16]"),
        ("Reshape.allowzero.C3", "X (n, 2, h, w) is not empty"),
        ("Slice.R8", "starts and ends are within the sizes"),
        ("Slice.C2", "starts and ends are within the sizes"),
    ],
)
def test_rules_of_shapes_follow_from_sizes(rule, evidence):
    without, within = (
        [o for o in sonnx_ort.check(parse(SIZES), contract=c).obligations if o.rule.id == rule]
        for c in (Contract(), OF_SIZES)
    )
    assert [str(o.status) for o in without] == ["runtime"]
    assert [(str(o.status), o.evidence) for o in within] == [("proved", evidence)]


def test_contract_of_sizes_is_no_premise_of_itself():
    report = sonnx_ort.check(parse(SIZES), contract=OF_SIZES)
    own = [o for o in report.obligations if o.rule.id == "Contract.sizes"]
    assert [(o.node, str(o.status)) for o in own] == [("x", "runtime"), ("z", "runtime")]
    assert own[0].evidence == "whether axis 0 of x (n, c, h, w) is at least 1 is unknown"


def test_sizes_that_the_model_declares_are_proved():
    declared = parse("(float[4, 3] x) => (float[4, 3] y) { y = Relu(x) }")
    contract = Contract(shapes=(ShapeContract("x", (4, "m")),), sizes=(SizeContract("m", 1, 8),))
    report = sonnx_ort.check(declared, contract=contract)
    (own,) = [o for o in report.obligations if o.rule.id == "Contract.sizes"]
    assert str(own.status) == "proved"


@pytest.mark.parametrize("axis", [None, "n"])
def test_size_that_the_model_declares_stays_where_a_contract_leaves_it_open(axis):
    graph = "(float[3] x, float[3] y) => (float[3] z) { z = Div(x, y) }"
    contract = Contract(shapes=(ShapeContract("x", (axis,)),))
    report = sonnx_ort.check(parse(graph), contract=contract, operators="default")
    (shapes,) = (o for o in report.obligations if o.rule.id == "Div.float.R1")
    assert (shapes.status, shapes.evidence) == ("proved", "both shapes are (3,)")


def test_mean_over_an_axis_of_a_bounded_size_is_finite():
    graph = """(float[n, 3] x) => (float[3] y) {
        [mean] y = ReduceMean<axes = [0], keepdims = 0>(x)
    }"""
    values, sizes = (ValueContract("x", (-1, 1)),), (SizeContract("n", 1, 1000),)
    for contract, status in (
        (Contract(values), "runtime"),
        (Contract(values, (), sizes), "proved"),
    ):
        report = sonnx_ort.check(parse(graph), contract=contract, operators="Graph.finite_values")
        finite = [o for o in report.obligations if o.node == "mean" and o.rule.id == "Graph.finite"]
        assert [str(o.status) for o in finite] == [status]


@pytest.mark.parametrize(
    ("node", "rule", "evidence"),
    [
        ("whole", "Slice.C2", "starts and ends are within the sizes"),
        ("whole", "Slice.R6", "starts and ends are within the sizes"),
        ("in_rows", "Reshape.X.C1", "X (4*trunc(n/4),) has the elements of [-1, 4]"),
        ("in_rows", "Reshape.allowzero.C3", "X (4*trunc(n/4),) is not empty"),
        ("best", "Reshape.allowzero.C3", "X (trunc(n/4),) is not empty"),
        ("counted", "Reshape.allowzero.C3", "X (trunc(n/4),) is not empty"),
    ],
)
def test_sizes_of_parts_follow_from_the_size_of_an_axis(node, rule, evidence):
    contract = Contract(sizes=(SizeContract("n", 4, 99),))
    report = sonnx_ort.check(parse(PARTS_OF_AN_AXIS), contract=contract)
    (found,) = [o for o in report.obligations if (o.node, o.rule.id) == (node, rule)]
    assert (str(found.status), found.evidence) == ("proved", evidence)


@pytest.mark.parametrize("size", [(3, 99), (0, 99)], ids=str)
def test_part_of_an_axis_that_may_be_short_may_be_empty(size):
    contract = Contract(sizes=(SizeContract("n", *size),))
    report = sonnx_ort.check(parse(PARTS_OF_AN_AXIS), contract=contract)
    found = [o for o in report.obligations if o.rule.id == "Reshape.allowzero.C3"]
    assert [str(o.status) for o in found] == ["runtime"] * 3


PLACES = """(float[n] x) => (float[k] y)
<int64[1] zero = {{0}}, int64[1] one = {{1}}, int64[1] step = {{{step}}}, int64[1] half = {{2}}>
{{
    s = Shape(x) h = Div(s, half) o = Sub(zero, s) m = Sub(s, one) b = Sub(zero, one)
    {more}
    y = Slice(x, {start}, {end}, zero, step)
}}"""


@pytest.mark.parametrize(
    ("start", "end", "step", "more", "statuses"),
    [
        ("h", "s", 1, "", "proved proved proved"),
        ("s", "s", 1, "", "violated proved proved"),
        ("m", "s", 1, "", "proved proved proved"),
        ("o", "b", 1, "", "proved proved proved"),
        ("h", "e", 1, "e = Add(s, one)", "proved violated proved"),
        ("e", "s", 1, "e = Sub(o, one)", "violated proved proved"),
        ("h", "e", 1, "e = Sub(h, one)", "proved proved violated"),
        ("m", "h", -1, "", "proved proved proved"),
        ("h", "m", -1, "", "proved proved runtime"),
        ("m", "o", -1, "", "proved proved proved"),
        ("m", "e", -1, "e = Sub(o, one)", "proved proved proved"),
        ("m", "e", -1, "g = Sub(o, one) e = Sub(g, one)", "proved violated proved"),
        ("zero", "e", 1, "e = Sub(s, h)", "proved proved proved"),
        ("h", "e", 1, "e = Sub(s, h)", "proved proved proved"),
        ("zero", "e", 1, "e = Mul(h, half)", "proved proved proved"),
        ("zero", "e", 1, "u = Mul(h, half) e = Add(u, one)", "proved runtime proved"),
    ],
)
def test_places_are_compared_with_the_size_that_they_follow_from(start, end, step, more, statuses):
    text = PLACES.format(start=start, end=end, step=step, more=more)
    contract = Contract(sizes=(SizeContract("n", 2, 99),))
    report = sonnx_ort.check(parse(text), contract=contract)
    found = {o.rule.id: str(o.status) for o in report.obligations}
    assert [found[rule] for rule in ("Slice.R8", "Slice.C2", "Slice.R6")] == statuses.split()


@pytest.mark.parametrize(
    ("least", "verdict"),
    [
        (-9, ("proved", "every element of X 'x' lies in -9 to 1")),
        (-math.inf, ("runtime", OPEN.format("X"))),
    ],
)
def test_lines_of_a_softmax_are_above_negative_infinity(least, verdict):
    graph = "(float[n, 3] x) => (float[n, 3] y) { [share] y = Softmax<axis = 1>(x) }"
    entry = ValueContract("x", (least, 1))
    statuses = found(entry, graph=graph, rule="Softmax.float.C6", operators="Softmax")
    assert statuses == {"Softmax 'share'": verdict}


def test_numbers_of_an_operator_keep_lines_of_a_softmax_above_negative_infinity():
    graph = "(float[n, 3] x) => (float[n, 3] y) { s = Tanh(x) [share] y = Softmax<axis = 1>(s) }"
    statuses = found(graph=graph, rule="Softmax.float.C6", operators="Softmax")
    assert statuses == {
        "Softmax 'share'": (
            "proved",
            "every element of X 's' lies in -1.00001 to 1.00001 or NaN",
        )
    }
