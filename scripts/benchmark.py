"""Measure what the SONNX profile costs in ONNX Runtime: `python3 scripts/benchmark.py`.

The first argument says what is measured: `operators` (the default), `models` (from packages of the
registry, as they are and rewritten), `profile` (what the whole profile says of these), `conform`
(what `conform` fixes of that), `audit` (what audits say of their runs), `contract` (what a contract
proves of them), `finite` (checks that floats are finite), `optimizers` (what runs take without
those that form other numbers), `rewriting` (the rewrite itself) or `sessions` (starting one);
`plot` makes a picture of the figures that `operators --json` wrote. `--help` after it lists the
arguments. Runs in this Python if sonnx_ort is installed in it, else in the environment `.venv`,
which it makes first if there is none. The comparison with JAX and the picture need `pip install
--group benchmark`.
"""

import importlib
import sys

from environment import exit_status, run_in_environment

MEASUREMENTS = {
    "operators": "benchmarks.operators",
    "models": "real_models.measurement",
    "profile": "real_models.coverage",
    "conform": "real_models.conforming",
    "audit": "real_models.auditing",
    "contract": "real_models.envelopes",
    "finite": "benchmarks.finite",
    "optimizers": "real_models.optimizers",
    "rewriting": "benchmarks.rewriting",
    "sessions": "benchmarks.starting",
    "plot": "benchmarks.plot",
}
"""The modules that measure or plot, by what the first argument may be."""


def main() -> int:
    """Measure here or in the environment; give the exit status."""
    named = sys.argv[1:2] and sys.argv[1] in MEASUREMENTS
    chosen, *arguments = sys.argv[1:] if named else ["operators", *sys.argv[1:]]
    run_in_environment()
    status: int = importlib.import_module(MEASUREMENTS[chosen]).run(arguments)
    return status


if __name__ == "__main__":
    sys.exit(exit_status(main))
