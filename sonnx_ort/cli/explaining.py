"""`sonnx-ort explain`, `operators` and `self-check`: the rules, the operators, the installation."""

import enum
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from sonnx_ort.cli.completion import rule_or_operator
from sonnx_ort.cli.options import command, examples, option, subcommand
from sonnx_ort.cli.output import STANDARD, ExitStatus, say, write_report
from sonnx_ort.installation.self_checking import Outcome, SelfCheck
from sonnx_ort.installation.self_checking import self_check as check_installation
from sonnx_ort.loading.saving import check_place
from sonnx_ort.reporting.terminal import fitted, in_columns
from sonnx_ort.versions import version_of

app = subcommand()


@command(
    app,
    epilog=examples(
        "sonnx-ort explain",
        "sonnx-ort explain Div.int.C1",
        "sonnx-ort explain Div.int",
        "sonnx-ort explain Transpose",
    ),
)
def explain(
    rule: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]",
            help="The id of a rule, the beginning of several, such as Div.int, or any operator of "
            "ONNX; without it, all rules are listed.",
            autocompletion=rule_or_operator,
        ),
    ] = None,
) -> None:
    """Explain a rule, or what binds an operator.

    Shows where the rule is written, whether SONNX states it, why it matters, what keeps it, what
    breaks it, and how to fix a violation; of an operator, whether the profile has it, and what
    binds its nodes.
    """
    from sonnx_ort.reporting.explanation import explain_any, list_rules

    text = list_rules() if rule is None else explain_any(rule)
    say(text)
    installed = version_of("onnxruntime")
    if "ONNX Runtime " in text and f"ONNX Runtime {installed}" not in text:
        say(
            "\nThe behavior of ONNX Runtime was measured with the versions named above; "
            f"{installed} is installed here."
        )


@command(app, epilog=examples("sonnx-ort operators"))
def operators() -> None:
    """List all operators of ONNX by what SONNX has for them.

    A draft of the working group states rules for some. Others are in its operator set without a
    draft: rules of sonnx_ort bind some of these, and the general restrictions alone the rest. All
    others are outside the profile.
    """
    from sonnx_ort.reporting.explanation import list_operators

    typer.echo(list_operators())


class SelfCheckFormat(enum.StrEnum):
    """The formats of the report."""

    TEXT = "text"
    JSON = "json"


@command(
    app,
    *("output", "quiet"),
    own={
        "report_format": option(
            SelfCheckFormat, "The format of the report.", "--format", default=SelfCheckFormat.TEXT
        )
    },
    epilog=examples("sonnx-ort self-check", "sonnx-ort self-check --format json -o installed.json"),
)
def self_check(output: str, report_format: SelfCheckFormat, quiet: bool) -> None:
    """Check whether this installation works as the tests showed elsewhere.

    Compares versions, installed files and the cases of all bundled models, with each backend, with
    what is expected, and verifies that ONNX Runtime respects the options that switch optimizers
    off. Takes about half a minute, and needs no network.

    Exit status 0: nothing failed, but read what was not checked; 1: something failed; 2: unusable
    arguments.
    """
    if output != STANDARD:
        check_place(Path(output))
    result = check_installation()
    as_json = report_format is SelfCheckFormat.JSON
    write_report(
        output,
        lambda _: result.to_json() if as_json else fitted("\n".join(_lines(result))),
        quiet=quiet,
    )
    if not result.ok:
        raise typer.Exit(ExitStatus.VIOLATED)


def _lines(result: SelfCheck) -> Iterator[str]:
    flags = ", ".join(result.processor_flags) or "instructions not known"
    yield f"sonnx_ort {result.versions['sonnx_ort']}"
    yield f"{result.platform}, {result.processor} ({flags})"
    yield ""
    rows = in_columns([(c.outcome, f"{c.name}: {c.detail}") for c in result.checks])
    for row, check in zip(rows, result.checks, strict=True):
        yield row
        yield from (f"    {fault}" for fault in check.faults)
    yield ""
    yield ", ".join(f"{result.count(outcome)} {outcome}" for outcome in Outcome)
