"""`benchmark.py cache`: what checks and starts of sessions take with results in a folder."""

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from plain_sessions import PROVIDERS, make_options, start

from benchmarks import report
from benchmarks.turns import Run, Turn, ratio_of, seconds_of, take_turns
from sonnx_ort import InferenceSession, check, models

CHECK, CHECK_KEPT = "check", "check, kept"
COMMAND, COMMAND_KEPT = "command", "command, kept"
PLAIN, OURS, OURS_KEPT = "ONNX Runtime", "InferenceSession", "InferenceSession, kept"
"""What takes turns: each without a cache, and with one that has the result."""

_BUNDLED = ("digits",)

_EXPLANATION = """\
Times of checks and of starts of sessions, minimum / median of turns. `kept` finds its result in a
folder. `command` is `sonnx-ort check --quiet` in a process of its own. Sessions have one thread.
The ratio is of a session that finds its model over one of ONNX Runtime on the model as it is."""


def run(arguments: Sequence[str]) -> int:
    """Measure each model and print it."""
    description = "Measure what a cache saves, on a bundled model and on given ones."
    parser = report.make_parser("cache", description, 10.0, backend=True, markdown=True)
    parser.add_argument("models", nargs="*", type=Path, metavar="MODEL", help="more models: files")
    options = parser.parse_args(arguments)
    report.print_heading("cache", arguments, f"{_EXPLANATION}\n")
    rows: list[report.Row] = []
    for path in (*map(models.path, _BUNDLED), *options.models):
        with tempfile.TemporaryDirectory() as folder:
            turns = _turns(path, Path(folder, "cache"), options.backend, options.seconds)
        rows.append(row(path.stem, turns))
        report.print_row(rows[-1], titles=len(rows) == 1, first_width=32)
    if options.markdown is not None:
        options.markdown.write_text(report.markdown_table(rows), encoding="utf-8")
    return 0


def row(name: str, turns: Sequence[Turn]) -> report.Row:
    """What was taken for a model."""
    figures = {what: seconds_of(turns, what).times(1e3) for what in turns[0]}
    return {
        "model": name,
        **{f"{what}, ms": report.both(figure) for what, figure in figures.items()},
        "over ONNX Runtime": f"{ratio_of(turns, OURS_KEPT, PLAIN):.2f}",
    }


def _turns(path: Path, cache: Path, backend: str, seconds: float) -> list[Turn]:
    runs = _runs(path, cache, backend)
    for warm_up in runs.values():
        warm_up()
    return take_turns(runs, seconds, PLAIN)


def _runs(path: Path, cache: Path, backend: str) -> dict[str, Run]:
    command = (sys.executable, "-m", "sonnx_ort", "check", str(path), "--quiet")
    session = partial(_start_ours, path, broadcast="explicit", operators="default", backend=backend)
    return {
        PLAIN: partial(start, str(path)),
        CHECK: partial(check, path),
        CHECK_KEPT: partial(check, path, cache=cache),
        COMMAND: partial(subprocess.run, command, check=False),
        COMMAND_KEPT: partial(subprocess.run, (*command, "--cache", cache), check=False),
        OURS: session,
        OURS_KEPT: partial(session, cache=cache),
    }


def _start_ours(path: Path, **options: object) -> InferenceSession:
    return InferenceSession(path, make_options(), providers=PROVIDERS, **options)  # type: ignore[arg-type]
