"""The command: measures every setting, prints it as it comes, and then the targets."""

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence

from benchmarks import table
from benchmarks.arguments import add_backends, add_files, positive_count, positive_seconds
from benchmarks.machine import describe_command, describe_machine, heading
from benchmarks.measurement import Measurement, measure_apart
from benchmarks.record import record, write_json
from benchmarks.subject import choose_subjects
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
and inputs. Figures are minimum / median; ratios are that of the minimum times / the median of the
ratios turn by turn. All are to ONNX Runtime on the model as it is, with its default options, but
checkify is to jit. native and python are the rewritten model in a plain onnxruntime session,
InferenceSession is that of sonnx_ort with the native backend, and the plain @onnx_op kernel returns
a / b (integers: a // b) as it is. checkify has div_checks, which look for zero divisors alone, and
its error is thrown; JAX knows the shapes when it compiles.
Data: dividends are random, divisors are random, of both signs and never zero. Each input has a
dimension with a symbol of its own, so that equal shapes and, for integers, zero divisors and
smallest / -1 are looked for in the run. In a chain all elements are 1 and each node has a divisor
of its own; where all is proved, shapes are static and the divisor is one constant."""


def run(arguments: Sequence[str]) -> int:
    """Measure and print.

    Args:
        arguments: The command line without the program.

    Returns:
        The exit status: 0, whether or not the targets were reached.
    """
    options = _parser().parse_args(arguments)
    subjects, notices = choose_subjects(options.backend)
    machine = describe_machine()
    command = describe_command("operators", arguments)
    print("\n".join([heading(machine, command), "", _EXPLANATION, *notices]), flush=True)
    start = time.perf_counter()
    measurements: list[Measurement] = []
    for threads in (1, 0) if options.all_threads else (1,):
        measurements += _measured(options, subjects, threads)
    print(f"\nTargets, decided by the median ({time.perf_counter() - start:.0f} s in all)")
    for target in TARGETS:
        print(table.target_row(target, measurements))
    if options.markdown is not None:
        options.markdown.write_text(table.markdown_tables(measurements), encoding="utf-8")
    if options.json is not None:
        write_json(options.json, record(machine, command, measurements))
    return 0


def _measured(
    options: argparse.Namespace, subjects: Sequence[str], threads: int
) -> Iterator[Measurement]:
    on = table.describe_threads(threads)
    for element_type in options.types:
        print(f"\none Div, {element_type}, {on}: ratios")
        print(table.text_row(table.ratio_titles(subjects)), flush=True)
        for elements in options.elements:
            setting = Setting(element_type, elements, threads=threads)
            measurement = measure_apart(setting, subjects, options.seconds)
            print(table.text_row(table.ratio_cells(measurement)), flush=True)
            yield measurement
    print(f"\nchain of {CHAIN_NODES} Div on {CHAIN_ELEMENTS} elements, {on}")
    print(table.text_row(table.chain_titles(subjects)), flush=True)
    for element_type, proved in itertools.product(options.types, (False, True)):
        setting = Setting(element_type, CHAIN_ELEMENTS, CHAIN_NODES, threads, proved)
        measurement = measure_apart(setting, subjects, options.seconds)
        print(table.text_row(table.chain_cells(measurement)), flush=True)
        yield measurement


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmark.py",
        description="Measure what the SONNX profile costs in ONNX Runtime.",
    )
    parser.add_argument(
        "--seconds",
        type=positive_seconds,
        default=2.0,
        help="time for one setting, shared by the subjects (default: %(default)s); a subject "
        f"takes {FEWEST_TURNS} turns even if that takes longer",
    )
    parser.add_argument(
        "--elements",
        type=positive_count,
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
    add_backends(parser)
    add_files(parser)
    return parser
