"""`campaigns.py conditions [FILE ...]`: the coverage of conditions.

Each condition of the guards, the kernels and the checker of certificates becomes true and becomes
false, one at a time, and the tests that reach it have to fail: then the condition alone changes
what the package does, as MC/DC (modified condition/decision coverage) demands. What came of them is
recorded in docs/records/conditions.json; a second call tries what survived, and what has changed
since. Those that do what the original does are listed in scripts/mutation/same_conditions.toml.
Ends with status 1 if another one survives.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from ages import digest
from environment import ROOT
from mutation.calling import ENDLESS, LOG, SURVIVED, statuses
from mutation.conditions import Mutant, mutants
from mutation.outcomes import Outcomes, parse, python_files

EQUIVALENTS = Path(__file__).parent / "mutation" / "same_conditions.toml"
"""The mutants that do what the original does, and why."""

ROOMS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "custom_ops": ("tests/custom_ops",),
        "sonnx_ort/enforcing/native": ("tests/enforcing",),
        "sonnx_ort/guards": ("tests/enforcing", "tests/guards"),
        "sonnx_ort/enforcing/broadcasting.py": ("tests/enforcing",),
        "sonnx_ort/enforcing/hidden": ("tests/enforcing",),
        "sonnx_ort/analysis/passed_guards.py": ("tests/analysis",),
        "sonnx_ort/enforcing/recognition.py": ("tests/enforcing",),
        "sonnx_ort/enforcing/metadata.py": ("tests/enforcing",),
        "sonnx_ort/analysis/certificates.py": ("tests/certificates",),
        "sonnx_ort/checker": ("tests/certificates",),
        "sonnx_ort/facts": ("tests/certificates", "tests/facts"),
    }
)
"""What is measured, each with its tests."""

_PACKAGES = ("pytest", "hypothesis", "numpy", "onnx", "onnx-ir", "onnxruntime")


def run(arguments: Sequence[str]) -> int:
    """Try mutants and keep the record; give 1 if one survived that is not listed."""
    options = parse(__doc__, "conditions.json", tuple(ROOMS), arguments)
    outcomes, interrupted = Outcomes(options, _PACKAGES, EQUIVALENTS), False
    for tests, files in _by_tests(options.files, options.tests).items():
        tried = {path: _to_try(path, outcomes) for path in files}
        of_tests = [(path, name) for path, names in tried.items() for name in names]
        results = statuses("conditions", of_tests, tests)
        if results is None:
            print(f"The tests could not be run; {LOG.relative_to(ROOT)} says why.")
            return 2
        for path in files:
            if results.keys() >= {(path, name) for name in tried[path]}:
                _add(outcomes, path, tried[path], results)
            else:
                interrupted = True
        outcomes.write()
    return 0 if outcomes.good and not interrupted else 1


def _by_tests(
    places: Sequence[str], tests: Sequence[str] | None
) -> dict[tuple[str, ...], list[str]]:
    """The Python files at places, by the tests they are tried with."""
    found: dict[tuple[str, ...], list[str]] = {}
    for name in python_files(places):
        found.setdefault(tuple(tests or _tests_of(name)), []).append(name)
    return found


def _tests_of(file: str) -> tuple[str, ...]:
    return next((tests for room, tests in ROOMS.items() if file.startswith(room)), ("tests",))


def _to_try(path: str, outcomes: Outcomes) -> list[str]:
    """The mutants of a file; those that have survived, if it has not changed since."""
    known = outcomes.files.get(path)
    if known is not None and known["source"] == digest(path):
        return sorted({*known["survivors"], *outcomes.listed(path)})
    return list(_named(path))


def _add(
    outcomes: Outcomes, path: str, tried: Sequence[str], results: Mapping[tuple[str, str], int]
) -> None:
    """Note what came of a file's mutants."""
    named = _named(path)
    found = {name: results[path, name] for name in tried if name in named}
    timeouts = sum(status == ENDLESS for status in found.values())
    if path in outcomes.files and len(tried) < len(named):
        timeouts += outcomes.files[path]["timeouts"]
    survived = [name for name in named if found.get(name) == SURVIVED]
    lines = {name: mutant.line for name, mutant in named.items()}
    outcomes.add(path, len(named), survived, lines, timeouts)


def _named(path: str) -> dict[str, Mutant]:
    return {mutant.name: mutant for mutant in mutants((ROOT / path).read_text("utf-8"))}
