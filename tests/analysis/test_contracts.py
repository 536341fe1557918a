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
from sonnx_ort.analysis.contracts import read_contract
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
        (
            "[inputs.x]\nrange = [0, 1e400]",
            ": 1e400 is beyond all numbers of double, 1.8e308; write inf or -inf for infinity",
        ),
        (
            f"[inputs.x]\nrange = [-{10**309}, 1]",
            "inputs.x: the range has an end beyond all numbers of double, 1.8e308; write inf or -",
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
                "the graph has no input or value 'z'; the model's inputs are x, d, i, u, s; "
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
        (
            Contract(shapes=(ShapeContract("z", (1,)),)),
            "there is no input 'z'; the model's inputs are x, d, i, u, s",
        ),
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
        (
            Contract((ValueContract("x", (0, 1)), ValueContract("x", (0, 2)))),
            "2 entries are for numbers of 'x'; keep one",
        ),
        (
            Contract(shapes=(ShapeContract("x", ("n", 3)), ShapeContract("x", ("m", 3)))),
            "2 entries are for the shape of 'x'; keep one",
        ),
        (
            Contract(sizes=(SizeContract("n", 1, 2), SizeContract("n", 1, 3))),
            "2 entries are for the size of 'n'; keep one",
        ),
        (
            Contract(types=(TypeContract("x", "float"), TypeContract("x", "float"))),
            "2 entries are for the type of 'x'; keep one",
        ),
        (
            Contract((ValueContract("x", (0, 10**309)),)),
            (
                "a range of 'x' has an end beyond all numbers of double, 1.8e308; write inf or "
                "-inf for no end"
            ),
        ),
        (
            Contract((ValueContract("x", ((0, 1),), axis=True),)),
            "'x' has axis=True; give a number, such as 1",
        ),
        (
            Contract((ValueContract("x", (1e39, 1e40)),)),
            "the range of 'x' has no number of type float",
        ),
        (
            Contract((ValueContract("x", (1e39, 1e40), whole=True),)),
            "the range of 'x' has no whole number of type float",
        ),
        (
            Contract((ValueContract("i", (math.inf, math.inf)),)),
            "the range of 'i' has no number of type int32",
        ),
        (
            Contract(types=(TypeContract("z", "float"),)),
            "there is no input 'z'; the model's inputs are x, d, i, u, s",
        ),
        (
            Contract(types=(TypeContract("a", "float"),)),
            "there is no input 'a'; the model's inputs are x, d, i, u, s",
        ),
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


OF_SEVERAL_KINDS = """(seq(float[n]) s, optional(float[2]) o, float8e4m3fn[k] f, float[n] x)
    => (float[n] y)
{
    parts = SplitToSequence(x)
    y = Abs(x)
}"""


@pytest.mark.parametrize(
    ("contract", "message"),
    [
        (
            Contract((ValueContract("s", (0, 1)),)),
            "'s' is a sequence, which has no range that can be checked; remove its entry",
        ),
        (
            Contract((ValueContract("o"),)),
            "'o' is an optional, which has no range that can be checked; remove its entry",
        ),
        (
            Contract((ValueContract("parts"),)),
            "'parts' is a sequence, which has no range that can be checked; remove its entry",
        ),
        (
            Contract(types=(TypeContract("s", "float"),)),
            "'s' is a sequence, which has no dtype that can be checked; remove its entry",
        ),
        (
            Contract(shapes=(ShapeContract("s", (2,)),)),
            "'s' is a sequence, which has no shape that can be checked; remove its entry",
        ),
        (
            Contract(shapes=(ShapeContract("f", (2,)),)),
            (
                "'f' is a tensor of float8e4m3fn, which has no shape that can be checked; remove "
                "its entry"
            ),
        ),
        (
            Contract((ValueContract("f"),)),
            "'f' is of type float8e4m3fn, which has no range",
        ),
        (
            Contract(sizes=(SizeContract("n", 1, 2),)),
            (
                "'n' is also an axis of 's', a sequence, whose sizes cannot be checked; give the "
                'axes of the other inputs another name: [inputs.NAME] shape = ["batch", 3]'
            ),
        ),
    ],
)
def test_contract_of_what_no_backend_can_check_is_refused(contract, message):
    for function in (sonnx_ort.check, sonnx_ort.rewrite, sonnx_ort.conform):
        with pytest.raises(SonnxError) as caught:
            function(parse(OF_SEVERAL_KINDS), contract=contract)
        assert str(caught.value) == f"contract: {message}"


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (
            'hh = "g"',
            "there is no input 'hh' of a state (did you mean 'h'?); the model's inputs are x, h",
        ),
        (
            'h = "gg"',
            (
                "there is no output 'gg' of a state (did you mean 'g'?); the model's outputs are "
                "g, d, w"
            ),
        ),
        ('h = "g"', "the state 'h' has no entry; write [inputs.h] range = [-1, 1]"),
    ],
)
def test_file_of_states_alone_is_held_against_the_model(tmp_path, states, message):
    path = tmp_path / "envelope.toml"
    path.write_text(f"[states]\n{states}\n")
    for function in (sonnx_ort.check, sonnx_ort.rewrite, sonnx_ort.conform):
        with pytest.raises(SonnxError) as caught:
            function(parse(IN_STEPS), contract=path)
        assert str(caught.value) == f"contract: {message}"


@pytest.mark.parametrize(
    ("axis", "size", "words"),
    [
        ("batch", SizeContract("batch", 1, 1), "is 2; the contract says 1 for batch"),
        ("n", SizeContract("n", 4, 8, 2), "is 2; the contract says 4 to 8 in multiples of 2 for n"),
        ("n", SizeContract("n", 1, 1, 1, "one"), "is 2; the contract says 1 for n (one)"),
    ],
)
def test_declared_size_that_no_run_can_have_is_a_violation(axis, size, words):
    model = parse("(float[2, 3] x) => (float[2, 3] y) { y = Abs(x) }")
    contract = Contract(shapes=(ShapeContract("x", (axis, 3)),), sizes=(size,))
    report = sonnx_ort.check(model, contract=contract)
    (found,) = [o for o in report.obligations if o.rule.id == "Contract.sizes"]
    assert (str(found.status), found.evidence) == ("violated", f"axis 0 of x (2, 3) {words}")


IN_STEPS = """(float[1, 2] x, float[1, 2] h) => (float[1, 2] g, double[1, 2] d, float[2, 2] w) {
    s = Add(x, h) [last] g = Tanh(s) d = Cast<to = 11>(g) w = Concat<axis = 0>(s, g) }"""


@pytest.mark.parametrize(
    ("state", "message"),
    [
        (("k", "g"), "there is no input 'k' of a state; the model's inputs are x, h"),
        (("h", "s"), "there is no output 's' of a state; the model's outputs are g, d, w"),
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
        (1.0, ("proved", "every element of g 'g' lies in -0.995057 to 0.995057")),
        (0.5, ("runtime", "the elements of g depend on the inputs")),
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
