"""Random inputs: of the declared types and shapes, the same for the same seed."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import onnx
import pytest

from sonnx_ort import Contract, ShapeContract, SizeContract, ValueContract, rewrite
from sonnx_ort.errors import SonnxError
from sonnx_ort.facts.sizes import LARGEST
from sonnx_ort.loading.source import read
from sonnx_ort.ort.feeds import graph_inputs
from sonnx_ort.runs import inputs
from sonnx_ort.runs.inputs import Inputs, Sizes
from sonnx_ort.runs.isolated_run import IsolatedRuns
from support.graphs import parse

TYPES = [
    *("float", "double", "float16", "bfloat16", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
]


@pytest.fixture(scope="module")
def runs() -> Iterator[IsolatedRuns]:
    with IsolatedRuns() as started:
        yield started


@pytest.fixture(autouse=True)
def process(runs: IsolatedRuns, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.RUNS", runs)


RUNS: Any = None
UNDECLARED = "the input 'x' has no declared shape; give it with inputs="
ALL = "input_shapes= sets all of an input"


def made_for(
    model: onnx.ModelProto | str, given: Mapping[str, Any] | None = None, **said: Any
) -> Inputs:
    read_model = read(parse(model) if isinstance(model, str) else model)
    return inputs.complete(read_model, given or {}, RUNS, **said)


def complete(model: Any, given: Mapping[str, Any], seed: int) -> Mapping[str, Any]:
    return made_for(model, given, seed=seed).arrays


@pytest.mark.parametrize("element_type", TYPES)
def test_random_inputs_have_the_declared_type_and_shape(element_type: str) -> None:
    model = parse(f"({element_type}[2, n, ?] x) => ({element_type}[] y) {{ y = Identity(x) }}")
    made = complete(model, {}, 0)["x"]
    assert made.dtype.name == {"float": "float32", "double": "float64"}.get(
        element_type, element_type
    )
    assert made.shape == (2, 3, 3)


def test_negative_size_is_an_open_one() -> None:
    model = parse("(float[2, n] x) => (float[2, n] y) { y = Identity(x) }")
    model.graph.input[0].type.tensor_type.shape.dim[1].dim_value = -1
    assert complete(model, {}, 0)["x"].shape == (2, 3)


def two() -> object:
    return parse("(float[4] x, int32[50] y) => (float[4] z) { z = Identity(x) }")


def test_same_seed_gives_the_same_inputs() -> None:
    first, again, other = (complete(two(), {}, seed) for seed in (1, 1, 2))
    for name in ("x", "y"):
        np.testing.assert_array_equal(first[name], again[name])
        assert (first[name] != other[name]).any()


def test_zeros_and_negative_integers_come_up() -> None:
    elements = set(complete(two(), {}, 0)["y"].tolist())
    assert {0, -1} <= elements


def test_given_inputs_stay() -> None:
    given = np.arange(4, dtype=np.float32)
    assert complete(two(), {"x": given}, 0)["x"] is given


def test_inputs_with_an_initializer_are_left_to_it() -> None:
    model = parse(
        "(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
    )
    assert list(complete(model, {}, 0)) == ["x"]
    assert list(complete(model, {"w": np.ones(2, np.float32)}, 0)) == ["x", "w"]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("string[3] x", "no random tensor can be made for the input 'x'; give it with inputs="),
        ("seq(float[3]) x", UNDECLARED),
        (
            "float[] x",
            f"{UNDECLARED}, or its shape with input_shapes=",
        ),
    ],
)
def test_inputs_that_cannot_be_made_up(declared: str, message: str) -> None:
    model = parse(f"({declared}) => (float[3] y) {{ y = Identity(x) }}")
    if declared == "float[] x":
        model.graph.input[0].type.tensor_type.ClearField("shape")
    with pytest.raises(SonnxError) as caught:
        complete(model, {}, 0)
    assert str(caught.value) == message


def test_unknown_input() -> None:
    with pytest.raises(SonnxError) as caught:
        complete(two(), {"w": np.ones(2)}, 0)
    assert str(caught.value) == "there is no input 'w'; the model's inputs are x, y"


SQUARE = "(float[n, m] x, float[m] y, float[2, ?] z) => (float[n] out) { out = Identity(x) }"


def test_sizes_are_taken_by_name_and_by_input() -> None:
    made = made_for(SQUARE, sizes=Sizes({"n": 4, "m": 5}, {"z": (2, 7)}))
    assert {name: array.shape for name, array in made.arrays.items()} == {
        "x": (4, 5),
        "y": (5,),
        "z": (2, 7),
    }
    assert (made.random, made.chosen, made.note) == (("x", "y", "z"), {}, "")


def test_shape_of_one_input_gives_the_sizes_of_another() -> None:
    made = made_for(SQUARE, sizes=Sizes({}, {"x": (4, 5), "z": (2, 1)}))
    assert made.arrays["y"].shape == (5,)


def test_given_input_gives_the_sizes_of_another() -> None:
    given = {"x": np.ones((4, 6), np.float32), "z": np.ones((2, 1), np.float32)}
    made = made_for(SQUARE, given)
    assert (made.arrays["y"].shape, made.random, made.chosen) == ((6,), ("y",), {})


def test_shape_that_is_not_declared_can_be_said() -> None:
    model = parse("(float[1] x) => (float[1] y) { y = Identity(x) }")
    model.graph.input[0].type.tensor_type.ClearField("shape")
    assert made_for(model, sizes=Sizes({}, {"x": (2, 3)})).arrays["x"].shape == (2, 3)


def test_input_with_an_initializer_is_random_if_its_shape_is_said() -> None:
    model = "(float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Add(x, w) }"
    assert made_for(model, sizes=Sizes({}, {"w": (2,)})).random == ("x", "w")


@pytest.mark.parametrize("placeholder", ["?", "-1", "None"])
def test_placeholders_are_no_names(placeholder: str) -> None:
    model = parse("(float[1, n, n] x) => (float[1, n, n] y) { y = Identity(x) }")
    for dimension in list(model.graph.input[0].type.tensor_type.shape.dim)[1:]:
        dimension.dim_param = placeholder
    made = made_for(model, sizes=Sizes({}, {"x": (1, 48, 320)}))
    assert made.arrays["x"].shape == (1, 48, 320)
    assert list(made_for(model).chosen) == ["axis 1 of 'x'", "axis 2 of 'x'"]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        (
            Sizes({"k": 3}),
            f"size k=3: the model has no open size 'k'; those that it names are n, m; {ALL}",
        ),
        (Sizes({"n": -1}), "size n=-1: -1 is no size; give an integer that is not negative"),
        (
            Sizes({}, {"w": (1,)}),
            "shape w=1: there is no input 'w'; the model's inputs are x, y, z",
        ),
        (
            Sizes({}, {"x": (1, 2, 3)}),
            "shape x=1,2,3: the model declares (n, m) for 'x'",
        ),
        (Sizes({}, {"z": (3, 1)}), "shape z=3,1: the model declares (2, ?) for 'z'"),
        (
            Sizes({}, {"z": (2, -4)}),
            "shape z=2,-4: -4 is no size; give an integer that is not negative",
        ),
        (
            Sizes({"m": 3}, {"y": (4,)}),
            "shape y=4: 'm' is 4 there, and 3 by size m=3",
        ),
        (
            Sizes({}, {"x": (2, 3), "y": (4,)}),
            "shape y=4: 'm' is 4 there, and 3 by shape x=2,3",
        ),
    ],
    ids=str,
)
def test_sizes_that_contradict_the_model(sizes: Sizes, message: str) -> None:
    with pytest.raises(SonnxError) as caught:
        made_for(SQUARE, sizes=sizes)
    assert str(caught.value) == message


def test_sizes_that_contradict_a_given_input() -> None:
    given = {"x": np.ones((2, 3), np.float32)}
    with pytest.raises(SonnxError) as caught:
        made_for(SQUARE, given, sizes=Sizes({"n": 4}))
    assert str(caught.value) == "the given input 'x': 'n' is 2 there, and 4 by size n=4"
    with pytest.raises(SonnxError) as caught:
        made_for(SQUARE, given, sizes=Sizes({}, {"x": (2, 3)}))
    assert str(caught.value) == ("shape x=2,3: 'x' is given, and has a shape; leave one out")


def test_given_inputs_of_one_name_may_have_two_sizes() -> None:
    given = {"x": np.ones((2, 3), np.float32), "y": np.ones(4, np.float32)}
    assert made_for(SQUARE, given).arrays["y"].shape == (4,)


def test_size_that_the_model_fixes_is_no_size_of_a_contract() -> None:
    contract = Contract(shapes=(ShapeContract("x", ("n",)),), sizes=(SizeContract("n", 1, 8),))
    made = made_for("(float[5] x) => (float[5] y) { y = Abs(x) }", contract=contract)
    assert (made.arrays["x"].shape, made.chosen) == ((5,), {})


def test_input_of_more_elements_than_any_rule_speaks_of_is_refused() -> None:
    with pytest.raises(SonnxError) as caught:
        made_for(SQUARE, sizes=Sizes({"n": 1 << 40, "m": 1 << 40}))
    assert str(caught.value) == (
        f"the input 'x' would be of shape ({1 << 40}, {1 << 40}), which has more than "
        f"{LARGEST:,} elements; give smaller sizes= or input_shapes="
    )


def test_size_of_a_model_without_names() -> None:
    with pytest.raises(SonnxError) as caught:
        made_for("(float[2] x) => (float[2] y) { y = Identity(x) }", sizes=Sizes({"n": 1}))
    assert str(caught.value) == (
        "size n=1: the model has no open size 'n'; it names none; input_shapes= sets all of an "
        "input"
    )


@pytest.mark.parametrize(
    ("nodes", "chosen"),
    [
        # ONNX Runtime pools an element where no window fits.
        ("AveragePool <kernel_shape = [5, 5], strides = [5, 5]> (x)", (1, 32, 32)),
        ("MaxPool <kernel_shape = [3, 3], dilations = [20, 20]> (x)", (1, 64, 64)),
        ("MaxPool <kernel_shape = [3, 3]> (x)", (3, 3, 3)),
        ("MaxPool <kernel_shape = [2, 2], dilations = [2, 2]> (x)", (3, 3, 3)),
        ("AveragePool <kernel_shape = [5, 5], pads = [1, 1, 1, 1]> (x)", (3, 3, 3)),
        ('AveragePool <kernel_shape = [9, 9], auto_pad = "SAME_UPPER"> (x)', (3, 3, 3)),
        ("Conv (x, kernel)", (1, 32, 32)),
        ("Slice (x, start, end, axis)", (1, 32, 32)),
        ("Reshape (x, pixels)", (1, 224, 224)),
    ],
)
def test_sizes_are_chosen_that_suit_the_model(nodes: str, chosen: tuple[int, ...]) -> None:
    model = parse(
        "(float[n, 1, h, w] x) => (float[n, 1, a, b] y) "
        "<int64[1] start = {5}, int64[1] end = {9}, int64[1] axis = {2}, "
        f"int64[2] pixels = {{-1, 50176}}> {{ y = {nodes} }}"
    )
    zeros = np.zeros((1, 1, 7, 7), np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(zeros, "kernel"))
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    made = made_for(model)
    assert (tuple(made.chosen.values()), made.able) == (chosen, True)
    assert made.arrays["x"].shape == (chosen[0], 1, *chosen[1:])


def test_values_that_are_empty_in_every_run_are_no_reason_to_search_on() -> None:
    model = "(float[n] x) => (float[k] y) <int64[1] zero = {0}> { y = Slice(x, zero, zero) }"
    assert made_for(model).chosen == {"n": 3}


def test_note_says_what_was_chosen() -> None:
    assert made_for("(float[n, ?] x) => (float[n, k] y) { y = Identity(x) }").note == (
        "n = 3, axis 1 of 'x' = 3 (the model runs with these; sizes= and input_shapes= set others)"
    )


def test_note_says_that_no_size_suits() -> None:
    model = "(float[n] x) => (float[5] y) <int64[1] shape = {-7}> { y = Reshape(x, shape) }"
    made = made_for(model)
    assert made.note == (
        "n = 3 (the model does not run with these, nor with others that were tried; "
        "set them with sizes= or input_shapes=)"
    )


@pytest.mark.parametrize("size", [2.5, "4", True])
def test_size_that_is_no_integer(size: Any) -> None:
    with pytest.raises(SonnxError) as caught:
        made_for(SQUARE, sizes=Sizes({"n": size}))
    assert str(caught.value) == (
        f"size n={size}: {size} is no size; give an integer that is not negative"
    )


INFINITE = float("inf")
LAST = (1 << 64) - 1
RANGES = [
    ("float", (2.0, 2.5)),
    ("float", (2e6, 3e6)),
    ("float16", (-INFINITE, INFINITE)),
    ("float16", (0.1, 0.1)),
    ("bfloat16", (3, 300)),
    ("double", (-INFINITE, -5e6)),
    ("int64", (10, 30521)),
    ("int32", (0.5, 2.5)),
    ("int8", (-1000, -100)),
    ("uint8", (-5, 1000)),
    ("uint64", (LAST - 5, LAST)),
]


@pytest.mark.parametrize(("element_type", "ends"), RANGES, ids=str)
def test_random_inputs_lie_in_the_range_of_a_contract(
    element_type: str, ends: tuple[float, float]
) -> None:
    contract = Contract((ValueContract("x", ends),))
    model = parse(f"({element_type}[50] x) => ({element_type}[50] y) {{ y = Identity(x) }}")
    made = made_for(model, contract=contract).arrays
    inputs.require_within(contract, graph_inputs(model), made)
    assert (len(set(made["x"].tolist())) > 1) is (ends[0] < ends[1])


@pytest.mark.parametrize(("ends", "numbers"), [((0.4, 1.2), {1}), ((-1.6, 0.4), {-1, 0})])
def test_random_whole_numbers_are_not_rounded_out_of_their_range(
    ends: tuple[float, float], numbers: set[float]
) -> None:
    contract = Contract((ValueContract("x", ends, whole=True),))
    made = made_for("(float[50] x) => (float[50] y) { y = Abs(x) }", contract=contract)
    assert set(made.arrays["x"].tolist()) == numbers


def test_random_numbers_of_a_wide_range_are_near_0() -> None:
    contract = Contract((ValueContract("x", (-1e30, 1e30)),))
    made = made_for("(float[50] x) => (float[50] y) { y = Abs(x) }", contract=contract)
    assert 1e5 < np.abs(made.arrays["x"]).max() <= 1e6


def test_random_inputs_keep_the_ranges_of_indices_and_whole_numbers() -> None:
    model = parse("(float[9, 3] x, float[9] w, int32[2] i) => (float[9, 3] y) { y = Relu(x) }")
    ranges = ((0.0, 0.5), (2.0, 3.0), (-9.0, -8.0))
    contract = Contract(
        (
            ValueContract("x", ranges, axis=1),
            ValueContract("w", (0.5, 3.5), whole=True),
            ValueContract("i", ((4, 5), (7, 7)), axis=-1),
        )
    )
    made = made_for(model, contract=contract).arrays
    inputs.require_within(contract, graph_inputs(model), made)
    assert set(made["w"]) == {1, 2, 3}
    assert made["i"][1] == 7
    assert all(made["x"][:, 1] >= 2)


@pytest.mark.parametrize(
    ("name", "number", "message"),
    [
        (
            "x",
            1.5,
            "the input 'x' breaks Contract.range: x is outside of 0 to 1 at index 0 of axis",
        ),
        ("w", 1.5, "the input 'w' breaks Contract.whole: w is fractional, NaN or infinite: w[0] ="),
    ],
)
def test_inputs_beyond_ranges_of_indices_or_that_are_not_whole_are_refused(
    name: str, number: float, message: str
) -> None:
    model = parse("(float[1, 1] x, float[1] w) => (float[1, 1] y) { y = Relu(x) }")
    contract = Contract(
        (ValueContract("x", ((0.0, 1.0),), axis=1), ValueContract("w", (0, 9), whole=True))
    )
    given = {"x": np.ones((1, 1), np.float32), "w": np.ones(1, np.float32)}
    given[name].flat[0] = number
    with pytest.raises(SonnxError) as caught:
        inputs.require_within(contract, graph_inputs(model), given)
    assert str(caught.value).startswith(message)


SIZED = "(float[n, k, ?] x, float[n, ?, m] y) => (float[n, k, ?] z) { z = Identity(x) }"
SIZES = Contract(
    shapes=(ShapeContract("y", ("n", "k", 7)),),
    sizes=(SizeContract("n", 0, 1), SizeContract("k", 1, 99, multiple_of=32)),
)


def test_sizes_are_chosen_that_a_contract_allows() -> None:
    made = made_for(SIZED, contract=SIZES)
    assert {name: array.shape for name, array in made.arrays.items()} == {
        "x": (1, 32, 3),
        "y": (1, 32, 7),
    }
    assert made.chosen == {"n": 1, "k": 32, "axis 2 of 'x'": 3}


def test_given_and_said_sizes_come_before_those_of_a_contract() -> None:
    given = {"x": np.ones((1, 96, 2), np.float32)}
    assert made_for(SIZED, given, contract=SIZES).arrays["y"].shape == (1, 96, 7)
    made = made_for(SIZED, contract=SIZES, sizes=Sizes({"k": 64}))
    assert made.arrays["y"].shape == (1, 64, 7)


@pytest.mark.parametrize(
    ("sizes", "chosen"),
    [
        (SizeContract("n", 2, 8), 8),
        (SizeContract("n", 0, 900, multiple_of=100), 300),
        (SizeContract("n", 400, 800), 400),
        (SizeContract("n", 0, 0), 0),
        (SizeContract("n", 0, 8, multiple_of=4), 4),
        (SizeContract("n", 0, 900, multiple_of=100), 600),
    ],
    ids=str,
)
def test_sizes_that_a_contract_allows_are_tried(sizes: SizeContract, chosen: int) -> None:
    model = (
        f"(float[n] x) => (float[n] y) <int64[1] shape = {{{chosen}}}> {{ y = Reshape(x, shape) }}"
    )
    made = made_for(model, contract=Contract(sizes=(sizes,)))
    assert (made.chosen, made.able) == ({"n": chosen}, True)


OF_RANGES = """
the rule: Every element of the value lies in the range of its contract, and none is NaN.
to fix it: scale or clip the values before the run, or correct the contract"""
OF_SIZES = """
the rule: The axes of an input have the sizes of its contract, and axes of one name have one size.
to fix it: give inputs of the sizes that the contract allows, or correct the contract"""


@pytest.mark.parametrize(
    ("contract", "shape", "message"),
    [
        (
            Contract((ValueContract("x", (0, 1), "in volts"),)),
            (2, 3),
            f"range: x is outside of 0 to 1 (in volts): x[0, 0] = 2.0{OF_RANGES}",
        ),
        (
            Contract(sizes=(SizeContract("n", 1, 8),)),
            (9, 3),
            f"sizes: axis 0 of x (9, 3) is 9; the contract says 1 to 8 for n{OF_SIZES}",
        ),
    ],
    ids=["range", "sizes"],
)
def test_inputs_that_break_a_contract_are_refused(
    contract: Contract, shape: tuple[int, ...], message: str
) -> None:
    declared = graph_inputs(parse("(float[n, 3] x) => (float[n, 3] y) { y = Identity(x) }"))
    with pytest.raises(SonnxError) as caught:
        inputs.require_within(contract, declared, {"x": np.full(shape, 2, np.float32)})
    assert str(caught.value) == f"the input 'x' breaks Contract.{message}"


def test_kernel_that_checks_the_operands_of_a_pooling_has_no_windows() -> None:
    model = parse(
        "(float[1, 1, 4, 4] x) => (float[1, 1, ?, ?] y) { y = MaxPool<auto_pad = 'NOTSET',"
        " ceil_mode = 0, dilations = [1, 1], kernel_shape = [2, 2], pads = [0, 0, 0, 0],"
        " storage_order = 0, strides = [1, 1]>(x) }".replace("'", '"')
    )
    enforced = rewrite(model, operators="MaxPool", backend="python")
    feeds = {"x": np.ones((1, 1, 4, 4), np.float32)}
    assert inputs.count_defects(enforced.SerializeToString(), None, feeds) == 0
