"""The public function `self_check`: does this installation do here what the tests showed elsewhere?

What could end the process runs in another.
"""

import base64
import csv
import enum
import hashlib
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import onnxruntime

from sonnx_ort import models, versions
from sonnx_ort.backends import Backend, require_runnable
from sonnx_ort.comparing.isolated_run import Failed, IsolatedRuns
from sonnx_ort.comparing.limits import Limits
from sonnx_ort.custom_ops.compiled.library import LIBRARY
from sonnx_ort.demonstration import run_case
from sonnx_ort.errors import BackendUnavailable, to_json
from sonnx_ort.evidence.record import PACKAGES
from sonnx_ort.profile.rule import release_numbers
from sonnx_ort.runtime.registration import prepare

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
    the hashes in the RECORD of the wheel, and what happens in each case of the bundled models with
    their manifest, with each backend. Requires that ONNX Runtime respects the options that switch
    optimizers off. Uses no network, and changes no file.
    """
    found = {package: versions.version_of(package) for package in PACKAGES}
    found["Python"] = platform.python_version()
    checks = [_version(package, found[package]) for package in versions.TRIED]
    with IsolatedRuns(Limits(_SECONDS)) as runs:
        for backend in Backend:
            if (missing := _missing_kernels(backend)) is not None:
                checks.append(missing)
                continue
            checks.append(_optimizers(f"optimizers, {backend} backend", runs, backend))
            checks.append(_cases(f"bundled models, {backend} backend", runs, backend))
    checks.append(_installed_files())
    flags = tuple(_processor_flags())
    return SelfCheck(found, platform.platform(), platform.machine(), flags, tuple(checks))


def _version(package: str, version: str) -> Check:
    name = f"version of {package}"
    oldest, newest = versions.TRIED[package]
    numbers = release_numbers(version)
    lowest, highest = release_numbers(oldest), release_numbers(newest)
    if not version and package in versions.OPTIONAL:
        return Check(name, Outcome.NOT_CHECKED, f"{package} is not installed, and not needed")
    if not version:
        return Check(name, Outcome.FAILED, f"{package} is not installed")
    if numbers is None or lowest is None or highest is None:
        return Check(name, Outcome.NOT_CHECKED, f"{version} is no release")
    if numbers < lowest:
        detail = f"{version} is older than {oldest}, the oldest supported version"
        return Check(name, Outcome.FAILED, detail)
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
    prepare(onnxruntime.SessionOptions(), backend, rests_on_numbers=True)


def _cases(name: str, runs: IsolatedRuns, backend: Backend) -> Check:
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
    detail = f"{number - len(faults)} of {number} cases give what is expected"
    if short:
        detail += f", {short} without the shapes and values that the python backend adds"
    failed = faults or not number
    return Check(name, Outcome.FAILED if failed else Outcome.PASSED, detail, tuple(faults))


def _installed_files() -> Check:
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
    there = (file for file in sorted(running.parent.rglob("*")) if file.is_file())
    unknown = (file for file in there if "__pycache__" not in file.parts and file not in recorded)
    faults += [f"'{file}' is not in the RECORD" for file in unknown]
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
    algorithm, _, recorded = digest.partition("=")
    if not file.is_file():
        return f"'{file}' is missing"
    found = hashlib.new(algorithm, file.read_bytes()).digest()
    if base64.urlsafe_b64encode(found).decode().rstrip("=") != recorded:
        return f"'{file}' is not that of the wheel"
    return ""
