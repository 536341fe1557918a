"""Runs of the tests, as their JUnit files tell of them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from xml.etree import ElementTree as ET

from environment import ROOT

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
        said: What it says of the sources and the environment, by `identity.properties`.
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
        now: The sources, by `identity.sources`.

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
