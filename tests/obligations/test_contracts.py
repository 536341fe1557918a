"""Contracts: how they are read, what they bind, and what follows from them."""

import math

import pytest

import sonnx_ort
from sonnx_ort import (
    Contract,
    ShapeContract,
    SizeContract,
    SonnxError,
    StateContract,
    TypeContract,
    ValueContract,
)
from sonnx_ort.obligations.contracts import read_contract
from sonnx_ort.profile.contract import contract_from_json, contract_to_json
from support.graphs import LIMITED, parse

FILE = """
[inputs.image]
range = [0, 1]
message = "scale the bytes by 1/255"

[inputs.ids]
dtype = "int64"
range = [0, 30521]
shape = ["batch", 3, "?"]

[inputs.lengths]
shape = ["batch"]

[inputs.names]
dtype = "string"

[sizes]
batch = [1, 8]
width = 224
height = { range = [32, 640], multiple_of = 32, message = "crop it" }
depth = { multiple_of = 4 }

[values."backbone.out"]
range = [-200.5, inf]

[inputs.mask]
finite = true

[inputs.ratios]
axis = 1
range = [[0, 1], [-1, inf]]

[inputs.steps]
whole = true
range = [0, 9]
message = "count them"

[states]
mask = "next_mask"
"""

READ = Contract(
    (
        ValueContract("image", (0, 1), "scale the bytes by 1/255"),
        ValueContract("ids", (0, 30521)),
        ValueContract("mask"),
        ValueContract("ratios", ((0, 1), (-1, math.inf)), axis=1),
        ValueContract("steps", (0, 9), "count them", whole=True),
        ValueContract("backbone.out", (-200.5, math.inf)),
    ),
    (ShapeContract("ids", ("batch", 3, None)), ShapeContract("lengths", ("batch",))),
    (
        SizeContract("batch", 1, 8),
        SizeContract("width", 224, 224),
        SizeContract("height", 32, 640, 32, "crop it"),
        SizeContract("depth", 0, 2**31 - 1, 4),
    ),
    (StateContract("mask", "next_mask"),),
    (TypeContract("ids", "int64"), TypeContract("names", "string")),
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
        ("[inputs.x]\nwhole = 1", "inputs.x: 'whole' is 1; write true or false"),
        (
            "[inputs.x]\nfinite = true\naxis = 1",
            "inputs.x: 'axis' is for a range of each index; write axis = 1, range = [[0, 1], [",
        ),
        (
            "[inputs.x]\naxis = 'c'\nrange = [[0, 1]]",
            "inputs.x: 'axis' is a number, and has a range for each index: axis = 1, range = [[0",
        ),
        (
            "[inputs.x]\naxis = 1\nrange = [0, 1]",
            "inputs.x: 'range' is 0; write two numbers: range = [0, 1]; or for each index of an",
        ),
        (
            "[inputs.x]\nrange = [[0, 1], [0, 2]]",
            "inputs.x: 'range' is [[0, 1], [0, 2]]; write two numbers: range = [0, 1]; or for each",
        ),
        ("states = 3", 'states: write the output of each state: h = "h_out"'),
        ("[states]\nh = 3", 'states: write the output of each state: h = "h_out"'),
        ("sizes = 3", "sizes: it is not a table of sizes; write [sizes]"),
        ("[values.x]\nshape = [1]", "values.x: 'shape' is unknown; an entry has range, finite"),
        (
            "[inputs.x]\ndtype = 'flaot'",
            "inputs.x: 'dtype' is 'flaot' (did you mean 'float'?); write a type of ONNX, such as",
        ),
        ("[inputs.x]\ndtype = 1", "inputs.x: 'dtype' is 1; write a type of ONNX, such as float"),
        ("[values.x]\ndtype = 'float'", "values.x: 'dtype' is unknown; an entry has range, fin"),
        ("[inputs.x]\nshape = 3", "inputs.x: 'shape' is 3; write one entry for each axis"),
        ("[inputs.x]\nshape = [-1]", "inputs.x: 'shape' has -1; an axis is a size, a name of"),
        ("[inputs.x]\nshape = ['a b']", "inputs.x: 'shape' has 'a b'; an axis is a size, a name"),
        ("[sizes]\nn = -1", "sizes.n: 'range' is -1; write a size, or the least and the largest"),
        ("[sizes]\nn = [1]", "sizes.n: 'range' is [1]; write a size, or the least and the"),
        ("[sizes]\nn = [1, 4294967296]", "sizes.n: 'range' is [1, 4294967296]; write a size, or"),
        ("[sizes]\nn = [8, 1]", "sizes.n: there is no such size; write the least first"),
        (
            "[sizes]\nn = {range = [1, 3], multiple_of = 4}",
            "sizes.n: there is no such size; write the least first",
        ),
        ("[sizes]\nn = {multiple_of = 0}", "sizes.n: 'multiple_of' is 0; write a number such as"),
        (
            "[sizes]\nn = {least = 0}",
            "sizes.n: 'least' is unknown; an entry has range, multiple_of",
        ),
    ],
)
def test_file_that_says_something_else_is_refused(tmp_path, text, message):
    path = tmp_path / "envelope.toml"
    path.write_text(text)
    with pytest.raises(SonnxError) as caught:
        read_contract(path)
    assert message in str(caught.value)


