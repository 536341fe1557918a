"""What a run of the tests was made of: the sources, the packages and the machine."""

import hashlib
import os
import platform
import shlex
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import distributions
from pathlib import Path

from environment import ROOT, captured

from sonnx_ort.versions import VERSION


def sources(root: Path = ROOT) -> dict[str, str]:
    """The version of the package, and the sources of a repository as they are now.

    Returns:
        The version; the commit, whether the sources are those of the commit ("yes" or "no"), and
        their digest, each empty where there is no git or no repository.
    """
    commit = _git(root, "rev-parse", "HEAD").strip()
    changes = _git(root, "status", "--porcelain")
    files = _git(root, "ls-files", "-z").split("\0")
    return {
        "version": VERSION,
        "commit": commit,
        "clean": ("no" if changes else "yes") if commit else "",
        "sources": digest(root, filter(None, files)) if commit else "",
    }


def digest(root: Path, files: Iterable[str]) -> str:
    """The SHA-256 of the lines that `sha256sum` writes of files."""
    lines = hashlib.sha256()
    for name in files:
        if (root / name).is_file():
            of_file = hashlib.sha256((root / name).read_bytes()).hexdigest()
            lines.update(f"{of_file}  {name}\n".encode())
    return lines.hexdigest()


def properties(before: Mapping[str, str], arguments: Sequence[str]) -> dict[str, str]:
    """What a JUnit file says of its run, when the run has ended.

    Args:
        before: The sources when it began.
        arguments: The arguments of pytest.
    """
    settings = {n: v for n, v in sorted(os.environ.items()) if n.startswith("SONNX_ORT_")}
    packages = {d.metadata["Name"].lower(): d.version for d in distributions()}
    return {
        **before,
        "unchanged": "yes" if sources() == before else "no",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "platform": " ".join([platform.system(), platform.machine(), *platform.libc_ver()]).strip(),
        "packages": ", ".join(f"{name} {packages[name]}" for name in sorted(packages)),
        "arguments": shlex.join(_without_file(arguments)),
        "settings": ", ".join(f"{name}={value}" for name, value in settings.items()),
    }


def _without_file(arguments: Sequence[str]) -> list[str]:
    """The arguments without those that name the JUnit file: they choose no test."""
    kept, rest = [], iter(arguments)
    for argument in rest:
        if argument in {"--junit-xml", "--junitxml"}:
            next(rest, None)
        elif not argument.startswith("--junit"):
            kept.append(argument)
    return kept


def _git(root: Path, *arguments: str) -> str:
    """What git prints; nothing where it fails or is not there."""
    try:
        done = captured(["git", *arguments], root)
    except OSError:
        return ""
    return done.stdout if done.returncode == 0 else ""
