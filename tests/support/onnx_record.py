"""What is recorded of the backend test suite of the onnx package.

To record the versions that are installed, run this in the folder `tests`, and look at what changed:

    PYTHONPATH=.:../scripts python -m support.onnx_record > conformance/onnx_suite.json
"""

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from sonnx_ort.backends import Backend
from support.soundness.isolated import Line, run_attempts

REJECT, EXPLICIT = "reject", "explicit"

OPERATORS = ("default", "all", "elementwise")
"""The choices of operators to enforce."""

BACKENDS = tuple(Backend)
"""What can enforce them."""

UNOPTIMIZED = "none"
"""The level of optimization at which no node changes the rounding of another one."""

LEVELS_TRIED = (UNOPTIMIZED, "all")
"""The levels that each model is run at."""

DEMANDS = tuple(f"{operators} {b}" for operators in OPERATORS for b in (REJECT, EXPLICIT))
"""What can be demanded of a model: of which operators, and what becomes of other shapes."""

RUNS = tuple(f"{backend} {level}" for backend in BACKENDS for level in LEVELS_TRIED)
"""Where it can be enforced: by which backend, and how far it is optimized."""

SAME = "same"
"""The outcome of a case that gives the bits of plain ONNX Runtime without optimizations."""

OPTIMIZED = "same as optimized"
"""That of one that gives the bits that ONNX Runtime gives where it optimizes the original."""

NODE_BY_NODE = "same as node by node"
"""That of one that gives the bits that ONNX Runtime gives of its nodes alone."""

RIGHT = frozenset({SAME, OPTIMIZED, NODE_BY_NODE})
"""The outcomes of those that give the bits of ONNX Runtime."""

REFUSED = "refused: "
"""How the outcome of a case begins that breaks rules, whose ids are behind it."""

DEPENDING_ON_LOCALES = "test_strnorm"
"""How the names of cases begin that ONNX Runtime runs only where a certain locale is installed."""

_PROCESSES = 2


def is_refused(outcome: str) -> bool:
    """Whether an outcome tells that a rule is broken."""
    return outcome.startswith(REFUSED)


def results(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """What came of the cases, by their names; those without a result are left out."""
    return sorted((x["result"] for x in lines if "result" in x), key=lambda found: found["case"])


def outcomes(lines: Sequence[Line]) -> Iterator[tuple[str, str, Mapping[str, str]]]:
    """Case, demands, and by run what came of it."""
    for result in results(lines):
        for demands in DEMANDS:
            if demands in result:
                yield result["case"], demands, result[demands]


def refusals(lines: Sequence[Line]) -> dict[str, dict[str, str]]:
    """By demands and case, the rules that are broken; all runs are held to the first."""
    found: dict[str, dict[str, str]] = {demands: {} for demands in DEMANDS}
    for case, demands, by_run in outcomes(lines):
        if is_refused(by_run[RUNS[0]]):
            found[demands][case] = by_run[RUNS[0]].removeprefix(REFUSED)
    return found


def right(lines: Sequence[Line]) -> dict[str, dict[str, int]]:
    """By demands and run, how many cases give the bits of ONNX Runtime."""
    found = {demands: dict.fromkeys(RUNS, 0) for demands in DEMANDS}
    for _, demands, by_run in outcomes(lines):
        for run, outcome in by_run.items():
            found[demands][run] += outcome in RIGHT
    return found


def not_run(lines: Sequence[Line]) -> list[str]:
    """The cases that plain ONNX Runtime cannot run, wherever it runs."""
    failing = [result["case"] for result in results(lines) if result["plain"] == "fails"]
    return [case for case in failing if not case.startswith(DEPENDING_ON_LOCALES)]


def recorded(lines: Sequence[Line]) -> dict[str, Any]:
    """What there is to record, of all cases."""
    return {
        "versions": versions(),
        "cases": len(lines),
        "sample": results(lines)[0]["sample"],
        "right": right(lines),
        "refused": refusals(lines),
        "not run by ONNX Runtime": not_run(lines),
    }


def versions() -> dict[str, str]:
    """What decides which cases there are, and which of them ONNX Runtime runs."""
    return {name: version(name) for name in ("onnx", "onnxruntime")}


def try_cases(function: str, count: int) -> list[Line]:
    """Try cases in child processes.

    Args:
        function: The name of a function in `support.onnx_suite`.
        count: How many cases there are.
    """
    processes = _PROCESSES if function == "attempt" else 1
    return run_attempts(f"support.onnx_suite:{function}", range(count), processes)


def main() -> None:
    """Print the record, as JSON."""
    from support.onnx_suite import SUITE  # noqa: PLC0415 - takes long

    with tempfile.TemporaryDirectory() as folder:
        # Where the onnx package copies small models to.
        os.environ["ONNX_HOME"] = folder
        print(json.dumps(recorded(try_cases("attempt", len(SUITE.names))), indent=1))


if __name__ == "__main__":
    main()
