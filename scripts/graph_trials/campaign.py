"""Tries graphs by number, and records what comes of them."""

import argparse
import importlib
from collections.abc import Sequence
from pathlib import Path

from counting import counting
from records import RECORDS

from graph_trials.record import Record

RECORD = RECORDS / "random_graphs.json"
_TRIALS = "support.soundness.trials"
_BATCH = 1000
"""How many graphs are tried before the record is written."""


def run(arguments: Sequence[str]) -> int:
    """Go on until so many graphs have been tried; give 1 if anything disagreed."""
    parser = argparse.ArgumentParser(prog="try_graphs.py")
    parser.add_argument("--graphs", type=int, default=100_000, help="how many, with those recorded")
    parser.add_argument("--processes", type=int, default=1, help="how many work at once")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file that is gone on with")
    options = parser.parse_args(arguments)
    isolated = importlib.import_module("support.soundness.isolated")
    record = Record(options.record)
    with counting() as progress:
        task = progress.add_task("graphs", total=options.graphs, completed=record.graphs)
        while record.graphs < options.graphs:
            part = record.current()
            numbers = range(part.stop, min(part.stop + _BATCH, options.graphs))
            lines = isolated.run_attempts(f"{_TRIALS}:attempt", numbers, options.processes)
            failures = isolated.failures_of(lines, f"{_TRIALS}:shrunk")
            part.add(lines, failures)
            record.save()
            progress.update(task, completed=record.graphs)
            for failure in failures:
                progress.console.print(failure, markup=False, highlight=False)
    failed = [failure for part in record.parts for failure in part.failures]
    print(f"{record.graphs} graphs, {len(failed)} disagreed: {options.record}")
    return 1 if failed else 0
