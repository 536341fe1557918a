"""The command: measures every setting, prints it as it comes, and then the targets."""

import argparse
import json
import shlex
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import table
from benchmarks.machine import describe_machine
from benchmarks.measurement import Measurement, measure_apart
from benchmarks.record import record
from benchmarks.target import TARGETS
from benchmarks.turns import FEWEST_TURNS
from benchmarks.workload import (
    CHAIN_ELEMENTS,
    CHAIN_NODES,
    ELEMENT_TYPES,
    ELEMENTS,
    Setting,
)

_EXPLANATION = """\
Each line is measured in a process of its own, in which the subjects take turns on the same model
and inputs. Times are minimum / median. Ratios are that of the minimum times / the median of the
ratios turn by turn. sonnx::Div is the rewritten model in a plain onnxruntime session,
InferenceSession is that of sonnx_ort, and the plain @onnx_op kernel returns a / b (integers:
a // b) as it is. Dividends are of both signs."""


def run(arguments: Sequence[str]) -> int:
    """Measure and print.

    Args:
        arguments: The command line without the program.

    Returns:
        The exit status: 0, whether or not the targets were reached.
    """
    options = _parser().parse_args(arguments)
    machine = describe_machine()
    command = shlex.join(["python", "scripts/benchmark.py", *arguments])
    print("\n".join(f"{name:<24}{value}" for name, value in machine.items()))
    print(f"{'command':<24}{command}\n\n{_EXPLANATION}", flush=True)
    start = time.perf_counter()
    measurements: list[Measurement] = []
    for threads in (1, 0) if options.all_threads else (1,):
        measurements += _measured(options, threads)
    print(f"\nTargets, decided by the median ({time.perf_counter() - start:.0f} s in all)")
    for target in TARGETS:
        print(table.target_row(target, measurements))
    if options.json is not None:
        text = json.dumps(record(machine, command, measurements), indent=2)
        options.json.write_text(text + "\n", encoding="utf-8")
    return 0


def _measured(options: argparse.Namespace, threads: int) -> Iterator[Measurement]:
    for element_type in options.types:
        print(f"\n{table.ratio_heading(element_type, threads)}", flush=True)
        for elements in options.elements:
            setting = Setting(element_type, elements, threads=threads)
            measurement = measure_apart(setting, options.seconds)
            print(table.ratio_row(measurement), flush=True)
            yield measurement
    print(f"\n{table.chain_heading(CHAIN_NODES, CHAIN_ELEMENTS, threads)}", flush=True)
    for element_type in options.types:
        setting = Setting(element_type, CHAIN_ELEMENTS, CHAIN_NODES, threads)
        measurement = measure_apart(setting, options.seconds)
        print(table.chain_row(measurement), flush=True)
        yield measurement


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmark.py",
        description="Measure what the SONNX profile costs in ONNX Runtime.",
    )
    parser.add_argument(
        "--seconds",
        type=_positive_seconds,
        default=2.0,
        help="time for one setting, shared by the subjects (default: %(default)s); a subject "
        f"takes {FEWEST_TURNS} turns even if that takes longer",
    )
    parser.add_argument(
        "--elements",
        type=_positive_count,
        nargs="+",
        default=ELEMENTS,
        metavar="N",
        help="numbers of elements (default: 1 to 10,000,000, which takes about 2 GB of memory)",
    )
    parser.add_argument(
        "--types", nargs="+", choices=ELEMENT_TYPES, default=ELEMENT_TYPES, help="element types"
    )
    parser.add_argument(
        "--all-threads",
        action="store_true",
        help="measure with all intra-op threads as well as with one",
    )
    parser.add_argument("--json", type=_new_file, metavar="FILE", help="write the figures to FILE")
    return parser


def _positive_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no time; give a number of seconds above 0")
    return seconds


def _positive_count(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; give a number of 1 or more")
    return int(text)


def _new_file(text: str) -> Path:
    file = Path(text)
    if file.is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' is a folder; name a file")
    if not file.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder '{file.parent}'; make it first")
    return file
