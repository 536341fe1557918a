"""The page of results: how each set of verification cases and each requirement ended."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from qualifying.configuration import command_of, set_of
from qualifying.markdown import code, table
from qualifying.requirements import Requirement
from qualifying.runs import ERROR, FAILED, PASSED, SKIPPED, Case, Run

NOT_RUN = "not run"
"""What a test is of which no run has a case."""

PARTS = 10
"""How many parts of the cases there are; `SONNX_ORT_PART` chooses one."""

_ENDS = (PASSED, SKIPPED, FAILED, ERROR)


@dataclass(frozen=True, slots=True)
class Verified:
    """A requirement, and how its tests ended.

    Attributes:
        requirement: The requirement.
        tests: How each of its tests ended, in all runs together.
        cases: How many of their cases ended so.
    """

    requirement: Requirement
    tests: Mapping[str, str]
    cases: Counter[str]

    @property
    def failing(self) -> dict[str, str]:
        """The tests that failed, or of which no case ran."""
        return {test: end for test, end in self.tests.items() if end != PASSED}


def verify(requirements: Sequence[Requirement], runs: Sequence[Run]) -> list[Verified]:
    """Say of each requirement how its tests ended."""
    by_file: dict[str, list[Case]] = {}
    for case in _cases(runs):
        by_file.setdefault(case.file, []).append(case)
    verified = []
    for requirement in requirements:
        cases = {
            test: [c for c in by_file.get(test.partition("::")[0], ()) if _is_of(c, test)]
            for test in requirement.tests
        }
        ends = {test: _end(Counter(case.end for case in found)) for test, found in cases.items()}
        counts = Counter(case.end for found in cases.values() for case in found)
        verified.append(Verified(requirement, ends, counts))
    return verified


def _is_of(case: Case, test: str) -> bool:
    """Whether a case is one of a test; that of a whole module is one of each of its tests."""
    return f"{case.test}::".startswith(f"{test}::") or case.test == case.file


def _end(ends: Counter[str]) -> str:
    """How a test ended whose cases ended so."""
    if ends[ERROR] or ends[FAILED]:
        return FAILED
    return next((end for end in (PASSED, SKIPPED) if ends[end]), NOT_RUN)


def _cases(runs: Sequence[Run]) -> Iterator[Case]:
    return (case for run in runs for case in run.cases)


def has_passed(verified: Sequence[Verified], runs: Sequence[Run]) -> bool:
    """Whether a case of every test of every requirement passed, and no case of any test failed."""
    failed = any(case.end in {FAILED, ERROR} for case in _cases(runs))
    return not failed and not any(each.failing for each in verified)


def text(verified: Sequence[Verified], runs: Sequence[Run], sets: Sequence[str]) -> str:
    """What the page says of runs.

    Args:
        verified: The requirements.
        runs: The runs, of the same sources; none where the page is to say so.
        sets: The sets of verification cases.
    """
    if not runs:
        return "**This copy of the page was made without a run.**"
    parts = (_head(verified, runs), _of_runs(runs), _of_sets(runs, sets), _of(verified))
    return "\n\n".join(each for part in parts for each in part)


def _head(verified: Sequence[Verified], runs: Sequence[Run]) -> Iterator[str]:
    said = runs[0].said
    passed = sum(not each.failing for each in verified)
    verdict = "Passed" if has_passed(verified, runs) else "Not passed"
    if _has_all_parts(runs):
        verdict += f", with all cases, in {PARTS} parts"
    elif all("--cases" in run.said["arguments"] for run in runs):
        verdict += ", with some cases of each test only"
    yield (
        f"**{verdict}.** {passed} of {len(verified)} requirements: each of their tests ran, and "
        "none failed."
    )
    yield "## What was tested"
    unchanged = "yes" if said["clean"] == "yes" else "**no**"
    rows = (
        ("version", f"sonnx_ort {said['version']}"),
        ("commit", f"`{said['commit']}`"),
        ("its sources unchanged", unchanged),
        ("SHA-256 of the sources", f"`{said['sources']}`"),
    )
    yield table(("", ""), rows)


def _has_all_parts(runs: Sequence[Run]) -> bool:
    """Whether runs with the same arguments had each part of the cases."""
    parts: dict[str, set[str]] = {}
    for run in runs:
        parts.setdefault(run.said["arguments"], set()).update(run.said["settings"].split(", "))
    wanted = {f"SONNX_ORT_PART={part}" for part in range(1, PARTS + 1)}
    return any(wanted <= found for found in parts.values())


def _of_runs(runs: Sequence[Run]) -> Iterator[str]:
    yield "## Runs"
    for number, run in enumerate(runs, 1):
        ends = Counter(case.end for case in run.cases)
        told = [f"{ends[end]} {end}" for end in (PASSED, SKIPPED, FAILED)]
        settings = run.said["settings"]
        yield f"### Run {number}"
        rows = (
            ("begun", f"{run.started:%Y-%m-%d %H:%M}"),
            ("duration", f"{run.seconds / 60:.0f} min"),
            ("arguments of pytest", code([run.said["arguments"]])),
            *([("settings", code(settings.split(", ")))] if settings else []),
            *((name, run.said[name.lower()]) for name in ("Python", "platform", "packages")),
            ("cases", ", ".join([*told, f"{ends[ERROR]} errors"])),
        )
        yield table(("", ""), rows)


def _of_sets(runs: Sequence[Run], sets: Sequence[str]) -> Iterator[str]:
    by_set: dict[str, list[Case]] = {name: [] for name in sets}
    for case in _cases(runs):
        by_set.setdefault(set_of(case.file), []).append(case)
    yield "## Verification cases"
    yield (
        "The sets of [the procedures](configuration.md#verification-procedures), with the number "
        "of cases."
    )
    rows = []
    for name, cases in by_set.items():
        ends = Counter(case.end for case in cases)
        counts = [str(ends[end]) for end in _ENDS] if cases else [f"**{NOT_RUN}**", "", "", ""]
        rows.append((code([command_of(name)]), *counts))
    yield table(("set", "passed", "skipped", "failed", "errors"), rows, numbers=4)
    skipped, failed = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for name, cases in by_set.items():
        skipped.update((name, case.reason) for case in cases if case.end == SKIPPED)
        failed.update((case.test, case.reason) for case in cases if case.end in {FAILED, ERROR})
    for title, what, counted in (("Skipped", "set", skipped), ("Failed", "test", failed)):
        if counted:
            yield f"### {title}"
            told = ((code([place]), _plain(why), str(n)) for (place, why), n in counted.items())
            yield table((what, "reason", "cases"), told, numbers=1)


def _of(verified: Sequence[Verified]) -> Iterator[str]:
    yield "## Requirements"
    yield (
        "The numbers are those of [the requirements](requirements.md). A case counts for each "
        "requirement that its test verifies."
    )
    head = ("number", "rule", "result", "tests", "passed", "skipped", "failed")
    yield table(head, map(_row, verified), numbers=4)


def _row(each: Verified) -> tuple[str, ...]:
    ends = each.cases
    told = "; ".join(f"**{end}**: `{test}`" for test, end in each.failing.items())
    return (
        each.requirement.number,
        code([each.requirement.rule]) if each.requirement.rule else "",
        told or PASSED,
        *map(str, (len(each.tests), ends[PASSED], ends[SKIPPED], ends[FAILED] + ends[ERROR])),
    )


def _plain(reason: str) -> str:
    """A reason as text in which nothing is Markdown or HTML."""
    return f"`` {reason.replace('`', chr(39))} ``"
