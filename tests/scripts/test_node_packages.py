"""ONNX Runtime for Node.js is installed once, and what is missing is said in a sentence."""

import json
import os
import subprocess

import node_packages
import pytest
from node_packages import FOLDER, NodeUnavailable, install, what_is_missing

NOT_INSTALLED = "ONNX Runtime for Node.js is not installed here; run npm ci in tests/node."


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "package-lock.json").write_text("{}")
    return tmp_path


@pytest.fixture
def npm(monkeypatch, folder):
    """Stands in for npm: ends with the status and the words that are put there."""

    class Npm(list):
        status, words = 0, ""
        programs = ("node", "npm")

    calls = Npm()

    def run(command, where):
        calls.append((command, where))
        (folder / "node_modules").mkdir(exist_ok=True)
        if calls.status == 0:
            (folder / "node_modules" / ".package-lock.json").touch()
        return subprocess.CompletedProcess(command, calls.status, calls.words)

    monkeypatch.setattr(node_packages, "captured", run)
    monkeypatch.setattr(
        node_packages.shutil, "which", lambda name: name if name in calls.programs else None
    )
    return calls


def test_packages_are_installed_from_the_lock_file_once(folder, npm):
    assert what_is_missing(folder) == NOT_INSTALLED
    assert (install(folder), install(folder)) == (0, 0)
    assert what_is_missing(folder) is None
    [(command, where)] = npm
    assert command[:2] == ["npm", "ci"]
    assert where == folder


def test_newer_lock_file_installs_again(folder, npm):
    install(folder)
    os.utime(folder / "node_modules" / ".package-lock.json", (0, 0))
    assert what_is_missing(folder) == NOT_INSTALLED
    install(folder)
    assert len(npm) == 2


@pytest.mark.parametrize("programs", [(), ("node",)])
def test_nothing_is_installed_without_node_and_npm(folder, npm, programs):
    npm.programs = programs
    with pytest.raises(NodeUnavailable, match=r"^Node\.js or npm is not installed, "):
        install(folder)
    assert npm == []
    assert what_is_missing(folder) == (NOT_INSTALLED if programs else "Node.js is not installed.")


@pytest.mark.parametrize("code", ["ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT"])
def test_missing_network_is_told_from_other_failures(folder, npm, code):
    npm.status, npm.words = 1, f"npm error code {code}\nnpm error syscall connect\n"
    with pytest.raises(NodeUnavailable, match=r"^The registry of Node\.js packages cannot be"):
        install(folder)


def test_other_failure_shows_what_npm_wrote(folder, npm, capsys):
    npm.status, npm.words = 1, "npm error code EINTEGRITY\n"
    assert install(folder) == 1
    assert capsys.readouterr().out == npm.words
    assert what_is_missing(folder) == NOT_INSTALLED


def test_every_package_is_pinned_with_a_hash_and_without_an_address():
    lock = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))
    packages = [entry for path, entry in lock["packages"].items() if path]
    assert len(packages) > 1
    for entry in packages:
        assert entry["integrity"].startswith("sha512-")
        assert "resolved" not in entry


def test_no_script_of_a_package_is_run():
    assert "ignore-scripts=true" in (FOLDER / ".npmrc").read_text(encoding="utf-8").splitlines()
