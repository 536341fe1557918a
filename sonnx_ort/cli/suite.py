"""`sonnx-ort suite`: the conformance vectors of the profile."""

from collections.abc import Iterable
from pathlib import Path

import typer

from sonnx_ort.cli.options import PATH, TEXT, command, examples, flag, option, subcommand
from sonnx_ort.cli.output import ExitStatus, say
from sonnx_ort.errors import SonnxError
from sonnx_ort.profile.options import Edition

app = subcommand()


@command(
    app,
    *("edition", "seed"),
    own={
        "output": option(
            PATH, "Write the vectors, into a new folder.", "--output", "-o", metavar="FOLDER"
        ),
        "operators": option(
            TEXT,
            "The operators, separated by commas, and Graph for rules on graphs.  [default: all]",
            metavar="NAMES",
        ),
        "folder": option(PATH, "Run an engine on the vectors.", "--run", metavar="FOLDER"),
        "engine": option(
            str,
            "onnxruntime, onnxruntime:PROVIDER, onnx.reference, sonnx_ort, sonnx_ort:BACKEND or "
            "module:Class.",
            metavar="ENGINE",
            default="onnxruntime",
        ),
        "every": flag("List every case that is not right as well.", "--verbose", "-v"),
    },
    epilog=examples(
        "sonnx-ort suite -o vectors",
        "sonnx-ort suite -o vectors --operators Div,Sub --seed 7",
        "sonnx-ort suite --run vectors --engine onnxruntime",
        "sonnx-ort suite --run vectors --engine my_engine:Engine --verbose",
    ),
)
def suite(
    output: Path | None,
    operators: str | None,
    seed: int,
    edition: Edition,
    folder: Path | None,
    engine: str,
    every: bool,
) -> None:
    """Write the conformance vectors of the profile, or run an engine on them.

    For every operator, type, rule and special value: a model of one node, inputs, and what is
    right: exact results, an admitted interval, or that it must be refused. `manifest.json` says it
    of each; the folder `computed` is as ONNX's own runner takes it.

    Exit status 0: all are as they should be; 1: a case is not; 2: unusable input.
    """
    from sonnx_ort.reporting.difference_report import suite_report
    from sonnx_ort.suite.vectors import Outcome, run

    if (output is None) is (folder is None):
        raise SonnxError("give either -o FOLDER or --run FOLDER")
    if output is not None:
        names = None if operators is None else operators.split(",")
        say(f"{_write(output, names, seed, edition)} cases in '{output}'")
    if folder is not None:
        judged = list(run(folder, engine))
        say(suite_report(judged, every=every))
        if any(each.outcome is not Outcome.CONFORMS for each in judged):
            raise typer.Exit(ExitStatus.VIOLATED)


def _write(output: Path, operators: Iterable[str] | None, seed: int, edition: Edition) -> int:
    from sonnx_ort.errors import did_you_mean
    from sonnx_ort.suite.cases import WITH_CASES, cases
    from sonnx_ort.suite.vectors import write

    chosen = WITH_CASES if operators is None else frozenset(operators)
    for name in sorted(chosen - WITH_CASES):
        near = did_you_mean(name, WITH_CASES)
        raise SonnxError(f"the profile has no rules for an operator '{name}'{near}")
    return write(cases(chosen, seed, edition), output, seed)
