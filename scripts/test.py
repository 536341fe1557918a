"""Check everything: `python3 scripts/test.py`.

Makes the environment `.venv` first if there is none (with `--fresh`: in any case), and then runs
ruff, mypy and pytest in it. Where Node.js and npm are, ONNX Runtime for Node.js is installed in
tests/node first: some tests run models there. With `--models` it tries models of packages from the
registry instead, and with `--lowest` the soundness tests on the oldest supported packages, in an
environment `.venv-lowest`. Other arguments go to pytest.
"""

import argparse
import sys

from python_version import require_supported_python

require_supported_python()

from checks import CHECKS, LOWEST_CHECKS, MODEL_CHECKS, failed, run_checks, summary  # noqa: E402 - an old Python cannot read it
from environment import ROOT, Environment, prepare  # noqa: E402
from installation import exit_status  # noqa: E402


def main() -> int:
    """Prepare the environment and run the checks in it; give 1 if one of them fails."""
    parser = argparse.ArgumentParser(
        usage="%(prog)s [-h] [--fresh] [argument of pytest ...]",
        description=__doc__,
        allow_abbrev=False,
    )
    parser.add_argument("--fresh", action="store_true", help="make the environment anew")
    parser.add_argument(
        "--models",
        action="store_true",
        help="download packages with models and try these; skipped without a network",
    )
    parser.add_argument(
        "--lowest", action="store_true", help="run the soundness tests on the oldest packages"
    )
    options, pytest_arguments = parser.parse_known_args()
    environment = Environment(ROOT, lowest=options.lowest)
    prepare(environment, fresh=options.fresh)
    checks = LOWEST_CHECKS if options.lowest else MODEL_CHECKS if options.models else CHECKS
    statuses = run_checks(checks, environment, pytest_arguments)
    print(f"\n{summary(statuses)}")
    return 1 if failed(statuses) else 0


if __name__ == "__main__":
    sys.exit(exit_status(main))
