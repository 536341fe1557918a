"""The public function `self_check`: does this installation do here what the tests showed elsewhere?

What could end the process runs in another.
"""

import base64
import csv
import enum
import hashlib
import marshal
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from importlib.util import cache_from_source
from itertools import starmap
from pathlib import Path
from types import CodeType

import onnxruntime

from sonnx_ort import models, versions
from sonnx_ort.backends import Backend, require_runnable
from sonnx_ort.custom_ops.compiled.library import LIBRARY
from sonnx_ort.errors import BackendUnavailable, to_json
from sonnx_ort.evidence.record import PACKAGES
from sonnx_ort.installation.demonstration import run_case
from sonnx_ort.ort.registration import prepare
from sonnx_ort.profile.rule import release_numbers
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns
from sonnx_ort.runs.limits import Limits

FORMAT = "sonnx_ort.self_check/1"
"""The name and version of the JSON format; a change that breaks readers raises the version."""

_SECONDS = 3600
"""How long a case may take, on the slowest machine."""

_PROCESSOR = Path("/proc/cpuinfo")

_FLAGS = ("avx2", "avx512f", "avx_vnni", "avx512_vnni", "asimddp", "i8mm")
"""The instructions that choose among kernels of ONNX Runtime whose results may differ."""


class Outcome(enum.StrEnum):
    """The outcome of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True, slots=True)
class Check:
    """One check of an installation.

    Attributes:
        name: What is checked.
        outcome: Its outcome.
        detail: What was found, or why nothing was checked.
        faults: The single faults: cases of bundled models, or files.
    """

    name: str
    outcome: Outcome
    detail: str
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SelfCheck:
    """The result of `self_check`.

    Attributes:
        versions: The versions of Python and of the packages that affect results.
        platform: The operating system.
        processor: The kind of processor.
        processor_flags: Those of its instructions that choose among kernels whose results may
            differ; known on Linux only.
        checks: All checks.
    """

    versions: Mapping[str, str]
    platform: str
    processor: str
    processor_flags: tuple[str, ...]
    checks: tuple[Check, ...]

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.count(Outcome.FAILED)

    def count(self, outcome: Outcome) -> int:
        """The number of checks with an outcome."""
        return sum(check.outcome is outcome for check in self.checks)

    def to_json(self) -> str:
        """The result as JSON, in the format `sonnx_ort.self_check/1`."""
        document = {"format": FORMAT, "ok": self.ok} | asdict(self)
        return to_json(document, indent=2)


def self_check() -> SelfCheck:
    """Check whether this installation does on this machine what the tests showed elsewhere.

    Compares the versions of packages with those that the tests run with, the installed files with
    the hashes in the RECORD of the wheel, the compiled files in `__pycache__` with what their
    sources compile to, and what happens in each case of the bundled models with their manifest,
    with each backend. Requires that ONNX Runtime respects the options that switch optimizers off.
    Uses no network, and changes no file of the installation.
    """
    found = {package: versions.version_of(package) for package in PACKAGES}
    found["Python"] = platform.python_version()
    checks = [_check_version(package, found[package]) for package in versions.TRIED]
    with IsolatedRuns(Limits(_SECONDS)) as runs:
        for backend in Backend:
            if (missing := _missing_kernels(backend)) is not None:
                checks.append(missing)
                continue
            checks.append(_optimizers(f"optimizers, {backend} backend", runs, backend))
            checks.append(_check_cases(f"bundled models, {backend} backend", runs, backend))
        checks.append(_installed_files(runs))
    flags = tuple(_processor_flags())
    return SelfCheck(found, platform.platform(), platform.machine(), flags, tuple(checks))


def _check_version(package: str, version: str) -> Check:
    name = f"version of {package}"
    oldest, newest = versions.TRIED[package]
    numbers = release_numbers(version)
    lowest, highest = release_numbers(oldest), release_numbers(newest)
    if not version and package in versions.OPTIONAL:
        detail = f"{package} is not installed, {versions.OPTIONAL[package]}"
        return Check(name, Outcome.NOT_CHECKED, detail)
    if not version:
        return Check(name, Outcome.FAILED, f"{package} is not installed")
    if numbers is None or lowest is None or highest is None:
        return Check(name, Outcome.NOT_CHECKED, f"{version} is no release")
    if numbers < lowest:
        indirect = package in versions.INDIRECT
        limit = "the oldest that the tests run with" if indirect else "the oldest supported version"
        outcome = Outcome.NOT_CHECKED if indirect else Outcome.FAILED
        return Check(name, outcome, f"{version} is older than {oldest}, {limit}")
    if numbers[: len(highest)] > highest:
        detail = f"{version} is newer than {newest}, the newest that the tests run with"
        return Check(name, Outcome.NOT_CHECKED, detail)
    return Check(name, Outcome.PASSED, f"{version} is between {oldest} and {newest}")


def _processor_flags() -> Iterator[str]:
    if _PROCESSOR.is_file():
        words = set(_PROCESSOR.read_text(encoding="utf-8", errors="replace").split())
        yield from (flag for flag in _FLAGS if flag in words)


def _missing_kernels(backend: Backend) -> Check | None:
    """That the kernels of a backend are not there, or not usable; None if they are."""
    try:
        require_runnable(backend)
    except BackendUnavailable as error:
        damaged = backend is Backend.COMPILED and LIBRARY.is_file()
        outcome = Outcome.FAILED if damaged else Outcome.NOT_CHECKED
        return Check(f"{backend} backend", outcome, str(error))
    return None


def _optimizers(name: str, runs: IsolatedRuns, backend: Backend) -> Check:
    failed = runs.call(prepare_session, backend)
    detail = failed.reason if failed else "those that would undo the enforcement are off"
    return Check(name, Outcome.FAILED if failed else Outcome.PASSED, detail)


def prepare_session(backend: Backend) -> None:
    """Prepare a session, which requires of small models that optimizers are off."""
    prepare(onnxruntime.SessionOptions(), backend, rests_on_numbers=True, has_minus_zero=True)


def _check_cases(name: str, runs: IsolatedRuns, backend: Backend) -> Check:
    number, short, faults = 0, 0, []
    try:
        examples = models.examples()
    except Exception as error:  # noqa: BLE001 - a damaged file can fail in any way
        reason = f"the manifest cannot be read: {type(error).__name__}: {error}"
        return Check(name, Outcome.FAILED, reason)
    for example in examples:
        alone = replace(example, cases=())  # it travels to the other process with each case
        for case in example.cases:
            number += 1
            row = runs.call(run_case, alone, case, backend)
            if isinstance(row, Failed):
                expected = models.describe(case.expected)
                faults.append(f"{example.name}, {case.name}: {row.reason}; expected {expected}")
                continue
            short += row.short
            if not row.kept:
                faults.append(f"{row.model}, {row.case}: {row.got}; expected {row.expected}")
    detail = f"{number - len(faults)} of {number} cases give the expected result"
    if short:
        detail += f", {short} without the shapes and values that the python backend adds"
    failed = faults or not number
    return Check(name, Outcome.FAILED if failed else Outcome.PASSED, detail, tuple(faults))


def _installed_files(runs: IsolatedRuns) -> Check:
    name, running = "installed files", Path(versions.__file__).resolve()
    try:
        recorded = dict(_recorded(distribution("sonnx_ort")))
    except PackageNotFoundError:
        recorded = {}
    if running not in recorded:
        detail = (
            f"no RECORD describes '{running.parent}': it is a clone or an editable installation"
        )
        return Check(name, Outcome.NOT_CHECKED, detail)
    faults = [fault for file, digest in recorded.items() if (fault := _fault(file, digest))]
    compiled = {
        place: (level, source)
        for source in recorded
        if source.suffix == ".py"
        for place, level in _compiled_places(source)
    }
    there = (file for file in sorted(running.parent.rglob("*")) if file.is_file())
    unknown = (f for f in there if not (f in recorded or f in compiled or _of_another_python(f)))
    faults += [f"'{file}' is not in the RECORD" for file in unknown]
    differing = runs.call(wrongly_compiled, [(p, *of) for p, of in compiled.items() if p.is_file()])
    if isinstance(differing, Failed):
        faults.append(
            f"the compiled files cannot be compared with their sources: {differing.reason}"
        )
    else:
        faults += [
            f"'{file}' is not what its source compiles to; delete it, and Python compiles it anew"
            for file in differing
        ]
    detail = f"{len(recorded)} files are recorded; {len(faults)} differ, are missing or were added"
    return Check(name, Outcome.FAILED if faults else Outcome.PASSED, detail, tuple(faults))


def _recorded(installed: Distribution) -> Iterator[tuple[Path, str]]:
    """The files of the wheel, and their hashes.

    What lies outside the folder of packages, such as the command, the installer has made.
    `Distribution.files` would omit missing files.
    """
    for file, digest, *_ in csv.reader((installed.read_text("RECORD") or "").splitlines()):
        if digest and not file.startswith(("..", "/")):
            yield Path(str(installed.locate_file(file))).resolve(), digest


def _fault(file: Path, digest: str) -> str:
    """What is wrong with an installed file; empty if nothing is."""
    algorithm, _, recorded = digest.partition("=")
    if not file.is_file():
        return f"'{file}' is missing"
    found = hashlib.new(algorithm, file.read_bytes()).digest()
    if base64.urlsafe_b64encode(found).decode().rstrip("=") != recorded:
        return f"'{file}' is not that of the wheel"
    return ""


_LEVELS = (0, 1, 2)
"""The levels at which Python optimizes what it compiles: by default, with -O and with -OO."""


def _compiled_places(source: Path) -> Iterator[tuple[Path, int]]:
    """Where Python looks for what it compiled of a source, at each level of optimization.

    That is beside the source, or in the folder of PYTHONPYCACHEPREFIX.
    """
    for level in _LEVELS:
        place = Path(cache_from_source(str(source), optimization=level or ""))
        beside = source.parent / _CACHE / place.name
        yield from ((each, level) for each in dict.fromkeys((place, beside)))


_CACHE = "__pycache__"


def _of_another_python(file: Path) -> bool:
    """Whether a file was compiled by a version of Python that this one does not read."""
    name, tag, *_ = (*file.name.split("."), "")
    source = file.parent.parent / f"{name}.py"
    other = "-" in tag and tag != sys.implementation.cache_tag
    return file.parent.name == _CACHE and file.suffix == ".pyc" and other and source.is_file()


_HEADER = 16
"""The bytes of a compiled file that say of which version of its source it is."""


def wrongly_compiled(files: Sequence[tuple[Path, int, Path]]) -> list[Path]:
    """Find the compiled files that have other code than their sources.

    Args:
        files: Compiled files, each with its level of optimization and its source.
    """
    return [file for file, level, source in files if not _is_compiled_of(file, level, source)]


def _is_compiled_of(file: Path, level: int, source: Path) -> bool:
    try:
        found = marshal.loads(file.read_bytes()[_HEADER:])  # noqa: S302 - another process reads it
        made = compile(source.read_bytes(), file, "exec", dont_inherit=True, optimize=level)
    except Exception:  # noqa: BLE001 - a damaged file can fail in any way
        return False
    return _is_same(found, made)


_OF_CODE = tuple(
    f"co_{name}"
    for name in (
        *("argcount", "cellvars", "code", "consts", "exceptiontable", "firstlineno", "flags"),
        *("freevars", "kwonlyargcount", "linetable", "name", "names", "nlocals"),
        *("posonlyargcount", "qualname", "stacksize", "varnames"),
    )
)
"""All that a code object has but the name of its file."""


def _is_same(one: object, other: object) -> bool:
    """Whether two constants of code are the same, and not merely equal as 0 and False are."""
    if type(one) is not type(other):
        return False
    if isinstance(one, CodeType):
        return all(_is_same(getattr(one, name), getattr(other, name)) for name in _OF_CODE)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(starmap(_is_same, zip(one, other, strict=True)))
    if isinstance(one, frozenset) and isinstance(other, frozenset):
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return repr(one) == repr(other)
