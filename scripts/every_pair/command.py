"""What `exhaustive.py` does: goes on with every sweep that is not complete."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from counting import counting
from records import RECORDS

from every_pair.record import Entry, OtherVersions, Record
from every_pair.sweep import BLOCKS, Sessions, Sweep, sweeps

RECORD = RECORDS / "exhaustive.json"
"""The record that is kept in the repository."""


def run(arguments: Sequence[str]) -> int:
    """Go on, block by block, and keep the record.

    Returns:
        The exit status: 0 if nothing differs, 1 if something does, 2 if the record is of other
        versions.
    """
    options = _parser().parse_args(arguments)
    try:
        record = Record(options.record, anew=options.anew)
    except OtherVersions as error:
        print(error)
        return 2
    chosen = [sweep for sweep in sweeps() if options.only in str(sweep)]
    for sweep in chosen:
        _go_on(sweep, record, options.blocks)
        print(_line(sweep, record.entry(sweep)), flush=True)
    return int(any(any(record.entry(sweep).differences.values()) for sweep in chosen))


def _go_on(sweep: Sweep, record: Record, most: int) -> None:
    entry = record.entry(sweep)
    last = min(BLOCKS, entry.blocks + most)
    if entry.blocks >= last:
        return
    sessions = Sessions(sweep)
    with counting(on_terminals_alone=True) as bar:
        task = bar.add_task(str(sweep), total=BLOCKS, completed=entry.blocks)
        for block in range(entry.blocks, last):
            entry.add(sessions.compare(block))
            record.save()
            bar.advance(task)


def _line(sweep: Sweep, entry: Entry) -> str:
    """Say in a line how far a sweep is, and behind it what differed."""
    differences = ", ".join(f"{count:,} {backend}" for backend, count in entry.differences.items())
    told = f"{sweep}: {entry.pairs:,} of {2**32:,} pairs, differences: {differences}"
    return "\n    ".join([told, *entry.examples])


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="exhaustive.py", description="Try every pair of 16-bit floats with both backends."
    )
    parser.add_argument(
        "--record", type=Path, default=RECORD, help="the record, %(default)s by default"
    )
    parser.add_argument("--anew", action="store_true", help="begin the record again")
    parser.add_argument(
        "--only", default="", help='the sweeps whose name has this in it, such as "Div float16"'
    )
    parser.add_argument(
        "--blocks", type=int, default=BLOCKS, help="how many blocks of each at most, of %(default)s"
    )
    return parser
