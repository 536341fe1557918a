"""ONNX Runtime for Node.js, in which the tests run rewritten models without any Python."""

import hashlib
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from environment import ROOT

FOLDER = ROOT / "tests" / "node"
"""The package whose lock file pins what is installed, each with its hash."""

_MODULES = "node_modules"
_LOCK = "package-lock.json"
_STAMP = "sonnx_ort.stamp"

_UNREACHABLE = r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|E(SOCKET)?TIMEDOUT|E\w+UNREACH)\b"
"""What npm writes where there is no network, or no registry behind it."""

_INSTALL = ("ci", "--no-progress", "--fetch-retries=1", "--fetch-retry-mintimeout=1000")

Find = Callable[[str], str | None]
"""Gives the path of a program; None if there is none."""


class PackagesNotInstalled(Exception):  # noqa: N818 - reads as what happened
    """The packages could not be installed; the message is what npm wrote."""


class NodeUnavailable(PackagesNotInstalled):
    """Node.js or the registry is not there; the message says so in a sentence."""


def what_is_missing(folder: Path = FOLDER, find: Find = shutil.which) -> str | None:
    """Say why nothing can be run in Node.js; None if it can.

    Args:
        folder: The package.
        find: Finds programs.
    """
    if find("node") is None:
        return "Node.js is not installed."
    stamp = folder / _MODULES / _STAMP
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == _digest(folder):
        return None
    return (
        "ONNX Runtime for Node.js is not installed here; python3 scripts/fetch_node_packages.py "
        "installs it."
    )


def install(folder: Path = FOLDER, find: Find = shutil.which) -> None:
    """Install the packages of the lock file, unless they are there already.

    Args:
        folder: The package.
        find: Finds programs.

    Raises:
        NodeUnavailable: There is no Node.js, no npm or no connection to the registry.
        PackagesNotInstalled: npm failed otherwise.
    """
    missing = what_is_missing(folder, find)
    if missing is None:
        return
    npm = find("npm")
    if find("node") is None or npm is None:
        raise NodeUnavailable("Node.js or npm is not installed, so no model is run in Node.js.")
    done = subprocess.run(
        [npm, *_INSTALL],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        if re.search(_UNREACHABLE, done.stdout):
            raise NodeUnavailable(
                "The registry of Node.js packages cannot be reached, so no model is run in Node.js."
            )
        raise PackagesNotInstalled(done.stdout)
    # Written last: a folder without it is not finished.
    (folder / _MODULES / _STAMP).write_text(_digest(folder), encoding="utf-8")


def _digest(folder: Path) -> str:
    return hashlib.sha256((folder / _LOCK).read_bytes()).hexdigest()