OPEN = '; its size has to be known: [inputs.NAME] shape = ["batch", 3] says that of an input'


@pytest.mark.parametrize(
    ("contract", "message"),
    [
        (
            Contract((ValueContract("z"),)),
            (
                "the graph has no input or value 'z'; "
                "inputs of subgraphs and values of functions cannot have a contract"
            ),
        ),
        (Contract((ValueContract("s", (0, 1)),)), "'s' is of type string, which has no range"),
        (
            Contract((ValueContract("i"),)),
            "'i' is of type int32, whose numbers are all finite; write a range",
        ),
        (
            Contract((ValueContract("i", (0.2, 0.8)),)),
            "the range of 'i' has no number of type int32",
        ),
        (
            Contract((ValueContract("u", (256, 300)),)),
            "the range of 'u' has no number of type uint8",
        ),
        (
            Contract((ValueContract("i", whole=True),)),
            "'i' is of type int32, whose numbers are all whole; remove 'whole'",
        ),
        (
            Contract((ValueContract("x", (0, math.inf), whole=True),)),
            "'x' is of whole numbers, and its range reaches infinity; write the largest number",
        ),
        (
            Contract((ValueContract("x", (0.2, 0.8), whole=True),)),
            "the range of 'x' has no whole number of type float",
        ),
        (
            Contract((ValueContract("f", whole=True),)),
            (
                "'f' is a float16 that a node computes, which ONNX Runtime may leave unrounded; of "
                "this type only inputs can be said to be whole"
            ),
        ),
        (
            Contract((ValueContract("x", ((0, 1), (2, 1), (0, 1)), axis=1),)),
            "the range [2, 1] of 'x' has no number of type float",
        ),
        (
            Contract((ValueContract("x", (0, 1), axis=1),)),
            (
                "a range of 'x' is 0; give two numbers, or axis= and two numbers for each of its "
                "indices"
            ),
        ),
        (
            Contract((ValueContract("x", ((0, 1), (0, 1))),)),
            (
                "a range of 'x' is ((0, 1), (0, 1)); give two numbers, or axis= and two "
                "numbers for each of its indices"
            ),
        ),
        (
            Contract((ValueContract("x", ((0, 1), (0, 1)), axis=1),)),
            f"'x' has 2 ranges on axis 1, and it is (n, 3){OPEN}",
        ),
        (
            Contract((ValueContract("x", ((0, 1),), axis=0),)),
            f"'x' has 1 ranges on axis 0, and it is (n, 3){OPEN}",
        ),
        (
            Contract((ValueContract("x", ((0, 1),), axis=2),)),
            f"'x' has 1 ranges on axis 2, and it is (n, 3){OPEN}",
        ),
        (Contract(shapes=(ShapeContract("z", (1,)),)), "there is no input 'z'"),
        (
            Contract(shapes=(ShapeContract("x", (-1, 3)),)),
            (
                "the shape of 'x' has -1; an axis is a size, a name of letters, digits and "
                "underscores, or '?' for any size"
            ),
        ),
        (
            Contract(sizes=(SizeContract("n", 8, 1),)),
            "the size 'n': there is no such size; write the least first",
        ),
        (
            Contract(shapes=(ShapeContract("x", ("n",)),)),
            "the shape of 'x' is declared as (n, 3), and the contract says (n,)",
        ),
        (
            Contract(shapes=(ShapeContract("x", ("n", 4)),)),
            "the shape of 'x' is declared as (n, 3), and the contract says (n, 4)",
        ),
        (
            Contract(sizes=(SizeContract("m", 1, 8),)),
            (
                "no axis of an input is named 'm'; name the axes of an input: [inputs.NAME] "
                'shape = ["batch", 3]'
            ),
        ),
        (Contract(types=(TypeContract("z", "float"),)), "there is no input 'z'"),
        (Contract(types=(TypeContract("a", "float"),)), "there is no input 'a'"),
        (
            Contract(types=(TypeContract("x", "double"),)),
            (
                "the type of 'x' is declared as float, and the contract says double; correct the "
                "contract, or convert the input in the model"
            ),
        ),
        (
            Contract(types=(TypeContract("s", "bool"),)),
            (
                "the type of 's' is declared as string, and the contract says bool; correct the "
                "contract, or convert the input in the model"
            ),
        ),
    ],
)
def test_contract_that_does_not_fit_the_model_is_refused(contract, message):
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.check(parse(LIMITED), contract=contract)
    assert str(caught.value) == f"contract: {message}"


