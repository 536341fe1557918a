"""Measure what the SONNX profile costs in ONNX Runtime: `python3 scripts/benchmark.py`.

Runs in this Python if sonnx_ort is installed in it, else in the environment `.venv`, which it makes
first if there is none. `--help` lists the arguments.
"""

import importlib.util
import sys

from python_version import require_supported_python

require_supported_python()

from environment import ROOT, Environment, prepare  # noqa: E402 - an old Python cannot read it
from installation import EnvironmentNotMade  # noqa: E402


def main() -> int:
    """Measure here or in the environment; give the exit status."""
    if importlib.util.find_spec("sonnx_ort") is not None:
        from benchmarks.command import run  # noqa: PLC0415 - needs sonnx_ort

        return run(sys.argv[1:])
    environment = Environment(ROOT)
    try:
        prepare(environment)
    except EnvironmentNotMade as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return environment.call(["python", __file__, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
