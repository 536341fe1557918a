"""Print what engines make of the conformance vectors, as docs/how-to/vectors.md has it.

`scripts/engines_table.py` writes the vectors of all operators and runs them on ONNX Runtime, on the
enforced models of each backend and on ONNX's reference, one after the other; each takes minutes.
`--vectors FOLDER` reads vectors that `sonnx-ort suite -o FOLDER` wrote, `--operators Div,Sub` takes
those of some operators, and engines that are named run in the place of these.
"""

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from environment import exit_status, run_in_environment

run_in_environment()

import onnx
import onnxruntime

from sonnx_ort.backends import Backend
from sonnx_ort.vectors.cases import WITH_CASES, cases
from sonnx_ort.vectors.suite import Outcome, run, write

ENGINES = ("onnxruntime", *(f"sonnx_ort:{backend}" for backend in Backend), "onnx.reference")
"""The engines that run unless others are named."""

_TITLES = {
    "onnxruntime": f"ONNX Runtime {onnxruntime.__version__}",
    **{f"sonnx_ort:{b}": f"the same, enforced by the {b} backend" for b in Backend},
    "onnx.reference": f"`onnx.reference` of onnx {onnx.__version__}",
}


def table(folder: Path, engines: Sequence[str], operators: Sequence[str]) -> Iterator[str]:
    """The lines of the table, each as soon as its engine has run."""
    yield f"| engine | cases | {' | '.join(Outcome)} |"
    yield f"| --- | {' | '.join(['---:'] * (len(Outcome) + 1))} |"
    for engine in engines:
        counts = Counter(judged.outcome for judged in run(folder, engine, operators))
        numbers = (counts.total(), *(counts[outcome] for outcome in Outcome))
        yield f"| {_TITLES.get(engine, engine)} | {' | '.join(map(str, numbers))} |"


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("engines", nargs="*", default=ENGINES, metavar="ENGINE")
    parser.add_argument("--vectors", type=Path, metavar="FOLDER")
    parser.add_argument("--operators", default="", metavar="NAMES")
    options = parser.parse_args(arguments)
    operators = [name for name in options.operators.split(",") if name]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.vectors or Path(temporary, "vectors")
        if options.vectors is None:
            write(cases(operators or WITH_CASES), folder, 0)
        for line in table(folder, options.engines, operators):
            print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(exit_status(lambda: main(sys.argv[1:])))
