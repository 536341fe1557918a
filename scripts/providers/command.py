"""The command: the comparison of the backends, and then the ratios."""

import argparse
import shutil
import subprocess
from collections.abc import Sequence

import onnxruntime
from benchmarks.workload import ELEMENT_TYPES, Setting

from providers.agreement import OPERATORS, BackendsDiffer, compare_backends
from providers.availability import why_not
from providers.ratios import HEADING, measure

_ELEMENTS = (16, 10_000, 1_000_000, 10_000_000)

_EXPLANATION = """\
Time of a guarded Div over that of a plain one: the same model and inputs, one session each, taking
turns, inputs and outputs bound on the device; that of the shortest times / the median turn by turn.
"""


def run(arguments: Sequence[str]) -> int:
    """Try a provider and print.

    Args:
        arguments: The command line without the program.

    Returns:
        The exit status: 0 if the backends agree or nothing could be run, 1 if they do not.
    """
    options = _parser().parse_args(arguments)
    provider = f"{options.provider}ExecutionProvider"
    reason = why_not(provider)
    if reason is not None:
        print(f"Skipped: {reason}. Nothing was run on it, and nothing is known of it.")
        return 0
    print(f"onnxruntime {onnxruntime.__version__}, {provider}, {_device(provider)}\n")
    try:
        for operator in OPERATORS:
            found = compare_backends(provider, operator, options.seed, options.models)
            print("\n".join(found.lines(operator)), flush=True)
    except BackendsDiffer as error:
        print(f"{operator}: the native backend differs from the reference on {provider}\n{error}")
        return 1
    print(f"\n{_EXPLANATION}\n{HEADING}")
    for element_type in ELEMENT_TYPES:
        for elements in options.elements:
            setting = Setting(element_type, elements)
            print(measure(setting, provider, options.seconds).line(), flush=True)
    return 0


def _device(provider: str) -> str:
    program = shutil.which("nvidia-smi")
    if provider != "CUDAExecutionProvider" or program is None:
        return "device not known"
    query = [program, "--query-gpu=name", "--format=csv,noheader"]
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0].strip() or "device not known"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="gpu.py", description="Try the native backend on an execution provider."
    )
    parser.add_argument("--provider", default="CUDA", help="CUDA, CPU, ... (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="decides the random models and feeds")
    parser.add_argument(
        "--models", type=int, default=200, help="random models of each operator (default: 200)"
    )
    parser.add_argument(
        "--elements",
        type=int,
        nargs="+",
        default=_ELEMENTS,
        metavar="N",
        help="numbers of elements of the operands that are timed",
    )
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="time for one ratio (default: %(default)s)"
    )
    return parser
