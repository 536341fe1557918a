"""Calls functions of which any call may end the process, in forks of this one or of another.

    python -m support.soundness.isolated MODULE:FUNCTION < LISTS OF NUMBERS

calls the function with each number of some lists, as JSON has them, and writes one line for each;
the lists at the same time. A fork is made of a process that has imported everything, once for all
lists, but started nothing.
"""

import faulthandler
import json
import os
import signal
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pkgutil import resolve_name
from typing import IO, Any

from support.child import run_program

_SECONDS_TO_START = 60
_SECONDS_PER_CALL = 10
_SECONDS_TO_SHRINK = 300
"""Beyond any that were seen, by far."""

Line = dict[str, Any]
"""What came of a call: its `number`, and one of three. `result` is what it gave, as JSON holds it;
`error` the traceback, with what was `raised` where; `death` the status that ended the process."""


def run_attempts(
    function: str, numbers: Sequence[int], processes: int = 1, seconds: float = _SECONDS_PER_CALL
) -> list[Line]:
    """Call a function with numbers, in child processes, each call in so many seconds at most."""
    parts = [list(numbers[first::processes]) for first in range(processes)]
    return _run(function, parts, seconds=seconds)


def tally_of(lines: Iterable[Line]) -> Counter[str]:
    """The sum of what calls counted."""
    return sum((Counter(line.get("result")) for line in lines), Counter())


def failures_of(lines: Iterable[Line], shrunk: str, most: int = 3) -> list[str]:
    """Say what went wrong, and on what.

    Args:
        lines: What came of calls.
        shrunk: A function, by module and name, that gives the smallest input on which the same goes
            wrong as with a number.
        most: How many of them are shrunk.
    """
    failed = [line for line in lines if "result" not in line]
    found = [f"{line['number']}: {line.get('error') or line}" for line in failed]
    for index, line in enumerate(failed[:most]):
        try:
            (smallest,) = _run(shrunk, [[line["number"]]], seconds=_SECONDS_TO_SHRINK)
        except subprocess.TimeoutExpired as error:
            found[index] += f"\nIt was not shrunk: {error}"
            continue
        found[index] += f"\nThe smallest on which it does so:\n{smallest.get('result') or smallest}"
    return found


def how_it_ends(
    function: Callable[[Any], object], argument: object, seconds: int = _SECONDS_PER_CALL
) -> str:
    """Call a function in a fork, and say how it ended: "" if it gave something back.

    Args:
        function: The function.
        argument: What it gets.
        seconds: How long it may take; what takes longer, such as a Loop without an end, is ended.
    """

    line = line_of_call(function, argument, seconds)
    return f"status {line['death']}" if "death" in line else line.get("raised", "")


def line_of_call(
    function: Callable[[Any], object], argument: object, seconds: int = _SECONDS_PER_CALL
) -> Line:
    """Call a function in a fork, and give what came of it, without a number.

    Args:
        function: The function, which gives nothing.
        argument: What it gets.
        seconds: How long it may take.
    """

    def call(given: object) -> None:
        # The fork has the handler of the test that made it, which would raise an error.
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        function(given)

    (line,) = _forked(call, [argument])
    return line


def _run(function: str, parts: Sequence[Sequence[int]], *, seconds: float) -> list[Line]:
    numbers = [number for part in parts for number in part]
    if not numbers:
        return []
    # Sets of names have one order in all runs with a seed.
    ended = run_program(
        [sys.executable, "-m", "support.soundness.isolated", function],
        given=json.dumps(parts),
        timeout=_SECONDS_TO_START + seconds * max(map(len, parts)),
        PYTHONHASHSEED="0",
    )
    assert ended.exit_status == 0, ended
    lines = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [line["number"] for line in lines] == numbers, ended
    return lines


def main() -> None:
    """Call the function, and write what came of each number, list by list."""
    function = resolve_name(sys.argv[1])
    with ExitStack() as files:
        working: list[tuple[int, IO[str]]] = []
        for part in json.load(sys.stdin):
            found = files.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8"))
            child = os.fork()
            if child == 0:
                _call_with_each(function, part, found)
            working.append((child, found))
        for child, found in working:
            _, status = os.waitpid(child, 0)
            if status != 0:
                sys.exit(f"The process of a list ended with status {status}.")
            found.seek(0)
            sys.stdout.write(found.read())


def _call_with_each(function: Callable[[Any], object], pending: list[Any], found: IO[str]) -> None:
    """Write what comes of each number, and end this process."""
    try:
        while pending:
            for line in _forked(function, tuple(pending)):
                found.write(json.dumps({"number": pending.pop(0)} | line) + "\n")
        found.flush()
    except BaseException:  # noqa: BLE001 - a fork must not go on with what its parent does
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def _forked(function: Callable[[Any], object], arguments: Sequence[Any]) -> Iterator[Line]:
    """Call a function in a fork, until there is no argument left or a call has ended the fork."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        faulthandler.disable()
        os.close(reading)
        with os.fdopen(writing, "w", encoding="utf-8") as results:
            for argument in arguments:
                results.write(json.dumps(_called(function, argument)) + "\n")
                results.flush()
        os._exit(0)
    os.close(writing)
    made = 0
    with os.fdopen(reading, encoding="utf-8") as results:
        for line in results:
            made += 1
            yield json.loads(line)
    _, status = os.waitpid(child, 0)
    if made < len(arguments):
        yield {"death": status}


def _called(function: Callable[[Any], object], argument: object) -> Line:
    try:
        return {"result": function(argument)}
    except Exception as error:  # noqa: BLE001 - whatever fails, the other calls are made
        place = traceback.extract_tb(error.__traceback__)[-1]
        raised = f"{type(error).__name__} in {place.name}, line {place.lineno} of {place.filename}"
        return {"error": traceback.format_exc(), "raised": raised}


if __name__ == "__main__":
    main()
