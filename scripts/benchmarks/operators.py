"""`benchmark.py operators`: times every setting, and prints it as it comes."""

import argparse
import itertools
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from benchmarks import report
from benchmarks.measurement import (
    BASELINES,
    CHAIN_ELEMENTS,
    CHAIN_NODES,
    ELEMENT_TYPES,
    ELEMENTS,
    ONNXRUNTIME,
    SUBJECTS,
    Measurement,
    Setting,
    choose_subjects,
    measure,
)
from benchmarks.report import Row, both
from benchmarks.turns import apart

_EXPLANATION = """\
Each line is measured in a process of its own, on one thread unless --threads says more, in which
the subjects take turns on the same model and inputs. Figures are minimum / median; ratios are that
of the minimum times / the median of the ratios turn by turn. All are to ONNX Runtime on the model
as it is, with its default options, but checkify is to jit. compiled, native and python are the
rewritten model in a plain onnxruntime session, InferenceSession is that of sonnx_ort with the
native backend, and the plain @onnx_op kernel returns a / b (integers: a // b) as it is. checkify
has div_checks, which look for zero divisors alone, and its error is thrown; JAX knows the shapes
when it compiles.
Data: dividends are random, divisors are random and never zero, of both signs or positive. Each
input has a dimension with a symbol of its own, so that equal shapes and, for integers, zero
divisors and smallest / -1 are looked for in the run. In a chain all elements are 1 and each node
has a divisor of its own; where all is proved, shapes are static and the divisor is one constant."""


def run(arguments: Sequence[str]) -> int:
    """Measure and print.

    Returns:
        The exit status, 0.
    """
    options = _parser().parse_args(arguments)
    subjects, notice = choose_subjects(options.backend)
    described = report.print_heading("operators", arguments, _EXPLANATION, notice)
    start = time.perf_counter()
    measurements = list(_measured(options, subjects))
    print(f"\n{time.perf_counter() - start:.0f} s in all")
    if options.markdown is not None:
        options.markdown.write_text(markdown_tables(measurements), encoding="utf-8")
    if options.json is not None:
        report.write_json(options.json, described, record(measurements))
    return 0


def _measured(options: argparse.Namespace, subjects: Sequence[str]) -> Iterator[Measurement]:
    for element_type in options.types:
        print(f"\none Div, {element_type}: ratios", flush=True)
        for elements in options.elements:
            positive = options.divisors == "positive"
            setting = Setting(element_type, elements, positive=positive, threads=options.threads)
            measurement = apart(measure, setting, subjects, options.seconds)
            report.print_row(ratio_row(measurement), titles=elements == options.elements[0])
            yield measurement
    print(f"\nchain of {CHAIN_NODES} Div on {CHAIN_ELEMENTS} elements", flush=True)
    for index, (element_type, proved) in enumerate(itertools.product(options.types, (False, True))):
        setting = Setting(
            element_type, CHAIN_ELEMENTS, CHAIN_NODES, proved, threads=options.threads
        )
        measurement = apart(measure, setting, subjects, options.seconds)
        report.print_row(chain_row(measurement), titles=index == 0)
        yield measurement


def ratio_row(measurement: Measurement) -> Row:
    """The time without checks and a ratio for each subject on a single Div."""
    return {
        "elements": f"{measurement.setting.elements:,}",
        "ONNX Runtime, us": both(measurement.seconds(ONNXRUNTIME).times(1e6)),
        **{SUBJECTS[n].title: both(measurement.ratio(n)) for n in _compared(measurement)},
    }


def chain_row(measurement: Measurement) -> Row:
    """What each subject adds to the time of a node of a chain."""
    decided = "proved" if measurement.setting.proved else "in the run"
    added = measurement.added_microseconds_per_node
    return {
        "us added to a node": f"{measurement.setting.element_type}, {decided}",
        **{SUBJECTS[name].title: both(added(name)) for name in _compared(measurement)},
    }


def markdown_tables(measurements: Sequence[Measurement]) -> str:
    """The table of single nodes and that of chains in Markdown."""
    singles = [m for m in measurements if m.setting.nodes == 1]
    tables = (
        [{"one Div": m.setting.element_type, **ratio_row(m)} for m in singles],
        [chain_row(m) for m in measurements if m.setting.nodes > 1],
    )
    return "\n".join(report.markdown_table(rows) for rows in tables if rows)


def record(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Everything that was measured, as JSON holds it."""
    figures = [
        {
            "subject": subject,
            **asdict(measurement.setting),
            "turns": sum(subject in turn for turn in measurement.turns),
            "seconds": asdict(measurement.seconds(subject)),
            "baseline": SUBJECTS[subject].baseline,
            "ratio": asdict(measurement.ratio(subject)),
            "added_microseconds_per_node": asdict(measurement.added_microseconds_per_node(subject)),
        }
        for measurement in measurements
        for subject in measurement.subjects
    ]
    return {"figures": figures}


def _compared(measurement: Measurement) -> list[str]:
    return [name for name in measurement.subjects if name not in BASELINES]


def _parser() -> argparse.ArgumentParser:
    description = "Measure what the SONNX profile costs in ONNX Runtime."
    parser = report.make_parser("operators", description, 2.0, markdown=True)
    default = "(default: 1 to 10,000,000, which takes about 2 GB of memory)"
    report.add_numbers(parser, "--elements", ELEMENTS, f"numbers of elements {default}")
    for option, choices, what in (
        ("--types", ELEMENT_TYPES, "element types"),
        ("--backend", report.BACKENDS, "what enforces the rules in the rewritten models"),
    ):
        default = f"{what} (default: all of these)"
        parser.add_argument(option, nargs="+", choices=choices, default=choices, help=default)
    parser.add_argument(
        "--divisors",
        choices=("both", "positive"),
        default="both",
        help="the signs of the divisors of a single Div (default: %(default)s)",
    )
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of a run (default: %(default)s)"
    )
    parser.add_argument(
        "--json", type=report.new_file, metavar="FILE", help="write the figures to FILE"
    )
    return parser
