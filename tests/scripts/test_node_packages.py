"""ONNX Runtime for Node.js is installed once, and what is missing is said in a sentence."""

import json
import subprocess

import node_packages
import pytest
from node_packages import (
    FOLDER,
    NodeUnavailable,
    PackagesNotInstalled,
    install,
    what_is_missing,
)

NOT_INSTALLED = (
    "ONNX Runtime for Node.js is not installed here; python3 scripts/fetch_node_packages.py "
    "installs it."
)


def everything(program):
    return f"/bin/{program}"


def nothing(program):
    del program


def node_alone(program):
    return program if program == "node" else None


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "package-lock.json").write_text("{}")
    return tmp_path


@pytest.fixture
def npm(monkeypatch, folder):
    """Stands in for npm: ends with the status and the words that are put there."""

    class Npm(list):
        status, words = 0, ""

    calls = Npm()

    def run(command, **options):
        calls.append((command, options["cwd"]))
        (folder / "node_modules").mkdir(exist_ok=True)
        return subprocess.CompletedProcess(command, calls.status, calls.words)

    monkeypatch.setattr(node_packages.subprocess, "run", run)
    return calls


def test_packages_are_installed_from_the_lock_file_once(folder, npm):
    install(folder, everything)
    install(folder, everything)
    [(command, where)] = npm
    assert command[:2] == ["/bin/npm", "ci"]
    assert where == folder


def test_other_lock_file_installs_again(folder, npm):
    install(folder, everything)
    (folder / "package-lock.json").write_text("{ }")
    assert what_is_missing(folder, everything) == NOT_INSTALLED
    install(folder, everything)
    assert len(npm) == 2


def test_nothing_is_missing_after_the_installation(folder, npm):
    del npm
    assert what_is_missing(folder, everything) == NOT_INSTALLED
    install(folder, everything)
    assert what_is_missing(folder, everything) is None


def test_missing_node_is_said(folder):
    assert what_is_missing(folder, nothing) == "Node.js is not installed."


@pytest.mark.parametrize("find", [nothing, node_alone])
def test_nothing_is_installed_without_node_and_npm(folder, npm, find):
    with pytest.raises(NodeUnavailable) as raised:
        install(folder, find)
    assert str(raised.value) == "Node.js or npm is not installed, so no model is run in Node.js."
    assert npm == []


@pytest.mark.parametrize("code", ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT"])
def test_missing_network_is_told_from_other_failures(folder, npm, code):
    npm.status, npm.words = 1, f"npm error code {code}\nnpm error syscall connect\n"
    with pytest.raises(NodeUnavailable) as raised:
        install(folder, everything)
    assert str(raised.value) == (
        "The registry of Node.js packages cannot be reached, so no model is run in Node.js."
    )


def test_other_failure_says_what_npm_wrote_and_leaves_no_mark(folder, npm):
    npm.status, npm.words = 1, "npm error code EINTEGRITY\n"
    with pytest.raises(PackagesNotInstalled) as raised:
        install(folder, everything)
    assert type(raised.value) is PackagesNotInstalled
    assert str(raised.value) == "npm error code EINTEGRITY\n"
    assert what_is_missing(folder, everything) == NOT_INSTALLED


def test_every_package_is_pinned_with_a_hash_and_without_an_address():
    lock = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))
    packages = [entry for path, entry in lock["packages"].items() if path]
    assert len(packages) > 1
    for entry in packages:
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry


def test_no_script_of_a_package_is_run():
    assert "ignore-scripts=true" in (FOLDER / ".npmrc").read_text(encoding="utf-8").splitlines()
