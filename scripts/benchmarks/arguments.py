"""The arguments that several measurements take, and the values that they may have."""

import argparse
from pathlib import Path

from sonnx_ort.rewriting.options import Backend

BACKENDS = tuple(map(str, Backend))
"""What `--backend` may be."""


def add_backend(parser: argparse.ArgumentParser) -> None:
    """Let one backend be chosen.

    Args:
        parser: The parser of a measurement.
    """
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        default=BACKENDS[-1],
        help="what enforces the rules in the rewritten model (default: %(default)s)",
    )


def add_backends(parser: argparse.ArgumentParser) -> None:
    """Let several backends be chosen.

    Args:
        parser: The parser of a measurement.
    """
    parser.add_argument(
        "--backend",
        nargs="+",
        choices=BACKENDS,
        default=BACKENDS,
        help="what enforces the rules in the rewritten models (default: all of these)",
    )


def add_files(parser: argparse.ArgumentParser) -> None:
    """Let files be named for the figures.

    Args:
        parser: The parser of a measurement.
    """
    parser.add_argument("--json", type=new_file, metavar="FILE", help="write the figures to FILE")
    parser.add_argument(
        "--markdown", type=new_file, metavar="FILE", help="write the tables to FILE"
    )


def positive_seconds(text: str) -> float:
    """Read a time.

    Args:
        text: What stands in the command line.

    Raises:
        ArgumentTypeError: It is no number above 0.
    """
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"'{text}' is no time; give a number of seconds above 0")
    return seconds


def positive_count(text: str) -> int:
    """Read a size.

    Args:
        text: What stands in the command line.

    Raises:
        ArgumentTypeError: It is no whole number above 0.
    """
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; give a number of 1 or more")
    return int(text)


def new_file(text: str) -> Path:
    """Read the name of a file to write.

    Args:
        text: What stands in the command line.

    Raises:
        ArgumentTypeError: No file can have this name.
    """
    file = Path(text)
    if file.is_dir():
        raise argparse.ArgumentTypeError(f"'{text}' is a folder; name a file")
    if not file.parent.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder '{file.parent}'; make it first")
    return file
