"""Contracts: how they are read, what they bind, and what follows from them."""

import datetime as dt
import math

import pytest

import sonnx_ort
from sonnx_ort import Contract, SonnxError, ValueContract, Waiver
from sonnx_ort.obligations.contracts import read_contract
from sonnx_ort.profile.contract import contract_from_json, contract_to_json
from support.graphs import parse

FILE = """
[inputs.image]
range = [0, 1]
message = "scale the bytes by 1/255"

[inputs.ids]
range = [0, 30521]

[values."backbone.out"]
range = [-200.5, inf]

[inputs.mask]
finite = true
"""

READ = Contract(
    (
        ValueContract("image", (0, 1), "scale the bytes by 1/255"),
        ValueContract("ids", (0, 30521)),
        ValueContract("mask"),
        ValueContract("backbone.out", (-200.5, math.inf)),
    )
)


def test_file_is_read(tmp_path):
    path = tmp_path / "envelope.toml"
    path.write_text(FILE)
    assert read_contract(path) == READ


def test_contract_survives_json():
    assert contract_from_json(contract_to_json(READ)) == READ


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[input.x]\nrange = [0, 1]", "'input' is unknown (did you mean 'inputs'?); write"),
        ("inputs = 3", "inputs: it is not a table of values; write [inputs.NAME]"),
        ("[inputs]\nx = [0, 1]", "inputs.x: it is not a table; write [inputs.x]"),
        ("[inputs.x]\nrang = [0, 1]", "inputs.x: 'rang' is unknown (did you mean 'range'?); an"),
        ("[inputs.x]\nrange = [0]", "inputs.x: 'range' is [0]; write two numbers: range = [0, 1]"),
        ("[inputs.x]\nrange = [0, nan]", "inputs.x: 'range' is [0, nan]; write two numbers"),
        ("[inputs.x]\nrange = [false, 1]", "inputs.x: 'range' is [False, 1]; write two numbers"),
        (
            "[inputs.x]\nrange = [2, 1]",
            "inputs.x: the range [2, 1] is empty; write the least first",
        ),
        ("[inputs.x]\nfinite = 1", "inputs.x: 'finite' is 1; write true or false"),
        ("[inputs.x]", "inputs.x: it demands nothing; write range = [0, 1] or finite = true"),
        ("[inputs.x]\nrange = [0, 1]\nmessage = 3", "inputs.x: 'message' is not a string"),
        (
            "[inputs.x]\nrange = [0, inf]\nfinite = true",
            "inputs.x: 'finite' contradicts a range that reaches infinity",
        ),
        (
            "[inputs.x]\nrange = [0, 1]\n[values.x]\nrange = [0, 1]",
            "'x' stands in [inputs] and in [values]; remove one",
        ),
    ],
)
def test_file_that_says_something_else_is_refused(tmp_path, text, message):
    path = tmp_path / "envelope.toml"
    path.write_text(text)
    with pytest.raises(SonnxError) as caught:
        read_contract(path)
    assert message in str(caught.value)


GRAPH = """(float[n, 3] x, float[n, 3] d, int32[k] i, uint8[k] u, string[1] s)
    => (float[n, 3] y, int32[k] j, uint8[k] v, string[1] t)
{
    [sum] a = Add(x, x)
    [quotient] y = Div(a, d)
    j = Identity(i)
    v = Identity(u)
    t = Identity(s)
}"""


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (ValueContract("z"), "the graph has no input or value 'z'"),
        (ValueContract("s", (0, 1)), "'s' is of type string, which has no range"),
        (ValueContract("i"), "'i' is of type int32, whose numbers are all finite; write a range"),
        (ValueContract("i", (0.2, 0.8)), "the range of 'i' has no number of type int32"),
    ],
)
def test_contract_that_does_not_fit_the_model_is_refused(entry, message):
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.check(parse(GRAPH), contract=Contract((entry,)))
    assert str(caught.value).startswith(f"contract: {message}")


def found(*entries, graph=GRAPH, rule="Contract", operators="default,Graph.finite_values"):
    report = sonnx_ort.check(parse(graph), contract=Contract(entries), operators=operators)
    return {
        o.place: (str(o.status), o.evidence)
        for o in report.obligations
        if o.rule.id.startswith(rule)
    }


OPEN = "the elements of {} are known only in a run"


def test_input_and_value_are_checked_in_each_run():
    assert found(ValueContract("x", (-1, 1)), ValueContract("a")) == {
        "Input 'x'": ("runtime", OPEN.format("x")),
        "Add 'sum'": ("proved", "every element of a 'a' lies in -2 to 2"),
    }


def test_range_that_the_type_ensures_is_proved():
    assert found(ValueContract("u", (0, 255))) == {
        "Input 'u'": ("proved", "no uint8 is outside of 0 to 255")
    }


def test_value_is_finite_that_follows_from_its_operands():
    entries = ValueContract("x", (-1, 1)), ValueContract("d", (0.5, 4))
    assert found(*entries, rule="Graph.finite") == {
        "Add 'sum'": ("proved", "every element of output 'a' lies in -2 to 2"),
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
        "Div 'quotient'": ("proved", "every element of output 'y' lies in -3 to 3"),
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
    report = sonnx_ort.check(parse(GRAPH), contract=READ_OF_GRAPH)
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
