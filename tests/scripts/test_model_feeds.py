"""Feeds follow from a model's declared inputs."""

import numpy as np
import pytest
from onnx import TensorProto, helper
from real_models.feeds import IMAGES, SEQUENCES, Data, DryRun, UnknownInput, make_feeds, trials_for

from support.graphs import model, tensor

TRIAL = DryRun(2, (30, 40))


def feeds_of(*inputs, trial=TRIAL):
    return make_feeds(model([], inputs, []), trial)


def shapes_of(*inputs):
    return [feed.shape for feed in feeds_of(*inputs).values()]


@pytest.mark.parametrize(
    ("declared", "shape"),
    [
        ([], ()),
        ([3, 4], (3, 4)),
        (["n"], (2,)),
        (["n", 3, "h", "w"], (2, 3, 30, 40)),
        (["n", "m", "m"], (2, 30, 30)),
        (["n", "n"], (2, 2)),
        (["n", "?", "?"], (2, 30, 40)),
        ([None, None, None], (2, 30, 40)),
        ([-1, 3, "?", "?"], (2, 3, 30, 40)),
        ([0, 0], (2, 30)),
        (["p2o.DynamicDimension.0", "p2o.DynamicDimension.1"], (2, 30)),
        (["n", "a", "b", "c"], (2, 30, 40, 30)),
    ],
    ids=str,
)
def test_open_axes_get_the_sizes_of_the_trial(declared, shape):
    assert shapes_of(tensor("x", "float", declared)) == [shape]


@pytest.mark.parametrize(
    ("x", "y", "shapes"),
    [
        (["n", "m"], [5, "m"], [(2, 30), (5, 30)]),
        ([5, "n"], ["n"], [(5, 2), (2,)]),
        ([1, "?"], [1, "?"], [(1, 30), (1, 40)]),
    ],
)
def test_symbol_has_one_size_in_all_inputs(x, y, shapes):
    assert shapes_of(tensor("x", "float", x), tensor("y", "float", y)) == shapes


@pytest.mark.parametrize(
    ("element_type", "low", "high"),
    [("float", -1, 1), ("float16", -1, 1), ("int64", 0, 255), ("uint8", 0, 255), ("int8", 0, 127)],
)
def test_random_elements_are_in_a_plausible_range_and_the_same_again(element_type, low, high):
    declared = tensor("x", element_type, [10_000])
    x = feeds_of(declared)["x"]
    assert low <= x.min() < x.max() <= high
    np.testing.assert_array_equal(feeds_of(declared)["x"], x)


def test_elements_have_the_declared_type():
    declared = tensor("x", "double", [2]), tensor("y", "bool", [2])
    assert [feed.dtype for feed in feeds_of(*declared).values()] == [np.float64, np.bool_]


def test_zeros_are_zeros():
    assert not feeds_of(tensor("x", "float", [9]), trial=DryRun(1, (), Data.ZEROS))["x"].any()


def test_known_inputs_have_what_they_cannot_do_without():
    feeds = feeds_of(
        tensor("waveforms", "float", ["batch", "N"]),
        tensor("waveforms_lens", "int64", ["batch"]),
        tensor("state", "float", [2, 0, 128]),
        tensor("sr", "int64", []),
    )
    assert feeds["waveforms"].shape == (2, 30)
    assert feeds["waveforms_lens"].tolist() == [30, 15]
    assert feeds["state"].shape == (2, 2, 128)
    assert feeds["sr"] == 16000


def test_initializers_are_no_inputs():
    weight = helper.make_tensor("w", TensorProto.FLOAT, [1], [1.0])
    declared = [tensor("w", "float", [1])]
    assert make_feeds(model([], declared, [], initializers=[weight]), TRIAL) == {}


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        (tensor("x", "string", [1]), "no rule makes elements of object for 'x'"),
        (
            helper.make_tensor_sequence_value_info("x", TensorProto.FLOAT, None),
            "the input 'x' is no tensor",
        ),
    ],
    ids=["strings", "sequence"],
)
def test_input_of_another_kind_is_named(declared, message):
    with pytest.raises(UnknownInput) as raised:
        feeds_of(declared)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("shape", "trials"),
    [
        (["n", 3, "h", "w"], IMAGES),
        (["n", "t"], SEQUENCES),
        (["n", "t", 80], SEQUENCES),
        ([1, 576], [DryRun(1, (), Data.RANDOM), DryRun(1, (), Data.ZEROS)]),
    ],
    ids=str,
)
def test_trials_depend_on_the_kind_of_model(shape, trials):
    assert trials_for(model([], [tensor("x", "float", shape)], [])) == trials
