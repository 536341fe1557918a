"""Measure what the SONNX profile costs in ONNX Runtime: `python3 scripts/benchmark.py`.

The first argument says what is measured: `operators` (the default), `models` (from packages of the
registry, as they are and rewritten), `profile` (what the whole profile says of these), `conform`
(what `conform` fixes of that), `audit` (what audits say of their runs), `contract` (what a contract
proves of them), `finite` (checks that floats are finite), `guards` (single operators behind guards,
and a contract), `optimizers` (what runs take without those that form other numbers), `rewriting`
(the rewrite itself), `growth` (how the commands grow with each dimension of a model), `sessions`
(starting one) or `cache` (checks and sessions with results in a folder);
`plot` makes a picture of the figures that `operators --json` wrote. `--help` after it lists the
arguments. `--keep NAME` notes in docs/records/measured.json what the figures were measured with:
who copies them into the table or page of this name gives it. Runs in this Python if sonnx_ort is
installed in it, else in the environment `.venv`, which it makes first if there is none. The
comparison with JAX and the picture need `pip install --group benchmark`.
"""

import argparse
import importlib
import sys

from ages import KEPT
from environment import exit_status, run_in_environment

MEASUREMENTS = {
    "operators": "benchmarks.operators",
    "models": "real_models.measurement",
    "profile": "real_models.coverage",
    "conform": "real_models.conforming",
    "audit": "real_models.auditing",
    "contract": "real_models.envelopes",
    "finite": "benchmarks.finite",
    "guards": "benchmarks.guards",
    "optimizers": "real_models.optimizers",
    "rewriting": "benchmarks.rewriting",
    "growth": "benchmarks.growth",
    "sessions": "benchmarks.starting",
    "cache": "benchmarks.caching",
    "plot": "benchmarks.plot",
}
"""The modules that measure or plot, by what the first argument may be."""


def main() -> int:
    """Measure here or in the environment; give the exit status."""
    named = sys.argv[1:2] and sys.argv[1] in MEASUREMENTS
    chosen, *arguments = sys.argv[1:] if named else ["operators", *sys.argv[1:]]
    run_in_environment()
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--keep", choices=[kept.measured for kept in KEPT if kept.measured])
    options, arguments = parser.parse_known_args(arguments)
    # It needs packages that only the environment has.
    records = importlib.import_module("records")
    made_with = records.measured_with(options.keep) if options.keep else None
    status: int = importlib.import_module(MEASUREMENTS[chosen]).run(arguments)
    if made_with is not None and status == 0:
        made_with.write()
    return status


if __name__ == "__main__":
    sys.exit(exit_status(main))
