"""A check as annotations of GitHub: lines that its runner shows beside a pull request.

Source: docs.github.com, "Workflow commands for GitHub Actions", "Setting an error message".
"""

from collections.abc import Iterator

from sonnx_ort.printable import printable, printable_lines
from sonnx_ort.reporting.causes import causes
from sonnx_ort.reporting.checked_models import Check, CheckedModel
from sonnx_ort.reporting.remedies import in_commands
from sonnx_ort.reporting.verdict import counted

_IN_MESSAGES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES = _IN_MESSAGES | {":": "%3A", ",": "%2C"}


def github_report(check: Check) -> str:
    """A check as workflow commands: a line for each cause of violations, and for unusable models.

    An error is what fails the check, a warning what is waived, a notice what each run checks.
    """
    return "\n".join(line for model in check.models for line in _lines(check, model))


def _lines(check: Check, model: CheckedModel) -> Iterator[str]:
    if model.report is None:
        yield _command("error", model.name, "unusable", model.error)
        return
    for level, obligations in (
        ("error", [o for o in model.report.enforced if check.fails(o)]),
        ("warning", model.report.waived),
    ):
        for alike in causes(obligations):
            first = alike[0]
            text = [printable(f"{first.place}: {first.evidence}")]
            if len(alike) > 1:
                text.append(f"and at {counted(len(alike) - 1, 'more place')}")
            if first.hint:
                text.append(f"to fix it: {in_commands(first.hint)}")
            yield _command(level, model.name, first.rule.id, "\n".join(text))
    runtime = model.report.counts["runtime"]
    if runtime and model.report.ok:
        yield _command("notice", model.name, "kept", f"{counted(runtime, 'check')} in each run")


def _command(level: str, file: str, title: str, message: str) -> str:
    return (
        f"::{level} file={_escaped(file, _IN_PROPERTIES)},title={_escaped(title, _IN_PROPERTIES)}"
        f"::{_escaped(message, _IN_MESSAGES)}"
    )


def _escaped(text: str, codes: dict[str, str]) -> str:
    return "".join(codes.get(character, character) for character in printable_lines(text))
