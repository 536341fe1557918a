"""Runs of the tests, as their JUnit files tell of them, and what these are told of a run."""

import hashlib
import os
import platform
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import distributions
from pathlib import Path
from xml.etree import ElementTree as ET

from environment import ROOT, captured

from sonnx_ort.versions import VERSION

PASSED, SKIPPED, FAILED, ERROR = "passed", "skipped", "failed", "error"
"""How a case ended: an error is outside of the test itself, such as in what it needs."""

_ENDS = {"error": ERROR, "failure": FAILED, "skipped": SKIPPED}
"""The elements of a case that did not pass, the worst first."""

_OF_SOURCES = ("version", "commit", "clean", "sources", "unchanged")
_OF_RUN = ("python", "platform", "packages", "arguments", "settings")
_SAID = frozenset((*_OF_SOURCES, *_OF_RUN))
"""What a file has to say."""


class UnusableRun(Exception):  # noqa: N818 - reads as what it is
    """A file tells of no run of these tests; the message says why."""


@dataclass(frozen=True, slots=True)
class Case:
    """A case of a test, and how it ended.

    Attributes:
        test: The test, as pytest names it from the repository on; of a module that was skipped or
            not collected, its path alone.
        end: How it ended.
        reason: The first line of why it did not pass, with paths from the repository on.
    """

    test: str
    end: str
    reason: str = ""

    @property
    def file(self) -> str:
        """The path of its module."""
        return self.test.partition("::")[0]


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the tests.

    Attributes:
        said: What it says of the sources and the environment, by `properties`.
        started: When it began.
        seconds: How long it took.
        cases: Its cases.
    """

    said: Mapping[str, str]
    started: datetime
    seconds: float
    cases: tuple[Case, ...]


def read_run(path: Path, now: Mapping[str, str]) -> Run:
    """Read the JUnit file of a run.

    Args:
        path: The file.
        now: The sources, by `sources`.

    Raises:
        UnusableRun: It is none, or its sources are others than those.
    """
    suite = _suite(path)
    elements = suite.iterfind("properties/property")
    said = {element.get("name", ""): element.get("value", "") for element in elements}
    if not said.keys() >= _SAID:
        raise UnusableRun(
            f"{path} does not say what was tested; `python3 scripts/test.py --junit-xml FILE` "
            "writes files that do."
        )
    _require_same(path, said, now)
    cases = tuple(_case(path, element) for element in suite.iterfind("testcase"))
    try:
        started = datetime.fromisoformat(suite.get("timestamp", ""))
        return Run(said, started, float(suite.get("time", "")), cases)
    except ValueError as error:
        raise UnusableRun(f"{path} does not say when its run began and how long.") from error


def _suite(path: Path) -> ET.Element:
    """The one suite that pytest writes."""
    try:
        root = ET.parse(path).getroot()  # noqa: S314 - of our own tests
    except OSError as error:
        raise UnusableRun(f"{path} cannot be read: {error.strerror}.") from error
    except ET.ParseError as error:
        raise UnusableRun(f"{path} is not JUnit XML: {error}.") from error
    suites = root.findall("testsuite")
    if root.tag != "testsuites" or len(suites) != 1:
        raise UnusableRun(f"{path} is not JUnit XML as pytest writes it.")
    return suites[0]


def _require_same(path: Path, said: Mapping[str, str], now: Mapping[str, str]) -> None:
    if not (said["commit"] and now["commit"]):
        raise UnusableRun(f"{path} cannot be compared with a commit: git or its repository misses.")
    if said["unchanged"] != "yes":
        raise UnusableRun(f"{path} is of a run during which the sources changed.")
    if said["commit"] != now["commit"]:
        raise UnusableRun(
            f"{path} is of commit {said['commit']}, and the sources here are of {now['commit']}."
        )
    if said["sources"] != now["sources"]:
        raise UnusableRun(f"{path} is of commit {now['commit']}, and of other sources than here.")


def _case(path: Path, element: ET.Element) -> Case:
    test = _test(element.get("classname", ""), element.get("name", ""))
    if not (ROOT / test.partition("::")[0]).is_file():
        raise UnusableRun(f"{path} has a test that is not here: {test}.")
    for tag, end in _ENDS.items():
        found = element.find(tag)
        if found is not None:
            reason, *_ = (found.get("message") or found.text or "no reason").splitlines()
            return Case(test, end, reason.replace(f"{ROOT}/", ""))
    return Case(test, PASSED)


def _test(of: str, name: str) -> str:
    """The name of a test: `tests.cli.test_it.TestAll` and `test_one[1]` are written as one."""
    parts = [part for part in (*of.split("."), *name.partition("[")[0].split(".")) if part]
    modules = [place for place, part in enumerate(parts, 1) if part.startswith("test_")]
    end = modules[0] if modules else len(parts)
    return "::".join(["/".join(parts[:end]) + ".py", *parts[end:]])


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
