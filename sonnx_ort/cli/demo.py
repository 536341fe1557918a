"""`sonnx-ort demo`: shows on bundled models what goes wrong without the profile.

Three runs of bundled models, without the profile and with it. Each without the profile takes place
in a process of its own, since one of them ends it.
"""

import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import typer
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sonnx_ort import models
from sonnx_ort.backends import Backend, choose_backend, require_runnable
from sonnx_ort.cli.options import command, examples, flag, subcommand
from sonnx_ort.cli.output import ExitStatus, say, say_next
from sonnx_ort.installation.demonstration import Row, demonstrate
from sonnx_ort.models import (
    Approximation,
    Classification,
    Outputs,
    Rejection,
    RunViolation,
    describe,
)
from sonnx_ort.options import Choices, choose_demands
from sonnx_ort.pipeline import enforce
from sonnx_ort.reporting.next_steps import shell
from sonnx_ort.reporting.terminal import in_columns, wrapped
from sonnx_ort.runs.isolated_run import Failed, IsolatedRuns, Outcome

SCENES = (
    ("Shape (3,) divided by shape (1,)", "div_open_sizes", "3 and 1 typed"),
    ("The smallest int32 divided by -1", "div_int32", "smallest/-1 typed"),
    ("Integers divided by zero", "div_int32", "x/0 typed"),
)
"""Titles, models and cases in which ONNX Runtime does what an engineer may not expect."""


def play(backend: Backend) -> Iterator[list[str]]:
    """Run the model of each scene, as it is and enforced; give what happens in lines."""
    with IsolatedRuns() as runs:
        for number, (title, model, name) in enumerate(SCENES, start=1):
            case = next(case for case in models.example(model).cases if case.name == name)
            demands = choose_demands(case.edition, case.broadcast, case.operators)
            original = models.load(model)
            enforced = enforce(original, Choices(demands, backend)).to_complete_proto()
            plain, checked = (
                _in_words(runs.run(each, case.inputs)) for each in (original, enforced)
            )
            feeds = [f'"{name}": np.{x.dtype}({x.tolist()})' for name, x in case.inputs.items()]
            yield [
                f"{number}. {title}",
                f'     session = sonnx_ort.InferenceSession(sonnx_ort.models.path("{model}"))',
                f"     session.run(None, {{{', '.join(feeds)}}})",
                *wrapped(f"onnxruntime: {plain}", "   "),
                *wrapped(f"sonnx_ort: {checked}", "   "),
            ]


def _in_words(outcome: Outcome) -> str:
    if isinstance(outcome, Failed):
        return outcome.reason
    return describe(Outputs({name: x for name, x in outcome.items() if x is not None}))


_WIDTH_OF_TABLE = 140

_GROUPS = {
    Outputs: "give the numbers that the documents state",
    Rejection: "are rejected before any run",
    RunViolation: "run, and fail with an error where a rule is violated",
    Classification: "classify as before",
    Approximation: "give the same bits as before",
}
"""What is expected of a case, in words."""

app = subcommand()


@command(
    app,
    "backend",
    own={"every": flag("Show a table of all cases as well.", "--verbose", "-v")},
    epilog=examples("sonnx-ort demo", "sonnx-ort demo --backend native", "sonnx-ort demo -v"),
)
def demo(backend: Backend | None, every: bool) -> None:
    """Show on bundled models what goes wrong without the profile.

    Runs bundled models with and without the profile, and compares the results with the expected
    ones.
    """
    chosen = choose_backend(backend)
    require_runnable(chosen)
    for scene in play(chosen):
        say("\n".join([*scene, ""]))
    rows = list(demonstrate(chosen))
    if every:
        console = Console(width=None if sys.stdout.isatty() else _WIDTH_OF_TABLE)
        console.print(_table(rows))
    for line in _groups(rows):
        say(line)
    failed = [row for row in rows if not row.kept]
    for row in failed:
        say(f"not as expected: {row.model}, {row.case}: {row.got}; expected {row.expected}")
    say(f"{len(rows)} cases: {len(rows) - len(failed)} as expected, {len(failed)} not")
    say(f"backend: {chosen}")
    if short := sum(row.short for row in rows):
        say(f"{short} errors without the shapes and values that the python backend adds")
    typer.echo()
    say_next(next_command())
    if failed:
        raise typer.Exit(ExitStatus.VIOLATED)


def next_command() -> str:
    """What to type next, here: this command with its path where the PATH does not lead to it."""
    command = "sonnx-ort"
    called, found = shutil.which(sys.argv[0]), shutil.which(command)
    if called and Path(called).stem == command and not (found and Path(called).samefile(found)):
        command = _from_here(Path(called))
    return shell([command, "check", _from_here(models.path("normalization_broadcast"))])


def _from_here(file: Path) -> str:
    """The path of a file as it is typed here: a short one if the file lies in or below."""
    here = Path.cwd()
    return str(file.relative_to(here) if file.is_relative_to(here) else file)


def _groups(rows: Sequence[Row]) -> list[str]:
    """The number of cases that are as expected, by what is expected of them."""
    kinds = {(e.name, c.name): type(c.expected) for e in models.examples() for c in e.cases}
    cases, kept = Counter[str](), Counter[str]()
    for row in rows:
        group = _GROUPS[kinds[row.model, row.case]]
        cases[group] += 1
        kept[group] += row.kept
    lines = [(f"{kept[group]} of {cases[group]}", group) for group in _GROUPS.values()]
    return in_columns(lines)


def _table(rows: Iterable[Row]) -> Table:
    """A table of expected and actual results, with one row per case in the given order."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", overflow="fold", ratio=20)
    table.add_column("what it shows", overflow="fold", ratio=34)
    table.add_column("expected", overflow="fold", ratio=30)
    table.add_column("got", overflow="fold", ratio=30)
    table.add_column("verdict", no_wrap=True)
    previous = ""
    for row in rows:
        first = row.model != previous
        verdict = Text(row.verdict, style="green" if row.kept else "bold red")
        table.add_row(
            Text(f"{row.model}\n{row.case}" if first else row.case),
            Text(row.shows if first else ""),
            Text(row.expected),
            Text(row.got),
            verdict,
        )
        previous = row.model
    return table
