"""Tries models by number, and records what comes of them."""

import argparse
import traceback
from collections.abc import Sequence
from pathlib import Path

from counting import counting
from records import RECORDS

from fuzzing.attempt import Fault, attempt, attempt_alone
from fuzzing.record import Record
from fuzzing.seeds import load_seeds
from fuzzing.workers import SECONDS, End, Ended, run_in_forks

RECORD = RECORDS / "fuzzing.json"
_BATCH = 1000
"""How many models are tried before the record is written."""


def run(arguments: Sequence[str]) -> int:
    """Go on until so many models have been tried; give 1 if there are faults.

    Args:
        arguments: Those of the command.
    """
    parser = argparse.ArgumentParser(prog="fuzz.py")
    parser.add_argument("--models", type=int, default=100_000, help="how many, with those recorded")
    parser.add_argument("--processes", type=int, default=1, help="how many work at once")
    parser.add_argument("--record", type=Path, default=RECORD, help="the file that is gone on with")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="try one model, in this process")
    options = parser.parse_args(arguments)
    load_seeds()
    if options.only is not None:
        return _try_one(options.only)
    record = Record.read(options.record)
    with counting() as progress:
        task = progress.add_task("models", total=options.models, completed=record.models)
        while record.models < options.models:
            numbers = range(record.models, min(record.models + _BATCH, options.models))
            ended = []
            for each in run_in_forks(attempt, numbers, options.processes):
                ended.append(each)
                progress.advance(task)
                if each.end is not End.RESULT:
                    progress.console.print(_told(each), markup=False, highlight=False)
            record.add(ended, runtimes_own(ended))
            record.write(options.record)
    print(f"{record.models} models, {len(record.faults)} faults: {options.record}")
    return 1 if record.faults else 0


def runtimes_own(ended: Sequence[Ended]) -> list[int]:
    """Find the models of which ONNX Runtime alone dies or hangs as well.

    Args:
        ended: What came of models.

    Returns:
        The numbers. A death or hang in `check` and `rewrite` is always this project's.
    """
    suspects = [
        each.number
        for each in ended
        if each.end in {End.DEATH, End.HANG} and each.stage.startswith(("session", "run"))
    ]
    alone = run_in_forks(attempt_alone, suspects, 1, seconds=SECONDS)
    return [each.number for each in alone if each.end is not End.RESULT]


def _told(each: Ended) -> str:
    return f"{each.number}: {each.end} in {each.stage}: {each.detail.strip()}"


def _try_one(number: int) -> int:
    def say(stage: str) -> None:
        print(stage, flush=True)

    try:
        print(*attempt(number, say), sep="\n")
    except Fault as fault:
        traceback.print_exception(fault)
        return 1
    return 0