IN_STEPS = """(float[1, 2] x, float[1, 2] h) => (float[1, 2] g, double[1, 2] d, float[2, 2] w) {
    s = Add(x, h) [last] g = Tanh(s) d = Cast<to = 11>(g) w = Concat<axis = 0>(s, g) }"""


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (("k", "g"), "there is no input 'k' of a state"),
        (("h", "s"), "there is no output 's' of a state"),
        (("x", "g"), "the state 'x' has no entry; write [inputs.x] range = [-1, 1]"),
        (
            ("h", "d"),
            (
                "the output 'd' cannot be the state 'h' of the next call: it is double (1, 2), and "
                "not float (1, 2)"
            ),
        ),
        (
            ("h", "w"),
            (
                "the output 'w' cannot be the state 'h' of the next call: it is float (2, 2), and "
                "not float (1, 2)"
            ),
        ),
    ],
)
def test_state_that_no_call_gives_to_the_next_is_refused(state, message):
    contract = Contract((ValueContract("h", (-1, 1)),), states=(StateContract(*state),))
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.check(parse(IN_STEPS), contract=contract)
    assert str(caught.value).splitlines()[0] == f"contract: {message}"


def test_output_of_a_state_has_no_entry_of_its_own():
    values = (ValueContract("h", (-1, 1)), ValueContract("g", (-2, 2)))
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.check(
            parse(IN_STEPS), contract=Contract(values, states=(StateContract("h", "g"),))
        )
    assert str(caught.value) == (
        "contract: the state 'h' has one entry, and its output 'g' another; remove that"
    )


@pytest.mark.parametrize(
    ("most", "verdict"),
    [
        (1.0, ("proved", "every element of g 'g' lies in -0.995056 to 0.995056")),
        (0.5, ("runtime", "the elements of g are known only in a run")),
    ],
)
def test_output_of_a_state_keeps_what_is_demanded_of_the_next_call(most, verdict):
    contract = Contract(
        (ValueContract("x", (-2, 2)), ValueContract("h", (-most, most))),
        states=(StateContract("h", "g"),),
    )
    report = sonnx_ort.check(parse(IN_STEPS), contract=contract)
    found = {o.place: (str(o.status), o.evidence) for o in report.obligations if o.rule.code > 1316}
    assert found["Tanh 'last'"] == verdict
    assert found["Input 'h'"][0] == "runtime"


def test_type_of_the_model_demands_nothing_of_runs():
    types = TypeContract("x", "float"), TypeContract("s", "string")
    report = sonnx_ort.check(parse(LIMITED), contract=Contract(types=types))
    assert not [o for o in report.obligations if o.rule.id.startswith("Contract")]


def test_name_of_values_in_two_bodies_is_refused():
    graph = """(bool c, float[2] x) => (float[2] y) { y = If(c) <
        then_branch = t () => (float[2] a) { s = Neg(x) a = Exp(s) },
        else_branch = e () => (float[2] b) { s = Abs(x) b = Exp(s) }> }"""
    with pytest.raises(SonnxError) as caught:
        sonnx_ort.check(parse(graph), contract=Contract((ValueContract("s"),)))
    assert str(caught.value) == ("contract: several subgraphs have a value 's'; rename one of them")
