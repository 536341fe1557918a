"""The page of results: how each set of verification cases and each requirement ended."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from qualifying.markdown import code, row
from qualifying.pages import Requirement, command_of, set_of
from qualifying.runs import ERROR, FAILED, PASSED, SKIPPED, Case, Run

NOT_RUN = "not run"
"""What a test is of which no run has a case."""

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


def page(verified: Sequence[Verified], runs: Sequence[Run], sets: Sequence[str]) -> str:
    """Write the page.

    Args:
        verified: The requirements.
        runs: The runs, one at least, of the same sources.
        sets: The sets of verification cases.
    """
    parts = (_head(verified, runs), _of_runs(runs), _of_sets(runs, sets), _of(verified))
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(verified: Sequence[Verified], runs: Sequence[Run]) -> Iterator[str]:
    said = runs[0].said
    passed = sum(not each.failing for each in verified)
    verdict = "Passed" if has_passed(verified, runs) else "Not passed"
    if all("--cases" in run.said["arguments"] for run in runs):
        verdict += ", with some cases of each test only"
    yield f"""# Results of verification

This page shows which verification cases were run on the sources below, how they ended, and what
this comes to for each requirement. It does not show that the cases suffice, how those end that the
arguments of pytest leave out, or how other sources, packages and machines behave.

**{verdict}.** {passed} of {len(verified)} requirements: each of their tests ran, and none failed.
[The procedures](configuration.md#verification-procedures) say how to repeat this.

## What was tested

| | |
| --- | --- |"""
    yield row("version", f"sonnx_ort {said['version']}")
    yield row("commit", f"`{said['commit']}`")
    yield row("its sources unchanged", "yes" if said["clean"] == "yes" else "**no**")
    yield row("SHA-256 of the sources", f"`{said['sources']}`")
    yield """
The last line is what this command prints: `git ls-files -z -- :/
':(exclude,top)docs/qualification/results.md' | xargs -0 sha256sum | sha256sum`
"""


def _of_runs(runs: Sequence[Run]) -> Iterator[str]:
    yield "## Runs"
    for number, run in enumerate(runs, 1):
        ends = Counter(case.end for case in run.cases)
        yield f"\n### Run {number}\n\n| | |\n| --- | --- |"
        yield row("begun", f"{run.started:%Y-%m-%d %H:%M}")
        yield row("duration", f"{run.seconds / 60:.0f} min")
        yield row("arguments of pytest", code([run.said["arguments"]]))
        if run.said["settings"]:
            yield row("settings", code(run.said["settings"].split(", ")))
        yield row("Python", run.said["python"])
        yield row("platform", run.said["platform"])
        yield row("packages", run.said["packages"])
        told = [f"{ends[end]} {end}" for end in (PASSED, SKIPPED, FAILED)]
        yield row("cases", ", ".join([*told, f"{ends[ERROR]} errors"]))


def _of_sets(runs: Sequence[Run], sets: Sequence[str]) -> Iterator[str]:
    by_set: dict[str, list[Case]] = {name: [] for name in sets}
    for case in _cases(runs):
        by_set.setdefault(set_of(case.file), []).append(case)
    yield """
## Verification cases

The sets of [the procedures](configuration.md#verification-procedures), with the number of cases.

| set | passed | skipped | failed | errors |
| --- | ---: | ---: | ---: | ---: |"""
    for name, cases in by_set.items():
        ends = Counter(case.end for case in cases)
        counts = [str(ends[end]) for end in _ENDS] if cases else [f"**{NOT_RUN}**", "", "", ""]
        yield row(code([command_of(name)]), *counts)
    yield from _reasons(
        "Skipped",
        ("set", "reason", "cases"),
        Counter(
            (code([name]), case.reason)
            for name, cases in by_set.items()
            for case in cases
            if case.end == SKIPPED
        ),
    )
    yield from _reasons(
        "Failed",
        ("test", "reason", "cases"),
        Counter(
            (code([case.test]), case.reason)
            for cases in by_set.values()
            for case in cases
            if case.end in {FAILED, ERROR}
        ),
    )


def _reasons(
    title: str, columns: tuple[str, ...], counts: Counter[tuple[str, str]]
) -> Iterator[str]:
    if counts:
        yield f"\n### {title}\n"
        yield row(*columns)
        yield "| --- | --- | ---: |"
        yield from (row(place, _plain(why), str(n)) for (place, why), n in counts.items())


def _of(verified: Sequence[Verified]) -> Iterator[str]:
    yield """
## Requirements

The numbers are those of [the requirements](requirements.md). A case counts for each requirement
that its test verifies.

| number | rule | tests | passed | skipped | failed | result |
| --- | --- | ---: | ---: | ---: | ---: | --- |"""
    for each in verified:
        told = "; ".join(f"**{end}**: `{test}`" for test, end in each.failing.items())
        yield row(
            each.requirement.number,
            code([each.requirement.rule]) if each.requirement.rule else "",
            str(len(each.tests)),
            *(str(each.cases[end]) for end in (PASSED, SKIPPED)),
            str(each.cases[FAILED] + each.cases[ERROR]),
            told or PASSED,
        )


def _plain(reason: str) -> str:
    """A reason as text in which nothing is Markdown or HTML."""
    return f"`` {reason.replace('`', chr(39))} ``"
