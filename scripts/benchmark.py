"""Measure what the SONNX profile costs in ONNX Runtime: `python3 scripts/benchmark.py`.

The first argument says what is measured: `operators` (the default), `models` (from packages of the
registry, as they are and rewritten) or `rewriting` (the rewrite itself); `plot` makes a picture of
the figures that `operators --json` wrote. `--help` behind it lists the arguments. Runs in this
Python if sonnx_ort is installed in it, else in the environment `.venv`, which it makes first if
there is none. The comparison with JAX and the picture need `pip install '.[benchmark]'`.
"""

import importlib
import importlib.util
import sys

from python_version import require_supported_python

require_supported_python()

from environment import ROOT, Environment, prepare  # noqa: E402 - an old Python cannot read it
from installation import EnvironmentNotMade  # noqa: E402

MEASUREMENTS = {
    "operators": "benchmarks.command",
    "models": "real_models.command",
    "rewriting": "benchmarks.rewriting_command",
    "plot": "benchmarks.plot_command",
}
"""The modules that measure or plot, by what the first argument may be."""


def main() -> int:
    """Measure here or in the environment; give the exit status."""
    if importlib.util.find_spec("sonnx_ort") is not None:
        named = sys.argv[1:2] and sys.argv[1] in MEASUREMENTS
        chosen, *arguments = sys.argv[1:] if named else ["operators", *sys.argv[1:]]
        # Imported only now, because it needs sonnx_ort.
        status: int = importlib.import_module(MEASUREMENTS[chosen]).run(arguments)
        return status
    environment = Environment(ROOT)
    try:
        prepare(environment)
    except EnvironmentNotMade as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return environment.call(["python", __file__, *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
