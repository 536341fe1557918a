"""The command that measures what the rewrite itself costs."""

import argparse
from collections.abc import Sequence

from benchmarks.arguments import add_backend, positive_count, positive_seconds
from benchmarks.machine import describe_command, describe_machine, heading
from benchmarks.rewriting import HEADING, NODES, measure_rewriting


def run(arguments: Sequence[str]) -> int:
    """Measure each number of nodes and print it.

    Args:
        arguments: The command line behind the name of the measurement.

    Returns:
        The exit status.
    """
    options = _parser().parse_args(arguments)
    command = describe_command("rewriting", arguments)
    print(f"{heading(describe_machine(), command)}\n\n{HEADING}", flush=True)
    for nodes in options.nodes:
        print(measure_rewriting(nodes, options.seconds, options.backend).row(), flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="benchmark.py rewriting",
        description="Measure what the rewrite costs on models of any number of nodes.",
    )
    parser.add_argument(
        "--nodes",
        type=positive_count,
        nargs="+",
        default=NODES,
        metavar="N",
        help="numbers of nodes (default: 1,000 to 100,000, which takes about 2 GB of memory)",
    )
    parser.add_argument(
        "--seconds", type=positive_seconds, default=5.0, help="time for each (default: %(default)s)"
    )
    add_backend(parser)
    return parser
